/* SPDX-License-Identifier: MIT */
/*
 * Whether an image calls builtins with the types that their modules declare. The modules are compiled by themselves
 * into an image of nothing but imports, and the types of the two are walked side by side: each type of the modules
 * stands for one of the image's, the first it is met with. An image of any bytes whatever may be compared; the work is
 * bounded by the modules' types.
 */
#include <stdio.h>
#include <stdlib.h>

#include "embed/inside.h"

struct match {
    const struct coir_types *types;     /* of the modules */
    const struct coir_type **stands;    /* for this one of the image, by index */
    uint32_t *todo;
    uint32_t n;
};

static bool same_name(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* They are the same, if what they are made of is: that is to be looked at. */
static bool meet(struct match *m, const struct coir_type *a, const struct coir_type *b)
{
    if (!a || !b)
        return a == b;
    if (m->stands[a->index])
        return m->stands[a->index] == b;
    m->stands[a->index] = b;
    m->todo[m->n++] = a->index;
    return true;
}

static bool same_fields(struct match *m, const struct coir_field *a, uint32_t n, const struct coir_field *b,
                        uint32_t nb)
{
    if (n != nb)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!same_name(a[i].name, b[i].name) || !meet(m, a[i].type, b[i].type))
            return false;
    }
    return true;
}

static bool same_params(struct match *m, const struct coir_param *a, uint32_t n, const struct coir_param *b,
                        uint32_t nb)
{
    if (n != nb)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].mode != b[i].mode || !meet(m, a[i].type, b[i].type))
            return false;
    }
    return true;
}

static bool same_parts(struct match *m, const struct coir_type *a, const struct coir_type *b)
{
    if (a->kind != b->kind || !same_name(a->name, b->name) || a->nvariants != b->nvariants
        || a->kind == COIR_TYPE_ACTOR)
        return false;
    if (!meet(m, a->element, b->element) || !meet(m, a->key, b->key)
        || !same_fields(m, a->fields, a->nfields, b->fields, b->nfields)
        || !same_params(m, a->params, a->nparams, b->params, b->nparams))
        return false;
    for (uint32_t i = 0; i < a->nvariants; i++) {
        if (!same_name(a->variants[i].name, b->variants[i].name)
            || !same_fields(m, a->variants[i].fields, a->variants[i].nfields, b->variants[i].fields,
                            b->variants[i].nfields))
            return false;
    }
    return true;
}

static bool same_import(struct match *m, const struct coir_import *a, const struct coir_import *b,
                        const struct coir_types *others)
{
    if (!same_params(m, a->params, a->nparams, b->params, b->nparams) || !meet(m, a->result, b->result))
        return false;
    while (m->n) {
        const uint32_t at = m->todo[--m->n];

        if (!same_parts(m, &m->types->all[at], &others->all[m->stands[at]->index]))
            return false;
    }
    return true;
}

static const struct coir_import *declared(const struct coir_program *p, const char *name)
{
    for (uint32_t i = 0; i < p->nimports; i++) {
        if (!strcmp(p->imports[i].native->name, name))
            return &p->imports[i];
    }
    return NULL;
}

const char *coir_host_mismatch(const struct coir_vm_program *p, const struct coir_program *loaded, char *out,
                               size_t size)
{
    struct match m = { 0 };
    const char *wrong = NULL;

    if (!p->declared)
        return NULL;
    m.types = &p->declared->types;
    m.stands = calloc(m.types->n, sizeof *m.stands);
    m.todo = calloc(m.types->n, sizeof *m.todo);
    if (!m.stands || !m.todo) {
        snprintf(out, size, "no memory to load the image");
        wrong = out;
    }
    for (uint32_t i = 0; i < loaded->nimports && !wrong; i++) {
        const struct coir_import *const import = &loaded->imports[i];
        const struct coir_import *const is = import->native->signature ? NULL
                                                                       : declared(p->declared, import->native->name);

        if (import->native->signature || (is && same_import(&m, is, import, &loaded->types)))
            continue;
        snprintf(out, size, "%s is not called as its module declares it", import->native->name);
        wrong = out;
    }
    free(m.stands);
    free(m.todo);
    return wrong;
}
