/* SPDX-License-Identifier: MIT */
/*
 * A plain return in a body.
 *
 * caught: (b) gcc compile "incompatible types"
 * caught: (b) clang compile "incompatible"
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
        return 0;
    coir_try(f, &f->pass, coir_pass);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
