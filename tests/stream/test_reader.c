/* SPDX-License-Identifier: MIT */
/*
 * The buffered reader, over a stream in memory that gives its bytes when and in such pieces as the test wants: lines
 * and their ends, the stream's end, lines that are too long, errors, giving up in the middle, misuse.
 */
#include "runtime/base/torture.h"
#include "memory.h"
#include "runtime/base/pool.h"

union slots {
    struct coir_read_line line;
    struct coir_read_until until;
    struct coir_read_some some;
    struct coir_read_exact exact;
    struct coir_peek peek;
    struct coir_skip skip;
    struct coir_skip_until skip_until;
};

#define LINE(text, ...) do { \
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r, __VA_ARGS__); \
    EQ(f->u.line.result.len, sizeof(text) - 1, "its length, at line %d", __LINE__); \
    OK(f->u.line.result.data && !memcmp(f->u.line.result.data, text, sizeof(text)), \
       "it is it, and a NUL behind it, at line %d", __LINE__); \
    } while (0)

#define THE_END() do { \
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r); \
    OK(!f->u.line.result.data && f->u.line.result.len == 0, "the end, at line %d", __LINE__); \
    } while (0)

#define HAS(text) do { \
    EQ(coir_reader_buffered(&f->r).len, sizeof(text) - 1, "the buffer's length, at line %d", __LINE__); \
    MEM_EQ(coir_reader_buffered(&f->r).data, text, sizeof(text) - 1, "the buffer, at line %d", __LINE__); \
    } while (0)

/* ---- lines ---- */

static const char some_lines[] = "one\r\n\ntwo\rtwo\n\r\n\0zero\0\nlast\r";

struct lines {
    coir_frame_void;
    coir_args(size_t most; size_t size;);
    struct memory m;
    struct coir_reader r;
    union slots u;
};
static coir_declare(lines);
coir_body(lines, f) {
    memory_make(&f->m, some_lines, sizeof some_lines - 1);
    f->m.most = f->most;
    EQ(coir_reader_init(&f->r, &f->m.stream, f->size), 0, "a reader of %zu bytes, pieces of %zu", f->size, f->most);
    LINE("one");
    LINE("");
    LINE("two\rtwo");
    LINE("");
    LINE("\0zero\0");
    SAYS(-ENODATA, &f->u.line, coir_read_line, .reader = &f->r);
    EQ(f->u.line.result.len, 5, "half a line is no line");
    MEM_EQ(f->u.line.result.data, "last\r", 5, "but it is there");
    SAYS(-ENODATA, &f->u.line, coir_read_line, .reader = &f->r);
    HAS("last\r");
    LINE("last", .rest = true);
    THE_END();
    THE_END();
    SAYS(0, &f->u.line, coir_read_line, .reader = &f->r, .rest = true);
    OK(!f->u.line.result.data, "no rest");
    coir_reader_destroy(&f->r);
    coir_reader_destroy(&f->r);
} coir_end

/* ---- too long ---- */

struct too_long {
    coir_frame_void;
    coir_no_args;
    char buffer[8];                      /* 7 */
    struct memory m;
    struct coir_reader r;
    union slots u;
};
static coir_declare(too_long);
coir_body(too_long, f) {
    memory_make(&f->m, "123456\n1234567\nabcdefghijklm\nok\n--xy--", 38);
    EQ(coir_reader_init_in(&f->r, &f->m.stream, f->buffer, 8), 0, "a reader in eight bytes");
    LINE("123456");
    SAYS(-EMSGSIZE, &f->u.line, coir_read_line, .reader = &f->r);
    EQ(f->u.line.result.len, 7, "seven are there");
    MEM_EQ(f->u.line.result.data, "1234567", 7, "these");
    SAYS(-EMSGSIZE, &f->u.line, coir_read_line, .reader = &f->r);
    EQ(coir_reader_drop(&f->r, 8), -EINVAL, "more than there are");
    EQ(coir_reader_drop(&f->r, f->u.line.result.len), 0, "taken, as a piece");
    LINE("");
    SAYS(-EMSGSIZE, &f->u.line, coir_read_line, .reader = &f->r);
    SAYS(0, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "\n");
    EQ(f->u.skip_until.result, 14, "the whole line and its end are skipped");
    LINE("ok");
    SAYS(-EMSGSIZE, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "123456789");
    SAYS(-EMSGSIZE, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "123456789");
    SAYS(0, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "--");
    EQ(f->u.until.result.len, 0, "empty, but not the end");
    OK(f->u.until.result.data != NULL, "it has data");
    SAYS(0, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "--");
    STR_EQ(f->u.until.result.data, "xy", "up to a delimiter of two");
    THE_END();
    SAYS(-ENODATA, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "\n");
    EQ(f->u.skip_until.result, 0, "nothing to skip");
} coir_end

/* ---- bytes ---- */

struct bytes {
    coir_frame_void;
    coir_no_args;
    char to[64];
    struct memory m;
    struct coir_reader r;
    union slots u;
};
static coir_declare(bytes);
coir_body(bytes, f) {
    memory_make(&f->m, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", 46);
    EQ(coir_reader_init(&f->r, &f->m.stream, 11), 0, "a reader of ten bytes");
    SAYS(0, &f->u.peek, coir_peek, .reader = &f->r, .n = 0);
    EQ(f->m.reads, 0, "nothing is asked for");
    SAYS(-EMSGSIZE, &f->u.peek, coir_peek, .reader = &f->r, .n = 11);
    SAYS(0, &f->u.peek, coir_peek, .reader = &f->r, .n = 2);
    EQ(f->u.peek.result.len, 10, "as many as the buffer holds");
    MEM_EQ(f->u.peek.result.data, "0123456789", 10, "from the first");
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 4);
    EQ(f->u.some.result, 4, "four of them");
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to + 4, .len = 60);
    EQ(f->u.some.result, 6, "the others");
    MEM_EQ(f->to, "0123456789", 10, "in order");
    EQ(f->m.reads, 1, "by one read");
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 9);
    EQ(f->u.some.result, 9, "by the buffer");
    EQ(f->m.reads, 2, "a second read");
    SAYS(0, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 14);
    MEM_EQ(f->to, "jklmnopqrstuvw", 14, "one from the buffer, then past it");
    EQ(f->m.reads, 3, "a third, of thirteen bytes");
    EQ(coir_reader_buffered(&f->r).len, 0, "and no more than that");
    SAYS(0, &f->u.skip, coir_skip, .reader = &f->r, .n = 12);
    EQ(f->u.skip.result, 12, "skipped");
    HAS("J");
    SAYS(-ENODATA, &f->u.peek, coir_peek, .reader = &f->r, .n = 10);
    EQ(f->u.peek.result.len, 1, "what is left is told");
    SAYS(-ENODATA, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 3);
    EQ(f->u.exact.result, 1, "the last one");
    SAYS(-ENODATA, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 3);
    EQ(f->u.exact.result, 0, "nothing of the next");
    SAYS(-ENODATA, &f->u.skip, coir_skip, .reader = &f->r, .n = 1);
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 3);
    EQ(f->u.some.result, 0, "the end");
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 64);
    EQ(f->u.some.result, 0, "the end, past the buffer");
    f->m.in_len = f->m.in_at = 0;
    f->m.in = "more";
    f->m.in_len = 4;
    SAYS(0, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 4);
    coir_reader_destroy(&f->r);
} coir_end

/* ---- given up ---- */

#define STALLS(status, slot, op, ...) do { \
    coir_within(f, &f->scope, coir_now() + COIR_MS, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), status, "%s gives up, at line %d", #op, __LINE__); \
    } while (0)

struct gives_up {
    coir_frame_void;
    coir_no_args;
    char to[64];
    struct memory m;
    struct coir_reader r;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(gives_up);
coir_body(gives_up, f) {
    memory_make(&f->m, "first\r\nsecond--third--0123456789abcdefghij>>end>>", 49);
    EQ(coir_reader_init(&f->r, &f->m.stream, 16), 0, "a reader of fifteen bytes");
    f->m.stall = 3;
    STALLS(-ETIMEDOUT, &f->u.line, coir_read_line, .reader = &f->r);
    MEM_EQ(f->u.line.result.data, "fir", 3, "the result is what is there");
    HAS("fir");
    f->m.stall = 6;                      /* in the middle of CR LF */
    STALLS(-ETIMEDOUT, &f->u.line, coir_read_line, .reader = &f->r);
    HAS("first\r");
    f->m.stall = 14;                     /* in the middle of -- */
    LINE("first");
    STALLS(-ETIMEDOUT, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "--");
    HAS("second-");
    EQ(f->u.until.searched, 6, "all but what may begin a delimiter is not looked at again");
    f->m.stall = 15;
    SAYS(0, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "--");
    STR_EQ(f->u.until.result.data, "second", "a delimiter in two pieces");
    f->m.stall = 18;
    STALLS(-ETIMEDOUT, &f->u.peek, coir_peek, .reader = &f->r, .n = 5);
    EQ(f->u.peek.result.len, 3, "three are there");
    f->m.stall = 20;
    SAYS(0, &f->u.peek, coir_peek, .reader = &f->r, .n = 5);
    MEM_EQ(f->u.peek.result.data, "third", 5, "five");
    f->m.stall = 21;
    STALLS(-ETIMEDOUT, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "--");
    EQ(f->u.skip_until.result, 5, "skipped up to what may begin a delimiter");
    HAS("-");
    f->m.stall = 22;
    SAYS(0, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "--");
    EQ(f->u.skip_until.result, 2, "the delimiter");
    f->m.stall = 25;
    STALLS(-ETIMEDOUT, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 10);
    EQ(f->u.exact.result, 3, "three have been moved, and are counted");
    f->m.stall = SIZE_MAX;
    SAYS(0, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to + 3, .len = 7);
    MEM_EQ(f->to, "0123456789", 10, "and go on");
    f->m.stall = f->m.in_at;
    coir_reader_drop(&f->r, coir_reader_buffered(&f->r).len - 5);
    STALLS(-ETIMEDOUT, &f->u.skip, coir_skip, .reader = &f->r, .n = 8);
    EQ(f->u.skip.result, 5, "five have been skipped");
    f->m.stall = SIZE_MAX;
    SAYS(0, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = ">>");
    coir_within(f, &f->scope, coir_now() - 1, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = ">>");
    EQ(coir_status(&f->u.until), 0, "in a cancelled scope, what can be had without waiting");
    STR_EQ(f->u.until.result.data, "end", "it is");
    THE_END();
    coir_reader_destroy(&f->r);
} coir_end

/* ---- errors ---- */

struct errors {
    coir_frame_void;
    coir_no_args;
    char to[64];
    struct memory m;
    struct coir_reader r;
    union slots u;
};
static coir_declare(errors);
coir_body(errors, f) {
    memory_make(&f->m, "a\nb\nhalf", 8);
    f->m.in_error = -ECONNRESET;
    EQ(coir_reader_init(&f->r, &f->m.stream, 64), 0, "a reader");
    LINE("a");
    LINE("b");
    SAYS(-ECONNRESET, &f->u.line, coir_read_line, .reader = &f->r, .rest = true);
    HAS("half");
    f->m.in_error = 0;
    SAYS(-ECONNRESET, &f->u.line, coir_read_line, .reader = &f->r, .rest = true);
    SAYS(-ECONNRESET, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 5);
    EQ(f->u.exact.result, 4, "what there is, and the same error");
    SAYS(-ECONNRESET, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 64);
    SAYS(-ECONNRESET, &f->u.peek, coir_peek, .reader = &f->r, .n = 1);
    SAYS(-ECONNRESET, &f->u.skip, coir_skip, .reader = &f->r, .n = 1);
    SAYS(-ECONNRESET, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "\n");
    EQ(f->m.reads, 2, "the stream was not asked again");
    coir_reader_destroy(&f->r);

    memory_make(&f->m, "x", 1);
    f->m.in_error = -ENOMEM;
    EQ(coir_reader_init(&f->r, &f->m.stream, 64), 0, "a reader");
    SAYS(-ENOMEM, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 2);
    f->m.in_error = 0;
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 2);
    EQ(f->u.some.result, 0, "a want of memory may pass");
    coir_reader_destroy(&f->r);
} coir_end

/* ---- two at a time ---- */

struct other {
    coir_frame_void;
    coir_args(struct coir_reader *reader;);
    struct coir_read_line line;
};
static coir_declare(other);
coir_body(other, f) {
    coir_try(f, &f->line, coir_read_line, .reader = f->reader);
    STR_EQ(f->line.result.data, "kept", "who came first has the line");
} coir_end

struct two {
    coir_frame_void;
    coir_args(bool dies;);
    char to[8];
    struct memory m;
    struct coir_reader r;
    struct coir_group group;
    struct coir_group_wait wait;
    struct rest rest;
    union slots u;
};
static coir_declare(two);
coir_body(two, f) {
    memory_make(&f->m, "kept\n", 5);
    f->m.stall = 2;
    EQ(coir_reader_init(&f->r, &f->m.stream, 64), 0, "a reader");
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(other, .reader = &f->r));
    coir_await(f, &f->rest, rest);
    if (f->dies)
        coir_reader_destroy(&f->r);
    SAYS(-EBUSY, &f->u.line, coir_read_line, .reader = &f->r);
    SAYS(-EBUSY, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "x");
    SAYS(-EBUSY, &f->u.some, coir_read_some, .reader = &f->r, .buf = f->to, .len = 1);
    SAYS(-EBUSY, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 1);
    SAYS(-EBUSY, &f->u.peek, coir_peek, .reader = &f->r, .n = 1);
    SAYS(-EBUSY, &f->u.skip, coir_skip, .reader = &f->r, .n = 1);
    SAYS(-EBUSY, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "x");
    EQ(coir_reader_drop(&f->r, 1), -EBUSY, "nobody takes from under it");
    HAS("ke");
    f->m.stall = SIZE_MAX;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "the first");
    THE_END();
    coir_reader_destroy(&f->r);
} coir_end

static void destroyed_under(void)
{
    setenv("COIR_TIME", "virtual", 1);
    coir_run(NULL, coir_new(two, .dies = true));
}

/* ---- what is wrong ---- */

struct wrong {
    coir_frame_void;
    coir_no_args;
    char to[8];
    struct memory m;
    struct coir_reader r;
    union slots u;
};
static coir_declare(wrong);
coir_body(wrong, f) {
    memory_make(&f->m, "abc", 3);
    EQ(coir_reader_init(NULL, &f->m.stream, 8), -EFAULT, "no reader");
    EQ(coir_reader_init(&f->r, NULL, 8), -EFAULT, "no stream");
    EQ(coir_reader_init(&f->r, &f->m.stream, 1), -EINVAL, "no room");
    EQ(coir_reader_init(&f->r, &f->m.stream, SIZE_MAX), -EINVAL, "more than there is");
    EQ(coir_reader_init_in(&f->r, &f->m.stream, NULL, 8), -EFAULT, "no buffer");
    EQ(coir_reader_init_in(&f->r, &f->m.stream, f->to, 0), -EINVAL, "an empty one");
#ifdef COIR_FAULTS
    coir_fail_alloc_at = 1;
    EQ(coir_reader_init(&f->r, &f->m.stream, 8), -ENOMEM, "no memory");
#endif
    SAYS(-EBADF, &f->u.line, coir_read_line, .reader = &f->r);
    SAYS(-EBADF, &f->u.peek, coir_peek, .reader = &f->r, .n = 1);
    EQ(coir_reader_drop(&f->r, 0), 0, "nothing of nothing");
    EQ(coir_reader_drop(NULL, 0), -EFAULT, "of no reader");
    OK(!coir_reader_buffered(&f->r).data && !coir_reader_buffered(NULL).data, "nothing in them");
    EQ(coir_reader_init(&f->r, &f->m.stream, 2), 0, "the smallest");
    SAYS(-EFAULT, &f->u.line, coir_read_line);
    SAYS(-EFAULT, &f->u.until, coir_read_until, .delimiter = "x");
    SAYS(-EFAULT, &f->u.until, coir_read_until, .reader = &f->r);
    SAYS(-EINVAL, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "");
    SAYS(-EMSGSIZE, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = "xy");
    SAYS(-EFAULT, &f->u.some, coir_read_some, .buf = f->to, .len = 1);
    SAYS(-EFAULT, &f->u.some, coir_read_some, .reader = &f->r, .len = 1);
    SAYS(0, &f->u.some, coir_read_some, .reader = &f->r, .len = 0);
    SAYS(-EFAULT, &f->u.exact, coir_read_exact, .reader = &f->r, .len = 1);
    SAYS(0, &f->u.exact, coir_read_exact, .reader = &f->r, .len = 0);
    SAYS(-EFAULT, &f->u.peek, coir_peek);
    SAYS(-EFAULT, &f->u.skip, coir_skip);
    SAYS(-EFAULT, &f->u.skip_until, coir_skip_until, .reader = &f->r);
    SAYS(-EINVAL, &f->u.skip_until, coir_skip_until, .reader = &f->r, .delimiter = "");
    SAYS(-EFAULT, &f->u.line, coir_read_line, .reader = __builtin_alloca(sizeof f->r));
    SAYS(-EFAULT, &f->u.until, coir_read_until, .reader = &f->r, .delimiter = __builtin_alloca(8));
    SAYS(-EFAULT, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = __builtin_alloca(8), .len = 8);
    EQ(f->m.reads, 0, "none of these has read");
    SAYS(-EMSGSIZE, &f->u.line, coir_read_line, .reader = &f->r);
    SAYS(0, &f->u.exact, coir_read_exact, .reader = &f->r, .buf = f->to, .len = 3);
    MEM_EQ(f->to, "abc", 3, "by a buffer of one byte");
    coir_reader_destroy(&f->r);
    coir_reader_destroy(NULL);
} coir_end

int main(void)
{
    WITHOUT_CHANCE("fifo,whole"); /* it scripts the order of steps */
    for (size_t size = 9; size < 33; size++) {
        for (size_t most = 1; most < 33; most += size == 9 ? 1 : 7)
            run_one("lines", coir_new(lines, .size = size, .most = most));
    }
    run_one("too long", coir_new(too_long));
    run_one("bytes", coir_new(bytes));
    run_one("given up", coir_new(gives_up));
    run_one("errors", coir_new(errors));
    run_one("two at a time", coir_new(two));
    if (COIR_TORTURED)
        SKIP("each await parks: who waits is another, and it says more before");
    else
        dies("destroyed under a wait", destroyed_under, "coir: a reader is destroyed while other waits for it at ");
    run_one("what is wrong", coir_new(wrong));
    return DONE();
}
