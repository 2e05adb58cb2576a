/* SPDX-License-Identifier: MIT */
/*
 * The whole engine on devices whose n-th call fails, for every n that a workload comes to: once, or from then on; with
 * EIO or ENOSPC; on one device, on either of two, on both; and two different calls of one run. Nothing stops the
 * program or hangs, and afterwards, with everything lost that was not durable, or some of it, the store opens and holds
 * what was acknowledged, as after a power cut. COIR_SIM_SEED chooses the pairs, COIR_TEST_LONG takes more of them.
 */
#include "crash.h"

enum { FIRST = 1, SECOND = 2, EITHER = 3 };

struct fault {
    uint64_t devices;
    unsigned calls;
    int err;
    bool forever;
    const char *name;
};

static unsigned wrong;

static void note_wrong(const struct engine *e, const char *name, const char *what)
{
    if (what[0] && wrong++ < 5)
        NOTE("%s: %s; while it failed: %s", name, what, e->log);
}

/* A store of some devices; when it has been made, `arm` says what will fail. Then the workload, and what is left. */
static bool run_store(unsigned devices, uint64_t seed, void (*arm)(struct sim *w, void *arg), void *arg,
                      const char *name, bool must_say)
{
    struct matrix *m = calloc(1, sizeof *m);
    struct sim *w = sim_new(seed, 200 * COIR_US), *after;
    struct engine *e;
    uint32_t next = 0;
    bool failed;

    m->seed = seed;
    m->devices = devices;
    for (unsigned i = 0; i < devices; i++)
        sim_add(w, 0, BLOCK);
    e = engine_new(w, devices);
    if (coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = 3, .rounds = 0, .next = &next,
                                .fresh = true)))
        abort();
    m->made = m->created = sim_events(w);
    arm(w, arg);
    coir_run(NULL, coir_new(workload, .e = e, .h = &m->history, .seed = 3, .rounds = 8, .next = &next));
    failed = sim_has_failed(w);
    if (failed && must_say && !strstr(e->log, "read-only from now on") && !e->complaint.status)
        note_wrong(e, name, "nobody said that the store is read-only");
    for (unsigned k = 0; k < 2; k++) {
        after = sim_cut(w, sim_events(w), k ? (enum sim_keep)(seed % SIM_KEEPS) : SIM_NOTHING, seed);
        note_wrong(e, name, look(m, after, sim_events(w)));
        sim_free(after);
    }
    free(e);
    free(m);
    sim_free(w);
    return failed;
}

/* ---- each call in turn ---- */

struct nth {
    const struct fault *fault;
    uint64_t n;
};

static void arm_nth(struct sim *w, void *arg)
{
    const struct nth *a = arg;
    const struct fault *f = a->fault;

    sim_fail(w, 0, 0, 0, false);
    if (f->devices == (FIRST | SECOND)) {       /* each counts its own */
        sim_fail_too(w, FIRST, f->calls, a->n, f->err, f->forever);
        sim_fail_too(w, SECOND, f->calls, a->n, f->err, f->forever);
    } else {
        sim_fail_too(w, f->devices, f->calls, a->n, f->err, f->forever);
    }
}

static void every_call(unsigned devices, const struct fault *fault)
{
    struct nth a = { .fault = fault, .n = 1 };
    char name[100];

    wrong = 0;
    for (;; a.n += sim_stride()) {
        snprintf(name, sizeof name, "%s, call %llu", fault->name, (unsigned long long)a.n);
        if (!run_store(devices, a.n, arm_nth, &a, name, fault->calls == SIM_SYNC))
            break;
    }
    EQ(wrong, 0, "%s: what was durable is there", fault->name);
    OK(a.n > 1, "%s: each of %llu calls has failed", fault->name, (unsigned long long)(a.n - 1));
}

/* ---- two of them ---- */

struct pair {
    struct { uint64_t devices, n; unsigned calls; int err; bool forever; } of[2];
};

static void arm_pair(struct sim *w, void *arg)
{
    const struct pair *p = arg;

    sim_fail(w, 0, 0, 0, false);
    for (unsigned i = 0; i < 2; i++)
        sim_fail_too(w, p->of[i].devices, p->of[i].calls, p->of[i].n, p->of[i].err, p->of[i].forever);
}

/* Reads and writes fail late or early, flushes and growing are fewer. */
static void choose(struct pair *p, unsigned devices, uint64_t *random)
{
    static const struct { unsigned calls; uint64_t most; } kinds[] = {
        { SIM_READ, 10 }, { SIM_WRITE, 60 }, { SIM_WRITE, 60 }, { SIM_SYNC, 25 }, { SIM_GROW, 1 },
    };

    for (unsigned i = 0; i < 2; i++) {
        const uint64_t k = sim_below(random, sizeof kinds / sizeof kinds[0]);
        p->of[i].devices = devices == 1 ? FIRST : 1 + sim_below(random, EITHER);
        p->of[i].calls = kinds[k].calls;
        p->of[i].n = 1 + sim_below(random, kinds[k].most);
        p->of[i].err = sim_below(random, 3) ? -EIO : -ENOSPC;
        p->of[i].forever = sim_below(random, 4) == 0;
    }
}

static void pairs(unsigned devices)
{
    const unsigned n = getenv("COIR_TEST_LONG") ? 5000 : 40;
    uint64_t random = sim_seed(11);
    unsigned failed = 0;
    struct pair p;
    char name[160];

    NOTE("COIR_SIM_SEED=%llu", (unsigned long long)random);
    wrong = 0;
    for (unsigned i = 0; i < n; i++) {
        choose(&p, devices, &random);
        snprintf(name, sizeof name, "pair %u: calls %u of %u, number %u, and %u of %u, number %u", i, p.of[0].calls,
                 (unsigned)p.of[0].devices, (unsigned)p.of[0].n, p.of[1].calls, (unsigned)p.of[1].devices,
                 (unsigned)p.of[1].n);
        failed += run_store(devices, i, arm_pair, &p, name, false);
    }
    EQ(wrong, 0, "%u devices, %u pairs of calls that fail: what was durable is there", devices, n);
    OK(failed > n / 2, "%u of them came to it", failed);
}

int main(void)
{
    static const struct fault one[] = {
        { FIRST, SIM_READ, -EIO, false, "one read: EIO" },
        { FIRST, SIM_WRITE, -EIO, false, "one write: EIO" },
        { FIRST, SIM_WRITE, -EIO, true, "all writes from there on: EIO" },
        { FIRST, SIM_WRITE, -ENOSPC, false, "one write: ENOSPC" },
        { FIRST, SIM_SYNC, -EIO, false, "one flush: EIO" },
        { FIRST, SIM_GROW, -ENOSPC, true, "growing: ENOSPC" },
        { FIRST, SIM_GROW, -EIO, false, "growing: EIO" },
    };
    static const struct fault two[] = {
        { FIRST, SIM_READ, -EIO, false, "the first of two devices, one read: EIO" },
        { SECOND, SIM_READ, -EIO, false, "the second, one read: EIO" },
        { FIRST, SIM_WRITE, -EIO, false, "the first, one write: EIO" },
        { SECOND, SIM_WRITE, -EIO, false, "the second, one write: EIO" },
        { SECOND, SIM_WRITE, -EIO, true, "the second, all writes from there on: EIO" },
        { FIRST | SECOND, SIM_WRITE, -EIO, false, "both, one write each: EIO" },
        { FIRST, SIM_SYNC, -EIO, false, "the first, one flush: EIO" },
        { SECOND, SIM_SYNC, -EIO, false, "the second, one flush: EIO" },
        { FIRST | SECOND, SIM_SYNC, -EIO, false, "both, one flush each: EIO" },
        { SECOND, SIM_GROW, -ENOSPC, true, "the second, growing: ENOSPC" },
    };

    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        every_call(1, &one[i]);
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        every_call(2, &two[i]);
    pairs(1);
    pairs(2);
    return DONE();
}
