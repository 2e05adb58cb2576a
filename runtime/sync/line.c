/* SPDX-License-Identifier: MIT */
/*
 * The less usual ways of lines: cancelled waits, and the ends of programs that broke a rule, with the task and the
 * place.
 */
#include <stdlib.h>

#include "runtime/sync/line.h"

void coir_line_settle(struct coir_line *line, const char *what)
{
    if (coir_line_first(line))
        coir_other_shard(coir_line_first(line), what);
    line->home = coir_shard_here();
}

void coir_busy_elsewhere(const char *what, const char *does, const struct coir_site *since)
{
    fprintf(stderr, "coir: a %s is used on one thread while %s of another shard %s it, since %s:%u; between shards "
            "there is coir_xchan\n", what, coir_site_task(since), does, since->file, since->line);
    abort();
}

void coir_destroyed_while(const char *what, const char *does, const struct coir_site *since)
{
    fprintf(stderr, "coir: a %s is destroyed while %s %s it, since %s:%u\n", what, coir_site_task(since), does,
            since->file, since->line);
    abort();
}

bool coir_is_for(const struct coir_task *t, const struct coir_task *who)
{
    for (t = t->awaiter; t; t = t->awaiter) {
        if (t == who)
            return true;
    }
    return false;
}

void coir_line_leave(struct coir_task *t)
{
    coir_list_remove(&((struct coir_lock *)t)->link);
    t->status = -ECANCELED;
    coir_leaf_goes_on(t);
}
