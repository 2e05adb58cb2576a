/* SPDX-License-Identifier: MIT */
/*
 * coir_finally in a nested block, which need not be entered.
 *
 * caught: (b) gcc compile "coir_finally_stands_in_the_outermost_block"
 * caught: (b) clang compile "coir_finally_stands_in_the_outermost_block"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    int n;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->pass, coir_pass);
    if (f->n) {
        coir_try(f, &f->pass, coir_pass);
        coir_finally(f) {
            coir_await(f, &f->pass, coir_pass);
        }
    }
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
