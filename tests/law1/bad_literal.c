/* SPDX-License-Identifier: MIT */
/*
 * A compound literal is an operation's buffer: it lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_write write;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_await(f, &f->write, coir_write, .fd = 1, .buf = (char[]){ 'a', 'b' }, .len = 2); /* HERE */
    if (coir_status(&f->write) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
