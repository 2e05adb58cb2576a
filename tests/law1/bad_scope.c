/* SPDX-License-Identifier: MIT */
/*
 * A scope lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_scope scope;
    coir_within(f, &scope, COIR_NEVER, &f->pass, coir_pass); /* HERE */
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
