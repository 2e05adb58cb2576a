/* SPDX-License-Identifier: MIT */
/*
 * A host's program: its modules, from source or an image to what machines run. What comes from source goes by an image,
 * too, and is proved as any other. Nothing is shared with the caller but its modules, which it keeps.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "embed/compile.h"
#include "embed/inside.h"
#include "runtime/base/assert.h"
#include "vm/begin.h"

/* What is being made, and where it is said what is wrong. */
struct making {
    struct coir_vm_program *p;
    struct coir_prelude *hosts;         /* the modules' texts, for the front end */
    FILE *why;
};

/* ---- modules ---- */

static void dropped(struct coir_heap *heap, struct coir_counted *c)
{
    const struct coir_host_resource *const r =
        coir_container_of(heap->types[c->type].resource, const struct coir_host_resource, inner);

    if (r->given->drop && c->aux != COIR_HOST_UNSAID)
        r->given->drop(c + 1);
}

bool coir_host_is_own(const struct coir_resource *r)
{
    return r->drop == dropped;
}

/* "table.get", of malloc. */
static char *joined(const char *module, const char *name)
{
    const size_t size = strlen(module) + strlen(name) + 2;
    char *const to = malloc(size);

    if (to)
        snprintf(to, size, "%s.%s", module, name);
    return to;
}

static bool is_name(const char *s)
{
    bool good = islower((unsigned char)*s);

    for (; *s; s++)
        good &= isalnum((unsigned char)*s) || *s == '_';
    return good;
}

static bool is_taken(const struct making *m, const char *name, uint32_t before)
{
    for (uint32_t i = 0; i < coir_preludes_count; i++) {
        if (!strcmp(coir_preludes[i].name, name))
            return true;
    }
    for (uint32_t i = 0; i < before; i++) {
        if (!strcmp(m->hosts[i].name, name))
            return true;
    }
    return false;
}

static int resource_new(const struct coir_vm_resource *given, const char *module, const struct coir_resource **made)
{
    const size_t length = strlen(module) + strlen(given->name) + 2;
    struct coir_host_resource *const r = calloc(1, sizeof *r + length);

    if (!r)
        return -ENOMEM;
    snprintf(r->name, length, "%s.%s", module, given->name);
    r->given = given;
    r->inner.name = r->name;
    r->inner.size = sizeof(struct coir_counted) + given->size;
    r->inner.drop = dropped;
    *made = &r->inner;
    return 0;
}

static int module_new(struct coir_host_module *m, const struct coir_vm_module *given)
{
    int status = 0;

    m->given = given;
    m->natives = calloc(given->nbuiltins + 1, sizeof *m->natives);
    m->resources = calloc(given->nresources + 1, sizeof *m->resources);
    if (!m->natives || !m->resources)
        return -ENOMEM;
    m->table = (struct coir_natives){ m->natives, given->nbuiltins, m->resources, given->nresources };
    for (size_t i = 0; i < given->nbuiltins; i++) {
        m->natives[i] = (struct coir_native){ joined(given->name, given->builtins[i].name), NULL, coir_host_builtin };
        if (!m->natives[i].name)
            return -ENOMEM;
    }
    for (size_t i = 0; i < given->nresources && !status; i++)
        status = resource_new(&given->resources[i], given->name, &m->resources[i]);
    return status;
}

static void module_end(struct coir_host_module *m)
{
    for (size_t i = 0; m->natives && i < m->given->nbuiltins; i++)
        free((void *)(uintptr_t)m->natives[i].name);
    for (size_t i = 0; m->resources && i < m->given->nresources; i++) {
        if (m->resources[i])
            free((void *)coir_container_of(m->resources[i], const struct coir_host_resource, inner));
    }
    free(m->natives);
    free(m->resources);
}

static int make_modules(struct making *m, const struct coir_vm_module *const *given)
{
    uint32_t standard = 0, n = 0;
    int status = 0;

    while (given && given[n])
        n++;
    while (coir_standard_natives[standard])
        standard++;
    m->p->modules = calloc(n + 1, sizeof *m->p->modules);
    m->p->tables = calloc(standard + n + 1, sizeof *m->p->tables);
    m->hosts = calloc(n + 1, sizeof *m->hosts);
    if (!m->p->modules || !m->p->tables || !m->hosts)
        return -ENOMEM;
    memcpy(m->p->tables, coir_standard_natives, standard * sizeof *m->p->tables);
    for (uint32_t i = 0; i < n && !status; i++) {
        if (!is_name(given[i]->name) || is_taken(m, given[i]->name, i)) {
            fprintf(m->why, "coir: a module cannot be called `%s`\n", given[i]->name);
            return -EINVAL;
        }
        m->hosts[i] = (struct coir_prelude){ given[i]->name, given[i]->text, (uint32_t)strlen(given[i]->text), false };
        m->p->nmodules = i + 1;
        m->p->tables[standard + i] = &m->p->modules[i].table;
        status = module_new(&m->p->modules[i], given[i]);
    }
    return status;
}

/* ---- what the modules declare ---- */

/* Each builtin is declared once, as one that C can be. */
static int check_builtin(struct making *m, const struct coir_native *n)
{
    for (uint32_t i = 0; i < m->p->declared->nimports; i++) {
        const struct coir_import *const import = &m->p->declared->imports[i];

        if (strcmp(import->native->name, n->name) != 0)
            continue;
        if (!import->mut_slots)
            return 0;
        fprintf(m->why, "coir: %s has a `mut` parameter, which a builtin cannot have\n", n->name);
        return -EINVAL;
    }
    fprintf(m->why, "coir: %s is not declared in its module as a function without a body and type parameters\n",
            n->name);
    return -EINVAL;
}

static const struct coir_native *builtin_of(const struct coir_vm_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->nmodules; i++) {
        for (size_t k = 0; k < p->modules[i].table.n; k++) {
            if (!strcmp(p->modules[i].natives[k].name, name))
                return &p->modules[i].natives[k];
        }
    }
    return NULL;
}

static int check_declared(struct making *m)
{
    const struct coir_standard_library library = coir_library_of(m->p->tables);
    const struct coir_program *const d = m->p->declared;
    int status = 0;

    for (uint32_t i = 0; i < d->nimports; i++) {
        if (!builtin_of(m->p, d->imports[i].native->name)) {
            fprintf(m->why, "coir: nothing in C is given for %s\n", d->imports[i].native->name);
            status = -EINVAL;
        }
    }
    for (uint32_t i = 0; i < d->types.n; i++) {
        const struct coir_type *const t = &d->types.all[i];

        if (t->kind == COIR_TYPE_RESOURCE && !library.library.resource(&library.library, t->name)) {
            fprintf(m->why, "coir: no resource in C is given for %s\n", t->name);
            status = -EINVAL;
        }
    }
    for (uint32_t i = 0; i < m->p->nmodules; i++) {
        for (size_t k = 0; k < m->p->modules[i].table.n && !status; k++)
            status = check_builtin(m, &m->p->modules[i].natives[k]);
    }
    return status;
}

/* The modules alone: what they declare. */
static int declare(struct making *m)
{
    struct coir_load_error error;
    char *text = NULL;
    void *image = NULL;
    size_t size = 0, length;
    FILE *const uses = m->p->nmodules ? open_memstream(&text, &size) : NULL;
    int status;

    if (!m->p->nmodules)
        return 0;
    if (!uses)
        return -ENOMEM;
    for (uint32_t i = 0; i < m->p->nmodules; i++)
        fprintf(uses, "use %s\n", m->hosts[i].name);
    if (fclose(uses))
        status = -ENOMEM;
    else
        status = coir_host_compile(m->hosts, m->p->nmodules, "modules", text, size, COIR_HOST_NATIVES, m->why, &image,
                                   &length);
    if (status == 0)
        status = coir_program_load(image, length, NULL, &m->p->declared, &error);
    free(image);
    free(text);
    return status ? status : check_declared(m);
}

/* ---- the image ---- */

static int load(struct making *m)
{
    const struct coir_standard_library library = coir_library_of(m->p->tables);
    struct coir_load_error error;
    const char *wrong;
    int status = coir_program_load(m->p->image, m->p->length, &library.library, &m->p->loaded, &error);

    if (status == -EINVAL)
        fprintf(m->why, "coir: %s\n", error.text);
    if (status < 0)
        return status;
    wrong = coir_host_mismatch(m->p, m->p->loaded, error.text, sizeof error.text);
    if (wrong) {
        fprintf(m->why, "coir: %s\n", wrong);
        return -EINVAL;
    }
    return coir_make_constants(m->p->loaded) ? 0 : -ENOMEM;
}

/* ---- all of it ---- */

void coir_vm_program_free(struct coir_vm_program *p)
{
    if (!p)
        return;
    if (p->loaded)
        coir_program_free(p->loaded);
    if (p->declared)
        coir_program_free(p->declared);
    for (uint32_t i = 0; i < p->nmodules; i++)
        module_end(&p->modules[i]);
    free(p->modules);
    free(p->tables);
    free(p->image);
    free(p);
}

/* `bytes`: an image; else a file, or a text. */
struct from {
    const void *bytes;
    const char *path, *text;
    size_t length;
};

static int make(struct making *m, const struct from *from, const struct coir_vm_module *const *modules)
{
    int status = make_modules(m, modules);

    if (status == 0)
        status = declare(m);
    if (status)
        return status;
    if (!from->bytes) {
        status = coir_host_compile(m->hosts, m->p->nmodules, from->path, from->text, from->length, COIR_HOST_EXPORTS,
                                   m->why, &m->p->image, &m->p->length);
    } else {
        m->p->image = malloc(from->length + 1);
        m->p->length = from->length;
        if (!m->p->image)
            return -ENOMEM;
        memcpy(m->p->image, from->bytes, from->length);
    }
    return status ? status : load(m);
}

/* What was said is the caller's, if it wants it and there is any. */
static void tell(char *said, char **why)
{
    if (why && said && *said)
        *why = said;
    else
        free(said);
}

static int program_new(const struct from *from, const struct coir_vm_module *const *modules,
                       struct coir_vm_program **program, char **why)
{
    struct making m = { .p = calloc(1, sizeof *m.p) };
    char *said = NULL;
    size_t size = 0;
    int status;

    *program = NULL;
    if (why)
        *why = NULL;
    m.why = m.p ? open_memstream(&said, &size) : NULL;
    status = m.why ? make(&m, from, modules) : -ENOMEM;
    if (m.why && fclose(m.why) && !status)
        status = -ENOMEM;
    free(m.hosts);
    tell(said, why);
    if (status < 0)
        coir_vm_program_free(m.p);
    else
        *program = m.p;
    return status;
}

int coir_vm_compile(const char *path, const struct coir_vm_module *const *modules, struct coir_vm_program **program,
                    char **why)
{
    return program_new(&(struct from){ .path = path }, modules, program, why);
}

int coir_vm_compile_text(const char *name, const char *text, size_t length, const struct coir_vm_module *const *modules,
                         struct coir_vm_program **program, char **why)
{
    return program_new(&(struct from){ .path = name, .text = text, .length = length }, modules, program, why);
}

int coir_vm_load(const void *bytes, size_t length, const struct coir_vm_module *const *modules,
                 struct coir_vm_program **program, char **why)
{
    return program_new(&(struct from){ .bytes = bytes, .length = length }, modules, program, why);
}

const void *coir_vm_image(const struct coir_vm_program *program, size_t *length)
{
    *length = program->length;
    return program->image;
}
