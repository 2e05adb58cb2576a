/* SPDX-License-Identifier: MIT */
/*
 * What is asked of a loaded program: drop maps, handlers, lines, the names of types. It assumes that the loader made
 * it, and changes nothing.
 */
#include "vm/program.h"

#include <stdio.h>
#include <string.h>

const struct coir_drop_map *coir_drop_map(const struct coir_function *f, uint32_t pc, bool inside)
{
    const uint32_t key = pc * 2 + inside;
    uint32_t low = 0, high = f->nmaps;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (f->maps[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < f->nmaps && f->maps[low].key == key ? &f->maps[low] : NULL;
}

const struct coir_handler *coir_handler_of(const struct coir_function *f, uint32_t pc, bool stopping)
{
    for (uint32_t i = 0; i < f->nhandlers; i++) {
        const struct coir_handler *h = &f->handlers[i];

        if (h->from <= pc && pc < h->to && !(stopping && h->kind == COIR_CATCH))
            return h;
    }
    return NULL;
}

uint32_t coir_line_of(const struct coir_function *f, uint32_t pc)
{
    uint32_t low = 0, high = f->nlines;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;

        if (f->lines[mid].pc <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? f->lines[low - 1].line : 0;
}

/* ---- types in words ---- */

/* Deeper ones end in "...": no stack is used for the rest. */
enum { DEPTH = 8 };

struct out {
    char *to;
    size_t size, n;
};

static void put(struct out *o, const char *text)
{
    while (*text && o->n + 1 < o->size)
        o->to[o->n++] = *text++;
    o->to[o->n] = 0;
}

static void put_type(struct out *o, const struct coir_type *t, int depth);

static void put_list(struct out *o, const char *open, const struct coir_type *a, const struct coir_type *b, int depth)
{
    put(o, open);
    put_type(o, a, depth - 1);
    if (b) {
        put(o, ", ");
        put_type(o, b, depth - 1);
    }
    put(o, "]");
}

static void put_func(struct out *o, const struct coir_type *t, int depth)
{
    static const char *const modes[] = { [COIR_MODE_LEND] = "", [COIR_MODE_OWN] = "own ", [COIR_MODE_MUT] = "mut " };

    put(o, "fn(");
    for (uint32_t i = 0; i < t->nparams; i++) {
        put(o, i ? ", " : "");
        put(o, modes[t->params[i].mode]);
        put_type(o, t->params[i].type, depth - 1);
    }
    put(o, ")");
    if (t->element->kind == COIR_TYPE_UNIT)
        return;
    put(o, " -> ");
    put_type(o, t->element, depth - 1);
}

static void put_type(struct out *o, const struct coir_type *t, int depth)
{
    static const char *const words[COIR_TYPE_KINDS] = {
        [COIR_TYPE_UNIT] = "()", [COIR_TYPE_INT] = "Int", [COIR_TYPE_FLOAT] = "Float", [COIR_TYPE_BOOL] = "Bool",
        [COIR_TYPE_DURATION] = "Duration", [COIR_TYPE_TEXT] = "Text", [COIR_TYPE_GROUP] = "group",
        [COIR_TYPE_SCOPE] = "scope",
    };

    if (o->n + 1 >= o->size)
        return;                         /* each type puts something, so this bounds the work, too */
    if (depth == 0) {
        put(o, "...");
        return;
    }
    switch (t->kind) {
    case COIR_TYPE_LIST:
        put_list(o, "List[", t->element, NULL, depth);
        break;
    case COIR_TYPE_CHAN:
        put_list(o, "Chan[", t->element, NULL, depth);
        break;
    case COIR_TYPE_TASK:
        put_list(o, "Task[", t->element, NULL, depth);
        break;
    case COIR_TYPE_MAP:
        put_list(o, "Map[", t->key, t->element, depth);
        break;
    case COIR_TYPE_OPTIONAL:
        put_type(o, t->element, depth - 1);
        put(o, "?");
        break;
    case COIR_TYPE_TUPLE:
        put(o, "(");
        for (uint32_t i = 0; i < t->nfields; i++) {
            put(o, i ? ", " : "");
            put_type(o, t->fields[i].type, depth - 1);
        }
        put(o, ")");
        break;
    case COIR_TYPE_FUNC:
        put_func(o, t, depth);
        break;
    default:
        put(o, t->name ? t->name : t->kind < COIR_TYPE_KINDS && words[t->kind] ? words[t->kind] : "?");
    }
}

const char *coir_write_type(const struct coir_type *type, char *to, size_t size)
{
    struct out o = { to, size, 0 };

    if (size)
        put_type(&o, type, DEPTH);
    return to;
}
