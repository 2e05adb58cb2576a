/* SPDX-License-Identifier: MIT */
/*
 * The list of pieces of a vectored operation lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_writev write;
    char buf[4];
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_await(f, &f->write, coir_writev, .fd = 1, .iov = (struct iovec[]){ { f->buf, 4 } }, .iovcnt = 1); /* HERE */
    if (coir_status(&f->write) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
