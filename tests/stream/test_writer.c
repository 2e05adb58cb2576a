/* SPDX-License-Identifier: MIT */
/*
 * The buffered writer, over a stream in memory that takes as much as the test wants: what arrives and in how many
 * writes, printing, giving up in the middle of everything, errors, bytes that were never sent, misuse.
 */
#include <fcntl.h>

#include "runtime/base/torture.h"
#include "memory.h"
#include "runtime/base/pool.h"

enum { OUT = 1 << 16 };

union slots {
    struct coir_put put;
    struct coir_flush flush;
    struct coir_make_room room;
};

#define PUTS(text) do { \
    SAYS(0, &f->u.put, coir_put, .writer = &f->w, .buf = text, .len = sizeof(text) - 1); \
    EQ(f->u.put.result, sizeof(text) - 1, "all of it, at line %d", __LINE__); \
    } while (0)

/* What the stream has been given so far, and by how many writes. */
#define SENT(text, n) do { \
    EQ(f->m.out_at, sizeof(text) - 1, "bytes sent, at line %d", __LINE__); \
    MEM_EQ(f->out, text, sizeof(text) - 1, "these, at line %d", __LINE__); \
    EQ(f->m.writes, n, "writes, at line %d", __LINE__); \
    } while (0)

/* ---- what arrives, and when ---- */

struct order {
    coir_frame_void;
    coir_no_args;
    char out[128], buffer[9];            /* 8 */
    struct memory m;
    struct coir_writer w;
    union slots u;
};
static coir_declare(order);
coir_body(order, f) {
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = sizeof f->out;
    EQ(coir_writer_init_in(&f->w, &f->m.stream, f->buffer, sizeof f->buffer), 0, "a writer of eight bytes");
    SAYS(0, &f->u.flush, coir_flush, .writer = &f->w);
    SENT("", 0);
    PUTS("abc");
    PUTS("");
    PUTS("defgh");
    SENT("", 0);
    EQ(coir_writer_buffered(&f->w), 8, "it is full");
    PUTS("i");
    SENT("abcdefgh", 1);
    PUTS("jklmnop");
    SENT("abcdefgh", 1);
    PUTS("qrstuvwxyz01234");             /* nothing fits, and then a write of its own */
    SENT("abcdefghijklmnopqrstuvwxyz01234", 3);
    EQ(coir_writer_buffered(&f->w), 0, "what is large goes past the buffer");
    PUTS("5");
    PUTS("6789ABCDEF");                  /* fills the buffer, and leaves the rest in it */
    SENT("abcdefghijklmnopqrstuvwxyz0123456789ABC", 4);
    SAYS(0, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(f->u.flush.result, 3, "the rest");
    SENT("abcdefghijklmnopqrstuvwxyz0123456789ABCDEF", 5);
    PUTS("12345678");
    EQ(coir_writer_buffered(&f->w), 0, "as large as the buffer: at once");
    EQ(f->m.writes, 6, "by one write");
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
    EQ(coir_writer_destroy(&f->w), 0, "twice is no mistake");
} coir_end

/* ---- printing ---- */

struct prints {
    coir_frame_void;
    coir_no_args;
    char out[128];
    struct memory m;
    struct coir_writer w;
    union slots u;
};
static coir_declare(prints);
coir_body(prints, f) {
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = sizeof f->out;
    EQ(coir_writer_init(&f->w, &f->m.stream, 9), 0, "a writer of eight bytes");
    EQ(coir_writer_printf(&f->w, "%s-%d", "ab", 12), 5, "five bytes");
    EQ(coir_writer_printf(&f->w, "%s", "4444"), -ENOSPC, "three more fit, not four");
    EQ(coir_writer_printf(&f->w, "%s", "999999999"), -EMSGSIZE, "nine never do");
    EQ(coir_writer_buffered(&f->w), 5, "nothing of them is there");
    EQ(coir_writer_printf(&f->w, "%s", "333"), 3, "three, to the last byte");
    EQ(coir_writer_printf(&f->w, "%s", ""), 0, "nothing always fits");
    SAYS(0, &f->u.room, coir_make_room, .writer = &f->w, .n = 0);
    EQ(f->m.writes, 0, "there is room for nothing");
    SAYS(0, &f->u.room, coir_make_room, .writer = &f->w, .n = 8);
    SENT("ab-12333", 1);
    SAYS(0, &f->u.room, coir_make_room, .writer = &f->w, .n = 8);
    EQ(f->m.writes, 1, "there was room");
    SAYS(-EMSGSIZE, &f->u.room, coir_make_room, .writer = &f->w, .n = 9);
    EQ(coir_writer_printf(&f->w, "%s", "88888888"), 8, "eight");
    SAYS(0, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
} coir_end

/* ---- given up ---- */

struct gives_up {
    coir_frame_void;
    coir_no_args;
    char out[128];
    struct memory m;
    struct coir_writer w;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(gives_up);
coir_body(gives_up, f) {
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = sizeof f->out;
    EQ(coir_writer_init(&f->w, &f->m.stream, 9), 0, "a writer of eight bytes");
    PUTS("abcdef");
    f->m.accept = 2;
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_status(&f->u.flush), -ETIMEDOUT, "a flush gives up");
    EQ(f->u.flush.result, 2, "two were taken");
    EQ(coir_writer_buffered(&f->w), 4, "four are left");
    EQ(coir_writer_printf(&f->w, "%s", "ghij"), 4, "there is room again");
    f->m.accept = 3;
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.put, coir_put, .writer = &f->w, .buf = "klmnopq", .len = 7);
    EQ(coir_status(&f->u.put), -ETIMEDOUT, "a put gives up");
    EQ(f->u.put.result, 0, "it had taken nothing");
    EQ(coir_writer_buffered(&f->w), 5, "the stream three");
    f->m.accept = SIZE_MAX;
    PUTS("klmnopq");
    SAYS(0, &f->u.flush, coir_flush, .writer = &f->w);
    MEM_EQ(f->out, "abcdefghijklmnopq", 17, "nothing twice, and nothing is missing");
    EQ(f->m.out_at, 17, "and no more");
    f->m.accept = 4;
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.put, coir_put, .writer = &f->w, .buf = "0123456789",
                .len = 10);
    EQ(coir_status(&f->u.put), -ETIMEDOUT, "a large put gives up");
    EQ(f->u.put.result, 4, "four were taken, by the stream itself");
    EQ(coir_writer_buffered(&f->w), 0, "none by the buffer");
    f->m.accept = 0;
    PUTS("456789");
    coir_within(f, &f->scope, coir_now() - 1, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_status(&f->u.flush), -ETIMEDOUT, "in a cancelled scope, without room");
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.room, coir_make_room, .writer = &f->w, .n = 3);
    EQ(coir_status(&f->u.room), -ETIMEDOUT, "nor is any made");
    f->m.accept = SIZE_MAX;
    coir_within(f, &f->scope, coir_now() - 1, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_status(&f->u.flush), 0, "in a cancelled scope, with room");
    MEM_EQ(f->out + 17, "0123456789", 10, "all there");
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
} coir_end

/* ---- random puts, given up at random ---- */

struct puts_much {
    coir_frame_void;
    coir_args(uint64_t seed;);
    char in[OUT], out[OUT];
    size_t at, n;
    int given_up;
    struct memory m;
    struct coir_writer w;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(puts_much);
coir_body(puts_much, f) {
    for (size_t i = 0; i < OUT; i++)
        f->in[i] = (char)draw(&f->seed);
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = OUT;
    f->m.passes = f->seed % 2;
    f->given_up = 0;
    EQ(coir_writer_init(&f->w, &f->m.stream, 2 + draw(&f->seed) % 100), 0, "a writer");
    for (f->at = 0; f->at < OUT;) {
        f->n = draw(&f->seed) % 50;
        f->n = f->n < OUT - f->at ? f->n : OUT - f->at;
        f->m.accept = draw(&f->seed) % 3 ? SIZE_MAX : draw(&f->seed) % 80;
        if (draw(&f->seed) % 8 == 0) {
            coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.flush, coir_flush, .writer = &f->w);
            f->given_up += coir_status(&f->u.flush) == -ETIMEDOUT;
        } else {
            coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.put, coir_put, .writer = &f->w,
                        .buf = f->in + f->at, .len = f->n);
            f->given_up += coir_status(&f->u.put) == -ETIMEDOUT;
            f->at += f->u.put.result;
        }
        if (f->m.out_at + coir_writer_buffered(&f->w) != f->at)
            break;
    }
    EQ(f->at, OUT, "every byte is in the buffer or sent, at any time");
    f->m.accept = SIZE_MAX;
    SAYS(0, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(f->m.out_at, OUT, "all of them at the end");
    MEM_EQ(f->out, f->in, OUT, "in order");
    OK(f->given_up > 10, "%d were given up", f->given_up);
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
} coir_end

/* ---- errors, and bytes never sent ---- */

/* What is printed on stderr meanwhile. */
static int said_to, stderr_was;
static char said[2048];

static void listens(void)
{
    int p[2];

    if (pipe(p) < 0 || fcntl(p[0], F_SETFL, O_NONBLOCK) < 0)
        abort();
    stderr_was = dup(2);
    dup2(p[1], 2);
    close(p[1]);
    said_to = p[0];
}

static void listened(void)
{
    const ssize_t n = read(said_to, said, sizeof said - 1);

    said[n > 0 ? n : 0] = '\0';
    dup2(stderr_was, 2);
    close(stderr_was);
    close(said_to);
}

struct left {
    coir_frame_void;
    coir_no_args;
    char out[32];
    struct memory m;
    struct coir_writer w;
    struct coir_scope scope;
    union slots u;
};
static coir_declare(left);
coir_body(left, f) {
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = sizeof f->out;
    EQ(coir_writer_init(&f->w, &f->m.stream, 64), 0, "a writer");
    PUTS("seven..");
    listens();
    EQ(coir_writer_destroy(&f->w), 7, "seven bytes are left");
    listened();
    OK(strstr(said, "coir: a writer is destroyed with 7 bytes that were never sent, put there by left at "),
       "that is said, and who put them there");
    EQ(coir_writer_init(&f->w, &f->m.stream, 64), 0, "a writer");
    PUTS("no");
    EQ(coir_writer_discard(&f->w), 2, "not wanted");
    EQ(coir_writer_discard(&f->w), 0, "gone");
    EQ(coir_writer_discard(NULL), 0, "of none");
    PUTS("x");
    f->m.accept = 0;
    coir_within(f, &f->scope, coir_now() + COIR_MS, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_status(&f->u.flush), -ETIMEDOUT, "not sent, and the program knows");
    listens();
    EQ(coir_writer_destroy(&f->w), 1, "one byte is left");
    listened();
    STR_EQ(said, "", "and that is not said again");

    EQ(coir_writer_init(&f->w, &f->m.stream, 9), 0, "a writer");
    PUTS("abcd");
    f->m.accept = 3;
    f->m.out_error = -EPIPE;
    f->m.writes = 0;
    SAYS(-EPIPE, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(f->u.flush.result, 3, "three were taken before that");
    SAYS(-EPIPE, &f->u.flush, coir_flush, .writer = &f->w);
    SAYS(-EPIPE, &f->u.put, coir_put, .writer = &f->w, .buf = "x", .len = 1);
    EQ(f->u.put.result, 0, "nothing is taken any more");
    SAYS(-EPIPE, &f->u.room, coir_make_room, .writer = &f->w, .n = 1);
    EQ(coir_writer_printf(&f->w, "x"), -EPIPE, "printf says it too");
    EQ(f->m.writes, 1, "the stream was asked once");
    listens();
    EQ(coir_writer_destroy(&f->w), 1, "one byte is left");
    listened();
    STR_EQ(said, "", "the error has said it");
} coir_end

/* ---- two at a time ---- */

struct other {
    coir_frame_void;
    coir_args(struct coir_writer *writer;);
    struct coir_flush flush;
};
static coir_declare(other);
coir_body(other, f) {
    coir_try(f, &f->flush, coir_flush, .writer = f->writer);
} coir_end

struct two {
    coir_frame_void;
    coir_args(bool dies;);
    char out[32];
    struct memory m;
    struct coir_writer w;
    struct coir_group group;
    struct coir_group_wait wait;
    struct rest rest;
    union slots u;
};
static coir_declare(two);
coir_body(two, f) {
    memory_make(&f->m, "", 0);
    f->m.out = f->out;
    f->m.out_room = sizeof f->out;
    EQ(coir_writer_init(&f->w, &f->m.stream, 64), 0, "a writer");
    PUTS("first");
    f->m.accept = 2;
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(other, .writer = &f->w));
    coir_await(f, &f->rest, rest);
    if (f->dies)
        coir_writer_destroy(&f->w);
    SAYS(-EBUSY, &f->u.flush, coir_flush, .writer = &f->w);
    SAYS(-EBUSY, &f->u.put, coir_put, .writer = &f->w, .buf = "x", .len = 1);
    SAYS(-EBUSY, &f->u.room, coir_make_room, .writer = &f->w, .n = 1);
    EQ(coir_writer_printf(&f->w, "x"), -EBUSY, "nothing gets between");
    EQ(coir_writer_discard(&f->w), 0, "nothing is taken from under it");
    f->m.accept = SIZE_MAX;
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "the first");
    SENT("first", 1);
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
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
    struct coir_writer w;
    union slots u;
};
static coir_declare(wrong);
coir_body(wrong, f) {
    memory_make(&f->m, "", 0);
    EQ(coir_writer_init(NULL, &f->m.stream, 8), -EFAULT, "no writer");
    EQ(coir_writer_init(&f->w, NULL, 8), -EFAULT, "no stream");
    EQ(coir_writer_init(&f->w, &f->m.stream, 1), -EINVAL, "no room");
    EQ(coir_writer_init_in(&f->w, &f->m.stream, NULL, 8), -EFAULT, "no buffer");
#ifdef COIR_FAULTS
    coir_fail_alloc_at = 1;
    EQ(coir_writer_init(&f->w, &f->m.stream, 8), -ENOMEM, "no memory");
#endif
    SAYS(-EBADF, &f->u.put, coir_put, .writer = &f->w, .buf = "x", .len = 1);
    SAYS(-EBADF, &f->u.flush, coir_flush, .writer = &f->w);
    EQ(coir_writer_printf(&f->w, "x"), -EBADF, "nor printf");
    EQ(coir_writer_printf(NULL, "x"), -EFAULT, "nor to none");
    EQ(coir_writer_buffered(NULL), 0, "nothing in none");
    EQ(coir_writer_init(&f->w, &f->m.stream, 8), 0, "a writer");
    SAYS(-EFAULT, &f->u.put, coir_put, .buf = "x", .len = 1);
    SAYS(-EFAULT, &f->u.put, coir_put, .writer = &f->w, .len = 1);
    SAYS(0, &f->u.put, coir_put, .writer = &f->w, .len = 0);
    SAYS(-EFAULT, &f->u.flush, coir_flush);
    SAYS(-EFAULT, &f->u.room, coir_make_room);
    SAYS(-EFAULT, &f->u.put, coir_put, .writer = &f->w, .buf = __builtin_alloca(4), .len = 4);
    SAYS(-EFAULT, &f->u.flush, coir_flush, .writer = __builtin_alloca(sizeof f->w));
    EQ(coir_writer_destroy(&f->w), 0, "nothing is left");
    EQ(coir_writer_destroy(NULL), 0, "none");
} coir_end

int main(void)
{
    uint64_t random = seed();

    WITHOUT_CHANCE("fifo,whole"); /* it scripts the order of steps */
    run_one("order", coir_new(order));
    run_one("printing", coir_new(prints));
    run_one("given up", coir_new(gives_up));
    for (int i = 0; i < 20; i++)
        run_one("random", coir_new(puts_much, .seed = draw(&random) | 1));
    run_one("left", coir_new(left));
    run_one("two at a time", coir_new(two));
    if (COIR_TORTURED)
        SKIP("each await parks: who waits is another, and it says more before");
    else
        dies("destroyed under a wait", destroyed_under, "coir: a writer is destroyed while other waits for it at ");
    run_one("what is wrong", coir_new(wrong));
    return DONE();
}
