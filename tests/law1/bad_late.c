/* SPDX-License-Identifier: MIT */
/*
 * A local is set later, and used after an await: gcc makes a constant of it and has no warning.
 *
 * caught: (a) clang compile "uninitialized"
 * caught: (d) gcc torture "lost"
 */
#include <coir/coir.h>
#include <stdio.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    int x;
    x = 1;
    coir_try(f, &f->pass, coir_pass);
    if (x != 1) {
        fprintf(stderr, "lost: %d\n", x);
        coir_fail(f, EIO);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
