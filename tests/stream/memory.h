/* SPDX-License-Identifier: MIT */
/*
 * A kind of stream that coir does not know: memory to memory. It gives its input in pieces, waits where it is told to,
 * and takes as much of what is written as it is told to before it waits. So tests choose the order of things.
 */
#ifndef COIR_TESTS_STREAM_MEMORY_H
#define COIR_TESTS_STREAM_MEMORY_H

#include <coir/coir.h>

#include "sync/sync_test.h"

struct memory {
    struct coir_stream stream;
    const char *in;
    size_t in_len, in_at;
    size_t stall;                   /* input from here on does not come yet; SIZE_MAX: nowhere */
    int in_error;                   /* behind the input; 0: the end */
    size_t most;                    /* bytes a read gives at most */
    uint64_t random;                /* not 0: of random sizes up to that */
    bool passes;                    /* every read and write lets others run first */
    char *out;
    size_t out_room, out_at;
    size_t accept;                  /* bytes that are taken before a write waits; SIZE_MAX: all */
    int out_error;                  /* instead of waiting then; 0: waits */
    unsigned reads, writes, shutdowns, closes;
};

static struct memory *memory_of(struct coir_stream *s)
{
    return (struct memory *)(void *)s;
}

struct memory_read {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; void *buf; size_t len;);
    union {
        struct coir_pass pass;
        struct coir_sleep sleep;
    };
};
coir_stream_fits(memory_read, coir_stream_read);
static coir_declare(memory_read);

static size_t memory_piece(struct memory *m, size_t len)
{
    size_t n = m->in_len < m->stall ? m->in_len - m->in_at : m->stall - m->in_at;

    if (m->most < n)
        n = m->most;
    if (m->random && n > 1)
        n = 1 + draw(&m->random) % n;
    return n < len ? n : len;
}

coir_body(memory_read, f) {
    memory_of(f->stream)->reads++;
    if (memory_of(f->stream)->passes)
        coir_await(f, &f->pass, coir_pass);
    while (memory_of(f->stream)->in_at >= memory_of(f->stream)->stall)
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    f->result = memory_piece(memory_of(f->stream), f->len);
    if (f->result == 0)
        coir_fail(f, memory_of(f->stream)->in_error);
    memcpy(f->buf, memory_of(f->stream)->in + memory_of(f->stream)->in_at, f->result);
    memory_of(f->stream)->in_at += f->result;
} coir_end

struct memory_write {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream; const void *buf; size_t len;);
    union {
        struct coir_pass pass;
        struct coir_sleep sleep;
    };
};
coir_stream_fits(memory_write, coir_stream_write_all);
static coir_declare(memory_write);

static size_t memory_takes(struct memory *m, const void *buf, size_t len)
{
    size_t n = len < m->accept ? len : m->accept;

    if (n > m->out_room - m->out_at)
        n = m->out_room - m->out_at;
    memcpy(m->out + m->out_at, buf, n);
    m->out_at += n;
    if (m->accept != SIZE_MAX)
        m->accept -= n;
    return n;
}

coir_body(memory_write, f) {
    memory_of(f->stream)->writes++;
    if (memory_of(f->stream)->passes)
        coir_await(f, &f->pass, coir_pass);
    for (;;) {
        f->result += memory_takes(memory_of(f->stream), (const char *)f->buf + f->result, f->len - f->result);
        if (f->result == f->len)
            break;
        if (memory_of(f->stream)->out_error)
            coir_fail(f, memory_of(f->stream)->out_error);
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    }
} coir_end

struct memory_ends {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
};
coir_stream_fits(memory_ends, coir_stream_shutdown);
static coir_declare(memory_ends);
coir_body(memory_ends, f) {
    memory_of(f->stream)->shutdowns++;
} coir_end

struct memory_closes {
    coir_frame_void;
    coir_args(struct coir_stream *stream;);
};
coir_stream_fits(memory_closes, coir_stream_close);
static coir_declare(memory_closes);
coir_body(memory_closes, f) {
    memory_of(f->stream)->closes++;
} coir_end

static const struct coir_stream_kind memory_kind = {
    .name = "memory",
    .read = memory_read_resume,
    .write_all = memory_write_resume,
    .shutdown = memory_ends_resume,
    .close = memory_closes_resume,
};

/* One that gives `text`, all that there is room for at once. */
static TAP_UNUSED void memory_make(struct memory *m, const char *text, size_t len)
{
    *m = (struct memory){ .stream = { &memory_kind }, .in = text, .in_len = len, .stall = SIZE_MAX, .most = SIZE_MAX,
                          .accept = SIZE_MAX };
}

/* In a body whose frame is f: awaits, and checks the status. */
#ifndef SAYS
#define SAYS(expected, slot, op, ...) do { \
    coir_await(f, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), expected, "%s: %s at line %d", #op, coir_strerror(expected), __LINE__); \
    } while (0)
#endif

#endif
