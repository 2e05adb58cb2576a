/* SPDX-License-Identifier: MIT */
/*
 * Calls of builtins: a native that gives C its parameters as values, and does what C says. The call lies in the
 * native's scratch, and everything of it is given back when it ends, on whichever way.
 */
#include <stdarg.h>
#include <stdio.h>

#include "embed/inside.h"
#include "vm/raise.h"

/* ---- the call ---- */

static void end_scratch(struct coir_host *h, struct coir_host_call *c)
{
    if (!c->scratch)
        return;
    if (c->end)
        c->end(c->scratch);
    coir_heap_free(coir_host_heap(h), c->scratch, c->size);
    c->scratch = NULL;
}

static void end_call(struct coir_host *h, struct coir_host_call *c)
{
    end_scratch(h, c);
    if (c->asked)
        coir_asked_end(h, c->asked);
    c->asked = NULL;
    coir_entries_end(h, c->first);
    c->first = 0;
}

static void cut(struct coir_fiber *f, void *scratch)
{
    end_call(f->vm->host, scratch);
}

static const struct coir_vm_builtin *builtin_of(const struct coir_vm_program *p, const struct coir_native *n)
{
    for (uint32_t i = 0; i < p->nmodules; i++) {
        const struct coir_host_module *const m = &p->modules[i];

        if (n >= m->natives && n < m->natives + m->table.n)
            return &m->given->builtins[n - m->natives];
    }
    return NULL;
}

/* The parameters as values: own ones are the call's from now on. */
static void take_args(struct coir_host *h, struct coir_host_call *c, const struct coir_import *import)
{
    uint64_t *at = c->window;

    for (uint32_t i = 0; i < import->nparams; at += import->params[i++].type->slots) {
        const struct coir_type *const t = import->params[i].type;

        if (import->params[i].mode == COIR_MODE_OWN) {
            c->args[i] = coir_value_take(h, t, at);
            memset(at, 0, t->slots * sizeof *at);
        } else {
            c->args[i] = coir_value_lend(h, t, at);
        }
    }
}

/* What it asked for has returned. */
static void take_answer(struct coir_host *h, struct coir_host_call *c)
{
    const struct coir_type *const t = c->asked->result;

    coir_vm_release(c->answer);
    if (t->kind == COIR_TYPE_UNIT)
        c->answer = (struct coir_vm_value){ 0 };
    else
        c->answer = coir_value_take(h, t, coir_returned(c->fiber));
    coir_asked_end(h, c->asked);
    c->asked = NULL;
}

/* What C has said is done; without memory for a value nothing of it is. */
static enum coir_native_result said(struct coir_host *h, struct coir_host_call *c, struct coir_fiber *f)
{
    enum coir_native_result how = c->how;

    if (!c->said)
        coir_host_stop(c->builtin->name, "the builtin has returned what is not of coir_vm_return and the like");
    if (c->failed && how != COIR_NATIVE_TRAP && how != COIR_NATIVE_CALL) {
        f->wait = NULL;
        how = COIR_NATIVE_TRAP;
    }
    if (how == COIR_NATIVE_DONE || how == COIR_NATIVE_TRAP) {
        end_call(h, c);
        if (how == COIR_NATIVE_TRAP && c->failed)
            coir_trap_memory(f);
    }
    coir_charge(f, 8);
    return how;
}

enum coir_native_result coir_host_builtin(struct coir_fiber *f, uint64_t *r)
{
    struct coir_host *const h = f->vm->host;
    const struct coir_import *const import = f->import;
    const bool begins = !f->scratch;
    struct coir_host_call *const c = coir_scratch(f, sizeof *c + import->nparams * sizeof c->args[0], cut);

    if (!c)
        return coir_trap_memory(f);
    c->fiber = f;
    c->window = r;
    h->call = c;
    c->said = false;
    if (begins) {
        c->builtin = builtin_of(h->program, import->native);
        take_args(h, c, import);
    }
    if (c->asked)
        take_answer(h, c);
    if (c->failed) {
        h->call = NULL;
        end_call(h, c);
        return coir_trap_memory(f);
    }
    c->builtin->call(coir_host_vm(h));
    h->call = NULL;
    return said(h, c, f);
}

/* ---- what C asks of its call ---- */

static struct coir_host_call *call_of(struct coir_vm *vm, const char *who)
{
    struct coir_host *const h = coir_host_of(vm, who);

    if (!h->call)
        coir_host_stop(who, "no builtin runs");
    return h->call;
}

struct coir_vm_value coir_vm_arg(struct coir_vm *vm, size_t i)
{
    struct coir_host_call *const c = call_of(vm, "coir_vm_arg");

    if (i >= c->fiber->import->nparams)
        coir_host_stop("coir_vm_arg", "%s has %u parameters", c->builtin->name, c->fiber->import->nparams);
    return c->args[i];
}

size_t coir_vm_args(struct coir_vm *vm)
{
    return call_of(vm, "coir_vm_args")->fiber->import->nparams;
}

const struct coir_type *coir_vm_result_type(struct coir_vm *vm)
{
    return call_of(vm, "coir_vm_result_type")->fiber->import->result;
}

unsigned coir_vm_step(struct coir_vm *vm)
{
    return call_of(vm, "coir_vm_step")->fiber->step;
}

struct coir_vm_value coir_vm_answer(struct coir_vm *vm)
{
    return call_of(vm, "coir_vm_answer")->answer;
}

void *coir_vm_scratch(struct coir_vm *vm, size_t size, void (*end)(void *scratch))
{
    struct coir_host_call *const c = call_of(vm, "coir_vm_scratch");

    if (c->scratch)
        return c->scratch;
    c->size = size ? size : 1;
    c->scratch = coir_heap_alloc(c->fiber->heap, c->size);
    if (!c->scratch)
        return NULL;
    c->end = end;
    return memset(c->scratch, 0, c->size);
}

/* ---- what C says ---- */

static struct coir_host_call *says(struct coir_vm *vm, enum coir_native_result how, const char *who)
{
    struct coir_host_call *const c = call_of(vm, who);

    if (c->said)
        coir_host_stop(who, "%s has said already how it goes on", c->builtin->name);
    c->said = true;
    c->how = how;
    return c;
}

static coir_vm_said done(void)
{
    return (coir_vm_said){ 1 };
}

coir_vm_said coir_vm_return(struct coir_vm *vm, struct coir_vm_value v)
{
    static const char who[] = "coir_vm_return";
    struct coir_host_call *const c = says(vm, COIR_NATIVE_DONE, who);

    if (!c->failed && !coir_value_put(vm->host, v, c->fiber->import->result, c->window, who))
        c->failed = true;
    return done();
}

coir_vm_said coir_vm_done(struct coir_vm *vm)
{
    const struct coir_host_call *const c = says(vm, COIR_NATIVE_DONE, "coir_vm_done");

    if (c->fiber->import->result->kind != COIR_TYPE_UNIT)
        coir_host_stop("coir_vm_done", "%s has a result", c->builtin->name);
    return done();
}

coir_vm_said coir_vm_more(struct coir_vm *vm)
{
    says(vm, COIR_NATIVE_MORE, "coir_vm_more");
    return done();
}

coir_vm_said coir_vm_trap(struct coir_vm *vm, const char *code, const char *format, ...)
{
    struct coir_host_call *const c = says(vm, COIR_NATIVE_TRAP, "coir_vm_trap");
    enum coir_trap_code number = COIR_TRAP_EXPLICIT;
    char text[400];
    va_list args;
    int n;

    for (int i = 0; i < COIR_TRAP_CODES; i++) {
        if (!strcmp(coir_trap_name((enum coir_trap_code)i), code))
            number = (enum coir_trap_code)i;
    }
    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    coir_trap_text(c->fiber, number, text, n < 0 ? 0 : n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    return done();
}

coir_vm_said coir_vm_trap_status(struct coir_vm *vm, int status, const char *name)
{
    const struct coir_host_call *const c = says(vm, COIR_NATIVE_TRAP, "coir_vm_trap_status");

    coir_trap_status(c->fiber, status < 0 ? status : -EINVAL, name);
    return done();
}

coir_vm_said coir_vm_await_(struct coir_vm *vm, struct coir_task *slot, coir_step (*resume)(struct coir_task *))
{
    const struct coir_host_call *const c = says(vm, COIR_NATIVE_AWAIT, "coir_vm_await");
    const char *const from = c->scratch, *const at = (const char *)slot;

    if (!from || at < from || at >= from + c->size)
        coir_host_stop("coir_vm_await", "the slot is not in the scratch of %s", c->builtin->name);
    coir_prepare_wait_(c->fiber, slot, resume);
    return done();
}

/* ---- asking for a function ---- */

static coir_vm_said ask(struct coir_vm *vm, const char *name, struct coir_vm_value function,
                        const struct coir_vm_value *args, size_t n, const char *who)
{
    struct coir_host_call *const c = says(vm, COIR_NATIVE_CALL, who);
    struct coir_fiber *const f = c->fiber;
    struct coir_asked *a = NULL;
    const int status = c->failed ? -ENOMEM : coir_asked_new(vm->host, name, function, args, n, who, &a);

    c->how = COIR_NATIVE_TRAP;
    if (status == -ENOMEM)
        c->failed = true;
    else if (status == -ENOENT)
        coir_trap(f, COIR_TRAP_EXPLICIT, "the program has no function %s", name ? name : "of no value");
    else if (status)
        coir_trap(f, COIR_TRAP_EXPLICIT, "the function %s wants other arguments", name ? name : "that was given");
    if (status)
        return done();
    c->asked = a;
    c->how = a->closure ? coir_call_back(f, a->closure, a->args) : coir_call_function(f, a->function, a->args);
    if (c->how == COIR_NATIVE_CALL)
        coir_asked_begun(a);
    return done();
}

coir_vm_said coir_vm_ask(struct coir_vm *vm, struct coir_vm_value function, const struct coir_vm_value *args, size_t n)
{
    return ask(vm, NULL, function, args, n, "coir_vm_ask");
}

coir_vm_said coir_vm_ask_for(struct coir_vm *vm, const char *name, const struct coir_vm_value *args, size_t n)
{
    return ask(vm, name, (struct coir_vm_value){ 0 }, args, n, "coir_vm_ask_for");
}
