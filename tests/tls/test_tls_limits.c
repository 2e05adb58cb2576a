/* SPDX-License-Identifier: MIT */
/*
 * TLS where patience ends: closing with a socket that takes nothing, closing under a handshake, a peer that asks and
 * asks and never reads the answers. Under virtual time, so that a second is over when everybody waits.
 */
#include "tls/tls.h"

/* ---- closing ---- */

struct stuck {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; bool cancelled;);
    struct ends e;
    unsigned char *buf;
    int64_t begun;
    size_t taken, n;
    struct coir_scope scope;
    struct coir_stream_write_all write;
    struct coir_stream_read read;
    struct coir_stream_close close;
};
static coir_declare(stuck);

enum { LARGE = 1 << 20 };

/* A write that was cancelled has left a rest; nobody reads. */
coir_body(stuck, f) {
    f->buf = HAVE(calloc(1, LARGE));
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    make_narrow(UNIX_BLOCKING, f->e.fds);
    coir_within(f, &f->scope, coir_now() - 1, &f->write, coir_stream_write_all, .stream = &f->e.client.stream,
                .buf = f->buf, .len = LARGE);
    EQ(coir_status(&f->write), -ETIMEDOUT, "the socket is full");
    f->taken = f->write.result;
    f->begun = coir_now();
    if (f->cancelled)
        coir_within(f, &f->scope, coir_now() - 1, &f->close, coir_stream_close, .stream = &f->e.client.stream);
    else
        TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), 0, "close");
    EQ(coir_now() - f->begun, f->cancelled ? 0 : COIR_S, "close waits a second, in a cancelled scope not at all");
    for (f->n = 0;; f->n += f->read.result) {
        TLS_READ(&f->read, &f->e.server, f->buf, LARGE);
        if (coir_status(&f->read) < 0 || f->read.result == 0)
            break;
    }
    EQ(coir_status(&f->read), -ECONNRESET, "the peer sees that it was cut");
    OK(f->n < f->taken, "and has not got all that was taken (%zu of %zu)", f->n, f->taken);
    TLS_CLOSE(&f->close, &f->e.server);
    free(f->buf);
} coir_end

/* The same, but the peer reads: the rest and the goodbye arrive. */
struct reads_late {
    coir_frame_void;
    coir_args(struct coir_tls *tls; size_t *n; int *status;);
    unsigned char buf[4096];
    struct coir_sleep sleep;
    struct coir_stream_read read;
};
static coir_declare(reads_late);

coir_body(reads_late, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S / 2);
    for (*f->n = 0;; *f->n += f->read.result) {
        TLS_READ(&f->read, f->tls, f->buf, sizeof f->buf);
        *f->status = coir_status(&f->read);
        if (*f->status < 0 || f->read.result == 0)
            break;
    }
} coir_end

struct closes_late {
    coir_frame_void;
    coir_args(struct coir_tls *tls;);
    struct coir_stream_close close;
};
static coir_declare(closes_late);

coir_body(closes_late, f) {
    TLS_CLOSE(&f->close, f->tls);
    coir_check(f, &f->close);
} coir_end

struct late {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    unsigned char *buf;
    size_t n;
    int status;
    struct coir_scope scope;
    struct coir_stream_write_all write;
    struct reads_late reader;
    struct closes_late closer;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_stream_close close;
};
static coir_declare(late);

coir_body(late, f) {
    f->buf = HAVE(calloc(1, LARGE));
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    make_narrow(UNIX_BLOCKING, f->e.fds);
    coir_within(f, &f->scope, coir_now() - 1, &f->write, coir_stream_write_all, .stream = &f->e.client.stream,
                .buf = f->buf, .len = LARGE);
    f->kids[0] = coir_make(&f->reader, reads_late, .tls = &f->e.server, .n = &f->n, .status = &f->status);
    f->kids[1] = coir_make(&f->closer, closes_late, .tls = &f->e.client);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "a peer that reads in time");
    EQ(f->status, 0, "sees the goodbye");
    EQ(f->n, f->write.result, "and all that was taken");
    TLS_CLOSE(&f->close, &f->e.server);
    free(f->buf);
} coir_end

/* What a cancelled write has left is sent while somebody reads: its peer answers when it has all. */
struct answers {
    coir_frame_void;
    coir_args(struct coir_tls *tls; size_t *n; const size_t *total;);
    unsigned char buf[4096];
    struct coir_sleep sleep;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
};
static coir_declare(answers);

coir_body(answers, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    for (*f->n = 0; *f->n < *f->total; *f->n += f->read.result) {
        TLS_READ(&f->read, f->tls, f->buf, sizeof f->buf);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            coir_fail(f, ENODATA);
    }
    TLS_WRITE(&f->write, f->tls, "all", 3);
    coir_check(f, &f->write);
} coir_end

struct asker {
    coir_frame_void;
    coir_args(struct coir_tls *tls; char *buf;);
    struct coir_stream_read read;
};
static coir_declare(asker);

coir_body(asker, f) {
    TLS_READ(&f->read, f->tls, f->buf, 3);
    coir_check(f, &f->read);
} coir_end

struct owing {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    unsigned char *buf;
    char answer[4];
    size_t n;
    struct coir_scope scope;
    struct coir_stream_write_all write;
    struct coir_stream_read read;
    struct answers answers;
    struct asker asker;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_stream_close close;
};
static coir_declare(owing);

coir_body(owing, f) {
    f->buf = HAVE(calloc(1, LARGE));
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    make_narrow(UNIX_BLOCKING, f->e.fds);
    coir_within(f, &f->scope, coir_now() - 1, &f->write, coir_stream_write_all, .stream = &f->e.client.stream,
                .buf = f->buf, .len = LARGE);
    coir_within(f, &f->scope, coir_now() - 1, &f->read, coir_stream_read, .stream = &f->e.client.stream,
                .buf = f->answer, .len = 3);
    EQ(coir_status(&f->read), -ETIMEDOUT, "a read with a deadline, and something left to send");
    f->kids[0] = coir_make(&f->answers, answers, .tls = &f->e.server, .n = &f->n, .total = &f->write.result);
    f->kids[1] = coir_make(&f->asker, asker, .tls = &f->e.client, .buf = f->answer);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "a read sends what a cancelled write has left");
    EQ(f->n, f->write.result, "all of it, and no more");
    MEM_EQ(f->answer, "all", 3, "and has the answer");
    TLS_CLOSE(&f->close, &f->e.server);
    TLS_CLOSE(&f->close, &f->e.client);
    free(f->buf);
} coir_end

/* ---- a handshake ---- */

struct shakes {
    coir_frame_void;
    coir_args(struct coir_tls_context *context; const char *host;);
    struct coir_tls tls;
    int fds[2], status, i;
    struct coir_group group;
    struct coir_pass pass;
    struct coir_tls_handshake again;
    struct coir_stream_close close;
    struct coir_group_wait wait;
};
static coir_declare(shakes);

coir_body(shakes, f) {
    make_pair(TCP_BLOCKING, f->fds);
    MUST(coir_tls_init(&f->tls, f->context, f->fds[0], f->host));
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(shake, .tls = &f->tls, .status = &f->status));
    for (f->i = 0; f->i < 50; f->i++)
        coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->again, coir_tls_handshake, .tls = &f->tls);
    EQ(coir_status(&f->again), -EBUSY, "a second handshake at the same time");
    TLS_CLOSE(&f->close, &f->tls);
    EQ(coir_status(&f->close), 0, "close under a handshake");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "which is told");
    coir_await(f, &f->again, coir_tls_handshake, .tls = &f->tls);
    EQ(coir_status(&f->again), -EBADF, "and cannot be made any more");
    close(f->fds[1]);
} coir_end

/* ---- a peer that never reads ---- */

struct asks {
    coir_frame_void;
    coir_args(struct coir_tls *tls; int *rounds;);
    struct coir_stream_write_all write;
};
static coir_declare(asks);

coir_body(asks, f) {
    for (*f->rounds = 0; *f->rounds < 30000; ++*f->rounds) {
        SSL_key_update(coir_tls_ssl(f->tls), SSL_KEY_UPDATE_REQUESTED);
        TLS_WRITE(&f->write, f->tls, "x", 1);
        if (coir_status(&f->write) < 0)
            break;
    }
} coir_end

struct listens {
    coir_frame_void;
    coir_args(struct coir_tls *tls; int *status; size_t *n; size_t total;);
    char buf[256];
    struct coir_stream_read read;
    struct coir_stream_close close;
};
static coir_declare(listens);

coir_body(listens, f) {
    for (*f->n = 0; *f->n < f->total; *f->n += f->read.result) {
        TLS_READ(&f->read, f->tls, f->buf, sizeof f->buf);
        *f->status = coir_status(&f->read);
        if (*f->status < 0)
            break;
    }
    STR_EQ(coir_tls_error(f->tls), "the peer asks for answers and does not read them", "a peer that never reads: why");
    TLS_CLOSE(&f->close, f->tls);
} coir_end

struct flood {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct ends e;
    int rounds, status;
    size_t n;
    struct asks asks;
    struct listens listens;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_stream_close close;
};
static coir_declare(flood);

coir_body(flood, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = UNIX_BLOCKING);
    make_narrow(UNIX_BLOCKING, f->e.fds);
    f->kids[0] = coir_make(&f->asks, asks, .tls = &f->e.client, .rounds = &f->rounds);
    f->kids[1] = coir_make(&f->listens, listens, .tls = &f->e.server, .status = &f->status, .n = &f->n, .total = 30000);
    coir_all(f, &f->all, f->kids, 2);
    /* An answer has 27 bytes, and 256 KiB of them are borne beyond what the socket holds. */
    EQ(f->status, -EPROTO, "a peer that never reads is cut off");
    OK(f->n > 262144 / 27 && f->n < 2 * 262144 / 27, "not before its time, not long after (%zu)", f->n);
    TLS_CLOSE(&f->close, &f->e.client);
} coir_end

int main(void)
{
    const struct identity ca = make_folder();
    struct coir_tls_context *client = usual_client(), *server = usual_server();

    setenv("COIR_TIME", "virtual", 1);
    RUN(coir_new(stuck, .client = client, .server = server), "a socket that takes nothing");
    RUN(coir_new(stuck, .client = client, .server = server, .cancelled = true), "the same in a cancelled scope");
    RUN(coir_new(late, .client = client, .server = server), "a peer that reads late");
    RUN(coir_new(owing, .client = client, .server = server), "a read that owes");
    RUN(coir_new(shakes, .context = client, .host = "localhost"), "close under a client's handshake");
    RUN(coir_new(shakes, .context = server), "close under a server's handshake");
    RUN(coir_new(flood, .client = client, .server = server), "a peer that never reads");
    coir_tls_context_free(client);
    coir_tls_context_free(server);
    forget(ca);
    remove_folder();
    return DONE();
}
