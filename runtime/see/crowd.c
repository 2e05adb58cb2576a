/* SPDX-License-Identifier: MIT */
/*
 * Kinds of tasks, found by looking through those that are known: there are hardly ever more than a few. A task's own
 * frame may be gone on from one dump to the next, but not between the passes of one.
 */
#include "runtime/see/crowd.h"

enum { FEW = 3 };                        /* of one kind, that are all shown */

/* The last of a chain that has a place; what is below it is an operation. */
static const struct coir_task *stands(const struct coir_task *t)
{
    while (t->awaiting && t->awaiting->site)
        t = t->awaiting;
    return t;
}

static struct coir_crowd_kind kind_of(const struct coir_site *spawned, const struct coir_task *t)
{
    const struct coir_task *const at = stands(t);

    return (struct coir_crowd_kind){ .spawned = spawned, .stands = at->site,
                                     .leaf = at->awaiting ? at->awaiting->body : NULL };
}

static struct coir_crowd_kind *find(struct coir_crowd *c, const struct coir_crowd_kind *kind)
{
    for (size_t i = 0; i < c->kinds; i++) {
        struct coir_crowd_kind *k = &c->kind[i];
        if (k->spawned == kind->spawned && k->stands == kind->stands && k->leaf == kind->leaf)
            return k;
    }
    return NULL;
}

void coir_crowd_add(struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t)
{
    const struct coir_crowd_kind kind = kind_of(spawned, t);
    struct coir_crowd_kind *k = find(c, &kind);

    c->n++;
    if (!k && c->kinds < COIR_CROWD_KINDS) {
        k = &c->kind[c->kinds++];
        *k = kind;
    }
    if (k)
        k->n++;
    else
        c->others++;
}

bool coir_crowd_shows(struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t)
{
    const struct coir_crowd_kind kind = kind_of(spawned, t);
    struct coir_crowd_kind *const k = find(c, &kind);
    const bool first = k && !k->shown;

    if (k)
        k->shown = true;
    return c->n <= COIR_CROWD || first || (k && k->n <= FEW);
}

static void print_site(FILE *to, const char *how, const struct coir_site *site)
{
    if (site)
        fprintf(to, ", %s at %s:%u", how, site->file, site->line);
}

void coir_crowd_more(FILE *to, const struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t,
                     int indent)
{
    const struct coir_crowd_kind kind = kind_of(spawned, t);
    const struct coir_crowd_kind *const k = find((struct coir_crowd *)c, &kind);

    if (c->n <= COIR_CROWD || !k || k->n <= FEW)
        return;
    fprintf(to, "%*s... and %zu more", indent, "", k->n - 1);
    print_site(to, "spawned", k->spawned);
    if (stands(t)->state == 0)
        fprintf(to, ", ready to begin\n");
    else {
        print_site(to, "standing", k->stands);
        fprintf(to, "\n");
    }
}

void coir_crowd_rest(FILE *to, const struct coir_crowd *c, int indent)
{
    if (c->n > COIR_CROWD && c->others)
        fprintf(to, "%*s... and %zu more, of other kinds\n", indent, "", c->others);
}
