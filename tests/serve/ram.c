/* SPDX-License-Identifier: MIT */
/*
 * Blocks of 4 KiB in a hash table, made when they are written; one lock over everything of a store, never held across
 * an await. Each operation first pauses, is kept, or fails, as the test wishes, and then does all of its work at once.
 */
#include "tests/serve/ram.h"

#include <coir/coir.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"

enum { BLOCK = 4096, BUCKETS = 1 << 16 };

struct block {
    struct block *next;
    uint64_t number;
    uint8_t data[BLOCK];
};

struct coir_volume {
    struct coir_store *store;
    struct coir_volume *next;
    struct coir_volume_facts facts;
    unsigned users;
    struct block *buckets[BUCKETS];
};

struct held {
    struct held *next;
    struct coir_cell *cell;
};

struct coir_store {
    pthread_mutex_t lock;
    struct coir_volume *volumes, **last;
    uint64_t ids, seed;
    int64_t most;
    int fail[RAM_OPS], fails[RAM_OPS];
    bool hold[RAM_OPS];
    struct held *held;
    struct ram_counts counts;
};

static const char *const names[RAM_OPS] = { "list", "open", "close", "read", "write", "unmap", "zeroes", "flush",
                                            "status" };

const char *ram_op_name(enum ram_op op)
{
    return names[op];
}

enum ram_op ram_op_of(const char *name)
{
    int op = 0;

    while (op < RAM_OPS && strcmp(names[op], name) != 0)
        op++;
    return (enum ram_op)op;
}

/* ---- what a test does with it ---- */

struct coir_store *ram_new(void)
{
    struct coir_store *s = calloc(1, sizeof *s);

    COIR_ASSERT(s);
    pthread_mutex_init(&s->lock, NULL);
    s->last = &s->volumes;
    return s;
}

static void drop_block(struct block **link)
{
    struct block *b = *link;

    *link = b->next;
    free(b);
}

void ram_free(struct coir_store *s)
{
    while (s->volumes) {
        struct coir_volume *v = s->volumes;

        s->volumes = v->next;
        COIR_ASSERT(v->users == 0);
        for (unsigned i = 0; i < BUCKETS; i++) {
            while (v->buckets[i])
                drop_block(&v->buckets[i]);
        }
        free(v);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void ram_add(struct coir_store *s, const char *name, uint64_t size, uint32_t block, bool read_only)
{
    struct coir_volume *v = calloc(1, sizeof *v);

    COIR_ASSERT(v && strlen(name) < sizeof v->facts.name);
    v->store = s;
    v->facts = (struct coir_volume_facts){ .id = ++s->ids, .size = size, .block = block, .read_only = read_only };
    memcpy(v->facts.name, name, strlen(name) + 1);
    *s->last = v;
    s->last = &v->next;
}

#define LOCKED(s, what) do { \
    pthread_mutex_lock(&(s)->lock); \
    what; \
    pthread_mutex_unlock(&(s)->lock); \
    } while (0)

void ram_fail(struct coir_store *s, enum ram_op op, int err, int n)
{
    LOCKED(s, s->fail[op] = err; s->fails[op] = n);
}

void ram_delay(struct coir_store *s, uint64_t seed, int64_t most)
{
    LOCKED(s, s->seed = seed; s->most = most);
}

void ram_hold(struct coir_store *s, enum ram_op op)
{
    LOCKED(s, s->hold[op] = true);
}

void ram_release(struct coir_store *s)
{
    pthread_mutex_lock(&s->lock);
    memset(s->hold, 0, sizeof s->hold);
    for (struct held *h = s->held; h; h = h->next) {
        coir_cell_complete(h->cell, 0, 0);
        coir_cell_drop(h->cell);
    }
    s->held = NULL;
    pthread_mutex_unlock(&s->lock);
}

unsigned ram_held(struct coir_store *s)
{
    unsigned n = 0;

    LOCKED(s, for (struct held *h = s->held; h; h = h->next) n++);
    return n;
}

void ram_count(struct coir_store *s, struct ram_counts *out)
{
    LOCKED(s, *out = s->counts);
}

/* ---- before an operation ---- */

/* Counts one, keeps it for as long as is wished, or says what it fails with. */
struct pause {
    coir_frame_void;
    coir_args(struct coir_store *store; enum ram_op op; unsigned flags;);
    int64_t ns;
    bool hold;
    int fails;
    struct held held;
    union {
        struct coir_sleep sleep;
        struct coir_cell_wait wait;
    };
};
static coir_declare(pause);

static uint64_t throw(struct coir_store *s)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return s->seed >> 33;
}

static void keep(struct pause *f)
{
    f->held.cell = coir_cell_new();
    COIR_ASSERT(f->held.cell);
    f->held.next = f->store->held;
    f->store->held = &f->held;
}

static void let_go(struct pause *f)
{
    struct held **link = &f->store->held;

    pthread_mutex_lock(&f->store->lock);
    while (*link && *link != &f->held)
        link = &(*link)->next;
    if (*link) {
        *link = f->held.next;
        coir_cell_drop(f->held.cell);           /* the reference of ram_release, which will not come to it */
    }
    coir_cell_drop(f->held.cell);
    pthread_mutex_unlock(&f->store->lock);
}

static void decide(struct pause *f)
{
    struct coir_store *s = f->store;

    pthread_mutex_lock(&s->lock);
    s->counts.asked[f->op]++;
    s->counts.durable[f->op] += (f->flags & COIR_VOLUME_DURABLE) != 0;
    s->counts.no_hole[f->op] += (f->flags & COIR_VOLUME_NO_HOLE) != 0;
    s->counts.fast[f->op] += (f->flags & COIR_VOLUME_FAST) != 0;
    f->ns = s->most ? (int64_t)(throw(s) % (uint64_t)s->most) : 0;
    f->hold = s->hold[f->op];
    if (f->hold)
        keep(f);
    f->fails = 0;
    if (s->fails[f->op] != 0) {
        s->fails[f->op] -= s->fails[f->op] > 0;
        f->fails = s->fail[f->op];
        s->counts.failed++;
    }
    pthread_mutex_unlock(&s->lock);
}

/* Its cell has two references: this task's, and that of whoever completes it. */
coir_body(pause, f) {
    decide(f);
    if (f->hold) {
        coir_await(f, &f->wait, coir_cell_wait, .cell = f->held.cell);
        let_go(f);
        coir_check(f, &f->wait);
    }
    if (f->ns > 0)
        coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
    if (f->fails)
        coir_fail(f, f->fails);
} coir_end

/* What an operation has beside its arguments: the memory that its frame keeps for the engine. */
#define PAUSE(f) ((struct pause *)(void *)(f)->room_)
_Static_assert(sizeof(struct pause) <= sizeof ((struct coir_volume_close *)0)->room_, "the least room there is");

/* ---- volumes ---- */

coir_body(coir_volume_list, f) {
    coir_try(f, PAUSE(f), pause, .store = f->store, .op = RAM_LIST);
    f->result = 0;
    for (struct coir_volume *v = f->store->volumes; v && f->result < f->n; v = v->next) {
        if (v->facts.id > f->after)
            f->facts[f->result++] = v->facts;
    }
} coir_end

coir_body(coir_volume_open, f) {
    coir_try(f, PAUSE(f), pause, .store = f->store, .op = RAM_OPEN);
    f->result = f->store->volumes;
    while (f->result && strcmp(f->result->facts.name, f->name) != 0)
        f->result = f->result->next;
    if (!f->result)
        coir_fail(f, ENOENT);
    LOCKED(f->store, f->result->users++; f->store->counts.opened++);
} coir_end

coir_body(coir_volume_close, f) {
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_CLOSE);
    coir_finally(f) {
        pthread_mutex_lock(&f->volume->store->lock);
        COIR_ASSERT(f->volume->users > 0);
        f->volume->users--;
        f->volume->store->counts.opened--;
        pthread_mutex_unlock(&f->volume->store->lock);
    }
} coir_end

void coir_volume_describe(const struct coir_volume *v, struct coir_volume_facts *out)
{
    *out = v->facts;
}

/* ---- bytes ---- */

static struct block **find(struct coir_volume *v, uint64_t number)
{
    struct block **link = &v->buckets[(number * UINT64_C(0x9e3779b97f4a7c15)) >> 48];

    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

/* NULL without memory. */
static struct block *make(struct coir_volume *v, uint64_t number)
{
    struct block **link = find(v, number);

    if (!*link) {
        *link = calloc(1, sizeof **link);
        if (*link)
            (*link)->number = number;
    }
    return *link;
}

/* The block at `at`, and which bytes of it belong to a range that ends at `end`. */
struct part {
    uint64_t number;
    uint32_t from, n;
};

static struct part part_at(uint64_t at, uint64_t end)
{
    const uint32_t from = (uint32_t)(at % BLOCK), room = BLOCK - from;

    return (struct part){ at / BLOCK, from, end - at < room ? (uint32_t)(end - at) : room };
}

static int check(struct coir_volume *v, uint64_t offset, uint64_t length)
{
    if (offset <= v->facts.size && length <= v->facts.size - offset)
        return 0;
    LOCKED(v->store, v->store->counts.invalid++);
    return -EINVAL;
}

static size_t length_of(const struct iovec *iov, unsigned n)
{
    size_t sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

static void copy_out(struct coir_volume *v, uint8_t *to, uint64_t at, size_t len)
{
    for (const uint64_t end = at + len; at < end;) {
        const struct part p = part_at(at, end);
        const struct block *b = *find(v, p.number);

        if (b)
            memcpy(to, b->data + p.from, p.n);
        else
            memset(to, 0, p.n);
        to += p.n;
        at += p.n;
    }
}

static int copy_in(struct coir_volume *v, const uint8_t *from, uint64_t at, size_t len)
{
    for (const uint64_t end = at + len; at < end;) {
        const struct part p = part_at(at, end);
        struct block *b = make(v, p.number);

        if (!b)
            return -ENOMEM;
        memcpy(b->data + p.from, from, p.n);
        from += p.n;
        at += p.n;
    }
    return 0;
}

static int zero(struct coir_volume *v, uint64_t at, uint64_t len, bool drop, bool edges)
{
    for (const uint64_t end = at + len; at < end;) {
        const struct part p = part_at(at, end);
        struct block **link = find(v, p.number);

        if (p.n == BLOCK && drop) {
            if (*link)
                drop_block(link);
        } else if (!drop || (edges && *link)) {
            struct block *b = make(v, p.number);
            if (!b)
                return -ENOMEM;
            memset(b->data + p.from, 0, p.n);
        }
        at += p.n;
    }
    return 0;
}

coir_body(coir_volume_read, f) {
    f->task.status = check(f->volume, f->offset, length_of(f->iov, f->n));
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_READ);
    pthread_mutex_lock(&f->volume->store->lock);
    for (unsigned i = 0; i < f->n; i++) {
        copy_out(f->volume, f->iov[i].iov_base, f->offset, f->iov[i].iov_len);
        f->offset += f->iov[i].iov_len;
        f->volume->store->counts.read += f->iov[i].iov_len;
    }
    pthread_mutex_unlock(&f->volume->store->lock);
} coir_end

coir_body(coir_volume_write, f) {
    f->task.status = check(f->volume, f->offset, length_of(f->iov, f->n));
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_WRITE, .flags = f->flags);
    if (f->volume->facts.read_only)
        coir_fail(f, EROFS);
    pthread_mutex_lock(&f->volume->store->lock);
    for (unsigned i = 0; i < f->n && f->task.status == 0; i++) {
        f->task.status = copy_in(f->volume, f->iov[i].iov_base, f->offset, f->iov[i].iov_len);
        f->offset += f->iov[i].iov_len;
        f->volume->store->counts.written += f->iov[i].iov_len;
    }
    pthread_mutex_unlock(&f->volume->store->lock);
} coir_end

coir_body(coir_volume_unmap, f) {
    f->task.status = check(f->volume, f->offset, f->length);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_UNMAP, .flags = f->flags);
    LOCKED(f->volume->store, f->task.status = zero(f->volume, f->offset, f->length, true, false));
} coir_end

/* Zeros that take their space are no faster than writing them. */
coir_body(coir_volume_write_zeroes, f) {
    f->task.status = check(f->volume, f->offset, f->length);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_ZEROES, .flags = f->flags);
    if ((f->flags & COIR_VOLUME_NO_HOLE) && (f->flags & COIR_VOLUME_FAST))
        coir_fail(f, EOPNOTSUPP);
    LOCKED(f->volume->store,
           f->task.status = zero(f->volume, f->offset, f->length, !(f->flags & COIR_VOLUME_NO_HOLE), true));
} coir_end

coir_body(coir_volume_flush, f) {
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_FLUSH);
} coir_end

/* Pieces of like blocks, as far as `n` goes. */
static unsigned look(struct coir_volume *v, uint64_t at, uint64_t len, struct coir_volume_piece *pieces, unsigned n)
{
    unsigned found = 0;

    for (const uint64_t end = at + len; at < end;) {
        const struct part p = part_at(at, end);
        const bool hole = !*find(v, p.number);

        if (found == 0 || pieces[found - 1].hole != hole) {
            if (found == n)
                break;
            pieces[found++] = (struct coir_volume_piece){ .hole = hole };
        }
        pieces[found - 1].length += p.n;
        at += p.n;
    }
    return found;
}

coir_body(coir_volume_status, f) {
    f->task.status = check(f->volume, f->offset, f->length);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, PAUSE(f), pause, .store = f->volume->store, .op = RAM_STATUS);
    LOCKED(f->volume->store, f->result = look(f->volume, f->offset, f->length, f->pieces, f->n));
} coir_end
