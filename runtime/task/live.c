/* SPDX-License-Identifier: MIT */
/*
 * Law 1, check (c): memory that is used across an await must not lie on the C stack below the loop's frame.
 * The check itself is two comparisons (home.h); this is the message.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/task/home.h"

/* The await that the program wrote: of a read by a reader's, say, the nearest one outside coir's own bodies. */
static const struct coir_site *whose_await(const struct coir_task *t)
{
    const struct coir_site *at = NULL;

    for (const struct coir_task *up = t->awaiter; up && up->site; up = up->awaiter) {
        at = up->site;
        if (strncmp(at->task, "coir_", 5) != 0)
            break;
    }
    return at;
}

int coir_on_dead_stack(struct coir_task *t, const void *p, const char *operation)
{
    const struct coir_site *at = whose_await(t);

    fprintf(stderr, "coir: %s: %s at %p lies on the C stack, which does not outlive an await: keep it in the frame (",
            operation, p == (void *)t ? "its frame" : "memory it was given", p);
    if (at)
        fprintf(stderr, "awaited by %s at %s:%u)\n", at->task, at->file, at->line);
    else
        fprintf(stderr, "spawned)\n");
    t->status = -EFAULT;
    return -EFAULT;
}

void coir_must_live(const struct coir_task *t, const void *p, const char *operation)
{
    const struct coir_shard *s = coir_shard_here();

    if (COIR_LIKELY(coir_is_live(s, p)))
        return;
    fprintf(stderr, "coir: %s: memory it was given at %p lies on the C stack, which does not outlive an await: keep it "
            "in the frame (in %s, last await at %s:%u)\n", operation, p, t->site ? t->site->task : "a task",
            t->site ? t->site->file : "?", t->site ? t->site->line : 0);
    abort();
}
