/* SPDX-License-Identifier: MIT */
/*
 * A native that asks for a function. It is put aside, in memory of the heap, and the function's frame is laid behind
 * its window:
 *
 *     | the caller's registers | the native's window | the function's registers ... (room)   | END | return pc ... |
 *     low                                            r                                       fp              high
 *
 * The return address is that of the instruction which ends a fiber; so the interpreter comes back when the function has
 * returned, and unwinding when it has trapped, and both find here who has asked. Functions and natives may call each
 * other to any depth that the stack and the memory allow: each such call is an object of the heap, and nothing of the C
 * stack. The fiber's `op` is free while a function runs: a native that asks keeps nothing there.
 */
#include "vm/ask.h"

#include "runtime/base/assert.h"
#include "vm/scratch.h"

/* Registers of a native's window: its arguments, and the result where it goes. */
static size_t window_slots(const struct coir_import *i)
{
    const uint32_t results = i->mut_slots + i->result->slots;

    return i->slots > results ? i->slots : results;
}

uint64_t *coir_returned(const struct coir_fiber *f)
{
    return f->window + window_slots(f->import);
}

static struct coir_asking *put_aside(struct coir_fiber *f)
{
    struct coir_asking *a = coir_heap_alloc(f->heap, sizeof *a);

    if (!a)
        return NULL;
    *a = (struct coir_asking){
        .outer = f->asking, .call = f->call, .import = f->import, .scratch = f->scratch, .pc = f->pc, .next = f->next,
        .r = (size_t)(f->r - f->low), .window = (size_t)(f->window - f->low), .step = f->step,
    };
    return a;
}

static void take_up(struct coir_fiber *f)
{
    struct coir_asking *a = f->asking;

    f->asking = a->outer;
    f->call = a->call;
    f->import = a->import;
    f->scratch = a->scratch;
    f->pc = a->pc;
    f->next = a->next;
    f->r = f->low + a->r;
    f->window = f->low + a->window;
    f->step = a->step;
    coir_heap_free(f->heap, a, sizeof *a);
}

/* Of arguments that lie in the window, those that are moved. */
static void forget_moved(const struct coir_function *fn, uint64_t *args)
{
    for (uint32_t i = 0; i < fn->nparams; args += fn->params[i++].type->slots) {
        if (fn->params[i].mode == COIR_MODE_OWN)
            memset(args, 0, fn->params[i].type->slots * sizeof *args);
    }
}

/* The stack may move: nothing that lies in it is held over this. */
static enum coir_native_result ask(struct coir_fiber *f, uint32_t function, uint64_t closure, const uint64_t *args)
{
    const struct coir_callee *const to = &f->vm->callees[function];
    const size_t at = (size_t)(f->window - f->low) + window_slots(f->import), base = (size_t)(f->r - f->low);
    const bool inside = args >= f->low && args < f->high;
    const size_t from = inside ? (size_t)(args - f->low) : 0;
    const struct coir_function *const fn = &f->vm->program->functions[function];
    struct coir_asking *a;

    COIR_ASSERT(f->scratch != &f->op);
    a = put_aside(f);
    if (!a)
        return coir_trap_memory(f);
    if (!coir_has_room(f, f->low + at, to->nregs, f->fp) && !coir_stack_grow(f, (uint32_t)(at - base) + to->nregs)) {
        coir_heap_free(f->heap, a, sizeof *a);
        return COIR_NATIVE_TRAP;
    }
    f->asking = a;
    f->scratch = NULL;
    f->r = f->low + at;
    memmove(f->r, inside ? f->low + from : args, to->slots * sizeof *args);
    if (inside)
        forget_moved(fn, f->low + from);
    if (closure)
        f->r[to->slots] = closure;
    *--f->fp = coir_end_code + 1;
    f->pc = to->code;
    return COIR_NATIVE_CALL;
}

enum coir_native_result coir_call_back(struct coir_fiber *f, uint64_t closure, const uint64_t *args)
{
    const uint32_t function = coir_ref(closure)->aux;

    COIR_ASSERT(f->vm->program->functions[function].mut_slots == 0);
    return ask(f, function, closure, args);
}

enum coir_native_result coir_call_function(struct coir_fiber *f, uint32_t function, const uint64_t *args)
{
    COIR_ASSERT(f->vm->program->functions[function].mut_slots == 0 && !f->vm->program->functions[function].closure);
    return ask(f, function, 0, args);
}

/* Its return address was taken off on the way here, on either of them. */
void coir_asked_returned(struct coir_fiber *f)
{
    take_up(f);
    f->step++;
}

void coir_asked_trapped(struct coir_fiber *f)
{
    take_up(f);
    coir_scratch_cut(f);
    f->inside = false;
}
