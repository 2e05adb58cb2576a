/* SPDX-License-Identifier: MIT */
/*
 * The table of runtime/task/owed.h. What is taken is mostly given back soon, so the newest is looked at first.
 */
#include "runtime/task/owed.h"

#include "runtime/task/home.h"

enum { MOST = 32 };

static __thread struct {
    const struct coir_shard *of;
    unsigned n;
    struct owed {
        const struct coir_task *by;
        const void *thing;
        const struct coir_site *since;
        const char *does;
    } owed[MOST];
} table;

void coir_owes(struct coir_task *t, const void *thing, const struct coir_site *since, const char *does)
{
    t->flags |= COIR_TASK_GROUPS_;
    if (COIR_UNLIKELY(table.of != coir_shard_here())) {
        table.of = coir_shard_here();
        table.n = 0;
    }
    if (table.n < MOST)
        table.owed[table.n++] = (struct owed){ t, thing, since, does };
}

void coir_owes_not(const void *thing)
{
    for (unsigned i = table.n; i-- > 0;) {
        if (table.owed[i].thing != thing)
            continue;
        table.owed[i] = table.owed[--table.n];
        return;
    }
}

void coir_owes_nothing(void)
{
    table.n = 0;
}

void coir_must_not_owe(const struct coir_task *t, const char *name)
{
    const struct owed *o = table.owed;

    while (o < table.owed + table.n && o->by != t)
        o++;
    if (COIR_LIKELY(o == table.owed + table.n))
        return;
    fprintf(stderr, "coir: task %s ended while it %s, since %s:%u; coir_finally is on every path out of it\n", name,
            o->does, o->since->file, o->since->line);
    abort();
}
