/* SPDX-License-Identifier: MIT */
/*
 * TLS without memory: the n-th allocation of OpenSSL's, which coir-tls uses too, fails, for n = 1, 2, 3... from the
 * making of the contexts to the close. Whatever fails has to be said, and nothing may be left of it (which the
 * sanitizers' builds see, and the count of descriptors).
 */
#include "tls/tls.h"

enum { PLACES = 150 };                  /* of those that a conversation has; all of them with COIR_TEST_LONG */

static long fail_at;                    /* counts down; the allocation that reaches 0 fails. 0: none does */
static long counted;
static bool has_failed;

static bool fails(void)
{
    counted++;
    if (fail_at <= 0 || --fail_at != 0)
        return false;
    has_failed = true;
    return true;
}

static void *take(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : malloc(n);
}

static void *take_more(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : realloc(p, n);
}

static void give(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

/* ---- one conversation, any of whose parts may fail ---- */

struct side {
    coir_frame_void;
    coir_args(struct coir_tls *tls; const unsigned char *out; size_t len; int *status;);
    unsigned char in[4096];
    size_t n;
    struct coir_tls_handshake handshake;
    struct coir_stream_write_all write;
    struct coir_stream_read read;
    struct coir_stream_shutdown shutdown;
    struct coir_stream_close close;
};
static coir_declare(side);

coir_body(side, f) {
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = f->tls);
    TLS_WRITE(&f->write, f->tls, f->out, f->len);
    coir_check(f, &f->write);
    coir_try(f, &f->shutdown, coir_stream_shutdown, .stream = &f->tls->stream);
    for (f->n = 0;; f->n += f->read.result) {
        TLS_READ(&f->read, f->tls, f->in, sizeof f->in);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            break;
    }
    if (f->n != f->len)
        coir_fail(f, ENODATA);
    coir_finally(f) {
        *f->status = coir_status(f);
        TLS_CLOSE(&f->close, f->tls);
    }
} coir_end

/* Never fails: what it waits for is both. */
struct guard {
    coir_frame_void;
    coir_args(struct coir_tls *tls; const unsigned char *out; size_t len; int *status;);
    struct side side;
};
static coir_declare(guard);

coir_body(guard, f) {
    coir_await(f, &f->side, side, .tls = f->tls, .out = f->out, .len = f->len, .status = f->status);
} coir_end

struct both {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; int *statuses;);
    struct coir_tls a, b;
    int fds[2], made[2];
    unsigned char *out;
    struct guard g[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_stream_close close;
};
static coir_declare(both);

enum { LENGTH = 40000 };

coir_body(both, f) {
    f->out = HAVE(calloc(1, LENGTH));
    make_pair(UNIX_BLOCKING, f->fds);
    f->made[0] = coir_tls_init(&f->a, f->client, f->fds[0], "localhost");
    f->made[1] = coir_tls_init(&f->b, f->server, f->fds[1], NULL);
    if (f->made[0] == 0 && f->made[1] == 0) {
        f->kids[0] = coir_make(&f->g[0], guard, .tls = &f->a, .out = f->out, .len = LENGTH, .status = &f->statuses[0]);
        f->kids[1] = coir_make(&f->g[1], guard, .tls = &f->b, .out = f->out, .len = LENGTH, .status = &f->statuses[1]);
        coir_all(f, &f->all, f->kids, 2);
    } else {
        f->statuses[0] = f->made[0];
        f->statuses[1] = f->made[1];
        if (f->made[0] == 0)
            TLS_CLOSE(&f->close, &f->a);
        else
            close(f->fds[0]);
        if (f->made[1] == 0)
            TLS_CLOSE(&f->close, &f->b);
        else
            close(f->fds[1]);
    }
    free(f->out);
} coir_end

/* ---- n = 1, 2, 3... ---- */

static bool names_one(int status)
{
    return status == 0 || status == -ENOMEM || status == -EPROTO || status == -ECONNRESET || status == -EPIPE
           || status == -EBADMSG || status == -EKEYREJECTED
           || status == -ENODATA;           /* the other has closed in order, before it had said all */
}

static long step_over(long allocations)
{
    return getenv("COIR_TEST_LONG") ? 1 : allocations / PLACES + 1;
}

static void connections(struct coir_tls_context *client, struct coir_tls_context *server, const char *version)
{
    const int fds = count_fds();
    long n, wrong = 0, no_memory = 0;
    long step = 1;

    for (n = 0; n < 1000000; n += step) {
        int statuses[2] = { 0, 0 };
        has_failed = false;
        fail_at = n;
        counted = 0;
        const int run = coir_run(NULL, coir_new(both, .client = client, .server = server, .statuses = statuses));
        fail_at = 0;
        if (n == 0)
            step = step_over(counted);
        if (!has_failed) {
            EQ(run | statuses[0] | statuses[1], 0, "%s: without a failure it goes well", version);
            if (n)
                break;
            continue;
        }
        no_memory += statuses[0] == -ENOMEM || statuses[1] == -ENOMEM;
        if ((run != 0 || !names_one(statuses[0]) || !names_one(statuses[1])) && wrong++ == 0)
            NOTE("%s: allocation %ld: run %d, client %d, server %d", version, n, run, statuses[0], statuses[1]);
    }
    EQ(wrong, 0, "%s: each of %ld failed allocations is survived and said", version, n);
    OK(no_memory > 0, "%s: %ld times as -ENOMEM", version, no_memory);
    EQ(count_fds(), fds, "%s: no descriptor is left", version);
}

static void contexts(struct coir_tls_options o, const char *name)
{
    long n, wrong = 0, step = 1;
    struct coir_tls_context *made;
    char why[256];

    for (n = 0; n < 1000000; n += step) {
        has_failed = false;
        fail_at = n;
        counted = 0;
        const int err = coir_tls_context_new(&o, &made, why, sizeof why);
        fail_at = 0;
        if (err == 0)
            coir_tls_context_free(made);
        if (n == 0)
            step = step_over(counted);
        if (!has_failed) {
            EQ(err, 0, "context of a %s: without a failure it goes well", name);
            if (n)
                break;
            continue;
        }
        if (err != 0 && (err != -ENOMEM && err != -EINVAL) && wrong++ == 0)
            NOTE("context of a %s: allocation %ld: %d, %s", name, n, err, why);
        if (err != 0 && *why == '\0')
            wrong++;
    }
    EQ(wrong, 0, "context of a %s: each of %ld failed allocations is survived and said", name, n);
}

int main(void)
{
    const int replaced = CRYPTO_set_mem_functions(take, take_more, give);
    const struct identity ca = make_folder();
    struct coir_tls_context *client, *server;

    EQ(replaced, 1, "OpenSSL takes other allocators");
    client = usual_client();
    server = usual_server();
    contexts((struct coir_tls_options){ .ca_file = in_folder("ca.cert"), .alpn = "a,b" }, "client");
    contexts((struct coir_tls_options){ .server = true, .certificate = in_folder("server.pem"), .alpn = "b",
             .ca_file = in_folder("ca.cert"), .client_certificate = COIR_TLS_OPTIONAL }, "server");
    connections(client, server, "TLS 1.3");
    at_most_12(server);
    connections(client, server, "TLS 1.2");
    coir_tls_context_free(client);
    coir_tls_context_free(server);
    forget(ca);
    remove_folder();
    return DONE();
}
