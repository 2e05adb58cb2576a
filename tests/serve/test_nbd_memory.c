/* SPDX-License-Identifier: MIT */
/*
 * What a request of the NBD server costs: no heap allocation, less than one system call for many at once; and what
 * becomes of clients when there is no memory: the N-th allocation fails, for N = 1, 2, 3, ... The program is linked so
 * that every allocation comes by here. Clients are threads with blocking sockets, so that the shard is the server's.
 */
#include <coir/coir.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include "runtime/base/pool.h"
#include "serve/nbd.h"
#include "tap.h"
#include "tests/serve/bytes.h"
#include "tests/serve/ram.h"

enum { MIB = 1 << 20 };

/* ---- allocations of this thread, if it is the server's ---- */

static _Thread_local bool counted;
static uint64_t allocations;            /* atomic */
static long fail_at;                    /* atomic; 1: the next one fails; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

static bool fails(void)
{
    if (!counted)
        return false;
    __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&fail_at, __ATOMIC_RELAXED) > 0 && __atomic_sub_fetch(&fail_at, 1, __ATOMIC_RELAXED) == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(align, size);
}

/* ---- a client ---- */

static char path[64];

static int dial(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage addr;
    const int len = coir_address(path, &addr);

    COIR_ASSERT(fd >= 0 && len > 0);
    COIR_ASSERT(connect(fd, (struct sockaddr *)&addr, (socklen_t)len) == 0);
    return fd;
}

static bool say(int fd, const struct bytes *b)
{
    return send(fd, b->data, b->len, MSG_NOSIGNAL) == (ssize_t)b->len;
}

/* True: that many bytes came. */
static bool hear(int fd, void *buf, size_t n)
{
    return n == 0 || recv(fd, buf, n, MSG_WAITALL) == (ssize_t)n;
}

static bool shake_hands(int fd, bool structured)
{
    unsigned char room[512], answer[512];
    struct bytes b = { room, 0 };
    size_t n;

    put_handshake(&b, "vm0", structured, &n);
    return say(fd, &b) && hear(fd, answer, n);
}

/* The answer to a simple request, with `length` bytes of data; its error, or -1: none came. */
static int simple(int fd, unsigned char *to, size_t length)
{
    unsigned char head[16];
    uint32_t error;

    if (!hear(fd, head, 16))
        return -1;
    memcpy(&error, head + 4, 4);
    if (error == 0 && !hear(fd, to, length))
        return -1;
    return (int)be32toh(error);
}

static struct coir_nbd_serve *server;

/* Until the server has nothing any more of those who went: then a client finds it as the first one did. */
static void wait_for_quiet(void)
{
    struct coir_nbd_counts counts;

    do {
        sched_yield();
        coir_nbd_count(server, &counts);
    } while (counts.live > 0);
}

/* ---- a steady stream of requests ---- */

struct load {
    const char *name;
    uint16_t type;
    uint32_t length;
    int depth, rounds;
};

static const struct load loads[] = {
    { "reads of 4 KiB", READ, 4096, 1, 500 },
    { "reads of 4 KiB, 32 at once", READ, 4096, 32, 100 },
    { "writes of 4 KiB, 32 at once", WRITE, 4096, 32, 100 },
    { "reads of 1 MiB, 4 at once", READ, MIB, 4, 25 },
    { "writes of 1 MiB, 4 at once", WRITE, MIB, 4, 25 },
    { "writes of 3 MiB and a byte", WRITE, 3 * MIB + 1, 2, 10 },
    { "flushes, 8 at once", FLUSH, 0, 8, 50 },
    { "trims, 8 at once", TRIM, 4096, 8, 50 },
    { "block status, 8 at once", BLOCK_STATUS, MIB, 8, 50 },
    { "caches, 8 at once", CACHE, 4096, 8, 50 },
};

static unsigned char *memory, *answers;

static void sink(int fd, size_t n)
{
    COIR_ASSERT(hear(fd, answers, n));
}

/* How many bytes an answer has: of the loads, all of whose blocks exist and are data, where there are chunks. */
static size_t answer_length(const struct load *l)
{
    if (l->type == BLOCK_STATUS)
        return 20 + 4 + 8;
    return l->type == READ ? 20 + 8 + l->length : 16;
}

static void run_load(int fd, const struct load *l, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct bytes b = { memory, 0 };

        for (int k = 0; k < l->depth; k++) {
            const uint64_t at = l->length ? (uint64_t)(i * l->depth + k) * l->length % (8 * MIB) : 0;
            put_request(&b, l->type, 0, (uint64_t)k, at, l->type == FLUSH ? 0 : l->length);
            if (l->type == WRITE)
                b.len += l->length;
        }
        for (size_t sent = 0; sent < b.len;) {
            const ssize_t n = send(fd, b.data + sent, b.len - sent, MSG_NOSIGNAL);
            COIR_ASSERT(n > 0);
            sent += (size_t)n;
        }
        for (int k = 0; k < l->depth; k++)
            sink(fd, answer_length(l));
    }
}

static void look(struct coir_stats *stats, uint64_t *heap)
{
    coir_stats(0, stats);
    *heap = __atomic_load_n(&allocations, __ATOMIC_RELAXED);
}

static void steady(void)
{
    const int fd = dial();

    memory = malloc(16 * MIB);
    answers = malloc(16 * MIB);
    memset(memory, 7, 16 * MIB);
    OK(shake_hands(fd, true), "a client");
    run_load(fd, &(struct load){ "", WRITE, 2 * MIB, 4, 0 }, 2);        /* the store has all blocks */
    run_load(fd, &(struct load){ "", WRITE, 2 * MIB, 4, 0 }, 2);
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        const struct load *l = &loads[i];
        struct coir_stats before, after;
        uint64_t heap, heap_after;
        const int n = l->depth * l->rounds;

        run_load(fd, l, l->rounds);
        look(&before, &heap);
        run_load(fd, l, l->rounds);
        look(&after, &heap_after);
        if (l->type == TRIM)
            run_load(fd, &(struct load){ "", WRITE, 2 * MIB, 4, 0 }, 2);
        if (COIR_POOL_DIRECT || COIR_TORTURED) {
            SKIP("in this build each frame is an allocation, or transfers are short");
        } else {
            EQ(heap_after - heap, 0, "%s: no heap allocation", l->name);
            EQ(after.chunks - before.chunks, 0, "%s: no memory for frames", l->name);
            if (l->depth >= 8 && l->type != WRITE)
                OK((after.syscalls - before.syscalls) < (uint64_t)n, "%s: less than a system call each", l->name);
        }
        NOTE("%s: %.3f system calls each", l->name, (double)(after.syscalls - before.syscalls) / n);
    }
    free(memory);
    free(answers);
    close(fd);
    wait_for_quiet();
}

/* ---- no memory ---- */

/* A conversation in which everything happens once. How many of its seven requests succeeded; -1: it broke off. */
static int converse(bool structured)
{
    static const struct { uint16_t type; uint32_t length; } plan[] = {
        { READ, 4096 }, { WRITE, 4096 }, { WRITE, 3 * MIB }, { READ, 3 * MIB }, { FLUSH, 0 }, { TRIM, 4096 },
        { CACHE, 3 * MIB },
    };
    const int fd = dial();
    unsigned char *data = malloc(3 * MIB);
    int good = 0;

    memset(data, 5, 3 * MIB);
    if (!shake_hands(fd, structured))
        good = -1;
    for (size_t i = 0; good >= 0 && i < sizeof plan / sizeof *plan; i++) {
        unsigned char head[28];
        struct bytes b = { head, 0 };
        int error;

        put_request(&b, plan[i].type, 0, i, 0, plan[i].length);
        if (!say(fd, &b) || (plan[i].type == WRITE && !say(fd, &(struct bytes){ data, plan[i].length }))) {
            good = -1;
            break;
        }
        error = simple(fd, data, plan[i].type == READ ? plan[i].length : 0);
        if (error != 0 && error != 12 && error != -1)
            OK(false, "request %zu: error %d, where ENOMEM was expected", i, error);
        good = error < 0 ? -1 : good + (error == 0);
    }
    free(data);
    close(fd);
    wait_for_quiet();
    return good;
}

enum { LAST = 2000 };

static void without_memory(void)
{
    int broken = 0, refused = 0, whole = 0;
    long n;

    EQ(converse(false), 7, "a conversation of seven requests");
    for (n = 1; n < LAST; n++) {
        int good;

        __atomic_store_n(&fail_at, n, __ATOMIC_RELAXED);
        good = converse(false);
        if (__atomic_exchange_n(&fail_at, 0, __ATOMIC_RELAXED) > 0) {
            EQ(good, 7, "with all of its %ld allocations it is whole", n - 1);
            break;
        }
        broken += good < 0;
        refused += good >= 0 && good < 7;
        whole += good == 7;
        good = converse(false);
        if (good != 7)
            OK(false, "after allocation %ld has failed, another client has %d of 7", n, good);
    }
    OK(n > 1 && n < LAST, "each of %ld allocations of a conversation has failed", n - 1);
    NOTE("%d broke off, %d had requests refused, %d did not mind", broken, refused, whole);
}

/* ---- the program ---- */

static void *clients(void *cell)
{
    steady();
    without_memory();
    coir_cell_complete((struct coir_cell *)cell, 0, 0);
    return NULL;
}

static void say_nothing(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

static void ready(void *cell, const char *address)
{
    (void)address;
    coir_cell_complete((struct coir_cell *)cell, 0, 0);
}

struct program {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    const char *where;
    struct coir_nbd_options options;
    pthread_t thread;
    struct coir_cell ready, done;
    struct coir_group group;
    union {
        struct coir_cell_wait wait;
        struct coir_group_wait group_wait;
    };
};
static coir_declare(program);

coir_body(program, f) {
    f->where = path;
    coir_cell_init(&f->ready);
    coir_cell_init(&f->done);
    f->options = (struct coir_nbd_options){ .store = f->store, .where = &f->where, .n_where = 1, .log = say_nothing,
                                            .listening = ready, .ctx = &f->ready };
    coir_group_open(f, &f->group, .keep_going = true);
    server = (struct coir_nbd_serve *)coir_new(coir_nbd_serve, .options = &f->options);
    coir_spawn(&f->group, &server->task);
    coir_try(f, &f->wait, coir_cell_wait, .cell = &f->ready);
    counted = true;
    pthread_create(&f->thread, NULL, clients, &f->done);
    coir_try(f, &f->wait, coir_cell_wait, .cell = &f->done);
    pthread_join(f->thread, NULL);
    counted = false;
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->group_wait, coir_group_wait, .group = &f->group);
    }
} coir_end

int main(void)
{
    struct coir_store *store = ram_new();
    struct ram_counts counts;

    snprintf(path, sizeof path, "unix:@coir-nbd-memory-%d", (int)getpid());
    ram_add(store, "vm0", 64 * MIB, 4096, false);
    EQ(coir_run(NULL, coir_new(program, .store = store)), 0, "the server ends");
    ram_count(store, &counts);
    EQ(counts.opened, 0, "no volume is left open");
    ram_free(store);
    return DONE();
}
