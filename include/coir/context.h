/* SPDX-License-Identifier: MIT */
/*
 * coir/context.h - values that follow the work, without being handed from task to task: whose request it is, what
 * it may cost, where to log.
 *
 *     const struct coir_context_key request = { "request", print_request };      at file scope
 *
 *     coir_with(f, &f->context, &request, &f->request, &f->handle, handle, .fd = f->fd);
 *     coir_check(f, &f->handle);
 *     ...
 *     const struct request *r = coir_context_get(f, &request);                   anywhere below
 *
 * A binding lasts for one await, and holds for everything below it: what is awaited, by combinators and on other
 * shards too, and the members of every group that is opened below it, whoever spawns them. What may outlive it
 * cannot see it: tasks of coir_detach and coir_spawn_on begin without values, and members of a group that was
 * opened outside have those of the group's opener. They are given as arguments what they need. So a value need
 * not be copied or counted: it lives as long as the binding, in the same frame for instance.
 *
 * One lookup follows the bindings outwards, a pointer and a comparison each: half a nanosecond for itself and for each
 * binding that is nearer, however deep awaits and scopes are nested between them. Binding costs no allocation.
 */
#ifndef COIR_CONTEXT_H
#define COIR_CONTEXT_H

#include <coir/scope.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif
# 32 "coir/context.h"

/* Its address is what counts; static, not shared by two meanings. */
struct coir_context_key {
    const char *name;                   /* for coir_dump; NULL: it is not printed */
    /* Prints a value into a line of coir_dump, without a newline; NULL: only the name is printed. On a thread that
     * may be looking on from another shard's body: it only reads. */
    void (*print)(FILE *to, const void *value);
};

/* A binding, in the frame of the task that makes it. The members are private. */
struct coir_context {
    struct coir_scope scope;
    struct coir_context *outer;
    const struct coir_context_key *key;
    void *value;
};

/*
 * void *coir_context_get(f, const struct coir_context_key *key) - the value of the innermost binding of `key` around
 * the task of frame `f`; NULL when there is none, or when that is the value. On the task's shard; never suspends. The
 * value may be another shard's, under a coir_await_on: then it is only read, or made for threads.
 */
#define coir_context_get(f, key) coir_context_get_(&(f)->task, key)

static inline void *coir_context_get_(const struct coir_task *t, const struct coir_context_key *key)
{
    const struct coir_context *c = t->scope ? t->scope->context : NULL;

    while (c && c->key != key)
        c = c->outer;
    return c ? c->value : NULL;
}

COIR_API void coir_context_open_(struct coir_context *c, struct coir_task *child, const struct coir_context_key *key,
                                 const void *value);

#ifndef __cplusplus

/*
 * coir_with(f, context, key, value, slot, name, .arg = ...) - coir_await with `value`, a pointer to an object, bound
 * to `key` below it. `context` is a struct coir_context * in the frame. The child's status is left in the slot.
 */
#define coir_with(f, context, key, value, slot, name, ...) \
    COIR_WITH_(__COUNTER__, f, context, key, value, slot, name, __VA_ARGS__)
#define COIR_WITH_(n, f, cx, key, value, slot, name, ...) do { \
    COIR_STAND_(f); \
    { \
        COIR_SLOT_(slot, name); \
        COIR_ARGS_(coir_slot_, name, __VA_ARGS__); \
        coir_child_(&coir_slot_->task, name##_resume, &(f)->task); \
        coir_context_open_(cx, &coir_slot_->task, key, value); \
        if (coir_start_(&coir_slot_->task, name##_resume).parked) \
            COIR_SUSPEND_(n, f, &coir_slot_->task); \
    } \
    if (0) { \
        COIR_RESUMED_(n, f); \
    } \
    coir_scope_shut_(&(cx)->scope, &(slot)->task); \
    } while (0)

#endif

#ifdef __cplusplus
}
#endif
#endif
