/* SPDX-License-Identifier: MIT */
/*
 * A shard, as the tasks that live on it see it: run queues, timers, inbox, memory, the root group, counters.
 * The loop that turns it stands in runtime/shard, what moves bytes behind runtime/plane/plane.h; neither is
 * known here.
 *
 * Everything is written on the shard's own thread, except `inbox` (any thread pushes), `asleep`, `external` and the
 * counter of slow steps.
 *
 * How a wake-up travels: whatever ends a wait calls coir_ready(leaf). The loop resumes the leaf, and when it
 * has ended its awaiter, and so on upwards until somebody parks again: O(1) in the depth, and never from
 * inside the one who woke it.
 */
#ifndef COIR_RUNTIME_TASK_HOME_H
#define COIR_RUNTIME_TASK_HOME_H

#include <coir/combine.h>
#include <coir/group.h>
#include <coir/see.h>
#include <coir/shard.h>
#include <coir/time.h>

#include <stdlib.h>
#include <time.h>

#include "runtime/base/assert.h"
#include "runtime/base/inbox.h"
#include "runtime/base/pool.h"
#include "runtime/base/queue.h"
#include "runtime/base/torture.h"
#include "runtime/base/wheel.h"
#include "runtime/task/note.h"
#include "runtime/task/watch.h"

enum { COIR_MAX_SHARDS = 64 };
#define COIR_PATIENCE (10 * COIR_S)     /* what is in coir_finally may take so long after a cancellation */

struct coir_queue {
    struct coir_task *head, **tail;
};

struct coir_notes;
struct coir_plane;
struct coir_runtime;

/* A letter is a message that knows what it is for. It lies in its sender's object and is delivered on
 * the shard's thread. */
struct coir_letter {
    struct coir_msg msg;
    void (*deliver)(struct coir_shard *s, struct coir_letter *letter);
};

/* A task that runs here for an awaiter on another shard. */
struct coir_guest {
    struct coir_guest *next, **link;
    struct coir_task *task;
    unsigned home;                      /* that shard */
};

struct coir_shard {
    struct coir_task *running;          /* the front of the run queue: what the loop has taken of it */
    struct coir_task *ready;            /* the rest of it, FIFO; its end is coir_here.ready_end */
    struct coir_queue background;       /* runs when `ready` is empty, or has had its turn */
    /* atomic: whose body the loop has called last in this turn; `root_task`: what ended with nobody to await it */
    struct coir_task *stepping;
    struct coir_task *ended;            /* the child whose end resumed the running task: for coir_combine */
    /* the C stack between the loop's frame and its end: memory no operation may use */
    uintptr_t stack_top, stack_low;
    bool stack_unknown;                 /* where its end is: then stack_low is stack_top, and nothing lies between */
    bool torture;                       /* the program was built with COIR_TORTURE */
    struct coir_notes *notes;           /* who looks (note.h); NULL: nobody */
    struct coir_watch watch;

    struct coir_wheel wheel;
    int64_t virtual_now;                /* under COIR_TIME=virtual; else < 0 */
    struct coir_pool pool;
    struct coir_birth *unborn;          /* frames of coir_new that have not begun */
    struct coir_group root;             /* owns what coir_detach and coir_spawn_on begin */
    struct coir_task root_task;         /* the root group's opener: has no body, never runs */
    struct coir_link groups;            /* all open ones, the root group last: for who counts tasks */
    struct coir_scope *visits, **visits_end;   /* scopes that cancelling still has to walk (scope.c) */
    bool visiting;
    struct coir_guest *guests;
    struct coir_child *children;        /* programs that were started and not left (ops/process.h) */
    int *shields;                       /* atomic, the run's: open coir_shield scopes that stopping waits for */
    bool shields_ended;                 /* the last of them has been shut here: the other shards are to look */
    bool stopping;                      /* stopping has been asked for: shields opened from now on do not hold it */

    struct coir_plane *plane;
    struct coir_runtime *run;
    unsigned id;
    bool counted;                       /* holds one of the run's `busy`: see runtime/shard/run.h */
    bool held_signals[2];               /* which of those of runtime/shard/signals.c it blocked itself */
    bool stopped;                       /* the root group has been cancelled */
    int deadlocks;                      /* of the run's, those this shard has seen */
    unsigned jobs;                      /* on pools, for this shard: they end by themselves */
    union {
        uint16_t apart;                 /* either: what becomes ready is not only queued */
        struct {
            bool outside;               /* in another loop, between turns: it is to be told */
            bool noted;                 /* `notes` is set */
        };
    };
    unsigned arrived;                   /* letters of this turn that hold one of the run's `busy` */
    int64_t spin;                       /* ns to look for letters before sleeping, adapted */
    clockid_t cpu;                      /* of its thread: how long that has run; any thread may ask */
    struct coir_stats stats;

    struct coir_inbox inbox;
    _Alignas(64) int asleep;            /* atomic: 1 while the loop waits in the kernel, or is about to */
    int posting;                        /* atomic: threads that are no shard, in the middle of coir_post */
    /* atomic: waits that somebody outside the run may end: cells, offloads */
    int external;
};

struct coir_reaper {
    void (*ended)(struct coir_reaper *r, const struct coir_task *t);   /* on the task's shard */
};

/* The allocator's view of a heap frame: lies right before it. */
struct coir_birth {
    struct coir_birth *prev, *next;     /* members of a group; before that, frames that have not begun */
    struct coir_group *group;
    const struct coir_site *site;       /* the coir_new */
    uint32_t size;                      /* of the whole; 0: not from a pool */
    union {
        uint32_t made;                  /* both at once */
        struct {
            uint32_t maker : 8;         /* the id of the shard it was made on, or COIR_BARE */
            uint32_t number : 24;       /* its number on its shard, once it has begun; 0: nobody looks (note.h) */
        };
    };
    struct coir_reaper *reaper;         /* who wants to know of its end before it is freed; NULL: nobody */
};
_Static_assert(sizeof(struct coir_birth) == 48, "a parked task costs 192 bytes: this, two headers, 16 spare");
_Static_assert(sizeof(struct coir_task) == 64, "one cache line");

enum { COIR_BARE = COIR_MAX_SHARDS };       /* made on no shard's thread: of malloc, not of a pool */

static inline struct coir_birth *coir_birth_of(struct coir_task *t)
{
    return (struct coir_birth *)t - 1;
}

static inline struct coir_task *coir_born(struct coir_birth *b)
{
    return (struct coir_task *)(b + 1);
}

static inline struct coir_shard *coir_shard_here(void)
{
    return coir_here.shard;
}

static inline void coir_queue_init(struct coir_queue *q)
{
    q->head = NULL;
    q->tail = &q->head;
}

static inline void coir_queue_push(struct coir_queue *q, struct coir_task *t)
{
    t->next = NULL;
    *q->tail = t;
    q->tail = &t->next;
}

static inline struct coir_task *coir_queue_pop(struct coir_queue *q)
{
    struct coir_task *t = q->head;
    if (t) {
        q->head = t->next;
        if (!q->head)
            q->tail = &q->head;
    }
    return t;
}

/* The rare cases of coir_ready_on: on the background queue, between the turns that another loop runs, or noted. */
void coir_ready_apart(struct coir_shard *s, struct coir_task *t) __attribute__((cold));
/* The same of a new member. */
void coir_member_ready_apart(struct coir_shard *s, struct coir_task *t) __attribute__((cold));

/* In another loop, between turns: the next turn is due at once (foreign.c). */
void coir_due_at_once(struct coir_shard *s) __attribute__((cold));

/* Puts a task that is to be resumed at the tail of the run queue. On its shard; it must be in no queue. */
static inline void coir_ready_on(struct coir_shard *s, struct coir_task *t)
{
    if (COIR_UNLIKELY((t->flags & COIR_TASK_BACKGROUND_) | s->apart))
        coir_ready_apart(s, t);
    else
        coir_ready_(t);
}

static inline void coir_ready(struct coir_task *t)
{
    coir_ready_on(coir_here.shard, t);
}

/* A parked leaf ends: nobody may abort it any more, and its body runs. */
static inline void coir_wake(struct coir_task *leaf)
{
    leaf->abort = NULL;
    coir_ready(leaf);
}

/* Delivers a letter on shard `s`; wakes it if it sleeps. Any thread; the letter is the shard's from now
 * on. */
void coir_post(struct coir_shard *s, struct coir_letter *letter);

/* Counts a wait that an outsider ends (+1), or its end (-1): while there is one, silence is not a
 * deadlock. Any thread. */
static inline void coir_external(struct coir_shard *s, int by)
{
    __atomic_add_fetch(&s->external, by, __ATOMIC_RELAXED);
}

/* The run's pool for file operations, made when it is first needed; NULL for no memory. Any shard's
 * thread (run.c). */
struct coir_workers *coir_file_workers(struct coir_runtime *run);

/* Names on stderr the programs that nobody has left, and kills them: at the end of a shard (ops/process.c). */
void coir_children_end(struct coir_shard *s);

/* ---- law 1 at run time (live.c) ---- */

/* 0; or -EFAULT, also left in t->status, when `t` itself or the memory at `p` lies on the C stack below
 * the loop, where nothing survives an await; that is said on stderr, with the place. What the loop's
 * caller holds is fine, and so is NULL. */
static inline int coir_arguments_live(struct coir_task *t, const void *p, const char *operation);
int coir_on_dead_stack(struct coir_task *t, const void *p, const char *operation) __attribute__((cold));
/* Stops the program if `p`, of what cannot answer -EFAULT, lies there. `t` stands at the place. */
void coir_must_live(const struct coir_task *t, const void *p, const char *operation);

static inline bool coir_is_live(const struct coir_shard *s, const void *p)
{
    return (uintptr_t)p - s->stack_low >= s->stack_top - s->stack_low;   /* below, or not under the top */
}

static inline int coir_arguments_live(struct coir_task *t, const void *p, const char *operation)
{
    const struct coir_shard *s = coir_shard_here();

    if (COIR_LIKELY(coir_is_live(s, t) && coir_is_live(s, p)))
        return 0;
    return coir_on_dead_stack(t, coir_is_live(s, t) ? p : t, operation);
}

/* ---- frames (frame.c) ---- */

/* Stops the program: `t` is no frame of coir_new, or has been given to somebody already. */
void coir_not_new(const struct coir_task *t) __attribute__((noreturn, cold));
/* The same as below for one that was made on no shard's thread. */
void coir_bare_begins(struct coir_birth *b) __attribute__((cold));

static inline void coir_must_be_new(const struct coir_task *t)
{
    if (COIR_UNLIKELY((t->flags & (COIR_TASK_LAZY_ | COIR_TASK_HEAP_)) != (COIR_TASK_LAZY_ | COIR_TASK_HEAP_)))
        coir_not_new(t);
}

/* A frame leaves the list of those that have not begun. On the thread that made it. */
static inline void coir_frame_begins(struct coir_task *t)
{
    struct coir_birth *b = coir_birth_of(t);
    struct coir_shard *s = coir_shard_here();

    coir_must_be_new(t);
    t->flags ^= COIR_TASK_LAZY_;
    if (COIR_UNLIKELY(!s || s->id != b->made)) {     /* it has no number yet */
        coir_bare_begins(b);
        return;
    }
    if (b->next)
        b->next->prev = b->prev;
    *(b->prev ? &b->prev->next : &s->unborn) = b->next;
}

/* Names on stderr what coir_make made on this thread and never ran: at the end of a shard (made.c). */
void coir_made_end(void);

/* Gives a heap frame's memory back, ended or not, without a report. */
static inline void coir_frame_free(struct coir_task *t)
{
    struct coir_birth *b = coir_birth_of(t);

    if (COIR_UNLIKELY(b->maker == COIR_BARE))
        free(b);
    else
        coir_pool_free(&coir_shard_here()->pool, b, b->size);
}

/* Frees a frame that will not begin, without a report: whoever took it has said why. NULL is allowed. */
void coir_discard(struct coir_task *t);
/* The list of frames made on no shard's thread, over a fork. */
void coir_frames_hold(void);
void coir_frames_let_go(void);
/* Names on stderr what was made and never ran, and frees it: at the end of a shard, and for threads that
 * are none. */
size_t coir_report_unborn(struct coir_birth **list);

/* ---- scopes (scope.c) ---- */

/* coir_cancelled, for what is inside: hardly ever is anything cancelled. */
static inline bool coir_is_cancelled(const struct coir_task *t)
{
    return COIR_UNLIKELY(coir_here.cancelled) && coir_cancelled_(t);
}

/* `t` says -ECANCELED at once, as it was begun in a cancelled scope: counts that for those who await it, and names on
 * stderr who goes on all the same. Value: -ECANCELED (refuse.c). */
int coir_refuse(const struct coir_task *t) __attribute__((cold));

/* The same, asked by an operation about to suspend, which then refuses. */
static inline bool coir_is_refused(const struct coir_task *t)
{
    return COIR_UNLIKELY(coir_here.cancelled) && coir_cancelled_(t) && coir_refuse(t);
}

/* The innermost scope by which `t` is cancelled; NULL: it is not. */
const struct coir_scope *coir_cancelled_by(const struct coir_task *t);

/* Makes a scope of the given kind inside `outer`, without a deadline. */
void coir_scope_begin(struct coir_scope *s, struct coir_scope *outer, int kind);
/* Cancels it through coir_finally too, and says nothing of that: who asks for it on another shard has, if it is because
 * the patience of an outer scope has ended. */
void coir_scope_give_up(struct coir_scope *s);
/* Ends it: disarms what it armed. */
void coir_scope_end(struct coir_scope *s);

/* ---- groups (group.c) ---- */

void coir_group_begin(struct coir_group *g, struct coir_task *opener, struct coir_scope *outer, uint32_t limit);
/* Makes `t` a member, queued. The limit is not looked at. */
static inline void coir_group_adopt(struct coir_group *g, struct coir_task *t)
{
    struct coir_shard *s = coir_shard_here();
    struct coir_birth *b = coir_birth_of(t);

    t->scope = &g->scope;
    b->group = g;
    b->next = NULL;
    b->prev = g->last;
    *(g->last ? &g->last->next : &g->first) = b;
    g->last = b;
    g->live++;
    s->stats.tasks++;
    if (COIR_UNLIKELY((t->flags & COIR_TASK_BACKGROUND_) | s->apart))
        coir_member_ready_apart(s, t);
    else
        coir_ready_(t);
}

/* A task without an awaiter has ended: it leaves its group and is freed. */
void coir_member_ended(struct coir_task *t);
/* Gives up members that cannot be woken: they are leaked, with what they hold. */
void coir_group_abandon(struct coir_group *g);
/* The group's own scope or one around it. */
bool coir_group_is_cancelled(const struct coir_group *g);

/* ---- combinators (combine.c) ---- */

/* Hands every child of the combinator that owns scope `s` and has begun to coir_stop_kid. */
void coir_combine_each(struct coir_scope *s, struct coir_shard *h, bool final);
/* Walks one such child's chain; `final`: through coir_finally too (scope.c). */
void coir_stop_kid(struct coir_shard *h, struct coir_task *kid, struct coir_scope *s, bool final);

#endif
