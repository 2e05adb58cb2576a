/* SPDX-License-Identifier: MIT */
/*
 * The crash matrix of the whole engine. Four tasks write, unmap and flush, each in blocks of its own, while checkpoints
 * and the catalog's changes go on. The power is cut at every event of that; each cut is opened, and every block has to
 * hold a version that was written to it, not older than the last one that was acknowledged as durable. Then the
 * opening is cut too, and so is what is written after it.
 *
 * A version is a number that the content is made of; 0 is what a hole reads as. What was issued, and what was
 * acknowledged as durable, is a history with the number of the event at which it happened.
 */
#ifndef COIR_TESTS_VOLUME_CRASH_H
#define COIR_TESTS_VOLUME_CRASH_H

#include "engine.h"


enum {
    TASKS = 4, OWN = 8, LBAS = TASKS * OWN, BLOCKS = 8192, MOST = 1 << 16, BLOCK = 4096,
    PIECES = 6, PIECE = 256,            /* behind them: a task writes pieces of 1 MiB, for which the file has to grow */
    ALL = LBAS + PIECES,                /* of a piece the first block is looked at */
};

static uint64_t offset_of(unsigned lba)
{
    return (lba < LBAS ? lba : LBAS + (lba - LBAS) * PIECE) * (uint64_t)BLOCK;
}

/* ---- what has happened ---- */

enum what { ISSUED, DURABLE };

struct entry {
    size_t event;
    enum what what;
    unsigned lba;
    uint32_t version;                   /* the lowest bit: it is a hole */
};

struct history {
    struct entry entry[MOST];
    unsigned n;
    uint32_t acked[ALL];                /* the last version that was acknowledged */
};

static void note(struct history *h, const struct sim *w, enum what what, unsigned lba, uint32_t version)
{
    if (h->n == MOST)
        abort();
    h->entry[h->n++] = (struct entry){ sim_events(w), what, lba, version };
}

static void make_content(unsigned char *p, unsigned lba, uint32_t version)
{
    uint64_t state = (uint64_t)lba << 32 | version;

    for (size_t i = 0; i < BLOCK; i += 8) {
        const uint64_t x = sim_random(&state);
        memcpy(p + i, &x, 8);
    }
    memcpy(p, &version, 4);
}

/* The version that a block holds; UINT32_MAX for what nobody wrote. */
static uint32_t version_of(const unsigned char *p, unsigned lba)
{
    unsigned char whole[BLOCK];
    uint32_t version;

    memcpy(&version, p, 4);
    if (version == 0)
        memset(whole, 0, BLOCK);
    else
        make_content(whole, lba, version);
    return memcmp(p, whole, BLOCK) ? UINT32_MAX : version;
}

/* Whether a block may hold this version after a cut at `event`. A hole's version is not seen, it reads as 0. */
static bool may_hold(const struct history *h, size_t event, unsigned lba, uint32_t version)
{
    uint32_t floor = 0;

    for (unsigned i = 0; i < h->n; i++) {
        const struct entry *e = &h->entry[i];
        if (e->event <= event && e->lba == lba && e->what == DURABLE && e->version > floor)
            floor = e->version;
    }
    if (version == 0 && (floor == 0 || (floor & 1)))
        return true;
    for (unsigned i = 0; i < h->n; i++) {
        const struct entry *e = &h->entry[i];
        if (e->event > event || e->lba != lba || e->what != ISSUED || e->version < floor)
            continue;
        if (e->version == version || (version == 0 && (e->version & 1)))
            return true;
    }
    return false;
}

/* ---- the workload ---- */

struct writer {
    coir_frame_void;
    coir_args(struct engine *e; struct coir_volume *v; struct history *h; unsigned who; unsigned rounds;
              uint64_t random; uint32_t *next;);
    unsigned round, first, count, kind;
    uint32_t version[OWN], asked[ALL];
    struct iovec iov;
    unsigned char bytes[OWN * BLOCK];
    union {
        struct coir_volume_write write;
        struct coir_volume_unmap unmap;
        struct coir_volume_flush flush;
        struct coir_store_checkpoint checkpoint;
    };
};
static coir_declare(writer);

/* New versions for the blocks of this round; `hole`: they will be unmapped. */
static void issue(struct writer *f, bool hole)
{
    for (unsigned i = 0; i < f->count; i++) {
        const unsigned lba = f->who * OWN + f->first + i;
        f->version[i] = (*f->next += 2) | hole;
        note(f->h, f->e->w, ISSUED, lba, f->version[i]);
        if (!hole)
            make_content(f->bytes + i * BLOCK, lba, f->version[i]);
    }
}

static void acknowledged(struct writer *f, bool durable)
{
    for (unsigned i = 0; i < f->count; i++) {
        const unsigned lba = f->who * OWN + f->first + i;
        f->h->acked[lba] = f->version[i];
        if (durable)
            note(f->h, f->e->w, DURABLE, lba, f->version[i]);
    }
}

coir_body(writer, f) {
    for (f->round = 0; f->round < f->rounds; f->round++) {
        f->first = (unsigned)sim_below(&f->random, OWN);
        f->count = 1 + (unsigned)sim_below(&f->random, OWN - f->first);
        f->kind = (unsigned)sim_below(&f->random, 16);
        if (f->kind < 10) {             /* two of ten durable */
            issue(f, false);
            f->iov = (struct iovec){ f->bytes, f->count * BLOCK };
            coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1,
                     .offset = (uint64_t)(f->who * OWN + f->first) * BLOCK,
                     .flags = f->kind < 2 ? COIR_VOLUME_DURABLE : 0);
            acknowledged(f, f->kind < 2);
        } else if (f->kind < 12) {
            issue(f, true);
            coir_try(f, &f->unmap, coir_volume_unmap, .volume = f->v,
                     .offset = (uint64_t)(f->who * OWN + f->first) * BLOCK, .length = f->count * BLOCK,
                     .flags = f->kind == 10 ? COIR_VOLUME_DURABLE : 0);
            acknowledged(f, f->kind == 10);
        } else if (f->kind < 15) {
            memcpy(f->asked, f->h->acked, sizeof f->asked);
            coir_try(f, &f->flush, coir_volume_flush, .volume = f->v);
            for (unsigned i = 0; i < ALL; i++)
                note(f->h, f->e->w, DURABLE, i, f->asked[i]);
        } else {
            coir_try(f, &f->checkpoint, coir_store_checkpoint, .store = f->e->store);
        }
    }
} coir_end

struct grower {
    coir_frame_void;
    coir_args(struct engine *e; struct coir_volume *v; struct history *h; unsigned pieces; uint32_t *next;);
    unsigned i;
    uint32_t version;
    struct iovec iov;
    unsigned char *bytes;
    struct coir_volume_write write;
};
static coir_declare(grower);

coir_body(grower, f) {
    f->bytes = calloc(PIECE, BLOCK);
    for (f->i = 0; f->i < f->pieces; f->i++) {
        f->version = *f->next += 2;
        note(f->h, f->e->w, ISSUED, LBAS + f->i, f->version);
        make_content(f->bytes, LBAS + f->i, f->version);
        f->iov = (struct iovec){ f->bytes, PIECE * BLOCK };
        coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1,
                 .offset = offset_of(LBAS + f->i), .flags = COIR_VOLUME_DURABLE);
        note(f->h, f->e->w, DURABLE, LBAS + f->i, f->version);
        f->h->acked[LBAS + f->i] = f->version;
    }
    coir_finally(f) {
        free(f->bytes);
    }
} coir_end

struct workload {
    coir_frame_void;
    coir_args(struct engine *e; struct history *h; uint64_t seed; unsigned rounds; uint32_t *next; bool fresh;);
    struct coir_volume *v;
    struct coir_task *kids[TASKS + 1];
    struct coir_combine all;
    struct writer writer[TASKS];
    struct grower grower;
    union {
        struct engine_make make;
        struct engine_open open;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct coir_volume_close leave;
        struct engine_close close;
    };
};
static coir_declare(workload);

coir_body(workload, f) {
    f->v = NULL;
    if (f->fresh)
        coir_try(f, &f->make, engine_make, .e = f->e, .blocks = BLOCKS);
    coir_try(f, &f->open, engine_open, .e = f->e);
    if (f->fresh)
        coir_try(f, &f->create, coir_volume_create, .store = f->e->store, .name = "v",
                 .size = offset_of(ALL));
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    for (unsigned i = 0; i < TASKS; i++)
        f->kids[i] = coir_make(&f->writer[i], writer, .e = f->e, .v = f->v, .h = f->h, .who = i, .rounds = f->rounds,
                               .random = f->seed * 977 + i, .next = f->next);
    f->kids[TASKS] = coir_make(&f->grower, grower, .e = f->e, .v = f->v, .h = f->h,
                               .pieces = f->rounds ? PIECES : 0, .next = f->next);
    coir_all(f, &f->all, f->kids, TASKS + 1);
    coir_check(f, &f->all);
    coir_finally(f) {
        if (f->v)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->v);
        if (f->e->store)
            coir_await(f, &f->close, engine_close, .e = f->e);
    }
} coir_end

/* ---- after a cut ---- */

/* What a block holds that cannot be read; with `damaged` that is no failure, nor is a store that opens read-only. */
enum { REFUSED = 0xFFFFFFFEu };

struct inspect {
    coir_frame_void;
    coir_args(struct engine *e; uint32_t *holds; bool *has_volume; bool damaged;);
    struct coir_volume *v;
    unsigned i;
    struct iovec iov;
    unsigned char bytes[BLOCK];
    union {
        struct engine_open open;
        struct coir_volume_open volume;
        struct coir_volume_read read;
        struct coir_volume_close leave;
        struct engine_close close;
    };
};
static coir_declare(inspect);

coir_body(inspect, f) {
    f->v = NULL;
    coir_try(f, &f->open, engine_open, .e = f->e);
    if (coir_store_why(f->e->store) && !f->damaged)
        coir_fail(f, -EBADMSG);
    coir_await(f, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    *f->has_volume = coir_status(&f->volume) == 0;
    if (coir_status(&f->volume) == -ENOENT)
        coir_return(f);
    coir_check(f, &f->volume);
    f->v = f->volume.result;
    for (f->i = 0; f->i < ALL; f->i++) {
        f->iov = (struct iovec){ f->bytes, BLOCK };
        coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1,
                   .offset = offset_of(f->i));
        if (!f->damaged)
            coir_check(f, &f->read);
        f->holds[f->i] = coir_status(&f->read) ? REFUSED : version_of(f->bytes, f->i);
    }
    coir_finally(f) {
        if (f->v)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->v);
        if (f->e->store)
            coir_await(f, &f->close, engine_close, .e = f->e);
    }
} coir_end

struct matrix {
    uint64_t seed;
    unsigned devices;
    struct history history;
    size_t made, created;               /* events until there is a store, and a volume */
    unsigned cuts, wrong, replayed;     /* the last: openings that found something in the journal */
    bool quiet;
};

/* What is wrong with a world after a cut at `event` of the history; "" when nothing is. `after` is what it was turned
 * into, by opening it. */
static const char *look(struct matrix *m, struct sim *after, size_t event)
{
    static char text[6000];
    struct engine *e = engine_new(after, m->devices);
    uint32_t holds[ALL];
    bool has_volume = false;
    int run;

    text[0] = '\0';
    run = coir_run(NULL, coir_new(inspect, .e = e, .holds = holds, .has_volume = &has_volume));
    if (event >= m->made && run)
        snprintf(text, sizeof text, "it cannot be opened: %d, %s; %s", run, e->complaint.text, e->log);
    else if (event >= m->created && !has_volume)
        snprintf(text, sizeof text, "the volume is gone");
    for (unsigned i = 0; !text[0] && has_volume && i < ALL; i++) {
        if (!may_hold(&m->history, event, i, holds[i]))
            snprintf(text, sizeof text, "block %u holds version %u; %s", i, holds[i], e->log);
    }
    m->replayed += strstr(e->log, "replayed") != NULL;
    free(e);
    return text;
}

static void report(struct matrix *m, size_t event, enum sim_keep keep, const char *more, const char *what)
{
    if (m->wrong++ < 5 && !m->quiet)
        NOTE("seed %llu, cut at event %zu (%s)%s: %s", (unsigned long long)m->seed, event, sim_keep_name(keep), more,
             what);
}

/* Cuts at one event, looks, and cuts what the looking did. */
TAP_UNUSED static void cut(struct matrix *m, struct sim *w, size_t event, enum sim_keep keep, uint64_t *random)
{
    struct sim *after = sim_cut(w, event, keep, sim_random(random)), *again;
    const char *what = look(m, after, event);
    size_t events;

    m->cuts++;
    if (what[0])
        report(m, event, keep, "", what);
    events = sim_events(after);
    if (events > 0) {
        const size_t at = (size_t)sim_below(random, events);
        const enum sim_keep then = (enum sim_keep)sim_below(random, SIM_KEEPS);
        again = sim_cut(after, at, then, sim_random(random));
        what = look(m, again, event);
        m->cuts++;
        if (what[0])
            report(m, event, keep, ", then while it was opened", what);
        sim_free(again);
    }
    sim_free(after);
}

/* A seed's matrix: cuts at every event, each in `keeps` ways. Odd seeds have one device, even ones two. Value: how many
 * cuts left what must not be; without `quiet` the first of them are described. */
TAP_UNUSED static unsigned run_matrix(uint64_t seed, unsigned rounds, unsigned keeps, bool quiet)
{
    struct matrix *m = calloc(1, sizeof *m);
    struct sim *w = sim_new(seed, 200 * COIR_US);
    struct engine *e;
    uint64_t random = seed;
    uint32_t next = 0;
    unsigned wrong;

    m->seed = seed;
    m->quiet = quiet;
    m->devices = seed % 2 ? 1 : 2;
    for (unsigned i = 0; i < m->devices; i++)
        sim_add(w, 0, BLOCK);
    e = engine_new(w, m->devices);
    EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = seed, .rounds = 0, .next = &next,
                               .fresh = true)), 0, "seed %llu: a store is made", (unsigned long long)seed);
    m->made = m->created = sim_events(w);
    EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = seed, .rounds = rounds, .next = &next)), 0,
       "seed %llu: the workload", (unsigned long long)seed);
    if (e->complaint.status || e->logged)
        NOTE("%s %s", e->complaint.text, e->log);
    for (size_t event = 0; event <= sim_events(w); event++) {
        for (unsigned k = 0; k < keeps; k++)
            cut(m, w, event, (enum sim_keep)((event + k) % SIM_KEEPS), &random);
    }
    NOTE("seed %llu: %zu events, %u cuts", (unsigned long long)seed, sim_events(w), m->cuts);
    wrong = m->wrong;
    free(e);
    free(m);
    sim_free(w);
    return wrong;
}

#endif
