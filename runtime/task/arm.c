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

/* One that several threads may want. */
static bool take(uintptr_t *claim, uintptr_t as)
{
    uintptr_t was;

    for (int i = 0;; i++) {
        was = COIR_ARMS_OPEN;
        if (__atomic_compare_exchange_n(claim, &was, as, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return true;
        if (was != COIR_ARMS_TRIED)
            return false;
        coir_pause_a_little(i);
    }
}

/* The end of one that was tried. */
static void settle(uintptr_t *claim, uintptr_t as)
{
    __atomic_store_n(claim, as, __ATOMIC_RELEASE);
}

/* OPEN, or decided. */
static uintptr_t look(const uintptr_t *claim)
{
    uintptr_t is;

    for (int i = 0; (is = __atomic_load_n(claim, __ATOMIC_ACQUIRE)) == COIR_ARMS_TRIED; i++)
        coir_pause_a_little(i);
    return is;
}

/* A cancellation asks nobody: the joint is for the others to win. */
static bool joint_lets(struct coir_select *op, uintptr_t as)
{
    COIR_ASSERT(as != COIR_ARMS_TRIED);      /* by whom? no other thread sees its arms */
    return as == COIR_ARMS_CANCELLED || coir_joint_take(op);
}

/* Whatever arms other threads can serve are in `shared`; without them this is one thread's, but for the joint. */
bool coir_select_take(struct coir_select *op, uintptr_t as)
{
    if (op->shared)
        return take(&op->claim, as);
    if (op->claim != COIR_ARMS_OPEN || (op->joint && !joint_lets(op, as)))
        return false;
    op->claim = as;
    return true;
}

bool coir_arm_is_over(const struct coir_task *arm)
{
    const struct coir_select *op = coir_select_of(arm);
    const uintptr_t claim = look(&op->claim);

    if (claim != COIR_ARMS_OPEN)
        return claim != (uintptr_t)arm;
    return op->joint && look(&op->joint->claim) != COIR_ARMS_OPEN;
}

bool coir_joint_take(struct coir_select *op)
{
    return take(&op->joint->claim, (uintptr_t)op);
}

/* What somebody wants, and what it means when he does not get it. */
struct want {
    uintptr_t *claim, as;
    int lost;
};

/* Both or none: 0, or what was lost. `high` is never tried: nothing is asked after it. */
static int take_two(const struct want *low, const struct want *high)
{
    if (!take(low->claim, COIR_ARMS_TRIED))
        return low->lost;
    if (!take(high->claim, high->as)) {
        settle(low->claim, COIR_ARMS_OPEN);
        return high->lost;
    }
    settle(low->claim, low->as);
    return 0;
}

int coir_joint_take_both(struct coir_select *op, struct coir_task *arm)
{
    struct coir_select *other = coir_select_of(arm);
    const struct want mine = { &op->joint->claim, (uintptr_t)op, -ECANCELED };
    struct want theirs = { &other->claim, (uintptr_t)arm, -ESRCH };
    int err;

    if (other->joint == op->joint)
        return -EBUSY;
    if (other->joint) {
        if (other->claim != COIR_ARMS_OPEN)
            return -ESRCH;
        theirs.claim = &other->joint->claim;
        theirs.as = (uintptr_t)other;
    }
    err = (uintptr_t)mine.claim < (uintptr_t)theirs.claim ? take_two(&mine, &theirs) : take_two(&theirs, &mine);
    if (!err && other->joint)
        other->claim = (uintptr_t)arm;
    return err;
}
