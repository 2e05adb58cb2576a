/* SPDX-License-Identifier: MIT */
/*
 * TLS as a stream under use: much data both ways at once, key updates in between, deadlines and cancellation in the
 * middle of records, closing while others read and write, peers that vanish.
 */
#include "tls/tls.h"

enum { BIG = 3 << 20 };

/* ---- much both ways ---- */

struct writes {
    coir_frame_void;
    coir_args(struct coir_tls *tls; size_t total; int keys; bool goodbye;);
    size_t done, len;
    int round;
    unsigned char *buf;
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
};
static coir_declare(writes);

/* Pieces of odd sizes; every so often new keys are asked for, which the peer's reader has to answer. */
coir_body(writes, f) {
    f->buf = HAVE(malloc(200000));
    f->round = 0;
    for (f->done = 0; f->done < f->total; f->done += f->len, f->round++) {
        f->len = (size_t)(f->round * 7919 % 199999 + 1);
        if (f->len > f->total - f->done)
            f->len = f->total - f->done;
        for (size_t i = 0; i < f->len; i++)
            f->buf[i] = pattern(f->done + i);
        if (f->keys && f->round % 3 == 0)
            SSL_key_update(coir_tls_ssl(f->tls), f->keys);
        TLS_WRITE(&f->write, f->tls, f->buf, f->len);
        coir_check(f, &f->write);
    }
    if (f->goodbye)
        coir_try(f, &f->shutdown, coir_stream_shutdown, .stream = &f->tls->stream);
    coir_finally(f) {
        free(f->buf);
    }
} coir_end

struct reads {
    coir_frame_void;
    coir_args(struct coir_tls *tls; size_t total; const char *name;);
    size_t done;
    bool good;
    unsigned char *buf;
    struct coir_stream_read read;
};
static coir_declare(reads);

/* Everything up to the peer's goodbye. */
coir_body(reads, f) {
    f->buf = HAVE(malloc(50000));
    f->good = true;
    for (f->done = 0;; f->done += f->read.result) {
        TLS_READ(&f->read, f->tls, f->buf, 50000);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            break;
        f->good = f->good && is_pattern(f->buf, f->done, f->read.result);
    }
    OK(f->good, "%s: the bytes are those that were written", f->name);
    EQ(f->done, f->total, "%s: all of them", f->name);
    coir_finally(f) {
        free(f->buf);
    }
} coir_end

struct exchange {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; enum kind kind; int keys;);
    struct ends e;
    struct reads r[2];
    struct writes w[2];
    struct coir_task *kids[4];
    struct coir_combine all;
    struct coir_stream_close close;
};
static coir_declare(exchange);

coir_body(exchange, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = f->kind);
    make_narrow(f->kind, f->e.fds);
    f->kids[0] = coir_make(&f->r[0], reads, .tls = &f->e.client, .total = BIG, .name = "client");
    f->kids[1] = coir_make(&f->r[1], reads, .tls = &f->e.server, .total = BIG, .name = "server");
    f->kids[2] = coir_make(&f->w[0], writes, .tls = &f->e.client, .total = BIG, .keys = f->keys, .goodbye = true);
    f->kids[3] = coir_make(&f->w[1], writes, .tls = &f->e.server, .total = BIG, .keys = f->keys, .goodbye = true);
    coir_all(f, &f->all, f->kids, 4);
    EQ(coir_status(&f->all), 0, "both read and write at once");
    STR_EQ(coir_tls_error(&f->e.client), "nothing is wrong", "without an error");
    TLS_CLOSE(&f->close, &f->e.client);
    TLS_CLOSE(&f->close, &f->e.server);
} coir_end

/* ---- deadlines and cancellation ---- */

struct impatient {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    struct coir_scope scope;
    unsigned char *buf;
    size_t done, len;
    int rounds, raw;
    char text[8];
    struct reads reader;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
    struct coir_tls_handshake handshake;
};
static coir_declare(impatient);

/* The rest of `buf` in one go; the first byte on the wire has to follow what is under way. */
struct rest_of {
    coir_frame_void;
    coir_args(struct impatient *i;);
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
};
static coir_declare(rest_of);

coir_body(rest_of, f) {
    TLS_WRITE(&f->write, &f->i->e.client, f->i->buf + f->i->done, BIG - f->i->done);
    coir_check(f, &f->write);
    EQ(f->write.result, BIG - f->i->done, "the rest is written");
    coir_try(f, &f->shutdown, coir_stream_shutdown, .stream = &f->i->e.client.stream);
} coir_end

coir_body(impatient, f) {
    f->buf = HAVE(malloc(BIG));
    for (size_t i = 0; i < BIG; i++)
        f->buf[i] = pattern(i);
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    make_narrow(UNIX_BLOCKING, f->e.fds);

    coir_within(f, &f->scope, coir_now() - 1, &f->read, coir_stream_read, .stream = &f->e.client.stream,
                .buf = f->text, .len = 8);
    EQ(coir_status(&f->read), -ETIMEDOUT, "read: the deadline has passed");
    TLS_WRITE(&f->write, &f->e.server, "abc", 3);     /* nobody reads: in many small pieces it would not fit */
    coir_within(f, &f->scope, coir_now() - 1, &f->read, coir_stream_read, .stream = &f->e.client.stream,
                .buf = f->text, .len = 2);
    EQ(coir_status(&f->read), 0, "read: what arrived wins over the deadline");
    EQ(f->read.result, 2, "read: as much as was asked for");
    coir_within(f, &f->scope, coir_now() - 1, &f->read, coir_stream_read, .stream = &f->e.client.stream,
                .buf = f->text, .len = 8);
    EQ(f->read.result, 1, "read: what was decrypted before needs no socket");

    /* Deadlines that pass at once, again and again, until nothing goes any more: the socket is full. */
    f->done = 0;
    for (f->rounds = 0; f->rounds < 40; f->rounds++) {
        coir_within(f, &f->scope, coir_now() - 1, &f->write, coir_stream_write_all, .stream = &f->e.client.stream,
                    .buf = f->buf + f->done, .len = BIG - f->done);
        if (coir_status(&f->write) != -ETIMEDOUT)
            break;
        f->len = f->write.result;
        f->done += f->len;
    }
    EQ(f->rounds, 40, "write: the deadline has passed, each time");
    EQ(f->len, 0, "write: in the end it takes nothing");
    OK(f->done > 0 && f->done < 1 << 20, "write: before, it took some (%zu)", f->done);
    f->kids[0] = coir_make(&f->reader, reads, .tls = &f->e.server, .total = BIG, .name = "after cancelled writes");
    f->kids[1] = coir_new(rest_of, .i = f);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "write: goes on behind what was taken");
    TLS_CLOSE(&f->close, &f->e.client);
    TLS_CLOSE(&f->close, &f->e.server);
    coir_finally(f) {
        free(f->buf);
    }
} coir_end

/* A handshake that is given up at every place where it waits, and goes on. */
struct hesitant {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct coir_tls client_end, server_end;
    int fds[2], rounds;
    struct coir_scope scope;
    struct coir_tls_handshake a, b;
    struct coir_stream_close close;
};
static coir_declare(hesitant);

coir_body(hesitant, f) {
    make_pair(UNIX_BLOCKING, f->fds);
    MUST(coir_tls_init(&f->client_end, f->client, f->fds[0], "localhost"));
    MUST(coir_tls_init(&f->server_end, f->server, f->fds[1], NULL));
    for (f->rounds = 0; f->rounds < 10; f->rounds++) {
        coir_within(f, &f->scope, coir_now() - 1, &f->a, coir_tls_handshake, .tls = &f->client_end);
        coir_within(f, &f->scope, coir_now() - 1, &f->b, coir_tls_handshake, .tls = &f->server_end);
        if (coir_status(&f->a) == 0 && coir_status(&f->b) == 0)
            break;
        OK((coir_status(&f->a) == 0 || coir_status(&f->a) == -ETIMEDOUT) && (coir_status(&f->b) == 0
           || coir_status(&f->b) == -ETIMEDOUT), "handshake: round %d times out", f->rounds);
    }
    EQ(coir_status(&f->a), 0, "handshake: the client's comes to its end");
    EQ(coir_status(&f->b), 0, "handshake: the server's too");
    OK(f->rounds >= 1, "handshake: in more than one round");
    TLS_CLOSE(&f->close, &f->client_end);
    TLS_CLOSE(&f->close, &f->server_end);
} coir_end

/* ---- two at once, and closing under them ---- */

struct waits {
    coir_frame_void;
    coir_args(struct coir_tls *tls; int *status; bool write;);
    unsigned char *buf;
    struct coir_stream_read read;
    struct coir_stream_write_all op;
};
static coir_declare(waits);

coir_body(waits, f) {
    f->buf = HAVE(calloc(1, BIG));
    *f->status = 1;
    if (f->write) {
        TLS_WRITE(&f->op, f->tls, f->buf, BIG);
        *f->status = coir_status(&f->op);
    } else {
        TLS_READ(&f->read, f->tls, f->buf, BIG);
        *f->status = coir_status(&f->read);
    }
    coir_finally(f) {
        free(f->buf);
    }
} coir_end

struct crowd {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; bool reader; bool writer;);
    struct ends e;
    int status[2], i;
    char byte;
    struct coir_group group;
    struct coir_pass pass;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
    struct coir_group_wait wait;
};
static coir_declare(crowd);

coir_body(crowd, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = TCP_BLOCKING);
    make_narrow(TCP_BLOCKING, f->e.fds);
    f->status[0] = f->status[1] = -ECANCELED;
    coir_group_open(f, &f->group);
    if (f->reader)
        coir_spawn(&f->group, coir_new(waits, .tls = &f->e.client, .status = &f->status[0]));
    if (f->writer)
        coir_spawn(&f->group, coir_new(waits, .tls = &f->e.client, .status = &f->status[1], .write = true));
    for (f->i = 0; f->i < 100; f->i++)
        coir_try(f, &f->pass, coir_pass);
    if (f->reader) {
        TLS_READ(&f->read, &f->e.client, &f->byte, 1);
        EQ(coir_status(&f->read), -EBUSY, "a second reader");
    }
    if (f->writer) {
        TLS_WRITE(&f->write, &f->e.client, "x", 1);
        EQ(coir_status(&f->write), -EBUSY, "a second writer");
    }
    TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), 0, "close under them");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status[0], -ECANCELED, "the reader is told");
    EQ(f->status[1], -ECANCELED, "the writer is told");
    do
        TLS_READ(&f->read, &f->e.server, &f->byte, 1);
    while (coir_status(&f->read) == 0 && f->read.result);
    EQ(coir_status(&f->read), f->writer ? -ECONNRESET : 0, "the peer sees a goodbye, or that a write was broken off");
    TLS_CLOSE(&f->close, &f->e.server);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* ---- a cancelled scope ---- */

struct cancelled {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    char byte;
    struct coir_scope scope;
    struct coir_stream_read read;
    struct coir_stream_close close;
};
static coir_declare(cancelled);

coir_body(cancelled, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = TCP_BLOCKING);
    coir_within(f, &f->scope, coir_now() - 1, &f->close, coir_stream_close, .stream = &f->e.client.stream);
    EQ(coir_status(&f->close), 0, "close in a cancelled scope");
    TLS_READ(&f->read, &f->e.server, &f->byte, 1);
    EQ(coir_status(&f->read) + (int)f->read.result, 0, "says goodbye all the same");
    TLS_CLOSE(&f->close, &f->e.server);
} coir_end

/* ---- abrupt ends ---- */

enum ending { ENDS_BY_FIN, ENDS_BY_RST, ENDINGS };
static const char *const ending_names[] = { "FIN", "RST" };

struct abrupt {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; enum ending ending;);
    struct ends e;
    int spare, i;
    char buf[8];
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
    struct coir_stream_close close;
};
static coir_declare(abrupt);

coir_body(abrupt, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = TCP_BLOCKING);
    TLS_WRITE(&f->write, &f->e.server, "abc", 3);
    if (f->ending == ENDS_BY_FIN) {
        shutdown(f->e.fds[1], SHUT_RDWR);
    } else {
        /* It drops what TCP has not sent yet, as it does of a record in many small pieces; what came stays readable. */
        f->spare = MUST(open("/dev/null", O_RDONLY | O_CLOEXEC));
        const struct linger l = { 1, 0 };
        MUST(setsockopt(f->e.fds[1], SOL_SOCKET, SO_LINGER, &l, sizeof l));
        MUST(dup3(f->spare, f->e.fds[1], O_CLOEXEC));
        close(f->spare);
    }
    TLS_READ(&f->read, &f->e.client, f->buf, 8);
    EQ(f->read.result, 3, "%s: what came before is read", ending_names[f->ending]);
    TLS_READ(&f->read, &f->e.client, f->buf, 8);
    EQ(coir_status(&f->read), -ECONNRESET, "%s: no goodbye is no end", ending_names[f->ending]);
    TLS_READ(&f->read, &f->e.client, f->buf, 8);
    EQ(coir_status(&f->read), -ECONNRESET, "%s: again", ending_names[f->ending]);
    OK(strcmp(coir_tls_error(&f->e.client), "nothing is wrong"), "%s: \"%s\"", ending_names[f->ending],
       coir_tls_error(&f->e.client));
    TLS_WRITE(&f->write, &f->e.client, "x", 1);
    EQ(coir_status(&f->write), -ECONNRESET, "%s: writing says the same", ending_names[f->ending]);
    EQ(f->write.result, 0, "%s: and takes nothing", ending_names[f->ending]);
    coir_await(f, &f->shutdown, coir_stream_shutdown, .stream = &f->e.client.stream);
    EQ(coir_status(&f->shutdown), -ECONNRESET, "%s: so does a shutdown", ending_names[f->ending]);
    TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), 0, "%s: closing is good", ending_names[f->ending]);
    TLS_CLOSE(&f->close, &f->e.server);
} coir_end

/* A peer that is gone for who only writes; what it had said before can still be read. */
struct gone {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    int i;
    char buf[8];
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(gone);

coir_body(gone, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    TLS_WRITE(&f->write, &f->e.server, "bye", 3);
    TLS_CLOSE(&f->close, &f->e.server);
    for (f->i = 0; f->i < 3; f->i++) {
        TLS_WRITE(&f->write, &f->e.client, "x", 1);
        EQ(coir_status(&f->write), -EPIPE, "write to a peer that is gone: %d", f->i);
    }
    STR_EQ(coir_tls_error(&f->e.client), "sending: the other end is gone, or the channel is closed", "its sentence");
    TLS_READ(&f->read, &f->e.client, f->buf, 8);
    EQ(f->read.result, 3, "what it said before is read");
    TLS_READ(&f->read, &f->e.client, f->buf, 8);
    EQ(coir_status(&f->read) + (int)f->read.result, 0, "and its goodbye");
    TLS_CLOSE(&f->close, &f->e.client);
} coir_end

int main(void)
{
    const struct identity ca = make_folder();
    struct coir_tls_context *client = usual_client(), *server = usual_server(), *server_12 = usual_server();

    at_most_12(server_12);
    for (enum kind kind = 0; kind < KINDS; kind++)
        RUN(coir_new(exchange, .client = client, .server = server, .kind = kind), "both ways, %s", kind_names[kind]);
    RUN(coir_new(exchange, .client = client, .server = server_12, .kind = TCP_BLOCKING), "both ways, TLS 1.2");
    RUN(coir_new(exchange, .client = client, .server = server, .kind = UNIX_BLOCKING,
                 .keys = SSL_KEY_UPDATE_REQUESTED), "both ways, with new keys for both");
    RUN(coir_new(exchange, .client = client, .server = server, .kind = TCP_BLOCKING,
                 .keys = SSL_KEY_UPDATE_NOT_REQUESTED), "both ways, with new keys for one");
    for (int i = 0; i < 4; i++)
        RUN(coir_new(crowd, .client = client, .server = server, .reader = i & 1, .writer = i & 2), "close under %d", i);
    RUN(coir_new(cancelled, .client = client, .server = server), "close in a cancelled scope");
    RUN(coir_new(gone, .client = client, .server = server), "a peer that is gone");

    WITHOUT_CHANCE("whole");           /* these say how much goes at once, or has gone when nobody reads */
    RUN(coir_new(impatient, .client = client, .server = server), "deadlines");
    RUN(coir_new(impatient, .client = client, .server = server_12), "deadlines, TLS 1.2");
    RUN(coir_new(hesitant, .client = client, .server = server), "a handshake in steps");
    RUN(coir_new(hesitant, .client = client, .server = server_12), "a handshake in steps, TLS 1.2");
    for (enum ending ending = 0; ending < ENDINGS; ending++)
        RUN(coir_new(abrupt, .client = client, .server = server, .ending = ending), "abrupt, %s", ending_names[ending]);
    coir_tls_context_free(client);
    coir_tls_context_free(server);
    coir_tls_context_free(server_12);
    forget(ca);
    remove_folder();
    return DONE();
}
