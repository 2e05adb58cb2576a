/* SPDX-License-Identifier: MIT */
/*
 * Heap frames: coir_new and coir_free, and the reports of what was made and never ran.
 *
 * A heap frame lies behind a struct coir_birth. Until it begins it hangs in a list of its thread's (a
 * shard's, or for threads that are none one behind a lock), so that a forgotten one can be named; once it
 * begins the same links make it a member of its group.
 *
 * On no shard's thread frames come from malloc, since pools belong to shards; `maker` remembers that.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/task/home.h"

static pthread_mutex_t bare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct coir_birth *bare_unborn;

static void unborn_push(struct coir_birth **list, struct coir_birth *b)
{
    b->prev = NULL;
    b->next = *list;
    if (b->next)
        b->next->prev = b;
    *list = b;
}

struct coir_task *coir_frame_new_(size_t size, coir_step (*body)(struct coir_task *), const struct coir_site *site)
{
    struct coir_shard *s = coir_shard_here();
    const size_t whole = sizeof(struct coir_birth) + size;
    struct coir_birth *b;
    struct coir_task *t;

    if (whole > UINT32_MAX)
        return NULL;
    b = s ? coir_pool_alloc(&s->pool, whole) : coir_alloc_fails() ? NULL : malloc(whole);
    if (!b)
        return NULL;
    t = coir_born(b);
#ifdef COIR_TORTURE
    memset(t, 0xA5, size);
#endif
    b->group = NULL;
    b->site = site;
    b->size = (uint32_t)whole;
    b->made = s ? s->id : COIR_BARE;
    b->reaper = NULL;
    coir_lazy_(t, body, site);
    t->flags |= COIR_TASK_HEAP_;
    if (s) {
        unborn_push(&s->unborn, b);
    } else {
        pthread_mutex_lock(&bare_lock);
        unborn_push(&bare_unborn, b);
        pthread_mutex_unlock(&bare_lock);
    }
    return t;
}

void coir_not_new(const struct coir_task *t)
{
    if (t->flags & COIR_TASK_LAZY_)
        fprintf(stderr, "coir: task %s made at %s:%u is given away, but coir_make made it in its maker's memory: "
                "what is given away is made by coir_new\n", t->site->task, t->site->file, t->site->line);
    else
        fprintf(stderr, "coir: a task is given away that is no frame of coir_new, or was given away before\n");
    abort();
}

void coir_bare_begins(struct coir_birth *b)
{
    if (b->maker != COIR_BARE) {
        fprintf(stderr, "coir: task %s made at %s:%u, on shard %u, is spawned on another thread; coir_spawn_on takes "
                "it to another shard\n", b->site->task, b->site->file, b->site->line, b->maker);
        abort();
    }
    pthread_mutex_lock(&bare_lock);
    if (b->next)
        b->next->prev = b->prev;
    *(b->prev ? &b->prev->next : &bare_unborn) = b->next;
    pthread_mutex_unlock(&bare_lock);
}

static void report(const struct coir_birth *b)
{
    fprintf(stderr, "coir: task %s made at %s:%u never ran: was an await or a spawn forgotten?\n", b->site->task,
            b->site->file, b->site->line);
}

void coir_free(struct coir_task *t)
{
    if (!t)
        return;
    COIR_ASSERT(t->flags & COIR_TASK_HEAP_);
    if (t->flags & COIR_TASK_LAZY_) {
        report(coir_birth_of(t));
        coir_frame_begins(t);
    }
    coir_frame_free(t);
}

void coir_frames_hold(void)
{
    pthread_mutex_lock(&bare_lock);
}

void coir_frames_let_go(void)
{
    pthread_mutex_unlock(&bare_lock);
}

void coir_discard(struct coir_task *t)
{
    if (!t)
        return;
    coir_frame_begins(t);
    coir_frame_free(t);
}

size_t coir_report_unborn(struct coir_birth **list)
{
    size_t n = 0;

    for (struct coir_birth *b; (b = *list); n++) {
        report(b);
        *list = b->next;
        if (b->next)
            b->next->prev = NULL;
        coir_frame_free(coir_born(b));
    }
    return n;
}

/* At the end of the process: before that, such a frame may still be given to a coir_run. */
static __attribute__((destructor)) void report_bare(void)
{
    pthread_mutex_lock(&bare_lock);
    coir_report_unborn(&bare_unborn);
    pthread_mutex_unlock(&bare_lock);
}
