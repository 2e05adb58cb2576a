/* SPDX-License-Identifier: MIT */
/*
 * A return without a value in a body.
 *
 * caught: (b) gcc compile "return.*with no value"
 * caught: (b) clang compile "should return a value"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    if (f->task.depth)
        return;
    coir_try(f, &f->pass, coir_pass);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
