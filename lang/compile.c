/* SPDX-License-Identifier: MIT */
/*
 * Loading modules: see lang/compile.h. The list of files is also the list of what is still to be done: each is parsed
 * in its turn, and what it uses is added at the end, once.
 */
#include "lang/compile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lang/parser.h"
#include "lang/prelude.h"

static struct coir_file *file_new(struct coir_compilation *c, const char *name, size_t n)
{
    struct coir_file *const f = coir_arena_take(&c->arena, sizeof *f);
    char *const copy = coir_arena_copy(&c->arena, name, n);

    if (!f || !copy || !coir_budget_grow(c->memory, &c->files, &c->room, c->nfiles, sizeof *c->files))
        return NULL;
    f->name = copy;
    c->files[c->nfiles++] = f;
    return f;
}

static int add_library(struct coir_compilation *c, const struct coir_prelude *p, bool host)
{
    char path[128];
    struct coir_file *const f = file_new(c, p->name, strlen(p->name));

    if (!f)
        return -ENOMEM;
    f->library = true;
    f->core = p->core;
    f->host = host;
    snprintf(path, sizeof path, "<%s>", p->name);
    return coir_source_init(&f->source, c->memory, path, p->text, p->size);
}

static uint32_t file_named(const struct coir_compilation *c, struct coir_word name, bool library)
{
    for (uint32_t i = 0; i < c->nfiles; i++) {
        const struct coir_file *const f = c->files[i];
        if (f->library == library && strlen(f->name) == name.size && !memcmp(f->name, name.text, name.size))
            return i;
    }
    return UINT32_MAX;
}

/* ---- use ---- */

/* The library's module: its number, UINT32_MAX if there is none; or an error, in *status. */
static uint32_t use_library(struct coir_compilation *c, struct coir_word name, int *status)
{
    const uint32_t there = file_named(c, name, true);

    if (there != UINT32_MAX)
        return there;
    for (uint32_t i = 0; i < c->nhosts + coir_preludes_count; i++) {
        const bool host = i < c->nhosts;
        const struct coir_prelude *const p = host ? &c->hosts[i] : &coir_preludes[i - c->nhosts];
        if (strlen(p->name) != name.size || memcmp(p->name, name.text, name.size) != 0)
            continue;
        *status = add_library(c, p, host);
        return c->nfiles - 1;
    }
    return UINT32_MAX;
}

/* The file beside: as above; *status is an error that is not that there is no such file. */
static uint32_t use_file(struct coir_compilation *c, struct coir_word name, int *status)
{
    const uint32_t there = file_named(c, name, false);
    char path[4096];

    if (there != UINT32_MAX)
        return there;
    if (!c->folder || (size_t)snprintf(path, sizeof path, "%s%.*s.coir", c->folder, (int)name.size, name.text) >=
                      sizeof path)
        return UINT32_MAX;
    struct coir_source source;
    *status = coir_source_read(&source, c->memory, path);
    if (*status == -ENOENT)
        *status = 0;
    else if (*status == 0) {
        struct coir_file *const f = file_new(c, name.text, name.size);
        if (f) {
            f->source = source;
            return c->nfiles - 1;
        }
        *status = -ENOMEM;
        coir_source_free(&source);
    }
    return UINT32_MAX;
}

static uint32_t use_module(struct coir_compilation *c, const struct coir_file *from, coir_ast n, int *status)
{
    const struct coir_word name = coir_ast_word(&from->tree, n);
    const struct coir_place at = coir_ast_place(&from->tree, n);
    uint32_t module = UINT32_MAX;
    int failed = 0;

    if (name.size == 0)                 /* the parser has said what is wrong with it */
        return module;
    if (!from->library)
        module = use_file(c, name, &failed);
    if (failed == -ENOMEM) {
        *status = failed;
        return module;
    }
    if (failed) {
        coir_diagnose(&c->diagnostics, COIR_E_UNKNOWN_MODULE, at.source, at.start, at.end,
                      "`%.*s.coir` cannot be read: %s",
                      (int)name.size, name.text, strerror(-failed));
        return module;
    }
    if (module == UINT32_MAX)
        module = use_library(c, name, status);
    if (module == UINT32_MAX && !*status) {
        coir_diagnose(&c->diagnostics, COIR_E_UNKNOWN_MODULE, at.source, at.start, at.end, "there is no module `%.*s`",
                      (int)name.size, name.text);
        coir_diagnose_note(&c->diagnostics,
                           "a module is a file `%.*s.coir` beside this one, or of the standard library",
                           (int)name.size, name.text);
    }
    return module;
}

/* All that one file uses. */
static int resolve_uses(struct coir_compilation *c, const struct coir_file *f, struct coir_module *m)
{
    const struct coir_ast_list items = coir_ast_module_items(&f->tree, f->tree.root);
    struct coir_module_use *uses;
    uint32_t count = 0;
    int status = 0;

    for (uint32_t i = 0; i < items.count; i++) {
        if (coir_ast_is(&f->tree, items.at[i], COIR_N_USE))
            count += coir_ast_use_modules(&f->tree, items.at[i]).count;
    }
    uses = coir_arena_take(&c->arena, (count + 1) * sizeof *uses);
    if (!uses)
        return -ENOMEM;
    m->uses = uses;
    for (uint32_t i = 0; i < items.count; i++) {
        if (!coir_ast_is(&f->tree, items.at[i], COIR_N_USE))
            continue;
        const struct coir_ast_list names = coir_ast_use_modules(&f->tree, items.at[i]);
        for (uint32_t k = 0; k < names.count && !status; k++) {
            uses[m->nuses].node = names.at[k];
            uses[m->nuses++].module = use_module(c, f, names.at[k], &status);
        }
    }
    return status;
}

/* ---- all of them ---- */

static void fill_module(const struct coir_file *f, struct coir_module *m, bool first)
{
    m->name = f->name;
    m->tree = &f->tree;
    m->library = f->library;
    m->core = f->core;
    m->host = f->host;
    m->asked = !f->library;
    m->main = first;
}

static int load(struct coir_compilation *c, struct coir_module **modules, uint32_t *room)
{
    int status = 0;

    for (uint32_t i = 0; i < coir_preludes_count && !status; i++) {
        if (coir_preludes[i].core)
            status = add_library(c, &coir_preludes[i], false);
    }
    for (uint32_t i = 0; i < c->nfiles && !status; i++) {
        struct coir_file *const f = c->files[i];
        if (!coir_budget_grow(c->memory, modules, room, i, sizeof **modules))
            return -ENOMEM;
        status = coir_parse(&f->tree, &f->source, &c->diagnostics, c->memory,
                            (struct coir_parse_options){ .natives = f->library });
        f->parsed = true;                       /* also if it failed: what there is is to be freed */
        if (status)
            return status;
        (*modules)[i] = (struct coir_module){ 0 };
        fill_module(f, &(*modules)[i], i == 0);
        status = f->tree.root ? resolve_uses(c, f, &(*modules)[i]) : -ENOMEM;
    }
    return status;
}

/* Errors of the grammar, and modules that are missing, are enough to correct first. */
static int compile(struct coir_compilation *c)
{
    struct coir_module *modules = NULL;
    uint32_t room = 0;

    int status = load(c, &modules, &room);
    if (status == 0 && c->diagnostics.errors == 0) {
        c->checked = true;
        status = coir_check(&c->typed, modules, c->nfiles, &c->diagnostics, c->memory);
        if (status == -ENOMEM)
            status = 0;                         /* it was reported */
    } else if (status == -ENOMEM && c->nfiles && c->diagnostics.errors == 0) {
        coir_diagnose(&c->diagnostics, COIR_E_MEMORY, &c->files[0]->source, 0, 0,
                      "there is not enough memory to read this");
        status = 0;
    }
    coir_budget_resize(c->memory, modules, room * sizeof *modules, 0);
    return status;
}

static void begin(struct coir_compilation *c, struct coir_budget *m, const struct coir_prelude *hosts, uint32_t nhosts)
{
    *c = (struct coir_compilation){ .memory = m, .arena = { .memory = m }, .hosts = hosts, .nhosts = nhosts };
    coir_diagnostics_init(&c->diagnostics, m);
}

/* "a/b/main.coir": the folder "a/b/", the module "main". */
static struct coir_file *first_file(struct coir_compilation *c, const char *path, bool alone)
{
    const char *const slash = strrchr(path, '/');
    const char *const base = slash ? slash + 1 : path;
    size_t n = strlen(base);

    if (n > 5 && !strcmp(base + n - 5, ".coir"))
        n -= 5;
    if (!alone) {
        c->folder = coir_arena_copy(&c->arena, path, (size_t)(base - path));
        if (!c->folder)
            return NULL;
    }
    return file_new(c, base, n);
}

static int compile_file(struct coir_compilation *c, struct coir_budget *m, const char *path)
{
    char inside[4096];
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        const size_t n = strlen(path);
        if ((size_t)snprintf(inside, sizeof inside, "%s%smain.coir", path, n && path[n - 1] == '/' ? "" : "/") >=
            sizeof inside)
            return -ENAMETOOLONG;
        path = inside;
    }
    struct coir_file *const f = first_file(c, path, false);
    if (!f)
        return -ENOMEM;
    const int status = coir_source_read(&f->source, m, path);
    return status ? status : compile(c);
}

static int compile_text(struct coir_compilation *c, struct coir_budget *m, const char *path, const char *text, size_t n)
{
    struct coir_file *const f = first_file(c, path, true);
    if (!f)
        return -ENOMEM;
    const int status = coir_source_init(&f->source, m, path, text, n);
    return status ? status : compile(c);
}

int coir_compile_hosted(struct coir_compilation *c, struct coir_budget *m, const char *path, const char *text, size_t n,
                        const struct coir_prelude *hosts, uint32_t nhosts)
{
    begin(c, m, hosts, nhosts);
    return text ? compile_text(c, m, path, text, n) : compile_file(c, m, path);
}

int coir_compile_file(struct coir_compilation *c, struct coir_budget *m, const char *path)
{
    return coir_compile_hosted(c, m, path, NULL, 0, NULL, 0);
}

int coir_compile_text(struct coir_compilation *c, struct coir_budget *m, const char *path, const char *text, size_t n)
{
    return coir_compile_hosted(c, m, path, text, n, NULL, 0);
}

void coir_compilation_free(struct coir_compilation *c)
{
    if (c->checked)
        coir_typed_free(&c->typed);
    for (uint32_t i = 0; i < c->nfiles; i++) {
        if (c->files[i]->parsed)
            coir_tree_free(&c->files[i]->tree);
        coir_source_free(&c->files[i]->source);
    }
    coir_budget_resize(c->memory, c->files, c->room * sizeof *c->files, 0);
    coir_diagnostics_free(&c->diagnostics);
    coir_arena_free(&c->arena);
    *c = (struct coir_compilation){ .memory = c->memory };
}
