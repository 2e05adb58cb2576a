/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes a connection of the NBD server: all that a client ever says, handshake and requests, over volumes in memory.
 * Whatever it is, the connection ends when the client does, has asked its store for nothing that is not there, and has
 * left no volume open.
 *
 * An input is a byte, and what the client says. The byte: 1 the magic numbers are put right, and lengths that are more
 * than what is left, since no fuzzer guesses the ones or waits for the others; 2 the client has gone before it is
 * answered.
 */
#include <coir/coir.h>

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/nbd_connection.h"
#include "tests/serve/ram.h"

enum { PUT_RIGHT = 1, GONE = 2, MOST = 1 << 16, OPTION = 16, REQUEST = 28, EXPORT_NAME = 1, GO = 7, WRITE = 1 };

static void must(bool good)
{
    if (!good)
        abort();
}

/* ---- what no fuzzer guesses ---- */

static uint32_t at_most(unsigned char *at, size_t left)
{
    uint32_t n;

    memcpy(&n, at, sizeof n);
    n = be32toh(n);
    n = n < left ? n : (uint32_t)left;
    memcpy(at, &(uint32_t){ htobe32(n) }, sizeof n);
    return n;
}

/* As far as one can see from here, the handshake ends with the first option that may end it. */
static void put_right(unsigned char *said, size_t n)
{
    static const uint64_t option_magic = UINT64_C(0x49484156454F5054);
    static const uint32_t request_magic = UINT32_C(0x25609513);
    size_t at = 4;
    uint32_t option = 0;

    while (at + OPTION <= n && option != EXPORT_NAME && option != GO) {
        memcpy(said + at, &(uint64_t){ htobe64(option_magic) }, 8);
        memcpy(&option, said + at + 8, 4);
        option = be32toh(option);
        at += OPTION + at_most(said + at + 12, n - at - OPTION);
    }
    while (at + REQUEST <= n) {
        memcpy(said + at, &(uint32_t){ htobe32(request_magic) }, 4);
        at += REQUEST;
        if (said[at - REQUEST + 7] == WRITE)
            at += at_most(said + at - 4, n - at);
    }
}

/* ---- one connection at a time, on a shard that stays ---- */

static struct coir_nbd_server *server;
static struct coir_event go;
static int accepted;
static bool ended;

struct forever {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_event_wait wait;
        struct coir_nbd_connection connection;
    };
};
static coir_declare(forever);

coir_body(forever, f) {
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = &go);
        coir_event_reset(&go);
        coir_await(f, &f->connection, coir_nbd_connection, .fd = accepted, .server = server);
        ended = true;
    }
} coir_end

static void log_nothing(void *ctx, const char *line)
{
    (void)ctx;
    must(line[0] != '\0');
}

static struct coir_nbd_server *make_server(struct coir_store *store)
{
    const size_t size = sizeof *server + sizeof server->shard[0];
    struct coir_nbd_server *s = aligned_alloc(64, (size + 63) / 64 * 64);

    must(s != NULL);
    memset(s, 0, size);
    s->options = (struct coir_nbd_options){ .store = store, .depth = 8, .in_flight = 1 << 20, .handshake = 30 * COIR_S,
                                            .patience = 30 * COIR_S, .drain = COIR_S, .log = log_nothing };
    s->memory = NBD_MEMORY_LEAST;
    s->shards = 1;
    s->shard[0].server = s;
    return s;
}

/* Takes what the server says, as long as there is some. */
static void listen_to(int fd)
{
    static unsigned char answer[1 << 16];

    while (fd >= 0 && recv(fd, answer, sizeof answer, MSG_DONTWAIT) > 0)
        ;
}

static void converse(const unsigned char *said, size_t n, bool gone)
{
    static struct coir_shard *shard;
    const struct coir_options epoll = { .io = "epoll" };
    int fds[2];

    if (!shard) {
        coir_event_init(&go);
        shard = coir_shard_open(&epoll, coir_new(forever));
        must(shard && coir_turn(shard) == 1);
    }
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    must(send(fds[0], said, n, MSG_NOSIGNAL) == (ssize_t)n);
    if (gone)
        close(fds[0]);
    else
        must(shutdown(fds[0], SHUT_WR) == 0);
    accepted = fds[1];
    ended = false;
    coir_event_set(&go);
    while (!ended) {
        listen_to(gone ? -1 : fds[0]);
        must(coir_turn(shard) == 1);
    }
    if (!gone)
        close(fds[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static unsigned char said[MOST];
    struct ram_counts counts;
    struct coir_store *store;

    if (n < 1 || n > MOST)
        return 0;
    memcpy(said, data + 1, n - 1);
    if (data[0] & PUT_RIGHT)
        put_right(said, n - 1);
    store = ram_new();
    ram_add(store, "vm0", 128 << 10, 4096, false);
    ram_add(store, "ro", 64 << 10, 4096, true);
    server = make_server(store);
    converse(said, n - 1, data[0] & GONE);
    ram_count(store, &counts);
    must(counts.invalid == 0 && counts.opened == 0);
    must(server->shard[0].counts.live == 0 && !server->shard[0].first);
    ram_free(store);
    free(server);
    return 0;
}
