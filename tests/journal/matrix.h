/* SPDX-License-Identifier: MIT */
/*
 * The crash matrix of a ledger: its history cut after every event, in every way, opened, and what is wrong counted.
 * Some openings are cut after every event of theirs too; some ledgers go on, and are cut again. For the program that
 * asks that nothing is wrong, and the one that breaks a rule and asks that something is.
 */
#ifndef COIR_TESTS_JOURNAL_MATRIX_H
#define COIR_TESTS_JOURNAL_MATRIX_H

#include "ledger.h"
#include "tap.h"

struct findings {
    size_t cuts, wrong, failed;         /* openings; of them */
    size_t verified, marked, dropped;   /* facts; openings; facts */
    size_t promises;
    bool first_only;                    /* enough, once something is wrong */
    bool came;                          /* the call that was to fail */
    char what[300];                     /* the first */
};

static inline bool is_enough(const struct findings *f)
{
    return f->first_only && f->wrong;
}

static inline void count_opening(struct findings *found, const struct ledger *l, int status, size_t event,
                                 enum sim_keep keep, const char *depth)
{
    found->cuts++;
    found->failed += status != 0;
    found->verified += l->verified;
    found->marked += l->report.marked;
    for (uint64_t i = 1; i <= l->facts; i++)
        found->dropped += l->dropped[i];
    if (l->wrong[0] && found->wrong++ == 0)
        snprintf(found->what, sizeof found->what, "%s, cut after event %zu keeping %s: %s", depth, event,
                 sim_keep_name(keep), l->wrong);
}

/* ---- all cuts of one ledger's history, every `step` events ---- */

struct cuts {
    coir_frame_void;
    coir_args(struct ledger *l; struct findings *found; size_t step; const char *depth; uint64_t seed;);
    size_t event;
    enum sim_keep keep;
    struct ledger *after;
    struct ledger_open open;
};
static coir_declare(cuts);

coir_body(cuts, f) {
    for (f->event = 0; f->event <= sim_events(f->l->w) && !is_enough(f->found); f->event += f->step) {
        for (f->keep = 0; f->keep < SIM_KEEPS; f->keep++) {
            f->after = ledger_cut(f->l, f->event, f->keep, f->seed + f->event);
            coir_await(f, &f->open, ledger_open, .l = f->after);
            count_opening(f->found, f->after, coir_status(&f->open), f->event, f->keep, f->depth);
            ledger_free(f->after);
        }
    }
} coir_end

/* ---- crash after crash: what a cut leaves opens, lives on, and is cut again, opening included ---- */

struct again {
    coir_frame_void;
    coir_args(struct ledger *l; struct findings *found; size_t step; uint64_t seed; bool lives;);
    size_t event;
    struct ledger *after;
    union {
        struct ledger_open open;
        struct ledger_live live;
        struct cuts cuts;
    };
};
static coir_declare(again);

coir_body(again, f) {
    for (f->event = f->seed % f->step; f->event <= sim_events(f->l->w) && !is_enough(f->found); f->event += f->step) {
        f->after = ledger_cut(f->l, f->event, SIM_TORN, f->seed + f->event);
        coir_await(f, &f->open, ledger_open, .l = f->after);
        count_opening(f->found, f->after, coir_status(&f->open), f->event, SIM_TORN, "first");
        if (!f->after->wrong[0] && f->lives)
            coir_await(f, &f->live, ledger_live, .l = f->after, .tasks = 4, .each = 3);
        if (!f->after->wrong[0])
            coir_await(f, &f->cuts, cuts, .l = f->after, .found = f->found, .step = f->lives ? 3 : 1,
                       .depth = f->lives ? "the second time" : "while it opened", .seed = f->seed);
        ledger_free(f->after);
    }
} coir_end

/* ---- a history, and all that ---- */

struct matrix {
    coir_frame_void;
    coir_args(uint64_t seed; struct findings *found; unsigned calls; uint64_t fail; int err; size_t step;);
    struct ledger *l;
    union {
        struct ledger_open open;
        struct ledger_live live;
        struct cuts cuts;
        struct again again;
    };
};
static coir_declare(matrix);

/* `fail`: the number of the call among `calls` that fails with `err`, 0: none. */
coir_body(matrix, f) {
    f->l = ledger_new(f->seed);
    coir_try(f, &f->open, ledger_open, .l = f->l);
    sim_fail(f->l->w, f->calls, f->fail, f->err, false);
    coir_await(f, &f->live, ledger_live, .l = f->l, .tasks = 5, .each = 10);
    f->found->came = sim_has_failed(f->l->w);
    sim_fail(f->l->w, 0, 0, 0, false);
    f->found->promises += f->l->promises;
    coir_await(f, &f->cuts, cuts, .l = f->l, .found = f->found, .step = f->step, .depth = "first", .seed = f->seed);
    if (f->fail == 0 && !is_enough(f->found)) {
        coir_await(f, &f->again, again, .l = f->l, .found = f->found, .step = 31, .seed = f->seed);
        coir_await(f, &f->again, again, .l = f->l, .found = f->found, .step = 47, .seed = f->seed, .lives = true);
    }
    coir_finally(f) {
        ledger_free(f->l);
    }
} coir_end

#endif
