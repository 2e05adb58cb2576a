/* SPDX-License-Identifier: MIT */
/*
 * A buffer lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_read read;
};
static coir_declare(bad);

coir_body(bad, f) {
    char buf[16];
    coir_await(f, &f->read, coir_read, .fd = 0, .buf = buf, .len = sizeof buf); /* HERE */
    if (coir_status(&f->read) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
