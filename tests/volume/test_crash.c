/* SPDX-License-Identifier: MIT */
/* The crash matrix of the whole engine: two seeds; with COIR_TEST_LONG twenty, and every way of losing what was not
 * durable at every cut. */
#include "crash.h"

int main(void)
{
    const bool is_long = getenv("COIR_TEST_LONG") != NULL;
    const uint64_t seed = sim_seed(1);

    setenv("COIR_TIME", "virtual", 1);
    for (unsigned i = 0; i < (is_long ? 20u : 2u); i++)
        EQ(run_matrix(seed + i, 12, is_long ? SIM_KEEPS : 1, false), 0, "seed %llu: no cut loses what was durable",
           (unsigned long long)(seed + i));
    return DONE();
}
