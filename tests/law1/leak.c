/* SPDX-License-Identifier: MIT */
/*
 * What the checks of a body would refuse, outside any: none of them is left on behind coir_end, and what the
 * program asks for itself is as it was. Compiled, never run.
 */
#include <coir/coir.h>

struct one {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
coir_declare(one);

coir_body(one, f) {
    coir_try(f, &f->pass, coir_pass);
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass);
    }
} coir_end

int jumps(int n);
int jumps(int n)
{
    if (n == 1)
        goto out;
    int x = n;                      /* -Wjump-misses-init */
    n = x + 1;
out:
    return n;
}

int may_be_unset(int n);
int may_be_unset(int n)
{
    int x;

    for (int i = 0; i < n; i++)     /* -Wconditional-uninitialized */
        x = i;
    return n ? x : 0;
}

int shadows(int n);
int shadows(int n)
{
    {
        int n = 1;                  /* -Wshadow */
        (void)n;
    }
    return n;
}
