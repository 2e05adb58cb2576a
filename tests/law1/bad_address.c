/* SPDX-License-Identifier: MIT */
/*
 * A local with an initialiser whose address is taken.
 *
 * caught: (a) gcc compile "jump-misses-init"
 * caught: (a) clang compile "uninitialized"
 */
#include <coir/coir.h>
#include <stdio.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

static void count(int *x)
{
    ++*x;
}

coir_body(bad, f) {
    int x = 1;
    count(&x);
    coir_try(f, &f->pass, coir_pass);
    if (x != 2) {
        fprintf(stderr, "lost: %d\n", x);
        coir_fail(f, EIO);
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
