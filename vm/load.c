/* SPDX-License-Identifier: MIT */
/*
 * The loader: the head, the sections, and all that is not a type or a function. Of the bytes nothing is believed:
 * every number is compared with what there is before it is used, and no room is made for more things than the bytes
 * that are left could hold.
 */
#include "vm/load_inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "vm/signature.h"

/* The account of the proof: programs of compilers need less than one a byte. */
enum { WORK_PER_BYTE = 32, WORK_AT_LEAST = 1 << 24, DROPS_PER_BYTE = 8, DROPS_AT_LEAST = 1 << 16 };

bool coir_load_wrong(struct coir_load *l, const char *format, ...)
{
    va_list ap;

    if (l->failed)
        return false;
    l->failed = true;
    va_start(ap, format);
    vsnprintf(l->error->text, sizeof l->error->text, format, ap);
    va_end(ap);
    for (char *c = l->error->text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
    return false;
}

bool coir_load_memory(struct coir_load *l)
{
    l->no_memory = true;
    return coir_load_wrong(l, "no memory");
}

/* ---- cursors ---- */

static const uint8_t *take(struct coir_cursor *c, size_t n)
{
    static const uint8_t nothing[8];
    const uint8_t *p = c->at;

    if ((size_t)(c->end - c->at) < n) {
        c->ran_out = true;
        c->at = c->end;
        return nothing;
    }
    c->at += n;
    return p;
}

uint8_t coir_get8(struct coir_cursor *c)
{
    return *take(c, 1);
}

uint16_t coir_get16(struct coir_cursor *c)
{
    const uint8_t *p = take(c, 2);

    return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t coir_get32(struct coir_cursor *c)
{
    const uint8_t *p = take(c, 4);

    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint64_t coir_get64(struct coir_cursor *c)
{
    const uint8_t *p = take(c, 8);
    uint64_t x = 0;

    for (int i = 7; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

bool coir_get_count(struct coir_load *l, struct coir_cursor *c, uint32_t n, size_t size, const char *what)
{
    if (c->ran_out || n > (size_t)(c->end - c->at) / size)
        return coir_load_wrong(l, "more %s than there are bytes for", what);
    return true;
}

const char *coir_get_name(struct coir_load *l, struct coir_cursor *c)
{
    const uint32_t i = coir_get32(c);

    if (i >= l->nstrings) {
        coir_load_wrong(l, "there is no string %u", i);
        return NULL;
    }
    if (strlen(l->strings[i]) != l->lengths[i]) {
        coir_load_wrong(l, "a name with a zero in it");
        return NULL;
    }
    return l->strings[i];
}

const struct coir_type *coir_get_type(struct coir_load *l, struct coir_cursor *c)
{
    const uint32_t i = coir_get32(c);

    if (i < l->p->types.n && i != COIR_INDEX_SCOPE && i != COIR_INDEX_GROUP)
        return &l->p->types.all[i];
    coir_load_wrong(l, i < l->p->types.n ? "a value of type %u, which is of registers only" : "there is no type %u", i);
    return NULL;
}

struct coir_param *coir_get_params(struct coir_load *l, struct coir_cursor *c, uint32_t *n)
{
    struct coir_param *params;

    *n = coir_get8(c);
    params = coir_load_arena_alloc(l->arena, *n, sizeof *params);
    if (!params)
        coir_load_memory(l);
    for (uint32_t i = 0; params && i < *n; i++) {
        const uint8_t mode = coir_get8(c);

        params[i].type = coir_get_type(l, c);
        if (!params[i].type)
            return NULL;
        if (mode > COIR_MODE_MUT || (i && mode == COIR_MODE_MUT && params[i - 1].mode != COIR_MODE_MUT)) {
            coir_load_wrong(l, "a parameter of mode %u, where none can be", mode);
            return NULL;
        }
        params[i].mode = mode;
    }
    return params;
}

void coir_count_slots(const struct coir_param *params, uint32_t n, uint32_t *mut, uint32_t *all)
{
    *mut = *all = 0;
    for (uint32_t i = 0; i < n; i++) {
        *all += params[i].type->slots;
        if (params[i].mode == COIR_MODE_MUT)
            *mut = *all;
    }
}

struct coir_field *coir_get_fields(struct coir_load *l, struct coir_cursor *c, uint32_t n)
{
    struct coir_field *fields;

    if (!coir_get_count(l, c, n, 8, "fields"))
        return NULL;
    fields = coir_load_arena_alloc(l->arena, n, sizeof *fields);
    if (!fields)
        coir_load_memory(l);
    for (uint32_t i = 0; fields && i < n; i++) {
        fields[i].name = coir_get_name(l, c);
        fields[i].type = coir_get_type(l, c);
        if (!fields[i].name || !fields[i].type)
            return NULL;
    }
    return fields;
}

/* ---- sections ---- */

static bool load_head(struct coir_load *l, const uint8_t *bytes, size_t length)
{
    struct coir_cursor c = { bytes, bytes + length, false };
    const uint8_t *magic = take(&c, 8);

    if (c.ran_out || memcmp(magic, COIR_IMAGE_MAGIC, 8) != 0)
        return coir_load_wrong(l, "this is no image");
    const unsigned version = coir_get16(&c), sections = coir_get16(&c);
    const uint32_t features = coir_get32(&c);
    const uint64_t whole = coir_get64(&c);
    if (version != COIR_IMAGE_VERSION)
        return coir_load_wrong(l, "an image of version %u: this program reads %d", version, COIR_IMAGE_VERSION);
    if (features & ~COIR_IMAGE_FEATURES)
        return coir_load_wrong(l, "an image with features 0x%x, which this program does not know", features);
    if (whole != length || sections != COIR_SECTIONS)
        return coir_load_wrong(l, "an image of %zu bytes, which says %llu, and %u sections", length,
                               (unsigned long long)whole, sections);
    const uint8_t *at = bytes + COIR_IMAGE_HEAD + COIR_SECTIONS * COIR_IMAGE_ENTRY;
    for (unsigned i = 0; i < COIR_SECTIONS; i++) {
        const uint32_t section = coir_get32(&c), size = coir_get32(&c);

        if (c.ran_out || section != i || size > (size_t)(bytes + length - at))
            return coir_load_wrong(l, "section %u is not where it should be, or too long", i);
        l->sections[i] = (struct coir_cursor){ at, at + size, false };
        at += size;
    }
    return at == bytes + length || coir_load_wrong(l, "bytes behind the last section");
}

static bool load_strings(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_STRINGS];
    const uint32_t n = coir_get32(c);

    if (!coir_get_count(l, c, n, 4, "strings"))
        return false;
    l->strings = coir_load_arena_alloc(l->arena, n, sizeof *l->strings);
    l->lengths = coir_load_arena_alloc(l->arena, n, sizeof *l->lengths);
    if (!l->strings || !l->lengths)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t length = coir_get32(c);

        if (!coir_get_count(l, c, length, 1, "bytes of a string"))
            return false;
        l->strings[i] = coir_load_arena_text(l->arena, (const char *)take(c, length), length);
        l->lengths[i] = length;
        if (!l->strings[i])
            return coir_load_memory(l);
    }
    l->nstrings = n;
    return true;
}

static bool load_constants(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_CONSTANTS];
    const uint32_t n = coir_get32(c);
    struct coir_text_constant *texts;
    uint8_t *is_text;

    if (!coir_get_count(l, c, n, 5, "constants"))
        return false;
    l->p->constants = coir_load_arena_alloc(l->arena, n, sizeof *l->p->constants);
    is_text = coir_load_arena_alloc(l->arena, n, 1);
    texts = coir_load_arena_alloc(l->arena, n, sizeof *texts);
    if (!l->p->constants || !is_text || !texts)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t tag = coir_get8(c);
        const bool text = tag == COIR_CONSTANT_TEXT;
        const uint32_t string = text ? coir_get32(c) : 0;

        if (tag > COIR_CONSTANT_TEXT || (text && string >= l->nstrings))
            return coir_load_wrong(l, "constant %u is neither a word nor a text", i);
        is_text[i] = text;
        if (text)
            texts[l->p->ntexts++] = (struct coir_text_constant){ l->strings[string], l->lengths[string], i };
        else
            l->p->constants[i] = coir_get64(c);
    }
    l->p->texts = texts;
    l->p->constant_is_text = is_text;
    l->p->nconstants = n;
    return true;
}

static bool load_globals(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_GLOBALS];
    const uint32_t n = coir_get32(c);
    struct coir_global *globals;
    struct coir_slot *layout;
    uint32_t slots = 0;

    if (!coir_get_count(l, c, n, 8, "globals"))
        return false;
    globals = coir_load_arena_alloc(l->arena, n, sizeof *globals);
    if (!globals)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        globals[i].name = coir_get_name(l, c);
        globals[i].type = coir_get_type(l, c);
        if (!globals[i].name || !globals[i].type)
            return false;
        if (globals[i].type->owns)
            return coir_load_wrong(l, "global %s owns a resource", globals[i].name);
        globals[i].slot = slots;
        slots += globals[i].type->slots;
        if (slots > COIR_MAX_GLOBAL_SLOTS)
            return coir_load_wrong(l, "globals of more than %d slots", COIR_MAX_GLOBAL_SLOTS);
    }
    layout = coir_load_arena_alloc(l->arena, slots, sizeof *layout);
    if (!layout)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        if (globals[i].type->slots)
            memcpy(layout + globals[i].slot, globals[i].type->layout, globals[i].type->slots * sizeof *layout);
    }
    l->p->globals = globals;
    l->p->nglobals = n;
    l->p->global_layout = layout;
    l->p->nglobal_slots = slots;
    return true;
}

/* A native that nobody can call: of a program that is only looked at. */
static const struct coir_native *no_native(struct coir_load *l, const char *name)
{
    struct coir_native *n = coir_load_arena_alloc(l->arena, 1, sizeof *n);

    if (n)
        *n = (struct coir_native){ .name = name, .signature = "" };
    else
        coir_load_memory(l);
    return n;
}

static bool load_import(struct coir_load *l, struct coir_cursor *c, struct coir_import *import)
{
    const struct coir_type_classes classes = { l->key, l->ordered };
    const char *name = coir_get_name(l, c), *wrong;

    if (!name)
        return false;
    import->params = coir_get_params(l, c, &import->nparams);
    import->result = import->params ? coir_get_type(l, c) : NULL;
    if (!import->result)
        return false;
    coir_count_slots(import->params, import->nparams, &import->mut_slots, &import->slots);
    import->native = l->library ? l->library->native(l->library, name) : no_native(l, name);
    if (!import->native)
        return !l->failed && coir_load_wrong(l, "there is no native %s", name);
    if (!l->library)
        return true;
    wrong = coir_signature_mismatch(import->native, import, &classes);
    return !wrong || coir_load_wrong(l, "native %s, %s: %s", name, import->native->signature, wrong);
}

static bool load_imports(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_IMPORTS];
    const uint32_t n = coir_get32(c);

    if (!coir_get_count(l, c, n, 9, "imports"))
        return false;
    l->imports = coir_load_arena_alloc(l->arena, n, sizeof *l->imports);
    if (!l->imports)
        return coir_load_memory(l);
    l->p->imports = l->imports;
    for (uint32_t i = 0; i < n; i++) {
        if (!load_import(l, c, &l->imports[i]))
            return false;
    }
    l->p->nimports = n;
    return true;
}

/* What is started from outside must be callable from there: with nothing, or as main. */
static bool check_export(struct coir_load *l, const struct coir_export *e)
{
    const struct coir_function *f = &l->functions[e->function];
    int *const one = e->kind == COIR_EXPORT_MAIN ? &l->p->main : e->kind == COIR_EXPORT_INIT ? &l->p->init : NULL;
    const bool args = e->kind == COIR_EXPORT_MAIN && f->nparams == 1
        && f->params[0].type->index == COIR_INDEX_TEXTS && f->params[0].mode != COIR_MODE_MUT;

    if (f->closure)
        return coir_load_wrong(l, "%s, exported, is the body of a closure", f->name);
    if (e->kind == COIR_EXPORT_FUNCTION)
        return true;
    if (f->nparams && !args)
        return coir_load_wrong(l, "%s, started from outside, has parameters", f->name);
    if (f->result->kind != COIR_TYPE_UNIT && !(one == &l->p->main && f->result->kind == COIR_TYPE_INT))
        return coir_load_wrong(l, "%s, started from outside, has a result", f->name);
    if (one && *one >= 0)
        return coir_load_wrong(l, "%s: there is one already", one == &l->p->main ? "main" : "an init function");
    if (one)
        *one = (int)e->function;
    return true;
}

static bool load_exports(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_EXPORTS];
    const uint32_t n = coir_get32(c);
    struct coir_export *exports;

    if (!coir_get_count(l, c, n, 9, "exports"))
        return false;
    exports = coir_load_arena_alloc(l->arena, n, sizeof *exports);
    if (!exports)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < n; i++) {
        exports[i].kind = coir_get8(c);
        exports[i].name = coir_get_name(l, c);
        exports[i].function = coir_get32(c);
        if (!exports[i].name)
            return false;
        if (exports[i].kind >= COIR_EXPORT_KINDS || exports[i].function >= l->p->nfunctions)
            return coir_load_wrong(l, "export %s is of no known kind, or of no function", exports[i].name);
        if (!check_export(l, &exports[i]))
            return false;
    }
    l->p->exports = exports;
    l->p->nexports = n;
    if (l->p->init >= 0)
        l->functions[l->p->init].is_init = true;
    return true;
}

/* Each section was read to its end, and not beyond. */
static bool all_read(struct coir_load *l)
{
    for (unsigned i = 0; i < COIR_SECTIONS; i++) {
        if (l->sections[i].ran_out || l->sections[i].at != l->sections[i].end)
            return coir_load_wrong(l, "section %u is %s than what it holds", i,
                                   l->sections[i].ran_out ? "shorter" : "longer");
    }
    return true;
}

static bool prove_all(struct coir_load *l)
{
    for (uint32_t i = 0; i < l->p->nfunctions; i++) {
        struct coir_function *f = &l->functions[i];
        uint64_t *starts = NULL;
        const bool good = coir_load_operands(l, f, &starts) && coir_load_prove(l, f, starts);

        free(starts);
        if (!good)
            return false;
    }
    return true;
}

int coir_program_load(const void *bytes, size_t length, const struct coir_library *library,
                      struct coir_program **program, struct coir_load_error *error)
{
    struct coir_load l = { .library = library, .error = error, .length = length };
    struct coir_load_arena arena = { 0 };
    bool good;

    *program = NULL;
    error->text[0] = 0;
    l.arena = &arena;
    l.p = coir_load_arena_alloc(&arena, 1, sizeof *l.p);
    struct coir_load_arena *kept = coir_load_arena_alloc(&arena, 1, sizeof arena);
    if (!l.p || !kept) {
        coir_load_arena_free(&arena);
        snprintf(error->text, sizeof error->text, "no memory");
        return -ENOMEM;
    }
    l.p->main = l.p->init = -1;
    l.work = length * WORK_PER_BYTE + WORK_AT_LEAST;
    l.drops = length * DROPS_PER_BYTE + DROPS_AT_LEAST;
    good = load_head(&l, bytes, length) && load_strings(&l) && coir_load_types(&l) && load_constants(&l)
        && load_globals(&l) && load_imports(&l) && coir_load_functions(&l) && load_exports(&l) && all_read(&l)
        && prove_all(&l);
    free(l.key);
    free(l.ordered);
    if (!good) {
        coir_types_free(&l.p->types);
        coir_load_arena_free(&arena);
        return l.no_memory ? -ENOMEM : -EINVAL;
    }
    l.p->memory = arena.total + l.p->types.used;
    *kept = arena;
    l.p->arena = kept;
    *program = l.p;
    return 0;
}

void coir_program_free(struct coir_program *program)
{
    if (!program)
        return;
    struct coir_load_arena arena = *program->arena;
    coir_types_free(&program->types);
    coir_load_arena_free(&arena);
}

int coir_program_states(const struct coir_program *program, uint32_t function,
                        void (*see)(void *arg, uint32_t pc, uint32_t reg, const char *what), void *arg)
{
    struct coir_load_error error;
    struct coir_program p = *program;
    struct coir_function f = program->functions[function];
    struct coir_load l = { .p = &p, .error = &error, .work = UINT64_MAX,
        .drops = UINT64_MAX, .see = see, .see_arg = arg };
    uint64_t *starts = NULL;
    const bool good = coir_load_classify(&l) && coir_load_operands(&l, &f, &starts) && coir_load_prove(&l, &f, starts);

    free(l.key);
    free(l.ordered);
    free(starts);
    COIR_ASSERT(good || l.no_memory);               /* it was proved when it was loaded */
    return good ? 0 : -ENOMEM;
}
