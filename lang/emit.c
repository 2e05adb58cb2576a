/* SPDX-License-Identifier: MIT */
/*
 * The program: which functions the image has, and each one's beginning and end. A function is made when somebody calls
 * it, once for the types it is called with; so making goes on until no new ones come.
 */
#include "lang/emit_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"

enum { INSTANCES = 1000 };      /* of one function, at most */

static const char SPLIT[] = "take it apart";

/* ---- leaving ---- */

void coir_e_no_memory(struct coir_e *e)
{
    e->status = -ENOMEM;
    longjmp(e->out, 1);
}

/* At the expression that is being made, or the function; of what the compiler makes itself, at the program's. */
void coir_e_too_large(struct coir_e *e, enum coir_code code, const char *what, const char *note)
{
    const struct coir_x_fn *const fn = e->fn && e->fn->source ? e->fn : e->program->fns[0];
    const bool inside = e->x && fn == e->fn;

    coir_diagnose(e->diagnostics, code, fn->source, inside ? e->x->at : fn->at, inside ? e->x->end : fn->end, "%s",
                  what);
    coir_diagnose_note(e->diagnostics, "%s", note);
    e->status = -E2BIG;
    longjmp(e->out, 1);
}

void *coir_e_take(struct coir_e *e, size_t size)
{
    void *const p = coir_arena_take(&e->arena, size ? size : 1);

    if (!p)
        coir_e_no_memory(e);
    return p;
}

/* ---- instances ---- */

static uint32_t hash_of(const struct coir_e_job *j, uint32_t ntypes)
{
    uint32_t h = (uint32_t)j->kind * 31 + j->fn * 0x9e3779b1u + j->ty;

    for (uint32_t i = 0; i < ntypes; i++)
        h = (h ^ j->types[i]) * 0x85ebca6bu + (h >> 13);
    return h ^ h >> 16;
}

static uint32_t ntypes_of(const struct coir_e *e, const struct coir_e_job *j)
{
    return j->types ? e->program->fns[j->fn]->ntypes : 0;
}

static bool same(const struct coir_e_job *a, const struct coir_e_job *b, uint32_t ntypes)
{
    return a->kind == b->kind && a->fn == b->fn && a->ty == b->ty
        && (ntypes == 0 || !memcmp(a->types, b->types, ntypes * sizeof *a->types));
}

static void more_buckets(struct coir_e *e)
{
    const uint32_t n = e->nbuckets ? e->nbuckets * 2 : 256;
    uint32_t *const grown = coir_budget_resize(e->program->memory, NULL, 0, n * sizeof *grown);

    if (!grown)
        coir_e_no_memory(e);
    coir_budget_resize(e->program->memory, e->buckets, e->nbuckets * sizeof *grown, 0);
    e->buckets = grown;
    e->nbuckets = n;
    for (uint32_t i = 0; i < e->njobs; i++) {
        uint32_t *const b = &grown[hash_of(&e->jobs[i], ntypes_of(e, &e->jobs[i])) & (n - 1)];

        e->jobs[i].next = *b;
        *b = i + 1;
    }
}

static const char *job_name(struct coir_e *e, const struct coir_e_job *j)
{
    return j->kind == COIR_JOB_CALL_SPAWNED || j->kind == COIR_JOB_ASK_SPAWNED ? "fiber" : e->program->fns[j->fn]->name;
}

uint32_t coir_e_instance(struct coir_e *e, enum coir_e_job_kind kind, coir_x_fn_id fn, const coir_ty *types, coir_ty ty)
{
    struct coir_e_job job = { .kind = kind, .fn = fn, .ty = ty, .types = types };
    const uint32_t n = ntypes_of(e, &job), h = hash_of(&job, n);
    const struct coir_source *source;

    if (e->njobs >= e->nbuckets)
        more_buckets(e);
    for (uint32_t i = e->buckets[h & (e->nbuckets - 1)]; i; i = e->jobs[i - 1].next)
        if (same(&e->jobs[i - 1], &job, n))
            return e->jobs[i - 1].index;
    if (kind != COIR_JOB_CALL_SPAWNED && ++e->instances[fn] > INSTANCES)
        coir_e_too_large(e, COIR_E_INSTANCES, "a generic function is called with more than 1,000 different types here",
                         "does it call itself with types that grow? then it has no end");
    source = kind == COIR_JOB_CALL_SPAWNED ? e->fn->source : e->program->fns[fn]->source;
    job.index = coir_build_function(e->build, job_name(e, &job), source ? source->path : "");
    if (job.index > UINT16_MAX)
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, "this is one function too many: a program has at most 65,535",
                         "instances of generic functions count, and closures");
    job.next = e->buckets[h & (e->nbuckets - 1)];
    if (!coir_budget_grow(e->program->memory, &e->jobs, &e->jobs_room, e->njobs, sizeof *e->jobs))
        coir_e_no_memory(e);
    e->jobs[e->njobs++] = job;
    e->buckets[h & (e->nbuckets - 1)] = e->njobs;
    return job.index;
}

/* ---- a function ---- */

static void begin_function(struct coir_e *e, const struct coir_x_fn *fn, const coir_ty *types)
{
    e->fn = fn;
    e->args = types;
    e->locals = coir_e_take(e, (fn->nlocals + 1) * sizeof *e->locals);
    e->top = e->most = e->results = e->nheld = e->pending = e->watchers = e->line = 0;
    e->region = e->told = NULL;
    e->loop = NULL;
    e->nconstants = 0;
    e->pads = NULL;
    e->falls = true;
    e->x = NULL;
}

/* Regions are told in the order in which they ended, so the inner ones first. */
static void tell_regions(struct coir_e *e)
{
    struct coir_e_region *r = e->told, *first = NULL, *next;

    for (; r; r = next) {
        next = r->told;
        r->told = first;
        first = r;
    }
    for (r = first; r; r = r->told)
        for (const struct coir_e_range *g = r->ranges; g; g = g->next)
            coir_build_handler(e->build, r->kind, g->from, g->to, r->pad.id, r->keep);
}

static void end_function(struct coir_e *e)
{
    COIR_ASSERT(!e->falls && !e->region && e->nheld == 0);
    coir_e_make_pads(e);
    tell_regions(e);
    coir_build_end(e->build, e->most);
    if (coir_build_error(e->build))
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, coir_build_error(e->build), SPLIT);
}

static void bind_params(struct coir_e *e, const struct coir_x_fn *fn, const struct coir_e_callee *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        coir_e_local(e, fn->params[i].local, c->at[i], c->modes[i] == COIR_LEND);
        if (c->modes[i] == COIR_OWN && !c->params[i]->flat)
            coir_e_hold(e, c->params[i], c->at[i]);
    }
}

/* What a closure has taken with it is lent from its cell. */
static void bind_captures(struct coir_e *e, const struct coir_x_fn *fn, uint32_t closure)
{
    uint32_t slot = 0;

    for (uint32_t i = 0; i < fn->ncaptures; i++) {
        const struct coir_e_type *const t = coir_e_type(e, fn->locals[fn->captures[i].inner].type);
        const uint32_t at = coir_e_alloc(e, t->slots);

        coir_build_capture(e->build, fn->locals[fn->captures[i].inner].name, t->index);
        coir_e_local(e, fn->captures[i].inner, at, true);
        for (uint32_t k = 0; k < t->slots; k++)
            coir_e_op(e, coir_e_slot(e, t, k).is_ref ? COIR_OP_LENDF : COIR_OP_GETW, at + k, closure, slot + k, 0);
        slot += t->slots;
    }
}

static coir_ty closure_type(struct coir_e *e, const struct coir_e_callee *c)
{
    coir_ty *const all = coir_e_take(e, (c->n + 1) * sizeof *all);
    uint8_t *const modes = coir_e_take(e, c->n + 1);

    for (uint32_t i = 0; i < c->n; i++) {
        all[i] = c->params[i]->ty;
        modes[i] = (uint8_t)c->modes[i];
    }
    all[c->n] = c->result->ty;
    return coir_ty_fn(e->table, c->n, all, modes);
}

/* For a fiber, whose first it is, it owns its parameters: nobody is there who would lend them. So does a handler, of
 * what is the message's. */
static void make_function(struct coir_e *e, const struct coir_e_job *job)
{
    const struct coir_x_fn *const fn = e->program->fns[job->fn];
    struct coir_e_callee c = coir_e_callee_shape(e, job->fn, job->types);
    const bool closure = fn->kind == COIR_FN_CLOSURE;
    uint32_t type = 0, at;

    if (closure)
        type = coir_e_type(e, closure_type(e, &c))->index;
    if (job->kind == COIR_JOB_SPAWNED)
        coir_e_layout(e, &c, true);
    for (uint32_t i = 2; fn->kind == COIR_FN_HANDLER && i < c.n; i++)
        c.modes[i] = COIR_OWN;
    coir_build_begin(e->build, job->index, coir_e_build_params(e, &c, false), c.n, c.result->index);
    if (closure)
        coir_build_body(e->build, type);
    e->results = c.muts;
    coir_e_alloc(e, c.window);              /* the parameters, and where the result goes */
    e->top = c.slots + closure;
    bind_params(e, fn, &c);
    if (closure)
        bind_captures(e, fn, c.slots);
    at = coir_e_alloc(e, c.result->slots);
    coir_e_into(e, fn->body, at);
    coir_e_drop_to(e, 0);
    coir_e_give(e, at);
}

static void make(struct coir_e *e, uint32_t number)
{
    const struct coir_e_job job = e->jobs[number];

    begin_function(e, e->program->fns[job.fn], job.types);
    if (job.kind == COIR_JOB_FN
            || (job.kind == COIR_JOB_SPAWNED && e->program->fns[job.fn]->kind != COIR_FN_NATIVE))
        make_function(e, &job);
    else if (job.kind == COIR_JOB_VALUE)
        coir_e_make_value_body(e, &job);
    else
        coir_e_make_spawned(e, &job);
    end_function(e);
}

/* ---- globals ---- */

uint32_t coir_e_global(struct coir_e *e, coir_x_global_id id)
{
    const struct coir_x_global *const g = &e->program->globals[id];

    if (!e->globals[id]) {
        e->globals[id] = coir_build_global(e->build, g->name, coir_e_type(e, g->type)->index) + 1;
        coir_e_instance(e, COIR_JOB_FN, g->init, NULL, 0);
        e->any_global = true;
    }
    return e->globals[id] - 1;
}

/* One function sets all of them, in the order of the text: each sees only those before it. */
static void make_init(struct coir_e *e, uint32_t index)
{
    static const struct coir_x_fn init = { .module = "", .name = "init", .result = COIR_TY_UNIT };

    begin_function(e, &init, NULL);
    coir_build_begin(e->build, index, NULL, 0, COIR_TYPE_UNIT);
    for (coir_x_global_id id = 0; id < e->program->nglobals; id++) {
        const struct coir_e_type *t;
        uint32_t at;

        if (!e->globals[id])
            continue;
        t = coir_e_type(e, e->program->globals[id].type);
        e->top = 0;
        at = coir_e_alloc(e, t->slots + 1);
        coir_e_wide(e, COIR_OP_CALL, at, coir_e_instance(e, COIR_JOB_FN, e->program->globals[id].init, NULL, 0));
        for (uint32_t i = 0; i < t->slots; i++)
            coir_e_wide(e, COIR_OP_GSET, at + i, e->globals[id] - 1 + i);
    }
    coir_e_op(e, COIR_OP_RET, 0, 0, 0, 0);
    end_function(e);
}

/* ---- the program ---- */

static void make_all(struct coir_e *e)
{
    while (e->done < e->njobs)
        make(e, e->done++);
}

/* testing.main of the library: what a program of tests runs. */
static coir_x_fn_id tester(const struct coir_e *e)
{
    for (coir_x_fn_id id = 0; id < e->program->nfns; id++) {
        const struct coir_x_fn *const fn = e->program->fns[id];

        if (!strcmp(fn->module, "testing") && !strcmp(fn->name, "main") && fn->kind == COIR_FN_PLAIN)
            return id;
    }
    COIR_ASSERT(false);
    return COIR_NO_FN;
}

/* The main of a program of tests: fn(args: List[Text]) -> Int, which makes lists of their names and of themselves. */
static void make_test_main(struct coir_e *e, uint32_t index)
{
    static const struct coir_x_fn main = { .module = "", .name = "main", .result = COIR_TY_INT };
    const coir_ty none[] = { COIR_TY_UNIT }, test = coir_ty_fn(e->table, 0, none, NULL);
    const struct coir_e_type *texts, *tests;
    enum { ARGS, NAMES, TESTS, LENT, OWN, WINDOW, REGISTERS = WINDOW + 3 };

    begin_function(e, &main, NULL);
    texts = coir_e_type(e, coir_ty_list(e->table, COIR_TY_TEXT));
    tests = coir_e_type(e, coir_ty_list(e->table, test));
    coir_build_begin(e->build, index, &(struct coir_build_param){ texts->index, COIR_MODE_LEND }, 1, COIR_TYPE_INT);
    coir_e_alloc(e, REGISTERS);
    coir_e_op(e, COIR_OP_NEWL, NAMES, texts->index, LENT, 0);
    coir_e_op(e, COIR_OP_NEWL, TESTS, tests->index, LENT, 0);
    for (uint32_t i = 0; i < e->program->ntests; i++) {
        const coir_x_fn_id id = e->program->tests[i];
        const char *const name = e->program->fns[id]->name;

        coir_e_wide(e, COIR_OP_CONSTT, LENT, coir_build_text(e->build, name, strlen(name)));
        coir_e_op(e, COIR_OP_COPY, OWN, LENT, 0, 0);
        coir_e_op(e, COIR_OP_LPUSH, NAMES, OWN, 0, 0);
        coir_e_op(e, COIR_OP_CLOSURE, OWN, coir_e_instance(e, COIR_JOB_VALUE, id, NULL, test), LENT, 0);
        coir_e_op(e, COIR_OP_LPUSH, TESTS, OWN, 0, 0);
    }
    for (uint32_t i = ARGS; i <= TESTS; i++)
        coir_e_op(e, COIR_OP_LEND, WINDOW + i, i, 0, 0);
    coir_e_wide(e, COIR_OP_CALL, WINDOW, coir_e_instance(e, COIR_JOB_FN, tester(e), NULL, 0));
    coir_e_op(e, COIR_OP_DROP, NAMES, 0, 0, 0);
    coir_e_op(e, COIR_OP_DROP, TESTS, 0, 0, 0);
    coir_e_op(e, COIR_OP_RETV, WINDOW, 0, 0, 0);
    end_function(e);
}

/* What is started from outside. */
static void make_exports(struct coir_e *e, enum coir_emit_what what)
{
    const coir_x_fn_id main = e->program->main;

    if (what == COIR_EMIT_TESTS) {
        const uint32_t made = coir_build_function(e->build, "main", "");

        make_test_main(e, made);
        coir_build_export(e->build, COIR_EXPORT_MAIN, "main", made);
    } else if (main != COIR_NO_FN) {
        coir_build_export(e->build, COIR_EXPORT_MAIN, "main", coir_e_instance(e, COIR_JOB_FN, main, NULL, 0));
    }
    for (coir_x_fn_id id = 0; id < e->program->nfns; id++) {
        const struct coir_x_fn *const fn = e->program->fns[id];

        if (what == COIR_EMIT_EXPORTS && fn->exported)
            coir_build_export(e->build, COIR_EXPORT_FUNCTION, fn->exported,
                              coir_e_instance(e, COIR_JOB_FN, id, NULL, 0));
        if (what == COIR_EMIT_NATIVES && fn->host && fn->kind == COIR_FN_NATIVE && !fn->ntypes)
            coir_e_callee(e, id, NULL);
    }
}

static void emit(struct coir_e *e, enum coir_emit_what what)
{
    make_exports(e, what);
    make_all(e);
    if (e->any_global) {
        const uint32_t init = coir_build_function(e->build, "init", "");

        coir_build_export(e->build, COIR_EXPORT_INIT, "init", init);
        make_init(e, init);
    }
}

static int finish(struct coir_e *e, void **bytes, size_t *length)
{
    const int status = coir_build_finish(e->build, bytes, length);

    if (status == -EINVAL)
        coir_e_too_large(e, COIR_E_FUNCTION_SIZE, coir_build_error(e->build), SPLIT);
    return status;
}

static void release(struct coir_e *e)
{
    struct coir_budget *const m = e->program->memory;

    coir_budget_resize(m, e->types, e->ntypes * sizeof *e->types, 0);
    coir_budget_resize(m, e->jobs, e->jobs_room * sizeof *e->jobs, 0);
    coir_budget_resize(m, e->buckets, e->nbuckets * sizeof *e->buckets, 0);
    coir_budget_resize(m, e->held, e->held_room * sizeof *e->held, 0);
    coir_arena_free(&e->arena);
    coir_build_free(e->build);
    free(e);
}

int coir_emit(const struct coir_typed *program, enum coir_emit_what what, void **bytes, size_t *length,
              struct coir_diagnostics *diagnostics)
{
    struct coir_e *const e = calloc(1, sizeof *e);      /* not of this frame: longjmp leaves it as it is */
    int status;

    if (!e)
        return -ENOMEM;
    e->program = program;
    e->table = program->types;
    e->diagnostics = diagnostics;
    e->arena.memory = program->memory;
    e->build = coir_build_new();
    e->status = e->build ? 0 : -ENOMEM;
    if (e->build && setjmp(e->out) == 0) {
        e->instances = coir_e_take(e, program->nfns * sizeof *e->instances);
        e->globals = coir_e_take(e, program->nglobals * sizeof *e->globals);
        emit(e, what);
        e->status = finish(e, bytes, length);
    }
    status = e->status;
    release(e);
    return status;
}
