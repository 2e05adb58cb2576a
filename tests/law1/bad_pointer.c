/* SPDX-License-Identifier: MIT */
/*
 * A pointer into the frame is kept, and used after an await: it is a local like any other.
 *
 * caught: (a) gcc compile "jump-misses-init"
 * caught: (a) clang compile "uninitialized"
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
    int *n = &f->n;
    *n = 1;
    coir_try(f, &f->pass, coir_pass);
    if (*n != 1)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
