/* SPDX-License-Identifier: MIT */
/*
 * Visits to another shard. See far.h.
 *
 * For those who look for a deadlock (world.h) a visit is two letters, there and home. Its cancelling is a third, which
 * is not counted: as long as a fiber that is away is cut short, its shard does not rest.
 */
#include "vm/far.h"

#include <coir/shard.h>
#include <errno.h>

#include "runtime/base/queue.h"
#include "vm/chan.h"
#include "vm/raise.h"

enum { STEPS_A_SLICE = 2000 };

static coir_declare(coir_slices);
static coir_declare(coir_stand);
static coir_declare(coir_turn_of_all);
static coir_declare(coir_visit);

/* ---- packing ---- */

coir_step coir_slices_resume(struct coir_task *t)
{
    struct coir_slices *s = (struct coir_slices *)t;

    s->how = coir_cross(s->x, STEPS_A_SLICE);
    if (s->how == COIR_WALK_MORE) {
        t->state = 1;
        coir_ready_(t);
        return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static int status_of(enum coir_walked how)
{
    return how == COIR_WALK_DONE ? 0 : how == COIR_WALK_STAYS ? -EXDEV : -ENOMEM;
}

static int begin_crossing(struct coir_pack *p)
{
    uint64_t *slots = p->slots;

    coir_cross_init(&p->x, &p->vm->heap);
    for (uint32_t i = 0; i < p->n; i++) {
        if (!coir_cross_add(&p->x, p->params[i].type, slots))
            return -ENOMEM;
        slots += p->params[i].type->slots;
    }
    return 0;
}

coir_body(coir_pack, p) {
    p->vm->busy++;
    p->stays = NULL;
    p->result_ = begin_crossing(p);
    if (p->result_ == 0) {
        coir_await(p, &p->slices, coir_slices, .x = &p->x);
        p->result_ = status_of(p->slices.how);
    }
    for (p->at = 0; p->result_ == 0 && p->at < p->x.ndescriptors; p->at++)
        coir_await(p, &p->leave, coir_leave, .fd = p->x.descriptors[p->at]);
    p->stays = p->x.stays;
    coir_cross_end(&p->x);
    p->vm->busy--;
    p->task.status = (int16_t)p->result_;
} coir_end

int coir_packed_for_home(struct coir_pack *p)
{
    const int status = coir_status(p);

    if (status < 0) {
        coir_drop_value(&p->vm->heap, p->params->type, p->slots);
        memset(p->slots, 0, p->params->type->slots * sizeof *p->slots);
    }
    return status;
}

static bool all_flat(const struct coir_param *params, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!params[i].type->flat)
            return false;
    }
    return true;
}

/* ---- waiting there ---- */

static void stand_abort(struct coir_task *t)
{
    t->abort = NULL;
    t->status = -ECANCELED;
    coir_ready_(t);
}

void coir_stand_wake(struct coir_stand *s)
{
    s->woken = true;
    if (!s->task.abort)
        return;                         /* it has been cancelled, or has yet to begin, and finds this when it runs */
    s->task.abort = NULL;
    coir_ready_(&s->task);
}

coir_step coir_stand_resume(struct coir_task *t)
{
    if (t->state == 0 && !((struct coir_stand *)t)->woken && !(coir_here.cancelled && coir_cancelled_(t))) {
        t->state = 1;
        t->abort = stand_abort;
        return COIR_PARK_;
    }
    if (t->state == 0 && !((struct coir_stand *)t)->woken)
        t->status = -ECANCELED;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* ---- the visit ---- */

static uint32_t seat_of(const struct coir_far *far)
{
    return (uint32_t)((uint64_t)(uintptr_t)far * 0x9E3779B97F4A7C15 >> 32) % COIR_SEATS;
}

static void arrives(struct coir_visit *v)
{
    struct coir_far *far = v->far;

    coir_world_gets(far->there, far->clock);
    coir_visitor_comes(far->there, &v->visitor, &v->task);
    coir_list_push_back(&far->there->seats[seat_of(far)], &v->seat);
    v->waits = COIR_VISIT_PASSES;
    far->brings.type = NULL;
    far->said = far->errand->begins(v);
}

static void waited(struct coir_visit *v, int status)
{
    struct coir_far *far = v->far;

    v->visitor.outer = false;
    v->waits = COIR_VISIT_PASSES;
    far->said = far->errand->ends ? far->errand->ends(v, status) : status;
}

static void packed(struct coir_visit *v)
{
    const int status = coir_packed_for_home(&v->pack);

    if (status < 0) {
        v->far->said = status;
        v->far->stays = v->pack.stays;
    }
}

static struct coir_channel *channel_of(const struct coir_visit *v)
{
    return &((struct coir_chan *)v->far->cell)->channel;
}

coir_body(coir_visit, v) {
    arrives(v);
    if (v->far->said == -EAGAIN && v->waits == COIR_VISIT_SENDS) {
        coir_await(v, &v->send, coir_channel_send, .channel = channel_of(v), .item = v->far->goes);
        waited(v, coir_status(&v->send));
    } else if (v->far->said == -EAGAIN && v->waits == COIR_VISIT_RECEIVES) {
        coir_await(v, &v->recv, coir_channel_recv, .channel = channel_of(v), .item = v->far->at);
        v->far->received = v->recv.result;
        waited(v, coir_status(&v->recv));
    } else if (v->far->said == -EAGAIN) {
        coir_await(v, &v->stand, coir_stand);
        waited(v, coir_status(&v->stand));
    }
    if (v->far->brings.type && !v->far->brings.type->flat) {
        coir_await(v, &v->pack, coir_pack, .vm = v->far->there, .params = &v->far->brings, .n = 1,
                   .slots = v->far->at);
        packed(v);
    }
    coir_list_remove(&v->seat);
    coir_visitor_goes(&v->visitor);
    coir_heap_share(&v->far->there->heap);
    v->far->clock = coir_world_sends(v->far->there);
} coir_end

/* ---- the fiber's side ---- */

/* No memory to go: the letter has not left. */
static void stays_home(struct coir_trip *t)
{
    t->far->said = coir_status(&t->visit);
    coir_world_gets(t->far->here, 0);
}

static void sets_out(struct coir_far *far)
{
    far->clock = coir_world_sends(far->here);
    far->said = -EINPROGRESS;
}

/* Whether it has been there. */
static bool is_back(struct coir_trip *t)
{
    const bool was_there = t->far->said != -EINPROGRESS;

    if (was_there)
        coir_world_gets(t->far->here, t->far->clock);
    else
        stays_home(t);
    return was_there;
}

coir_step coir_turn_of_all_resume(struct coir_task *t)
{
    if (t->state == 0) {
        t->state = 1;
        coir_ready_(t);
        return COIR_PARK_;
    }
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static void packed_here(struct coir_trip *t)
{
    t->far->said = coir_status(&t->pack);
    t->far->stays = t->pack.stays;
}

coir_body(coir_trip, t) {
    t->far->said = 0;
    if (!t->far->packed && !all_flat(t->far->params, t->far->nparams)) {
        coir_await(t, &t->pack, coir_pack, .vm = t->far->here, .params = t->far->params, .n = t->far->nparams,
                   .slots = t->far->goes);
        packed_here(t);
    }
    if (t->far->said == 0) {
        t->far->packed = true;
        for (;;) {
            sets_out(t->far);
            coir_await_on(t, t->far->there->shard, &t->visit, coir_visit, .far = t->far);
            if (is_back(t) || !t->far->must)
                break;
            coir_await(t, &t->turn, coir_turn_of_all);
        }
        coir_heap_share(&t->far->here->heap);
    }
} coir_end

struct coir_far *coir_far_scratch(struct coir_fiber *f)
{
    return coir_scratch(f, sizeof(struct coir_far), NULL);
}

bool coir_far_goes(struct coir_fiber *f, struct coir_far *far)
{
    f->away = false;
    return f->step == 0 || (far->said == -ECANCELED && coir_fiber_waits_again(f));
}

enum coir_native_result coir_far_go(struct coir_fiber *f, struct coir_far *far, const struct coir_errand *errand,
                                    uint32_t shard)
{
    if (!far->caller.stamp)
        far->caller.stamp = ++f->vm->clock;
    f->away = true;
    f->inner = true;
    far->here = f->vm;
    far->there = f->vm->world->vms[shard];
    far->errand = errand;
    return coir_wait_for(f, &far->trip, coir_trip, .far = far);
}

enum coir_native_result coir_far_trap(struct coir_fiber *f, struct coir_far *far)
{
    if (far->said == -EXDEV)
        return coir_trap_outside(f, -EXDEV, far->stays, NULL);
    return coir_trap_status(f, far->said, NULL);
}

const struct coir_visit *coir_far_stands(const struct coir_vm *here, const struct coir_far *far, uint64_t stamp)
{
    const struct coir_link *const seats = &here->seats[seat_of(far)];

    for (const struct coir_link *at = seats->next; at != seats; at = at->next) {
        const struct coir_visit *v = coir_container_of(at, const struct coir_visit, seat);

        if (v->far == far && far->caller.stamp == stamp)
            return v->waits == COIR_VISIT_STANDS && v->stand.task.abort ? v : NULL;
    }
    return NULL;
}

/* It will be home without what it waits for. */
static bool is_cut(const struct coir_fiber *f)
{
    return f->deadlocked || coir_fiber_cancelled(f)
        || (f->call == coir_op_msg && ((const struct coir_far *)f->scratch)->ring);
}

bool coir_far_moves(const struct coir_vm *vm)
{
    if (vm->busy)
        return true;
    for (const struct coir_link *at = vm->visitors.next; at != &vm->visitors; at = at->next) {
        if (coir_container_of(at, struct coir_visitor, link)->outer)
            return true;
    }
    for (const struct coir_fiber *f = vm->newest; f; f = f->older) {
        if (f->away && is_cut(f))
            return true;
    }
    return false;
}
