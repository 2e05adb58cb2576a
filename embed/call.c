/* SPDX-License-Identifier: MIT */
/*
 * Functions of the program that C calls: a call made ready, from a builtin or from a task; and the task that waits for
 * one, whose fiber runs beside all others. What the arguments refer to is held here until the function has ended.
 */
#include <errno.h>

#include "embed/inside.h"
#include "runtime/base/queue.h"
#include "vm/raise.h"

/* ---- a call made ready ---- */

static const struct coir_function *function_of(const struct coir_host *h, uint32_t i)
{
    return &h->program->loaded->functions[i];
}

const char coir_host_init[] = "(init)";

/* UINT32_MAX: there is none. */
static uint32_t exported(const struct coir_host *h, const char *name)
{
    const struct coir_program *const p = h->program->loaded;

    if (name == coir_host_init)
        return (uint32_t)p->init;
    for (uint32_t i = 0; i < p->nexports; i++) {
        if ((p->exports[i].kind == COIR_EXPORT_FUNCTION || p->exports[i].kind == COIR_EXPORT_MAIN)
            && !strcmp(p->exports[i].name, name))
            return p->exports[i].function;
    }
    return UINT32_MAX;
}

bool coir_vm_has(struct coir_vm *vm, const char *name)
{
    return exported(coir_host_of(vm, "coir_vm_has"), name) != UINT32_MAX;
}

/* A lent argument that has one owner would have to outlive the call in C's hands. */
static int check_args(struct coir_host *h, const struct coir_param *params, uint32_t nparams,
                      const struct coir_vm_value *args, size_t n, const char *who)
{
    if (n != nparams)
        return -EINVAL;
    for (uint32_t i = 0; i < nparams; i++) {
        const struct coir_type *const t = params[i].type;
        const bool lends = params[i].mode == COIR_MODE_LEND && t->owns;
        struct coir_host *of;
        const struct coir_entry *const e = coir_entry_of(args[i], who, &of);

        if (params[i].mode == COIR_MODE_MUT || (lends && (!e || e->state != COIR_ENTRY_LENT || e->type != t)))
            return -EINVAL;
        switch (lends ? COIR_FITS : coir_value_fits(h, args[i], t, who)) {
        case COIR_FITS: break;
        case COIR_FITS_NO_MEMORY: return -ENOMEM;
        default: return -EINVAL;
        }
    }
    return 0;
}

/* The slots of all arguments; what is lent to C is lent on, not held. */
static void fill_args(struct coir_host *h, struct coir_asked *a, const struct coir_vm_value *args, const char *who)
{
    uint64_t *at = a->args;

    for (uint32_t i = 0; i < a->nparams; at += a->params[i++].type->slots) {
        const struct coir_type *const t = a->params[i].type;
        struct coir_host *of;

        if (a->params[i].mode == COIR_MODE_LEND && t->owns)
            memcpy(at, coir_entry_slots(coir_entry_of(args[i], who, &of)), t->slots * sizeof *at);
        else
            coir_value_give(h, args[i], t, at, who);
    }
}

static const struct coir_entry *closure_of(struct coir_host *h, struct coir_vm_value function, const char *who)
{
    struct coir_host *of;
    const struct coir_entry *const e = coir_entry_of(function, who, &of);

    if (of && of != h)
        coir_host_stop(who, "the function is another machine's");
    if (e && (!e->type || e->type->kind != COIR_TYPE_FUNC))
        coir_host_stop(who, "the value is no function");
    return e;
}

int coir_asked_new(struct coir_host *h, const char *name, struct coir_vm_value function,
                   const struct coir_vm_value *args, size_t n, const char *who, struct coir_asked **asked)
{
    const struct coir_entry *const closure = name ? NULL : closure_of(h, function, who);
    const uint64_t cell = closure ? closure->word : 0;
    const uint32_t at = name ? exported(h, name) : cell ? coir_ref(cell)->aux : UINT32_MAX;
    const struct coir_function *const fn = at == UINT32_MAX ? NULL : function_of(h, at);
    struct coir_asked *a;
    size_t size;
    int status;

    if (!name && !closure && coir_value_failed(function))
        return -ENOMEM;
    if (!fn)
        return -ENOENT;
    status = check_args(h, fn->params, fn->nparams, args, n, who);
    if (status)
        return status;
    size = sizeof *a + (fn->slots + 1) * sizeof a->args[0];
    a = coir_heap_alloc(coir_host_heap(h), size);
    if (!a)
        return -ENOMEM;
    *a = (struct coir_asked){ .params = fn->params, .nparams = fn->nparams, .slots = fn->slots, .result = fn->result,
                              .function = at, .closure = cell, .size = size };
    fill_args(h, a, args, who);
    a->args[fn->slots] = cell;
    if (cell)
        coir_hold(coir_ref(cell));
    *asked = a;
    return 0;
}

static void end_args(struct coir_host *h, struct coir_asked *a, bool own)
{
    uint64_t *at = a->args;

    for (uint32_t i = 0; i < a->nparams; at += a->params[i++].type->slots) {
        const struct coir_type *const t = a->params[i].type;

        if ((a->params[i].mode == COIR_MODE_OWN) != own)
            continue;
        if (h && (own || !t->owns))
            coir_drop_value(coir_host_heap(h), t, at);
        memset(at, 0, t->slots * sizeof *at);
    }
}

void coir_asked_begun(struct coir_asked *a)
{
    end_args(NULL, a, true);
}

void coir_asked_end(struct coir_host *h, struct coir_asked *a)
{
    end_args(h, a, true);
    end_args(h, a, false);
    if (a->closure)
        coir_drop(coir_host_heap(h), coir_ref(a->closure));
    coir_heap_free(coir_host_heap(h), a, a->size);
}

/* ---- a fiber of C's ---- */

struct begun {
    struct coir_hosted hosted;
    struct coir_host *host;
    struct coir_asked *asked;
    struct coir_fiber *fiber;           /* until it has ended */
    struct coir_task *waiter;           /* NULL: nobody */
    struct coir_vm_value outcome;
    int status;
    bool cancelled;                     /* its waiter was */
};

static void end_begun(struct begun *b)
{
    coir_heap_free(coir_host_heap(b->host), b, sizeof *b);
}

static void settle(struct begun *b, uint64_t trap, const uint64_t *results)
{
    struct coir_host *const h = b->host;
    const struct coir_type *const t = trap ? &coir_host_heap(h)->types[COIR_INDEX_TRAP] : b->asked->result;

    if (trap && coir_trap_is(trap, COIR_TRAP_CANCELLED) && (b->cancelled || h->closing)) {
        b->status = -ECANCELED;
        return;
    }
    b->status = trap ? -EREMOTEIO : 0;
    b->outcome = trap ? coir_value_copy(h, t, &trap) : coir_value_take(h, t, results);
    if (coir_value_failed(b->outcome)) {
        b->outcome = (struct coir_vm_value){ 0 };
        b->status = -ENOMEM;
    }
}

void coir_host_report(struct coir_vm_value trap)
{
    struct coir_host *h;
    const struct coir_entry *const e = coir_entry_of(trap, "coir_vm_open", &h);

    if (e)
        coir_report_trap(coir_host_vm(h), e->word);
}

static void ended(struct coir_hosted *hosted, struct coir_fiber *f, uint64_t trap, const uint64_t *results)
{
    struct begun *const b = coir_container_of(hosted, struct begun, hosted);
    struct coir_host *const h = b->host;

    b->fiber = NULL;
    if (b->waiter) {
        settle(b, trap, results);
        coir_asked_end(h, b->asked);
        b->waiter->abort = NULL;
        coir_ready_(b->waiter);
        return;
    }
    if (trap && !coir_trap_is(trap, COIR_TRAP_CANCELLED))
        coir_report_trap(f->vm, trap);
    if (!trap)
        coir_drop_value(f->heap, b->asked->result, results);
    coir_asked_end(h, b->asked);
    end_begun(b);
}

/* 0 and *begun; or a negative errno, and nothing has happened. */
static int begin(struct coir_host *h, const char *name, struct coir_vm_value function, const struct coir_vm_value *args,
                 size_t n, const char *who, struct begun **begun)
{
    struct begun *const b = coir_heap_alloc(coir_host_heap(h), sizeof *b);
    struct coir_asked *a = NULL;
    int status;

    if (!b)
        return -ENOMEM;
    *b = (struct begun){ .hosted = { ended }, .host = h };
    status = coir_asked_new(h, name, function, args, n, who, &a);
    if (status == 0) {
        b->asked = a;
        b->fiber = coir_fiber_hosted(coir_host_vm(h), a->function, a->args, a->slots + (a->closure ? 1 : 0),
                                     &b->hosted);
        if (b->fiber) {
            coir_asked_begun(a);
            *begun = b;
            return 0;
        }
        coir_asked_end(h, a);
        status = -ENOMEM;
    }
    end_begun(b);
    return status;
}

int coir_vm_start(struct coir_vm *vm, const char *name, struct coir_vm_value function, const struct coir_vm_value *args,
                  size_t n)
{
    struct coir_host *const h = coir_host_of(vm, "coir_vm_start");
    struct begun *b;

    return h->closing ? -ESHUTDOWN : begin(h, name, function, args, n, "coir_vm_start", &b);
}

/* ---- a task that waits for one ---- */

/* A wait that ends with its fiber: cancelling it cancels that, and waits on. */
static void abort_call(struct coir_task *t)
{
    struct begun *const b = t->waits_for;

    t->abort = NULL;
    b->cancelled = true;
    coir_fiber_cancel(b->fiber);
}

static coir_step ends(struct coir_vm_call *f, int status)
{
    f->task.status = (int16_t)status;
    f->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

static coir_step call_begins(struct coir_vm_call *f)
{
    struct coir_host *const h = f->vm ? coir_host_of(f->vm, "coir_vm_call") : NULL;
    struct begun *b;
    int status;

    if (!h || (f->n && !f->args))
        return ends(f, -EFAULT);
    if (coir_here.cancelled && coir_cancelled_(&f->task))
        return ends(f, -ECANCELED);
    status = h->closing ? -ESHUTDOWN : begin(h, f->name, f->function, f->args, f->n, "coir_vm_call", &b);
    if (status)
        return ends(f, status);
    b->waiter = &f->task;
    f->task.state = 1;
    f->task.abort = abort_call;
    f->task.waits_for = b;
    f->room_[0] = b;
    return COIR_PARK_;
}

coir_step coir_vm_call_resume(struct coir_task *t)
{
    struct coir_vm_call *const f = (struct coir_vm_call *)t;
    struct begun *b;
    int status;

    if (t->state == 0)
        return call_begins(f);
    b = f->room_[0];
    status = b->status;
    f->result = b->outcome;
    end_begun(b);
    return ends(f, status);
}
