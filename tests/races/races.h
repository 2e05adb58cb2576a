/* SPDX-License-Identifier: MIT */
/*
 * How both orders of a race are driven, without waiting for luck.
 *
 * A contender waits for something. An event ends that wait well; a rival ends it otherwise: a cancel, a deadline, a
 * close, a stop, a failure of its group. Both are done by one step of another task, or by two timers of one instant,
 * one right after the other, and the contender sees neither before both have been:
 *
 *      A    the event, then the rival: what had been done counts, and the contender reports it
 *      B    the rival, then the event, in the same step; and once more, with the contender's end in between
 *
 * In B the kernel of a ring hears of a cancel when the step is over, and so of the event first: then either may come
 * out. What must hold is that nothing is lost and nothing is doubled, and each contender counts for itself. Where the
 * rival is through, with its end in between, it has won.
 *
 * Nothing here depends on the order in which tasks run, beyond that a step is not interrupted. A wait that ends by
 * itself, as one for a file does, may be over before the driver sees it: then it is tried again, with more idle steps
 * beside it, or one before it, which shifts what falls into one turn.
 */
#ifndef COIR_TESTS_RACES_RACES_H
#define COIR_TESTS_RACES_RACES_H

#include <coir/coir.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "runtime/plane/lends.h"
#include "runtime/plane/plane.h"
#include "runtime/plane/uring.h"
#include "runtime/task/home.h"
#include "tests/ops/net.h"

/* ---- what is printed ---- */

static char race_name[96];
static char race_order;

/* From here on checks are of this race, in this order: tests/races/check reads that. */
TAP_UNUSED static void race_is(const char *what, const char *rival, char order)
{
    snprintf(race_name, sizeof race_name, "%s vs %s", what, rival);
    race_order = order;
}

#define RACE_EQ(a, b, ...) race_eq((long long)(a), (long long)(b), #a, #b, __FILE__, __LINE__, __VA_ARGS__)
#define RACE_OK(cond, ...) RACE_EQ(!!(cond), 1, __VA_ARGS__)

TAP_PRINTF(7, 8)
static bool race_eq(long long a, long long b, const char *sa, const char *sb, const char *file, int line,
                    const char *fmt, ...)
{
    char what[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return tap_eq(a, b, sa, sb, file, line, "[%s, %c] %s", race_name, race_order, what);
}

/* ---- the parties ---- */

enum rival { CANCEL, DEADLINE, CLOSE, STOP, FAILURE, RIVALS };
static const char *const rival_names[] = { "cancel", "deadline", "close", "stop", "failure" };
enum order { EVENT_FIRST, RIVAL_FIRST, RIVAL_THROUGH, ORDERS };

struct world;

struct contest {
    const char *name;
    bool (*begin)(struct world *w);              /* before anything runs; NULL: nothing to do. false: not here */
    struct coir_task *(*make)(struct world *w);  /* the contender's wait, which leaves what it got in w */
    void (*event)(struct world *w);
    /* it has ended, with w->won or not; the event has been */
    void (*check)(struct world *w);
    void (*end)(struct world *w);                /* after the run; NULL: nothing to do */
    bool (*ready)(struct world *w);              /* it waits; NULL: one operation is in flight, and a turn has passed */
    unsigned rivals;                             /* a bit for each it has */
    /* who comes second: the event wins all the same, and without it there is no end */
    bool stubborn;
    bool has_no_after;                           /* RIVAL_THROUGH cannot be driven */
    bool partly;                                 /* the event is not all that it wants: it loses, with what it has */
};

struct world {
    const struct contest *contest;
    enum rival rival;
    enum order order;
    struct coir_scope scope;                     /* around the wait */
    struct coir_group group;
    struct coir_alarm alarm;
    int64_t at;                                  /* when the deadline passes */
    uint64_t turns;
    bool begun, ended, won, missed;              /* missed: it has ended before the driver saw it wait */
    bool later;                                  /* it waits a step later */
    unsigned idle;                               /* tasks beside them, a step each */
    int cleaned;                                 /* how often the contender's coir_finally ran */
    int status, outer;                           /* of the wait, and of the scope around it */
    /* the contest's own */
    int fd, peer, twin, other;
    size_t filled, result;
    long long number, item;
    char buf[8];
    struct coir_lent lent;
    void *thing;
};

static struct world world;

/* ---- the contender ---- */

struct idles { coir_frame_void; coir_no_args; };
static coir_declare(idles);
coir_body(idles, f) {
    (void)f;
} coir_end

struct contender {
    coir_frame_void;
    coir_args(struct world *w; int64_t deadline;);
    struct coir_task *kids[1];
    union {
        struct idles idle;
        struct coir_combine one;
    };
};
static coir_declare(contender);

coir_body(contender, f) {
    if (f->w->later)
        coir_await(f, &f->idle, idles);
    f->kids[0] = f->w->contest->make(f->w);
    f->w->begun = true;
    coir_within(f, &f->w->scope, f->deadline, &f->one, coir_combine, .kids = f->kids, .n = 1, .how = COIR_RACE);
    f->w->outer = coir_status(&f->one);
    coir_check(f, &f->one);
    coir_finally(f) {
        f->w->cleaned++;
        f->w->ended = true;
    }
} coir_end

/* The wait of a contest, in a body of its own: keeps the status, whatever comes. */
#define RACE_WAITS(name, keep, op, ...) \
    struct name { coir_frame_void; coir_args(struct world *w;); struct op slot; }; \
    static coir_declare(name); \
    coir_body(name, f) { \
        coir_await(f, &f->slot, op, __VA_ARGS__); \
        f->w->status = coir_status(&f->slot); \
        keep; \
        coir_check(f, &f->slot); \
    } coir_end \
    static struct coir_task *make_##name(struct world *w) { return coir_new(name, .w = w); }

/* ---- the driver ---- */

static bool is_ready(struct world *w)
{
    if (!w->begun)
        return false;
    if (w->contest->ready)
        return w->contest->ready(w);
    if (!coir_plane_here()->in_flight)
        return false;
    if (!w->turns)
        w->turns = coir_shard_here()->stats.turns;
    return coir_shard_here()->stats.turns > w->turns + 1;
}

static void event_fires(struct coir_alarm *alarm)
{
    struct world *w = coir_container_of(alarm, struct world, alarm);

    w->contest->event(w);
}

static void arm(struct world *w)
{
    w->alarm.fire = event_fires;
    coir_wheel_add(&coir_shard_here()->wheel, &w->alarm.timer, w->at);
}

/* The event, as soon as the other has closed the descriptor, or its group has failed. */
struct follows {
    coir_frame_void;
    coir_args(struct world *w;);
    struct coir_pass pass;
};
static coir_declare(follows);

coir_body(follows, f) {
    while (f->w->rival == FAILURE && !coir_cancelled(f))
        coir_await(f, &f->pass, coir_pass);
    f->w->contest->event(f->w);
} coir_end

struct fails {
    coir_frame_void;
    coir_args(struct world *w;);
};
static coir_declare(fails);

coir_body(fails, f) {
    if (f->w->order == EVENT_FIRST)
        f->w->contest->event(f->w);
    coir_fail(f, EPROTO);
} coir_end

struct drives {
    coir_frame_void;
    coir_args(struct world *w;);
    struct coir_task *kids[2];
    union {
        struct coir_pass pass;
        struct coir_close close;
        struct coir_combine all;
        struct coir_sleep sleep;
        struct coir_group_wait wait;
    };
};
static coir_declare(drives);

/* What a single step can do; true: that was it. */
static bool at_once(struct world *w)
{
    if (w->order == EVENT_FIRST && w->rival != DEADLINE && w->rival != FAILURE)
        w->contest->event(w);
    if (w->rival == CANCEL) {
        coir_scope_cancel(&w->scope);
        if (w->order == RIVAL_FIRST)
            w->contest->event(w);
    } else if (w->rival == DEADLINE) {
        if (w->order == RIVAL_FIRST)             /* behind the deadline's timer, that came first */
            arm(w);
        coir_shard_here()->virtual_now = w->at;
    } else if (w->rival == STOP) {
        coir_stop();
    } else {
        return false;
    }
    return true;
}

coir_body(drives, f) {
    f->w->at = coir_now() + 5 * COIR_MS;
    if (f->w->rival == DEADLINE && f->w->order == EVENT_FIRST)
        arm(f->w);
    coir_group_open(f, &f->w->group);
    for (; f->w->idle; f->w->idle--)
        coir_spawn(&f->w->group, coir_new(idles));
    coir_spawn(&f->w->group, coir_new(contender, .w = f->w,
                                      .deadline = f->w->rival == DEADLINE ? f->w->at : COIR_NEVER));
    while (!is_ready(f->w) && !f->w->ended)
        coir_try(f, &f->pass, coir_pass);
    f->w->missed = f->w->ended;
    if (f->w->missed) {
        if (coir_timer_armed(&f->w->alarm.timer))
            coir_wheel_remove(&coir_shard_here()->wheel, &f->w->alarm.timer);
    } else if (at_once(f->w)) {
        if (f->w->rival == STOP) {
            coir_await(f, &f->sleep, coir_sleep, .ns = 3600 * COIR_S);      /* until it is stopped itself */
            if (f->w->order == RIVAL_FIRST)
                f->w->contest->event(f->w);
        }
    } else if (f->w->rival == FAILURE) {
        coir_spawn(&f->w->group, coir_new(fails, .w = f->w));
        if (f->w->order == RIVAL_FIRST)
            coir_spawn(&f->w->group, coir_new(follows, .w = f->w));
    } else if (f->w->order == RIVAL_FIRST) {
        f->kids[0] = coir_new(coir_close, .fd = f->w->fd);
        f->kids[1] = coir_new(follows, .w = f->w);
        coir_await(f, &f->all, coir_combine, .kids = f->kids, .n = 2, .how = COIR_ALL);
    } else {
        coir_await(f, &f->close, coir_close, .fd = f->w->fd);
    }
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->w->group);
        if (f->w->order == RIVAL_THROUGH && !f->w->missed)
            f->w->contest->event(f->w);
        f->w->won = f->w->status == 0;
        if (!f->w->missed)
            f->w->contest->check(f->w);
    }
} coir_end

/* What the scope around it says of a contender that has lost. */
static int lost_by(const struct world *w)
{
    return w->rival == DEADLINE ? -ETIMEDOUT : -ECANCELED;
}

static void judge(const struct world *w, int fds)
{
    const bool through = w->order == RIVAL_THROUGH;

    RACE_EQ(w->cleaned, 1, "its coir_finally has run, once");
    if (w->contest->partly)
        RACE_EQ(w->status, -ECANCELED, "what it wanted had not come");
    else if (w->order == EVENT_FIRST || w->contest->stubborn)
        RACE_EQ(w->status, 0, "what had been done counts");
    else if (through)
        RACE_EQ(w->status, -ECANCELED, "the rival was through");
    else
        RACE_OK(w->status == 0 || w->status == -ECANCELED, "one of the two: %d", w->status);
    RACE_EQ(w->outer, w->status == 0 ? 0 : lost_by(w), "and so says the scope around it");
    RACE_EQ(count_fds(), fds, "no descriptor is left");
}

/* False: it was missed. */
static bool race_once(const struct contest *c, enum rival rival, enum order order, unsigned tries)
{
    struct world *w = &world;
    const int fds = count_fds();
    int status;

    memset(w, 0, sizeof *w);
    w->contest = c;
    w->rival = rival;
    w->order = order;
    w->later = tries % 2;
    w->idle = tries / 2;
    w->fd = w->peer = w->twin = w->other = -1;
    w->status = w->outer = 1;
    race_is(c->name, rival_names[rival], order == EVENT_FIRST ? 'A' : 'B');
    if (c->begin && !c->begin(w)) {
        SKIP("[%s, %c] cannot be driven here", race_name, race_order);
        return true;
    }
    status = coir_run(NULL, coir_new(drives, .w = w));
    RACE_EQ(status, 0, "the run ends well");
    if (c->end)
        c->end(w);
    if (!w->missed)
        judge(w, fds);
    return !w->missed;
}

static void race_one(const struct contest *c, enum rival rival, enum order order)
{
    enum { TRIES = 64 };
    unsigned n = 0;

    while (n < TRIES && !race_once(c, rival, order, n))
        n++;
    if (n == TRIES)
        RACE_OK(false, "it is seen to wait");
}

/* What has begun is with the kernel, or where coir_uring_enter gives it to the kernel. */
TAP_UNUSED static bool is_sent(void)
{
    struct coir_plane *const p = coir_plane_here();

    return p->in_flight && !(p->kind == &coir_uring && coir_uring_self(p)->unsent);
}

/* Every rival of the contest, in every order. */
TAP_UNUSED static void race_all(const struct contest *c)
{
    for (enum rival rival = 0; rival < RIVALS; rival++) {
        for (enum order order = 0; order < ORDERS; order++) {
            if (c->rivals >> rival & 1 && !(order == RIVAL_THROUGH && (c->stubborn || c->has_no_after)))
                race_one(c, rival, order);
        }
    }
}

enum { ALL_RIVALS = (1 << RIVALS) - 1, BUT_CLOSE = ALL_RIVALS & ~(1 << CLOSE) };

#endif
