/* SPDX-License-Identifier: MIT */
/*
 * A group is opened in memory on the C stack.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
    struct coir_group_wait wait;
};
static coir_declare(bad);

coir_body(bad, f) {
    coir_try(f, &f->pass, coir_pass); /* HERE */
    struct coir_group group;
    coir_group_open(f, &group);
    coir_await(f, &f->wait, coir_group_wait, .group = &group);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
