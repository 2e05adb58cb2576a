/* SPDX-License-Identifier: MIT */
/*
 * A signal asks for the tasks: every shard prints its own, awake or asleep; one that hangs is named. Who did not ask
 * for that is killed by SIGUSR1, as anybody is.
 *
 * Each case is a process of its own, which reads by a thread what it says on stderr, and goes on when it has been said.
 */
#include "task/help.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "runtime/see/watchdog.h"

static struct coir_options options;

/* ---- what the process says, read by itself ---- */

static struct {
    int fds[2];
    char text[65536];
    size_t n;
} said;

static void listen_to_stderr(void)
{
    if (pipe(said.fds) || dup2(said.fds[1], STDERR_FILENO) < 0)
        _exit(90);
}

/* Reads until all of it has been said, in any order; the alarm of in_child ends a wait in vain. */
static void hear(const char *const *parts, size_t n)
{
    size_t heard = 0;

    while (heard < n) {
        const ssize_t got = read(said.fds[0], said.text + said.n, sizeof said.text - 1 - said.n);
        if (got <= 0)
            _exit(91);
        said.n += (size_t)got;
        said.text[said.n] = '\0';
        for (heard = 0; heard < n && strstr(said.text, parts[heard]); heard++)
            ;
    }
}

/* ---- tasks ---- */

struct sleeper {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

enum { SLEEPS = __LINE__ + 3 };

coir_body(sleeper, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
} coir_end

static atomic_bool may_go_on, waiting;

struct hangs {
    coir_frame_void;
    coir_no_args;
    struct coir_pass pass;
};
static coir_declare(hangs);

enum { HANGS = __LINE__ + 3 };

coir_body(hangs, f) {
    coir_try(f, &f->pass, coir_pass);
    waiting = true;
    while (!may_go_on)
        sched_yield();
} coir_end

/* Subscribes to the signal itself. */
struct subscriber {
    coir_frame(unsigned);
    coir_no_args;
    struct coir_signals *signals;
    struct coir_signal_next next;
};
static coir_declare(subscriber);

coir_body(subscriber, f) {
    f->signals = coir_signals_open(SIGUSR1);
    waiting = true;
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    f->result = f->next.result.count;
    may_go_on = f->result == 1;
    coir_finally(f) {
        coir_signals_close(f->signals);
    }
} coir_end

struct program {
    coir_frame_void;
    coir_args(void *(*thread)(void *); bool hangs; bool subscribes;);
    pthread_t id;
    struct coir_cell cell;
    struct coir_group group;
    struct coir_cell_wait heard;
    struct coir_group_wait wait;
};
static coir_declare(program);

coir_body(program, f) {
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(sleeper));
    if (coir_shard_count() > 1)
        coir_spawn_on(1, coir_new(sleeper));
    if (f->hangs)
        coir_spawn(&f->group, coir_new(hangs));
    if (f->subscribes)
        coir_spawn(&f->group, coir_new(subscriber));
    pthread_create(&f->id, NULL, f->thread, &f->cell);
    coir_try(f, &f->heard, coir_cell_wait, .cell = &f->cell);
    coir_finally(f) {
        pthread_join(f->id, NULL);
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void done(void *cell)
{
    coir_cell_complete((struct coir_cell *)cell, 0, 0);
}

#define SLEEPER "sleeper at " __FILE__ ":%d: sleeps for another"

static char sleeper_line[256], hanging_line[256];

static void *ask(void *cell)
{
    const char *const parts[] = { "shard 0 (", "shard 1 (", sleeper_line };

    kill(getpid(), SIGUSR1);
    hear(parts, 3);
    done(cell);
    return NULL;
}

static void *ask_often(void *cell)
{
    for (int i = 0; i < 1000; i++)
        kill(getpid(), SIGUSR1);
    return ask(cell);
}

static void *ask_who_hangs(void *cell)
{
    const char *const parts[] = { hanging_line, "shard 1 (" }, *const then[] = { "shard 0 (" };

    while (!waiting)
        sched_yield();
    kill(getpid(), SIGUSR1);
    hear(parts, 2);                      /* shard 1 has printed, shard 0 is named */
    if (strstr(said.text, "shard 0 ("))
        _exit(92);
    may_go_on = true;
    hear(then, 1);
    done(cell);
    return NULL;
}

static void *ask_beside(void *cell)
{
    while (!waiting)
        sched_yield();
    ask(cell);
    while (!may_go_on)                   /* the subscriber has it too */
        sched_yield();
    return NULL;
}

static void *only_ask(void *cell)
{
    (void)cell;
    kill(getpid(), SIGUSR1);
    return NULL;
}

/* ---- cases ---- */

static int run_program(void *(*thread)(void *), bool hangs, bool subscribes)
{
    options.shards = 2;
    return coir_run(&options, coir_new(program, .thread = thread, .hangs = hangs, .subscribes = subscribes)) ? 1 : 0;
}

static int is_default(void)
{
    struct sigaction now;

    return sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static int asleep(void)
{
    listen_to_stderr();
    return run_program(ask, false, false) || !is_default();
}

static int twice(void)
{
    listen_to_stderr();
    if (run_program(ask, false, false))
        return 1;
    said.n = 0;
    return run_program(ask, false, false);
}

static int often(void)
{
    listen_to_stderr();
    return run_program(ask_often, false, false);
}

static int hanging(void)
{
    listen_to_stderr();
    return run_program(ask_who_hangs, true, false);
}

static int beside(void)
{
    listen_to_stderr();
    return run_program(ask_beside, false, true);
}

static int by_environment(void)
{
    options.dump_signal = 0;
    setenv("COIR_DUMP", "USR1", 1);
    return asleep();
}

static int watched_too(void)
{
    options.slow_ms = 1000;
    return hanging();
}

static int not_asked(void)
{
    options.dump_signal = 0;
    return run_program(only_ask, false, false);
}

static int not_asked_but_watched(void)
{
    options.slow_ms = 1000;
    return not_asked();
}

static int asked_by_another(void)
{
    options.dump_signal = SIGUSR2;
    return run_program(only_ask, false, false);
}

/* In another loop the next turn prints. */
static int in_another_loop(void)
{
    struct coir_shard *s;
    const char *const parts[] = { "shard 0 (", sleeper_line };

    options.shards = 1;
    listen_to_stderr();
    s = coir_shard_open(&options, coir_new(sleeper));
    if (!s || !coir_turn(s))
        return 1;
    kill(getpid(), SIGUSR1);
    coir_turn(s);
    hear(parts, 2);
    return coir_shard_close(s) != -ECANCELED;
}

/* Asking does not keep a program from seeing that nothing can wake it. */
struct dead {
    coir_frame_void;
    coir_no_args;
    struct coir_event event;
    struct coir_event_wait wait;
};
static coir_declare(dead);

coir_body(dead, f) {
    coir_event_init(&f->event);
    coir_try(f, &f->wait, coir_event_wait, .event = &f->event);
} coir_end

static int deadlocked(void)
{
    return coir_run(&options, coir_new(dead)) == -EDEADLK ? 0 : 1;
}

static int wrong_name(void)
{
    options.dump_signal = 0;
    setenv("COIR_DUMP", "SIGKILL", 1);
    return coir_run(&options, coir_new(sleeper)) == -EINVAL ? 0 : 1;
}

static int wrong_number(void)
{
    options.dump_signal = SIGSEGV;
    return coir_run(&options, coir_new(sleeper)) == -EINVAL ? 0 : 1;
}

/* ---- */

static void goes_well(int (*fn)(void), const char *name)
{
    const struct ending *e = in_child(fn);

    if (!OK(WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0, "%s", name))
        NOTE("status 0x%x, it said: %s", e->status, e->said);
}

static void dies(int (*fn)(void), const char *name)
{
    const struct ending *e = in_child(fn);

    OK(WIFSIGNALED(e->status) && WTERMSIG(e->status) == SIGUSR1, "%s: SIGUSR1 ends the program", name);
    STR_EQ(e->said, "", "%s: nothing is said", name);
}

static int number_of(const char *name)
{
    const struct coir_options o = { .dump_signal = 0 };
    int number = -1;

    setenv("COIR_DUMP", name, 1);
    const int err = coir_asked_signal(&o, &number);
    unsetenv("COIR_DUMP");
    return err ? err : number;
}

int main(void)
{
    snprintf(sleeper_line, sizeof sleeper_line, SLEEPER, SLEEPS);
    snprintf(hanging_line, sizeof hanging_line, "coir: shard 0 hangs, and prints its tasks when that is over: in task "
             "hangs, last await at " __FILE__ ":%d, spawned at ", HANGS);
    options.dump_signal = SIGUSR1;
    goes_well(asleep, "two shards that sleep print their tasks, and the signal is given back");
    goes_well(twice, "so they do in a second run");
    goes_well(often, "and when it comes a thousand times");
    goes_well(hanging, "a shard that hangs is named, the other prints; then that does too");
    goes_well(watched_too, "the same beside a watchdog for slow steps");
    goes_well(beside, "who has subscribed to the signal is told of it");
    goes_well(by_environment, "COIR_DUMP asks too");
    goes_well(in_another_loop, "a shard in another loop prints in its turn");
    goes_well(deadlocked, "a deadlock is seen all the same");
    dies(not_asked, "nobody asked");
    dies(not_asked_but_watched, "nobody asked, but there is a watchdog");
    dies(asked_by_another, "another signal asks");
    goes_well(wrong_name, "COIR_DUMP=SIGKILL is refused");
    goes_well(wrong_number, "options.dump_signal = SIGSEGV is refused");
    EQ(number_of("SIGUSR1"), SIGUSR1, "SIGUSR1");
    EQ(number_of("USR2"), SIGUSR2, "USR2");
    EQ(number_of("12"), 12, "12");
    EQ(number_of(""), 0, "nothing");
    EQ(number_of("0"), -EINVAL, "0");
    EQ(number_of("usr1"), -EINVAL, "usr1");
    return DONE();
}
