/* SPDX-License-Identifier: MIT */
/*
 * What a machine begins with: see begin.h. Nothing here runs anything.
 */
#include "vm/begin.h"

#include <stdlib.h>

#include "vm/actor.h"
#include "vm/chan.h"
#include "vm/handle.h"

/* ---- natives by name ---- */

static const struct coir_natives *const own[] = { &coir_actor_natives, &coir_chan_natives, &coir_handle_natives, NULL };

static const struct coir_native *in_table(const struct coir_natives *const *tables, const char *name)
{
    for (; tables && *tables; tables++) {
        for (size_t i = 0; i < (*tables)->n; i++) {
            if (!strcmp((*tables)->natives[i].name, name))
                return &(*tables)->natives[i];
        }
    }
    return NULL;
}

static const struct coir_native *find_native(const struct coir_library *l, const char *name)
{
    const struct coir_standard_library *all = (const struct coir_standard_library *)(const void *)l;
    const struct coir_native *found = in_table(own, name);

    return found ? found : in_table(all->more, name);
}

static const struct coir_resource *find_resource(const struct coir_library *l, const char *name)
{
    const struct coir_standard_library *all = (const struct coir_standard_library *)(const void *)l;

    for (const struct coir_natives *const *table = all->more; table && *table; table++) {
        for (size_t i = 0; i < (*table)->nresources; i++) {
            if (!strcmp((*table)->resources[i]->name, name))
                return (*table)->resources[i];
        }
    }
    return NULL;
}

struct coir_standard_library coir_library_of(const struct coir_natives *const *more)
{
    return (struct coir_standard_library){ { find_native, find_resource }, more };
}

/* ---- what the environment says ---- */

static uint32_t number(uint32_t said, const char *name, uint32_t usual)
{
    const char *text = said ? NULL : getenv(name);
    const long n = text ? atol(text) : 0;

    if (said)
        return said;
    return n > 0 && n <= INT32_MAX ? (uint32_t)n : usual;
}

uint32_t coir_reductions(uint32_t said)
{
    return number(said, "COIR_REDUCTIONS", 4000);
}

uint32_t coir_mailbox(uint32_t said)
{
    return number(said, "COIR_MAILBOX", 1024);
}

bool coir_by_switch(const char *said)
{
    if (!said)
        said = getenv("COIR_DISPATCH");
    return said && !strcmp(said, "switch");
}

/* ---- constants ---- */

bool coir_make_constants(struct coir_program *p)
{
    for (uint32_t i = 0; i < p->ntexts; i++) {
        struct coir_text *t = coir_text_constant(&p->types, p->texts[i].bytes, p->texts[i].length);

        if (!t)
            return false;
        p->constants[p->texts[i].index] = coir_slot_of(t);
    }
    return true;
}
