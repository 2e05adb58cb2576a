/* SPDX-License-Identifier: MIT */
/*
 * TLS over a wire that is cut, altered, slow or nonsense. Between the two ends stands a relay that carries the bytes
 * of both directions, counts them, and does something at one of them. Whatever it is, both ends have to come to their
 * end, each with an error of those that coir/tls.h names, and neither may take an altered byte for a good one.
 */
#include "tls/tls.h"

enum harm { NOTHING, CUT, FLIP, DRIP, HARMS };
static const char *const harm_names[] = { "nothing", "cut", "flipped", "byte by byte" };

/* ---- the relay ---- */

struct relay {
    coir_frame_void;
    coir_args(int from; int to; enum harm harm; long at; long *carried;);
    struct coir_recv recv;
    struct coir_send_all send;
    struct coir_shutdown shutdown;
    unsigned char buf[4096];
    size_t n;
};
static coir_declare(relay);

/* Carries to the end of its direction. A cut ends both directions. */
coir_body(relay, f) {
    for (;;) {
        coir_await(f, &f->recv, coir_recv, .fd = f->from, .buf = f->buf, .len = f->harm == DRIP ? 1 : sizeof f->buf);
        f->n = coir_status(&f->recv) < 0 ? 0 : f->recv.result;
        if (f->n == 0)
            break;
        if (f->harm == FLIP && f->at >= *f->carried && f->at < *f->carried + (long)f->n)
            f->buf[f->at - *f->carried] ^= 0x10;
        if (f->harm == CUT && *f->carried + (long)f->n >= f->at)
            f->n = (size_t)(f->at - *f->carried);
        *f->carried += (long)f->n;
        coir_await(f, &f->send, coir_send_all, .fd = f->to, .buf = f->buf, .len = f->n);
        if (f->harm == CUT && *f->carried == f->at)
            shutdown(f->from, SHUT_RDWR);
    }
    coir_await(f, &f->shutdown, coir_shutdown, .fd = f->to, .how = f->harm == CUT ? SHUT_RDWR : SHUT_WR);
} coir_end

/* ---- the ends ---- */

enum { MESSAGE = 300 };

/* Handshake, a message each way, goodbye. Never fails; the first error is noted. */
struct party {
    coir_frame_void;
    coir_args(struct coir_tls *tls; bool first; int *status; bool *altered;);
    unsigned char out[MESSAGE], in[MESSAGE + 1];
    size_t n;
    struct coir_scope scope;
    struct coir_tls_handshake handshake;
    struct coir_stream_write_all write;
    struct coir_stream_read read;
    struct coir_stream_shutdown shutdown;
    struct coir_stream_close close;
};
static coir_declare(party);

coir_body(party, f) {
    for (size_t i = 0; i < MESSAGE; i++)
        f->out[i] = pattern(i);
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = f->tls);
    TLS_WRITE(&f->write, f->tls, f->out, MESSAGE);
    coir_check(f, &f->write);
    coir_try(f, &f->shutdown, coir_stream_shutdown, .stream = &f->tls->stream);
    for (f->n = 0;; f->n += f->read.result) {
        TLS_READ(&f->read, f->tls, f->in + f->n, sizeof f->in - f->n);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            break;
    }
    if (f->n != MESSAGE)
        coir_fail(f, ENODATA);              /* a whole end of half a message: must never be */
    coir_finally(f) {
        *f->status = coir_status(f);
        *f->altered = !is_pattern(f->in, 0, coir_status(f) == 0 ? MESSAGE : 0);
        TLS_CLOSE(&f->close, f->tls);
    }
} coir_end

struct member {
    coir_frame_void;
    coir_args(struct coir_tls *tls; int *status; bool *altered; int64_t deadline;);
    struct coir_scope scope;
    struct party party;
};
static coir_declare(member);

coir_body(member, f) {
    coir_within(f, &f->scope, f->deadline, &f->party, party, .tls = f->tls, .status = f->status,
                .altered = f->altered);
} coir_end

struct wire {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; enum harm harm; bool from_client;
              long at; int *statuses; long *lengths;);
    struct coir_tls a, b;
    int fds[4];
    long carried[2];
    bool altered[2];
    int64_t deadline;
    struct member m[2];
    struct relay r[2];
    struct coir_task *kids[4];
    struct coir_combine all;
};
static coir_declare(wire);

coir_body(wire, f) {
    make_pair(UNIX_BLOCKING, f->fds);
    make_pair(UNIX_BLOCKING, f->fds + 2);
    f->carried[0] = f->carried[1] = 0;
    f->altered[0] = f->altered[1] = false;
    MUST(coir_tls_init(&f->a, f->client, f->fds[0], "localhost"));
    MUST(coir_tls_init(&f->b, f->server, f->fds[3], NULL));
    f->deadline = f->harm == FLIP ? coir_now() + COIR_S : COIR_NEVER;
    f->kids[0] = coir_make(&f->m[0], member, .tls = &f->a, .status = &f->statuses[0], .altered = &f->altered[0],
                           .deadline = f->deadline);
    f->kids[1] = coir_make(&f->m[1], member, .tls = &f->b, .status = &f->statuses[1], .altered = &f->altered[1],
                           .deadline = f->deadline);
    f->kids[2] = coir_make(&f->r[0], relay, .from = f->fds[1], .to = f->fds[2], .carried = &f->carried[0],
                           .harm = f->from_client || f->harm == DRIP ? f->harm : NOTHING, .at = f->at);
    f->kids[3] = coir_make(&f->r[1], relay, .from = f->fds[2], .to = f->fds[1], .carried = &f->carried[1],
                           .harm = !f->from_client || f->harm == DRIP ? f->harm : NOTHING, .at = f->at);
    coir_all(f, &f->all, f->kids, 4);
    if (f->altered[0] || f->altered[1])
        f->statuses[0] = -ENOTRECOVERABLE;
    if (f->lengths) {
        f->lengths[0] = f->carried[0];
        f->lengths[1] = f->carried[1];
    }
    close(f->fds[1]);
    close(f->fds[2]);
} coir_end

/* ---- every byte ---- */

/* A record that says it is longer than it is has everybody wait, and only a deadline ends that. */
static bool is_expected(int status, enum harm harm)
{
    return (harm == FLIP && status == -ECANCELED) || status == -ECONNRESET || status == -EPROTO || status == -EBADMSG
           || status == -EKEYREJECTED || status == -EPIPE;
}

struct sweep {
    struct coir_tls_context *client, *server;
    const char *version;
    long lengths[2];
};

/* One direction, one kind of harm, at every byte or every `step`-th. */
static void at_every_byte(struct sweep *s, enum harm harm, bool from_client, long step)
{
    const long last = s->lengths[from_client ? 0 : 1];
    int wrong = 0, bad_mac = 0, said[2] = { 0, 0 };
    const int before = count_fds();

    for (long at = 0; at < last; at += step) {
        int statuses[2] = { 1, 1 };
        const int run = coir_run(NULL, coir_new(wire, .client = s->client, .server = s->server, .harm = harm,
                                                .from_client = from_client, .at = at, .statuses = statuses));
        const int victim = statuses[from_client ? 1 : 0];
        /* Signatures differ in length by a few bytes: the end may come before the harm. */
        const bool missed = at >= last - 4 && victim == 0;
        /* The first record's minor version: whoever receives it must ignore it (RFC 8446, 5.1). */
        const bool ignored = harm == FLIP && at == 2 && victim == 0;
        /* Whom the harm reaches has to notice. The other one may have had all that it wanted by then. */
        const bool good = missed || ignored || (run == 0 && is_expected(victim, harm)
                          && (statuses[from_client ? 0 : 1] == 0 || is_expected(statuses[from_client ? 0 : 1], harm)));
        bad_mac += victim == -EBADMSG;
        if (!good && wrong++ == 0) {
            said[0] = statuses[0];
            said[1] = statuses[1];
            NOTE("%s at %ld of %ld: run %d, client %d, server %d", harm_names[harm], at, last, run, said[0], said[1]);
        }
    }
    EQ(wrong, 0, "%s: %s, from the %s, at every byte", s->version, harm_names[harm], from_client ? "client" : "server");
    EQ(count_fds(), before, "no descriptor is left");
    if (harm == FLIP)
        OK(bad_mac > 0, "%s: altered records are known as that (%d)", s->version, bad_mac);
}

static void sweep(struct sweep *s)
{
    int statuses[2] = { 1, 1 };

    EQ(coir_run(NULL, coir_new(wire, .client = s->client, .server = s->server, .statuses = statuses,
                               .lengths = s->lengths)), 0, "%s: through a relay", s->version);
    EQ(statuses[0], 0, "%s: client", s->version);
    EQ(statuses[1], 0, "%s: server", s->version);
    OK(s->lengths[0] > MESSAGE && s->lengths[1] > MESSAGE, "%s: %ld and %ld bytes", s->version, s->lengths[0],
       s->lengths[1]);
    EQ(coir_run(NULL, coir_new(wire, .client = s->client, .server = s->server, .statuses = statuses, .harm = DRIP)), 0,
       "%s: byte by byte", s->version);
    EQ(statuses[0], 0, "%s: byte by byte: client", s->version);
    EQ(statuses[1], 0, "%s: byte by byte: server", s->version);
    for (int i = 0; i < 2; i++) {
        at_every_byte(s, CUT, i, getenv("COIR_TEST_LONG") ? 1 : 5);
        at_every_byte(s, FLIP, i, getenv("COIR_TEST_LONG") ? 1 : 5);
    }
}

/* ---- nonsense ---- */

struct nonsense {
    coir_frame_void;
    coir_args(struct coir_tls_context *context; const char *host; const unsigned char *bytes; size_t len;
              const char *name; bool closes;);
    struct coir_tls tls;
    int fds[2], status;
    struct coir_scope scope;
    struct coir_tls_handshake handshake;
    struct coir_send_all send;
    struct coir_stream_close close;
};
static coir_declare(nonsense);

coir_body(nonsense, f) {
    make_pair(UNIX_BLOCKING, f->fds);
    MUST(coir_tls_init(&f->tls, f->context, f->fds[0], f->host));
    coir_try(f, &f->send, coir_send_all, .fd = f->fds[1], .buf = f->bytes, .len = f->len);
    if (f->closes)
        shutdown(f->fds[1], SHUT_WR);
    coir_await(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    f->status = coir_status(&f->handshake);
    OK(f->status == -EPROTO || (f->closes && f->status == -ECONNRESET), "nonsense: %s: %d, \"%s\"", f->name, f->status,
       coir_tls_error(&f->tls));
    TLS_CLOSE(&f->close, &f->tls);
    close(f->fds[1]);
} coir_end

static void nonsenses(struct coir_tls_context *client, struct coir_tls_context *server)
{
    static unsigned char random[3000], zeros[3000];
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    uint64_t x = 88172645463325252u;

    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof random; i++) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            random[i] = (unsigned char)x;
        }
        if (round % 2) {                    /* at least it begins like a handshake's record */
            random[0] = 22;
            random[1] = 3;
            random[2] = 1;
            random[3] = 1;
        }
        RUN(coir_new(nonsense, .context = round % 4 < 2 ? server : client, .host = round % 4 < 2 ? NULL : "localhost",
                     .bytes = random, .len = sizeof random, .name = "random bytes", .closes = true), "random bytes");
    }
    RUN(coir_new(nonsense, .context = server, .bytes = zeros, .len = sizeof zeros, .name = "zeros"), "zeros");
    RUN(coir_new(nonsense, .context = server, .bytes = (const unsigned char *)http, .len = sizeof http - 1,
                 .name = "HTTP"), "HTTP for a server");
    RUN(coir_new(nonsense, .context = client, .host = "localhost", .bytes = (const unsigned char *)answer,
                 .len = sizeof answer - 1, .name = "HTTP"), "HTTP for a client");
    RUN(coir_new(nonsense, .context = server, .len = 0, .bytes = zeros, .name = "nothing at all", .closes = true),
        "nothing");
}

int main(void)
{
    const struct identity ca = make_folder();
    setenv("COIR_TIME", "virtual", 1);
    struct sweep s13 = { usual_client(), usual_server(), "TLS 1.3", { 0, 0 } };
    struct sweep s12 = { usual_client(), usual_server(), "TLS 1.2", { 0, 0 } };

    at_most_12(s12.server);
    nonsenses(s13.client, s13.server);
    sweep(&s13);
    sweep(&s12);
    coir_tls_context_free(s13.client);
    coir_tls_context_free(s13.server);
    coir_tls_context_free(s12.client);
    coir_tls_context_free(s12.server);
    forget(ca);
    remove_folder();
    return DONE();
}
