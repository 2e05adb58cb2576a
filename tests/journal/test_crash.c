/* SPDX-License-Identifier: MIT */
/*
 * Power cuts: after every event of a ledger's life, in every way, and while it opens, and once more after that; and
 * with each write and each sync failing in turn. What was promised is there, nothing else was invented. A seed makes a
 * whole history: COIR_SIM_SEED=n, COIR_TEST_LONG=1 for many.
 */
#include "matrix.h"

static void one_history(uint64_t seed)
{
    struct findings found = { .cuts = 0 };

    EQ(coir_run(NULL, coir_new(matrix, .seed = seed, .found = &found, .step = sim_stride())), 0, "COIR_SIM_SEED=%llu",
       (unsigned long long)seed);
    EQ(found.wrong, 0, "of %zu cuts nothing is wrong: %s", found.cuts, found.what);
    EQ(found.failed, 0, "and no opening fails");
    OK(found.promises > 20, "%zu promises", found.promises);
    OK(found.verified > 100 / sim_stride() && found.marked > 20 / sim_stride() && found.dropped > 20 / sim_stride(),
       "%zu facts were verified, %zu had not arrived, %zu openings found a mark", found.verified, found.dropped,
       found.marked);
}

/* Each of the calls fails, one after the other, up to the one that never comes. */
static void failing(uint64_t seed, unsigned calls, int err, const char *name)
{
    struct findings found = { .came = true };
    uint64_t n;
    int status = 0;

    for (n = 1; found.came && !status; n += sim_stride())
        status = coir_run(NULL, coir_new(matrix, .seed = seed, .found = &found, .calls = calls, .fail = n, .err = err,
                                         .step = 61));
    EQ(status, 0, "%s: the first to the %llu-th, and nobody waits for ever", name,
       (unsigned long long)n - 1 - sim_stride());
    EQ(found.wrong, 0, "of %zu cuts nothing is wrong: %s", found.cuts, found.what);
    OK(n > 20 && found.promises > 100 / sim_stride(), "%zu promises were made", found.promises);
}

int main(void)
{
    const uint64_t seed = sim_seed(1), seeds = getenv("COIR_TEST_LONG") ? 40 : 1;

    setenv("COIR_TIME", "virtual", 1);
    for (uint64_t i = 0; i < seeds; i++)
        one_history(seed + i);
    failing(seed, SIM_WRITE, -EIO, "a write fails");
    failing(seed + 1, SIM_SYNC, -EIO, "a sync fails");
    failing(seed + 2, SIM_WRITE | SIM_SYNC, -ENOSPC, "one of them finds no space");
    return DONE();
}
