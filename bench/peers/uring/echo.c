/* SPDX-License-Identifier: MIT */
/*
 * The echo row on raw io_uring: receive, then send, then receive a connection, one submit_and_wait a
 * turn, no coroutines, no timeouts, no error reports. What is left when everything is taken away but the
 * completion model. Usage: echo echo PORT.
 */
#include "../listen.h"

#include <liburing.h>

struct connection {
    int fd;
    int sending;
    char buffer[4096];
};

static struct connection listener; /* its address marks an accept's completion */

/* A full queue is submitted early, so there is always a free entry. */
static struct io_uring_sqe *next_sqe(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (!sqe) {
        io_uring_submit(ring);
        sqe = io_uring_get_sqe(ring);
    }
    return sqe;
}

static void accept_next(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = next_sqe(ring);
    io_uring_prep_accept(sqe, listener.fd, NULL, NULL, 0);
    io_uring_sqe_set_data(sqe, &listener);
}

static void receive(struct io_uring *ring, struct connection *c)
{
    struct io_uring_sqe *sqe = next_sqe(ring);
    c->sending = 0;
    io_uring_prep_recv(sqe, c->fd, c->buffer, sizeof c->buffer, 0);
    io_uring_sqe_set_data(sqe, c);
}

static void send_back(struct io_uring *ring, struct connection *c, size_t n)
{
    struct io_uring_sqe *sqe = next_sqe(ring);
    c->sending = 1;
    io_uring_prep_send(sqe, c->fd, c->buffer, n, 0);
    io_uring_sqe_set_data(sqe, c);
}

static void accepted(struct io_uring *ring, int fd)
{
    accept_next(ring);
    if (fd < 0)
        return;
    struct connection *c = malloc(sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    set_nodelay(fd);
    c->fd = fd;
    receive(ring, c);
}

static void completed(struct io_uring *ring, struct connection *c, int result)
{
    if (c == &listener) {
        accepted(ring, result);
    } else if (result <= 0) {
        close(c->fd);
        free(c);
    } else if (c->sending) {
        receive(ring, c);
    } else {
        send_back(ring, c, (size_t)result);
    }
}

static void open_ring(struct io_uring *ring)
{
    struct io_uring_params params = { .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN };
    int error = io_uring_queue_init_params(1024, ring, &params);
    if (error < 0) { /* before Linux 6.1 */
        params = (struct io_uring_params){ 0 };
        error = io_uring_queue_init_params(1024, ring, &params);
    }
    if (error < 0) {
        fprintf(stderr, "io_uring: %s\n", strerror(-error));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct io_uring ring;

    listener.fd = listen_on(argc, argv);
    open_ring(&ring);
    accept_next(&ring);
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head, count = 0;

        io_uring_submit_and_wait(&ring, 1);
        io_uring_for_each_cqe(&ring, head, cqe) {
            completed(&ring, io_uring_cqe_get_data(cqe), cqe->res);
            count++;
        }
        io_uring_cq_advance(&ring, count);
    }
}
