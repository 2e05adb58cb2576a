/* SPDX-License-Identifier: MIT */
/*
 * A power cut after every event of tasks that write, flush, and note what was promised to them: it is there. And with
 * each rule of the flusher broken in turn it is not.
 */
#include "device/rules.h"
#include "sim.h"

#include "tap.h"

enum { TASKS = 6, ROUNDS = 8 };

/* Sector n holds a counter; by event `at` the value `value` had been promised. */
struct promise {
    size_t at;
    unsigned sector;
    unsigned char value;
};

struct history {
    struct sim *w;
    struct coir_device *d;
    size_t promises;
    struct promise promise[TASKS * ROUNDS];
};

struct worker {
    coir_frame_void;
    coir_args(struct history *h; unsigned n;);
    unsigned char buf[SIM_SECTOR];
    int round;
    struct iovec iov;
    union {
        struct coir_device_write write;
        struct coir_device_flush flush;
    };
};
static coir_declare(worker);
coir_body(worker, f) {
    for (f->round = 1; f->round <= ROUNDS; f->round++) {
        memset(f->buf, f->round, sizeof f->buf);
        f->iov = (struct iovec){ f->buf, sizeof f->buf };
        coir_try(f, &f->write, coir_device_write, .device = f->h->d, .iov = &f->iov, .n = 1,
                 .offset = f->n * SIM_SECTOR);
        coir_await(f, &f->flush, coir_device_flush, .device = f->h->d);
        if (coir_status(&f->flush) == 0)
            f->h->promise[f->h->promises++] = (struct promise){ sim_events(f->h->w), f->n, (unsigned char)f->round };
    }
} coir_end

struct workers {
    coir_frame_void;
    coir_args(struct history *h;);
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(workers);
coir_body(workers, f) {
    f->h->d = sim_open(f->h->w, 0);
    coir_group_open(f, &f->group);
    for (unsigned i = 0; i < TASKS; i++)
        (void)coir_spawn(&f->group, coir_new(worker, .h = f->h, .n = i));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* Promises that do not hold after a cut. */
static int broken(const struct history *h, size_t event, const struct sim *after)
{
    int n = 0;

    for (size_t i = 0; i < h->promises && h->promise[i].at <= event; i++) {
        unsigned char value;
        sim_peek(after, 0, h->promise[i].sector * SIM_SECTOR, &value, 1);
        n += value < h->promise[i].value;
    }
    return n;
}

/* Of all cuts of one history; `failing`: the sync that fails, 0 for none. */
static int cuts(uint64_t seed, uint64_t failing, size_t *promises)
{
    struct history h = { .w = sim_new(seed, 10 * COIR_MS) };
    int lost = 0;

    sim_add(h.w, 4 * SIM_PAGE, SIM_PAGE);
    sim_fail(h.w, SIM_SYNC, failing, -EIO, false);
    coir_run(NULL, coir_new(workers, .h = &h));
    for (size_t event = 0; event <= sim_events(h.w); event++) {
        for (enum sim_keep keep = 0; keep < SIM_KEEPS; keep++) {
            struct sim *after = sim_cut(h.w, event, keep, seed + event);
            lost += broken(&h, event, after);
            sim_free(after);
        }
    }
    *promises += h.promises;
    sim_free(h.w);
    return lost;
}

static int all(uint64_t seed, size_t *promises)
{
    int lost = 0;

    *promises = 0;
    for (uint64_t failing = 0; failing < 10; failing += 3)
        lost += cuts(seed + failing, failing, promises);
    return lost;
}

int main(void)
{
    static const enum coir_rule rules[] = { COIR_RULE_FLUSH_BEGINS_AFTER, COIR_RULE_FLUSH_FAILS_FOR_EVER };
    const uint64_t seed = sim_seed(5);
    size_t promises;

    setenv("COIR_TIME", "virtual", 1);
    NOTE("COIR_SIM_SEED=%llu", (unsigned long long)seed);
    EQ(all(seed, &promises), 0, "no promise is broken by a cut");
    OK(promises > TASKS * ROUNDS, "of %zu", promises);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        coir_rule_broken = rules[i];
        OK(all(seed, &promises) > 0, "some are without %s: %s", coir_rule_name(rules[i]), coir_rule_text(rules[i]));
    }
    coir_rule_broken = COIR_RULE_NONE;
    return DONE();
}
