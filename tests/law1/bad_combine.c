/* SPDX-License-Identifier: MIT */
/*
 * A combinator's slot lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass a;
    struct coir_task *kids[1];
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_combine all;
    f->kids[0] = coir_make(&f->a, coir_pass);
    coir_all(f, &all, f->kids, 1); /* HERE */
    if (coir_status(&all) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
