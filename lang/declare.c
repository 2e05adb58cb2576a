/* SPDX-License-Identifier: MIT */
/*
 * What modules declare: first all names, then the types of fields, then the signatures of functions, so that anything
 * may be used before it stands in the text, and modules may use each other in a ring. No body is looked at here.
 */
#include "lang/checker.h"

#include <stdio.h>
#include <string.h>

void coir_enter(struct coir_checker *c, uint32_t module, const struct coir_ty_param *params, uint32_t ntypes)
{
    c->module = &c->modules[module];
    c->params = params;
    c->ntypes = ntypes;
}

static uint32_t module_number(const struct coir_checker *c)
{
    return (uint32_t)(c->module - c->modules);
}

const char *coir_words(struct coir_checker *c, const char *a, const char *dot, const char *b)
{
    const size_t size = strlen(a) + strlen(dot) + strlen(b) + 1;
    char *const to = coir_take(c, size);

    snprintf(to, size, "%s%s%s", a, dot, b);
    return to;
}

coir_x_fn_id coir_fn_new(struct coir_checker *c, struct coir_x_fn fn, uint32_t module, coir_ast node)
{
    struct coir_x_fn *const made = coir_take(c, sizeof *made);

    *made = fn;
    made->module = c->modules[module].name;
    made->source = c->modules[module].tree->source;
    made->host = c->modules[module].host;
    c->fns = coir_more(c, c->fns, &c->fns_room, c->nfns, sizeof *c->fns);
    c->fns[c->nfns] = (struct coir_fn_item){ .fn = made, .module = module, .node = node };
    return c->nfns++;
}

/* ---- names ---- */

void coir_say_twice(struct coir_checker *c, coir_ast n, const char *name, uint32_t at, uint32_t end)
{
    coir_say_main(c, COIR_E_DUPLICATE, n, "`%s` is declared already", name);
    coir_diagnose_see(c->d, coir_tree_of(c)->source, at, end, "the first `%s` is here", name);
}

/* Of the module we are in, named by the main token of `n`. */
void coir_item_new(struct coir_checker *c, coir_ast n, struct coir_item item)
{
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    const uint32_t owner = coir_owner_module(module_number(c));

    item.module = module_number(c);
    item.name = coir_symbol_at(c, n);
    item.pub = coir_ast_flags(coir_tree_of(c), n) & COIR_F_PUB;
    item.at = at.start;
    item.end = at.end;
    const uint32_t other = coir_lookup_get(c, owner, item.name);
    if (other != COIR_NONE) {
        coir_say_twice(c, n, coir_symbol_text(c, item.name), c->items[other].at, c->items[other].end);
        return;
    }
    if ((item.kind == COIR_ITEM_TYPE || item.kind == COIR_ITEM_VARIANT) && !c->module->core &&
        coir_is_builtin_type(c, item.name)) {
        coir_say_main(c, COIR_E_DUPLICATE, n, "`%s` is a type of the language", coir_symbol_text(c, item.name));
        coir_note(c, "give it another name");
    }
    c->items = coir_more(c, c->items, &c->items_room, c->nitems, sizeof *c->items);
    c->items[c->nitems] = item;
    coir_lookup_put(c, owner, item.name, c->nitems);
    if (c->module->core && item.kind == COIR_ITEM_TYPE)
        coir_lookup_put(c, coir_owner_all(), item.name, c->nitems);
    c->nitems++;
}

struct coir_ty_decl *coir_decl_new(struct coir_checker *c, coir_ast n, enum coir_ty_decl_kind kind)
{
    struct coir_ty_table *const t = c->types;
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    struct coir_ty_decl *const d = coir_take(c, sizeof *d);

    if (!coir_budget_grow(c->memory, &t->decls, &t->decls_room, t->ndecls, sizeof *t->decls))
        coir_check_leave(c);
    *d = (struct coir_ty_decl){ .kind = kind, .module = c->module->core ? "" : c->module->name,
                                .name = coir_symbol_text(c, coir_symbol_at(c, n)), .number = t->ndecls,
                                .source = coir_tree_of(c)->source, .module_number = module_number(c), .node = n,
                                .at = at.start, .end = at.end };
    t->decls[t->ndecls++] = d;
    return d;
}

static void declare_record(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list members = coir_ast_record_type_members(t, n);
    bool fields = false;

    if (coir_ast_flags(t, n) & COIR_F_SHARED) {
        coir_say_main(c, COIR_E_NOT_YET, n, "`shared type` is not there yet");
        coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_LATER });
        return;
    }
    for (uint32_t i = 0; i < members.count; i++)
        fields |= coir_ast_is(t, members.at[i], COIR_N_FIELD);
    const bool resource = c->module->library && !fields;        /* of which Coir knows nothing but its methods */
    const struct coir_ty_decl *const d = coir_decl_new(c, n, resource ? COIR_DECL_RESOURCE : COIR_DECL_RECORD);
    coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_TYPE, .index = d->number });
}

static void declare_sum(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list variants = coir_ast_sum_type_variants(t, n);
    struct coir_ty_decl *const d = coir_decl_new(c, n, COIR_DECL_SUM);
    const bool pub = coir_ast_flags(t, n) & COIR_F_PUB;

    coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_TYPE, .index = d->number });
    d->nvariants = variants.count;
    d->variants = coir_take(c, variants.count * sizeof *d->variants);
    d->plain = true;
    for (uint32_t i = 0; i < variants.count; i++) {
        const coir_ast v = variants.at[i];
        const struct coir_place at = coir_ast_main_place(t, v);
        const uint32_t before = c->nitems;
        d->variants[i] = (struct coir_ty_variant){ .name = coir_symbol_text(c, coir_symbol_at(c, v)), .node = v,
                                                   .at = at.start, .end = at.end };
        d->plain &= coir_ast_variant_fields(t, v).count == 0;
        coir_item_new(c, v, (struct coir_item){ .kind = COIR_ITEM_VARIANT, .index = d->number, .variant = i });
        if (c->nitems > before)
            c->items[before].pub = pub;
    }
}

static void declare_let(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const coir_ast pattern = coir_ast_let_pattern(t, n);
    const uint32_t before = c->nitems;

    if (!coir_ast_is(t, pattern, COIR_N_BIND)) {
        coir_say(c, COIR_E_CONSTANT, pattern, "a `let` of a module has one name");
        return;
    }
    c->lets = coir_more(c, c->lets, &c->lets_room, c->nlets, sizeof *c->lets);
    c->lets[c->nlets] = (struct coir_let_item){ .module = module_number(c), .node = n, .bind = pattern,
                                                .global = COIR_NONE };
    coir_item_new(c, pattern, (struct coir_item){ .kind = COIR_ITEM_GLOBAL, .index = c->nlets++ });
    if (c->nitems > before)
        c->items[before].pub = coir_ast_flags(t, n) & COIR_F_PUB;
}

static void declare_test(struct coir_checker *c, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list pieces = coir_ast_text_pieces(t, coir_ast_test_name(t, n));
    const struct coir_place at = coir_ast_place(t, coir_ast_test_name(t, n));
    char *name = coir_take(c, 1);

    if (pieces.count == 1 && coir_ast_is(t, pieces.at[0], COIR_N_TEXT_PART)) {
        name = coir_take(c, coir_ast_word(t, pieces.at[0]).size + 1);
        coir_ast_text(t, pieces.at[0], name);
    }
    coir_fn_new(c, (struct coir_x_fn){ .name = name, .kind = COIR_FN_TEST, .at = at.start, .end = at.end,
                                       .result = COIR_TY_UNIT }, module_number(c), n);
}

static void declare_uses(struct coir_checker *c)
{
    for (uint32_t i = 0; i < c->module->nuses; i++) {
        const struct coir_module_use u = c->module->uses[i];
        coir_item_new(c, u.node, (struct coir_item){ .kind = u.module == COIR_NONE ? COIR_ITEM_LATER : COIR_ITEM_MODULE,
                                                .index = u.module });
    }
}

static void declare_item(struct coir_checker *c, coir_ast n)
{
    switch (coir_ast_kind(coir_tree_of(c), n)) {
    case COIR_N_RECORD_TYPE:
        declare_record(c, n);
        break;
    case COIR_N_SUM_TYPE:
        declare_sum(c, n);
        break;
    case COIR_N_LET:
        declare_let(c, n);
        break;
    case COIR_N_TEST:
        declare_test(c, n);
        break;
    case COIR_N_ACTOR:
        coir_declare_actor(c, n);
        break;
    case COIR_N_TABLE:
        coir_say_main(c, COIR_E_NOT_YET, n, "tables are not there yet");
        coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_LATER });
        break;
    default:            /* functions: when types are known */
        break;
    }
}

/* ---- types ---- */

/* Appends the parameters that `n` (TYPE_PARAMS or none) declares to the `had` that there are. */
static struct coir_ty_param *type_params(struct coir_checker *c, coir_ast n, const struct coir_ty_param *old,
                                         uint32_t had, uint32_t *count)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = n ? coir_ast_type_params_list(t, n) : (struct coir_ast_list){ 0 };
    struct coir_ty_param *const to = coir_take(c, (had + list.count + 1) * sizeof *to);

    if (had)
        memcpy(to, old, had * sizeof *to);
    for (uint32_t i = 0; i < list.count; i++) {
        const struct coir_place at = coir_ast_main_place(t, list.at[i]);
        const char *const name = coir_symbol_text(c, coir_symbol_at(c, list.at[i]));
        const coir_ast bound = coir_ast_type_param_bound(t, list.at[i]);
        struct coir_ty_param *const p = &to[had + i];
        *p = (struct coir_ty_param){ .name = name, .at = at.start, .end = at.end };
        for (uint32_t k = 0; k < had + i; k++) {
            if (to[k].name == name)
                coir_say_twice(c, list.at[i], name, to[k].at, to[k].end);
        }
        if (!bound)
            continue;
        const struct coir_word w = coir_ast_word(t, bound);
        if (w.size == 3 && !memcmp(w.text, "Ord", 3))
            p->bound = COIR_BOUND_ORD;
        else if (w.size == 3 && !memcmp(w.text, "Key", 3))
            p->bound = COIR_BOUND_KEY;
        else
            coir_say(c, COIR_E_UNKNOWN_TYPE, bound, "a bound is `Ord` or `Key`");
    }
    *count = had + list.count;
    return to;
}

static void decl_params(struct coir_checker *c, struct coir_ty_decl *d)
{
    coir_enter(c, d->module_number, NULL, 0);
    if (d->kind == COIR_DECL_ACTOR || d->actor)
        return;
    d->types = type_params(c, coir_ast_child(coir_tree_of(c), d->node, 0), NULL, 0, &d->ntypes);
    for (uint32_t i = 0; i < d->ntypes; i++)
        d->types[i].resources = true;
    d->holds = coir_take(c, d->ntypes + 1);
}

void coir_member_new(struct coir_checker *c, const struct coir_ty_decl *d, coir_ast n, uint32_t value)
{
    const coir_symbol s = coir_symbol_at(c, n);
    const uint32_t other = coir_lookup_get(c, coir_owner_decl(d->number), s);

    if (other == COIR_NONE) {
        coir_lookup_put(c, coir_owner_decl(d->number), s, value);
        return;
    }
    const struct coir_x_fn *const fn = other & 1 ? c->fns[other / 2].fn : NULL;
    coir_say_twice(c, n, coir_symbol_text(c, s), fn ? fn->at : d->fields[other / 2].at,
              fn ? fn->end : d->fields[other / 2].end);
}

static void field_of(struct coir_checker *c, struct coir_ty_decl *d, struct coir_ty_field *f, coir_ast n)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_main_place(t, n);
    const coir_ast value = coir_ast_field_value(t, n);

    *f = (struct coir_ty_field){ .type = coir_check_type(c, coir_ast_field_type(t, n)), .init = COIR_NO_FN, .node = n,
                                 .at = at.start, .end = at.end };
    if (coir_ast_word(t, n).size)
        f->name = coir_symbol_text(c, coir_symbol_at(c, n));
    if (value) {
        f->init = coir_fn_new(c, (struct coir_x_fn){ .name = coir_words(c, d->name, ".", f->name ? f->name : ""),
            .kind = COIR_FN_DEFAULT, .at = at.start, .end = at.end, .ntypes = d->ntypes, .types = d->types,
            .result = f->type }, d->module_number, value);
        c->fns[f->init].types = d->types;
    }
}

static void decl_fields(struct coir_checker *c, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list members = d->actor ? coir_ast_actor_members(t, d->node) :
                                         coir_ast_record_type_members(t, d->node);

    d->fields = coir_take(c, members.count * sizeof *d->fields);
    for (uint32_t i = 0; i < members.count; i++) {
        if (!coir_ast_is(t, members.at[i], COIR_N_FIELD))
            continue;
        field_of(c, d, &d->fields[d->nfields], members.at[i]);
        coir_member_new(c, d, members.at[i], d->nfields * 2);
        d->nfields++;
    }
}

static void decl_sum(struct coir_checker *c, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);

    for (uint32_t v = 0; v < d->nvariants; v++) {
        const struct coir_ast_list fields = coir_ast_variant_fields(t, d->variants[v].node);
        d->variants[v].fields = coir_take(c, fields.count * sizeof *d->variants[v].fields);
        d->variants[v].nfields = fields.count;
        for (uint32_t i = 0; i < fields.count; i++) {
            field_of(c, d, &d->variants[v].fields[i], fields.at[i]);
            if (d->variants[v].fields[i].init != COIR_NO_FN)
                coir_say(c, COIR_E_ARGUMENTS, fields.at[i], "a payload has no defaults");
            for (uint32_t k = 0; k < i; k++) {
                if (d->variants[v].fields[i].name && d->variants[v].fields[k].name == d->variants[v].fields[i].name)
                    coir_say_twice(c, fields.at[i], d->variants[v].fields[i].name, d->variants[v].fields[k].at,
                              d->variants[v].fields[k].end);
            }
        }
    }
}

/* ---- records that contain themselves ---- */

enum { UNSEEN, OPEN, CLEAR };

struct ring {
    uint8_t *seen;
    struct { uint32_t decl, field; } *stack;
    uint32_t n, room;
};

static void say_ring(struct coir_checker *c, const struct ring *r, uint32_t decl)
{
    uint32_t from = r->n - 1;

    while (r->stack[from].decl != decl)
        from--;
    const struct coir_ty_decl *const d = c->types->decls[decl];
    const struct coir_ty_field *const f = &d->fields[r->stack[from].field];
    coir_enter(c, d->module_number, d->types, d->ntypes);
    coir_say_at(c, COIR_E_RECURSIVE, f->at, f->end, "`%s` would contain itself, without an end", d->name);
    coir_note(c, "make the field optional (`T?`), or a list");
}

/* Looks into the records that are directly in `ty`: in a tuple, or itself. */
static void ring_step(struct coir_checker *c, struct ring *r, coir_ty ty)
{
    const struct coir_ty_info *const i = coir_info(c, ty);

    if (i->kind == COIR_TY_TUPLE) {
        for (uint32_t k = 0; k < i->n; k++)
            ring_step(c, r, i->args[k]);
    } else if (i->kind == COIR_TY_DECL && i->decl->kind == COIR_DECL_RECORD) {
        for (uint32_t k = 0; k < i->n; k++)
            ring_step(c, r, i->args[k]);
        const uint32_t decl = i->decl->number;
        if (r->seen[decl] == OPEN)
            say_ring(c, r, decl);
        if (r->seen[decl] != UNSEEN)
            return;
        r->seen[decl] = OPEN;
        r->stack = coir_more(c, r->stack, &r->room, r->n, sizeof *r->stack);
        r->stack[r->n].decl = decl;
        r->stack[r->n++].field = COIR_NONE;
    }
}

static void check_rings(struct coir_checker *c)
{
    struct ring r = { .seen = coir_take_scratch(c, c->types->ndecls + 1) };

    for (uint32_t i = 0; i < c->types->ndecls; i++) {
        if (c->types->decls[i]->kind != COIR_DECL_RECORD || r.seen[i] != UNSEEN)
            continue;
        r.seen[i] = OPEN;
        r.stack = coir_more(c, r.stack, &r.room, 0, sizeof *r.stack);
        r.stack[0].decl = i;
        r.stack[0].field = COIR_NONE;
        r.n = 1;
        while (r.n) {
            const uint32_t top = r.n - 1;
            const struct coir_ty_decl *const d = c->types->decls[r.stack[top].decl];
            if (++r.stack[top].field < d->nfields) {
                ring_step(c, &r, d->fields[r.stack[top].field].type);
            } else {
                r.seen[d->number] = CLEAR;
                r.n--;
            }
        }
    }
}

/* ---- functions ---- */

void coir_check_params(struct coir_checker *c, struct coir_x_fn *fn, coir_ast params, coir_ty self, coir_ty want)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list list = coir_ast_params_list(t, params);
    const struct coir_ty_info *const w = coir_kind(c, want) == COIR_TY_FN ? coir_info(c, want) : NULL;
    const coir_ty *const wanted = w ? w->args : NULL;
    const uint8_t *const modes = w ? w->modes : NULL;
    const uint32_t nwanted = w ? w->n - 1 : 0;
    struct coir_x_param *const to = coir_take(c, (list.count + 1) * sizeof *to);
    struct coir_x_local *const locals = coir_take(c, (list.count + 1) * sizeof *locals);

    for (uint32_t i = 0; i < list.count; i++) {
        const coir_ast p = list.at[i], type = coir_ast_param_type(t, p);
        const struct coir_place at = coir_ast_main_place(t, p);
        const unsigned flags = coir_ast_flags(t, p);
        const bool is_self = coir_ast_operator(t, p) == COIR_T_SELF;
        const enum coir_ty_mode mode = flags & COIR_F_MUT ? COIR_MUT : flags & COIR_F_OWN ? COIR_OWN :
                                       !type && !is_self && modes && i < nwanted ? modes[i] : COIR_LEND;
        const coir_ty ty = type ? coir_check_type(c, type) : is_self ? self : i < nwanted ? wanted[i] : COIR_TY_HOLE;
        to[i] = (struct coir_x_param){ .local = i, .type = ty, .mode = mode };
        locals[i] = (struct coir_x_local){ .name = coir_symbol_text(c, coir_symbol_at(c, p)), .type = ty,
                                           .kind = COIR_LOCAL_PARAM, .at = at.start, .end = at.end };
    }
    fn->nparams = fn->nlocals = list.count;
    fn->params = to;
    fn->locals = locals;
}

static bool one_of(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (!strcmp(*list, name))
            return true;
    }
    return false;
}

/* What natives of the library do with the elements of their receiver that its signature does not say. */
static void native_facts(struct coir_fn_item *f, enum coir_ty_kind receiver, const char *name)
{
    static const char *const taking[] = { "push", "pop", "insert", "remove", "take", "len", "send", "recv", "close",
                                          "join", "cancel", NULL };
    static const char *const comparing[] = { "contains", "index_of", NULL };
    const bool list_take = receiver == COIR_TY_LIST && !strcmp(name, "take");

    for (uint32_t i = 0; i < f->fn->ntypes; i++) {
        f->types[i].resources = one_of(name, taking) && !list_take;
        f->types[i].compared = one_of(name, comparing);
    }
}

static const char *kind_name(enum coir_ty_kind kind)
{
    static const char *const names[] = { [COIR_TY_INT] = "Int", [COIR_TY_FLOAT] = "Float", [COIR_TY_BOOL] = "Bool",
        [COIR_TY_DURATION] = "Duration", [COIR_TY_TEXT] = "Text", [COIR_TY_LIST] = "List", [COIR_TY_MAP] = "Map",
        [COIR_TY_OPTION] = "Option", [COIR_TY_CHAN] = "Chan", [COIR_TY_TASK] = "Task" };

    return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* A function with a `self` outside of a type: of the library, a method of a built-in type. */
static void builtin_method(struct coir_checker *c, coir_x_fn_id id, coir_symbol name)
{
    struct coir_x_fn *const fn = c->fns[id].fn;
    const enum coir_ty_kind kind = coir_kind(c, fn->params[0].type);

    if (!kind_name(kind))
        return;
    fn->name = coir_words(c, kind_name(kind), ".", coir_symbol_text(c, name));
    if (fn->kind == COIR_FN_NATIVE) {
        fn->native = fn->name;
        native_facts(&c->fns[id], kind, coir_symbol_text(c, name));
    }
    coir_lookup_put(c, coir_owner_kind(kind), name, id);
}

coir_x_fn_id coir_declare_fn(struct coir_checker *c, coir_ast n, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_place at = coir_ast_main_place(t, n);
    const coir_ast result = coir_ast_fn_result(t, n);
    const char *const name = coir_symbol_text(c, coir_symbol_at(c, n));
    const bool native = coir_ast_flags(t, n) & COIR_F_NATIVE;
    const uint32_t module = module_number(c);
    coir_ty self = COIR_TY_ERROR;
    uint32_t ntypes;

    struct coir_ty_param *const types = type_params(c, coir_ast_fn_type_params(t, n), d ? d->types : NULL,
                                                    d ? d->ntypes : 0, &ntypes);
    coir_enter(c, module, types, ntypes);
    if (d && !d->actor) {
        coir_ty *const args = coir_take_scratch(c, (d->ntypes + 1) * sizeof *args);
        for (uint32_t i = 0; i < d->ntypes; i++) {
            types[i].resources = false;
            args[i] = coir_made(c, coir_ty_param(c->types, i), at.start, at.end);
        }
        self = coir_made(c, coir_ty_decl(c->types, d, args), at.start, at.end);
    }
    struct coir_x_fn fn = { .name = d ? coir_words(c, d->name, ".", name) : name,
                            .kind = native ? COIR_FN_NATIVE : COIR_FN_PLAIN, .at = at.start, .end = at.end,
                            .ntypes = ntypes, .types = types, .result = COIR_TY_UNIT };
    coir_check_params(c, &fn, coir_ast_fn_params(t, n), self, 0);
    if (d && d->actor)
        coir_actor_params(c, &fn, d);
    if (result)
        fn.result = coir_check_type(c, result);
    if (native) {                               /* `parse` of the type that it reads: Int("4") is a call of it */
        const char *const of = c->module->core && !strcmp(name, "parse") ?
                               kind_name(coir_kind(c, coir_peel(c, fn.result))) :
                               NULL;
        fn.native = coir_words(c, of ? of : c->module->name, ".", fn.name);
    }
    const coir_x_fn_id id = coir_fn_new(c, fn, module, n);
    c->fns[id].types = types;
    coir_enter(c, module, NULL, 0);
    return id;
}

static bool has_self(const struct coir_tree *t, coir_ast fn)
{
    const struct coir_ast_list params = coir_ast_params_list(t, coir_ast_fn_params(t, fn));

    return params.count && coir_ast_operator(t, params.at[0]) == COIR_T_SELF;
}

static void declare_main(struct coir_checker *c, coir_x_fn_id id, coir_ast n)
{
    const struct coir_x_fn *const fn = c->fns[id].fn;
    const bool params = fn->nparams == 0 || (fn->nparams == 1 && fn->params[0].mode == COIR_LEND &&
                                             fn->params[0].type == coir_ty_list(c->types, COIR_TY_TEXT));

    if (!params || fn->ntypes || (fn->result != COIR_TY_UNIT && fn->result != COIR_TY_INT)) {
        coir_say_main(c, COIR_E_MAIN, n, "`main` takes nothing or one List[Text], and gives nothing or an Int");
        coir_note(c, "write `fn main()`, or `fn main(args: List[Text]) -> Int`");
    }
    c->typed->main = id;
    c->items[c->nitems - 1].used = true;
}

static void declare_module_fns(struct coir_checker *c)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list items = coir_ast_module_items(t, t->root);

    for (uint32_t i = 0; i < items.count; i++) {
        const coir_ast n = items.at[i];
        if (!coir_ast_is(t, n, COIR_N_FN))
            continue;
        const coir_x_fn_id id = coir_declare_fn(c, n, NULL);
        const uint32_t before = c->nitems;
        if (c->module->library && has_self(t, n)) {
            builtin_method(c, id, coir_symbol_at(c, n));
            continue;
        }
        coir_item_new(c, n, (struct coir_item){ .kind = COIR_ITEM_FN, .index = id });
        if ((coir_ast_flags(t, n) & COIR_F_PUB) && c->module->asked && !c->fns[id].fn->ntypes)
            c->fns[id].fn->exported = c->module->main ? c->fns[id].fn->name
                                                      : coir_words(c, c->module->name, ".", c->fns[id].fn->name);
        if (c->nitems > before && c->module->main && c->items[before].name == c->main_)
            declare_main(c, id, n);
    }
}

static void declare_methods(struct coir_checker *c, struct coir_ty_decl *d)
{
    const struct coir_tree *const t = coir_tree_of(c);
    const struct coir_ast_list members = coir_ast_record_type_members(t, d->node);

    for (uint32_t i = 0; i < members.count; i++) {
        if (!coir_ast_is(t, members.at[i], COIR_N_FN))
            continue;
        coir_member_new(c, d, members.at[i], coir_declare_fn(c, members.at[i], d) * 2 + 1);
    }
}

void coir_declare_all(struct coir_checker *c)
{
    for (uint32_t m = 0; m < c->nmodules; m++) {
        coir_enter(c, m, NULL, 0);
        const struct coir_tree *const t = coir_tree_of(c);
        const struct coir_ast_list items = coir_ast_module_items(t, t->root);
        declare_uses(c);
        for (uint32_t i = 0; i < items.count; i++)
            declare_item(c, items.at[i]);
    }
    for (uint32_t i = 0; i < c->types->ndecls; i++)
        decl_params(c, c->types->decls[i]);
    for (uint32_t i = 0; i < c->types->ndecls; i++) {
        struct coir_ty_decl *const d = c->types->decls[i];
        coir_enter(c, d->module_number, d->types, d->ntypes);
        if (d->kind == COIR_DECL_SUM)
            decl_sum(c, d);
        else if (d->kind != COIR_DECL_ACTOR)
            decl_fields(c, d);
    }
    check_rings(c);
    coir_ty_settle(c->types);
    for (uint32_t i = 0; i < c->types->ndecls; i++) {
        struct coir_ty_decl *const d = c->types->decls[i];
        coir_enter(c, d->module_number, NULL, 0);
        if (d->kind == COIR_DECL_ACTOR)
            coir_declare_messages(c, d);
        else if (d->kind != COIR_DECL_SUM && !d->actor)
            declare_methods(c, d);
    }
    for (uint32_t m = 0; m < c->nmodules; m++) {
        coir_enter(c, m, NULL, 0);
        declare_module_fns(c);
    }
    const uint32_t trap = coir_lookup_get(c, coir_owner_all(), coir_symbol_of(c, "Trap", 4));
    if (trap != COIR_NONE)
        c->typed->trap = coir_made(c, coir_ty_decl(c->types, c->types->decls[c->items[trap].index], NULL), 0, 0);
}
