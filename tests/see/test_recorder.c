/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder: which events it keeps, in what words, in what order; that it wraps; that it can be read in a
 * signal handler, and by a thread while shards write; and that without it there is none.
 */
#include "task/help.h"

#include <pthread.h>
#include <sys/mman.h>

#include "runtime/base/clock.h"
#include "runtime/see/recorder.h"
#include "see/recorded.h"

enum { ROOM = 1 << 20 };

/* What the recorder writes, at most `most` events a shard, the names of files without their folders. */
static const char *recorded(unsigned most)
{
    static char text[ROOM];
    const int fd = memfd_create("recorded", 0);
    ssize_t n;
    char *to = text;

    coir_recorder_write(fd, most);
    n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    close(fd);
    for (const char *from = text; *from; from++) {
        *to++ = *from;
        while (*from == '/' && to > text && to[-1] != ' ')
            to--;
    }
    *to = '\0';
    return text;
}

static int count_of(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

struct idle {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(idle);

coir_body(idle, f) {
} coir_end

/* ---- what is kept ---- */

/* Time by time: the parent begins; its deadline passes; the kids begin; one fails, its sibling is cancelled; the
 * parent ends; what it detached is cancelled. */
static void what_is_kept(void)
{
    static const char last_four[] =
        "shard 0: the last 4 of 33 events, in seconds of the run\n"
        "   0.003000  cancel  everything detached\n"
        "   0.003000  step    kid #4 at recorded.h:16\n"
        "   0.003000  end     kid #4: -125\n"
        "   0.003000  done    #4\n";
    static const char another[] =
        "shard 0: the last 4 of 4 events, in seconds of the run\n"
        "   0.000000  spawn   idle #1 at test_recorder.c:113\n"
        "   0.000000  step    idle #1 at test_recorder.c:113\n"
        "   0.000000  end     idle #1: 0\n"
        "   0.000000  done    #1\n";
    static const char expected[] =
        "shard 0: the last 33 of 33 events, in seconds of the run\n"
        "   0.000000  spawn   parent #1 at recorded.h:53\n"
        "   0.000000  step    parent #1 at recorded.h:53\n"
        "   0.000000  park    kid #1 at recorded.h:16\n"
        "   0.000000  sleep\n"
        "   0.002000  awake\n"
        "   0.002000  cancel  by its deadline, the await of parent at recorded.h:43\n"
        "   0.002000  step    kid #1 at recorded.h:16\n"
        "   0.002000  spawn   kid #2 at recorded.h:45, by #1, into a group of parent\n"
        "   0.002000  spawn   kid #3 at recorded.h:46, by #1, into a group of parent\n"
        "   0.002000  park    parent #1 at recorded.h:47\n"
        "   0.002000  step    kid #2 at recorded.h:45\n"
        "   0.002000  park    kid #2 at recorded.h:16\n"
        "   0.002000  step    kid #3 at recorded.h:46\n"
        "   0.002000  park    kid #3 at recorded.h:16\n"
        "   0.002000  sleep\n"
        "   0.003000  awake\n"
        "   0.003000  step    kid #2 at recorded.h:16\n"
        "   0.003000  end     kid #2: -5\n"
        "   0.003000  cancel  the group of parent at recorded.h:47, by #2\n"
        "   0.003000  done    #2\n"
        "   0.003000  step    kid #3 at recorded.h:16\n"
        "   0.003000  end     kid #3: -125\n"
        "   0.003000  done    #3\n"
        "   0.003000  step    parent #1 at recorded.h:47\n"
        "   0.003000  spawn   kid #4 at recorded.h:48, by #1\n"
        "   0.003000  end     parent #1: 0\n"
        "   0.003000  done    #1\n"
        "   0.003000  step    kid #4 at recorded.h:48\n"
        "   0.003000  park    kid #4 at recorded.h:16\n"
        "   0.003000  cancel  everything detached\n"
        "   0.003000  step    kid #4 at recorded.h:16\n"
        "   0.003000  end     kid #4: -125\n"
        "   0.003000  done    #4\n";

    EQ(run(new_parent()), 0, "the run ends well");
    STR_EQ(recorded(0), expected, "every event, in order");
    STR_EQ(recorded(4), last_four, "the last four of them");
    EQ(run(coir_new(idle)), 0, "another run");
    STR_EQ(recorded(0), another, "has its own events");
}

/* ---- operations ---- */

struct operates {
    coir_frame_void;
    coir_no_args;
    int fds[2];
    char byte;
    union {
        struct coir_read read;
        struct coir_write write;
        struct coir_close close;
    };
};
static coir_declare(operates);

coir_body(operates, f) {
    if (coir_pipe(f->fds))
        coir_fail(f, EMFILE);
    coir_try(f, &f->write, coir_write, .fd = f->fds[1], .buf = "x", .len = 1);
    coir_try(f, &f->read, coir_read, .fd = f->fds[0], .buf = &f->byte, .len = 1);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
    }
} coir_end

/* What is said of operations, the numbers of descriptors left out: they are the process's. */
static void operations(void)
{
    static const char *const expected[] = {
        "begin   coir_write on fd ", "end     coir_write: 1, operates #1 at ",
        "begin   coir_read on fd ", "end     coir_read: 1, operates #1 at ",
        "begin   coir_close on fd ", "end     coir_close: 0, operates #1 at ",
        "begin   coir_close on fd ", "end     coir_close: 0, operates #1 at ",
    };
    const char *at;

    EQ(run(coir_new(operates)), 0, "a run with operations");
    at = recorded(0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *found = strstr(at, expected[i]);
        OK(found, "event %zu of the operations", i);
        at = found ? found + strlen(expected[i]) : at;
    }
    OK(!strstr(at, "coir_"), "and no more");
}

/* ---- wrapping ---- */

enum { PASSES = 20 };

struct passes {
    coir_frame_void;
    coir_args(int n;);
    int i;
    struct coir_pass pass;
};
static coir_declare(passes);

coir_body(passes, f) {
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->pass, coir_pass);
} coir_end

/* A spawn, the steps and their ends, the end: in the torture build a pass takes two steps. Of at least 8 asked for 15
 * are kept: with one that is being written they are a power of two. */
static int wraps(void)
{
    setenv("COIR_RECORD", "8", 1);
    run(coir_new(passes, .n = PASSES));
    coir_recorder_write(STDERR_FILENO, 0);
    return 0;
}

static void wrapping(void)
{
    const struct ending *e = in_child(wraps);
    const int events = 1 + (TORTURE ? 4 : 2) * PASSES + 3;
    char head[64];

    snprintf(head, sizeof head, "shard 0: the last 15 of %d events,", events);
    EQ(strncmp(e->said, head, strlen(head)), 0, "a full ring: %s", head);
    EQ(count_of(e->said, "\n"), 16, "and so many are printed");
    EQ(count_of(e->said, "  step "), 7, "every second but the last two is a step");
    OK(strstr(e->said, "  step ") < strstr(e->said, "  park "), "beginning with one");
    OK(strstr(e->said, "  end     passes #1: 0\n") > strstr(e->said, "  park "), "the end is at the end");
    EQ(count_of(e->said, "  spawn "), 0, "the beginning is forgotten");
}

/* ---- on and off ---- */

static const char *record;               /* COIR_RECORD; NULL: unset */

static int records(void)
{
    if (record)
        setenv("COIR_RECORD", record, 1);
    else
        unsetenv("COIR_RECORD");
    run(coir_new(idle));
    coir_recorder_write(STDERR_FILENO, 0);
    return 0;
}

static const char *said_with(const char *value)
{
    record = value;
    return in_child(records)->said;
}

static void on_and_off(void)
{
    STR_EQ(said_with("0"), "", "0: nothing is kept");
#ifdef COIR_DEBUG
    EQ(count_of(said_with(NULL), "\n"), 5, "unset, a debug program: it is on");
#else
    STR_EQ(said_with(NULL), "", "unset, no debug program: nothing is kept");
#endif
    for (int i = 0; i < 4; i++) {
        static const char *const wrong[] = { "many", "-1", "1048577", "12x" };
        STR_EQ(said_with(wrong[i]), "coir: COIR_RECORD is a number of events, 0 to 1048576; nothing is recorded\n",
               "COIR_RECORD=%s is no number", wrong[i]);
    }
    EQ(count_of(said_with("1048576"), "\n"), 5, "as many as there may be");
}

/* ---- in a signal handler ---- */

static void on_fault(int signal)
{
    (void)signal;
    coir_recorder_write(STDERR_FILENO, 0);
    _exit(7);
}

struct faulty {
    coir_frame_void;
    coir_args(volatile char *nowhere;);
    struct coir_sleep sleep;
};
static coir_declare(faulty);

coir_body(faulty, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    *f->nowhere = 1;
} coir_end

static int faults(void)
{
    void *nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct sigaction act = { .sa_handler = on_fault };

    sigaction(SIGSEGV, &act, NULL);
    setenv("COIR_RECORD", "1000", 1);
    run(coir_new(faulty, .nowhere = nowhere));
    return 0;
}

static void in_a_handler(void)
{
    const struct ending *e = in_child(faults);
    const char *last = NULL;

    for (const char *step = e->said; (step = strstr(step, "  step    faulty #1 at ")); step++)
        last = step;
    EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 7, "the handler has come to its end");
    EQ(count_of(e->said, "  step "), 1 + count_of(e->said, "  park "), "the fault's step has begun, and not ended");
    OK(last && strchr(last, '\n')[1] == '\0', "and is the last that was recorded");
}

/* ---- a reader beside ---- */

enum { SHARDS = 3, MANY = 10000 };

/* Whole lines of known words, each shard's times in order. */
static bool is_sound(const char *text)
{
    static const char *const words[] = { "spawn", "step", "park", "done", "end", "sleep", "awake", "post", "letter" };
    double last = 0;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        char word[16];
        double at;
        bool known = false;
        if (!strncmp(text, "shard ", 6)) {
            last = 0;
            continue;
        }
        if (sscanf(text, "%lf %15s", &at, word) != 2 || at < last)
            return false;
        last = at;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            known |= !strcmp(word, words[i]);
        if (!known)
            return false;
    }
    return *text == '\0';
}

static int rounds, unsound;
static int over;                         /* atomic */

static void *reader(void *arg)
{
    do {
        const char *text = recorded(0);
        rounds++;
        unsound += !is_sound(text);
    } while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE));
    return arg;
}

struct everywhere {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    pthread_t reader;
    struct passes passes[SHARDS];
    struct away {
        coir_frame_void;
        coir_args(unsigned shard;);
        struct passes passes;
    } away[SHARDS];
    struct coir_task *kids[SHARDS];
    struct coir_combine all;
};
static coir_declare(everywhere);
static coir_declare(away);

coir_body(away, f) {
    coir_await_on(f, f->shard, &f->passes, passes, .n = MANY);
} coir_end

coir_body(everywhere, f) {
    pthread_create(&f->reader, NULL, reader, NULL);
    for (f->i = 0; f->i < SHARDS; f->i++)
        f->kids[f->i] = coir_make(&f->away[f->i], away, .shard = f->i);
    coir_all(f, &f->all, f->kids, SHARDS);
    coir_finally(f) {
        __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
        pthread_join(f->reader, NULL);
    }
} coir_end

/* What was wrong: 1 the run, 2 that nothing was read, 4 what was, 8 a shard that was not there. */
static int reads(void)
{
    const struct coir_options o = { .shards = SHARDS };
    int wrong = 0;

    setenv("COIR_RECORD", record, 1);
    wrong |= coir_run(&o, coir_new(everywhere)) == 0 ? 0 : 1;
    wrong |= rounds > 0 ? 0 : 2;
    wrong |= unsound == 0 ? 0 : 4;
    wrong |= count_of(recorded(1), "shard ") == SHARDS ? 0 : 8;
    return wrong;
}

/* Events whose time and value are one number. About as fast as they are read: so the reader is overtaken now and
 * then, in the middle of an event too. */
static void *puts_for_ever(void *ring)
{
    for (int i = 1; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); i = i % 1000000 + 1) {
        coir_recorder_put(ring, &(struct coir_record){ .what = COIR_RECORD_POST, .at = i * COIR_US, .value = i });
        for (int pause = i % 64; pause > 0; pause--)
            coir_cpu_relax();
    }
    return ring;
}

/* How many lines there were of two events at once, at most 100; 101: none at all. */
static int mixes(void)
{
    struct coir_recorder *ring = coir_recorder_get(0, 8);
    int seconds, us, value, mixed = 0, lines = 0;
    pthread_t thread;

    coir_recorder_epoch(0, true);
    pthread_create(&thread, NULL, puts_for_ever, ring);
    for (int i = 0; i < MANY; i++) {
        for (const char *at = recorded(0); (at = strchr(at, '\n')); at++) {
            const int n = sscanf(at + 1, "%d.%d post to shard %d", &seconds, &us, &value);
            lines += n == 3;
            mixed += n == 3 && seconds * 1000000 + us != value;
        }
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    return lines == 0 ? 101 : mixed < 100 ? mixed : 100;
}

/* In the small ring what is read is overwritten at once. */
static void a_reader_beside(void)
{
    static const char *const sizes[] = { "1", "8", "1000" };

    for (int i = 0; i < 3; i++) {
        record = sizes[i];
        const struct ending *e = in_child(reads);
        EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0, "a ring of %s, three shards, and a thread that reads",
           record);
    }
    const struct ending *e = in_child(mixes);
    EQ(WIFEXITED(e->status) ? WEXITSTATUS(e->status) : -1, 0, "no line is of two events");
}

int main(void)
{
    WITHOUT_CHANCE("fifo");
    setenv("COIR_SLOW_MS", "0", 1);         /* who looks is the recorder alone */
    on_and_off();
    wrapping();
    in_a_handler();
    a_reader_beside();
    setenv("COIR_TIME", "virtual", 1);
    setenv("COIR_RECORD", "1000", 1);
    if (TORTURE)
        SKIP("what is kept, as every await is a step here");
    else
        what_is_kept();
    operations();
    return DONE();
}
