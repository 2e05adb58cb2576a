/* SPDX-License-Identifier: MIT */
/*
 * Rules are broken in turn, and the crash matrix of the whole engine has to find that something is lost, or cannot be
 * opened: each of the engine's own, and those of the layers below whose breach it can see. The others are broken by the
 * tests of their layers. A rule whose breach is not found is either no rule or not tested.
 */
#include "crash.h"

#include "device/rules.h"

static const struct {
    enum coir_rule rule;
    unsigned seeds;                     /* with which it is found, at most */
} broken[] = {
    { COIR_RULE_DATA_BEFORE_RECORD, 2 },
    { COIR_RULE_NODES_BEFORE_SUPERBLOCK, 2 },
    { COIR_RULE_GROWN_IS_DURABLE, 8 },
    { COIR_RULE_MAP_OTHER_SLOT, 2 },
    { COIR_RULE_ACK_AFTER_FLUSH, 2 },
    { COIR_RULE_FLUSH_DATA, 2 },
    { COIR_RULE_VERIFY_LAST, 2 },
};

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        unsigned found = 0, seed = 0;
        coir_rule_broken = broken[i].rule;
        while (!found && ++seed <= broken[i].seeds)
            found = run_matrix(seed, 12, 1, true);
        OK(found > 0, "broken: %s (%s): found, with seed %u", coir_rule_name(coir_rule_broken),
           coir_rule_text(coir_rule_broken), seed);
    }
    return DONE();
}
