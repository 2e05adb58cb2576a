/* SPDX-License-Identifier: MIT */
/*
 * coir_process_run: much in and out at once, limits, ends of every kind, deadlines and cancelling, programs that others
 * have left behind, many at a time. After every run no descriptor and no child is left.
 */
#include "children.h"

enum { MUCH = 1 << 20 };

static char in[MUCH], out[MUCH], err[MUCH];

/* One run of the program itself in a mode. */
struct mode {
    coir_frame_void;
    coir_no_args;
    char *argv[6];
    struct coir_scope scope;
    struct coir_process_run run;
};

static bool is_spew(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] != byte_at(i))
            return false;
    }
    return true;
}

#define MODE(...) memcpy(f->argv, ((char *[6]){ self, (char *)"be", __VA_ARGS__ }), sizeof f->argv)

/* ---- much at once ---- */

static coir_declare(mode);
coir_body(mode, f) {
    memset(in, 'i', sizeof in);
    MODE("tee");
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .input = in, .input_len = MUCH, .out = out, .out_len = MUCH,
         .err = err, .err_len = MUCH);
    EQ(f->run.result.fed, MUCH, "it was given all");
    EQ(f->run.result.out_len, MUCH, "and said all");
    EQ(f->run.result.err_len, MUCH, "twice");
    OK(!f->run.result.out_cut && !f->run.result.err_cut, "nothing was cut");
    MEM_EQ(out, in, MUCH, "to the one");
    MEM_EQ(err, in, MUCH, "and the other");

    MODE("spew", "600000", "400000");
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .input = in, .input_len = MUCH, .out = out, .out_len = MUCH,
         .err = err, .err_len = MUCH);
    EQ(f->run.result.exit.code, 0, "one that does not read its input ends well");
    OK(f->run.result.fed < MUCH, "and has not been given all");
    EQ(f->run.result.out_len, 600000, "all of the one stream");
    EQ(f->run.result.err_len, 400000, "all of the other");
    OK(is_spew(out, 600000) && is_spew(err, 400000), "byte by byte");

    MODE("spew", "500000", "0");
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .out = out, .out_len = 500000);
    OK(f->run.result.out_len == 500000 && !f->run.result.out_cut, "exactly what there is room for");
    SAYS(-EMSGSIZE, &f->run, coir_process_run, .argv = f->argv, .out = out, .out_len = 499999);
    OK(f->run.result.out_len == 499999 && f->run.result.out_cut, "a byte more");
    SAYS(-EMSGSIZE, &f->run, coir_process_run, .argv = f->argv, .out = out, .out_len = 1);
    OK(is_spew(out, f->run.result.out_len) && f->run.result.out_len == 1, "no more than there is room for");
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .out = out, .out_len = 100, .truncate = true);
    EQ(f->run.result.exit.code, 0, "or the rest is dropped");
    OK(f->run.result.out_cut && f->run.result.out_len == 100, "which is said");
} coir_end

/* ---- small things ---- */

struct small {
    coir_frame_void;
    coir_no_args;
    char *argv[6];
    struct coir_scope scope;
    struct coir_process_run run;
};
static coir_declare(small);

#define SAID(expected) do { \
        EQ(f->run.result.out_len, strlen(expected), "length of \"%s\"", expected); \
        MEM_EQ(out, expected, strlen(expected), "\"%s\"", expected); \
    } while (0)

coir_body(small, f) {
    static char *const cat[] = { "cat", NULL }, *const none[] = { "no-such-program", NULL };
    static char *const seven[] = { "sh", "-c", "echo seven; exit 7", NULL };
    static char *const dies[] = { "sh", "-c", "echo dies; kill -ABRT $$", NULL };
    static char *const both[] = { "sh", "-c", "echo a; echo b >&2", NULL };
    static char *const shut[] = { "sh", "-c", "exec <&- >&- ; sleep 0.02; exit 4", NULL };
    static char *const left[] = { "sh", "-c", "sleep 1000 & echo $!", NULL };
    static char *const busy[] = { "sh", "-c", "yes & echo $! >&2", NULL };
    static char kill_left[64];

    SAYS(0, &f->run, coir_process_run, .argv = cat, .out = out, .out_len = MUCH);
    SAID("");
    SAYS(0, &f->run, coir_process_run, .argv = cat, .input = "", .input_len = 0, .out = out, .out_len = MUCH);
    SAID("");
    SAYS(0, &f->run, coir_process_run, .argv = cat, .input = "abc", .input_len = 3, .out = out, .out_len = MUCH);
    SAID("abc");
    SAYS(0, &f->run, coir_process_run, .argv = seven, .out = out, .out_len = MUCH);
    SAID("seven\n");
    EQ(f->run.result.exit.code, 7, "its code");
    SAYS(0, &f->run, coir_process_run, .argv = dies, .out = out, .out_len = MUCH);
    SAID("dies\n");
    EQ(f->run.result.exit.signal, SIGABRT, "what killed it");
    SAYS(0, &f->run, coir_process_run, .argv = both, .out = out, .out_len = MUCH,
         .options = { .err = COIR_STDIO_STDOUT });
    SAID("a\nb\n");
    SAYS(0, &f->run, coir_process_run, .argv = shut, .input = in, .input_len = MUCH, .out = out, .out_len = MUCH);
    EQ(f->run.result.exit.code, 4, "one that closes its streams and lives on");
    SAYS(-ENOENT, &f->run, coir_process_run, .argv = none, .out = out, .out_len = MUCH, .input = in, .input_len = 100);
    EQ(f->run.result.failed, COIR_PROCESS_PROGRAM, "there is none");
    SAYS(-ENOENT, &f->run, coir_process_run, .argv = cat, .options = { .cwd = "nowhere" });
    EQ(f->run.result.failed, COIR_PROCESS_CWD, "nor such a folder");

    /* Others hold the pipe, quietly or not: the program has ended, and what it said is there. */
    SAYS(0, &f->run, coir_process_run, .argv = left, .out = out, .out_len = MUCH);
    OK(f->run.result.out_len > 1 && f->run.result.out_len < 10, "what it said, though the pipe has not ended");
    snprintf(kill_left, sizeof kill_left, "kill %.*s", (int)f->run.result.out_len - 1, out);
    EQ(system(kill_left), 0, "who was left behind lives");
    SAYS(0, &f->run, coir_process_run, .argv = busy, .out = out, .out_len = 100, .err = err, .err_len = 100,
         .truncate = true, .options = { .group = true });
    OK(f->run.result.err_len > 1, "one that writes and writes is not waited for either");
    SAYS(-EFAULT, &f->run, coir_process_run, .argv = cat, .out_len = 7);
    SAYS(-EFAULT, &f->run, coir_process_run, .argv = cat, .input_len = 7);
    SAYS(-EINVAL, &f->run, coir_process_run, .argv = cat, .options = { .out = COIR_STDIO_PIPE });
    EQ(f->run.result.failed, COIR_PROCESS_ARGUMENTS, "a pipe that nobody reads");
} coir_end

/* ---- more room as it is needed ---- */

static int times_more;
static size_t most;

/* 1,000 bytes more each time, up to `most`; then none. */
static int more_room(struct coir_process_run *run, bool is_err)
{
    size_t *const len = is_err ? &run->err_len : &run->out_len;

    times_more++;
    if (most == 0)
        return -ENOMEM;
    *len = *len + 1000 < most ? *len + 1000 : most;
    if (is_err)
        run->err = err;
    else
        run->out = out;
    return 0;
}

struct growing {
    coir_frame_void;
    coir_no_args;
    char *argv[6];
    char none[1];
    struct coir_process_run run;
};
static coir_declare(growing);

coir_body(growing, f) {
    MODE("spew", "100000", "70000");
    most = MUCH;
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .out = f->none, .err = f->none, .more = more_room);
    OK(f->run.result.out_len == 100000 && is_spew(out, 100000), "all of the one, with no room to begin with");
    OK(f->run.result.err_len == 70000 && is_spew(err, 70000), "all of the other");
    OK(times_more >= 170, "by so many steps");
    most = 50000;
    SAYS(-EMSGSIZE, &f->run, coir_process_run, .argv = f->argv, .options = { .err = COIR_STDIO_NULL },
         .out = f->none, .more = more_room);
    OK(f->run.result.out_len == 50000 && is_spew(out, 50000) && f->run.result.out_cut, "up to where there is no more");
    SAYS(0, &f->run, coir_process_run, .argv = f->argv, .out = f->none, .err = f->none, .more = more_room,
         .truncate = true);
    OK(f->run.result.out_len == 50000 && f->run.result.err_len == 50000 && f->run.result.err_cut, "or the rest is cut");
    most = 0;
    SAYS(-ENOMEM, &f->run, coir_process_run, .argv = f->argv, .options = { .err = COIR_STDIO_NULL },
         .out = f->none, .more = more_room);
    EQ(f->run.result.out_len, 0, "what it says of itself; whether it wrote before it was stopped is its own affair");
} coir_end

/* ---- stopped in the middle ---- */

/* Runs a program, and cancels it when `enough` bytes of its output have come. */
struct stopped {
    coir_frame_void;
    coir_args(char *const *argv; size_t enough; size_t room; bool truncate; int64_t grace;);
    struct coir_scope scope;
    struct coir_process_run run;
};
static coir_declare(stopped);

struct stops {
    coir_frame_void;
    coir_args(struct stopped *s;);
    struct coir_sleep sleep;
};
static coir_declare(stops);

coir_body(stops, f) {
    do
        coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
    while (f->s->run.result.out_len < f->s->enough);
    coir_scope_cancel(&f->s->scope);
} coir_end

coir_body(stopped, f) {
    coir_within(f, &f->scope, COIR_NEVER, &f->run, coir_process_run, .argv = f->argv, .out = out, .out_len = f->room,
                .truncate = f->truncate, .grace = f->grace);
    coir_check(f, &f->run);
} coir_end

struct late {
    coir_frame_void;
    coir_no_args;
    char *argv[6];
    struct stopped stopped;
    struct stops stops;
    struct coir_task *kids[2];
    struct coir_combine all;
    struct coir_scope scope;
    struct coir_process_run run;
};
static coir_declare(late);

#define STOPPED(...) do { \
        f->stopped.run.result.out_len = 0; \
        f->kids[0] = coir_make(&f->stopped, stopped, __VA_ARGS__); \
        f->kids[1] = coir_make(&f->stops, stops, .s = &f->stopped); \
        coir_all(f, &f->all, f->kids, 2); \
        EQ(coir_status(&f->stopped), -ECANCELED, "stopped in the middle, at line %d", __LINE__); \
        f->run.result = f->stopped.run.result; \
    } while (0)

coir_body(late, f) {
    static char *const sleeps[] = { "sh", "-c", "echo first; exec sleep 1000", NULL };
    static char *const yes[] = { "yes", NULL };

    STOPPED(.argv = sleeps, .enough = 6, .room = MUCH);
    EQ(f->run.result.exit.signal, SIGTERM, "it was asked to end");
    SAID("first\n");
    STOPPED(.argv = yes, .enough = 100, .room = 100, .truncate = true);
    EQ(f->run.result.exit.signal, SIGTERM, "one that writes and writes");
    MEM_EQ(out, "y\ny\ny\ny\n", 8, "what it wrote");
    MODE("polite");
    STOPPED(.argv = f->argv, .enough = 6, .room = MUCH, .grace = 60 * COIR_S);
    EQ(f->run.result.exit.code, 5, "one that answers to SIGTERM in its own way");
    SAID("ready\nlast words\n");
    MODE("deaf");
    STOPPED(.argv = f->argv, .enough = 6, .room = MUCH, .grace = 5 * COIR_MS);
    EQ(f->run.result.exit.signal, SIGKILL, "one that does not is killed");
    SAID("ready\n");
    MODE("polite");
    STOPPED(.argv = f->argv, .enough = 6, .room = MUCH, .grace = -1);
    EQ(f->run.result.exit.signal, SIGKILL, "or at once");
    SAID("ready\n");

    coir_within(f, &f->scope, coir_now() + 100 * COIR_MS, &f->run, coir_process_run, .argv = sleeps, .out = out,
                .out_len = MUCH);
    EQ(coir_status(&f->run), -ETIMEDOUT, "too late");
    coir_within(f, &f->scope, coir_now() - 1, &f->run, coir_process_run, .argv = yes);
    EQ(coir_status(&f->run), -ETIMEDOUT, "too late to begin");
    EQ(f->run.result.failed, COIR_PROCESS_NOTHING, "so nothing has failed");
} coir_end

/* ---- many at once ---- */

enum { MANY = 200, AT_ONCE = 16 };

struct one {
    coir_frame_void;
    coir_args(int number; int *good;);
    char text[16], *argv[4], said[16];
    struct coir_process_run run;
};
static coir_declare(one);

coir_body(one, f) {
    snprintf(f->text, sizeof f->text, "%d", f->number);
    f->argv[0] = "echo";
    f->argv[1] = f->text;
    f->argv[2] = NULL;
    coir_try(f, &f->run, coir_process_run, .argv = f->argv, .out = f->said, .out_len = sizeof f->said);
    *f->good += f->run.result.exit.code == 0 && f->run.result.out_len == strlen(f->text) + 1
             && !memcmp(f->said, f->text, strlen(f->text));
} coir_end

struct many {
    coir_frame_void;
    coir_args(unsigned limit;);
    int i, good;
    struct coir_group group;
    struct coir_group_spawn spawn;
    struct coir_group_wait wait;
};
static coir_declare(many);

coir_body(many, f) {
    f->good = 0;
    coir_group_open(f, &f->group, .limit = f->limit);
    for (f->i = 0; f->i < MANY; f->i++)
        coir_await(f, &f->spawn, coir_group_spawn, .group = &f->group,
                   .spawn = coir_new(one, .number = f->i, .good = &f->good));
    SAYS(0, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->good, MANY, "each said its number");
} coir_end

int main(int argc, char **argv)
{
    child_begin(argc, argv);
    scratch_begin();
    CLEAN(mode);
    CLEAN(small);
    CLEAN(growing);
    CLEAN(late);
    EQ(clean_run(NULL, coir_new(many, .limit = AT_ONCE), "many"), 0, "%d, %d at once", MANY, AT_ONCE);
    EQ(clean_run(NULL, coir_new(many, .limit = 0), "many"), 0, "%d at once", MANY);
    scratch_end();
    return DONE();
}
