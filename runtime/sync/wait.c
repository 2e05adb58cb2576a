/* SPDX-License-Identifier: MIT */
/*
 * The less usual ways of runtime/sync: leaves that go on themselves, items that are no word, and the ends of
 * programs that broke a rule. Each of those names the task that waits and where.
 */
#include <stdlib.h>

#include "runtime/sync/wait.h"

void coir_leaf_goes_on_itself(struct coir_task *t)
{
    coir_ready(t);
}

void coir_copy_bytes(void *to, const void *from, size_t size)
{
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 16)
        memcpy(to, from, 16);
    else if (size)
        memcpy(to, from, size);
}

static const struct coir_site *site_of(const struct coir_task *waiter)
{
    static const struct coir_site unknown = { "a task", "?", 0 };

    while (!waiter->site && waiter->awaiter)            /* one that is awaited has none, nor has a combinator */
        waiter = waiter->awaiter;
    return waiter->site ? waiter->site : &unknown;
}

static const char *article(const char *what)
{
    return *what == 'e' ? "an" : "a";        /* event */
}

void coir_other_shard(const struct coir_task *waiter, const char *what)
{
    const struct coir_site *at = site_of(waiter);

    fprintf(stderr, "coir: %s %s is used on one thread while %s of another shard waits for it at "
            "%s:%u; between shards there is coir_xchan\n", article(what), what, at->task, at->file, at->line);
    abort();
}

void coir_destroyed_under(const struct coir_task *waiter, const char *what)
{
    const struct coir_site *at = site_of(waiter);

    fprintf(stderr, "coir: %s %s is destroyed while %s waits for it at %s:%u\n", article(what), what, at->task,
            at->file, at->line);
    abort();
}
