/* SPDX-License-Identifier: MIT */
/*
 * What the leaves of this folder wait for, in words, for coir_dump. It reads frames and changes nothing. It
 * only looks at a channel or semaphore while the leaf still waits for it: afterwards that may be gone.
 */
#include "runtime/sync/dump.h"

#include <coir/channel.h>
#include <coir/sync.h>

static bool is_channel(const struct coir_task *t)
{
    return t->body == coir_channel_send_resume || t->body == coir_channel_recv_resume;
}

static bool is_xchan(const struct coir_task *t)
{
    return t->body == coir_xchan_send_resume || t->body == coir_xchan_recv_resume;
}

static const char *direction(const struct coir_task *t)
{
    return t->body == coir_channel_send_resume || t->body == coir_xchan_send_resume ? "send to" : "receive from";
}

static void print_channel(FILE *to, const struct coir_task *t)
{
    const struct coir_channel *c = t->waits_for;

    fprintf(to, "waits to %s a channel (%zu of %zu queued)", direction(t), c->queued, c->capacity);
}

static void print_xchan(FILE *to, const struct coir_task *t)
{
    const struct coir_xchan *x = t->waits_for;

    fprintf(to, "waits to %s a channel between shards (%zu of %zu queued)", direction(t), coir_xchan_queued(x),
            coir_xchan_capacity(x));
}

bool coir_dump_wait(FILE *to, const struct coir_task *t)
{
    if (t->state == 0 || (!is_channel(t) && !is_xchan(t) && t->body != coir_acquire_resume))
        return coir_dump_line(to, t) || coir_dump_offload(to, t);
    if (!t->abort)
        fprintf(to, "has been served, and is ready to go on");
    else if (is_channel(t))
        print_channel(to, t);
    else if (is_xchan(t))
        print_xchan(to, t);
    else
        fprintf(to, "waits for %zu permits of a semaphore that has %zu", ((const struct coir_acquire *)t)->n,
                ((const struct coir_semaphore *)t->waits_for)->permits);
    return true;
}
