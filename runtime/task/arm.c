/* SPDX-License-Identifier: MIT */
/*
 * Claiming a select for one of its arms: see arm.h. Nothing here takes a lock or knows a line.
 */
#include "runtime/task/arm.h"

_Static_assert(offsetof(struct coir_arm, task) == 0 && offsetof(struct coir_arm, poll) == 0, "an arm is its wait");
_Static_assert(sizeof(struct coir_arm) == 192 && sizeof(struct coir_select) == 128, "they lie in frames");

coir_step coir_arm_resume(struct coir_task *t)
{
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* Whatever arms other threads can serve are in `shared`; without them this is one thread's. */
bool coir_select_take(struct coir_select *op, uintptr_t as)
{
    uintptr_t was;

    if (!op->shared) {
        if (op->claim != COIR_ARMS_OPEN)
            return false;
        op->claim = as;
        return true;
    }
    for (int i = 0;; i++) {
        was = COIR_ARMS_OPEN;
        if (__atomic_compare_exchange_n(&op->claim, &was, as, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (was != COIR_ARMS_TRIED)
            return false;
        coir_pause_a_little(i);
    }
}

bool coir_arm_is_over(const struct coir_task *arm)
{
    uintptr_t claim;

    for (int i = 0; (claim = coir_select_claim(coir_select_of(arm))) == COIR_ARMS_TRIED; i++)
        coir_pause_a_little(i);
    return claim != COIR_ARMS_OPEN && claim != (uintptr_t)arm;
}
