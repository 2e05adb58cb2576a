/* SPDX-License-Identifier: MIT */
/*
 * A task's slot lies on the C stack; its own operation has its slot in it.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct child {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(child);

coir_body(child, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000); /* HERE */
} coir_end

struct bad {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct child child;
    coir_await(f, &child, child);
    if (coir_status(&child) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
