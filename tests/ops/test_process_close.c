/* SPDX-License-Identifier: MIT */
/*
 * Closing child processes: those that run, listen to signals or not, have ended or were never started; and what comes
 * first, the signal or the end of the pipes. After every run no descriptor and no child is left.
 */
#include "children.h"

static char *const sleeper[] = { "sleep", "1000", NULL };
static char *const nothing[] = { "true", NULL };

union slots {
    struct coir_process_start start;
    struct coir_process_wait wait;
    struct coir_process_close close;
    struct coir_read read;
    struct coir_pass pass;
    struct coir_sleep sleep;
};

/* ---- what it does with each ---- */

struct closes {
    coir_frame_void;
    coir_no_args;
    char *deaf[4], *polite[4];
    char text[64];
    struct coir_process p;
    union slots u;
};
static coir_declare(closes);

coir_body(closes, f) {
    static char *const reader[] = { "cat", NULL };

    f->p = COIR_NO_PROCESS;
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    memset(&f->p, 0, sizeof f->p);

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    EQ(f->p.exit.signal, SIGTERM, "asked to end, it does");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(f->u.wait.result.signal, SIGTERM, "and how it ended is still known");

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = sleeper);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p, .grace = -1);
    EQ(f->p.exit.signal, SIGKILL, "or it is killed at once");

    f->deaf[0] = f->polite[0] = self;
    f->deaf[1] = f->polite[1] = "be";
    f->deaf[2] = "deaf";
    f->polite[2] = "polite";
    f->deaf[3] = f->polite[3] = NULL;
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = f->deaf,
         .options = { .out = COIR_STDIO_PIPE });
    SAYS(0, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text, .len = sizeof f->text);
    OK(f->u.read.result > 0, "it is ready");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p, .grace = 10 * COIR_MS);
    EQ(f->p.exit.signal, SIGKILL, "one that does not listen is killed after its grace");

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = f->polite,
         .options = { .out = COIR_STDIO_PIPE });
    SAYS(0, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text, .len = sizeof f->text);
    EQ(coir_process_kill(&f->p, SIGTERM), 0, "a signal");
    SAYS(0, &f->u.wait, coir_process_wait, .process = &f->p);
    EQ(f->u.wait.result.code, 5, "that it catches");
    SAYS(0, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text, .len = sizeof f->text);
    EQ(f->u.read.result, 11, "its pipe stays open to be read");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = reader,
         .options = { .in = COIR_STDIO_PIPE });
    EQ(coir_process_kill(&f->p, 0), 0, "it runs");
    EQ(coir_process_kill(&f->p, 1000), -EINVAL, "no such signal");
    EQ(coir_process_kill(&f->p, -1), -EINVAL, "nor this");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
    OK(f->p.ended && f->p.in == -1, "closed while it reads");

    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = nothing);
    while (coir_process_kill(&f->p, 0) == 0)
        coir_await(f, &f->u.sleep, coir_sleep, .ns = COIR_MS);
    EQ(coir_process_kill(&f->p, 0), -ESRCH, "ended, though nobody has waited");
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p);
} coir_end

/* ---- in which order ---- */

/* What a program learns first, the signal or the end of its input: always the signal. A close of its output, which
 * comes after that of its input, finds somebody who reads there, and who takes until the program has ended. */
struct slow_reader {
    coir_frame_void;
    coir_args(const struct coir_process *p;);
    char text[64];
    struct coir_read read;
};
static coir_declare(slow_reader);

coir_body(slow_reader, f) {
    siginfo_t info;

    coir_await(f, &f->read, coir_read, .fd = f->p->out, .buf = f->text, .len = sizeof f->text);
    while (waitid(P_PID, (id_t)f->p->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
} coir_end

struct order {
    coir_frame_void;
    coir_args(bool group; int64_t grace; const char *what; struct coir_exit expected;);
    char *argv[4], text[64];
    struct coir_process p;
    struct coir_group readers;
    struct coir_group_wait wait;
    union slots u;
};
static coir_declare(order);

coir_body(order, f) {
    f->argv[0] = self;
    f->argv[1] = "be";
    f->argv[2] = (char *)f->what;
    f->argv[3] = NULL;
    SAYS(0, &f->u.start, coir_process_start, .process = &f->p, .argv = f->argv,
         .options = { .in = COIR_STDIO_PIPE, .out = COIR_STDIO_PIPE, .group = f->group });
    SAYS(0, &f->u.read, coir_read, .fd = f->p.out, .buf = f->text, .len = sizeof f->text);
    coir_group_open(f, &f->readers);
    if (!strcmp(f->what, "reading"))
        coir_spawn(&f->readers, coir_new(slow_reader, .p = &f->p));
    coir_await(f, &f->u.pass, coir_pass);
    SAYS(0, &f->u.close, coir_process_close, .process = &f->p, .grace = f->grace);
    SAYS(0, &f->wait, coir_group_wait, .group = &f->readers);
    EQ(f->p.exit.code, f->expected.code, "%s: its code", f->what);
    EQ(f->p.exit.signal, f->expected.signal, "%s: its signal", f->what);
} coir_end

static void order_of_closing(bool group)
{
    static const struct { const char *what; int64_t grace; struct coir_exit expected; } orders[] = {
        { "reading", 60 * COIR_S, { .code = 21 } },                         /* told before its input ended */
        { "reading", -1, { .code = -1, .signal = SIGKILL } },               /* killed before that */
        { "writing", 60 * COIR_S, { .code = -1, .signal = SIGPIPE } },      /* hangs in no pipe that nobody reads */
    };

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        EQ(clean_run(NULL, coir_new(order, .group = group, .grace = orders[i].grace, .what = orders[i].what,
                                    .expected = orders[i].expected), orders[i].what), 0, "%s ends", orders[i].what);
}

int main(int argc, char **argv)
{
    child_begin(argc, argv);
    WITHOUT_CHANCE("whole");           /* it says how many bytes there are at once */
    CLEAN(closes);
    order_of_closing(false);
    order_of_closing(true);
    return DONE();
}
