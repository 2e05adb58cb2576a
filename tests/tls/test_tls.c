/* SPDX-License-Identifier: MIT */
/*
 * TLS from coir to coir: what two ends say to each other, which certificates are refused and with which words,
 * arguments, half-closed and abruptly closed connections.
 */
#include "tls/tls.h"

/* ---- a conversation ---- */

struct talks {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server; const char *version; enum kind kind;);
    struct ends e;
    char buf[64];
    union {
        struct coir_stream_read read;
        struct coir_stream_write_all write;
        struct coir_stream_shutdown shutdown;
        struct coir_stream_close close;
        struct coir_tls_handshake again;
    };
};
static coir_declare(talks);

coir_body(talks, f) {
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = "localhost",
             .kind = f->kind);
    NOTE("%s over %s", f->version, kind_names[f->kind]);
    EQ(f->e.client_status, 0, "the client's handshake");
    EQ(f->e.server_status, 0, "the server's handshake");
    STR_EQ(coir_tls_version(&f->e.client), f->version, "the version");
    STR_EQ(coir_tls_version(&f->e.server), f->version, "the version on the other side");
    STR_EQ(coir_tls_alpn(&f->e.client), "", "nobody spoke of ALPN");
    STR_EQ(coir_tls_error(&f->e.client), "nothing is wrong", "no error");
    coir_await(f, &f->again, coir_tls_handshake, .tls = &f->e.client);
    EQ(coir_status(&f->again), 0, "a second handshake does nothing");

    TLS_WRITE(&f->write, &f->e.client, "hello", 5);
    EQ(coir_status(&f->write), 0, "the client writes");
    EQ(f->write.result, 5, "all of it");
    TLS_READ(&f->read, &f->e.server, f->buf, 3);
    EQ(f->read.result, 3, "the server reads a part");
    TLS_READ(&f->read, &f->e.server, f->buf + 3, sizeof f->buf - 3);
    EQ(f->read.result, 2, "and the rest");
    MEM_EQ(f->buf, "hello", 5, "what was written");
    TLS_READ(&f->read, &f->e.server, NULL, 0);
    EQ(coir_status(&f->read), 0, "no length is nothing to do");
    TLS_WRITE(&f->write, &f->e.server, NULL, 0);
    EQ(coir_status(&f->write), 0, "nor to write");

    coir_await(f, &f->shutdown, coir_stream_shutdown, .stream = &f->e.client.stream);
    EQ(coir_status(&f->shutdown), 0, "the client says goodbye");
    coir_await(f, &f->shutdown, coir_stream_shutdown, .stream = &f->e.client.stream);
    EQ(coir_status(&f->shutdown), 0, "twice");
    TLS_WRITE(&f->write, &f->e.client, "x", 1);
    EQ(coir_status(&f->write), -EPIPE, "and writes no more");
    TLS_READ(&f->read, &f->e.server, f->buf, sizeof f->buf);
    EQ(coir_status(&f->read), 0, "the server reads the end");
    EQ(f->read.result, 0, "which is 0");
    TLS_READ(&f->read, &f->e.server, f->buf, sizeof f->buf);
    EQ(coir_status(&f->read) + (int)f->read.result, 0, "again");
    TLS_WRITE(&f->write, &f->e.server, "still here", 10);
    EQ(coir_status(&f->write), 0, "the server writes on");
    TLS_READ(&f->read, &f->e.client, f->buf, sizeof f->buf);
    EQ(f->read.result, 10, "the client reads on");
    TLS_CLOSE(&f->close, &f->e.server);
    EQ(coir_status(&f->close), 0, "the server closes");
    TLS_READ(&f->read, &f->e.client, f->buf, sizeof f->buf);
    EQ(coir_status(&f->read) + (int)f->read.result, 0, "the client reads the end");
    TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), 0, "the client closes");
    TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), -EBADF, "a second close");
    TLS_READ(&f->read, &f->e.client, f->buf, sizeof f->buf);
    EQ(coir_status(&f->read), -EBADF, "and nothing else");
} coir_end

/* ---- who is refused ---- */

struct refusal {
    const char *name;
    struct coir_tls_options client, server;
    const char *host;
    int client_status, server_status;
    long client_read;                   /* with a client_status of 0: what its first read says */
    const char *client_says, *server_says, *alpn;
    bool server_12, client_12;
};

struct refuses {
    coir_frame_void;
    coir_args(const struct refusal *r;);
    struct coir_tls_context *client, *server;
    struct ends e;
    struct coir_stream_close close;
    struct coir_stream_read read;
    char byte;
};
static coir_declare(refuses);

coir_body(refuses, f) {
    f->client = context(f->r->client);
    f->server = context(f->r->server);
    if (f->r->client_12)
        at_most_12(f->client);
    if (f->r->server_12)
        at_most_12(f->server);
    coir_try(f, &f->e, ends, .client_context = f->client, .server_context = f->server, .host = f->r->host,
             .kind = TCP_BLOCKING, .client_reads = f->r->client_read < 0);
    coir_tls_context_free(f->client);
    coir_tls_context_free(f->server);
    EQ(f->e.client_status, f->r->client_status, "%s: client", f->r->name);
    EQ(f->e.server_status, f->r->server_status, "%s: server", f->r->name);
    EQ(f->e.client_read, f->r->client_read, "%s: the client's first read", f->r->name);
    if (!OK(strstr(coir_tls_error(&f->e.client), f->r->client_says), "%s: the client says why", f->r->name))
        NOTE("it says: %s", coir_tls_error(&f->e.client));
    if (!OK(strstr(coir_tls_error(&f->e.server), f->r->server_says), "%s: the server says why", f->r->name))
        NOTE("it says: %s", coir_tls_error(&f->e.server));
    if (f->r->client_status < 0) {
        TLS_READ(&f->read, &f->e.client, &f->byte, 1);
        EQ(coir_status(&f->read), f->r->client_status, "%s: and again", f->r->name);
    }
    STR_EQ(coir_tls_alpn(&f->e.server), f->r->alpn ? f->r->alpn : "", "%s: protocol", f->r->name);
    TLS_CLOSE(&f->close, &f->e.client);
    EQ(coir_status(&f->close), 0, "%s: close", f->r->name);
    TLS_CLOSE(&f->close, &f->e.server);
} coir_end

#define WELL "nothing is wrong"

static void refusals(void)
{
    char server[96], ca[96], client[96], expired[96], early[96], own[96], other[96], other_ca[96], text[4096];
    FILE *in;

#define PATH(to, file) snprintf(to, sizeof to, "%s", in_folder(file))
    PATH(server, "server.pem"); PATH(ca, "ca.cert"); PATH(client, "client.pem"); PATH(expired, "expired.pem");
    PATH(early, "early.pem"); PATH(own, "own.pem"); PATH(other, "other.pem"); PATH(other_ca, "other-ca.cert");
    in = HAVE(fopen(ca, "r"));
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    const struct coir_tls_options usual = { .server = true, .certificate = server }, trusts = { .ca_file = ca };
    const struct coir_tls_options wants = { .server = true, .certificate = server, .ca_file = ca,
                                            .client_certificate = COIR_TLS_REQUIRED };
    const struct coir_tls_options optional = { .server = true, .certificate = server, .ca_file = ca,
                                               .client_certificate = COIR_TLS_OPTIONAL };
    const struct refusal table[] = {
        { "a good name", trusts, usual, "localhost", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "a name by its pattern", trusts, usual, "www.example.org", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "an address", trusts, usual, "127.0.0.1", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "an address of IPv6", trusts, usual, "::1", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "trust as a text", { .ca_text = text }, usual, "localhost", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "the wrong name", trusts, usual, "elsewhere", -EKEYREJECTED, -EPROTO, 0, "ostname mismatch",
          "the peer refused", NULL, 0, 0 },
        { "no name by half a pattern", trusts, usual, "a.b.example.org", -EKEYREJECTED, -EPROTO, 0,
          "ostname mismatch", "the peer refused", NULL, 0, 0 },
        { "the wrong address", trusts, usual, "127.0.0.2", -EKEYREJECTED, -EPROTO, 0, "IP address mismatch",
          "the peer refused", NULL, 0, 0 },
        { "expired", trusts, { .server = true, .certificate = expired }, "localhost", -EKEYREJECTED, -EPROTO, 0,
          "has expired", "the peer refused: certificate expired", NULL, 0, 0 },
        { "not yet valid", trusts, { .server = true, .certificate = early }, "localhost", -EKEYREJECTED, -EPROTO, 0,
          "not yet valid", "the peer refused", NULL, 0, 0 },
        { "signed by itself", trusts, { .server = true, .certificate = own }, "localhost", -EKEYREJECTED, -EPROTO, 0,
          "self-signed", "the peer refused: unknown CA", NULL, 0, 0 },
        { "an issuer unknown", trusts, { .server = true, .certificate = other }, "localhost", -EKEYREJECTED, -EPROTO,
          0, "unable to get local issuer", "the peer refused: unknown CA", NULL, 0, 0 },
        { "not in the system's store", { 0 }, usual, "localhost", -EKEYREJECTED, -EPROTO, 0,
          "unable to get local issuer", "the peer refused: unknown CA", NULL, 0, 0 },
        { "verification off", { .danger_accept_any_certificate = true }, { .server = true, .certificate = own },
          "elsewhere", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "verification off, no name", { .danger_accept_any_certificate = true }, usual, NULL, 0, 0, 0, WELL, WELL,
          NULL, 0, 0 },
        { "a client's certificate", { .ca_file = ca, .certificate = client }, wants, "localhost", 0, 0, 0, WELL, WELL,
          NULL, 0, 0 },
        { "no client's certificate", trusts, wants, "localhost", 0, -EKEYREJECTED, -EPROTO,
          "the peer refused", "the peer has no certificate", NULL, 0, 0 },
        { "no client's certificate in 1.2", trusts, wants, "localhost", -EPROTO, -EKEYREJECTED, 0,
          "the peer refused", "the peer has no certificate", NULL, 1, 0 },
        { "one that need not be", trusts, optional, "localhost", 0, 0, 0, WELL, WELL, NULL, 0, 0 },
        { "a client's certificate of another authority", { .ca_file = ca, .certificate = other }, wants, "localhost",
          0, -EKEYREJECTED, -EPROTO, "the peer refused: unknown CA", "unable to get local issuer", NULL, 0, 0 },
        { "a client's bad certificate where it need not be", { .ca_file = ca, .certificate = expired }, optional,
          "localhost", 0, -EKEYREJECTED, -EPROTO, "the peer refused: certificate expired", "has expired", NULL, 0, 0 },
        { "1.3 only, and 1.2", trusts, { .server = true, .certificate = server, .tls13_only = true }, "localhost",
          -EPROTO, -EPROTO, 0, "the peer refused: protocol version", "unsupported protocol", NULL, 0, 1 },
        { "1.3 only, the other way", { .ca_file = ca, .tls13_only = true }, usual, "localhost", -EPROTO, -EPROTO, 0,
          "the peer refused: protocol version", "unsupported protocol", NULL, 1, 0 },
        { "ALPN", { .ca_file = ca, .alpn = "http/1.1,h2" }, { .server = true, .certificate = server,
          .alpn = "h2,http/1.1" }, "localhost", 0, 0, 0, WELL, WELL, "h2", 0, 0 },
        { "ALPN of the server alone", trusts, { .server = true, .certificate = server, .alpn = "h2" }, "localhost",
          0, 0, 0, WELL, WELL, "", 0, 0 },
        { "ALPN without agreement", { .ca_file = ca, .alpn = "a,b" }, { .server = true, .certificate = server,
          .alpn = "c" }, "localhost", -EPROTO, -EPROTO, 0, "the peer refused: no application protocol",
          "no application protocol", NULL, 0, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        RUN(coir_new(refuses, .r = &table[i]), "%s", table[i].name);
}

/* ---- arguments ---- */

struct arguments {
    coir_frame_void;
    coir_args(struct coir_tls_context *client; struct coir_tls_context *server;);
    struct coir_tls tls;
    int fds[2];
    char byte;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
    struct coir_tls_handshake handshake;
    struct coir_stream_close close;
};
static coir_declare(arguments);

coir_body(arguments, f) {
    make_pair(UNIX_BLOCKING, f->fds);
    EQ(coir_tls_init(NULL, f->client, f->fds[0], "localhost"), -EFAULT, "init: NULL");
    EQ(coir_tls_init(&f->tls, NULL, f->fds[0], "localhost"), -EFAULT, "init: no context");
    EQ(coir_tls_init(&f->tls, f->client, -1, "localhost"), -EBADF, "init: no descriptor");
    EQ(coir_tls_init(&f->tls, f->client, closed_fd(), "localhost"), -EBADF, "init: a closed descriptor");
    EQ(coir_tls_init(&f->tls, f->client, f->fds[0], NULL), -EINVAL, "init: a client that has no name to verify");
    EQ(coir_tls_init(&f->tls, f->client, f->fds[0], ""), -EINVAL, "init: an empty one");
    TLS_READ(&f->read, &f->tls, &f->byte, 1);
    EQ(coir_status(&f->read), -EBADF, "one that failed is closed");
    OK(coir_tls_ssl(&f->tls) == NULL, "it has no SSL");
    coir_await(f, &f->handshake, coir_tls_handshake, .tls = NULL);
    EQ(coir_status(&f->handshake), -EFAULT, "handshake: NULL");
    EQ(coir_tls_init(&f->tls, f->client, f->fds[0], "localhost"), 0, "init");
    TLS_READ(&f->read, &f->tls, &f->byte, 1);
    EQ(coir_status(&f->read), -ENOTCONN, "read before the handshake");
    TLS_WRITE(&f->write, &f->tls, "x", 1);
    EQ(coir_status(&f->write), -ENOTCONN, "write before the handshake");
    coir_await(f, &f->shutdown, coir_stream_shutdown, .stream = &f->tls.stream);
    EQ(coir_status(&f->shutdown), -ENOTCONN, "shutdown before the handshake");
    STR_EQ(coir_tls_version(&f->tls), "", "no version yet");
    TLS_CLOSE(&f->close, &f->tls);
    EQ(coir_status(&f->close), 0, "close before the handshake");
    EQ(read(f->fds[1], &f->byte, 1), 0, "nothing was sent");
    close(f->fds[1]);
    STR_EQ(coir_tls_error(&f->tls), "the connection is closed, or was never made", "no sentence any more");
    STR_EQ(coir_tls_error(NULL), "the connection is closed, or was never made", "nor for NULL");
} coir_end

static void refuse_context(const char *name, struct coir_tls_options o, int status, const char *says)
{
    struct coir_tls_context *made = (void *)1;
    char why[256];

    EQ(coir_tls_context_new(&o, &made, why, sizeof why), status, "context: %s", name);
    if (!OK(strstr(why, says), "context: %s: says \"%s\"", name, says))
        NOTE("it says: %s", why);
    OK(made == NULL, "context: %s: there is none", name);
    EQ(coir_tls_context_new(&o, &made, NULL, 0), status, "context: %s: without asking why", name);
    EQ(ERR_peek_error(), 0, "context: %s: no error of OpenSSL's is left", name);
}

static void contexts(void)
{
    const struct coir_tls_options good = { .server = true, .certificate = in_folder("server.pem") };
    struct coir_tls_context *made;
    char why[256] = "x";
    FILE *out = HAVE(fopen(in_folder("locked.key"), "w"));
    EVP_PKEY *key = HAVE(EVP_EC_gen("P-256"));

    PEM_write_PrivateKey(out, key, EVP_aes_128_cbc(), NULL, 0, NULL, "secret");
    EVP_PKEY_free(key);
    fclose(out);
    refuse_context("a server without a certificate", (struct coir_tls_options){ .server = true }, -EINVAL,
                   "certificate: ");
    refuse_context("no such file", (struct coir_tls_options){ .server = true, .certificate = "/nowhere/a.pem" },
                   -ENOENT, "/nowhere/a.pem: No such file");
    refuse_context("no such key", (struct coir_tls_options){ .server = true, .certificate = in_folder("server.pem"),
                   .key = "/nowhere/a.key" }, -ENOENT, "/nowhere/a.key: No such file");
    refuse_context("no certificate in it", (struct coir_tls_options){ .server = true,
                   .certificate = in_folder("server.key") }, -EINVAL,
                   "server.key: the certificate is not taken: no start line");
    refuse_context("no key in it", (struct coir_tls_options){ .server = true, .certificate = in_folder("server.cert") },
                   -EINVAL, "server.cert: the key is not taken");
    refuse_context("another's key", (struct coir_tls_options){ .server = true, .certificate = in_folder("server.cert"),
                   .key = in_folder("client.key") }, -EINVAL, "client.key: the key is not taken: key values mismatch");
    refuse_context("an encrypted key", (struct coir_tls_options){ .server = true,
                   .certificate = in_folder("server.cert"), .key = in_folder("locked.key") }, -EINVAL,
                   "locked.key: the key is encrypted");
    refuse_context("no such trust", (struct coir_tls_options){ .ca_file = "/nowhere/ca" }, -ENOENT, "/nowhere/ca: ");
    refuse_context("no such folder", (struct coir_tls_options){ .ca_folder = "/nowhere/d" }, -ENOENT, "/nowhere/d: ");
    refuse_context("a folder that is a file", (struct coir_tls_options){ .ca_folder = in_folder("ca.cert") }, -ENOTDIR,
                   "ca.cert: Not a directory");
    refuse_context("trust without certificates", (struct coir_tls_options){ .ca_file = in_folder("server.key") },
                   -EINVAL, "server.key: ");
    refuse_context("an empty text", (struct coir_tls_options){ .ca_text = "" }, -EINVAL, "ca_text: ");
    refuse_context("a cut text", (struct coir_tls_options){ .ca_text = "-----BEGIN CERTIFICATE-----\nMIIB" }, -EINVAL,
                   "ca_text: ");
    refuse_context("a key alone", (struct coir_tls_options){ .key = in_folder("client.key") }, -EINVAL, "key: ");
    refuse_context("an option for servers", (struct coir_tls_options){ .client_certificate = COIR_TLS_OPTIONAL },
                   -EINVAL, "client_certificate: ");
    refuse_context("an option for clients", (struct coir_tls_options){ .server = true, .certificate =
                   in_folder("server.pem"), .danger_accept_any_certificate = true }, -EINVAL, "danger_accept");
    refuse_context("an empty protocol", (struct coir_tls_options){ .alpn = "h2," }, -EINVAL, "alpn: ");
    refuse_context("no protocol", (struct coir_tls_options){ .alpn = "" }, -EINVAL, "alpn: ");
    EQ(coir_tls_context_new(NULL, &made, why, sizeof why), -EFAULT, "context: NULL for options");
    EQ(coir_tls_context_new(&good, NULL, why, sizeof why), -EFAULT, "context: NULL for out");
    EQ(coir_tls_context_new_(&good, &made, why, sizeof why, 1), -ENOEXEC, "context: another header");
    EQ(coir_tls_context_new(&good, &made, why, sizeof why), 0, "context: a good one");
    STR_EQ(why, "", "context: there is no why then");
    OK(coir_tls_context_ssl(made) != NULL && coir_tls_context_ssl(NULL) == NULL, "its SSL_CTX");
    coir_tls_context_free(made);
    coir_tls_context_free(NULL);
}

int main(void)
{
    const struct identity ca = make_folder();
    const struct identity other = certify(NULL, (struct wanted){ "other-ca", "another authority", NULL, 0, 0 });
    struct coir_tls_context *client, *server;

    forget(certify(&ca, (struct wanted){ "expired", "a server", "DNS:localhost", -10, -2 }));
    forget(certify(&ca, (struct wanted){ "early", "a server", "DNS:localhost", 2, 10 }));
    forget(certify(NULL, (struct wanted){ "own", "a server", "DNS:localhost", 0, 0 }));
    forget(certify(&other, (struct wanted){ "other", "a server", "DNS:localhost", 0, 0 }));
    client = usual_client();
    server = usual_server();
    RUN(coir_new(arguments, .client = client, .server = server), "arguments");
    contexts();
    for (enum kind kind = 0; kind < KINDS; kind++)
        RUN(coir_new(talks, .client = client, .server = server, .version = "TLSv1.3", .kind = kind), "a conversation");
    at_most_12(server);
    for (enum kind kind = 0; kind < KINDS; kind++)
        RUN(coir_new(talks, .client = client, .server = server, .version = "TLSv1.2", .kind = kind), "a conversation");
    refusals();
    coir_tls_context_free(client);
    coir_tls_context_free(server);
    forget(ca);
    forget(other);
    remove_folder();
    return DONE();
}
