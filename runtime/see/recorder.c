/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder's rings, and how they are read while they are written.
 *
 * Event number i lies in slot i % size, in words that are stored with release order, after `head` has been left at i,
 * and before it becomes i + 1. A reader copies the words with acquire order and looks at `head` again: had it seen a
 * word of event i + size, it would see a head of at least that too. So a copy is good while head < i + size.
 *
 * Reading is async-signal-safe: no lock, no memory, no stdio; a signal may have struck in the middle of a put.
 */
#include "runtime/see/recorder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/see/text.h"
#include "runtime/task/home.h"

struct coir_recorder {
    struct coir_recorder *older;             /* a smaller one that it took the place of: somebody may be reading it */
    size_t size;                             /* a power of two */
    uint64_t head;                           /* atomic: events so far */
    uint64_t from;                           /* atomic: of those, before the run began */
    uint64_t words[][COIR_RECORD_WORDS];     /* atomic */
};

static struct coir_recorder *rings[COIR_MAX_SHARDS];    /* atomic; each written by the thread of its shard */
static int64_t epoch;                        /* atomic */
static bool time_is_virtual;                 /* atomic */

void coir_recorder_epoch(int64_t began, bool virtual_time)
{
    for (unsigned id = 0; id < COIR_MAX_SHARDS; id++) {
        struct coir_recorder *r = rings[id];
        if (r)
            __atomic_store_n(&r->from, r->head, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&epoch, began, __ATOMIC_RELEASE);
    __atomic_store_n(&time_is_virtual, virtual_time, __ATOMIC_RELEASE);
}

/* One more than `n`: while an event is put, the oldest is gone already. */
struct coir_recorder *coir_recorder_get(unsigned id, size_t n)
{
    struct coir_recorder *older = rings[id], *r;
    size_t size = 2;

    while (size < n + 1)
        size *= 2;
    if (older && older->size >= size)
        return older;
    r = coir_alloc_fails() ? NULL : calloc(1, sizeof *r + size * sizeof *r->words);
    if (!r)
        return NULL;
    r->older = older;
    r->size = size;
    __atomic_store_n(&rings[id], r, __ATOMIC_RELEASE);
    return r;
}

void coir_recorder_put(struct coir_recorder *r, const struct coir_record *record)
{
    const uint64_t head = r->head;
    uint64_t *to = r->words[head & (r->size - 1)], words[COIR_RECORD_WORDS];

    memcpy(words, record, sizeof words);
    __atomic_store_n(&to[0], words[0], __ATOMIC_RELEASE);    /* not a loop: it is what recording costs */
    __atomic_store_n(&to[1], words[1], __ATOMIC_RELEASE);
    __atomic_store_n(&to[2], words[2], __ATOMIC_RELEASE);
    __atomic_store_n(&to[3], words[3], __ATOMIC_RELEASE);
    __atomic_store_n(&to[4], words[4], __ATOMIC_RELEASE);
    __atomic_store_n(&to[5], words[5], __ATOMIC_RELEASE);
    __atomic_store_n(&r->head, head + 1, __ATOMIC_RELEASE);
}

/* Event `i`; false: it has been overwritten. */
static bool get(const struct coir_recorder *r, uint64_t i, struct coir_record *out)
{
    const uint64_t *from = r->words[i & (r->size - 1)];
    uint64_t words[COIR_RECORD_WORDS];

    for (int w = 0; w < COIR_RECORD_WORDS; w++)
        words[w] = __atomic_load_n(&from[w], __ATOMIC_ACQUIRE);
    memcpy(out, words, sizeof words);
    return __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) < i + r->size;
}

/* ---- printing ---- */

static void put_time(struct coir_text *t, int64_t at)
{
    const int64_t began = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
    const uint64_t us = at > began ? (uint64_t)(at - began) / 1000 : 0;

    coir_text_padded(t, us / 1000000, 4, ' ');
    coir_text_char(t, '.');
    coir_text_padded(t, us % 1000000, 6, '0');
}

static void put_number(struct coir_text *t, uint32_t number)
{
    coir_text_char(t, '#');
    coir_text_unsigned(t, number);
}

/* task #7 at file:line */
static void put_place(struct coir_text *t, const struct coir_record *r)
{
    coir_text_str(t, r->site ? r->site->task : "a task");
    if (r->task) {
        coir_text_char(t, ' ');
        put_number(t, r->task);
    }
    if (!r->site)
        return;
    coir_text_str(t, " at ");
    coir_text_str(t, r->site->file);
    coir_text_char(t, ':');
    coir_text_unsigned(t, r->site->line);
}

static void put_io(struct coir_text *t, const struct coir_record *r)
{
    coir_text_str(t, r->name);
    if (r->value >= 0) {
        coir_text_str(t, " on fd ");
        coir_text_signed(t, r->value);
    }
    coir_text_str(t, ", ");
    put_place(t, r);
}

static void put_end(struct coir_text *t, const struct coir_record *r)
{
    if (r->what == COIR_RECORD_IO_END) {
        coir_text_str(t, r->name);
        coir_text_str(t, ": ");
        coir_text_signed(t, r->value);
        coir_text_str(t, ", ");
        put_place(t, r);
        return;
    }
    coir_text_str(t, r->site->task);
    coir_text_char(t, ' ');
    put_number(t, r->task);
    coir_text_str(t, ": ");
    coir_text_signed(t, r->value);
}

static void put_spawn(struct coir_text *t, const struct coir_record *r)
{
    put_place(t, r);
    if (r->value) {
        coir_text_str(t, ", by ");
        put_number(t, (uint32_t)r->value);
    }
    if (r->name) {
        coir_text_str(t, ", into a group of ");
        coir_text_str(t, r->name);
    }
}

static void put_cancel(struct coir_text *t, const struct coir_record *r)
{
    static const char *const how[] = {
        [COIR_CANCELLED_GROUP] = "the group of ",
        [COIR_CANCELLED_AWAIT] = "the await of ",
        [COIR_CANCELLED_COMBINE] = "the children of ",
        [COIR_CANCELLED_BY_DEADLINE] = "by its deadline, the await of ",
    };

    if (!r->site) {
        coir_text_str(t, "everything detached");
        return;
    }
    coir_text_str(t, how[r->how]);
    coir_text_str(t, r->site->task);
    coir_text_str(t, " at ");
    coir_text_str(t, r->site->file);
    coir_text_char(t, ':');
    coir_text_unsigned(t, r->site->line);
    if (r->task) {
        coir_text_str(t, ", by ");
        put_number(t, r->task);
    }
}

static void put_event(struct coir_text *t, const struct coir_record *r)
{
    static const char *const words[] = {
        [COIR_RECORD_SPAWN] = "  spawn   ",
        [COIR_RECORD_END] = "  end     ",
        [COIR_RECORD_STEP] = "  step    ",
        [COIR_RECORD_PARK] = "  park    ",
        [COIR_RECORD_IO] = "  begin   ",
        [COIR_RECORD_IO_END] = "  end     ",
        [COIR_RECORD_CANCEL] = "  cancel  ",
        [COIR_RECORD_SLEEP] = "  sleep",
        [COIR_RECORD_AWAKE] = "  awake",
        [COIR_RECORD_POST] = "  post    to shard ",
        [COIR_RECORD_LETTER] = "  letter",
    };

    put_time(t, r->at);
    coir_text_str(t, r->what == COIR_RECORD_PARK && !r->site ? "  done    "
                   : r->what == COIR_RECORD_IO && r->how ? "  wait    " : words[r->what]);
    switch (r->what) {
    case COIR_RECORD_SPAWN: put_spawn(t, r); break;
    case COIR_RECORD_STEP: put_place(t, r); break;
    case COIR_RECORD_END: case COIR_RECORD_IO_END: put_end(t, r); break;
    case COIR_RECORD_IO: put_io(t, r); break;
    case COIR_RECORD_CANCEL: put_cancel(t, r); break;
    case COIR_RECORD_POST: coir_text_signed(t, r->value); break;
    case COIR_RECORD_PARK:
        if (r->site)
            put_place(t, r);
        else
            put_number(t, r->task);
        break;
    }
}

static void write_out(int fd, struct coir_text *t, const char *buf)
{
    const int before = errno;

    coir_text_char(t, '\n');
    while (buf < t->at) {
        const ssize_t n = write(fd, buf, (size_t)(t->at - buf));
        if (n < 0 && errno != EINTR)
            break;
        buf += n > 0 ? n : 0;
    }
    errno = before;
}

static void write_head(int fd, unsigned id, uint64_t n, uint64_t of)
{
    char line[160];
    struct coir_text t = coir_text_in(line, sizeof line - 1);

    coir_text_str(&t, "shard ");
    coir_text_unsigned(&t, id);
    coir_text_str(&t, ": the last ");
    coir_text_unsigned(&t, n);
    coir_text_str(&t, " of ");
    coir_text_unsigned(&t, of);
    coir_text_str(&t, " events, in seconds of the run");
    if (!__atomic_load_n(&time_is_virtual, __ATOMIC_ACQUIRE)) {
        coir_text_str(&t, ", which is now at");
        put_time(&t, coir_clock_monotonic());
    }
    t.end++;
    write_out(fd, &t, line);
}

static void write_ring(int fd, unsigned id, const struct coir_recorder *r, uint64_t most)
{
    const uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
    const uint64_t of = head - __atomic_load_n(&r->from, __ATOMIC_ACQUIRE);
    uint64_t n = of < most ? of : most;
    struct coir_record record;
    char line[512];

    if (of == 0)
        return;
    n = n < r->size ? n : r->size - 1;
    write_head(fd, id, n, of);
    for (uint64_t i = head - n; i < head; i++) {
        struct coir_text t = coir_text_in(line, sizeof line - 1);
        if (!get(r, i, &record))
            continue;
        put_event(&t, &record);
        t.end++;
        write_out(fd, &t, line);
    }
}

void coir_recorder_write(int fd, unsigned most)
{
    for (unsigned id = 0; id < COIR_MAX_SHARDS; id++) {
        const struct coir_recorder *r = __atomic_load_n(&rings[id], __ATOMIC_ACQUIRE);
        if (r)
            write_ring(fd, id, r, most ? most : UINT64_MAX);
    }
}
