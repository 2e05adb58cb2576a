/* SPDX-License-Identifier: MIT */
/*
 * A process that does not know where its C stack ends, as the first thread where no /proc is mounted: everything goes
 * on, only memory on the C stack is not found any more. The C library's function that tells is replaced here.
 */
#include "task/help.h"

static bool asked;

int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    (void)thread;
    (void)attr;
    asked = true;
    return ENOENT;
}

static char area[4];                    /* far below the stack, as memory of malloc is */

struct reads {
    coir_frame(int);
    coir_args(int fd; char *to;);
    struct coir_group group;
    struct coir_read read;
    struct coir_group_wait wait;
};
static coir_declare(reads);
coir_body(reads, f) {
    coir_group_open(f, &f->group);
    coir_await(f, &f->read, coir_read, .fd = f->fd, .buf = f->to, .len = 4);
    f->result = coir_status(&f->read);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

struct all {
    coir_frame_void;
    coir_no_args;
    struct reads reads;
    int pipe[2], got;
    char *heap;
};
static coir_declare(all);
coir_body(all, f) {
    f->heap = malloc(4);
    OK(pipe(f->pipe) == 0 && write(f->pipe[1], "12345678", 8) == 8, "a pipe with something in it");
    coir_get(f, f->got, &f->reads, reads, .fd = f->pipe[0], .to = area);
    EQ(f->got, 0, "an operation on memory of the program's");
    coir_get(f, f->got, &f->reads, reads, .fd = f->pipe[0], .to = f->heap);
    EQ(f->got, 0, "and on memory of malloc");
    OK(!memcmp(area, "1234", 4) && !memcmp(f->heap, "5678", 4), "what was read is there");
    coir_finally(f) {
        free(f->heap);
        close(f->pipe[0]);
        close(f->pipe[1]);
    }
} coir_end

int main(void)
{
    WITHOUT_CHANCE("whole");
    EQ(coir_main(coir_new(all)), 0, "a run");
    OK(asked, "the stack was asked for");
    return DONE();
}
