/* SPDX-License-Identifier: MIT */
/*
 * The four operations on a stream: they check the arguments, then the frame is the kind's. Its body becomes the task's
 * body and is called at state 0, so a kind costs no frame and no resumption of its own. Nothing here waits.
 */
#include <coir/stream.h>

#include "runtime/task/home.h"

static coir_step ends(struct coir_task *t, int status)
{
    t->status = status;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* The task goes on in the kind's body, which knows its frame as a struct of another name: what the compiler may not
 * conclude from that, should it see both sides at once. */
static coir_step enter(struct coir_task *t, coir_step (*body)(struct coir_task *))
{
    coir_step step;

    t->body = body;
    __asm__ volatile("" : : : "memory");
    step = body(t);
    __asm__ volatile("" : : : "memory");
    return step;
}

/* 0, or why not. */
static int check(struct coir_task *t, const struct coir_stream *s, const char *name)
{
    if (!s || coir_arguments_live(t, s, name))
        return -EFAULT;
    return s->kind ? 0 : -EBADF;
}

/* 1: go on; 0: nothing to do; negative: no. */
static int check_bytes(struct coir_task *t, const struct coir_stream *s, const void *buf, size_t len, const char *name)
{
    const int bad = check(t, s, name);

    if (bad)
        return bad;
    if ((!buf && len) || coir_arguments_live(t, buf, name))
        return -EFAULT;
    return len != 0;
}

coir_step coir_stream_read_resume(struct coir_task *t)
{
    struct coir_stream_read *op = (struct coir_stream_read *)t;
    const int go = check_bytes(t, op->stream, op->buf, op->len, "coir_stream_read");

    if (go <= 0 || !op->stream->kind->read)
        return ends(t, go <= 0 ? go : -EOPNOTSUPP);
    return enter(t, op->stream->kind->read);
}

coir_step coir_stream_write_all_resume(struct coir_task *t)
{
    struct coir_stream_write_all *op = (struct coir_stream_write_all *)t;
    const int go = check_bytes(t, op->stream, op->buf, op->len, "coir_stream_write_all");

    if (go <= 0 || !op->stream->kind->write_all)
        return ends(t, go <= 0 ? go : -EOPNOTSUPP);
    return enter(t, op->stream->kind->write_all);
}

coir_step coir_stream_shutdown_resume(struct coir_task *t)
{
    struct coir_stream_shutdown *op = (struct coir_stream_shutdown *)t;
    const int bad = check(t, op->stream, "coir_stream_shutdown");

    if (bad || !op->stream->kind->shutdown)
        return ends(t, bad ? bad : -EOPNOTSUPP);
    return enter(t, op->stream->kind->shutdown);
}

coir_step coir_stream_close_resume(struct coir_task *t)
{
    struct coir_stream_close *op = (struct coir_stream_close *)t;
    const int bad = check(t, op->stream, "coir_stream_close");

    if (bad || !op->stream->kind->close)
        return ends(t, bad ? bad : -EOPNOTSUPP);
    return enter(t, op->stream->kind->close);
}
