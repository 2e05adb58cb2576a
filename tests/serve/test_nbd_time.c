/* SPDX-License-Identifier: MIT */
/*
 * The times that the NBD server gives its clients, under virtual time: the usual ones, which a test with a clock could
 * not wait for. Client and server are tasks of one shard. A time is a function of what happens, and so can be asserted.
 */
#include <coir/coir.h>
#include <sys/socket.h>

#include "serve/nbd.h"
#include "tap.h"
#include "tests/serve/bytes.h"
#include "tests/serve/ram.h"

enum { MIB = 1 << 20, DAY = 86400, DONT_FRAGMENT = 4 };

static char path[64];
static char last_line[512];             /* of the server's log */
static int64_t last_at;                 /* when that was */

static void remember(void *ctx, const char *line)
{
    (void)ctx;
    snprintf(last_line, sizeof last_line, "%s", line);
    last_at = coir_now();
}

/* Whole seconds from `began` to `ended`: a timer may be a little late, never early. */
static int64_t seconds(int64_t began, int64_t ended)
{
    return (ended - began) / COIR_S;
}

/* ---- a client ---- */

/* Connects, and comes through the handshake. The result is the descriptor. */
struct enter {
    coir_frame(int);
    coir_no_args;
    unsigned char room[512];
    struct bytes b;
    size_t answer;
    union {
        struct coir_dial dial;
        struct coir_send_all send;
        struct coir_recv_exact recv;
    };
};
static coir_declare(enter);

coir_body(enter, f) {
    coir_get(f, f->result, &f->dial, coir_dial, .where = path);
    f->b = (struct bytes){ f->room, 0 };
    put_handshake(&f->b, "vm0", true, &f->answer);
    coir_try(f, &f->send, coir_send_all, .fd = f->result, .buf = f->room, .len = f->b.len);
    coir_try(f, &f->recv, coir_recv_exact, .fd = f->result, .buf = f->room, .len = f->answer);
} coir_end

/* A client that sends `len` bytes, `step` of them every `pause` ns, and never reads before it has; then it ends its
 * direction if it `ends`, and reads until the server closes. The result: seconds from its first byte to what the server
 * has to say about it, or, where that is nothing, to its end. */
struct drips {
    coir_frame(int64_t);
    coir_args(int fd; const unsigned char *data; size_t len; size_t step; int64_t pause; bool ends;);
    size_t at, heard;
    int64_t began;
    unsigned char buf[4096];
    union {
        struct coir_send send;
        struct coir_recv recv;
        struct coir_sleep sleep;
        struct coir_shutdown shutdown;
        struct coir_close close;
    };
};
static coir_declare(drips);

coir_body(drips, f) {
    f->began = coir_now();
    f->heard = 0;
    for (f->at = 0; f->at < f->len; f->at += f->step) {
        coir_await(f, &f->send, coir_send, .fd = f->fd, .buf = f->data + f->at,
                   .len = f->step < f->len - f->at ? f->step : f->len - f->at, .flags = MSG_DONTWAIT);
        if (coir_status(&f->send) < 0)
            break;
        if (f->pause > 0)
            coir_try(f, &f->sleep, coir_sleep, .ns = f->pause);
    }
    if (f->ends)
        coir_await(f, &f->shutdown, coir_shutdown, .fd = f->fd, .how = SHUT_WR);
    do {
        coir_await(f, &f->recv, coir_recv, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf);
        f->heard += f->recv.result;
    } while (coir_status(&f->recv) == 0 && f->recv.result > 0);
    f->result = seconds(f->began, last_at > f->began ? last_at : coir_now());
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* A client that asks for `n` times `length` bytes and takes none: seconds until the server has nothing of it. */
struct greedy {
    coir_frame(int64_t);
    coir_args(struct coir_nbd_serve *serve; int n; uint32_t length;);
    int fd, i;
    int64_t began;
    struct coir_nbd_counts counts;
    unsigned char room[1024];
    struct bytes b;
    union {
        struct enter enter;
        struct coir_send_all send;
        struct coir_sleep sleep;
        struct coir_close close;
    };
};
static coir_declare(greedy);

coir_body(greedy, f) {
    f->fd = -1;
    coir_get(f, f->fd, &f->enter, enter);
    f->began = coir_now();
    f->b = (struct bytes){ f->room, 0 };
    for (f->i = 0; f->i < f->n; f->i++)
        put_request(&f->b, READ, DONT_FRAGMENT, (uint64_t)f->i, 0, f->length);
    coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->room, .len = f->b.len);
    do {
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
        coir_nbd_count(f->serve, &f->counts);
    } while (f->counts.live > 0 && seconds(f->began, coir_now()) < DAY);
    f->result = seconds(f->began, last_at);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

/* ---- the cases ---- */

struct program {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    const char *where;
    struct coir_nbd_options options;
    struct coir_nbd_serve *serve;
    struct coir_nbd_counts counts;
    struct coir_group group;
    int fd, i;
    int64_t began;
    unsigned char *data;
    struct bytes b;
    union {
        struct coir_dial dial;
        struct enter enter;
        struct drips drips;
        struct greedy greedy;
        struct coir_sleep sleep;
        struct coir_send_all send;
        struct coir_recv_exact recv;
        struct coir_close close;
        struct coir_group_wait wait;
    };
};
static coir_declare(program);

/* What the server ends by itself, and when: as options_ says by default. */
coir_body(program, f) {
    f->data = calloc(1, MIB + 64);
    f->where = path;
    f->options = (struct coir_nbd_options){ .store = f->store, .where = &f->where, .n_where = 1, .log = remember };
    coir_group_open(f, &f->group, .keep_going = true);
    f->serve = (struct coir_nbd_serve *)coir_new(coir_nbd_serve, .options = &f->options);
    coir_spawn(&f->group, &f->serve->task);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);

    coir_get(f, f->fd, &f->dial, coir_dial, .where = path);
    coir_try(f, &f->drips, drips, .fd = f->fd, .data = f->data, .len = 0, .step = 1);
    EQ(f->drips.result, 30, "who says nothing has 30 s");
    EQ(f->drips.heard, 18, "and was greeted");
    f->b = (struct bytes){ f->data, 0 };
    put32(&f->b, 3);
    for (f->i = 0; f->i < 100; f->i++)
        put_option(&f->b, 77, 0);
    coir_get(f, f->fd, &f->dial, coir_dial, .where = path);
    coir_try(f, &f->drips, drips, .fd = f->fd, .data = f->data, .len = f->b.len, .step = 16, .pause = COIR_S);
    EQ(f->drips.result, 30, "who asks for options without end has 30 s too");

    coir_get(f, f->fd, &f->enter, enter);
    f->b = (struct bytes){ f->data, 0 };
    put_request(&f->b, WRITE, 0, 1, 0, MIB);
    coir_try(f, &f->drips, drips, .fd = f->fd, .data = f->data, .len = 27, .step = 27);
    EQ(f->drips.result, 30, "who does not end a request's head has 30 s");
    coir_get(f, f->fd, &f->enter, enter);
    coir_try(f, &f->drips, drips, .fd = f->fd, .data = f->data, .len = MIB + 28, .step = 28, .pause = COIR_S);
    EQ(f->drips.result, 34, "who sends 28 bytes a second of a MiB has 34 s: one for each quarter");
    coir_get(f, f->fd, &f->enter, enter);
    coir_await(f, &f->drips, drips, .fd = f->fd, .data = f->data, .len = MIB + 28, .step = 40000, .pause = COIR_S,
               .ends = true);
    EQ(f->drips.heard, 16, "who sends 40 kB a second is in time, and is answered");
    EQ(f->drips.result, 27, "after 27 s");
    coir_nbd_count(f->serve, &f->counts);
    EQ(f->counts.written, MIB, "it was written");
    EQ(f->counts.broken, 4, "four took too long");

    coir_await(f, &f->greedy, greedy, .serve = f->serve, .n = 1, .length = 32 * MIB);
    EQ(f->greedy.result, 30 + 128, "who takes nothing of 32 MiB has 30 s and one for each quarter MiB");
    OK(strstr(last_line, "does not take its answers"), "the log says why: %s", last_line);
    coir_await(f, &f->greedy, greedy, .serve = f->serve, .n = 30, .length = 4 * MIB);
    EQ(f->greedy.result >= 30 && f->greedy.result <= 30 + 256, true,
       "of 120 MiB, no more than what it may have in flight counts: %d s", (int)f->greedy.result);

    coir_get(f, f->fd, &f->enter, enter);
    coir_try(f, &f->sleep, coir_sleep, .ns = DAY * COIR_S);
    f->b = (struct bytes){ f->data, 0 };
    put_request(&f->b, FLUSH, 0, 1, 0, 0);
    coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->data, .len = 28);
    coir_try(f, &f->recv, coir_recv_exact, .fd = f->fd, .buf = f->data, .len = 16);
    EQ(memcmp(f->data + 4, "\0\0\0\0", 4), 0, "who has nothing to say for a day is served then");

    ram_hold(f->store, RAM_FLUSH);
    f->b = (struct bytes){ f->data, 0 };
    put_request(&f->b, FLUSH, 0, 1, 0, 0);
    coir_try(f, &f->send, coir_send_all, .fd = f->fd, .buf = f->data, .len = 28);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    EQ(ram_held(f->store), 1, "a request that does not end");
    f->began = coir_now();
    coir_group_cancel(&f->group);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(seconds(f->began, coir_now()), 10, "keeps the server for 10 s when it is stopped");
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_await(f, &f->close, coir_close, .fd = f->fd);
        free(f->data);
    }
} coir_end

int main(void)
{
    struct coir_store *store = ram_new();
    struct ram_counts counts;

    setenv("COIR_TIME", "virtual", 1);
    WITHOUT_CHANCE("whole,prompt");
    snprintf(path, sizeof path, "unix:@coir-nbd-time-%d", (int)getpid());
    ram_add(store, "vm0", 64 * MIB, 4096, false);
    EQ(coir_run(NULL, coir_new(program, .store = store)), 0, "all comes to its end");
    ram_count(store, &counts);
    EQ(counts.opened, 0, "no volume is left open");
    ram_free(store);
    return DONE();
}
