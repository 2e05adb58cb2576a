/* SPDX-License-Identifier: MIT */
/*
 * Task[T]: joining and cancelling. See handle.h. Of one shard so far: its waiters are that shard's fibers.
 */
#include "vm/handle.h"

#include "runtime/base/queue.h"
#include "vm/raise.h"

static size_t size_of(const struct coir_type *task)
{
    return sizeof(struct coir_handle) + task->element->slots * sizeof(uint64_t);
}

struct coir_handle *coir_handle_new(struct coir_heap *h, const struct coir_type *task)
{
    struct coir_handle *t = coir_heap_alloc(h, size_of(task));

    if (!t)
        return NULL;
    t->head.count = coir_first_count(h);
    t->head.type = task->index;
    t->head.aux = 0;
    t->state = COIR_HANDLE_RUNS;
    t->seen = false;
    t->fiber = NULL;
    t->trap = 0;
    coir_list_init(&t->waiters);
    return t;
}

static void wake_all(struct coir_handle *t)
{
    t->fiber = NULL;
    t->seen |= !coir_list_empty(&t->waiters);
    while (!coir_list_empty(&t->waiters))
        coir_fiber_wake(coir_container_of(t->waiters.next, struct coir_fiber, op.line));
}

void coir_handle_done(struct coir_heap *h, struct coir_handle *t, const uint64_t *result)
{
    memcpy(t->result, result, h->types[t->head.type].element->slots * sizeof *result);
    t->state = COIR_HANDLE_DONE;
    wake_all(t);
}

void coir_handle_trapped(struct coir_heap *h, struct coir_handle *t, uint64_t trap)
{
    (void)h;
    coir_hold(coir_ref(trap));
    t->trap = trap;
    t->state = COIR_HANDLE_TRAPPED;
    wake_all(t);
}

/* Nobody holds it: nobody will ever learn of its Trap. */
void coir_handle_end(struct coir_heap *h, struct coir_handle *t)
{
    const struct coir_type *type = &h->types[t->head.type];

    if (t->state == COIR_HANDLE_DONE)
        coir_drop_value(h, type->element, t->result);
    if (t->trap) {
        if (!t->seen && !coir_trap_is_quiet(t->trap))
            coir_report_trap(coir_container_of(h, struct coir_vm, heap), t->trap);
        coir_drop(h, coir_ref(t->trap));
    }
    coir_heap_free(h, t, size_of(type));
}

enum coir_native_result coir_task_join(struct coir_fiber *f, uint64_t *r)
{
    struct coir_handle *t = (struct coir_handle *)coir_ref(r[0]);
    const struct coir_type *result = coir_param_type(f, 0)->element;

    switch (t->state) {
    case COIR_HANDLE_DONE:
        if (result->owns)
            t->state = COIR_HANDLE_TAKEN;
        else
            coir_hold_value(result, t->result);
        memcpy(r, t->result, result->slots * sizeof *r);
        return COIR_NATIVE_DONE;
    case COIR_HANDLE_TRAPPED:
        t->seen = true;
        return coir_trap_again(f, t->trap);
    case COIR_HANDLE_TAKEN:
        return coir_trap(f, COIR_TRAP_CLOSED, "the result of a task that owns something is joined twice");
    default:
        if (f->deadlocked || coir_fiber_cancelled(f))
            return coir_trap_cancelled(f);
        f->inner = true;
        return coir_park(f, &t->waiters);
    }
}

static enum coir_native_result task_cancel(struct coir_fiber *f, uint64_t *r)
{
    struct coir_handle *t = (struct coir_handle *)coir_ref(r[0]);

    (void)f;
    if (t->fiber) {
        t->fiber->excused = true;
        coir_fiber_cancel(t->fiber);
    }
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "Task.join", "fn join[T](self: Task[T]) -> T", coir_task_join },
    { "Task.cancel", "fn cancel[T](self: Task[T])", task_cancel },
};
const struct coir_natives coir_handle_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
