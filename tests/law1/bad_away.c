/* SPDX-License-Identifier: MIT */
/*
 * The slot of a child that is to run on another shard lies on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_pass pass;
    coir_await_on(f, 1, &pass, coir_pass); /* HERE */
    if (coir_status(&pass) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    const struct coir_options two = { .shards = 2 };
    return coir_run(&two, coir_new(bad)) != 0;
}
