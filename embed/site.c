/* SPDX-License-Identifier: MIT */
/*
 * Where fibers of hosts' machines stand, as dumps, traces and the flight recorder say it. These keep what they were
 * told as long as the run goes on, and a machine, or its program, may be gone before; so each place is kept here, once
 * for the process, and never goes. A host may compile other programs without end: after the first many places, fibers
 * at new ones have one place in common.
 */
#include <pthread.h>
#include <stdlib.h>

#include "embed/inside.h"

enum { BUCKETS = 1024, MANY = 16384 };

struct place {
    struct coir_site site;
    struct place *next;
    char text[];                        /* the task's name, and the file's */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;       /* over both of these */
static struct place *buckets[BUCKETS];
static unsigned count;

static const struct coir_site any = { "fiber", "", 0 };

static unsigned bucket_of(const struct coir_site *s)
{
    uint32_t h = s->line;

    for (const char *p = s->task; *p; p++)
        h = h * 31 + (unsigned char)*p;
    for (const char *p = s->file; *p; p++)
        h = h * 31 + (unsigned char)*p;
    return (h ^ h >> 15) % BUCKETS;
}

/* NULL: no memory, or too many. */
static struct place *place_new(const struct coir_site *s, struct place **bucket)
{
    const size_t task = strlen(s->task) + 1, file = strlen(s->file) + 1;
    struct place *const p = count < MANY ? malloc(sizeof *p + task + file) : NULL;

    if (!p)
        return NULL;
    memcpy(p->text, s->task, task);
    memcpy(p->text + task, s->file, file);
    p->site = (struct coir_site){ p->text, p->text + task, s->line };
    p->next = *bucket;
    *bucket = p;
    count++;
    return p;
}

const struct coir_site *coir_host_site(const struct coir_site *s)
{
    struct place **const bucket = &buckets[bucket_of(s)], *p;

    pthread_mutex_lock(&lock);
    p = *bucket;
    while (p && (p->site.line != s->line || strcmp(p->site.task, s->task) != 0 || strcmp(p->site.file, s->file) != 0))
        p = p->next;
    if (!p)
        p = place_new(s, bucket);
    pthread_mutex_unlock(&lock);
    return p ? &p->site : &any;
}
