/* SPDX-License-Identifier: MIT */
/*
 * A program that is killed while its tasks wait for many things: tests/see/gdb looks at what is left of it. Compiled
 * by that test, optimised, with debug information; its line numbers are expected there.
 */
#include <coir/coir.h>
#include <stdlib.h>
#include <sys/socket.h>

static const struct coir_context_key request = { "request", NULL };

struct receive {
    coir_frame(size_t);
    coir_args(int fd; const char *name;);
    char buf[16];
    size_t received;
    struct coir_recv recv;
};
static coir_declare(receive);

coir_body(receive, f) {
    f->received = 77;
    coir_get(f, f->result, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
} coir_end

struct handle {
    coir_frame_void;
    coir_args(int fd; int number;);
    struct coir_scope scope;
    struct receive receive;
};
static coir_declare(handle);

coir_body(handle, f) {
    coir_within(f, &f->scope, coir_now() + 1000 * COIR_S, &f->receive, receive, .fd = f->fd, .name = "left");
    coir_check(f, &f->receive);
} coir_end

struct bound {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_context context;
    struct handle handle;
};
static coir_declare(bound);

coir_body(bound, f) {
    coir_with(f, &f->context, &request, f, &f->handle, handle, .fd = f->fd, .number = 4711);
} coir_end

struct sleeper {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_finally(f) {
        coir_await(f, &f->sleep, coir_sleep, .ns = f->ns);
    }
} coir_end

struct races {
    coir_frame_void;
    coir_no_args;
    struct coir_task *kids[2];
    struct coir_combine race;
};
static coir_declare(races);

coir_body(races, f) {
    f->kids[0] = coir_new(sleeper, .ns = 1000 * COIR_S);
    f->kids[1] = coir_new(sleeper, .ns = 2000 * COIR_S);
    coir_race(f, &f->race, f->kids, 2);
} coir_end

struct program {
    coir_frame_void;
    coir_args(bool crowd;);
    int fds[2];
    struct coir_channel channel;
    int item;
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
    struct coir_channel_recv recv;
};
static coir_declare(program);

coir_body(program, f) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, f->fds) < 0)
        coir_fail(f, errno);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(bound, .fd = f->fds[0]));
    coir_spawn(&f->group, coir_new(sleeper, .ns = 1000 * COIR_S));
    coir_spawn(&f->group, coir_new(races));
    for (int i = 0; f->crowd && i < 30; i++)
        coir_spawn(&f->group, coir_new(sleeper, .ns = 1000 * COIR_S));
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    abort();
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

int main(int argc, char **argv)
{
    (void)argv;
    return coir_main(coir_new(program, .crowd = argc > 1));
}
