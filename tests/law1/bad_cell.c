/* SPDX-License-Identifier: MIT */
/*
 * A cell on the C stack is awaited.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_cell_wait wait;
};
static coir_declare(bad);

coir_body(bad, f) {
    struct coir_cell cell;
    coir_cell_init(&cell);
    coir_await(f, &f->wait, coir_cell_wait, .cell = &cell); /* HERE */
    if (coir_status(&f->wait) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
