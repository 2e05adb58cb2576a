/* SPDX-License-Identifier: MIT */
/*
 * Each rule of the journal broken in turn: the crash matrix, in which nothing is wrong otherwise, finds that something
 * is. So none of them is there for nothing, and the matrix sees what it is for.
 */
#include "device/rules.h"
#include "matrix.h"

enum { SEEDS = 12 };

/* Looks until something is wrong; `calls`: of these a few fail. */
static struct findings look(uint64_t seed, unsigned calls)
{
    struct findings found = { .first_only = true };

    for (uint64_t i = 0; i < SEEDS && !found.wrong; i++)
        coir_run(NULL, coir_new(matrix, .seed = seed + i, .found = &found, .calls = calls,
                                .fail = calls ? 5 + 7 * i : 0, .err = -EIO, .step = calls ? 11 : 1));
    return found;
}

int main(void)
{
    static const struct { enum coir_rule rule; unsigned calls; } broken[] = {
        { COIR_RULE_NEXT_AFTER_FLUSH, 0 },
        { COIR_RULE_ACK_AFTER_FLUSH, 0 },
        { COIR_RULE_FLUSH_DATA, 0 },
        { COIR_RULE_MARK_AFTER_FLUSH, 0 },
        { COIR_RULE_GROUP_FAILS_FOR_EVER, SIM_WRITE },
        { COIR_RULE_CUT_AFTER_CHECKPOINT, 0 },
        { COIR_RULE_LOST_MARK, 0 },
        { COIR_RULE_VERIFY_LAST, 0 },
    };
    const uint64_t seed = sim_seed(1);
    struct findings found;

    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        coir_rule_broken = broken[i].rule;
        found = look(seed, broken[i].calls);
        OK(found.wrong > 0, "without %s something is wrong in %zu cuts", coir_rule_name(broken[i].rule), found.cuts);
        NOTE("%s: %s", coir_rule_text(broken[i].rule), found.what);
    }
    coir_rule_broken = COIR_RULE_NONE;
    return DONE();
}
