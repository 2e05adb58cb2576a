/* SPDX-License-Identifier: MIT */
/*
 * The medium lies, or rots. Whatever it does, a block is read as what was written to it, or not at all, and nothing
 * stops the program.
 *
 *   lies     the n-th write of a workload is lost, lands elsewhere, or only in part, for every n
 *   at rest  each block that is not zero, in turn: a bit is flipped, another block is there, it cannot be read
 */
#include "crash.h"

static struct matrix *run_workload(struct sim **w, struct engine **e, enum sim_lie lie, uint64_t n)
{
    struct matrix *m = calloc(1, sizeof *m);
    uint32_t next = 0;

    m->devices = 1;
    *w = sim_new(5, 200 * COIR_US);
    sim_add(*w, 0, BLOCK);
    *e = engine_new(*w, 1);
    coir_run(NULL, coir_new(workload, .e = *e, .h = &m->history, .seed = 5, .rounds = 0, .next = &next, .fresh = true));
    if (n > 0)
        sim_lie(*w, n, lie);
    coir_run(NULL, coir_new(workload, .e = *e, .h = &m->history, .seed = 5, .rounds = 8, .next = &next));
    return m;
}

static bool was_issued(const struct history *h, unsigned lba, uint32_t version)
{
    if (version == 0)                   /* before the first write, or a hole */
        return true;
    for (unsigned i = 0; i < h->n; i++) {
        if (h->entry[i].what == ISSUED && h->entry[i].lba == lba && h->entry[i].version == version)
            return true;
    }
    return false;
}

/* Opens what is left and reads all. `exact`: each block is its last version, or refused. Value: blocks that are wrong;
 * the store may be refused as a whole. */
static unsigned read_all(struct matrix *m, struct sim *w, bool exact, unsigned *refused)
{
    struct engine *e = engine_new(w, 1);
    uint32_t holds[ALL];
    bool has_volume = false;
    unsigned wrong = 0;

    coir_run(NULL, coir_new(inspect, .e = e, .holds = holds, .has_volume = &has_volume, .damaged = true));
    *refused += !has_volume;
    for (unsigned i = 0; has_volume && i < ALL; i++) {
        const uint32_t last = m->history.acked[i], is = last & 1 ? 0 : last;
        *refused += holds[i] == REFUSED;
        wrong += holds[i] != REFUSED && (exact ? holds[i] != is : !was_issued(&m->history, i, holds[i]));
    }
    free(e);
    return wrong;
}

static void check_lies(enum sim_lie lie, const char *name)
{
    unsigned wrong = 0, refused = 0;
    uint64_t n = 0;
    bool told;

    do {
        struct engine *e;
        struct sim *w, *after;
        struct matrix *const m = run_workload(&w, &e, lie, ++n);
        told = sim_has_failed(w);
        after = sim_cut(w, sim_events(w), SIM_EVERYTHING, 1);
        wrong += read_all(m, after, false, &refused);
        sim_free(after);
        sim_free(w);
        free(e);
        free(m);
    } while (told);
    EQ(wrong, 0, "%s: in none of %llu writes was anything read that was never written", name,
       (unsigned long long)(n - 1));
    OK(n > 20 && refused > 0, "%s: damage was noticed (%u)", name, refused);
}

enum rot { FLIPPED, EXCHANGED, UNREADABLE, ROTS };

static void check_rest(void)
{
    static const char *const names[ROTS] = { "a flipped bit", "another block", "an unreadable block" };
    static unsigned char block[BLOCK];
    struct engine *e;
    struct sim *w;
    struct matrix *const m = run_workload(&w, &e, SIM_LOST, 0);
    unsigned wrong[ROTS] = { 0 }, refused[ROTS] = { 0 }, blocks = 0;

    for (uint64_t at = 0; at < sim_size(w, 0); at += BLOCK) {
        sim_peek(w, 0, at, block, BLOCK);
        if (coir_is_zero(block, BLOCK))
            continue;
        blocks++;
        for (int rot = 0; rot < ROTS; rot++) {
            struct sim *after = sim_cut(w, sim_events(w), SIM_EVERYTHING, 1);
            if (rot == FLIPPED)
                sim_flip(after, 0, at + at / BLOCK * 37 % BLOCK, (unsigned)(at / BLOCK));
            else if (rot == EXCHANGED)
                sim_copy(after, 0, at, at >= 4 * BLOCK ? at - BLOCK : at + BLOCK, BLOCK);
            else
                sim_unreadable(after, 0, at, BLOCK);
            const unsigned found = read_all(m, after, true, &refused[rot]);
            if (found && wrong[rot] == 0)
                NOTE("%s at block %llu: %u wrong", names[rot], (unsigned long long)(at / BLOCK), found);
            wrong[rot] += found;
            sim_free(after);
        }
    }
    for (int rot = 0; rot < ROTS; rot++) {
        EQ(wrong[rot], 0, "%s, in each of %u blocks in turn: all is read as it was written, or not at all", names[rot],
           blocks);
        OK(refused[rot] > 0, "%s: some was not (%u)", names[rot], refused[rot]);
    }
    sim_free(w);
    free(e);
    free(m);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    check_lies(SIM_LOST, "lost");
    check_lies(SIM_ELSEWHERE, "elsewhere");
    check_lies(SIM_PART, "in part");
    check_rest();
    return DONE();
}
