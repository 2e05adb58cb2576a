/* SPDX-License-Identifier: MIT */
/*
 * TLS with peers that are not coir: its server with `openssl s_client` and curl, its client with `openssl s_server`.
 * The peer is a command of the shell's, run by an offload thread; what it prints and how it ends is checked, and what
 * the end on this side says. Where a peer has to be told something in the middle, it reads a FIFO, and is told from
 * where the middle is.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include "tls/tls.h"

/* ---- commands ---- */

struct command {
    char line[1200];
    char out[16384];
    int status;
};

static int64_t run_command(void *arg)
{
    struct command *c = arg;
    FILE *in = popen(c->line, "r");
    size_t n = 0, got;

    while (in && n < sizeof c->out - 1 && (got = fread(c->out + n, 1, sizeof c->out - 1 - n, in)) > 0)
        n += got;
    c->out[n] = '\0';
    c->status = in ? pclose(in) : -1;
    return 0;
}

/* Its port, and the folder, put into a command. */
static void compose(struct command *c, const char *line, int port)
{
    char *to = c->line;
    size_t left = sizeof c->line;

    memset(c, 0, sizeof *c);
    for (const char *from = line; *from; from++) {
        const int n = *from == '@' ? snprintf(to, left, "%d", port) : *from == '~' ? snprintf(to, left, "%s", folder)
                                                                                   : snprintf(to, left, "%c", *from);
        to += n;
        left -= (size_t)n;
    }
    snprintf(to, left, " 2>&1");
}

static void tell_fifo(const char *text)
{
    const int fd = open(in_folder("fifo"), O_WRONLY | O_CLOEXEC);

    if (write(fd, text, strlen(text)) < 0)
        perror("the FIFO");
    close(fd);
}

/* ---- a server, and a client from outside ---- */

enum does { ECHOES_ONCE, GREETS, ANSWERS_HTTP, READS_ON, KILLS };

struct served {
    const char *name, *line;
    enum does does;
    int exit;                           /* of the command; -1: whatever it likes */
    const char *prints;
    int status;                         /* of the server's end */
    const char *says;                   /* coir_tls_error's words, or NULL */
    bool new_keys;                      /* the client asks for new keys, and then says abc */
    enum coir_tls_client_certificate client_certificate;
};

static int key_updates;

/* The client's request for new keys has come: now it may speak. */
static void sees_key_update(int sent, int version, int type, const void *buf, size_t len, SSL *ssl, void *arg)
{
    (void)version, (void)ssl, (void)arg;
    if (sent || type != SSL3_RT_HANDSHAKE || len < 1 || *(const unsigned char *)buf != SSL3_MT_KEY_UPDATE)
        return;
    key_updates++;
    tell_fifo("abc\n");
}

struct serves {
    coir_frame_void;
    coir_args(int fd; struct coir_tls_context *context; const struct served *s; int *status; char *says;);
    struct coir_tls tls;
    char buf[4096];
    size_t n;
    struct coir_tls_handshake handshake;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(serves);

static void kill_peer(void)
{
    FILE *in = fopen(in_folder("pid"), "r");
    int pid = 0;

    if (in && fscanf(in, "%d", &pid) == 1 && pid > 1)
        kill(pid, SIGKILL);
    if (in)
        fclose(in);
}

static size_t answer_http(struct serves *f)
{
    char body[512];
    const int n = snprintf(body, sizeof body, "%s over %s\n", coir_tls_alpn(&f->tls), coir_tls_version(&f->tls));

    return (size_t)snprintf(f->buf, sizeof f->buf, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                            "%s", n, body);
}

coir_body(serves, f) {
    MUST(coir_tls_init(&f->tls, f->context, f->fd, NULL));
    if (f->s->new_keys)
        SSL_set_msg_callback(coir_tls_ssl(&f->tls), sees_key_update);
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    if (f->s->does == GREETS) {
        TLS_WRITE(&f->write, &f->tls, "hello from coir\n", 16);
        coir_check(f, &f->write);
    }
    if (f->s->does == KILLS)
        kill_peer();
    if (f->s->new_keys)
        tell_fifo("K\n");
    for (;;) {
        TLS_READ(&f->read, &f->tls, f->buf, sizeof f->buf);
        coir_check(f, &f->read);
        f->n = f->read.result;
        if (f->n == 0 || f->s->does == ECHOES_ONCE || f->s->does == ANSWERS_HTTP)
            break;
    }
    if (f->s->does == ANSWERS_HTTP)
        f->n = answer_http(f);
    if (f->n) {
        TLS_WRITE(&f->write, &f->tls, f->buf, f->n);
        coir_check(f, &f->write);
    }
    coir_finally(f) {
        *f->status = coir_status(f);
        snprintf(f->says, 256, "%s", coir_tls_error(&f->tls));
        TLS_CLOSE(&f->close, &f->tls);
    }
} coir_end

struct serving {
    coir_frame_void;
    coir_args(const struct served *s;);
    struct coir_tls_context *context;
    struct command command;
    struct sockaddr_in at;
    int listener, status;
    char says[256];
    struct coir_group group;
    struct coir_accept accept;
    struct coir_offload offload;
    struct coir_close close;
    struct coir_group_wait wait;
};
static coir_declare(serving);

/* The command, beside its server. */
struct commands {
    coir_frame_void;
    coir_args(struct command *command;);
    struct coir_offload offload;
};
static coir_declare(commands);

coir_body(commands, f) {
    coir_try(f, &f->offload, coir_offload, .fn = run_command, .arg = f->command);
} coir_end

coir_body(serving, f) {
    f->listener = tcp_listener(&f->at, 5);
    f->context = context((struct coir_tls_options){ .server = true, .certificate = in_folder("server.pem"),
                         .ca_file = in_folder("ca.cert"), .client_certificate = f->s->client_certificate,
                         .alpn = "http/1.1" });
    compose(&f->command, f->s->line, ntohs(f->at.sin_port));
    f->status = 1;
    f->says[0] = '\0';
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(commands, .command = &f->command));
    coir_try(f, &f->accept, coir_accept, .fd = f->listener);
    coir_spawn(&f->group, coir_new(serves, .fd = f->accept.result, .context = f->context, .s = f->s,
                                   .status = &f->status, .says = f->says));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    if (!OK(strstr(f->command.out, f->s->prints), "%s: the client prints \"%s\"", f->s->name, f->s->prints))
        NOTE("it prints: %s", f->command.out);
    if (f->s->exit >= 0)
        EQ(WEXITSTATUS(f->command.status), f->s->exit, "%s: the client's exit status", f->s->name);
    EQ(f->status, f->s->status, "%s: the server's end", f->s->name);
    if (f->s->says && !OK(strstr(f->says, f->s->says), "%s: the server says why", f->s->name))
        NOTE("it says: %s", f->says);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_await(f, &f->close, coir_close, .fd = f->listener);
        coir_tls_context_free(f->context);
    }
} coir_end

#define S_CLIENT "openssl s_client -connect 127.0.0.1:@ -servername localhost -CAfile ~/ca.cert " \
                 "-verify_return_error -verify_hostname localhost"
#define CURL "curl -sS --max-time 20 --noproxy '*' --resolve localhost:@:127.0.0.1 https://localhost:@/ "

static void servers(void)
{
    static const struct served table[] = {
        { "s_client, TLS 1.3", "echo abc | " S_CLIENT " -quiet -no_ign_eof -tls1_3; true", READS_ON, 0, "", 0, NULL,
          false, 0 },
        { "s_client, TLS 1.3, echo", "echo abc | " S_CLIENT " -quiet -tls1_3", ECHOES_ONCE, 0, "abc\n", 0, NULL,
          false, 0 },
        { "s_client, TLS 1.2, echo", "echo abc | " S_CLIENT " -quiet -tls1_2", ECHOES_ONCE, 0, "abc\n", 0, NULL,
          false, 0 },
        { "s_client verifies", "echo abc | " S_CLIENT " -tls1_3", GREETS, 0, "Verification: OK", 0, NULL, false, 0 },
        { "s_client, TLS 1.1", S_CLIENT " -tls1_1 -cipher ALL:@SECLEVEL=0 </dev/null", READS_ON, 1, "alert", -EPROTO,
          "unsupported protocol", false, 0 },
        { "s_client, renegotiation", "echo R | " S_CLIENT " -tls1_2", READS_ON, 1, "no renegotiation", -EPROTO,
          "the peer refused: handshake failure", false, 0 },
        { "s_client, new keys", S_CLIENT " -tls1_3 <~/fifo", ECHOES_ONCE, 0, "KEYUPDATE", 0, NULL, true, 0 },
        { "s_client, killed", "echo $$ >~/pid; exec " S_CLIENT " <~/fifo", KILLS, -1, "", -ECONNRESET, NULL, false,
          0 },
        { "s_client, a client's certificate", "echo abc | " S_CLIENT " -quiet -cert ~/client.pem", ECHOES_ONCE, 0,
          "abc\n", 0, NULL, false, COIR_TLS_REQUIRED },
        { "s_client, no client's certificate", "echo abc | " S_CLIENT " -quiet", ECHOES_ONCE, -1,
          "certificate required", -EKEYREJECTED, "the peer has no certificate", false, COIR_TLS_REQUIRED },
        { "curl", CURL "--cacert ~/ca.cert", ANSWERS_HTTP, 0, "http/1.1 over TLSv1.3", 0, NULL, false, 0 },
        { "curl, TLS 1.2", CURL "--cacert ~/ca.cert --tls-max 1.2", ANSWERS_HTTP, 0, "http/1.1 over TLSv1.2", 0, NULL,
          false, 0 },
        { "curl without trust", CURL, ANSWERS_HTTP, 60, "unable to get local issuer", -EPROTO,
          "the peer refused: unknown CA", false, 0 },
        { "curl with another name", "curl -sS --max-time 20 --noproxy '*' --resolve elsewhere:@:127.0.0.1 "
          "https://elsewhere:@/ --cacert ~/ca.cert", READS_ON, 60, "no alternative certificate subject name", 0, NULL,
          false, 0 },
        { "curl speaks HTTP", "curl -sS --max-time 20 --noproxy '*' http://127.0.0.1:@/", ANSWERS_HTTP, -1, "curl: (",
          -EPROTO, "http request", false, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        RUN(coir_new(serving, .s = &table[i]), "%s", table[i].name);
    OK(key_updates > 0, "new keys were asked for");
}

/* ---- a client, and a server from outside ---- */

struct called {
    const char *name, *line, *host;
    int status;
    const char *says, *reads;
    const char *told;                   /* what the peer is told after the handshake, through the FIFO */
    bool danger, kills;
    const char *certificate;
};

struct calling {
    coir_frame_void;
    coir_args(const struct called *c;);
    struct coir_tls_context *context;
    struct coir_tls tls;
    struct command command;
    struct sockaddr_in at;
    int fd, tries, status;
    size_t n;
    char says[256], got[32768];
    struct coir_scope scope;
    struct coir_group group;
    struct coir_sleep sleep;
    struct coir_connect connect;
    struct coir_socket socket;
    struct coir_close close_fd;
    struct coir_group_wait wait;
};
static coir_declare(calling);

/* What the client does, over a socket that is connected. */
struct client {
    coir_frame_void;
    coir_args(struct calling *c; int fd;);
    struct coir_tls tls;
    struct coir_tls_handshake handshake;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_close close;
};
static coir_declare(client);

coir_body(client, f) {
    MUST(coir_tls_init(&f->tls, f->c->context, f->fd, f->c->c->host));
    if (f->c->c->told)
        SSL_set_msg_callback(coir_tls_ssl(&f->tls), sees_key_update);
    coir_try(f, &f->handshake, coir_tls_handshake, .tls = &f->tls);
    if (f->c->c->told)
        tell_fifo(f->c->c->told);
    if (f->c->c->kills)
        kill_peer();
    TLS_WRITE(&f->write, &f->tls, "GET / HTTP/1.0\r\n\r\n", 18);
    coir_check(f, &f->write);
    for (f->c->n = 0; f->c->n < sizeof f->c->got - 1; f->c->n += f->read.result) {
        TLS_READ(&f->read, &f->tls, f->c->got + f->c->n, sizeof f->c->got - 1 - f->c->n);
        coir_check(f, &f->read);
        if (f->read.result == 0)
            break;
        if (f->c->c->told)
            tell_fifo("Q\n");               /* it has answered: it may go */
    }
    coir_finally(f) {
        snprintf(f->c->says, sizeof f->c->says, "%s", coir_tls_error(&f->tls));
        TLS_CLOSE(&f->close, &f->tls);
    }
} coir_end

struct calls {
    coir_frame_void;
    coir_args(struct calling *c; int fd;);
    struct client client;
};
static coir_declare(calls);

coir_body(calls, f) {
    coir_await(f, &f->client, client, .c = f->c, .fd = f->fd);
    f->c->status = coir_status(&f->client);
} coir_end

/* The server is a process that comes when it comes: until then it refuses. */
coir_body(calling, f) {
    f->fd = tcp_dead_port(&f->at);
    close(f->fd);
    f->context = context((struct coir_tls_options){ .ca_file = in_folder("ca.cert"), .certificate = f->c->certificate ?
                         in_folder(f->c->certificate) : NULL, .danger_accept_any_certificate = f->c->danger });
    compose(&f->command, f->c->line, ntohs(f->at.sin_port));
    f->n = 0;
    memset(f->got, 0, sizeof f->got);
    coir_group_open(f, &f->group, .keep_going = true);
    coir_spawn(&f->group, coir_new(commands, .command = &f->command));
    for (f->tries = 0; f->tries < 3000; f->tries++) {
        coir_get(f, f->fd, &f->socket, coir_socket, .domain = AF_INET, .type = SOCK_STREAM);
        coir_await(f, &f->connect, coir_connect, .fd = f->fd, .addr = (struct sockaddr *)&f->at,
                   .addrlen = sizeof f->at);
        if (coir_status(&f->connect) == 0)
            break;
        coir_await(f, &f->close_fd, coir_close, .fd = f->fd);
        coir_try(f, &f->sleep, coir_sleep, .ns = 20 * COIR_MS);
    }
    coir_spawn(&f->group, coir_new(calls, .c = f, .fd = f->fd));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    if (!EQ(f->status, f->c->status, "%s: the client's end", f->c->name))
        NOTE("\"%s\"; the server prints: %s", f->says, f->command.out);
    if (!OK(strstr(f->says, f->c->says), "%s: the client says \"%s\"", f->c->name, f->c->says))
        NOTE("it says: %s", f->says);
    OK(strstr(f->got, f->c->reads), "%s: the client reads \"%s\"", f->c->name, f->c->reads);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_tls_context_free(f->context);
    }
} coir_end

#define S_SERVER "openssl s_server -accept 127.0.0.1:@ -naccept 1 "
#define WWW S_SERVER "-www -cert ~/"
#define WELL "nothing is wrong"

static void clients(void)
{
    static const struct called table[] = {
        { "s_server, TLS 1.3", WWW "server.pem -tls1_3", "localhost", 0, WELL, "TLSv1.3", NULL, 0, 0, NULL },
        { "s_server, TLS 1.2", WWW "server.pem -tls1_2", "localhost", 0, WELL, "TLSv1.2", NULL, 0, 0, NULL },
        { "s_server, by its address", WWW "server.pem", "127.0.0.1", 0, WELL, "HTTP/1.0 200", NULL, 0, 0, NULL },
        { "s_server, another name", WWW "server.pem", "elsewhere", -EKEYREJECTED, "ostname mismatch", "", NULL, 0, 0,
          NULL },
        { "s_server, expired", WWW "expired.pem", "localhost", -EKEYREJECTED, "has expired", "", NULL, 0, 0, NULL },
        { "s_server, signed by itself", WWW "own.pem", "localhost", -EKEYREJECTED, "self-signed", "", NULL, 0, 0,
          NULL },
        { "s_server, verification off", WWW "own.pem", "elsewhere", 0, WELL, "HTTP/1.0 200", NULL, 1, 0, NULL },
        { "s_server, TLS 1.1", WWW "server.pem -tls1_1 -cipher ALL:@SECLEVEL=0", "localhost", -EPROTO,
          "protocol version", "", NULL, 0, 0, NULL },
        { "s_server, a client's certificate", WWW "server.pem -CAfile ~/ca.cert -Verify 2 -verify_return_error",
          "localhost", 0, WELL, "HTTP/1.0 200", NULL, 0, 0, "client.pem" },
        { "s_server, no client's certificate", WWW "server.pem -CAfile ~/ca.cert -Verify 2 -verify_return_error",
          "localhost", -EPROTO, "the peer refused: ", "", NULL, 0, 0, NULL },
        { "s_server, new keys", S_SERVER "-cert ~/server.pem -tls1_3 <~/fifo", "localhost", -ECONNRESET, "", "abc",
          "K\n", 0, 0, NULL },            /* it goes without a goodbye */
        { "s_server, renegotiation", S_SERVER "-cert ~/server.pem -tls1_2 <~/fifo", "localhost", -EPROTO,
          "the peer refused: ", "", "R\n", 0, 0, NULL },
        { "s_server, killed", "echo $$ >~/pid; exec " S_SERVER "-cert ~/server.pem <~/fifo", "localhost",
          -ECONNRESET, "", "", NULL, 0, 1, NULL },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        RUN(coir_new(calling, .c = &table[i]), "%s", table[i].name);
}

int main(void)
{
    const struct identity ca = make_folder();
    int fifo;

    if (system("openssl version >/dev/null 2>&1 && curl --version >/dev/null 2>&1") != 0)
        SKIP_ALL("openssl or curl is not installed");
    forget(certify(&ca, (struct wanted){ "expired", "a server", "DNS:localhost", -10, -2 }));
    forget(certify(NULL, (struct wanted){ "own", "a server", "DNS:localhost", 0, 0 }));
    MUST(mkfifo(in_folder("fifo"), 0600));
    fifo = MUST(open(in_folder("fifo"), O_RDWR | O_CLOEXEC));   /* so that nobody waits for the other end */
    servers();
    clients();
    close(fifo);
    forget(ca);
    remove_folder();
    return DONE();
}
