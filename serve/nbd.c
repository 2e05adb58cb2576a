/* SPDX-License-Identifier: MIT */
/*
 * coir_nbd_serve: the addresses, a shard's part for each shard, and the end.
 *
 *      coir_nbd_serve --coir_all--> coir_serve, for each address
 *                               \-> coir_nbd_stopper
 *
 * When they are cancelled each coir_serve stops listening and gives its connections the time to drain; the stopper
 * does nothing but tell them that they should.
 */
#include "serve/nbd.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "serve/again.h"
#include "serve/nbd_connection.h"

/* ---- the end ---- */

/* Tells the connections of the shard that it runs on. */
struct coir_nbd_tell {
    coir_frame_void;
    coir_args(struct coir_nbd_server *server;);
};
static coir_declare(coir_nbd_tell);

coir_body(coir_nbd_tell, f) {
    struct coir_nbd_shard *const shard = &f->server->shard[coir_shard_id()];

    shard->stopping = true;
    for (struct coir_nbd_connection *c = shard->first; c; c = c->next)
        coir_nbd_stop(c);
} coir_end

/* Waits to be cancelled, and then tells all. */
struct coir_nbd_stopper {
    coir_frame_void;
    coir_args(struct coir_nbd_server *server;);
    unsigned i;
    struct coir_event never;
    union {
        struct coir_event_wait wait;
        struct coir_nbd_tell tell;
    };
};
static coir_declare(coir_nbd_stopper);

coir_body(coir_nbd_stopper, f) {
    coir_event_init(&f->never);
    coir_try(f, &f->wait, coir_event_wait, .event = &f->never);
    coir_finally(f) {
        for (f->i = 0; f->i < f->server->shards; f->i++)
            coir_await_on(f, f->i, &f->tell, coir_nbd_tell, .server = f->server);
    }
} coir_end

/* ---- the beginning ---- */

static void log_to_stderr(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "coir: %s\n", line);
}

static void say_nothing(void *ctx, const char *address)
{
    (void)ctx;
    (void)address;
}

static bool make_sense(const struct coir_nbd_options *o)
{
    return o && o->store && o->where && o->n_where >= 1 && o->n_where <= NBD_ADDRESSES
        && (o->exports || o->n_exports == 0) && o->handshake >= 0 && o->patience >= 0 && o->drain >= 0;
}

static void fill_in(struct coir_nbd_options *o)
{
    o->connections = o->connections ? o->connections : 1024;
    o->depth = o->depth ? o->depth : 256;
    o->in_flight = o->in_flight ? o->in_flight : 64 << 20;
    o->memory = o->memory ? o->memory : 256 << 20;
    o->handshake = o->handshake ? o->handshake : 30 * COIR_S;
    o->patience = o->patience ? o->patience : 30 * COIR_S;
    o->drain = o->drain ? o->drain : 10 * COIR_S;
    o->log = o->log ? o->log : log_to_stderr;
    o->listening = o->listening ? o->listening : say_nothing;
}

static struct coir_nbd_server *make(const struct coir_nbd_options *o)
{
    const unsigned n = coir_shard_count();
    const size_t size = sizeof(struct coir_nbd_server) + n * sizeof(struct coir_nbd_shard);
    struct coir_nbd_server *s = aligned_alloc(64, (size + 63) / 64 * 64);

    if (!s)
        return NULL;
    memset(s, 0, size);
    s->options = *o;
    fill_in(&s->options);
    s->shards = n;
    s->memory = s->options.memory / n < NBD_MEMORY_LEAST ? NBD_MEMORY_LEAST : s->options.memory / n;
    for (unsigned i = 0; i < n; i++)
        s->shard[i].server = s;
    return s;
}

/* Answers are not held back, and a machine that is gone is noticed in two minutes. What is accepted has this of its
 * listener. On a Unix socket it means nothing, and fails. */
static void set_up_socket(int fd)
{
    static const struct { int level, name, value; } options[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 }, { SOL_SOCKET, SO_KEEPALIVE, 1 }, { IPPROTO_TCP, TCP_KEEPIDLE, 60 },
        { IPPROTO_TCP, TCP_KEEPINTVL, 15 }, { IPPROTO_TCP, TCP_KEEPCNT, 4 },
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof options[i].value);
}

static void tell_address(const struct coir_nbd_options *o, int fd)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char text[COIR_ADDRESS_TEXT];

    if (getsockname(fd, (struct sockaddr *)&addr, &len) == 0)
        o->listening(o->ctx, coir_address_text(&addr, len, text, sizeof text));
}

static struct coir_task *greet(int fd, void *arg)
{
    return coir_new(coir_nbd_connection, .fd = fd, .server = arg);
}

static int listen_all(struct coir_nbd_server *s, const char **failed)
{
    int *const fds = s->listener;
    const struct coir_nbd_options *const o = &s->options;
    const struct coir_listen_options listen = { .mode = o->mode };

    for (unsigned i = 0; i < o->n_where; i++) {
        fds[i] = coir_listen(o->where[i], &listen);
        if (fds[i] < 0) {
            const int err = fds[i];
            *failed = o->where[i];
            while (i-- > 0)
                close(fds[i]);
            return err;
        }
        set_up_socket(fds[i]);
        coir_socket_file_note(&s->files[i], o->where[i]);
    }
    *failed = NULL;
    return 0;
}

/* From here on the listeners are their servers', who close them. */
static void make_kids(struct coir_nbd_server *s)
{
    const int *const fds = s->listener;
    const unsigned n = s->options.n_where;

    for (unsigned i = 0; i < n; i++) {
        tell_address(&s->options, fds[i]);
        s->kids[i] = coir_new(coir_serve, .handler = greet, .arg = s, .fd = fds[i], .spread = COIR_SPREAD_LEAST,
                              .limit = s->options.connections, .grace = s->options.drain);
        if (!s->kids[i])
            close(fds[i]);
    }
    s->kids[n] = coir_new(coir_nbd_stopper, .server = s);
}

/* ---- counting ---- */

static pthread_mutex_t shown = PTHREAD_MUTEX_INITIALIZER;       /* over `server` of each coir_nbd_serve */

static void sum(const struct coir_nbd_server *s, struct coir_nbd_counts *out)
{
    enum { WORDS = sizeof *out / sizeof(uint64_t) };
    uint64_t *const to = (uint64_t *)(void *)out;

    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < s->shards; i++) {
        const uint64_t *from = (const uint64_t *)(const void *)&s->shard[i].counts;
        for (size_t w = 0; w < WORDS; w++)
            to[w] += __atomic_load_n(&from[w], __ATOMIC_RELAXED);
    }
}

void coir_nbd_count(struct coir_nbd_serve *s, struct coir_nbd_counts *out)
{
    pthread_mutex_lock(&shown);
    if (s->server)
        sum(s->server, out);
    else
        *out = s->result;
    pthread_mutex_unlock(&shown);
}

static void tear_down(struct coir_nbd_serve *f)
{
    struct coir_nbd_server *s = f->server;

    pthread_mutex_lock(&shown);
    if (s)
        sum(s, &f->result);
    f->server = NULL;
    pthread_mutex_unlock(&shown);
    for (unsigned i = 0; s && i < s->options.n_where; i++)
        coir_socket_file_remove(&s->files[i]);
    free(s);
}

coir_body(coir_nbd_serve, f) {
    f->server = NULL;
    f->failed = NULL;
    if (!make_sense(f->options))
        coir_fail(f, -EINVAL);
    f->server = make(f->options);
    if (!f->server)
        coir_fail(f, -ENOMEM);
    for (f->tries = 0; (f->err = listen_all(f->server, &f->failed)) == -EADDRINUSE && f->tries < AGAIN_TRIES;
         f->tries++)
        coir_try(f, &f->sleep, coir_sleep, .ns = AGAIN_PAUSE_MS * COIR_MS);
    if (f->err)
        coir_fail(f, f->err);
    make_kids(f->server);
    coir_all(f, &f->all, f->server->kids, f->server->options.n_where + 1);
    coir_check(f, &f->all);
    coir_finally(f) {
        tear_down(f);
    }
} coir_end
