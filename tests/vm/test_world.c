/* SPDX-License-Identifier: MIT */
/*
 * One program on several shards, below what the language has for it: fibers that natives of this test start on other
 * shards, and channels of libcoir's that these use across them. Who is stopped after whom, and with which exit code;
 * deadlocks of the whole program, and what is none; output and input of all shards; cells that die far from home; what
 * is said when a shard cannot begin.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "make.h"
#include "vm/natives/standard.h"
#include "vm/world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1                     /* takes more address space than there is for anybody */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { BOXES = 4 };

/* ---- what the shards do together ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int here_now;                    /* atomic: fibers that have called `ready` */
static struct coir_channel boxes[BOXES];        /* shard 0's */

static enum coir_native_result native_mark(struct coir_fiber *f, uint64_t *r)
{
    pthread_mutex_lock(&lock);
    native_note(f, r);
    pthread_mutex_unlock(&lock);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result native_ready(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    (void)r;
    __atomic_add_fetch(&here_now, 1, __ATOMIC_SEQ_CST);
    return COIR_NATIVE_DONE;
}

/* So many have been there. */
static enum coir_native_result native_until(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    return __atomic_load_n(&here_now, __ATOMIC_SEQ_CST) < (int64_t)r[0] ? COIR_NATIVE_MORE : COIR_NATIVE_DONE;
}

static enum coir_native_result native_kill(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    kill(getpid(), (int)r[0]);
    return COIR_NATIVE_DONE;
}

/* ---- a run ---- */

static int run_world(const void *image, size_t len, const struct coir_vm_options *o)
{
    int code;

    __atomic_store_n(&here_now, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < BOXES; i++) {
        if (coir_channel_init(&boxes[i], sizeof(int64_t), (size_t)i) < 0)
            abort();
    }
    code = run_image(image, len, o);
    for (int i = 0; i < BOXES; i++)
        coir_channel_destroy(&boxes[i]);
    return code;
}

/* ---- a fiber on another shard: far(shard, which, n) begins f0(n), f1(n)... there ---- */

static const struct coir_type *task_type(const struct coir_program *p)
{
    uint32_t i = 0;

    while (p->types.all[i].kind != COIR_TYPE_TASK)
        i++;
    return &p->types.all[i];
}

static uint32_t function_named(const struct coir_program *p, int64_t which)
{
    const char name[] = { 'f', (char)('0' + which), 0 };
    uint32_t i = 0;

    while (strcmp(p->exports[i].name, name) != 0)
        i++;
    return p->exports[i].function;
}

static int begin_fiber(struct coir_vm *there, int64_t which, int64_t n)
{
    const struct coir_program *p = there->program;
    struct coir_handle *handle = coir_handle_new(&there->heap, task_type(p));
    const uint64_t arg = (uint64_t)n;
    struct coir_fiber *f;

    if (!handle)
        return -ENOMEM;
    f = coir_fiber_new(there, function_named(p, which), &arg, 1, handle, NULL);
    coir_drop(&there->heap, &handle->head);
    return f ? 0 : -ENOMEM;
}

struct begin_there {
    coir_frame_void;
    coir_args(struct coir_vm *there; int64_t which; int64_t n; uint64_t clock;);
    uint64_t back;
};
static coir_declare(begin_there);

coir_body(begin_there, b) {
    coir_world_gets(b->there, b->clock);
    b->task.status = (int16_t)begin_fiber(b->there, b->which, b->n);
    b->back = coir_world_sends(b->there);
} coir_end

struct far {
    coir_frame_void;
    coir_args(struct coir_vm *there; int64_t which; int64_t n; uint64_t clock;);
    struct begin_there begin;
};
static coir_declare(far);

coir_body(far, f) {
    coir_await_on(f, f->there->shard, &f->begin, begin_there, .there = f->there, .which = f->which, .n = f->n,
                  .clock = f->clock);
} coir_end

static enum coir_native_result native_far(struct coir_fiber *f, uint64_t *r)
{
    struct far *s = coir_scratch(f, sizeof *s, NULL);

    if (f->step == 0) {
        f->inner = true;
        return coir_wait_for(f, s, far, .there = f->vm->world->vms[r[0]], .which = (int64_t)r[1], .n = (int64_t)r[2],
                             .clock = coir_world_sends(f->vm));
    }
    coir_world_gets(f->vm, s->begin.back);
    return COIR_NATIVE_DONE;
}

/* ---- a channel of shard 0: put(box, n), take(box) ---- */

struct visit {
    coir_frame_void;
    coir_args(struct coir_vm *home; int box; bool puts; int64_t item; uint64_t clock;);
    struct coir_visitor visitor;
    struct coir_channel_send send;
    struct coir_channel_recv recv;
    int said;
    uint64_t back;
};
static coir_declare(visit);

coir_body(visit, v) {
    coir_world_gets(v->home, v->clock);
    coir_visitor_comes(v->home, &v->visitor, &v->task);
    if (v->puts) {
        coir_await(v, &v->send, coir_channel_send, .channel = &boxes[v->box], .item = &v->item);
        v->said = coir_status(&v->send);
    } else {
        coir_await(v, &v->recv, coir_channel_recv, .channel = &boxes[v->box], .item = &v->item);
        v->said = coir_status(&v->recv);
    }
    coir_visitor_goes(&v->visitor);
    v->back = coir_world_sends(v->home);
} coir_end

struct away {
    coir_frame_void;
    coir_args(struct coir_vm *home; int box; bool puts; int64_t item; uint64_t clock;);
    struct visit visit;
};
static coir_declare(away);

coir_body(away, f) {
    coir_await_on(f, 0, &f->visit, visit, .home = f->home, .box = f->box, .puts = f->puts, .item = f->item,
                  .clock = f->clock);
} coir_end

static enum coir_native_result visiting(struct coir_fiber *f, uint64_t *r, bool puts)
{
    struct away *s = coir_scratch(f, sizeof *s, NULL);

    if (f->step)
        coir_world_gets(f->vm, s->visit.back);
    if (f->step == 0 || (s->visit.said == -ECANCELED && coir_fiber_waits_again(f))) {
        f->inner = true;
        return coir_wait_for(f, s, away, .home = f->vm->world->vms[0], .box = (int)r[0], .puts = puts,
                             .item = puts ? (int64_t)r[1] : 0, .clock = coir_world_sends(f->vm));
    }
    if (s->visit.said < 0)
        return coir_trap_status(f, s->visit.said, NULL);
    r[0] = (uint64_t)s->visit.item;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result native_put(struct coir_fiber *f, uint64_t *r)
{
    return visiting(f, r, true);
}

static enum coir_native_result native_take(struct coir_fiber *f, uint64_t *r)
{
    return visiting(f, r, false);
}

/* ---- cells that die far from home: gone(n) makes so many tasks' handles, as of shard 0, which have died here ---- */

static enum coir_native_result native_gone(struct coir_fiber *f, uint64_t *r)
{
    for (uint64_t i = 0; i < r[0]; i++) {
        struct coir_handle *handle = coir_handle_new(f->heap, task_type(f->vm->program));

        if (!handle)
            return coir_trap_memory(f);
        handle->head.aux = 0;
        coir_world_gone(f->vm, &handle->head);
    }
    return COIR_NATIVE_DONE;
}

/* ---- lines ---- */

static size_t length_of(int64_t i)
{
    return i % 100 == 50 ? 100000 : (size_t)(i * 37 % 300);
}

static enum coir_native_result native_line(struct coir_fiber *f, uint64_t *r)
{
    char head[40];
    const int n = snprintf(head, sizeof head, "%lld %lld ", (long long)r[0], (long long)r[1]);
    struct coir_text *t = coir_text_new(f->heap, (size_t)n + length_of((int64_t)r[1]) + 1);

    if (!t)
        return coir_trap_memory(f);
    memcpy(t->bytes, head, (size_t)n);
    memset(t->bytes + n, 'a' + (int)r[0], t->len - (size_t)n - 1);
    t->bytes[t->len - 1] = '\n';
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static const struct coir_native world_natives[] = {
    { "mark", "fn mark(n: Int)", native_mark },
    { "ready", "fn ready()", native_ready },
    { "until", "fn until(n: Int)", native_until },
    { "kill", "fn kill(n: Int)", native_kill },
    { "far", "fn far(k: Int, which: Int, n: Int)", native_far },
    { "put", "fn put(box: Int, n: Int)", native_put },
    { "take", "fn take(box: Int) -> Int", native_take },
    { "gone", "fn gone(n: Int)", native_gone },
    { "line", "fn line(n: Int, i: Int) -> Text", native_line },
};
static const struct coir_natives world_table = { world_natives, sizeof world_natives / sizeof *world_natives, NULL, 0 };
static const struct coir_natives *const tables[] = { &test_table, &world_table, &coir_io_natives, NULL };

#define KNOWS \
    "import mark \"mark\" (Int) import ready \"ready\" () import until \"until\" (Int) import kill \"kill\" (Int) " \
    "import far \"far\" (Int, Int, Int) " \
    "import put \"put\" (Int, Int) import take \"take\" (Int) -> Int import gone \"gone\" (Int) " \
    "import line \"line\" (Int, Int) -> Text import print \"print\" (own Text) " \
    "import read \"io.read_line\" () -> Text? " \
    "import join \"Task.join\" (Task[()]) import new \"chan\" (Int) -> Chan[Int] " \
    "import recv \"Chan.recv\" (Chan[Int]) -> Int? "
#define FOREVER "LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep "
#define FAR(shard, which, n) "LOADI r10, " #shard " LOADI r11, " #which " LOADI r12, " #n " CALLN r10, far "
#define UNTIL(n) "LOADI r10, " #n " CALLN r10, until "
#define MARK(n) "LOADI r10, " #n " CALLN r10, mark "
#define NEVER "LOADI r10, 0 CALLN r10, new MOVE r5, r10 LEND r10, r5 CALLN r10, recv DROP r5 "
#define MAIN(...) "fn main() regs 30 { " __VA_ARGS__ " } export main main "
#define F(n, ...) "fn f" #n "(own n: Int) regs 30 { " __VA_ARGS__ " } export function \"f" #n "\" f" #n " "

static struct coir_vm_options options(uint32_t shards)
{
    return (struct coir_vm_options){ .shards = shards, .natives = tables, .seed = 1 };
}

/* Runs it in slices of 4,000 and of 1. What is NULL is not asked. */
static void on_shards(const char *name, const char *text, int code, const char *saying, const char *complaining,
                      struct coir_vm_options o)
{
    size_t len;
    void *image = assembled(name, text, &len);

    for (int i = 0; image && i < 2; i++) {
        int got;

        o.reductions = i ? 1 : 4000;
        got = run_world(image, len, &o);
        if (!EQ(got, code, "%s: ends with %d (%u)", name, code, o.reductions))
            NOTE("it says: %s", complaint);
        if (saying)
            STR_EQ(said, saying, "%s: says so", name);
        if (complaining && !OK(strstr(complaint, complaining), "%s: complains: %s", name, complaining))
            NOTE("it says: %s", complaint);
        if (!complaining)
            STR_EQ(complaint, "", "%s: complains of nothing", name);
        EQ(last.lives, 0, "%s: leaves nothing", name);
    }
    free(image);
}

/* ---- stopping ---- */

/* Each says when it is stopped, and some time later, when it ends. */
#define STOPPED \
    F(0, "from: CALLN r10, ready " FOREVER "to: RET pad: MOVW r10, r0 CALLN r10, mark SHIELD r2 LOADI r10, 300000 " \
         "CALLN r10, sleep DROP r2 ADDI r10, r0, 100 CALLN r10, mark TRAP r1 .cleanup from, to, pad, 1")
#define SIX FAR(1, 0, 1) FAR(2, 0, 2) FAR(3, 0, 3) FAR(0, 0, 4) FAR(1, 0, 5) FAR(3, 0, 6) UNTIL(6)

static void stops(void)
{
    struct coir_vm_options by_signal = options(4);

    by_signal.signals = true;
    on_shards("the newest first, one after the other", KNOWS STOPPED MAIN(SIX "RET"), 0,
              "6 106 5 105 4 104 3 103 2 102 1 101 ", NULL, options(4));
    on_shards("likewise by a signal, and main in its turn",
              KNOWS STOPPED
              MAIN(SIX "LOADI r10, 15 CALLN r10, kill from: " FOREVER "to: RET "
                   "pad: LOADI r10, 77 CALLN r10, mark TRAP r0 .cleanup from, to, pad, 0"),
              128 + SIGTERM, "6 106 5 105 4 104 3 103 2 102 1 101 77 ", NULL, by_signal);
    on_shards("what is begun in a cleanup is stopped before those that are older",
              KNOWS STOPPED
              F(1, "from: CALLN r10, ready " FOREVER "to: RET pad: SHIELD r2 " FAR(2, 2, 0) "DROP r2 "
                   MARK(9) "TRAP r1 .cleanup from, to, pad, 1")
              F(2, MARK(8) "RET")
              MAIN(FAR(1, 0, 1) FAR(2, 0, 2) FAR(3, 1, 3) UNTIL(3) "RET"),
              0, "9 2 102 1 101 ", NULL, options(4));
    on_shards("who has not begun is stopped too", KNOWS STOPPED MAIN(FAR(1, 0, 1) FAR(2, 0, 2) "RET"), 0, NULL, NULL,
              options(3));
    on_shards("what main returns", KNOWS STOPPED
              "fn main() -> Int regs 30 { " FAR(1, 0, 1) UNTIL(1) "LOADI r0, 7 RETV r0 } export main main ",
              7, "1 101 ", NULL, options(2));
    on_shards("a trap in main", KNOWS STOPPED
              MAIN(FAR(1, 0, 1) UNTIL(1) "CONSTT r0, \"x\" .line 5 TRAPM r0, Explicit"), 2, "1 101 ",
              "trap Explicit in main at test.coir:5: x\n", options(2));
    on_shards("a trap elsewhere, which nobody can join", KNOWS
              F(0, "CONSTT r1, \"x\" .line 4 from: TRAPM r1, Explicit to: pad: CALLN r10, ready TRAP r2 "
                   ".cleanup from, to, pad, 2")
              MAIN(FAR(1, 0, 1) UNTIL(1) "RET"), 0, "", "trap Explicit in f0 at test.coir:4: x\n", options(2));
}

/* ---- deadlocks ---- */

static void deadlocks(void)
{
    on_shards("nothing on any shard can wake", KNOWS F(0, "CALLN r10, ready " NEVER "RET")
              MAIN(FAR(1, 0, 1) FAR(2, 0, 2) UNTIL(2) ".line 8 " NEVER "RET"), 2, "",
              "trap Deadlock in main at test.coir:8: nothing in the program can wake any more\n", options(3));
    on_shards("main catches it", KNOWS F(0, NEVER "RET")
              MAIN(FAR(1, 0, 1) "from: " NEVER "to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
                   ".catch from, to, pad, 0"),
              0, "Deadlock ", "shard 1 (", options(2));
    on_shards("visitors that all wait", KNOWS F(0, "LOADI r10, 0 CALLN r10, take RET")
              MAIN(FAR(1, 0, 1) FAR(1, 0, 2) "from: LOADI r10, 1 CALLN r10, take to: RET "
                   "pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET .catch from, to, pad, 0"),
              0, "Deadlock ", "awaited by shard 1", options(2));
    /* main is told, and waits for its member, which is shielded; then the newest is, which is elsewhere */
    on_shards("main goes on waiting, and the newest is told", KNOWS
              F(0, "from: CALLN r10, ready " NEVER "to: RET pad: LENDF r10, r1, 0 CALLN r10, say DROP r1 RET "
                   ".catch from, to, pad, 1")
              "fn m() regs 30 { SHIELD r1 from: " NEVER "to: DROP r1 RET pad: " MARK(1) "DROP r1 TRAP r2 "
              ".cleanup from, to, pad, 2 } "
              MAIN("from: LOADI r0, 0 GROUP r1, r0 GSPAWN r2, m, r9, Task[()], r1 DROP r2 YIELD " FAR(1, 0, 2) UNTIL(1)
                   "GWAIT r1 DROP r1 to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
                   ".catch from, to, pad, 0"),
              0, "Deadlock 1 Deadlock ", "shard 1 (", options(2));
    on_shards("one of a cleanup, after main has returned", KNOWS
              F(0, "from: CALLN r10, ready " FOREVER "to: RET pad: SHIELD r2 inner: " NEVER "end: out: DROP r2 TRAP r1 "
                   "pad2: LENDF r10, r3, 0 CALLN r10, say DROP r3 JMP out "
                   ".cleanup inner, end, pad3, 3 pad3: LENDF r10, r3, 0 CALLN r10, say DROP r2 DROP r1 TRAP r3 "
                   ".cleanup from, to, pad, 1")
              MAIN(FAR(1, 0, 1) UNTIL(1) "RET"), 0, "Deadlock ", "trap Deadlock in f0", options(2));
}

/* One dump of each shard, in their order, then the trap. */
static void dumps(void)
{
    static const char *const parts[] = { "shard 0 (", "main at test.coir", "shard 1 (", "f0 at test.coir", "shard 2 (",
                                         "shard 3 (", "f0 at test.coir", "trap Deadlock in main" };
    size_t len;
    void *image = assembled("dumps", KNOWS F(0, "CALLN r10, ready .line 6 " NEVER "RET")
                            MAIN(FAR(1, 0, 1) FAR(3, 0, 2) UNTIL(2) ".line 8 " NEVER "RET"), &len);
    const struct coir_vm_options o = options(4);
    const char *at = complaint;
    unsigned found = 0;

    if (!image)
        return;
    EQ(run_world(image, len, &o), 2, "dumps: it ends");
    for (unsigned i = 0; at && i < sizeof parts / sizeof *parts; i++) {
        at = strstr(at, parts[i]);
        found += at != NULL;
    }
    if (!EQ(found, sizeof parts / sizeof *parts, "dumps of all shards, in their order, before the trap"))
        NOTE("it says: %s", complaint);
    free(image);
}

/* ---- what is no deadlock ---- */

#define TURNS "2000"

static void no_deadlocks(void)
{
    on_shards("letters under way, there and back", KNOWS
              F(0, "LOADI r1, 0 LOADI r2, " TURNS " top: LOADI r10, 0 CALLN r10, take MOVW r11, r10 LOADI r10, 1 "
                   "CALLN r10, put FORI r1, r2, top CALLN r10, ready RET")
              MAIN(FAR(1, 0, 1) "LOADI r1, 0 LOADI r2, " TURNS " top: LOADI r10, 0 MOVW r11, r1 "
                   "CALLN r10, put LOADI r10, 1 CALLN r10, take FORI r1, r2, top MOVW r10, r1 CALLN r10, mark "
                   UNTIL(1) "RET"),
              0, TURNS " ", NULL, options(2));
    on_shards("between two that are not main, which waits", KNOWS
              F(0, "LOADI r1, 0 LOADI r2, " TURNS " top: LOADI r10, 0 MOVW r11, r1 CALLN r10, put "
                   "LOADI r10, 1 CALLN r10, take FORI r1, r2, top LOADI r10, 2 MOVW r11, r1 CALLN r10, put RET")
              F(1, "LOADI r1, 0 LOADI r2, " TURNS " top: LOADI r10, 0 CALLN r10, take MOVW r11, r10 LOADI r10, 1 "
                   "CALLN r10, put FORI r1, r2, top LOADI r10, 2 MOVW r11, r1 CALLN r10, put RET")
              MAIN(FAR(1, 0, 1) FAR(2, 1, 1) "LOADI r10, 2 CALLN r10, take CALLN r10, mark "
                   "LOADI r10, 2 CALLN r10, take CALLN r10, mark RET"),
              0, TURNS " " TURNS " ", NULL, options(3));
    on_shards("a time on another shard", KNOWS
              F(0, "LOADI r10, 20000000 CALLN r10, sleep LOADI r10, 0 LOADI r11, 5 CALLN r10, put RET")
              MAIN(FAR(1, 0, 1) "LOADI r10, 0 CALLN r10, take CALLN r10, mark RET"), 0, "5 ", NULL,
              options(2));
    on_shards("work on another shard", KNOWS
              F(0, "LOADI r1, 0 LOADI r2, 300000 top: FORI r1, r2, top LOADI r10, 0 LOADI r11, 5 CALLN r10, put RET")
              MAIN(FAR(1, 0, 1) "LOADI r10, 0 CALLN r10, take CALLN r10, mark RET"), 0, "5 ", NULL,
              options(2));
}

/* ---- stdin and stdout ---- */

struct reader {
    pthread_t thread;
    int fd, kept, slow;
    char *bytes;
    size_t len, room;
};

static void *reads(void *arg)
{
    struct reader *r = arg;
    ssize_t n;

    do {
        if (r->room - r->len < 4096) {
            r->room = r->room ? r->room * 2 : 65536;
            r->bytes = realloc(r->bytes, r->room);
        }
        if (r->slow && r->len / 100000 % 2)
            usleep(200);
        n = read(r->fd, r->bytes + r->len, 4000);
        r->len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return NULL;
}

static void stdout_begins(struct reader *r)
{
    int ends[2];

    fflush(stdout);
    r->kept = dup(1);
    if (pipe(ends) < 0)
        abort();
    dup2(ends[1], 1);
    close(ends[1]);
    r->fd = ends[0];
    pthread_create(&r->thread, NULL, reads, r);
}

static void stdout_ends(struct reader *r)
{
    fflush(stdout);
    dup2(r->kept, 1);
    close(r->kept);
    pthread_join(r->thread, NULL);
    close(r->fd);
}

/* Every line is whole, and those of each fiber are in their order. How many, or -1 and what is wrong is noted. */
static int64_t count_lines(const struct reader *r, int64_t *next)
{
    const char *at = r->bytes, *const end = r->bytes + r->len;
    int64_t count = 0;

    for (; at < end; count++) {
        const char *const eol = memchr(at, '\n', (size_t)(end - at));
        char *p;
        const long n = strtol(at, &p, 10), i = strtol(p, &p, 10);
        size_t same = 0;

        if (!eol || n < 0 || n > 8 || i != next[n])
            return -1;
        next[n]++;
        for (p++; p < eol && *p == 'a' + n; p++)
            same++;
        if (p != eol || same != length_of(i))
            return -1;
        at = eol + 1;
    }
    return count;
}

#define PRINTS \
    F(0, "LOADI r1, 0 LOADI r2, 250 top: MOVW r10, r0 MOVW r11, r1 CALLN r10, line CALLN r10, print FORI r1, r2, top " \
         "CALLN r10, ready RET")

static void prints(const char *name, const char *text, int64_t wanted)
{
    size_t len;
    void *image = assembled(name, text, &len);

    for (int slow = 0; image && slow < 2; slow++) {
        struct reader r = { .slow = slow };
        struct coir_vm_options o = options(4);
        int64_t next[9] = { 0 }, lines;

        o.reductions = slow ? 1 : 4000;
        stdout_begins(&r);
        const int code = run_world(image, len, &o);
        stdout_ends(&r);
        lines = count_lines(&r, next);
        EQ(code, 0, "%s: it ends", name);
        if (wanted)
            EQ(lines, wanted, "%s: every line comes, whole", name);
        EQ(last.lives, 0, "%s: leaves nothing", name);
        free(r.bytes);
    }
    free(image);
}

static void outputs(void)
{
    prints("four shards print", KNOWS PRINTS
           MAIN(FAR(1, 0, 1) FAR(2, 0, 2) FAR(3, 0, 3) FAR(0, 0, 4) UNTIL(4) "RET"), 4 * 250);
    prints("four shards are stopped while they print", KNOWS
           F(0, "LOADI r1, 50 top: MOVW r10, r0 MOVW r11, r1 CALLN r10, line CALLN r10, print JMP top")
           MAIN(FAR(1, 0, 1) FAR(2, 0, 2) FAR(3, 0, 3) FAR(0, 0, 4) "LOADI r10, 3000000 CALLN r10, sleep RET"), 0);
}

/* What one prints before it tells another, who prints then, comes first. */
static void in_order(void)
{
    static const char text[] = KNOWS
        F(0, "LOADI r1, 0 LOADI r2, 40 top: LOADI r10, 0 MOVW r11, r1 CALLN r10, line CALLN r10, print ADDI r1, r1, 1 "
             "LOADI r10, 0 MOVW r11, r1 CALLN r10, put LOADI r10, 1 CALLN r10, take ADDI r1, r1, 1 JLT r1, r2, top RET")
        MAIN(FAR(1, 0, 0) "LOADI r2, 40 top: LOADI r10, 0 CALLN r10, take MOVW r1, r10 "
             "LOADI r10, 0 MOVW r11, r1 CALLN r10, line CALLN r10, print LOADI r10, 1 MOVW r11, r1 CALLN r10, put "
             "ADDI r1, r1, 1 JLT r1, r2, top RET");
    struct reader r = { .slow = 0 };
    struct coir_vm_options o = options(2);
    int64_t next[9] = { 0 };
    size_t len;
    void *image = assembled("in order", text, &len);

    if (!image)
        return;
    stdout_begins(&r);
    const int code = run_world(image, len, &o);
    stdout_ends(&r);
    EQ(code, 0, "in order: it ends");
    EQ(count_lines(&r, next), 40, "what happens first is printed first");
    free(r.bytes);
    free(image);
}

static void *writes(void *arg)
{
    const int fd = *(int *)arg;
    char line[40];

    for (int i = 0; i < 600; i++) {
        const int n = snprintf(line, sizeof line, "%d\n", i);

        if (i % 100 == 0)
            usleep(5000);
        if (write(fd, line, (size_t)n) != n)
            abort();
    }
    close(fd);
    return NULL;
}

/* Readers on three shards: each line is read by one of them, and every one ends. */
static void inputs(void)
{
    static const char text[] = KNOWS
        F(0, "LOADI r1, 0 top: CALLN r10, read JNULL r10, out DROP r10 ADDI r1, r1, 1 JMP top out: "
             "LOADI r10, 3 MOVW r11, r1 CALLN r10, put RET")
        MAIN(FAR(1, 0, 0) FAR(2, 0, 0) FAR(0, 0, 0) "LOADI r1, 0 LOADI r2, 3 LOADI r3, 0 "
             "top: LOADI r10, 3 CALLN r10, take ADD r3, r3, r10 FORI r1, r2, top MOVW r10, r3 CALLN r10, mark "
             "RET");
    const int kept = dup(0);
    size_t len;
    void *image = assembled("three shards read lines", text, &len);

    for (int i = 0; image && i < 2; i++) {
        struct coir_vm_options o = options(3);
        int ends[2];
        pthread_t thread;

        if (pipe(ends) < 0)
            abort();
        dup2(ends[0], 0);
        close(ends[0]);
        pthread_create(&thread, NULL, writes, &ends[1]);
        o.reductions = i ? 1 : 4000;
        EQ(run_world(image, len, &o), 0, "three shards read lines: it ends");
        STR_EQ(said, "600 ", "three shards read lines: each is read once");
        EQ(last.lives, 0, "three shards read lines: nothing is left");
        pthread_join(thread, NULL);
    }
    dup2(kept, 0);
    close(kept);
    free(image);
}

/* ---- the end of cells, and of shards that never began ---- */

static void cells_go_home(void)
{
    on_shards("cells that die far from home", KNOWS F(0, "LOADI r10, 5000 CALLN r10, gone CALLN r10, ready RET")
              MAIN(FAR(1, 0, 0) FAR(2, 0, 0) FAR(3, 0, 0) UNTIL(3) "RET"), 0, "", NULL, options(4));
}

/* Threads need address space, of which there is no more. */
static void cannot_begin(void)
{
#ifndef SANITIZED
    struct rlimit before, little;
    size_t len;
    void *image = assembled("cannot begin", KNOWS MAIN("RET"), &len);
    const struct coir_vm_options o = options(64);

    if (!image)
        return;
    getrlimit(RLIMIT_AS, &before);
    little = before;
    little.rlim_cur = (rlim_t)300 << 20;
    setrlimit(RLIMIT_AS, &little);
    EQ(run_world(image, len, &o), 1, "64 shards in little memory: it cannot begin");
    setrlimit(RLIMIT_AS, &before);
    if (!OK(strstr(complaint, "coir: ") == complaint, "and says why"))
        NOTE("it says: %s", complaint);
    free(image);
#endif
}

int main(void)
{
    WITHOUT_CHANCE("fifo");
    stops();
    deadlocks();
    dumps();
    no_deadlocks();
    outputs();
    in_order();
    inputs();
    cells_go_home();
    cannot_begin();
    return DONE();
}
