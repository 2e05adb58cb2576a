/* SPDX-License-Identifier: MIT */
/*
 * An operation's slot lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    int n;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_sleep sleep;
    coir_await(f, &sleep, coir_sleep, .ns = 1000); /* HERE */
    if (coir_status(&sleep) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
