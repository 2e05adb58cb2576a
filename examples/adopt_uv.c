/* SPDX-License-Identifier: MIT */
/*
 * adopt_uv - coir inside libuv: connections of a libuv server, each handled by a task.
 *
 * libuv owns the loop, the listener and the signals, as in a program that was written for it. What was a state
 * machine of callbacks, the life of a connection, is a straight body: every line that comes is sent back in
 * upper case. libuv watches the shard's descriptor and runs its turns.
 */
#include <coir/coir.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

/* Sends back in upper case what comes, until the peer closes. */
struct shout {
    coir_frame_void;
    coir_args(int fd;);
    char buf[4096];
    size_t n;
    union {
        struct coir_recv recv;
        struct coir_send_all send;
        struct coir_close close;
    };
};
static coir_declare(shout);

coir_body(shout, f) {
    for (;;) {
        coir_get(f, f->n, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        if (f->n == 0)
            break;
        for (size_t i = 0; i < f->n; i++)
            f->buf[i] = (char)toupper((unsigned char)f->buf[i]);
        coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->buf, .len = f->n);
    }
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* The shard's first task: the shard lasts until the cell is completed. */
struct until_stopped {
    coir_frame_void;
    coir_args(struct coir_cell *stop;);
    struct coir_cell_wait wait;
};
static coir_declare(until_stopped);

coir_body(until_stopped, f) {
    coir_try(f, &f->wait, coir_cell_wait, .cell = f->stop);
} coir_end

static struct coir_shard *shard;
static struct coir_cell stop;

static void close_all(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* libuv: the shard's descriptor is readable. */
static void on_coir(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    if (!coir_turn(shard))
        uv_walk(poll->loop, close_all, NULL);       /* all tasks have ended: so does the loop */
}

/* libuv: a connection. Its descriptor is copied for the task, since libuv's handle closes its own. */
static void on_connection(uv_stream_t *listener, int status)
{
    uv_tcp_t *client = malloc(sizeof *client);
    uv_os_fd_t fd;

    if (!client || status < 0 || uv_tcp_init(listener->loop, client) < 0) {
        free(client);
        return;
    }
    if (uv_accept(listener, (uv_stream_t *)client) == 0 && uv_fileno((uv_handle_t *)client, &fd) == 0
        && (fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0 && coir_spawn_on(0, coir_new(shout, .fd = fd)) < 0)
        close(fd);
    uv_close((uv_handle_t *)client, (uv_close_cb)free);
}

/* libuv: SIGTERM or Ctrl-C. The first task ends, the others are cancelled. */
static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    uv_close((uv_handle_t *)signal, NULL);
    if (!coir_cell_done(&stop))
        coir_cell_complete(&stop, 0, 0);
}

static int listen_at(uv_loop_t *loop, uv_tcp_t *listener, const char *port)
{
    struct sockaddr_in addr;
    int len = sizeof addr, err;

    uv_tcp_init(loop, listener);
    if ((err = uv_ip4_addr("127.0.0.1", (int)strtol(port, NULL, 10), &addr)) < 0
        || (err = uv_tcp_bind(listener, (struct sockaddr *)&addr, 0)) < 0
        || (err = uv_listen((uv_stream_t *)listener, 128, on_connection)) < 0
        || (err = uv_tcp_getsockname(listener, (struct sockaddr *)&addr, &len)) < 0)
        return err;
    printf("adopt_uv: listening on 127.0.0.1:%d\n", ntohs(addr.sin_port));
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    uv_poll_t poll;
    uv_signal_t terminate, interrupt;
    uv_tcp_t listener;

    if (argc != 2 || !isdigit((unsigned char)argv[1][0])) {
        const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: adopt_uv PORT    sends back in upper case what it is sent\n");
        return help ? 0 : 2;
    }
    coir_cell_init(&stop);
    shard = coir_shard_open(NULL, coir_new(until_stopped, .stop = &stop));
    if (!shard)
        return 1;                       /* it has said why */
    uv_loop_init(&loop);
    uv_poll_init(&loop, &poll, coir_shard_fd(shard));
    uv_poll_start(&poll, UV_READABLE, on_coir);
    uv_signal_init(&loop, &terminate);
    uv_signal_start(&terminate, on_signal, SIGTERM);
    uv_signal_init(&loop, &interrupt);
    uv_signal_start(&interrupt, on_signal, SIGINT);
    const int err = listen_at(&loop, &listener, argv[1]);
    if (err < 0) {
        coir_cell_complete(&stop, 0, 0);
        fprintf(stderr, "adopt_uv: port %s: %s\n", argv[1], uv_strerror(err));
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    coir_shard_close(shard);
    return err < 0;
}
