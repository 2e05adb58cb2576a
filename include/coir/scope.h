/* SPDX-License-Identifier: MIT */
/*
 * coir/scope.h - cancellation and deadlines, as scopes of one await.
 *
 * Cancellation is a state of a scope, not an event. While it lasts every await below it that would suspend
 * says -ECANCELED, again and again: a socket operation is tried once without waiting, a file or offload
 * operation is not started. A deadline is absolute, in nanoseconds of coir_now(); when it passes, the scope
 * is cancelled, and the await that opened the scope says -ETIMEDOUT where it would have said -ECANCELED. A
 * deadline bounds when cancelling starts: disk I/O, offload and name look-ups return when they really end.
 *
 * A scope lives in the frame of the task that opens it, for exactly one await. It is used on that task's
 * shard only.
 */
#ifndef COIR_SCOPE_H
#define COIR_SCOPE_H

#include <coir/task.h>

#ifdef __cplusplus
extern "C" {
#endif
# 23 "coir/scope.h"

struct coir_context;

/* A scope, in the frame of the task that opens it. The members are private. */
struct coir_scope {
    struct coir_scope *outer;
    /* the child that runs in it, or the coir_combine whose kids do; of a group NULL */
    struct coir_task *owner;
    struct coir_group *groups;     /* the groups opened directly in it, open ones only */
    struct coir_scope *visit;      /* next among the scopes that cancelling still has to walk */
    struct coir_context *context;  /* the innermost binding around it: coir/context.h */
    /* the deadline; after cancelling, the patience with what is in coir_finally */
    struct coir_alarm alarm;
    uint8_t kind;                  /* COIR_SCOPE_... */
    uint8_t cancelled;             /* while set, its awaits say -ECANCELED */
    uint8_t expired;               /* it was the deadline that set it */
    /* whether outer cancellation reaches into it: 0, by coir_shield, by coir_finally */
    uint8_t shield;
    uint8_t overdue;               /* patience is over: cancellation goes through coir_finally too */
    uint8_t visiting;              /* in the list of `visit` */
    uint8_t holds;                 /* a shield that stopping the program waits for */
};

enum { COIR_SCOPE_AWAIT_, COIR_SCOPE_GROUP_, COIR_SCOPE_COMBINE_ };
enum { COIR_SHIELDED_BY_CALL_ = 1, COIR_SHIELDED_BY_FINALLY_ = 2 };

/* No deadline. */
#define COIR_NEVER INT64_MAX

/* True when the next await of `f` that would suspend would say -ECANCELED. For long loops that do not
 * await. */
#define coir_cancelled(f) coir_cancelled_(&(f)->task)
COIR_API bool coir_cancelled_(const struct coir_task *t);

/* Cancels a scope that was opened by coir_within, from another task of the same shard; its await says
 * -ECANCELED. Nothing happens if it is cancelled already. Never suspends. */
COIR_API void coir_scope_cancel(struct coir_scope *s);

COIR_API void coir_scope_open_(struct coir_scope *s, struct coir_task *child, int64_t deadline, bool shielded);
COIR_API void coir_scope_shut_(struct coir_scope *s, struct coir_task *child);

#ifndef __cplusplus

/*
 * coir_within(f, scope, deadline, slot, name, .arg = ...) - coir_await under a deadline. `scope` is a struct
 * coir_scope * in the frame. The status in coir_status(slot) is -ETIMEDOUT when this deadline, and no outer
 * cancellation before it, ended the child. A deadline in the past lets the child run up to where it would
 * suspend.
 */
#define coir_within(f, scope, deadline, slot, name, ...) \
    COIR_SCOPED_(__COUNTER__, f, scope, deadline, false, slot, name, __VA_ARGS__)

/*
 * coir_shield(f, scope, slot, name, .arg = ...) - coir_await that cancellation from outside does not reach:
 * for a wait whose outcome is decided elsewhere. Stopping the program waits for it before it cancels
 * anything.
 */
#define coir_shield(f, scope, slot, name, ...) \
    COIR_SCOPED_(__COUNTER__, f, scope, COIR_NEVER, true, slot, name, __VA_ARGS__)

#define COIR_SCOPED_(n, f, sc, deadline, shielded, slot, name, ...) do { \
    COIR_STAND_(f); \
    { \
        COIR_SLOT_(slot, name); \
        COIR_ARGS_(coir_slot_, name, __VA_ARGS__); \
        coir_child_(&coir_slot_->task, name##_resume, &(f)->task); \
        coir_scope_open_(sc, &coir_slot_->task, deadline, shielded); \
        if (coir_start_(&coir_slot_->task, name##_resume).parked) \
            COIR_SUSPEND_(n, f, &coir_slot_->task); \
    } \
    if (0) { \
        COIR_RESUMED_(n, f); \
    } \
    coir_scope_shut_(sc, &(slot)->task); \
    } while (0)

#endif

#ifdef __cplusplus
}
#endif
#endif
