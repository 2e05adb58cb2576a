/* SPDX-License-Identifier: MIT */
/*
 * A store that goes from device to device, each of which writes another number of bytes at once. Its journal is read as
 * it was written, whatever the device is now; what is written from then on is laid out for the largest of them. A power
 * cut at any moment, the first opening on a device included, loses nothing.
 */
#include "crash.h"

enum { KIB = 1024, MIB = 1024 * KIB, HEADERS = 2 };

static const uint64_t header_at[HEADERS] = { COIR_AT_HEADER * (uint64_t)BLOCK, COIR_AT_HEADER2 * (uint64_t)BLOCK };

static uint32_t grain_in(const struct sim *w, unsigned copy)
{
    uint32_t grain;

    sim_peek(w, 0, header_at[copy] + offsetof(struct coir_disk_header, grain), &grain, sizeof grain);
    return grain;
}

/* ---- from device to device ---- */

/* What it holds now is what has to be there, from now on. */
static void begin_history(struct matrix *m, struct sim *w)
{
    struct sim *const copy = sim_cut(w, 0, SIM_EVERYTHING, 1);
    struct engine *const e = engine_new(copy, 1);
    uint32_t holds[ALL];
    bool has_volume = false;

    EQ(coir_run(NULL, coir_new(inspect, .e = e, .holds = holds, .has_volume = &has_volume)), 0, "it can be read: %s %s",
       e->complaint.text, e->log);
    memset(&m->history, 0, sizeof m->history);
    for (unsigned i = 0; has_volume && i < ALL; i++) {
        if (holds[i] == 0)
            continue;
        note(&m->history, w, ISSUED, i, holds[i]);
        note(&m->history, w, DURABLE, i, holds[i]);
    }
    free(e);
    sim_free(copy);
}

/* At each event of the first opening on a device the power goes again. */
static void cut_opening(struct matrix *m, struct sim *opened, size_t event, uint64_t *random)
{
    for (size_t at = 0; at <= sim_events(opened); at++) {
        const enum sim_keep keep = (enum sim_keep)sim_below(random, SIM_KEEPS);
        struct sim *const again = sim_cut(opened, at, keep, sim_random(random));
        const char *const what = look(m, again, event);

        if (what[0])
            report(m, event, keep, ", carried, then while it was opened", what);
        sim_free(again);
    }
}

/* It is in use where it is, and at each of some events the power goes: then it is at once carried to the next device,
 * where its first opening is cut too. */
static void cut_and_carry(struct matrix *m, struct sim *w, uint32_t next_grain, uint64_t *random)
{
    for (size_t event = 0; event <= sim_events(w); event += 5) {
        const enum sim_keep keep = (enum sim_keep)(event / 5 % SIM_KEEPS);
        struct sim *const after = sim_cut(w, event, keep, sim_random(random));
        const char *what;

        sim_move(after, 0, next_grain);
        what = look(m, after, event);
        if (what[0])
            report(m, event, keep, ", then carried", what);
        cut_opening(m, after, event, random);
        sim_free(after);
        m->cuts++;
    }
}

static void travel(void)
{
    static const uint32_t grains[] = { 4 * KIB, 16 * KIB, 4 * KIB, 64 * KIB, 8 * KIB, MIB, 4 * KIB };
    struct matrix *const m = calloc(1, sizeof *m);
    struct sim *w = sim_new(7, 200 * COIR_US);
    uint64_t random = sim_seed(1);
    uint32_t next = 0, largest = 0;
    struct engine *e;

    m->devices = 1;
    m->seed = random;
    sim_add(w, 0, grains[0]);
    e = engine_new(w, 1);
    EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = 7, .rounds = 0, .next = &next,
                               .fresh = true)), 0, "a store on a device of grain %u", grains[0]);
    free(e);
    for (size_t i = 0; i + 1 < sizeof grains / sizeof grains[0]; i++) {
        struct sim *const at_rest = sim_cut(w, sim_events(w), SIM_NOTHING, i);

        sim_free(w);
        w = at_rest;
        sim_move(w, 0, grains[i]);
        begin_history(m, w);
        e = engine_new(w, 1);
        EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = 7 + i, .rounds = 5, .next = &next)), 0,
           "it is in use there: %s", e->log);
        largest = grains[i] > largest ? grains[i] : largest;
        OK(grain_in(w, 0) == largest && grain_in(w, 1) == largest, "its headers say the largest so far: %u, %u",
           grain_in(w, 0), grain_in(w, 1));
        m->wrong = m->cuts = m->replayed = 0;
        cut_and_carry(m, w, grains[i + 1], &random);
        OK(m->replayed > 20, "it was replayed on the next one: %u times", m->replayed);
        EQ(m->wrong, 0, "grain %u to %u: %u cuts, nothing is lost", grains[i], grains[i + 1], m->cuts);
        free(e);
    }
    sim_free(w);
    free(m);
}

/* ---- headers ---- */

static struct sim *made(uint32_t grain, uint64_t journal)
{
    struct sim *const w = sim_new(3, 0);
    struct engine *const e = engine_new(w, 1);

    sim_add(w, 0, grain);
    EQ(coir_run(NULL, coir_new(engine_make, .e = e, .blocks = BLOCKS, .journal = journal)), 0, "a store");
    free(e);
    return w;
}

struct visit {
    coir_frame_void;
    coir_args(struct engine *e;);
    struct engine_open open;
    struct engine_close close;
};
static coir_declare(visit);

coir_body(visit, f) {
    coir_try(f, &f->open, engine_open, .e = f->e);
    coir_await(f, &f->close, engine_close, .e = f->e);
} coir_end

/* Opens and closes a copy, as it is. What it has become. */
static struct sim *visited(struct sim *w, struct engine *said, int want)
{
    struct sim *const after = sim_cut(w, sim_events(w), SIM_EVERYTHING, 1);
    struct engine *const e = engine_new(after, 1);
    const int status = coir_run(NULL, coir_new(visit, .e = e));

    EQ(status, want, "opening it: %s", e->complaint.status ? e->complaint.text : "");
    *said = *e;
    free(e);
    return after;
}

static void headers(uint32_t made_on, uint32_t moved_to)
{
    const uint32_t larger = made_on > moved_to ? made_on : moved_to;
    static struct engine said;

    for (unsigned copy = 0; copy < HEADERS; copy++) {
        struct sim *const w = made(made_on, 0), *whole = sim_cut(w, sim_events(w), SIM_EVERYTHING, 1), *mended, *again;
        unsigned char old[BLOCK];

        sim_peek(whole, 0, header_at[copy], old, BLOCK);
        sim_move(whole, 0, moved_to);
        sim_flip(whole, 0, header_at[copy] + 60, 1);
        mended = visited(whole, &said, 0);
        OK(grain_in(mended, 0) == larger && grain_in(mended, 1) == larger, "header %u, damaged, is written again",
           copy);
        again = visited(mended, &said, 0);
        sim_free(again);
        again = sim_cut(mended, sim_events(mended), SIM_EVERYTHING, 1);
        sim_poke(again, 0, header_at[copy], old, BLOCK);
        sim_move(again, 0, made_on);
        sim_free(mended);
        mended = visited(again, &said, 0);
        OK(grain_in(mended, 0) == larger && grain_in(mended, 1) == larger, "header %u, of an older time, too", copy);
        sim_free(again);
        sim_free(mended);
        sim_free(whole);
        sim_free(w);
    }
}

static void too_large(void)
{
    static struct engine said;
    struct sim *const w = made(4 * KIB, MIB), *whole = sim_cut(w, sim_events(w), SIM_EVERYTHING, 1);

    sim_move(whole, 0, 512 * KIB);
    sim_free(visited(whole, &said, -EINVAL));
    OK(strstr(said.complaint.text, "sim0: it writes 524288 bytes at once, and the store's journal has only 1048576"),
       "four grains must fit into the journal: %s", said.complaint.text);
    sim_move(whole, 0, 256 * KIB);
    sim_free(visited(whole, &said, 0));
    sim_free(whole);
    sim_free(w);
    sim_free(made(512 * KIB, MIB));     /* it was made larger than it was asked for */
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    travel();
    headers(4 * KIB, 16 * KIB);
    headers(16 * KIB, 4 * KIB);
    too_large();
    return DONE();
}
