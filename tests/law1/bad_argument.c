/* SPDX-License-Identifier: MIT */
/*
 * A task of the program's own is given a pointer to a local of its awaiter's.
 *
 * caught: (d) gcc torture "lost"
 * caught: (d) clang torture "lost"
 */
#include <coir/coir.h>
#include <stdio.h>

struct child {
    coir_frame_void;
    coir_args(const int *x;);
    struct coir_pass pass;
};
static coir_declare(child);

coir_body(child, f) {
    coir_try(f, &f->pass, coir_pass);
    if (*f->x != 1) {
        fprintf(stderr, "lost: %d\n", *f->x);
        coir_fail(f, EIO);
    }
} coir_end

struct bad {
    coir_frame_void;
    coir_no_args;
    struct child child;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->child, child, .x = (int[]){ 1 });
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
