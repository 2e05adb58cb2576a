/* SPDX-License-Identifier: MIT */
/*
 * An array of variable length and an await after it.
 *
 * caught: (a) gcc compile "variably modified"
 * caught: (a) clang compile "cannot jump"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    int n;
};
static coir_declare(bad);

coir_body(bad, f) {
    int x[f->n + 1];
    x[0] = 1;
    coir_try(f, &f->pass, coir_pass);
    if (x[0] != 1)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
