/* SPDX-License-Identifier: MIT */
/*
 * What the leaves of this folder wait for, in words, for coir_dump. It reads frames and changes nothing. It
 * only looks at a channel or semaphore while the leaf still waits for it: afterwards that may be gone.
 */
#include "runtime/sync/dump.h"

#include <coir/channel.h>
#include <coir/select.h>
#include <coir/shard.h>
#include <coir/sync.h>

enum { WIDEST = 16 };                    /* arms of one select that are printed */

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
    return t->body == coir_channel_send_resume || t->body == coir_xchan_send_resume ? "waits to send to"
                                                                                    : "waits to receive from";
}

static void print_channel(FILE *to, const char *how, const struct coir_channel *c)
{
    fprintf(to, "%s a channel (%zu of %zu queued)", how, c->queued, c->capacity);
}

static void print_xchan(FILE *to, const char *how, const struct coir_xchan *x)
{
    fprintf(to, "%s a channel between shards (%zu of %zu queued)", how, coir_xchan_queued(x), coir_xchan_capacity(x));
}

static void print_until(FILE *to, int64_t at)
{
    if (at == COIR_NEVER)
        fprintf(to, "for ever");
    else
        fprintf(to, "for another %.3f s", (double)(at - coir_now()) / 1e9);
}

static void print_arm(FILE *to, const struct coir_arm *a)
{
    if (a->kind == COIR_ARM_SEND_)
        print_channel(to, "to send to", a->send.channel);
    else if (a->kind == COIR_ARM_RECV_)
        print_channel(to, "to receive from", a->recv.channel);
    else if (a->kind == COIR_ARM_XSEND_)
        print_xchan(to, "to send to", a->xsend.channel);
    else if (a->kind == COIR_ARM_XRECV_)
        print_xchan(to, "to receive from", a->xrecv.channel);
    else if (a->kind == COIR_ARM_CELL_)
        fprintf(to, "for a cell at %p", (const void *)a->cell.cell);
    else if (a->kind == COIR_ARM_UNTIL_)
        print_until(to, a->until.at);
    else if (a->kind == COIR_ARM_READY_)
        fprintf(to, "for fd %d (events 0x%x)", a->poll.fd, (unsigned)a->poll.events);
    else
        fprintf(to, "for nothing");
}

static void print_select(FILE *to, const struct coir_select *op)
{
    fprintf(to, "waits ");
    for (size_t i = 0; i < op->n && i < WIDEST; i++) {
        if (op->arms[i].kind == COIR_ARM_JOINT_)
            continue;
        fprintf(to, "%s", i > (op->joint != NULL) ? ", or " : "");
        print_arm(to, &op->arms[i]);
    }
    if (op->n > WIDEST)
        fprintf(to, ", or %zu more", op->n - WIDEST);
}

bool coir_dump_wait(FILE *to, const struct coir_task *t)
{
    const bool is_select = t->body == coir_select_resume;

    if (t->state == 0 || (!is_channel(t) && !is_xchan(t) && !is_select && t->body != coir_acquire_resume))
        return coir_dump_line(to, t) || coir_dump_offload(to, t);
    if (!t->abort)
        fprintf(to, "has been served, and is ready to go on");
    else if (is_channel(t))
        print_channel(to, direction(t), t->waits_for);
    else if (is_xchan(t))
        print_xchan(to, direction(t), t->waits_for);
    else if (is_select)
        print_select(to, (const struct coir_select *)t);
    else
        fprintf(to, "waits for %zu permits of a semaphore that has %zu", ((const struct coir_acquire *)t)->n,
                ((const struct coir_semaphore *)t->waits_for)->permits);
    return true;
}
