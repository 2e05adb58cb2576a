/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the orders that a store takes on its control socket. Whatever is said there, the answers are lines of JSON, as
 * many ends as there were orders or fewer, and the store is whole afterwards and when it is opened again.
 *
 * An input is what is said.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "medium.h"
#include "serve/order.h"

enum { MOST = 1 << 16 };

/* ---- one session, then a look at what it has left ---- */

static struct coir_event go;
static int accepted;
static bool made, ended;

struct session {
    coir_frame_void;
    coir_no_args;
    struct coir_files *files;
    struct coir_store *store;
    unsigned lap;
    union {
        struct medium_open open;
        struct coir_order_session orders;
        struct coir_store_check check;
        struct coir_store_unload unload;
    };
};
static coir_declare(session);

coir_body(session, f) {
    f->files = malloc(sizeof *f->files);
    must(f->files != NULL);
    for (f->lap = 0; f->lap < 2; f->lap++) {
        coir_await(f, &f->open, medium_open, .files = f->files);
        must(coir_status(&f->open) == 0);
        f->store = f->open.result;
        if (f->lap == 0)
            coir_await(f, &f->orders, coir_order_session, .store = f->store, .fd = accepted);
        coir_await(f, &f->check, coir_store_check, .store = f->store);
        must(coir_status(&f->check) == 0 && !coir_store_why(f->store));
        coir_await(f, &f->unload, coir_store_unload, .store = f->store);
        must(coir_status(&f->unload) == 0);
    }
    free(f->files);
} coir_end

struct forever {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_event_wait wait;
        struct medium_make make;
        struct session session;
    };
};
static coir_declare(forever);

coir_body(forever, f) {
    coir_await(f, &f->make, medium_make);
    must(coir_status(&f->make) == 0);
    made = true;
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = &go);
        coir_event_reset(&go);
        coir_await(f, &f->session, session);
        ended = true;
    }
} coir_end

/* ---- the answers ---- */

static struct {
    char line[4096];
    size_t n;
    unsigned ends;
} answer;

static void check_line(void)
{
    must(answer.n >= 2 && answer.line[0] == '{' && answer.line[answer.n - 1] == '}');
    for (size_t i = 0; i < answer.n; i++)
        must((unsigned char)answer.line[i] >= ' ' && answer.line[i] != 0x7f);
    answer.ends += answer.n > 10 && memcmp(answer.line, "{\"status\":", 10) == 0;
    answer.n = 0;
}

static void listen_to(int fd)
{
    static char bytes[1 << 14];
    ssize_t n;

    while ((n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] == '\n') {
                check_line();
                continue;
            }
            must(answer.n < sizeof answer.line);
            answer.line[answer.n++] = bytes[i];
        }
}

/* ---- one input ---- */

static struct coir_shard *shard;

static void begin(void)
{
    const struct coir_options epoll = { .io = "epoll" };

    setenv("COIR_TIME", "virtual", 1);
    coir_event_init(&go);
    shard = coir_shard_open(&epoll, coir_new(forever));
    must(shard != NULL);
    while (!made)
        must(coir_turn(shard) == 1);
    memcpy(medium.now, medium.base, sizeof medium.now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned lines = 1;
    int fds[2];

    if (!shard)
        begin();
    if (n > MOST)
        return 0;
    medium_reset();
    memset(&answer, 0, sizeof answer);
    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    must(send(fds[0], data, n, MSG_NOSIGNAL) == (ssize_t)n && shutdown(fds[0], SHUT_WR) == 0);
    accepted = fds[1];
    ended = false;
    coir_event_set(&go);
    while (!ended) {
        listen_to(fds[0]);
        must(coir_turn(shard) == 1);
    }
    listen_to(fds[0]);
    must(answer.n == 0 && answer.ends <= lines);
    close(fds[0]);
    return 0;
}
