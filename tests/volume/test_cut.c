/* SPDX-License-Identifier: MIT */
/*
 * Files of a store cut short, at each block and at odd sizes. Below what the superblock says that a file has, the store
 * is not opened, and the file is named. Above it stands what a file had grown by since: of that whatever is gone is
 * refused or said to be lost, all else is read as it was, and nothing is read that was never written.
 */
#include "crash.h"

enum { ODD = 8 };

/* Around a boundary: a block more or less is another boundary. */
static const int odd[ODD] = { 0, 1, -1, 511, 512, -512, 2048, 4095 };

struct world {
    struct matrix *m;
    struct sim *w;                      /* after the power went, at rest */
    size_t event;                       /* of the history, after which it went */
    uint64_t grown[2];                  /* what the superblock says */
    uint64_t step;
};

/* ---- a store in use, which has grown since its last checkpoint ---- */

static void find_grown(struct world *x)
{
    struct coir_disk_super super;

    sim_peek(x->w, 0, COIR_AT_SUPER * (uint64_t)BLOCK, &super, sizeof super);
    for (unsigned i = 0; i < x->m->devices; i++)
        x->grown[i] = super.file[i].grown * BLOCK;
}

/* The last event at which a file is longer than the superblock knows. */
static struct sim *before_checkpoint(struct sim *w, unsigned devices, size_t *at)
{
    for (size_t event = sim_events(w); event > 0; event--) {
        struct sim *const after = sim_cut(w, event, SIM_NOTHING, 1);
        struct coir_disk_super super;

        *at = event;
        sim_peek(after, 0, COIR_AT_SUPER * (uint64_t)BLOCK, &super, sizeof super);
        for (unsigned i = 0; i < devices; i++)
            if (sim_size(after, i) > super.file[i].grown * BLOCK)
                return after;
        sim_free(after);
    }
    return NULL;
}

static void make(struct world *x, unsigned devices)
{
    struct sim *const w = sim_new(9, 200 * COIR_US);
    struct engine *const e = engine_new(w, devices);
    uint32_t next = 0;

    x->m = calloc(1, sizeof *x->m);
    x->m->devices = devices;
    for (unsigned i = 0; i < devices; i++)
        sim_add(w, 0, BLOCK);
    EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &x->m->history, .seed = 9, .rounds = 0, .next = &next,
                               .fresh = true)), 0, "a store in %u files", devices);
    EQ(coir_run(NULL, coir_new(workload, .e = e, .h = &x->m->history, .seed = 9, .rounds = 8, .next = &next)), 0,
       "is in use");
    x->w = before_checkpoint(w, devices, &x->event);
    OK(x->w != NULL, "and has grown");
    find_grown(x);
    free(e);
    sim_free(w);
}

/* ---- cut ---- */

struct tally {
    unsigned short_, whole, less;       /* not opened; opened with all; with less, which was said */
};

/* Whether it is a version that was written there once. */
static bool was_written(const struct history *h, unsigned lba, uint32_t version)
{
    bool is = version == 0;

    for (unsigned i = 0; i < h->n && !is; i++)
        is = h->entry[i].what == ISSUED && h->entry[i].lba == lba && h->entry[i].version == version;
    return is;
}

static bool says_so(const struct engine *e)
{
    return strstr(e->log, "dropped") || strstr(e->log, "read-only from now on") || strstr(e->log, "damaged");
}

/* Opened where a file is not shorter than the superblock says. */
static const char *judge(struct world *x, const struct engine *e, const uint32_t *holds, bool has_volume,
                         struct tally *t)
{
    unsigned less = 0;

    if (!has_volume)
        return "the volume is gone";
    for (unsigned i = 0; i < ALL; i++) {
        if (holds[i] != REFUSED && !was_written(&x->m->history, i, holds[i]))
            return "a block holds what was never written";
        less += holds[i] == REFUSED || !may_hold(&x->m->history, x->event, i, holds[i]);
    }
    t->less += less > 0;
    t->whole += less == 0;
    return less && !says_so(e) ? "durable blocks are gone, and nobody said so" : "";
}

static void cut_to(struct world *x, unsigned device, uint64_t size, struct tally *t)
{
    static const char *const names[] = { "sim0: ", "sim1: " };
    struct sim *const w = sim_cut(x->w, 0, SIM_EVERYTHING, 1);
    struct engine *const e = engine_new(w, x->m->devices);
    const bool is_short = size < x->grown[device];
    const char *what = "";
    uint32_t holds[ALL];
    bool has_volume = false;
    int status;

    sim_shorten(w, device, size);
    status = coir_run(NULL, coir_new(inspect, .e = e, .holds = holds, .has_volume = &has_volume, .damaged = true));
    if (is_short && (status != -ENODATA || !strstr(e->complaint.text, names[device])))
        what = "it is not said that it was cut";
    if (is_short && !strstr(e->complaint.text, size < COIR_HEAD_BYTES ? "first MiB" : "it was cut"))
        what = "it is not said how";
    if (!is_short)
        what = status ? "it is not opened" : judge(x, e, holds, has_volume, t);
    t->short_ += is_short;
    if (what[0] && x->m->wrong++ < 5)
        NOTE("file %u, %llu bytes: %s: %d, %s; %s", device, (unsigned long long)size, what, status, e->complaint.text,
             e->log);
    free(e);
    sim_free(w);
}

/* Near the ends, and near what the superblock says, each size; of every other block one, or of those beyond one of
 * some. */
static bool is_chosen(const struct world *x, unsigned device, uint64_t block, unsigned i, uint64_t end)
{
    const uint64_t grown = x->grown[device] / BLOCK;

    if (block < 2 || block + 2 > end || (block + 2 > grown && block < grown + 2))
        return true;
    return i == block % ODD && (block < grown || block % x->step == 0);
}

static void cut_at_each(unsigned devices, unsigned device)
{
    struct world x = { .step = getenv("COIR_TEST_LONG") ? 1 : 16 };
    struct tally t = { 0 };
    uint64_t end;

    make(&x, devices);
    end = sim_size(x.w, device) / BLOCK;
    for (uint64_t block = 0; block <= end; block++) {
        for (unsigned i = 0; i < ODD; i++) {
            const int64_t size = (int64_t)(block * BLOCK) + odd[i];
            if (size >= 0 && (uint64_t)size <= end * BLOCK && is_chosen(&x, device, block, i, end))
                cut_to(&x, device, (uint64_t)size, &t);
        }
    }
    EQ(x.m->wrong, 0, "file %u of %u: cut to %u sizes it is not opened, to %u all is there, to %u less, which is said",
       device, devices, t.short_, t.whole, t.less);
    OK(t.short_ > 100 && t.whole > 0, "there is each");
    sim_free(x.w);
    free(x.m);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    cut_at_each(1, 0);
    cut_at_each(2, 0);
    cut_at_each(2, 1);
    return DONE();
}
