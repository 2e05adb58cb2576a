/* SPDX-License-Identifier: MIT */
/*
 * A shard inside libuv: its descriptor in a uv_poll, beside a timer and an idle socket of libuv's own; both make
 * progress, and the program ends when both are done.
 */
#include "task/help.h"

#include <sys/socket.h>
#include <uv.h>

struct echo {
    coir_frame(size_t);
    coir_args(int fd;);
    char buf[64];
    size_t n;
    union {
        struct coir_read read;
        struct coir_write_all write;
        struct coir_sleep sleep;
    };
};
static coir_declare(echo);

static size_t echoed;

coir_body(echo, f) {
    for (;;) {
        coir_get(f, f->n, &f->read, coir_read, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
        coir_try(f, &f->write, coir_write_all, .fd = f->fd, .buf = f->buf, .len = f->n);
        echoed += f->n;
    }
} coir_end

static uv_poll_t shard_poll, peer_poll;
static uv_timer_t timer;
static struct coir_shard *shard;
static int peer_fd, sent, received, ticks;

static void on_shard(uv_poll_t *p, int status, int events)
{
    (void)status;
    (void)events;
    if (coir_turn(shard))
        return;
    uv_poll_stop(p);
    uv_close((uv_handle_t *)p, NULL);
}

/* libuv's own end of the socket. */
static void on_peer(uv_poll_t *p, int status, int events)
{
    char buf[64];
    const ssize_t n = read(peer_fd, buf, sizeof buf);

    (void)status;
    (void)events;
    received += n > 0 ? (int)n : 0;
    if (received < 20)
        return;
    shutdown(peer_fd, SHUT_WR);
    uv_poll_stop(p);
    uv_close((uv_handle_t *)p, NULL);
}

static void on_timer(uv_timer_t *t)
{
    ticks++;
    if (sent < 20)
        sent += (int)write(peer_fd, "x", 1);
    else
        uv_close((uv_handle_t *)t, NULL);
}

int main(void)
{
    int fds[2];

    unsetenv("COIR_TIME");
    socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
    peer_fd = fds[1];
    shard = coir_shard_open(NULL, coir_new(echo, .fd = fds[0]));
    if (!OK(shard != NULL, "a shard"))
        return DONE();
    uv_poll_init(uv_default_loop(), &shard_poll, coir_shard_fd(shard));
    uv_poll_start(&shard_poll, UV_READABLE, on_shard);
    uv_poll_init(uv_default_loop(), &peer_poll, peer_fd);
    uv_poll_start(&peer_poll, UV_READABLE, on_peer);
    uv_timer_init(uv_default_loop(), &timer);
    uv_timer_start(&timer, on_timer, 1, 2);
    alarm(50);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    EQ(received, 20, "libuv got every byte back");
    EQ(echoed, 20, "that the shard's task echoed");
    EQ(ticks, 21, "and its timer went on meanwhile");
    EQ(coir_shard_close(shard), 0, "the task ended well");
    uv_loop_close(uv_default_loop());
    return DONE();
}
