/* SPDX-License-Identifier: MIT */
/*
 * Many connections over several shards, with one context on each side for all of them: clients on every shard,
 * whose servers are on the next.
 */
#include "tls/tls.h"

enum { SHARDS = 2, CLIENTS = 50, ROUNDS = 5 };

static struct coir_tls_context *client_context, *server_context;
static struct sockaddr_in where[SHARDS];
static int answered, served;

/* ---- a server's connection: an echo ---- */

struct serves {
    coir_frame_void;
    coir_args(int fd;);
    struct coir_tls tls;
    char buf[512];
    struct coir_tls_handshake handshake;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(serves);

coir_body(serves, f) {
    MUST(coir_tls_init(&f->tls, server_context, f->fd, NULL));
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    for (;;) {
        TLS_READ(&f->read, &f->tls, f->buf, sizeof f->buf);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            break;
        TLS_WRITE(&f->write, &f->tls, f->buf, f->read.result);
        coir_check(f, &f->write);
    }
    __atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
    coir_finally(f) {
        if (coir_status(f))
            NOTE("a server: %s", coir_tls_error(&f->tls));
        TLS_CLOSE(&f->close, &f->tls);
    }
} coir_end

/* One shard's accepting, on a port of its own. */
struct accepts {
    coir_frame_void;
    coir_args(int listener; int n;);
    struct coir_group group;
    struct coir_accept accept;
    struct coir_group_wait wait;
};
static coir_declare(accepts);

coir_body(accepts, f) {
    coir_group_open(f, &f->group);
    for (; f->n > 0; f->n--) {
        coir_try(f, &f->accept, coir_accept, .fd = f->listener);
        coir_spawn(&f->group, coir_new(serves, .fd = f->accept.result));
    }
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- a client ---- */

struct calls {
    coir_frame_void;
    coir_args(int id; const struct sockaddr_in *where;);
    struct coir_tls tls;
    int fd, round;
    size_t n;
    unsigned char out[700], in[700];
    struct coir_socket socket;
    struct coir_connect connect;
    struct coir_tls_handshake handshake;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(calls);

coir_body(calls, f) {
    f->tls.connection = NULL;
    coir_get(f, f->fd, &f->socket, coir_socket, .domain = AF_INET, .type = SOCK_STREAM);
    MUST(coir_tls_init(&f->tls, client_context, f->fd, "localhost"));
    coir_try(f, &f->connect, coir_connect, .fd = f->fd, .addr = (const struct sockaddr *)f->where,
             .addrlen = sizeof *f->where);
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    for (f->round = 0; f->round < ROUNDS; f->round++) {
        for (size_t i = 0; i < sizeof f->out; i++)
            f->out[i] = pattern(i + (size_t)(f->id * 1000 + f->round));
        TLS_WRITE(&f->write, &f->tls, f->out, sizeof f->out);
        coir_check(f, &f->write);
        for (f->n = 0; f->n < sizeof f->in; f->n += f->read.result) {
            TLS_READ(&f->read, &f->tls, f->in + f->n, sizeof f->in - f->n);
            coir_check(f, &f->read);
            if (f->read.result == 0)
                coir_fail(f, ENODATA);
        }
        if (memcmp(f->in, f->out, sizeof f->in) != 0)
            coir_fail(f, EBADMSG);
    }
    __atomic_add_fetch(&answered, 1, __ATOMIC_RELAXED);
    coir_finally(f) {
        if (coir_status(f))
            NOTE("a client: %s, %s", coir_strerror(coir_status(f)), coir_tls_error(&f->tls));
        TLS_CLOSE(&f->close, &f->tls);
    }
} coir_end

struct calls_all {
    coir_frame_void;
    coir_args(int shard;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(calls_all);

coir_body(calls_all, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < CLIENTS; i++)
        coir_spawn(&f->group, coir_new(calls, .id = f->shard * CLIENTS + i, .where = &where[(f->shard + 1) % SHARDS]));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- the whole ---- */

struct away {
    coir_frame_void;
    coir_args(int shard; int listener;);
    struct accepts accepts;
    struct calls_all calls;
};
static coir_declare(away);

coir_body(away, f) {
    if (f->listener >= 0)
        coir_await_on(f, (unsigned)f->shard, &f->accepts, accepts, .listener = f->listener, .n = CLIENTS);
    else
        coir_await_on(f, (unsigned)f->shard, &f->calls, calls_all, .shard = f->shard);
    if (f->listener >= 0)
        coir_check(f, &f->accepts);
    else
        coir_check(f, &f->calls);
} coir_end

struct many {
    coir_frame_void;
    coir_args(const int *listeners;);
    struct away w[2 * SHARDS];
    struct coir_task *kids[2 * SHARDS];
    struct coir_combine all;
};
static coir_declare(many);

coir_body(many, f) {
    for (int i = 0; i < SHARDS; i++) {
        f->kids[i] = coir_make(&f->w[i], away, .shard = i, .listener = f->listeners[i]);
        f->kids[SHARDS + i] = coir_make(&f->w[SHARDS + i], away, .shard = i, .listener = -1);
    }
    coir_all(f, &f->all, f->kids, 2 * SHARDS);
    coir_check(f, &f->all);
} coir_end

int main(void)
{
    const struct identity ca = make_folder();
    const struct coir_options options = { .shards = SHARDS };
    int listeners[SHARDS];

    client_context = usual_client();
    server_context = usual_server();
    for (int i = 0; i < SHARDS; i++)
        listeners[i] = tcp_listener(&where[i], CLIENTS);
    EQ(coir_run(&options, coir_new(many, .listeners = listeners)), 0, "it ends well");
    EQ(answered, SHARDS * CLIENTS, "every client was answered");
    EQ(served, SHARDS * CLIENTS, "every server came to a goodbye");
    for (int i = 0; i < SHARDS; i++)
        close(listeners[i]);
    coir_tls_context_free(client_context);
    coir_tls_context_free(server_context);
    forget(ca);
    remove_folder();
    return DONE();
}
