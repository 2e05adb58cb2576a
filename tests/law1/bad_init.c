/* SPDX-License-Identifier: MIT */
/*
 * A local with an initialiser is used after an await.
 *
 * caught: (a) gcc compile "jump-misses-init"
 * caught: (a) clang compile "uninitialized"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    int x = 1;
    coir_try(f, &f->pass, coir_pass);
    if (x != 1)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
