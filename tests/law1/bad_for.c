/* SPDX-License-Identifier: MIT */
/*
 * The counter of a for loop is a local, and the loop awaits.
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
    for (int i = 0; i < 3; i++)
        coir_try(f, &f->pass, coir_pass);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
