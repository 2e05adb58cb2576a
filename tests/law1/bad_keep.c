/* SPDX-License-Identifier: MIT */
/*
 * The address of a local is kept in the frame, and followed after an await.
 *
 * caught: (d) gcc torture "lost"
 * caught: (d) clang torture "lost"
 */
#include <coir/coir.h>
#include <stdio.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    int *x;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    int x;
    x = 1;
    f->x = &x;
    coir_try(f, &f->pass, coir_pass);
    if (*f->x != 1) {
        fprintf(stderr, "lost: %d\n", *f->x);
        coir_fail(f, EIO);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
