/* SPDX-License-Identifier: MIT */
/*
 * What those who stand in lines wait for, in words, for coir_dump. It reads frames and changes nothing, and only looks
 * at a mutex or the like while the leaf still stands in its line: afterwards that may be gone.
 */
#include "runtime/sync/dump.h"

#include "runtime/sync/line.h"

static void print_mutex(FILE *to, const struct coir_task *t)
{
    const struct coir_mutex *m = t->waits_for;

    fprintf(to, "waits %s a mutex that %s holds since %s:%u", t->state == COIR_HALF_ ? "to have back" : "for",
            coir_site_task(m->since), m->since->file, m->since->line);
}

static void print_condition(FILE *to, const struct coir_task *t)
{
    if (t->state == COIR_HALF_)
        print_mutex(to, t);
    else
        fprintf(to, "waits for a condition");
}

static void print_event(FILE *to, const struct coir_task *t)
{
    (void)t;
    fprintf(to, "waits for an event");
}

static void print_once(FILE *to, const struct coir_task *t)
{
    const struct coir_once *o = t->waits_for;

    fprintf(to, "waits for what %s does once, since %s:%u", coir_site_task(o->since), o->since->file, o->since->line);
}

static void print_barrier(FILE *to, const struct coir_task *t)
{
    const struct coir_barrier *b = t->waits_for;

    fprintf(to, "waits at a barrier (%zu of %zu have come)", b->waiting, b->parties);
}

static const struct kind {
    coir_step (*body)(struct coir_task *);
    void (*print)(FILE *to, const struct coir_task *t);
} kinds[] = {
    { coir_lock_resume, print_mutex },
    { coir_condition_wait_resume, print_condition },
    { coir_event_wait_resume, print_event },
    { coir_once_begin_resume, print_once },
    { coir_barrier_wait_resume, print_barrier },
};

bool coir_dump_line(FILE *to, const struct coir_task *t)
{
    for (size_t i = 0; t->state && i < sizeof kinds / sizeof *kinds; i++) {
        if (t->body != kinds[i].body)
            continue;
        if (coir_link_in_list(&((const struct coir_lock *)t)->link))
            kinds[i].print(to, t);
        else
            fprintf(to, "has been served, and is ready to go on");
        return true;
    }
    return false;
}
