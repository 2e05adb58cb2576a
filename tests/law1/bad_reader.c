/* SPDX-License-Identifier: MIT */
/*
 * The buffer of a reader lies on the C stack. The reader's own operations find it; the program's await is named.
 *
 * caught: (c) gcc run "lies on the C stack"
 * caught: (c) clang run "lies on the C stack"
 */
#include <coir/coir.h>

struct bad {
    coir_frame_void;
    coir_no_args;
    struct coir_fd_stream input;
    struct coir_reader reader;
    struct coir_read_line read;
};
static coir_declare(bad);

coir_body(bad, f) {
    char buf[16];
    coir_fd_stream_init(&f->input, 0, -1);
    coir_reader_init_in(&f->reader, &f->input.stream, buf, sizeof buf);
    coir_await(f, &f->read, coir_read_line, .reader = &f->reader); /* HERE */
    if (coir_status(&f->read) != -EFAULT)
        coir_fail(f, EIO);
} coir_end

int main(void)
{
    return coir_main(coir_new(bad));
}
