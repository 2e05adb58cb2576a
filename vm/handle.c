/* SPDX-License-Identifier: MIT */
/*
 * Task[T]: joining and cancelling. See handle.h. All of a handle but its count is touched on its home shard, where its
 * fiber runs; who waits for it there is a fiber of that shard or a visitor for one of another.
 */
#include "vm/handle.h"

#include <errno.h>

#include "runtime/base/queue.h"
#include "vm/far.h"
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
    t->head.aux = coir_container_of(h, struct coir_vm, heap)->shard;
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
    while (coir_line_wake(&t->waiters))
        ;
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

/* It is done: its result, held once more, or taken. */
static void give(struct coir_handle *t, const struct coir_type *result, uint64_t *to)
{
    if (result->owns)
        t->state = COIR_HANDLE_TAKEN;
    else
        coir_hold_value(result, t->result);
    memcpy(to, t->result, result->slots * sizeof *to);
}

static enum coir_native_result trap_taken(struct coir_fiber *f)
{
    return coir_trap(f, COIR_TRAP_CLOSED, "the result of a task that owns something is joined twice");
}

/* ---- of another shard ---- */

/* What a join comes to; of a task that is taken -ENODATA. */
static int joined(struct coir_far *far)
{
    struct coir_handle *t = (struct coir_handle *)far->cell;

    switch (t->state) {
    case COIR_HANDLE_DONE:
        give(t, far->type->element, far->at);
        far->brings.type = far->type->element;
        return 0;
    case COIR_HANDLE_TRAPPED:
        t->seen = true;
        far->trap = t->trap;
        coir_hold(coir_ref(far->trap));
        far->at = &far->trap;
        far->brings.type = &far->there->heap.types[COIR_INDEX_TRAP];
        return 0;
    case COIR_HANDLE_TAKEN:
        return -ENODATA;
    default:
        return -EAGAIN;
    }
}

static void wake_visit(struct coir_waiter *w)
{
    coir_stand_wake(&coir_container_of(w, struct coir_visit, waiter)->stand);
}

static int join_begins(struct coir_visit *v)
{
    struct coir_handle *t = (struct coir_handle *)v->far->cell;
    const int said = joined(v->far);

    if (said != -EAGAIN)
        return said;
    v->waits = COIR_VISIT_STANDS;
    v->waiter.wake = wake_visit;
    coir_list_push_back(&t->waiters, &v->waiter.link);
    return -EAGAIN;
}

/* What has come is taken, cancelled or not. */
static int join_ends(struct coir_visit *v, int status)
{
    const int said = joined(v->far);

    if (said != -EAGAIN)
        return said;
    coir_list_remove(&v->waiter.link);
    return status;
}

static const struct coir_errand join_there = { join_begins, join_ends };

static enum coir_native_result far_join(struct coir_fiber *f, uint64_t *r)
{
    struct coir_far *far = coir_far_scratch(f);

    if (!far)
        return coir_trap_memory(f);
    if (f->step == 0) {
        far->cell = coir_ref(r[0]);
        far->type = coir_param_type(f, 0);
        far->at = r;
    }
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &join_there, far->cell->aux);
    if (far->said == -ENODATA)
        return trap_taken(f);
    if (far->said < 0)
        return coir_far_trap(f, far);
    if (!far->trap)
        return COIR_NATIVE_DONE;
    f->trap = far->trap;
    return COIR_NATIVE_TRAP;
}

static void cancel(struct coir_handle *t)
{
    if (!t->fiber)
        return;
    t->fiber->excused = true;
    coir_fiber_cancel(t->fiber);
}

static int cancel_begins(struct coir_visit *v)
{
    cancel((struct coir_handle *)v->far->cell);
    return 0;
}

static const struct coir_errand cancel_there = { cancel_begins, NULL };

static enum coir_native_result far_cancel(struct coir_fiber *f, uint64_t *r)
{
    struct coir_far *far = coir_far_scratch(f);

    if (!far)
        return coir_trap_memory(f);
    far->cell = coir_ref(r[0]);
    if (coir_far_goes(f, far))
        return coir_far_go(f, far, &cancel_there, far->cell->aux);
    return far->said < 0 ? coir_far_trap(f, far) : COIR_NATIVE_DONE;
}

/* ---- the natives ---- */

enum coir_native_result coir_task_join(struct coir_fiber *f, uint64_t *r)
{
    struct coir_handle *t = (struct coir_handle *)coir_ref(r[0]);

    if (coir_is_far(f, r[0]))
        return far_join(f, r);
    switch (t->state) {
    case COIR_HANDLE_DONE:
        give(t, coir_param_type(f, 0)->element, r);
        return COIR_NATIVE_DONE;
    case COIR_HANDLE_TRAPPED:
        t->seen = true;
        return coir_trap_again(f, t->trap);
    case COIR_HANDLE_TAKEN:
        return trap_taken(f);
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

    if (coir_is_far(f, r[0]))
        return far_cancel(f, r);
    cancel(t);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "Task.join", "fn join[T](self: Task[T]) -> T", coir_task_join },
    { "Task.cancel", "fn cancel[T](self: Task[T])", task_cancel },
};
const struct coir_natives coir_handle_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
