/* SPDX-License-Identifier: MIT */
/*
 * Made and never run, for children that lie in a frame: debug builds of a program remember each coir_make
 * until it begins, and a body that ends is asked whether one in its frame has not.
 *
 * One table a thread, since a task and what it makes stay on their shard; it is allocated when it is first
 * needed, and freed when it is empty. It must never keep a program from running: without memory, or when it
 * is full, what it cannot remember is not reported. It never looks into a frame, which may be gone.
 */
#include <stdlib.h>

#include "runtime/task/home.h"

enum { MOST = 1024 };

struct made {
    const struct coir_task *task;
    const struct coir_site *site;        /* the coir_make */
};

struct table {
    unsigned n;
    struct made made[MOST];              /* the newest last: it is the one that is asked for */
};

static __thread struct table *table;

static void report(const struct coir_site *site)
{
    fprintf(stderr, "coir: task %s made at %s:%u never ran: was an await forgotten?\n", site->task,
            site->file, site->line);
}

/* Takes entry i out; those behind it keep their order. */
static void take_out(unsigned i)
{
    for (table->n--; i < table->n; i++)
        table->made[i] = table->made[i + 1];
    if (table->n > 0)
        return;
    free(table);
    table = NULL;
}

/* The entry of a task, or -1. */
static int find(const struct coir_task *t)
{
    for (unsigned i = table ? table->n : 0; i-- > 0;) {
        if (table->made[i].task == t)
            return (int)i;
    }
    return -1;
}

void coir_made_(struct coir_task *t, const struct coir_site *site)
{
    const int old = find(t);

    if (old >= 0) {                      /* its memory is used again */
        report(table->made[old].site);
        take_out((unsigned)old);
    }
    if (!table)
        table = calloc(1, sizeof *table);
    if (table && table->n < MOST)
        table->made[table->n++] = (struct made){ t, site };
}

void coir_begun_(struct coir_task *t)
{
    const int i = find(t);

    if (i >= 0)
        take_out((unsigned)i);
}

void coir_unmade_(void *frame, size_t size)
{
    const char *low = frame;

    for (unsigned i = 0; table && i < table->n;) {
        const char *at = (const char *)table->made[i].task;
        if (at < low || at >= low + size) {
            i++;
            continue;
        }
        report(table->made[i].site);
        take_out(i);
    }
}

void coir_made_end(void)
{
    for (unsigned i = 0; table && i < table->n; i++)
        report(table->made[i].site);
    free(table);
    table = NULL;
}
