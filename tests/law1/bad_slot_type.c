/* SPDX-License-Identifier: MIT */
/*
 * The slot is another task's.
 *
 * caught: (b) gcc compile "the slot is not a struct"
 * caught: (b) clang compile "the slot is not a struct"
 */
#include <coir/coir.h>

struct other { coir_frame_void; coir_no_args; };

struct bad {
    coir_frame_void;
    coir_no_args;
    struct other other;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->other, coir_pass);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
