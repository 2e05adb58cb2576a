/* SPDX-License-Identifier: MIT */
/*
 * coir_serve. Its state is one object on the heap, with a worker for each shard:
 *
 *      coir_serve --coir_all--> go (for each shard) --coir_await_on--> keep, on that shard: a group of connections
 *                                                                        and, where there is a listener, an acceptor
 *
 * An acceptor gives connections to the workers it feeds: to its own directly, to another shard's by a letter. What
 * shards share are counters, all atomic, and the one cell by which a worker tells its acceptor that it has room.
 *
 * The object is counted: by coir_serve, and by each letter under way. Who counts connections, from any shard, finds it
 * through the frame of coir_serve, and looks at it under a lock, under which coir_serve also puts it there and takes it
 * away. One lock for all of them: nothing else takes it, and nothing but a few loads happens under it.
 */
#include <coir/cell.h>
#include <coir/group.h>
#include <coir/serve.h>
#include <coir/time.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/ops/listen.h"
#include "runtime/shard/run.h"

enum { NOT_YET, OPEN, SHUT };

struct worker {
    _Alignas(64) struct coir_serving *serving;
    struct worker *acceptor;         /* who feeds it: itself, or home's */
    unsigned shard;
    int listener;                    /* -1: none */
    struct coir_group *group;        /* its shard's: of the connections, while open */
    struct coir_reaper reaper;       /* of each connection's task */
    unsigned turn;                   /* an acceptor's: where to look next */
    _Alignas(64) int open;           /* atomic, written on its shard */
    struct coir_cell *room;          /* atomic, an acceptor's: it waits until one of those it feeds has room */
    uint64_t taken, live, failed, refused;   /* atomic */
};

struct coir_serving {
    struct coir_task *(*handler)(int fd, void *arg);
    void *arg;
    enum coir_spread spread;
    uint32_t limit;
    int64_t grace;
    unsigned n;
    int references;                  /* atomic */
    struct coir_task *kids[COIR_MAX_SHARDS];
    struct worker worker[];
};

static void drop(struct coir_serving *s)
{
    if (__atomic_sub_fetch(&s->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(s);
}

static void count(uint64_t *counter, int64_t by)
{
    __atomic_add_fetch(counter, (uint64_t)by, __ATOMIC_SEQ_CST);
}

static uint64_t counted(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

/* ---- room ---- */

static bool has_room(const struct worker *w)
{
    return __atomic_load_n(&w->open, __ATOMIC_SEQ_CST) == OPEN
        && (!w->serving->limit || counted(&w->live) < w->serving->limit);
}

static bool feeds(const struct worker *me, const struct worker *w)
{
    return w->acceptor == me;
}

/* The worker whose turn it is, or NULL when none has room. */
static struct worker *choose(struct worker *me)
{
    struct coir_serving *s = me->serving;
    struct worker *best = NULL;

    for (unsigned i = 0; i < s->n; i++) {
        struct worker *w = &s->worker[(me->turn + i) % s->n];
        if (!feeds(me, w) || !has_room(w))
            continue;
        if (!best || counted(&w->live) < counted(&best->live))
            best = w;
        if (s->spread != COIR_SPREAD_LEAST)
            break;
    }
    if (best)
        me->turn = best->shard + 1;
    return best;
}

static bool any_room(const struct worker *me)
{
    for (unsigned i = 0; i < me->serving->n; i++) {
        if (feeds(me, &me->serving->worker[i]) && has_room(&me->serving->worker[i]))
            return true;
    }
    return false;
}

/* Something has changed that its acceptor may wait for. Any shard. */
static void tell_acceptor(struct worker *w)
{
    struct coir_cell *cell = __atomic_exchange_n(&w->acceptor->room, NULL, __ATOMIC_SEQ_CST);

    if (!cell)
        return;
    coir_cell_complete(cell, 0, 0);
    coir_cell_drop(cell);
}

static void goes(struct worker *w)
{
    count(&w->live, -1);
    tell_acceptor(w);
}

/* ---- connections ---- */

static void connection_ended(struct coir_reaper *r, const struct coir_task *t)
{
    struct worker *w = coir_container_of(r, struct worker, reaper);

    if (t->status < 0)
        count(&w->failed, 1);
    goes(w);
}

static void refuse(struct worker *w, int fd)
{
    close(fd);
    count(&w->refused, 1);
    goes(w);
}

/* On the worker's shard; it is counted as live. */
static void take(struct worker *w, int fd)
{
    struct coir_task *t = w->group ? w->serving->handler(fd, w->serving->arg) : NULL;

    if (!t) {
        refuse(w, fd);
        return;
    }
    coir_birth_of(t)->reaper = &w->reaper;
    coir_spawn(w->group, t);
}

struct handover {
    struct coir_letter letter;
    struct worker *to;
    int fd;
};

static void arrives(struct coir_shard *here, struct coir_letter *letter)
{
    struct handover *h = coir_container_of(letter, struct handover, letter);
    struct coir_serving *s = h->to->serving;

    here->arrived++;
    take(h->to, h->fd);
    coir_pool_free(&here->pool, h, sizeof *h);
    drop(s);
}

/* From the acceptor's shard to the worker's. The run is busy until it has arrived. */
static void hand_over(struct worker *w, int fd)
{
    struct coir_shard *here = coir_shard_here();
    struct handover *h = coir_pool_alloc(&here->pool, sizeof *h);

    if (!h) {
        refuse(w, fd);
        return;
    }
    h->letter.deliver = arrives;
    h->to = w;
    h->fd = fd;
    __atomic_add_fetch(&w->serving->references, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&here->run->busy, 1, __ATOMIC_SEQ_CST);
    coir_post(here->run->shard[w->shard], &h->letter);
}

static void give(struct worker *w, int fd)
{
    if (!w) {                        /* all have shut meanwhile */
        close(fd);
        return;
    }
    count(&w->taken, 1);
    count(&w->live, 1);
    if (w->shard == coir_shard_here()->id)
        take(w, fd);
    else
        hand_over(w, fd);
}

/* ---- waiting for room ---- */

struct find_room {
    coir_frame_void;
    coir_args(struct worker *me;);
    struct coir_cell *cell;
    int status;
    struct coir_cell_wait wait;
};
static coir_declare(find_room);

/* The cell is published before the last look, so that whoever makes room after it sees the cell. */
coir_body(find_room, f) {
    while (!any_room(f->me)) {
        f->cell = coir_cell_new();
        if (!f->cell)
            coir_fail(f, -ENOMEM);
        __atomic_store_n(&f->me->room, f->cell, __ATOMIC_SEQ_CST);
        if (any_room(f->me))
            tell_acceptor(f->me);
        coir_await(f, &f->wait, coir_cell_wait, .cell = f->cell);
        f->status = coir_status(&f->wait);
        if (__atomic_exchange_n(&f->me->room, NULL, __ATOMIC_SEQ_CST))
            coir_cell_drop(f->cell);
        coir_cell_drop(f->cell);
        if (f->status < 0)
            coir_fail(f, f->status);
    }
} coir_end

struct acceptor {
    coir_frame_void;
    coir_args(struct worker *me;);
    int fd;
    union {
        struct coir_accept accept;
        struct find_room room;
    };
};
static coir_declare(acceptor);

coir_body(acceptor, f) {
    for (;;) {
        coir_try(f, &f->room, find_room, .me = f->me);
        coir_get(f, f->fd, &f->accept, coir_accept, .fd = f->me->listener);
        give(choose(f->me), f->fd);
    }
} coir_end

/* ---- a shard's part ---- */

/* Does nothing until it is cancelled: what keeps a shard whose connections come from another. */
struct rest {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(rest);

static void rest_abort(struct coir_task *t)
{
    t->status = -ECANCELED;
    coir_wake(t);
}

coir_step rest_resume(struct coir_task *t)
{
    if (t->state == 0 && !coir_is_refused(t)) {
        t->state = 1;
        t->abort = rest_abort;
        return COIR_PARK_;
    }
    t->status = -ECANCELED;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* Waits for the connections, at most `grace` before they are cancelled. */
struct drain {
    coir_frame_void;
    coir_args(struct coir_group *group; int64_t grace;);
    struct coir_scope scope;
    struct coir_group_wait wait;
};
static coir_declare(drain);

coir_body(drain, f) {
    if (f->grace <= 0)
        coir_group_cancel(f->group);
    coir_within(f, &f->scope, f->grace > 0 ? coir_now() + f->grace : COIR_NEVER, &f->wait, coir_group_wait,
                .group = f->group);
} coir_end

struct keep {
    coir_frame_void;
    coir_args(struct worker *me;);
    int status;
    struct coir_group group;
    struct coir_scope scope;
    union {
        struct acceptor acceptor;
        struct rest rest;
        struct coir_close close;
        struct drain drain;
    };
};
static coir_declare(keep);

/* The connections' group is shielded, so that what cancels the server leaves them their grace. */
coir_body(keep, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    f->group.scope.shield = COIR_SHIELDED_BY_CALL_;
    f->me->group = &f->group;
    __atomic_store_n(&f->me->open, OPEN, __ATOMIC_SEQ_CST);
    tell_acceptor(f->me);
    if (f->me->listener >= 0) {
        coir_await(f, &f->acceptor, acceptor, .me = f->me);
        f->status = coir_status(&f->acceptor);
    } else {
        coir_await(f, &f->rest, rest);
        f->status = coir_status(&f->rest);
    }
    __atomic_store_n(&f->me->open, SHUT, __ATOMIC_SEQ_CST);
    f->me->group = NULL;
    if (f->me->listener >= 0)
        coir_await(f, &f->close, coir_close, .fd = f->me->listener);
    f->me->listener = -1;
    coir_shield(f, &f->scope, &f->drain, drain, .group = &f->group, .grace = f->me->serving->grace);
    coir_fail(f, f->status);
} coir_end

struct go {
    coir_frame_void;
    coir_args(struct worker *me;);
    struct keep keep;
};
static coir_declare(go);

coir_body(go, f) {
    coir_await_on(f, f->me->shard, &f->keep, keep, .me = f->me);
    coir_check(f, &f->keep);
} coir_end

/* ---- what can be counted ---- */

static pthread_mutex_t shown = PTHREAD_MUTEX_INITIALIZER;     /* over `result` of each coir_serve */

static void show(struct coir_serve *op, struct coir_serving *s)
{
    pthread_mutex_lock(&shown);
    op->result = s;
    pthread_mutex_unlock(&shown);
}

int coir_serve_count(const struct coir_serve *op, unsigned shard, struct coir_served *out)
{
    const struct coir_serving *s;
    const struct worker *w;
    int err = -EINVAL;

    pthread_mutex_lock(&shown);
    s = op->result;
    if (s && shard < s->n) {
        w = &s->worker[shard];
        *out = (struct coir_served){ counted(&w->taken), counted(&w->live), counted(&w->failed),
                                     counted(&w->refused) };
        err = 0;
    }
    pthread_mutex_unlock(&shown);
    return err;
}

/* ---- setting up ---- */

static struct coir_serving *make(const struct coir_serve *op)
{
    const unsigned n = coir_shard_count();
    const size_t size = sizeof(struct coir_serving) + n * sizeof(struct worker);
    struct coir_serving *s = coir_alloc_fails() ? NULL : aligned_alloc(64, (size + 63) / 64 * 64);

    if (!s)
        return NULL;
    memset(s, 0, size);
    s->handler = op->handler;
    s->arg = op->arg;
    s->spread = op->spread;
    s->limit = op->limit;
    s->grace = op->grace;
    s->n = n;
    s->references = 1;
    for (unsigned i = 0; i < n; i++) {
        s->worker[i].serving = s;
        s->worker[i].shard = i;
        s->worker[i].listener = -1;
        s->worker[i].reaper.ended = connection_ended;
        s->worker[i].acceptor = &s->worker[coir_shard_here()->id];
    }
    return s;
}

static void close_listeners(struct coir_serving *s)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (s->worker[i].listener >= 0)
            close(s->worker[i].listener);
        s->worker[i].listener = -1;
    }
}

static int listen_first(const struct coir_serve *op, bool shared)
{
    struct coir_listen_options o = op->options ? *op->options : (struct coir_listen_options){ 0 };

    if (!op->where)
        return op->fd < 0 ? -EBADF : op->fd;
    o.reuse_port |= shared && strncmp(op->where, "unix:", 5) != 0;
    return coir_listen(op->where, &o);
}

/* A listener for each shard, or where they cannot share the address, one. 0 or a negative errno. */
static int listen_all(struct coir_serving *s, const struct coir_serve *op)
{
    const unsigned home = coir_shard_here()->id;
    const bool shared = s->n > 1 && s->spread == COIR_SPREAD_KERNEL;
    const int backlog = op->options ? op->options->backlog : 0, first = listen_first(op, shared);

    if (first < 0)
        return first;
    s->worker[home].listener = first;
    if (!shared || !coir_listener_is_shared(first))
        return 0;
    for (unsigned i = 0; i < s->n; i++) {
        s->worker[i].acceptor = &s->worker[i];
        if (i == home)
            continue;
        s->worker[i].listener = coir_listen_like(first, backlog);
        if (s->worker[i].listener < 0)
            return s->worker[i].listener;
    }
    return 0;
}

static int set_up(struct coir_serve *op)
{
    struct coir_serving *s;
    int err;

    if (!op->handler || op->grace < 0 || (unsigned)op->spread > COIR_SPREAD_LEAST)
        err = -EINVAL;
    else
        err = coir_arguments_live(&op->task, op->where, "coir_serve");
    s = err ? NULL : make(op);
    if (!s) {
        if (!op->where && op->fd >= 0)
            close(op->fd);
        return err ? err : -ENOMEM;
    }
    err = listen_all(s, op);
    if (err) {
        close_listeners(s);
        drop(s);
        return err;
    }
    for (unsigned i = 0; i < s->n; i++)
        s->kids[i] = coir_new(go, .me = &s->worker[i]);
    show(op, s);
    return 0;
}

/* Nobody serves any more: it is hidden from those who count, then let go. */
static void tear_down(struct coir_serve *op)
{
    struct coir_serving *s = op->result;

    close_listeners(s);              /* of those that could not even begin */
    show(op, NULL);
    drop(s);
}

coir_body(coir_serve, f) {
    f->task.status = set_up(f);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_all(f, &f->all, f->result->kids, f->result->n);
    f->task.status = coir_status(&f->all);
    tear_down(f);
    coir_fail(f, f->task.status);
} coir_end
