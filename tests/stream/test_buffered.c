/* SPDX-License-Identifier: MIT */
/*
 * Reader and writer over descriptors of every kind, together: lines in pieces of random sizes, a peer that reads
 * slowly, that ends or resets in the middle of a line, deadlines; how many system calls and allocations it takes; and
 * what is handed on to others.
 */
#include "runtime/base/torture.h"
#include "carry.h"
#include "memory.h"

enum { LINES = 400 };

union slots {
    struct coir_read_line line;
    struct coir_read_exact exact;
    struct coir_read_some some;
    struct coir_peek peek;
    struct coir_put put;
    struct coir_flush flush;
    struct coir_copy copy;
    struct coir_stream_read read;
    struct coir_stream_write_all write;
    struct coir_stream_shutdown shutdown;
    struct coir_stream_close close;
    struct coir_sleep sleep;
    struct coir_pass pass;
};

/* ---- lines in pieces ---- */

/* The i-th line: of a length that varies, and with either end. */
static size_t line_text(char *to, size_t size, int i)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 "
        "abcdefghijklmnopqrstuvwxy";

    return (size_t)snprintf(to, size, "%d %.*s", i, (i * 37) % 90, letters);
}

struct talks {
    coir_frame_void;
    coir_args(struct coir_stream *stream; uint64_t random; bool end;);
    char text[LINES * 100];
    size_t len, at, n;
    union slots u;
};
static coir_declare(talks);

static size_t all_lines(char *text, size_t size)
{
    size_t len = 0;

    for (int i = 0; i < LINES; i++) {
        len += line_text(text + len, size - len, i);
        len += (size_t)snprintf(text + len, size - len, "%s", i % 3 ? "\n" : "\r\n");
    }
    return len;
}

coir_body(talks, f) {
    f->len = all_lines(f->text, sizeof f->text);
    for (f->at = 0; f->at < f->len; f->at += f->n) {
        f->n = 1 + draw(&f->random) % (draw(&f->random) % 2 ? 10 : 300);
        f->n = f->n < f->len - f->at ? f->n : f->len - f->at;
        coir_try(f, &f->u.write, coir_stream_write_all, .stream = f->stream, .buf = f->text + f->at, .len = f->n);
        if (draw(&f->random) % 2)
            coir_await(f, &f->u.pass, coir_pass);
    }
    if (f->end)
        coir_try(f, &f->u.shutdown, coir_stream_shutdown, .stream = f->stream);
} coir_end

struct hears {
    coir_frame(int);
    coir_args(struct coir_stream *stream; size_t size; bool end;);
    char text[128];
    struct coir_reader r;
    union slots u;
};
static coir_declare(hears);
coir_body(hears, f) {
    EQ(coir_reader_init(&f->r, f->stream, f->size), 0, "a reader of %zu", f->size);
    for (f->result = 0; f->result < LINES; f->result++) {
        coir_try(f, &f->u.line, coir_read_line, .reader = &f->r);
        line_text(f->text, sizeof f->text, f->result);
        if (!f->u.line.result.data || strcmp(f->u.line.result.data, f->text) != 0)
            break;
    }
    EQ(f->result, LINES, "every line, as it was");
    if (f->end) {
        SAYS(0, &f->u.line, coir_read_line, .reader = &f->r);
        OK(!f->u.line.result.data, "then the end");
    }
    coir_finally(f) {
        coir_reader_destroy(&f->r);
    }
} coir_end

struct pieces {
    coir_frame_void;
    coir_args(int carrier; uint64_t random;);
    struct coir_fd_stream s[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    struct talks talks;
    struct hears hears;
    union slots u;
};
static coir_declare(pieces);
coir_body(pieces, f) {
    make_streams(f->carrier, f->s);
    f->kids[0] = coir_make(&f->talks, talks, .stream = &f->s[0].stream, .random = f->random,
                           .end = f->carrier != TERMINAL);
    f->kids[1] = coir_make(&f->hears, hears, .stream = &f->s[1].stream, .size = 120 + f->random % 200,
                           .end = f->carrier != TERMINAL);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "lines over %s", carrier_name(f->carrier));
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- the peer's end, and deadlines ---- */

struct ends {
    coir_frame_void;
    coir_args(int carrier; bool rudely;);
    struct coir_fd_stream s[2];
    struct coir_reader r;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(ends);
coir_body(ends, f) {
    make_streams(f->carrier, f->s);
    EQ(coir_reader_init(&f->r, &f->s[1].stream, 64), 0, "a reader");
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "one\nha", .len = 6);
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r);
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.line, coir_read_line, .reader = &f->r);
    EQ(coir_status(&f->u.line), -ETIMEDOUT, "half a line is waited for, until the deadline");
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->s[0].stream, .buf = "lf\nan", .len = 5);
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r);
    STR_EQ(f->u.line.result.data, "half", "nothing was lost by that");
    if (f->rudely)
        close_rudely(f->s[0].in);
    else
        SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(f->rudely ? -ECONNRESET : -ENODATA, &f->u.line, coir_read_line, .reader = &f->r);
    if (f->rudely) {
        SAYS(-ECONNRESET, &f->u.line, coir_read_line, .reader = &f->r, .rest = true);
    } else {
        SAYS(0, &f->u.line, coir_read_line, .reader = &f->r, .rest = true);
        STR_EQ(f->u.line.result.data, "an", "what was left");
    }
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
    coir_reader_destroy(&f->r);
} coir_end

/* ---- a peer that reads slowly ---- */

struct slow {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream;);
    struct coir_reader r;
    unsigned char buf[3000];
    size_t n;
    bool wrong;
    union slots u;
};
static coir_declare(slow);
coir_body(slow, f) {
    EQ(coir_reader_init(&f->r, f->stream, 1000), 0, "a reader");
    for (f->wrong = false;; f->result += f->n) {
        coir_get(f, f->n, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->buf, .len = 1 + f->result % 2999);
        if (f->n == 0)
            break;
        f->wrong |= !is_pattern(f->buf, f->result, f->n);
        if (f->result % 5 == 0)
            coir_await(f, &f->u.sleep, coir_sleep, .ns = COIR_MS / 10);
    }
    OK(!f->wrong, "every byte in its place");
    coir_reader_destroy(&f->r);
} coir_end

enum { MUCH = 1 << 19 };

struct hasty {
    coir_frame(size_t);
    coir_args(struct coir_stream *stream;);
    unsigned char much[MUCH];
    size_t n;
    int given_up;
    struct coir_writer w;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(hasty);
coir_body(hasty, f) {
    f->given_up = 0;
    for (size_t i = 0; i < MUCH; i++)
        f->much[i] = pattern(i);
    EQ(coir_writer_init(&f->w, f->stream, 2000), 0, "a writer");
    while (f->result < MUCH) {
        f->n = 1 + f->result % 7000;
        f->n = f->n < MUCH - f->result ? f->n : MUCH - f->result;
        coir_within(f, &f->scope, coir_now() + COIR_MS / 20, &f->u.put, coir_put, .writer = &f->w,
                    .buf = f->much + f->result, .len = f->n);
        f->result += f->u.put.result;
        f->given_up += coir_status(&f->u.put) == -ETIMEDOUT;
        if (coir_status(&f->u.put) < 0 && coir_status(&f->u.put) != -ETIMEDOUT)
            coir_fail(f, coir_status(&f->u.put));
    }
    coir_try(f, &f->u.flush, coir_flush, .writer = &f->w);
    coir_try(f, &f->u.shutdown, coir_stream_shutdown, .stream = f->stream);
    NOTE("%d puts were given up", f->given_up);
    coir_finally(f) {
        coir_writer_destroy(&f->w);
    }
} coir_end

struct slowly {
    coir_frame_void;
    coir_args(int carrier;);
    struct coir_fd_stream s[2];
    struct coir_task *kids[2];
    struct coir_combine all;
    struct hasty hasty;
    struct slow slow;
    union slots u;
};
static coir_declare(slowly);
coir_body(slowly, f) {
    make_streams(f->carrier, f->s);
    if (f->carrier < KINDS)
        make_narrow((enum kind)f->carrier, (int[2]){ f->s[0].in, f->s[1].in });
    f->kids[0] = coir_make(&f->hasty, hasty, .stream = &f->s[0].stream);
    f->kids[1] = coir_make(&f->slow, slow, .stream = &f->s[1].stream);
    coir_all(f, &f->all, f->kids, 2);
    EQ(coir_status(&f->all), 0, "a slow peer over %s", carrier_name(f->carrier));
    EQ(f->slow.result, MUCH, "everything arrives once, whatever was given up");
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- what it costs ---- */

struct counts {
    coir_frame_void;
    coir_no_args;
    struct coir_fd_stream s[2];
    struct coir_reader r;
    struct coir_writer w;
    struct coir_stats before, after;
    int i;
    union slots u;
};
static coir_declare(counts);
coir_body(counts, f) {
    make_streams(UNIX_BLOCKING, f->s);
    EQ(coir_reader_init(&f->r, &f->s[1].stream, 4096), 0, "a reader");
    EQ(coir_writer_init(&f->w, &f->s[0].stream, 4096), 0, "a writer");
    coir_stats(0, &f->before);
    for (f->i = 0; f->i < 100; f->i++)
        coir_try(f, &f->u.put, coir_put, .writer = &f->w, .buf = "a line of 24 characters\n", .len = 24);
    coir_stats(0, &f->after);
    EQ(f->after.submissions - f->before.submissions, 0, "a hundred lines fit into the buffer");
    OK(f->after.syscalls == f->before.syscalls || COIR_TORTURED, "without a system call");
    coir_try(f, &f->u.flush, coir_flush, .writer = &f->w);
    coir_stats(0, &f->after);
    EQ(f->after.submissions - f->before.submissions, 1, "and go at once");
    coir_try(f, &f->u.peek, coir_peek, .reader = &f->r, .n = 1);
    EQ(f->u.peek.result.len, 2400, "and come at once");
    coir_stats(0, &f->before);
    for (f->i = 0; f->i < 100; f->i++)
        coir_try(f, &f->u.line, coir_read_line, .reader = &f->r);
    coir_stats(0, &f->after);
    EQ(f->after.submissions - f->before.submissions, 0, "a hundred lines from the buffer");
    OK(f->after.syscalls == f->before.syscalls || COIR_TORTURED, "without a system call");
    EQ(f->after.allocations - f->before.allocations, 0, "without an allocation");
    coir_writer_destroy(&f->w);
    coir_reader_destroy(&f->r);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[0].stream);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->s[1].stream);
} coir_end

/* ---- on to others ---- */

struct copies {
    coir_frame_void;
    coir_no_args;
    char out[128], to[32];
    struct memory from, onto;
    struct coir_reader r;
    struct coir_reader_stream rest;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(copies);
coir_body(copies, f) {
    memory_make(&f->from, "STARTTLS\nhello--0123456789abcdefghij", 36);
    memory_make(&f->onto, "", 0);
    f->onto.out = f->out;
    f->onto.out_room = sizeof f->out;
    EQ(coir_reader_init(&f->r, &f->from.stream, 13), 0, "a reader of twelve bytes");
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r);
    EQ(coir_reader_buffered(&f->r).len, 3, "three of the next are there");
    EQ(coir_reader_stream_init(NULL, &f->r), -EFAULT, "no stream");
    EQ(coir_reader_stream_init(&f->rest, NULL), -EFAULT, "no reader");
    EQ(coir_reader_stream_init(&f->rest, &f->r), 0, "a stream that begins with them");
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->rest.stream, .buf = f->to, .len = 2);
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->rest.stream, .buf = f->to + 2, .len = 5);
    EQ(f->u.read.result, 1, "the third");
    SAYS(0, &f->u.read, coir_stream_read, .stream = &f->rest.stream, .buf = f->to + 3, .len = 4);
    EQ(f->u.read.result, 4, "then from the stream behind");
    MEM_EQ(f->to, "hello--", 7, "nothing is missing");
    f->from.out = f->out;
    f->from.out_room = sizeof f->out;
    SAYS(0, &f->u.write, coir_stream_write_all, .stream = &f->rest.stream, .buf = "up", .len = 2);
    EQ(f->from.out_at, 2, "what is written goes there");
    SAYS(0, &f->u.shutdown, coir_stream_shutdown, .stream = &f->rest.stream);
    EQ(f->from.shutdowns, 1, "so does its end");

    SAYS(0, &f->u.copy, coir_copy, .reader = &f->r, .to = &f->onto.stream, .count = 0);
    SAYS(0, &f->u.copy, coir_copy, .reader = &f->r, .to = &f->onto.stream, .count = 5);
    EQ(f->u.copy.result, 5, "five");
    EQ(coir_reader_buffered(&f->r).len, 7, "the reader has the others");
    f->onto.accept = 3;
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.copy, coir_copy, .reader = &f->r, .to = &f->onto.stream,
                .count = COIR_TO_THE_END);
    EQ(coir_status(&f->u.copy), -ETIMEDOUT, "given up");
    EQ(f->u.copy.result, 3, "three more were taken");
    EQ(coir_reader_buffered(&f->r).len, 4, "the others are still there");
    f->onto.accept = SIZE_MAX;
    SAYS(-ENODATA, &f->u.copy, coir_copy, .reader = &f->r, .to = &f->onto.stream, .count = 13);
    EQ(f->u.copy.result, 12, "all there was, and less than asked for");
    MEM_EQ(f->out, "0123456789abcdefghij", 20, "each byte once");
    EQ(f->onto.out_at, 20, "and no more");
    SAYS(0, &f->u.copy, coir_copy, .reader = &f->r, .to = &f->onto.stream, .count = COIR_TO_THE_END);
    EQ(f->u.copy.result, 0, "the end is the end");
    SAYS(-EFAULT, &f->u.copy, coir_copy, .reader = &f->r, .count = 1);
    SAYS(-EFAULT, &f->u.copy, coir_copy, .to = &f->onto.stream, .count = 1);
    SAYS(0, &f->u.close, coir_stream_close, .stream = &f->rest.stream);
    EQ(f->from.closes, 1, "closed");
    coir_reader_destroy(&f->r);
} coir_end

int main(void)
{
    uint64_t random = seed();

    WITHOUT_CHANCE("whole,prompt");    /* it counts operations */
    for (int carrier = 0; carrier < CARRIERS; carrier++) {
        for (int i = 0; i < 3; i++)
            RUN(coir_new(pieces, .carrier = carrier, .random = draw(&random)), "pieces");
        if (carrier != TERMINAL) {
            RUN(coir_new(ends, .carrier = carrier), "ends over %s", carrier_name(carrier));
            RUN(coir_new(slowly, .carrier = carrier), "slowly over %s", carrier_name(carrier));
        }
    }
    RUN(coir_new(ends, .carrier = TCP_BLOCKING, .rudely = true), "a reset");
    RUN(coir_new(counts), "counts");
    run_one("copies", coir_new(copies));
    return DONE();
}
