/* SPDX-License-Identifier: MIT */
/*
 * Words as numbers, what modules declare, and the names of a body. Every look-up is one probe of a hash table, however
 * many names there are. Inside a closure a name from around it becomes a capture the first time it is said.
 */
#include "lang/checker.h"

#include <string.h>

/* ---- words ---- */

static uint32_t hash_text(const char *text, uint32_t size)
{
    uint32_t h = 2166136261u;

    for (uint32_t i = 0; i < size; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h ^ h >> 13;
}

static void more_symbols(struct coir_checker *c)
{
    const uint32_t n = c->nbuckets ? c->nbuckets * 2 : 1024;
    uint32_t *const buckets = coir_take_scratch(c, n * sizeof *buckets);

    for (uint32_t i = 0; i < c->nsymbols; i++) {
        uint32_t at = c->symbols[i].hash & (n - 1);
        while (buckets[at])
            at = (at + 1) & (n - 1);
        buckets[at] = i + 1;
    }
    c->symbol_buckets = buckets;
    c->nbuckets = n;
}

coir_symbol coir_symbol_of(struct coir_checker *c, const char *text, uint32_t size)
{
    const uint32_t h = hash_text(text, size);

    if (c->nsymbols >= c->nbuckets / 2)
        more_symbols(c);
    uint32_t at = h & (c->nbuckets - 1);
    for (; c->symbol_buckets[at]; at = (at + 1) & (c->nbuckets - 1)) {
        const struct coir_symbol_info *const s = &c->symbols[c->symbol_buckets[at] - 1];
        if (s->hash == h && s->size == size && !memcmp(s->text, text, size))
            return c->symbol_buckets[at] - 1;
    }
    c->symbols = coir_more(c, c->symbols, &c->symbols_room, c->nsymbols, sizeof *c->symbols);
    char *const copy = coir_take(c, size + 1);
    memcpy(copy, text, size);
    c->symbols[c->nsymbols] = (struct coir_symbol_info){ .text = copy, .size = size, .hash = h };
    c->symbol_buckets[at] = c->nsymbols + 1;
    return c->nsymbols++;
}

coir_symbol coir_symbol_at(struct coir_checker *c, coir_ast n)
{
    const struct coir_word w = coir_ast_word(coir_tree_of(c), n);

    return coir_symbol_of(c, w.text, w.size);
}

/* ---- the table of (owner, symbol) ---- */

static uint32_t slot_of(const struct coir_lookup *l, uint32_t owner, coir_symbol s)
{
    uint32_t h = (owner * 0x9e3779b1u) ^ (s * 0x85ebca6bu);

    h ^= h >> 15;
    while (l->list[h & (l->room - 1)].value != COIR_NONE &&
           (l->list[h & (l->room - 1)].owner != owner || l->list[h & (l->room - 1)].symbol != s))
        h++;
    return h & (l->room - 1);
}

void coir_lookup_put(struct coir_checker *c, uint32_t owner, coir_symbol s, uint32_t value)
{
    struct coir_lookup *const l = &c->lookup;

    if (l->count >= l->room / 2) {
        const struct coir_lookup old = *l;
        l->room = old.room ? old.room * 2 : 1024;
        l->list = coir_take_scratch(c, l->room * sizeof *l->list);
        memset(l->list, 0xff, l->room * sizeof *l->list);
        for (uint32_t i = 0; i < old.room; i++) {
            if (old.list[i].value != COIR_NONE)
                l->list[slot_of(l, old.list[i].owner, old.list[i].symbol)] = old.list[i];
        }
    }
    const uint32_t at = slot_of(l, owner, s);
    l->count += l->list[at].value == COIR_NONE;
    l->list[at] = (struct coir_lookup_entry){ owner, s, value };
}

uint32_t coir_lookup_get(const struct coir_checker *c, uint32_t owner, coir_symbol s)
{
    return c->lookup.room ? c->lookup.list[slot_of(&c->lookup, owner, s)].value : COIR_NONE;
}

/* ---- items ---- */

/* Who names a variant uses its type. */
static void use_sum(struct coir_checker *c, uint32_t module, uint32_t decl)
{
    const char *const name = c->types->decls[decl]->name;
    const uint32_t at = coir_lookup_get(c, coir_owner_module(module), coir_symbol_of(c, name, (uint32_t)strlen(name)));

    if (at != COIR_NONE)
        c->items[at].used = true;
}

struct coir_item *coir_item_of(struct coir_checker *c, uint32_t module, coir_symbol s)
{
    uint32_t at = coir_lookup_get(c, coir_owner_module(module), s);

    if (at == COIR_NONE)
        return NULL;
    c->items[at].used = true;
    if (c->items[at].kind == COIR_ITEM_VARIANT)
        use_sum(c, module, c->items[at].index);
    return &c->items[at];
}

struct coir_item *coir_item_here(struct coir_checker *c, coir_symbol s)
{
    struct coir_item *const item = coir_item_of(c, (uint32_t)(c->module - c->modules), s);

    if (item)
        return item;
    const uint32_t at = coir_lookup_get(c, coir_owner_all(), s);
    return at == COIR_NONE ? NULL : &c->items[at];
}

uint32_t coir_module_named(struct coir_checker *c, coir_ast n)
{
    if (!coir_ast_is(coir_tree_of(c), n, COIR_N_NAME))
        return COIR_NONE;
    const coir_symbol s = coir_symbol_at(c, n);
    if (coir_is_bound(c, s) || coir_actor_member(c, s) != COIR_NONE)
        return COIR_NONE;
    const struct coir_item *const item = coir_item_here(c, s);
    return item && item->kind == COIR_ITEM_MODULE ? item->index : COIR_NONE;
}

/* ---- what was meant ---- */

/* How unlike two words are: letters put in, left out, changed, two of them exchanged; more than 2 is 3. */
static uint32_t unlike(const char *a, uint32_t na, const char *b, uint32_t nb)
{
    uint32_t row[3][34];                /* the last three, by turns */

    if (na > 32 || nb > 32 || na > nb + 2 || nb > na + 2)
        return 3;
    for (uint32_t j = 0; j <= nb; j++)
        row[0][j] = j;
    for (uint32_t i = 1; i <= na; i++) {
        uint32_t *const now = row[i % 3];
        const uint32_t *const last = row[(i - 1) % 3], *const before = row[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= nb; j++) {
            const uint32_t changed = last[j - 1] + (a[i - 1] != b[j - 1]);
            const uint32_t other = (last[j] < now[j - 1] ? last[j] : now[j - 1]) + 1;
            now[j] = changed < other ? changed : other;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[na % 3][nb] > 2 ? 3 : row[na % 3][nb];
}

/* What needs no `use`: the value of them that `word` is like, if it is less unlike than `*least`. */
static const char *like_ours(const struct coir_symbol_info *word, uint32_t *least)
{
    static const char *const ours[] = {
        "print", "chan", "monitor", "Int", "Float", "Bool", "Text", "Duration", "List", "Map", "Chan", "Task", "Trap",
    };
    const char *best = NULL;

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        const uint32_t d = unlike(word->text, word->size, ours[i], (uint32_t)strlen(ours[i]));
        const bool capital = ours[i][0] < 'a';
        if (capital == (word->text[0] < 'a') && d && d < *least)
            best = ours[i], *least = d;
    }
    return best;
}

bool coir_suggest(struct coir_checker *c, coir_symbol s, uint32_t owner)
{
    const struct coir_symbol_info word = c->symbols[s];
    const char *best = NULL;
    uint32_t least = word.size < 3 ? 1 : word.size < 5 ? 2 : 3;

    if (c->d->errors > COIR_DIAGNOSTICS_SHOWN)      /* nobody reads it, and it is a walk over all names */
        return true;
    for (uint32_t i = 0; i < c->lookup.room; i++) {
        const struct coir_lookup_entry e = c->lookup.list[i];
        if (e.value == COIR_NONE || e.owner != owner || e.symbol == s)
            continue;
        const struct coir_symbol_info *const other = &c->symbols[e.symbol];
        const uint32_t d = unlike(word.text, word.size, other->text, other->size);
        if (d < least || (d == least && best && strcmp(other->text, best) < 0))
            best = other->text, least = d;
    }
    const bool here = owner == coir_owner_module((uint32_t)(c->module - c->modules));
    for (uint32_t i = 0; c->body && here && i < c->nbindings && i < 1000; i++) {
        const struct coir_symbol_info *const other = &c->symbols[c->bindings[c->nbindings - 1 - i].name];
        const uint32_t d = unlike(word.text, word.size, other->text, other->size);
        if (d < least && other->text != word.text)
            best = other->text, least = d;
    }
    const char *const ours = here ? like_ours(&word, &least) : NULL;
    if (ours)
        best = ours;
    if (best)
        coir_note(c, "did you mean `%s`?", best);
    return best != NULL;
}

/* ---- scopes ---- */

void coir_scope_open(struct coir_checker *c)
{
    c->scope++;
}

void coir_scope_close(struct coir_checker *c)
{
    while (c->nbindings && c->bindings[c->nbindings - 1].scope == c->scope) {
        const struct coir_binding *const b = &c->bindings[--c->nbindings];
        c->symbols[b->name].bound = b->hidden;
    }
    c->scope--;
}

coir_x_local_id coir_local_new(struct coir_checker *c, const char *name, coir_ty type, enum coir_x_local_kind kind,
                               uint32_t at, uint32_t end)
{
    struct coir_body *const b = c->body;
    uint32_t room = b->locals_room;

    b->locals = coir_more(c, b->locals, &room, b->nlocals, sizeof *b->locals);
    b->uses = coir_more(c, b->uses, &b->locals_room, b->nlocals, sizeof *b->uses);
    b->locals[b->nlocals] = (struct coir_x_local){ .name = name, .type = type, .kind = kind, .at = at, .end = end };
    b->uses[b->nlocals] = 0;
    return b->nlocals++;
}

void coir_bind_local(struct coir_checker *c, coir_symbol s, coir_x_local_id local)
{
    const struct coir_x_local *const l = &c->body->locals[local];
    const uint32_t hidden = c->symbols[s].bound;

    if (hidden && c->bindings[hidden - 1].scope == c->scope) {
        const struct coir_binding *const other = &c->bindings[hidden - 1];
        const struct coir_x_local *const first = &other->body->locals[other->local];
        coir_say_at(c, COIR_E_DUPLICATE, l->at, l->end, "`%s` is there already, in the same block", l->name);
        coir_diagnose_see(c->d, coir_tree_of(c)->source, first->at, first->end, "the first `%s` is here", l->name);
        coir_note(c, "give it another name; only an inner block may hide a name");
    }
    c->bindings = coir_more(c, c->bindings, &c->bindings_room, c->nbindings, sizeof *c->bindings);
    c->bindings[c->nbindings++] = (struct coir_binding){ s, local, c->body, hidden, c->scope };
    c->symbols[s].bound = c->nbindings;
}

coir_x_local_id coir_bind_new(struct coir_checker *c, coir_ast n, coir_ty type, enum coir_x_local_kind kind)
{
    const struct coir_place at = coir_ast_main_place(coir_tree_of(c), n);
    const coir_symbol s = coir_symbol_at(c, n);
    const coir_x_local_id local = coir_local_new(c, coir_symbol_text(c, s), type, kind, at.start, at.end);

    coir_bind_local(c, s, local);
    return local;
}

bool coir_is_bound(const struct coir_checker *c, coir_symbol s)
{
    return c->symbols[s].bound != 0;
}

/* A new capture of `b`: of what is like `l`. */
static coir_x_local_id capture_new(struct coir_checker *c, struct coir_body *b, struct coir_x_capture what,
                                   const struct coir_x_local *l, bool field)
{
    struct coir_body *const now = c->body;

    c->body = b;
    what.inner = coir_local_new(c, l->name, l->type, COIR_LOCAL_CAPTURE, l->at, l->end);
    c->body = now;
    b->locals[what.inner].field = field;
    b->captures = coir_more(c, b->captures, &b->captures_room, b->ncaptures, sizeof *b->captures);
    b->captures[b->ncaptures++] = what;
    return what.inner;
}

static coir_x_local_id captured_already(const struct coir_body *b, coir_x_local_id outer, uint32_t field)
{
    for (uint32_t i = 0; i < b->ncaptures; i++) {
        if (b->captures[i].outer == outer && b->captures[i].field == field)
            return b->captures[i].inner;
    }
    return COIR_NONE;
}

/* The local of `b` that is `local` of `from`, which is around it. */
static coir_x_local_id captured(struct coir_checker *c, struct coir_body *b, struct coir_body *from,
                                coir_x_local_id local)
{
    if (b == from) {
        b->uses[local]++;
        return local;
    }
    const coir_x_local_id outer = captured(c, b->outer, from, local);
    const coir_x_local_id had = captured_already(b, outer, COIR_NO_FIELD);
    const struct coir_x_local l = b->outer->locals[outer];
    return had != COIR_NONE ? had : capture_new(c, b, (struct coir_x_capture){ .outer = outer,
                                                                               .field = COIR_NO_FIELD }, &l, l.field);
}

/* The local of the closure `b` that is field `field`, like `l`, of the state around it. */
static coir_x_local_id captured_field(struct coir_checker *c, struct coir_body *b, uint32_t field,
                                      const struct coir_x_local *l)
{
    const bool direct = !b->outer->outer;               /* the state is local 0 of what is around b */
    const struct coir_x_capture what = { .outer = direct ? 0 : captured_field(c, b->outer, field, l),
                                         .field = direct ? field : COIR_NO_FIELD };
    const coir_x_local_id had = captured_already(b, what.outer, what.field);

    return had != COIR_NONE ? had : capture_new(c, b, what, l, true);
}

static void say_captured(struct coir_checker *c, coir_x_local_id local, coir_ast n)
{
    struct coir_x_local *const l = &c->body->locals[local];

    coir_say(c, COIR_E_CAPTURE, n, "a closure cannot take `%s` with it: %s is a resource, and has one owner", l->name,
             coir_type_text(c, l->type));
    coir_note(c, "give it to the closure as a parameter");
    l->type = COIR_TY_ERROR;
}

coir_x_local_id coir_field_captured(struct coir_checker *c, uint32_t field, coir_ast n)
{
    const struct coir_ty_field *const f = &coir_actor_around(c)->state->fields[field];
    const struct coir_x_local l = { .name = f->name, .type = f->type, .at = f->at, .end = f->end };
    const coir_x_local_id local = captured_field(c, c->body, field, &l);

    if (coir_is_resource(c, c->body->locals[local].type))
        say_captured(c, local, n);
    return local;
}

coir_x_local_id coir_local_named(struct coir_checker *c, coir_symbol s, coir_ast n)
{
    if (!c->symbols[s].bound)
        return COIR_NONE;
    const struct coir_binding b = c->bindings[c->symbols[s].bound - 1];
    const struct coir_x_local l = b.body->locals[b.local];
    const bool foreign = b.body != c->body;
    const coir_x_local_id local = captured(c, c->body, b.body, b.local);

    if (foreign && l.kind == COIR_LOCAL_GROUP) {
        coir_say(c, COIR_E_GROUP, n, "the group `%s` cannot be used in a closure, which may outlive it", l.name);
        c->body->locals[local].type = COIR_TY_ERROR;
    } else if (foreign && coir_is_resource(c, l.type)) {
        say_captured(c, local, n);
    }
    return local;
}
