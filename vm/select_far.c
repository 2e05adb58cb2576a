/* SPDX-License-Identifier: MIT */
/*
 * `select` of which some channels are other shards': a coir_choice.
 *
 *     what an arm would send far is packed
 *     the arms are looked at in their order, each at its channel's home; the first that is ready is the one
 *     none was: a part waits on each shard, a coir_select there, all of one joint (runtime/task/arm.h): whoever serves
 *     an arm has won it before, so exactly one is served. The part that has won comes home with what it received; the
 *     others are cancelled, and come home too
 *
 * From when the first part has ended until all have, the shard is busy: what is under way then is not counted.
 */
#include <coir/combine.h>
#include <coir/select.h>
#include <coir/shard.h>
#include <errno.h>

#include "runtime/sync/select.h"
#include "vm/far.h"
#include "vm/raise.h"
#include "vm/select_inside.h"

struct coir_choice;

/* What waits on one shard: its arms, behind that of the joint. */
struct part_there {
    coir_frame_void;
    coir_args(struct part *part;);
    struct coir_visitor visitor;
    union {
        struct coir_select select;
        struct coir_pack pack;
    };
};
static coir_declare(part_there);

struct part_here {
    coir_frame_void;
    coir_args(struct part *part;);
    struct part_there visit;
};
static coir_declare(part_here);

struct part {
    struct coir_choice *choice;
    struct coir_vm *there;
    struct part_here here;
    uint64_t clock;
    struct coir_arm *arms;
    uint32_t n;
    bool came;                          /* it was there */
};

struct choosing {
    coir_frame_void;
    coir_args(struct coir_choice *choice;);
    union {
        struct coir_trip trip;          /* a look at an arm */
        struct coir_pack pack;
        struct coir_combine race;
    };
};
static coir_declare(choosing);

struct coir_choice {
    struct coir_fiber *f;
    uint64_t *r;
    uint32_t n;                         /* arms */
    bool now;                           /* it does not wait */
    int64_t began;                      /* from when its times count, also if it is cut for nothing, and repeated */
    int said;                           /* 0: arm `taken`; -EAGAIN: none; or why not */
    uint32_t taken, i;
    bool received, closed;              /* of that arm */
    bool packed;
    bool ends;                          /* a part has */
    int64_t until;                      /* the time of the first `after` that comes */
    uint32_t timer;                     /* that arm; n: there is none */
    const char *stays;
    struct coir_param brings;           /* as coir_far's: of the part that has won */
    uint64_t *at;
    int failed;                         /* why a part could not go; 0: all could */
    struct coir_joint joint;
    struct coir_far far;                /* of a look */
    struct choosing choosing;
    struct coir_sleep_until sleep;
    struct part *parts;
    uint32_t nparts;
    uint32_t *which;                    /* of each arm of a part, in their order: its number */
    struct coir_arm *arms;
    struct coir_task **kids;
    uint32_t nkids;
};

static uint64_t word(const struct coir_choice *c, uint32_t i)
{
    return c->f->pc[1 + i];
}

static struct coir_chan *chan_of(const struct coir_choice *c, uint32_t i)
{
    return coir_chan_at(c->r[COIR_I_A(word(c, i))]);
}

static uint64_t *window_of(const struct coir_choice *c, uint32_t i)
{
    return &c->r[COIR_I_B(word(c, i))];
}

static uint64_t *item_of(const struct coir_choice *c, uint32_t i)
{
    return coir_chan_item(coir_cell_type(c->f, &chan_of(c, i)->head), window_of(c, i));
}

static bool is_home(const struct coir_choice *c, uint32_t i)
{
    return chan_of(c, i)->head.aux == c->f->vm->shard;
}

/* What it would send has to cross. */
static bool sends_far(const struct coir_choice *c, uint32_t i)
{
    return COIR_I_D(word(c, i)) == COIR_ARM_SEND && !is_home(c, i)
        && !coir_cell_type(c->f, &chan_of(c, i)->head)->element->flat;
}

/* ---- one look ---- */

/* Its status is what a try says: -EAGAIN is none of an errand's, so -EBUSY stands for it. */
static int busy_for_again(int status)
{
    return status == -EAGAIN ? -EBUSY : status;
}

static int try_send_begins(struct coir_visit *v)
{
    return busy_for_again(coir_channel_try_send(&((struct coir_chan *)v->far->cell)->channel, v->far->goes));
}

static const struct coir_errand try_send_there = { try_send_begins, NULL };

static int try_recv_begins(struct coir_visit *v)
{
    struct coir_far *far = v->far;
    const int status = coir_channel_try_recv(&((struct coir_chan *)far->cell)->channel, far->at);

    if (status == 0)
        far->brings.type = far->type->element;
    return busy_for_again(status);
}

static const struct coir_errand try_recv_there = { try_recv_begins, NULL };

/* The arm is ready, and done, if the status says so. */
static void looked(struct coir_choice *c, int status)
{
    const bool recv = COIR_I_D(word(c, c->i)) == COIR_ARM_RECV;

    if (status == -EBUSY || status == -EAGAIN)
        return;
    c->said = status;
    if (status != 0 && status != -EPIPE)
        return;
    c->said = 0;
    c->taken = c->i;
    c->received = recv && status == 0;
    c->closed = status == -EPIPE;
}

static void look_here(struct coir_choice *c)
{
    struct coir_channel *channel = &chan_of(c, c->i)->channel;

    if (COIR_I_D(word(c, c->i)) == COIR_ARM_SEND)
        looked(c, coir_channel_try_send(channel, window_of(c, c->i)));
    else
        looked(c, coir_channel_try_recv(channel, item_of(c, c->i)));
}

static void look_at_time(struct coir_choice *c)
{
    const int64_t at = coir_time_after(c->began, (int64_t)c->r[COIR_I_A(word(c, c->i))]);

    if (at <= coir_now()) {
        c->said = 0;
        c->taken = c->i;
    } else if (c->timer == c->n || at < c->until) {
        c->until = at;
        c->timer = c->i;
    }
}

static void prepare_far(struct coir_choice *c)
{
    memset(&c->far, 0, sizeof c->far);
    c->far.here = c->f->vm;
    c->far.errand = COIR_I_D(word(c, c->i)) == COIR_ARM_SEND ? &try_send_there : &try_recv_there;
    c->far.cell = &chan_of(c, c->i)->head;
    c->far.there = c->f->vm->world->vms[c->far.cell->aux];
    c->far.type = coir_cell_type(c->f, c->far.cell);
    c->far.goes = window_of(c, c->i);
    c->far.at = item_of(c, c->i);
}

/* ---- the parts ---- */

static bool part_fills(struct coir_choice *c, struct part *p)
{
    uint32_t *which = c->which + (p->arms - c->arms);

    p->n = 1;
    p->came = false;
    coir_arm_joint(&p->arms[0], &c->joint);
    for (uint32_t i = 0; i < c->n; i++) {
        if (!coir_arm_is_chan(word(c, i)) || chan_of(c, i)->head.aux != p->there->shard)
            continue;
        which[p->n] = i;
        if (COIR_I_D(word(c, i)) == COIR_ARM_SEND)
            coir_arm_send(&p->arms[p->n++], &chan_of(c, i)->channel, window_of(c, i));
        else
            coir_arm_recv(&p->arms[p->n++], &chan_of(c, i)->channel, item_of(c, i));
    }
    return p->n > 1;
}

/* A part for each shard that has an arm, and one for the time. */
static void set_out(struct coir_choice *c)
{
    struct coir_arm *arms = c->arms;
    uint32_t n = 0;

    c->joint.claim = COIR_ARMS_OPEN;
    c->ends = false;
    c->failed = 0;
    c->brings.type = NULL;
    for (uint32_t shard = 0; shard < c->f->vm->world->n; shard++) {
        struct part *p = &c->parts[n];

        p->choice = c;
        p->there = c->f->vm->world->vms[shard];
        p->arms = arms;
        if (!part_fills(c, p))
            continue;
        c->kids[n++] = coir_make(&p->here, part_here, .part = p);
        arms += p->n;
    }
    if (c->timer < c->n)
        c->kids[n++] = coir_make(&c->sleep, coir_sleep_until, .at = c->until);
    c->nkids = n;
}

/* The first has ended, and with it the wait. */
static void ends(struct coir_choice *c)
{
    if (!c->ends)
        c->f->vm->busy++;
    c->ends = true;
}

/* On the shard of the part: it waits no more. */
static void served(struct part *p)
{
    struct coir_choice *c = p->choice;
    const struct coir_select *select = &p->here.visit.select;
    const struct coir_arm *arm;

    if (coir_status(select) < 0)
        return;
    arm = &p->arms[select->result];
    c->taken = c->which[(size_t)(arm - c->arms)];
    c->said = 0;
    c->closed = COIR_I_D(word(c, c->taken)) == COIR_ARM_SEND ? coir_arm_status(arm) == -EPIPE
                                                            : !coir_arm_received(arm);
    c->received = COIR_I_D(word(c, c->taken)) == COIR_ARM_RECV && !c->closed;
    if (c->received && p->there != c->f->vm) {
        c->brings.type = coir_cell_type(c->f, &chan_of(c, c->taken)->head)->element;
        c->at = item_of(c, c->taken);
    }
}

static void packed(struct part *p)
{
    struct coir_choice *c = p->choice;
    const int status = coir_packed_for_home(&p->here.visit.pack);

    if (status < 0) {
        c->said = status;
        c->stays = p->here.visit.pack.stays;
    }
}

static void arrives(struct part_there *v)
{
    struct part *p = v->part;

    if (p->there != p->choice->f->vm)
        coir_world_gets(p->there, p->clock);
    coir_visitor_comes(p->there, &v->visitor, &v->task);
    for (uint32_t i = 1; i < p->n; i++)
        v->visitor.outer |= p->arms[i].kind == COIR_ARM_RECV_
            && !coir_chan_is_inner(coir_container_of(p->arms[i].recv.channel, struct coir_chan, channel));
}

static bool brings_cells(const struct part *p)
{
    return p->there != p->choice->f->vm && coir_status(&p->here.visit.select) == 0 && p->choice->brings.type
        && !p->choice->brings.type->flat;
}

coir_body(part_there, v) {
    arrives(v);
    coir_await(v, &v->select, coir_select, .arms = v->part->arms, .n = v->part->n);
    v->visitor.outer = false;
    v->task.status = v->select.task.status;
    served(v->part);
    if (brings_cells(v->part)) {
        coir_await(v, &v->pack, coir_pack, .vm = v->part->there, .params = &v->part->choice->brings, .n = 1,
                   .slots = v->part->choice->at);
        packed(v->part);
    }
    coir_visitor_goes(&v->visitor);
    v->part->came = true;
    if (v->part->there != v->part->choice->f->vm) {
        coir_heap_share(&v->part->there->heap);
        v->part->clock = coir_world_sends(v->part->there);
    }
} coir_end

/* Home again. */
static void part_ends(struct part_here *h)
{
    struct part *p = h->part;
    struct coir_vm *here = p->choice->f->vm;

    if (!p->came)
        p->choice->failed = coir_status(&h->visit);     /* there was no memory to go */
    if (p->there != here) {
        coir_world_gets(here, p->came ? p->clock : 0);
        coir_heap_share(&here->heap);
    }
    ends(p->choice);
}

coir_body(part_here, h) {
    if (h->part->there == h->part->choice->f->vm) {
        coir_await(h, &h->visit, part_there, .part = h->part);
    } else {
        h->part->clock = coir_world_sends(h->part->choice->f->vm);
        coir_await_on(h, h->part->there->shard, &h->visit, part_there, .part = h->part);
    }
    part_ends(h);
} coir_end

/* All have ended: the arm that was served, the time that has come, or neither. */
static void conclude(struct coir_choice *c)
{
    if (c->ends)
        c->f->vm->busy--;
    if (c->said != -EINPROGRESS)
        return;
    c->said = c->failed ? c->failed : -ECANCELED;
    if (!c->failed && c->timer < c->n && c->until <= coir_now()) {
        c->said = 0;
        c->taken = c->timer;
    }
}

static void begin_choice(struct coir_choice *c)
{
    c->said = -EINPROGRESS;
    c->timer = c->n;
    c->received = c->closed = false;
    c->i = 0;
}

/* What the next arm that sends far would send is to be packed; false: there is none. */
static bool is_to_pack(struct coir_choice *c)
{
    while (!c->packed && c->said == -EINPROGRESS && c->i < c->n) {
        const uint32_t i = c->i++;

        if (!coir_arm_is_chan(word(c, i)) || !sends_far(c, i))
            continue;
        c->brings = (struct coir_param){ coir_cell_type(c->f, &chan_of(c, i)->head)->element, COIR_MODE_OWN };
        c->at = window_of(c, i);
        return true;
    }
    return false;
}

static void packed_one(struct choosing *f)
{
    if (coir_status(&f->pack) == 0)
        return;
    f->choice->said = coir_status(&f->pack);
    f->choice->stays = f->pack.stays;
}

/* Looks at arms until one is ready, or lives far: then true. */
static bool is_to_look_far(struct coir_choice *c)
{
    for (; c->said == -EINPROGRESS && c->i < c->n; c->i++) {
        if (!coir_arm_is_chan(word(c, c->i))) {
            look_at_time(c);
        } else if (is_home(c, c->i)) {
            look_here(c);
        } else {
            prepare_far(c);
            return true;
        }
    }
    return false;
}

static void looked_far(struct coir_choice *c)
{
    c->stays = c->far.stays;
    looked(c, c->far.said);
    c->i++;
}

coir_body(choosing, f) {
    begin_choice(f->choice);
    while (is_to_pack(f->choice)) {
        coir_await(f, &f->pack, coir_pack, .vm = f->choice->f->vm, .params = &f->choice->brings, .n = 1,
                   .slots = f->choice->at);
        packed_one(f);
    }
    f->choice->packed = f->choice->said == -EINPROGRESS;
    f->choice->i = 0;
    while (is_to_look_far(f->choice)) {
        coir_await(f, &f->trip, coir_trip, .far = &f->choice->far);
        looked_far(f->choice);
    }
    if (f->choice->said == -EINPROGRESS && f->choice->now) {
        f->choice->said = -EAGAIN;
    } else if (f->choice->said == -EINPROGRESS) {
        set_out(f->choice);
        coir_await(f, &f->race, coir_combine, .kids = f->choice->kids, .n = f->choice->nkids, .how = COIR_RACE);
        conclude(f->choice);
    }
} coir_end

static struct coir_choice *choice_new(struct coir_fiber *f, uint32_t n)
{
    const uint32_t shards = f->vm->world->n, parts = (shards < n ? shards : n) + 1;
    const size_t arms = n + parts;
    struct coir_choice *c = coir_scratch(f, sizeof *c + parts * sizeof *c->parts + arms * sizeof *c->arms
                                         + parts * sizeof *c->kids + arms * sizeof *c->which, NULL);

    if (c && !c->parts) {
        c->parts = (struct part *)(c + 1);
        c->arms = (struct coir_arm *)(c->parts + parts);
        c->kids = (struct coir_task **)(c->arms + arms);
        c->which = (uint32_t *)(c->kids + parts);
    }
    return c;
}

static enum coir_native_result take_choice(struct coir_fiber *f, uint64_t *r, const struct coir_choice *c)
{
    const uint64_t w = f->pc[1 + c->taken];

    if (COIR_I_D(w) == COIR_ARM_SEND && c->closed)
        return coir_trap_closed(f);
    if (COIR_I_D(w) == COIR_ARM_RECV)
        coir_chan_received(coir_cell_type(f, coir_ref(r[COIR_I_A(w)])), &r[COIR_I_B(w)], c->received);
    return coir_arm_goes(f, w);
}

enum coir_native_result coir_select_far(struct coir_fiber *f, uint64_t *r, unsigned n, bool now)
{
    struct coir_choice *c = choice_new(f, n);

    if (!c)
        return coir_trap_memory(f);
    f->away = false;
    if (f->step == 0 || (c->said == -ECANCELED && coir_fiber_waits_again(f))) {
        f->away = f->inner = true;
        for (unsigned i = 0; i < n; i++)
            f->inner &= coir_arm_is_chan(f->pc[1 + i]);
        if (f->step == 0)
            c->began = coir_now();
        c->f = f;
        c->r = r;
        c->n = n;
        c->now = now;
        return coir_wait_for(f, &c->choosing, choosing, .choice = c);
    }
    if (c->said == 0)
        return take_choice(f, r, c);
    if (c->said == -EAGAIN)
        return COIR_NATIVE_DONE;
    return c->said == -EXDEV ? coir_trap_outside(f, -EXDEV, c->stays, NULL) : coir_trap_status(f, c->said, NULL);
}
