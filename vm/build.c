/* SPDX-License-Identifier: MIT */
/*
 * The builder: what images have besides types and code, and how all of it becomes bytes. Failures are kept, and turn
 * everything that comes later into nothing; so no function here may assume that one before it did its work.
 */
#include "vm/build_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "no memory";

void coir_build_fail(struct coir_build *b, const char *format, ...)
{
    va_list ap;

    if (b->error)
        return;
    va_start(ap, format);
    vsnprintf(b->text, sizeof b->text, format, ap);
    va_end(ap);
    b->error = b->text;
}

static void out_of_memory(struct coir_build *b)
{
    if (!b->error)
        b->error = no_memory;
}

bool coir_build_grow(struct coir_build *b, void *array, size_t size)
{
    struct { void *p; uint32_t n, cap; } a;

    if (b->error)
        return false;
    memcpy(&a, array, sizeof a);
    if (a.n == a.cap) {
        const uint32_t cap = a.cap ? a.cap * 2 : 16;
        void *p = cap > UINT32_MAX / 4 ? NULL : realloc(a.p, cap * size);

        if (!p) {
            out_of_memory(b);
            return false;
        }
        a.p = p;
        a.cap = cap;
        memcpy(array, &a, sizeof a);
    }
    memset((char *)a.p + a.n * size, 0, size);
    return true;
}

/* ---- bytes ---- */

void coir_put(struct coir_build *b, struct coir_bytes *to, const void *bytes, size_t n)
{
    if (b->error || !n)
        return;
    if (n > to->cap - to->n) {
        const size_t cap = (to->cap + n) * 2;
        uint8_t *p = realloc(to->p, cap);

        if (!p) {
            out_of_memory(b);
            return;
        }
        to->p = p;
        to->cap = cap;
    }
    memcpy(to->p + to->n, bytes, n);
    to->n += n;
}

void coir_put8(struct coir_build *b, struct coir_bytes *to, uint8_t x)
{
    coir_put(b, to, &x, 1);
}

void coir_put16(struct coir_build *b, struct coir_bytes *to, uint16_t x)
{
    const uint8_t bytes[] = { (uint8_t)x, (uint8_t)(x >> 8) };

    coir_put(b, to, bytes, sizeof bytes);
}

void coir_put32(struct coir_build *b, struct coir_bytes *to, uint32_t x)
{
    coir_put16(b, to, (uint16_t)x);
    coir_put16(b, to, (uint16_t)(x >> 16));
}

void coir_put64(struct coir_build *b, struct coir_bytes *to, uint64_t x)
{
    coir_put32(b, to, (uint32_t)x);
    coir_put32(b, to, (uint32_t)(x >> 32));
}

/* ---- what is made once ---- */

static uint32_t hash_of(const uint8_t *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    while (n--)
        h = (h ^ *p++) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

static bool grow_index(struct coir_build *b)
{
    const uint32_t places = b->index.at ? (b->index.mask + 1) * 2 : 64;
    uint32_t *at = calloc(places, sizeof *at);

    if (!at) {
        out_of_memory(b);
        return false;
    }
    for (uint32_t i = 0; i < b->entries.n; i++) {
        uint32_t place = b->entries.p[i].hash & (places - 1);

        while (at[place])
            place = (place + 1) & (places - 1);
        at[place] = i + 1;
    }
    free(b->index.at);
    b->index.at = at;
    b->index.mask = places - 1;
    return true;
}

uint32_t coir_build_intern(struct coir_build *b, const void *key, size_t length, uint32_t next, bool *is_new)
{
    const uint32_t hash = hash_of(key, length);
    struct coir_build_entry *e;
    uint32_t place;

    *is_new = false;
    if (b->error || ((!b->index.at || b->entries.n * 2 > b->index.mask) && !grow_index(b)))
        return 0;
    for (place = hash & b->index.mask; b->index.at[place]; place = (place + 1) & b->index.mask) {
        e = &b->entries.p[b->index.at[place] - 1];
        if (e->hash == hash && e->length == length && memcmp(e->key, key, length) == 0)
            return e->value;
    }
    uint8_t *kept = coir_load_arena_alloc(&b->arena, length, 1);
    if (!kept)
        out_of_memory(b);
    e = COIR_PUSH(b, b->entries);
    if (!e)
        return 0;
    memcpy(kept, key, length);
    *e = (struct coir_build_entry){ kept, (uint32_t)length, hash, next };
    b->index.at[place] = b->entries.n;
    *is_new = true;
    return next;
}

/* A key that begins with a letter for its class. */
static uint32_t intern_in(struct coir_build *b, char class, const void *key, size_t length, uint32_t next, bool *is_new)
{
    struct coir_bytes whole = { 0 };
    uint32_t value = 0;

    *is_new = false;
    coir_put8(b, &whole, (uint8_t)class);
    coir_put(b, &whole, key, length);
    if (!b->error)
        value = coir_build_intern(b, whole.p, whole.n, next, is_new);
    free(whole.p);
    return value;
}

uint32_t coir_build_string(struct coir_build *b, const char *bytes, size_t length)
{
    bool is_new;
    const uint32_t at = intern_in(b, 's', bytes, length, b->nstrings, &is_new);

    if (length > UINT32_MAX / 2)
        coir_build_fail(b, "a text of %zu bytes", length);
    if (is_new) {
        coir_put32(b, &b->strings, (uint32_t)length);
        coir_put(b, &b->strings, bytes, length);
        b->nstrings++;
    }
    return at;
}

uint32_t coir_build_name(struct coir_build *b, const char *name)
{
    return coir_build_string(b, name ? name : "", name ? strlen(name) : 0);
}

uint32_t coir_build_word(struct coir_build *b, uint64_t word)
{
    bool is_new;
    const uint32_t at = intern_in(b, 'w', &word, sizeof word, b->nconstants, &is_new);

    if (is_new) {
        coir_put8(b, &b->constants, COIR_CONSTANT_WORD);
        coir_put64(b, &b->constants, word);
        b->nconstants++;
    }
    return at;
}

uint32_t coir_build_text(struct coir_build *b, const char *bytes, size_t length)
{
    bool is_new;
    const uint32_t at = intern_in(b, 't', bytes, length, b->nconstants, &is_new);

    if (is_new) {
        const uint32_t string = coir_build_string(b, bytes, length);

        coir_put8(b, &b->constants, COIR_CONSTANT_TEXT);
        coir_put32(b, &b->constants, string);
        b->nconstants++;
    }
    return at;
}

uint32_t coir_build_global(struct coir_build *b, const char *name, uint32_t type)
{
    const uint32_t slot = b->nglobal_slots, string = coir_build_name(b, name);

    coir_put32(b, &b->globals, string);
    coir_put32(b, &b->globals, type);
    b->nglobals++;
    b->nglobal_slots += coir_build_slots(b, type);
    return slot;
}

void coir_build_params(struct coir_build *b, struct coir_bytes *to, const struct coir_build_param *params, unsigned n)
{
    if (n > COIR_MAX_PARAMS)
        coir_build_fail(b, "%u parameters: at most %d", n, COIR_MAX_PARAMS);
    coir_put8(b, to, (uint8_t)n);
    for (unsigned i = 0; i < n && !b->error; i++) {
        if (i && params[i].mode == COIR_MODE_MUT && params[i - 1].mode != COIR_MODE_MUT)
            coir_build_fail(b, "mut parameters come first");
        coir_put8(b, to, (uint8_t)params[i].mode);
        coir_put32(b, to, params[i].type);
    }
}

uint32_t coir_build_import(struct coir_build *b, const char *name, const struct coir_build_param *params, unsigned n,
                           uint32_t result)
{
    struct coir_bytes whole = { 0 };
    uint32_t at = 0;
    bool is_new = false;

    coir_put32(b, &whole, coir_build_name(b, name));
    coir_build_params(b, &whole, params, n);
    coir_put32(b, &whole, result);
    if (!b->error)
        at = intern_in(b, 'i', whole.p, whole.n, b->nimports, &is_new);
    if (is_new) {
        coir_put(b, &b->imports, whole.p, whole.n);
        b->nimports++;
    }
    free(whole.p);
    return at;
}

void coir_build_export(struct coir_build *b, enum coir_export_kind kind, const char *name, uint32_t function)
{
    const uint32_t string = coir_build_name(b, name);

    coir_put8(b, &b->exports, (uint8_t)kind);
    coir_put32(b, &b->exports, string);
    coir_put32(b, &b->exports, function);
    b->nexports++;
}

/* ---- the image ---- */

static void put_types(struct coir_build *b, struct coir_bytes *to)
{
    coir_put32(b, to, b->types.n - COIR_INDEX_FREE);
    for (uint32_t i = COIR_INDEX_FREE; i < b->types.n; i++) {
        struct coir_build_type *t = &b->types.p[i];

        coir_put8(b, to, t->kind);
        coir_put(b, to, t->head.p, t->head.n);
        if (t->kind == COIR_TYPE_RECORD || t->kind == COIR_TYPE_SUM || t->kind == COIR_TYPE_ENUM
            || t->kind == COIR_TYPE_ACTOR)
            coir_put16(b, to, t->count);
        coir_put(b, to, t->rest.p, t->rest.n);
    }
}

static void put_functions(struct coir_build *b, struct coir_bytes *to)
{
    coir_put32(b, to, b->functions.n);
    for (uint32_t i = 0; i < b->functions.n && !b->error; i++) {
        struct coir_build_fn *f = &b->functions.p[i];

        if (!f->defined)
            coir_build_fail(b, "function %u is declared, and not defined", i);
        coir_put32(b, to, f->name);
        coir_put32(b, to, f->file);
        coir_put(b, to, f->bytes.p, f->bytes.n);
    }
}

static void put_counted(struct coir_build *b, struct coir_bytes *to, uint32_t n, const struct coir_bytes *items)
{
    coir_put32(b, to, n);
    coir_put(b, to, items->p, items->n);
}

static void put_head(struct coir_build *b, struct coir_bytes *to, const struct coir_bytes sections[COIR_SECTIONS])
{
    uint64_t length = COIR_IMAGE_HEAD + COIR_SECTIONS * COIR_IMAGE_ENTRY;

    for (unsigned i = 0; i < COIR_SECTIONS; i++) {
        if (sections[i].n > UINT32_MAX)
            coir_build_fail(b, "a section of %zu bytes", sections[i].n);
        length += sections[i].n;
    }
    coir_put(b, to, COIR_IMAGE_MAGIC, 8);
    coir_put16(b, to, COIR_IMAGE_VERSION);
    coir_put16(b, to, COIR_SECTIONS);
    coir_put32(b, to, COIR_IMAGE_FEATURES);
    coir_put64(b, to, length);
    for (unsigned i = 0; i < COIR_SECTIONS; i++) {
        coir_put32(b, to, i);
        coir_put32(b, to, (uint32_t)sections[i].n);
    }
}

int coir_build_finish(struct coir_build *b, void **bytes, size_t *length)
{
    struct coir_bytes sections[COIR_SECTIONS] = { 0 }, whole = { 0 };

    if (b->open)
        coir_build_fail(b, "a function without an end");
    put_types(b, &sections[COIR_SECTION_TYPES]);
    put_counted(b, &sections[COIR_SECTION_CONSTANTS], b->nconstants, &b->constants);
    put_counted(b, &sections[COIR_SECTION_GLOBALS], b->nglobals, &b->globals);
    put_counted(b, &sections[COIR_SECTION_IMPORTS], b->nimports, &b->imports);
    put_functions(b, &sections[COIR_SECTION_FUNCTIONS]);
    put_counted(b, &sections[COIR_SECTION_EXPORTS], b->nexports, &b->exports);
    put_counted(b, &sections[COIR_SECTION_STRINGS], b->nstrings, &b->strings);
    put_head(b, &whole, sections);
    for (unsigned i = 0; i < COIR_SECTIONS; i++) {
        coir_put(b, &whole, sections[i].p, sections[i].n);
        free(sections[i].p);
    }
    if (b->error) {
        free(whole.p);
        return strcmp(b->error, no_memory) == 0 ? -ENOMEM : -EINVAL;
    }
    *bytes = whole.p;
    *length = whole.n;
    return 0;
}

struct coir_build *coir_build_new(void)
{
    struct coir_build *b = calloc(1, sizeof *b);

    if (b)
        coir_build_types_init(b);
    return b;
}

void coir_build_free(struct coir_build *b)
{
    if (!b)
        return;
    for (uint32_t i = 0; i < b->types.n; i++) {
        free(b->types.p[i].head.p);
        free(b->types.p[i].rest.p);
    }
    for (uint32_t i = 0; i < b->functions.n; i++)
        free(b->functions.p[i].bytes.p);
    void *const all[] = { b->index.at, b->entries.p, b->strings.p, b->constants.p, b->globals.p, b->imports.p,
        b->exports.p, b->types.p, b->functions.p, b->head.p, b->code.p, b->fixes.p, b->labels.p, b->lines.p,
        b->handlers.p };
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    coir_load_arena_free(&b->arena);
    free(b);
}

const char *coir_build_error(const struct coir_build *b)
{
    return b->error;
}
