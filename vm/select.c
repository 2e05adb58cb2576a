/* SPDX-License-Identifier: MIT */
/*
 * `select`. When its channels are all of this shard it is one coir_select of libcoir's; otherwise select_far.c's.
 */
#include <coir/select.h>
#include <coir/shard.h>
#include <errno.h>

#include "vm/raise.h"
#include "vm/select_inside.h"
#include "vm/world.h"

struct selecting {
    struct coir_select select;
    bool timed;                         /* a time will end it, or what comes from outside */
    struct coir_arm arms[];
};

/* An arm of a channel. Whether only another fiber can make it ready. */
static bool fill_arm(const struct coir_fiber *f, uint64_t *r, struct coir_arm *arm, uint64_t w)
{
    struct coir_chan *c = coir_chan_at(r[COIR_I_A(w)]);
    uint64_t *window = &r[COIR_I_B(w)];

    if (COIR_I_D(w) == COIR_ARM_SEND) {
        coir_arm_send(arm, &c->channel, window);
        return true;
    }
    coir_arm_recv(arm, &c->channel, coir_chan_item(coir_cell_type(f, &c->head), window));
    return coir_chan_is_inner(c);
}

/* False: a time will end it, or what comes from outside. */
static bool fill_arms(struct coir_fiber *f, uint64_t *r, struct coir_arm *arms, unsigned n)
{
    bool inner = true;

    for (unsigned i = 0; i < n; i++) {
        const uint64_t w = f->pc[1 + i];

        if (coir_arm_is_chan(w)) {
            inner &= fill_arm(f, r, &arms[i], w);
        } else {
            coir_arm_until(&arms[i], coir_time_after(coir_now(), (int64_t)r[COIR_I_A(w)]));
            inner = false;
        }
    }
    return inner;
}

/* The arm was taken: goes where it says. */
static enum coir_native_result take_arm(struct coir_fiber *f, uint64_t *r, const struct coir_arm *arm, uint64_t w)
{
    if (COIR_I_D(w) == COIR_ARM_SEND && coir_arm_status(arm) == -EPIPE)
        return coir_trap_closed(f);
    if (COIR_I_D(w) == COIR_ARM_RECV)
        coir_chan_received(coir_cell_type(f, coir_ref(r[COIR_I_A(w)])), &r[COIR_I_B(w)], coir_arm_received(arm));
    return coir_arm_goes(f, w);
}

static enum coir_native_result select_near(struct coir_fiber *f, uint64_t *r, unsigned n, bool now)
{
    struct selecting *s = coir_scratch(f, sizeof *s + (n ? n : 1) * sizeof *s->arms, NULL);
    int status;

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0 && !n)
        coir_arm_off(s->arms);
    if (f->step == 0)
        s->timed = !fill_arms(f, r, s->arms, n);
    status = f->step ? coir_status(&s->select) : -ECANCELED;
    if (!f->step || (status == -ECANCELED && coir_fiber_waits_again(f))) {
        f->inner = !s->timed;
        return coir_wait_for(f, &s->select, coir_select, .arms = s->arms, .n = n ? n : 1, .now = now);
    }
    if (status == -EAGAIN)
        return COIR_NATIVE_DONE;
    if (status < 0)
        return coir_trap_status(f, status, NULL);
    return take_arm(f, r, &s->arms[s->select.result], f->pc[1 + s->select.result]);
}

static bool has_far_arm(const struct coir_fiber *f, const uint64_t *r, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const uint64_t w = f->pc[1 + i];

        if (coir_arm_is_chan(w) && coir_ref(r[COIR_I_A(w)])->aux != f->vm->shard)
            return true;
    }
    return false;
}

enum coir_native_result coir_op_select(struct coir_fiber *f, uint64_t *r)
{
    const unsigned n = COIR_I_C(*f->pc);
    const bool now = COIR_I_D(*f->pc);

    if (!n && now)
        return COIR_NATIVE_DONE;
    if (f->away || (f->step == 0 && f->vm->world->n > 1 && has_far_arm(f, r, n)))
        return coir_select_far(f, r, n, now);
    return select_near(f, r, n, now);
}
