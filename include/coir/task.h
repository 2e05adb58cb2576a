/* SPDX-License-Identifier: MIT */
/*
 * coir/task.h - a task is a C struct (its frame) and a C function (its body).
 *
 *     struct pause { coir_frame_void; coir_args(int64_t ns;); struct coir_sleep sleep; };
 *     static coir_declare(pause);
 *     coir_body(pause, f) {
 *         coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
 *     } coir_end
 *
 * Suspending saves nothing but a number, the resume point: everything that must live across an await is
 * already in the frame. That is the one law of this header, and it is checked four ways (docs/tasks.md):
 *
 *   (a) a body turns the compiler's own warnings about jumped-over initialisers and values that may be unset
 *       into errors, for the length of the body and no further;
 *   (b) `return x;` in a body does not compile, leaving is coir_return, coir_fail, coir_try or the end;
 *   (c) an operation that is given memory on the C stack below the loop says -EFAULT, and where;
 *   (d) a build with -DCOIR_TORTURE parks at every await and scribbles over the dead stack.
 *
 * Headers and calls compile as C and as C++20. Bodies are C.
 */
#ifndef COIR_TASK_H
#define COIR_TASK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From here on this is not a system header, not even under -isystem: a compiler drops the warnings that check
 * (a) stands on where it takes a macro for a system header's. The marker's line is the line below it. */
# 38 "coir/task.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "coir's frames are laid out for little-endian machines"
#endif
/* Under -std=c11 the system's headers hide what POSIX has. */
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE) \
    && !defined(_POSIX_C_SOURCE) && !defined(_XOPEN_SOURCE)
#error "coir needs -std=gnu11 or later; or define _GNU_SOURCE before the first include"
#endif

/* What the library exports. Private. */
#define COIR_API __attribute__((visibility("default")))
#define COIR_UNUSED_ __attribute__((unused))

/* ---- the header every frame begins with -------------------------------------------------------------- */

struct coir_task;
struct coir_scope;
struct coir_group;

/* How a body came back to the loop: done (0), parked (1), or with a generator's value (2). A struct, so
 * that a plain `return 0;` in a body does not compile. */
typedef struct coir_step { unsigned char parked; } coir_step;

/* A place in the source. Each await and each coir_new has a static one; a parked task points at where it
 * stands. Private. */
struct coir_site {
    const char *task;
    const char *file;
    unsigned line;
};

/* 64 bytes, the first member of every frame. Private to coir: a program reads it through coir_status() and
 * the macros below. Written on the task's own shard only.
 *
 *      awaiter          awaiting
 *      parent <-------- task --------> child      `awaiting` is set only while the task is parked or queued
 */
struct coir_task {
    coir_step (*body)(struct coir_task *);
    struct coir_task *awaiter;            /* who goes on when this ends; NULL: spawned, its group owns it */
    struct coir_task *awaiting;           /* the child it waits for; NULL while it runs, and in a leaf */
    /* parked leaf: how it is asked to stop. NULL: it will end by itself */
    void (*abort)(struct coir_task *);
    union {
        struct coir_task *next;           /* queued: the next in that queue */
        void *waits_for;                  /* parked leaf: what it waits for, of a type that `abort` tells */
    };
    struct coir_scope *scope;             /* innermost cancellation scope */
    const struct coir_site *site;         /* the await it stands at, or last stood at */
    union {
        struct {
            int16_t status;               /* 0 or a negative errno, once it has ended */
            uint16_t refused;             /* awaits that ended by cancellation at once: task/refuse.c */
            uint16_t state;               /* resume point: 0 not begun, COIR_LEFT_ ended */
            union {
                struct {
                    uint8_t flags;        /* COIR_TASK_... */
                    /* of nested awaits, modulo 256: at 0 a child is queued, not called */
                    uint8_t depth;
                };
                uint16_t inherited;       /* both at once, little-endian: see coir_child_ */
            };
        };
        uint64_t fresh;                   /* all of it at once */
    };
};

enum {
    COIR_TASK_SHIELD_ = 1,      /* in coir_finally or below: cancellation does not reach it */
    COIR_TASK_FINALLY_ = 2,     /* has entered its coir_finally */
    COIR_TASK_GROUPS_ = 4,      /* has opened a group, or locked: its end checks that none is left */
    COIR_TASK_HEAP_ = 8,        /* from coir_new: a struct coir_birth lies before it */
    COIR_TASK_AWAY_ = 16,       /* runs on another shard for an awaiter at home */
    COIR_TASK_LAZY_ = 32,       /* made, not begun */
    COIR_TASK_BACKGROUND_ = 64, /* its wake-ups go to the shard's background queue */
    COIR_TASK_COUNTS_ = 128,    /* a combinator: wants to be resumed by the very child that ends */

    COIR_LEFT_ = 0xffff,        /* states that no counter reaches */
    COIR_FINALLY_ = 0xfffe,
};

/* A deadline in the shard's timer wheel; embedded wherever something waits for a time. Private. */
#ifndef COIR_TIMER_DECLARED
#define COIR_TIMER_DECLARED
struct coir_timer {
    struct coir_timer *prev, *next;       /* next == NULL: not armed */
    int64_t at;                           /* ns of coir_now() */
};
#endif

/* A timer that knows what to do: `fire` is called by the loop, on the shard, the timer disarmed. Private. */
struct coir_alarm {
    struct coir_timer timer;
    void (*fire)(struct coir_alarm *);
};

/* What this thread's awaits need at hand. `budget` counts down the awaits of one step; when it is spent
 * the next await queues its child, so that a channel that is always ready cannot starve the shard. Private. */
struct coir_here {
    unsigned budget;
    unsigned cancelled;                   /* scopes of the shard that are: 0 spares looking for one */
    struct coir_task **ready_end;         /* of the run queue: where the next task is linked */
    struct coir_shard *shard;             /* NULL: this thread is no shard */
};
extern COIR_API __thread struct coir_here coir_here __attribute__((tls_model("initial-exec")));

/* ---- frames ------------------------------------------------------------------------------------------ */

/* First in a frame: the header, and `result` of type T. coir_frame_void for a task without a result. */
#define coir_frame(T) struct coir_task task; T result
#define coir_frame_void struct coir_task task; char result[0]

/* Second in a frame: the arguments, as f->name in the body and .name = in a call; what a call does not
 * name is zero. Their order is API, since C++20 wants designators in order. */
#define coir_args(...) union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } coir_args_; }
#define coir_no_args union { struct { char coir_none_; } coir_args_; }

/* Makes `name` awaitable in this file; in a header, without `static`, also from others. coir_export: the same
 * in a header of a shared library that hides what it does not export. */
#ifdef __cplusplus
#define coir_declare(name) extern "C" coir_step name##_resume(struct coir_task *)
#define coir_export(name) extern "C" COIR_API coir_step name##_resume(struct coir_task *)
#else
#define coir_declare(name) coir_step name##_resume(struct coir_task *)
#define coir_export(name) COIR_API coir_step name##_resume(struct coir_task *)
#endif

/* The status a finished slot or frame ended with: 0, or a negative errno. */
#define coir_status(slot) ((slot)->task.status)

/* Said when a program is compiled; the library need not be rebuilt. With -DCOIR_DEBUG frames are filled with rubbish
 * before they are used, and children of coir_make that never ran are reported. -DCOIR_TORTURE is that, and parks at
 * every await and scribbles over the dead stack: compile it with -O0. */
#if defined(COIR_TORTURE) && !defined(COIR_DEBUG)
#define COIR_DEBUG 1
#endif

#ifdef COIR_DEBUG
#define COIR_FILL_(slot) __builtin_memset((void *)(slot), 0xA5, sizeof *(slot))
#define COIR_FILL_NEW_(p) \
    __builtin_memset((char *)(p) + sizeof (p)->task, 0xA5, sizeof *(p) - sizeof (p)->task)
#else
#define COIR_FILL_(slot) ((void)0)
#define COIR_FILL_NEW_(p) ((void)0)
#endif

/* ---- what the macros call; private ------------------------------------------------------------------- */

/* Queues a child that is not to run at once. */
COIR_API coir_step coir_queue_(struct coir_task *t) __attribute__((cold));
/* Stops the program: a task was resumed at a state it does not have, or entered its finally twice. */
COIR_API void coir_lost_(struct coir_task *t, const char *name) __attribute__((noreturn, cold));
/* The slow part of a body's end: stops the program if the task still has an open group or a mutex. */
COIR_API void coir_left_open_(struct coir_task *t, const char *name) __attribute__((cold));
/* A generator suspended on something that is not coir_yield. */
COIR_API void coir_not_a_generator_(struct coir_task *t) __attribute__((noreturn, cold));
/* Heap frames: see coir_new. */
COIR_API struct coir_task *coir_frame_new_(size_t size, coir_step (*body)(struct coir_task *),
                                           const struct coir_site *site);
/* Debug builds: remembers a made child until it begins; reports those inside a frame that ends. */
COIR_API void coir_made_(struct coir_task *t, const struct coir_site *site);
COIR_API void coir_begun_(struct coir_task *t);
COIR_API void coir_unmade_(void *frame, size_t size);

static inline struct coir_task *coir_frame_(struct coir_task *t) __attribute__((warn_unused_result));
static inline struct coir_task *coir_frame_(struct coir_task *t)
{
    return t;
}

static inline void coir_child_(struct coir_task *t, coir_step (*body)(struct coir_task *), struct coir_task *up)
{
    /* Status and state 0, two flags of the parent's, its depth and one: as one store. */
    const uint16_t kept = 0xff00 | COIR_TASK_SHIELD_ | COIR_TASK_BACKGROUND_;
    const uint16_t inherits = (uint16_t)((up->inherited & kept) + 0x100);

    t->body = body;
    t->awaiter = up;
    t->awaiting = NULL;
    t->abort = NULL;
    t->scope = up->scope;
    t->site = NULL;
    t->fresh = (uint64_t)inherits << 48;
}

static inline struct coir_task *coir_lazy_(struct coir_task *t, coir_step (*body)(struct coir_task *),
                                           const struct coir_site *site)
{
    t->body = body;
    t->awaiter = NULL;
    t->awaiting = NULL;
    t->abort = NULL;
    t->scope = NULL;
    t->site = site;
    t->fresh = 0;
    t->flags = COIR_TASK_LAZY_;
    return t;
}

/* Puts a task at the tail of the running shard's queue. */
static inline void coir_ready_(struct coir_task *t)
{
    t->next = NULL;
    *coir_here.ready_end = t;
    coir_here.ready_end = &t->next;
}

/* Runs a child in place, unless the nesting or the step's awaits are used up. */
static inline __attribute__((always_inline)) coir_step coir_start_(struct coir_task *t,
                                                                   coir_step (*resume)(struct coir_task *))
{
#ifdef COIR_TORTURE
    (void)resume;
    return coir_queue_(t);
#else
    if (__builtin_expect((t->depth == 0) | (--coir_here.budget == 0), 0))
        return coir_queue_(t);
    return resume(t);
#endif
}

/* ---- making frames ----------------------------------------------------------------------------------- */

/*
 * struct coir_task *coir_new(name, .arg = ...);
 *
 * A heap frame, ready to be spawned or passed to coir_main; nothing runs yet. NULL when there is no memory;
 * every function that takes a task takes NULL too and says -ENOMEM. Whoever it is given to frees it when it
 * has ended. One that is never given to anybody goes with coir_free; one that never runs is reported, with
 * this line. Any thread.
 */
#define coir_new(name, ...) COIR_NEW_(__COUNTER__, name, __VA_ARGS__)
#define COIR_NEW_(n, name, ...) COIR_NEW__(n, name, __VA_ARGS__)
#ifdef __cplusplus
/* What C++20 refuses, arguments out of order, clang only warns of. */
#ifdef __clang__
#define COIR_IN_ORDER_ _Pragma("clang diagnostic push") \
    _Pragma("clang diagnostic error \"-Wreorder-init-list\"") \
    _Pragma("clang diagnostic ignored \"-Wmissing-field-initializers\"")
#else
#define COIR_IN_ORDER_ \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#endif
#define COIR_NEW__(n, name, ...) coir_frame_(__extension__({ \
    COIR_IN_ORDER_ \
    static const struct coir_site coir_site_##n = { #name, __FILE__, __LINE__ }; \
    struct name *const coir_new_##n = \
        (struct name *)coir_frame_new_(sizeof(struct name), name##_resume, &coir_site_##n); \
    if (coir_new_##n) { \
        COIR_FILL_NEW_(coir_new_##n); \
        coir_new_##n->coir_args_ = decltype(coir_new_##n->coir_args_){ __VA_ARGS__ }; \
        __builtin_memset((void *)&coir_new_##n->result, 0, sizeof coir_new_##n->result); \
    } \
    _Pragma("GCC diagnostic pop") \
    coir_new_##n ? &coir_new_##n->task : (struct coir_task *)0; }))
#else
#define COIR_NEW__(n, name, ...) coir_frame_(__extension__({ \
    static const struct coir_site coir_site_##n = { #name, __FILE__, __LINE__ }; \
    struct name *const coir_new_##n = \
        (struct name *)coir_frame_new_(sizeof(struct name), name##_resume, &coir_site_##n); \
    if (coir_new_##n) { \
        COIR_FILL_NEW_(coir_new_##n); \
        coir_new_##n->coir_args_ = (__typeof__(coir_new_##n->coir_args_)){ __VA_ARGS__ }; \
        __builtin_memset((void *)&coir_new_##n->result, 0, sizeof coir_new_##n->result); \
    } \
    coir_new_##n ? &coir_new_##n->task : (struct coir_task *)0; }))
#endif

/* Frees a frame of coir_new that was not given to anybody. NULL is allowed. If it never ran that is
 * reported on stderr, with the line that made it. The thread that made it, or any thread while its shard
 * does not run. */
COIR_API void coir_free(struct coir_task *t);

#ifndef __cplusplus

/*
 * struct coir_task *coir_make(slot, name, .arg = ...);
 *
 * The same in memory of the caller's: a child for coir_all, coir_any or coir_race, or a generator. Nothing
 * runs yet.
 */
#define coir_make(slot, name, ...) COIR_MAKE_(__COUNTER__, slot, name, __VA_ARGS__)
#define COIR_MAKE_(n, slot, name, ...) COIR_MAKE__(n, slot, name, __VA_ARGS__)
#define COIR_MAKE__(n, slot, name, ...) __extension__({ \
    static const struct coir_site coir_site_##n = { #name, __FILE__, __LINE__ }; \
    COIR_ARGS_(slot, name, __VA_ARGS__); \
    COIR_MADE_(&(slot)->task, &coir_site_##n); \
    coir_lazy_(&(slot)->task, name##_resume, &coir_site_##n); })
#ifdef COIR_DEBUG
#define COIR_MADE_(t, site) coir_made_(t, site)
#define COIR_BEGUN_(t) coir_begun_(t)
#else
#define COIR_MADE_(t, site) ((void)0)
#define COIR_BEGUN_(t) ((void)0)
#endif

/* Arguments first: they may read what the slot held before. */
#define COIR_ARGS_(slot, name, ...) do { \
    const __typeof__((slot)->coir_args_) coir_in_ = { __VA_ARGS__ }; \
    _Static_assert(__builtin_types_compatible_p(__typeof__(*(slot)), struct name), "the slot is not a struct " #name); \
    COIR_FILL_(slot); \
    (slot)->coir_args_ = coir_in_; \
    __builtin_memset((void *)&(slot)->result, 0, sizeof (slot)->result); \
    } while (0)

/* ---- bodies ------------------------------------------------------------------------------------------ */

/* Resume points are `unsigned __int128` with a high bit, which no switch of the user's can hold: an
 * await inside one does not compile. Both compilers fold them away. */
#define COIR_POINT_(n) ((unsigned __int128)1 << 100 | (unsigned)(n))
#define COIR_PARK_ ((coir_step){ 1 })
#define COIR_DONE_ ((coir_step){ 0 })
#define COIR_YIELD_ ((coir_step){ 2 })

#if defined(__clang__)
#define COIR_CHECKS_ \
    _Pragma("clang diagnostic push") \
    _Pragma("clang diagnostic error \"-Wconditional-uninitialized\"") \
    _Pragma("clang diagnostic error \"-Wuninitialized\"") \
    _Pragma("clang diagnostic error \"-Wsometimes-uninitialized\"") \
    _Pragma("clang diagnostic error \"-Wreturn-type\"") \
    _Pragma("clang diagnostic error \"-Wswitch\"")
#define COIR_UNCHECK_ _Pragma("clang diagnostic pop")
#define COIR_UNSHADOW_ _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wshadow\"")
#define COIR_RESHADOW_ _Pragma("clang diagnostic pop")
#else
#define COIR_CHECKS_ \
    _Pragma("GCC diagnostic push") \
    _Pragma("GCC diagnostic error \"-Wjump-misses-init\"") \
    _Pragma("GCC diagnostic error \"-Wreturn-type\"") \
    _Pragma("GCC diagnostic error \"-Woverflow\"")
#define COIR_UNCHECK_ _Pragma("GCC diagnostic pop")
#define COIR_UNSHADOW_ _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define COIR_RESHADOW_ _Pragma("GCC diagnostic pop")
#endif

enum { coir_in_finally_ = 0 };

/* coir_body(name, f) { ... } coir_end - the body of task `name`; `f` is its frame. */
#define coir_body(name, f) \
    COIR_CHECKS_ \
    coir_step name##_resume(struct coir_task *coir_t_) { \
        struct name *const f COIR_UNUSED_ = (struct name *)coir_t_; \
        static const char coir_await_outside_a_coir_body_[] COIR_UNUSED_ = #name; \
        _Static_assert(offsetof(struct name, task) == 0, "coir_frame comes first in a frame"); \
        enum { coir_base_ = __COUNTER__, coir_size_ = sizeof(struct name) }; \
        coir_again_: COIR_UNUSED_; \
        switch (COIR_POINT_(coir_t_->state)) { \
        struct coir_finally_stands_in_the_outermost_block { char here; }; \
        default: \
            if (coir_t_->state != COIR_FINALLY_) \
                coir_lost_(coir_t_, coir_await_outside_a_coir_body_); \
            break; \
        case COIR_POINT_(0):

/* Ends a body: behind its closing brace. */
#define coir_end \
        } \
        if (__builtin_expect(coir_t_->flags & COIR_TASK_GROUPS_, 0)) \
            coir_left_open_(coir_t_, coir_await_outside_a_coir_body_); \
        COIR_END_CHECK_; \
        coir_t_->state = COIR_LEFT_; \
        return COIR_DONE_; \
    } \
    COIR_UNCHECK_
#ifdef COIR_DEBUG
#define COIR_END_CHECK_ coir_unmade_(coir_t_, coir_size_)
#else
#define COIR_END_CHECK_ ((void)0)
#endif

/*
 * coir_finally(f) { ... } - once, last, in the outermost block; it may be left out. Every way out of the body
 * comes through it, once, shielded from cancellation. It may await. What it awaits does not change the task's
 * status: the first error is kept. coir_try, coir_get, coir_return and coir_fail do not compile in it. It is a
 * block beside the body's, and sees none of its local names.
 *
 * It ends the block it stands in and begins another. In the outermost one the struct of coir_body is then in the
 * same scope, and is meant; anywhere else the same words declare another one, whose size nobody knows.
 */
#define coir_finally(f) \
    goto coir_finally_; \
    } \
    struct coir_finally_stands_in_the_outermost_block; \
    { \
    _Static_assert(sizeof(struct coir_finally_stands_in_the_outermost_block), "or it does not compile"); \
    coir_finally_: \
    case COIR_POINT_(COIR_FINALLY_): \
    if ((f)->task.flags & COIR_TASK_FINALLY_) \
        coir_lost_(&(f)->task, coir_await_outside_a_coir_body_); \
    (f)->task.flags |= COIR_TASK_FINALLY_ | COIR_TASK_SHIELD_; \
    COIR_UNSHADOW_ \
    enum { coir_in_finally_ = 1 }; \
    COIR_RESHADOW_

#define COIR_LEAVE_(f, st) do { \
    _Static_assert(!coir_in_finally_, "coir_try, coir_get, coir_return and coir_fail cannot leave coir_finally"); \
    (f)->task.status = (int16_t)(st); \
    (f)->task.state = COIR_FINALLY_; \
    goto coir_again_; \
    } while (0)

/* Every await says first where it stands, then runs its child; parks here when that parked, and goes on
 * here. */
#define COIR_STAND_(f) do { \
    static const struct coir_site coir_here_ = { coir_await_outside_a_coir_body_, __FILE__, __LINE__ }; \
    (f)->task.site = &coir_here_; \
    } while (0)
#define COIR_SUSPEND_(n, f, child) do { \
    _Static_assert((n) - coir_base_ < COIR_FINALLY_, "a body has at most 65,533 resume points"); \
    (f)->task.awaiting = (child); \
    (f)->task.state = (uint16_t)((n) - coir_base_); \
    return COIR_PARK_; \
    } while (0)
#define COIR_RESUMED_(n, f) case COIR_POINT_((n) - coir_base_): (f)->task.awaiting = NULL

/*
 * coir_await(f, slot, name, .arg = ...) - runs task `name` in `slot`, a struct name * in the frame or on the
 * heap, and goes on when it has ended. Its status is in coir_status(slot), its result in slot->result.
 */
#define coir_await(f, slot, name, ...) COIR_AWAIT_(__COUNTER__, f, slot, name, __VA_ARGS__)
#define COIR_AWAIT_(n, f, slot, name, ...) do { \
    COIR_STAND_(f); \
    { \
        COIR_SLOT_(slot, name); \
        COIR_ARGS_(coir_slot_, name, __VA_ARGS__); \
        coir_child_(&coir_slot_->task, name##_resume, &(f)->task); \
        if (coir_start_(&coir_slot_->task, name##_resume).parked) \
            COIR_SUSPEND_(n, f, &coir_slot_->task); \
    } \
    if (0) { \
        COIR_RESUMED_(n, f); \
    } } while (0)

/* The slot, up to where the body may return: named once, so that a mistake in it is one error and not ten. */
#define COIR_SLOT_(slot, name) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(*(slot)), struct name), "the slot is not a struct " #name); \
    struct name *const coir_slot_ = (void *)(slot)

/* Leaves, through coir_finally, with the status of `slot` when that failed. */
#define coir_check(f, slot) do { \
    const int coir_ended_ = coir_status(slot); \
    if (__builtin_expect(coir_ended_ < 0, 0)) \
        COIR_LEAVE_(f, coir_ended_); \
    } while (0)

/* coir_await, then coir_check. */
#define coir_try(f, slot, name, ...) do { \
    coir_await(f, slot, name, __VA_ARGS__); \
    coir_check(f, slot); \
    } while (0)

/* coir_try, then `to` = its result: the way to use results, since a slot in a union is soon another's. */
#define coir_get(f, to, slot, name, ...) do { \
    coir_try(f, slot, name, __VA_ARGS__); \
    (to) = (slot)->result; \
    } while (0)

/* Leaves with status 0 and, coir_return(f, value), a result. */
#define coir_return(f, ...) do { \
    __VA_OPT__((f)->result = __VA_ARGS__;) \
    COIR_LEAVE_(f, 0); \
    } while (0)

/* Leaves with a negative errno; a positive one is taken as its negative. */
#define coir_fail(f, st) COIR_LEAVE_(f, coir_negative_(st))
static inline int coir_negative_(int err)
{
    return err > 0 ? -err : err;
}

/* ---- generators -------------------------------------------------------------------------------------- */

/* In a body: hands `value` to whoever calls coir_next, as the frame's result, and goes on at the next
 * call. */
#define coir_yield(f, ...) COIR_GENERATE_(__COUNTER__, f, __VA_ARGS__)
#define COIR_GENERATE_(n, f, ...) do { \
    COIR_STAND_(f); \
    (f)->result = __VA_ARGS__; \
    (f)->task.state = (uint16_t)((n) - coir_base_); \
    return COIR_YIELD_; \
    case COIR_POINT_((n) - coir_base_):; \
    } while (0)

/*
 * bool coir_next(gen) - runs a generator, made by coir_make, up to its next coir_yield. True: gen->result is
 * the next value. False: it has ended, coir_status(gen) says how. A plain C call that needs no shard; a
 * generator only yields.
 */
#define coir_next(gen) coir_next_(&(gen)->task)
static inline bool coir_next_(struct coir_task *t)
{
    if (t->state == COIR_LEFT_)
        return false;
    if (t->state == 0)
        COIR_BEGUN_(t);
    t->flags &= (uint8_t)~COIR_TASK_LAZY_;
    const coir_step step = t->body(t);
    if (__builtin_expect(step.parked == 1, 0))
        coir_not_a_generator_(t);
    return step.parked != 0;
}

/* Ends a generator before its end: its coir_finally runs, its status is -ECANCELED. Nothing if it has
 * ended. */
#define coir_next_stop(gen) coir_next_stop_(&(gen)->task)
static inline void coir_next_stop_(struct coir_task *t)
{
    if (t->state == COIR_LEFT_)
        return;
    t->status = -ECANCELED;
    if (t->state == 0) {
        COIR_BEGUN_(t);
        t->state = COIR_LEFT_;
        return;
    }
    t->state = COIR_FINALLY_;
    if (t->body(t).parked)
        coir_not_a_generator_(t);
}

#endif /* !__cplusplus */

/* ---- errors ------------------------------------------------------------------------------------------ */

/* A sentence for a negative errno as any operation of coir returns it; the sign is not minded. Never
 * NULL; static, or the calling thread's until its next call. Any thread. */
COIR_API const char *coir_strerror(int status);

#ifdef __cplusplus
}
#endif
#endif
