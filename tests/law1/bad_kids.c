/* SPDX-License-Identifier: MIT */
/*
 * The list of a combinator's children lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass a, b;
    struct coir_combine all;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_task *kids[2];
    kids[0] = coir_make(&f->a, coir_pass);
    kids[1] = coir_make(&f->b, coir_pass);
    coir_all(f, &f->all, kids, 2); /* HERE */
    if (coir_status(&f->all) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
