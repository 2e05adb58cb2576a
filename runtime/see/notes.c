/* SPDX-License-Identifier: MIT */
/*
 * What runtime/task/note.h declares: from what happens on a shard to records, for those who look. Everything here runs
 * on the shard's thread, in the middle of what it tells of.
 *
 * Between the steps of one turn the clock is read once: a step begins when the last one ended.
 */
#include <stdlib.h>
#include <string.h>

#include <coir/io.h>

#include "runtime/base/clock.h"
#include "runtime/see/recorder.h"
#include "runtime/see/trace.h"
#include "runtime/shard/run.h"

enum { RECORD_DEBUG = 1000, RECORD_MOST = 1 << 20, HOPS = 64, READY_MOST = 1024 };

struct coir_notes {
    struct coir_recorder *recorder;      /* either may be NULL */
    struct coir_track *track;
    int64_t now;                         /* when the last step of this turn ended; 0: it is the first one */
    uint32_t task;                       /* the spawned task that runs, as its number; 0: none */
    uint32_t numbers;                    /* given so far, in 24 bits */
    bool in_step, in_letter;             /* whoever is queued now is queued by that */
    struct coir_record counts;           /* the last that were put */
};

static size_t record_size;               /* of the run: written before its shards begin */
static bool traced;                      /* the same */

static int64_t now_of(const struct coir_shard *s)
{
    return s->virtual_now >= 0 ? s->virtual_now : coir_clock_monotonic();
}

static void put_at(struct coir_shard *s, struct coir_record r)
{
    const struct coir_notes *n = s->notes;

    r.task = r.task ? r.task : n->task;
    if (n->recorder)
        coir_recorder_put(n->recorder, &r);
    if (n->track)
        coir_track_put(n->track, &r);
}

static void put(struct coir_shard *s, struct coir_record r)
{
    r.at = now_of(s);
    put_at(s, r);
}

/* ---- tasks ---- */

/* Where a task stands: an operation has no place of its own. */
static const struct coir_site *place_of(const struct coir_task *t)
{
    return t->site || !t->awaiter ? t->site : t->awaiter->site;
}

/* The number of the spawned task that `t` is a part of; 0: it is too far above, or on another shard. */
static uint32_t number_of(const struct coir_task *t)
{
    for (int i = 0; t->awaiter && i < HOPS; i++)
        t = t->awaiter;
    return !t->awaiter && (t->flags & COIR_TASK_HEAP_) ? coir_birth_of((struct coir_task *)(uintptr_t)t)->number : 0;
}

void coir_noted_spawn(struct coir_shard *s, struct coir_task *t)
{
    struct coir_notes *n = s->notes;
    struct coir_birth *b = coir_birth_of(t);
    const struct coir_group *g = b->group;

    n->numbers = (n->numbers + 1) & 0xffffff;
    n->numbers += n->numbers == 0;
    b->number = n->numbers;
    put(s, (struct coir_record){ .what = COIR_RECORD_SPAWN, .site = b->site, .task = b->number,
                                 .value = (int32_t)n->task,
                                 .name = g->opener && g->opener->site ? g->opener->site->task : NULL });
}

void coir_noted_end(struct coir_shard *s, const struct coir_birth *b)
{
    put(s, (struct coir_record){ .what = COIR_RECORD_END, .site = b->site, .task = b->number,
                                 .value = ((const struct coir_task *)(b + 1))->status });
}

/* So many, or as many as are worth counting. */
static int count_ready(const struct coir_shard *s)
{
    int n = 0;

    for (const struct coir_task *t = s->running; t && n < READY_MOST; t = t->next)
        n++;
    for (const struct coir_task *t = s->ready; t && n < READY_MOST; t = t->next)
        n++;
    return n;
}

static void put_counts(struct coir_shard *s, int ready, uint64_t tasks, uint64_t operations)
{
    const struct coir_record r = { .what = COIR_RECORD_COUNTS, .at = now_of(s), .value = ready,
                                   .object = tasks << 32 | operations };
    struct coir_notes *n = s->notes;

    if (r.value == n->counts.value && r.object == n->counts.object)
        return;
    n->counts = r;
    coir_track_put(n->track, &r);
}

void coir_noted_turn(struct coir_shard *s)
{
    s->notes->now = 0;
    s->notes->in_letter = false;
    if (s->notes->track)
        put_counts(s, count_ready(s), s->stats.tasks - s->stats.ended, s->plane->in_flight);
}

void coir_noted_step(struct coir_shard *s, const struct coir_task *leaf)
{
    struct coir_notes *n = s->notes;

    n->task = number_of(leaf);
    n->in_step = true;
    put_at(s, (struct coir_record){ .what = COIR_RECORD_STEP, .at = n->now ? n->now : now_of(s), .site = place_of(leaf),
                                    .object = (uintptr_t)leaf });
}

void coir_noted_step_end(struct coir_shard *s, const struct coir_task *t)
{
    struct coir_notes *n = s->notes;

    /* Down to where it stands: what is below has parked, or is queued, and so stays. */
    for (int i = 0; t && t->awaiting && t->awaiting->site && i < HOPS; i++)
        t = t->awaiting;
    n->now = now_of(s);
    put_at(s, (struct coir_record){ .what = COIR_RECORD_PARK, .at = n->now, .site = t ? place_of(t) : NULL });
    n->task = 0;
    n->in_step = false;
}

void coir_noted_ready(struct coir_shard *s, const struct coir_task *t)
{
    const struct coir_notes *n = s->notes;
    const struct coir_record r = { .what = COIR_RECORD_READY, .at = now_of(s), .object = (uintptr_t)t };

    if (n->track && (n->in_step || n->in_letter))
        coir_track_put(n->track, &r);
}

void coir_noted_cancel(struct coir_shard *s, const struct coir_scope *c)
{
    struct coir_record r = { .what = COIR_RECORD_CANCEL };
    const struct coir_task *owner = NULL;

    if (c->kind == COIR_SCOPE_GROUP_) {
        const struct coir_group *g = coir_container_of(c, const struct coir_group, scope);
        if (!g->opener && !g->live)          /* so every run ends */
            return;
        owner = g->opener;
        r.how = COIR_CANCELLED_GROUP;
    } else if (c->kind == COIR_SCOPE_COMBINE_) {
        owner = coir_container_of(c, const struct coir_combine, scope)->task.awaiter;
        r.how = COIR_CANCELLED_COMBINE;
    } else {
        owner = c->owner->awaiter ? c->owner->awaiter : c->owner;
        r.how = c->expired ? COIR_CANCELLED_BY_DEADLINE : COIR_CANCELLED_AWAIT;
    }
    r.site = owner ? owner->site : NULL;
    put(s, r);
}

/* ---- operations ---- */

/* A coir_close is under no descriptor, as it has to do with all that is. */
static int descriptor_of(const struct coir_io *io)
{
    return io->task->body == coir_close_resume ? ((const struct coir_close *)io->task)->fd : io->fd;
}

static void put_io(struct coir_shard *s, const struct coir_io *io, uint16_t what, int value)
{
    put(s, (struct coir_record){ .what = what, .site = place_of(io->task), .name = io->kind->name,
                                 .object = (uintptr_t)io, .task = number_of(io->task), .value = value,
                                 .how = io->state == COIR_IO_HELD });
}

void coir_noted_io(struct coir_shard *s, const struct coir_io *io)
{
    put_io(s, io, COIR_RECORD_IO, descriptor_of(io));
}

void coir_noted_io_end(struct coir_shard *s, const struct coir_io *io)
{
    put_io(s, io, COIR_RECORD_IO_END, io->res);
}

static void put_offload(struct coir_shard *s, const struct coir_task *t, uint16_t what, int value)
{
    put(s, (struct coir_record){ .what = what, .site = place_of(t), .name = "coir_offload", .object = (uintptr_t)t,
                                 .task = number_of(t), .value = value, .how = 1 });
}

void coir_noted_offload(struct coir_shard *s, const struct coir_task *t)
{
    put_offload(s, t, COIR_RECORD_IO, -1);
}

void coir_noted_offload_end(struct coir_shard *s, const struct coir_task *t)
{
    put_offload(s, t, COIR_RECORD_IO_END, t->status);
}

/* ---- the loop ---- */

void coir_noted_sleep(struct coir_shard *s)
{
    put(s, (struct coir_record){ .what = COIR_RECORD_SLEEP });
}

void coir_noted_awake(struct coir_shard *s)
{
    put(s, (struct coir_record){ .what = COIR_RECORD_AWAKE });
}

void coir_noted_post(struct coir_shard *s, const struct coir_shard *to, const struct coir_letter *letter)
{
    put(s, (struct coir_record){ .what = COIR_RECORD_POST, .object = (uintptr_t)letter, .value = (int32_t)to->id });
}

void coir_noted_letter(struct coir_shard *s, const struct coir_letter *letter)
{
    s->notes->in_letter = true;
    put(s, (struct coir_record){ .what = COIR_RECORD_LETTER, .object = (uintptr_t)letter });
}

/* ---- a run, a shard ---- */

/* COIR_RECORD, or what is usual: a debug program records. */
static size_t wanted_size(const struct coir_runtime *run)
{
    const char *text = getenv("COIR_RECORD");
    char *end;
    unsigned long n;

    if (!text || !*text)
        return run->debug ? RECORD_DEBUG : 0;
    n = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && n <= RECORD_MOST)
        return n;
    fprintf(stderr, "coir: COIR_RECORD is a number of events, 0 to %d; nothing is recorded\n", RECORD_MOST);
    return 0;
}

void coir_notes_open(struct coir_runtime *run)
{
    record_size = wanted_size(run);
    traced = coir_trace_open();
}

void coir_notes_close(void)
{
    if (traced)
        coir_trace_close();
    traced = false;
}

/* NULL: no memory. */
static struct coir_notes *new_notes(const struct coir_shard *s)
{
    struct coir_notes *n = coir_alloc_fails() ? NULL : calloc(1, sizeof *n);

    if (n && record_size)
        n->recorder = coir_recorder_get(s->id, record_size);
    if (n && traced)
        n->track = coir_trace_track(s->id);
    if (n && (n->recorder || !record_size) && (n->track || !traced))
        return n;
    free(n);                                 /* who keeps a ring or a track of it sees it empty */
    return NULL;
}

void coir_notes_begin(struct coir_shard *s)
{
    if (s->id == 0) {                        /* before all others */
        coir_recorder_epoch(now_of(s), s->virtual_now >= 0);
        if (traced)
            coir_trace_epoch(now_of(s), s->virtual_now >= 0);
    }
    if (!record_size && !traced)
        return;
    s->notes = new_notes(s);
    s->noted = s->notes;
    if (!s->notes)
        fprintf(stderr, "coir: no memory to keep the events of shard %u\n", s->id);
}

void coir_notes_end(struct coir_shard *s)
{
    if (s->notes && s->notes->track)
        put_counts(s, 0, 0, 0);
    free(s->notes);
    s->notes = NULL;
    s->noted = false;
}

/* ---- over a fork ---- */

void coir_notes_hold(void)
{
    coir_trace_hold();
}

void coir_notes_let_go(void)
{
    coir_trace_let_go();
}

void coir_notes_forget(void)
{
    coir_trace_forget();
    traced = false;
}
