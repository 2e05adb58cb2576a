/* SPDX-License-Identifier: MIT */
/*
 * As test_nth.c, for the operations that ask no plane: a program a concept, in which the N-th allocation or system call
 * fails, for N = 1, 2, 3, ... until a run passes in which nothing failed. Nothing hangs, and a run ends well or with a
 * negative errno; interruptions are nobody's business.
 *
 * And the list is complete: every operation that a header exports is in the table of tests/agree (test_nth.c takes it
 * from there), in a program's list here, or exempt with a reason.
 */

#ifndef COIR_FAULTS
#include "tap.h"

int main(void)
{
    SKIP_ALL("built without -Dfaults=true");
}
#else
#include <dirent.h>
#include <signal.h>

#include "../agree/table.h"
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

enum { PATIENCE = 20, LAST = 400 };

static char running[256];

static void hangs(int signal)
{
    (void)signal;
    if (write(1, running, strlen(running)) < 0)
        _exit(3);
    _exit(2);
}

/* ---- time, groups, cells, combinators ---- */

struct passes {
    coir_frame_void;
    coir_args(struct coir_cell *cell;);
    struct coir_pass pass;
    struct coir_sleep sleep;
};
static coir_declare(passes);

coir_body(passes, f) {
    coir_try(f, &f->pass, coir_pass);
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000);
    if (f->cell)
        coir_cell_complete(f->cell, 0, 1);
} coir_end

struct tasks {
    coir_frame_void;
    coir_no_args;
    struct coir_cell cell;
    struct coir_group group;
    struct coir_combine all;
    struct coir_task *kids[2];
    struct passes kid[2];
    union {
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
        struct coir_cell_wait cell_wait;
        struct coir_sleep_until until;
    };
};
static coir_declare(tasks);

coir_body(tasks, f) {
    coir_cell_init(&f->cell);
    coir_group_open(f, &f->group, .limit = 1);
    coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(passes, .cell = &f->cell));
    coir_try(f, &f->cell_wait, coir_cell_wait, .cell = &f->cell);
    coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(passes));
    f->kids[0] = coir_make(&f->kid[0], passes);
    f->kids[1] = coir_make(&f->kid[1], passes);
    coir_all(f, &f->all, f->kids, 2);
    coir_check(f, &f->all);
    coir_try(f, &f->until, coir_sleep_until, .at = coir_now() + 1000);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_cell_destroy(&f->cell);
    }
} coir_end

/* ---- channels ---- */

struct sends {
    coir_frame_void;
    coir_args(struct coir_channel *channel; struct coir_xchan *xchan;);
    int item;
    union {
        struct coir_channel_send send;
        struct coir_xchan_send xsend;
    };
};
static coir_declare(sends);

coir_body(sends, f) {
    for (f->item = 0; f->item < 4; f->item++) {
        coir_try(f, &f->send, coir_channel_send, .channel = f->channel, .item = &f->item);
        coir_try(f, &f->xsend, coir_xchan_send, .channel = f->xchan, .item = &f->item);
    }
    coir_finally(f) {
        coir_channel_close(f->channel);
        coir_xchan_close(f->xchan);
    }
} coir_end

struct channels {
    coir_frame_void;
    coir_no_args;
    struct coir_channel channel;
    struct coir_xchan *xchan;
    int item, sum, err, made;
    struct coir_group group;
    union {
        struct coir_channel_recv recv;
        struct coir_xchan_recv xrecv;
        struct coir_group_wait wait;
    };
};
static coir_declare(channels);

coir_body(channels, f) {
    f->sum = 0;
    f->err = f->made = coir_channel_init(&f->channel, sizeof f->item, 1);
    f->xchan = coir_xchan_new(sizeof f->item, 1);
    if (f->err || !f->xchan)
        coir_fail(f, ENOMEM);
    coir_group_open(f, &f->group);
    f->err = coir_spawn(&f->group, coir_new(sends, .channel = &f->channel, .xchan = f->xchan));
    while (f->err == 0 && f->sum < 12) {
        coir_try(f, &f->recv, coir_channel_recv, .channel = &f->channel, .item = &f->item);
        f->sum += f->item;
        coir_try(f, &f->xrecv, coir_xchan_recv, .channel = f->xchan, .item = &f->item);
        f->sum += f->item;
    }
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    if (f->err)
        coir_fail(f, f->err);
    coir_finally(f) {
        if (f->xchan)
            coir_xchan_free(f->xchan);
        if (f->made == 0)
            coir_channel_destroy(&f->channel);
    }
} coir_end

/* ---- waiting for each other ---- */

struct shared {
    struct coir_semaphore semaphore;
    struct coir_mutex mutex;
    struct coir_condition condition;
    struct coir_event event;
    struct coir_once once;
    struct coir_barrier barrier;
    bool told;
};

struct meets {
    coir_frame_void;
    coir_args(struct shared *s; bool tells;);
    union {
        struct coir_acquire acquire;
        struct coir_lock lock;
        struct coir_condition_wait condition;
        struct coir_event_wait event;
        struct coir_once_begin once;
        struct coir_barrier_wait barrier;
        struct coir_sleep sleep;
    };
};
static coir_declare(meets);

coir_body(meets, f) {
    coir_try(f, &f->acquire, coir_acquire, .semaphore = &f->s->semaphore, .n = 1);
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000);
    coir_release(&f->s->semaphore, 1);
    coir_await(f, &f->once, coir_once_begin, .once = &f->s->once);
    if (coir_status(&f->once) == 0 && f->once.result)
        coir_once_done(f, &f->s->once, 0);
    coir_try(f, &f->lock, coir_lock, .mutex = &f->s->mutex);
    while (!f->s->told && !f->tells)
        coir_try(f, &f->condition, coir_condition_wait, .condition = &f->s->condition, .mutex = &f->s->mutex);
    f->s->told = true;
    coir_condition_broadcast(&f->s->condition);
    coir_unlock(f, &f->s->mutex);
    if (f->tells)
        coir_event_set(&f->s->event);
    coir_try(f, &f->event, coir_event_wait, .event = &f->s->event);
    coir_try(f, &f->barrier, coir_barrier_wait, .barrier = &f->s->barrier);
    coir_finally(f) {
        if (coir_holds(f, &f->s->mutex))
            coir_unlock(f, &f->s->mutex);
    }
} coir_end

struct waits {
    coir_frame_void;
    coir_no_args;
    struct shared s;
    struct coir_combine all;
    struct coir_task *kids[2];
    struct meets meets[2];
};
static coir_declare(waits);

coir_body(waits, f) {
    f->s.told = false;
    coir_semaphore_init(&f->s.semaphore, 1);
    coir_mutex_init(&f->s.mutex);
    coir_condition_init(&f->s.condition);
    coir_event_init(&f->s.event);
    coir_once_init(&f->s.once);
    if (coir_barrier_init(&f->s.barrier, 2))
        coir_fail(f, EINVAL);
    f->kids[0] = coir_make(&f->meets[0], meets, .s = &f->s, .tells = false);
    f->kids[1] = coir_make(&f->meets[1], meets, .s = &f->s, .tells = true);
    coir_all(f, &f->all, f->kids, 2);
    coir_check(f, &f->all);
    coir_finally(f) {
        coir_barrier_destroy(&f->s.barrier);
        coir_once_destroy(&f->s.once);
        coir_event_destroy(&f->s.event);
        coir_condition_destroy(&f->s.condition);
        coir_mutex_destroy(&f->s.mutex);
        coir_semaphore_destroy(&f->s.semaphore);
    }
} coir_end

/* ---- signals ---- */

struct stops {
    coir_frame_void;
    coir_args(bool *ended;);
    struct coir_stop_on_signal stop;
};
static coir_declare(stops);

coir_body(stops, f) {
    coir_try(f, &f->stop, coir_stop_on_signal);
    if (f->stop.result != SIGTERM)
        OK(false, "stopped by %d", f->stop.result);
    coir_finally(f) {
        *f->ended = true;
    }
} coir_end

/* Sent only to who has a subscription. The stop cancels the main task, which ends all the same. */
struct signals {
    coir_frame_void;
    coir_no_args;
    bool ended;
    struct coir_signals *signals;
    struct coir_group group;
    struct coir_signal_next next;
    struct coir_sleep sleep;
    struct coir_group_wait wait;
};
static coir_declare(signals);

static bool is_caught(int number)
{
    struct sigaction now;

    return sigaction(number, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO;
}

coir_body(signals, f) {
    coir_group_open(f, &f->group);
    f->signals = coir_signals_open(SIGUSR1);
    if (!f->signals)
        coir_fail(f, errno);
    kill(getpid(), SIGUSR1);
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    if (f->next.result.number != SIGUSR1 || f->next.result.count != 1)
        OK(false, "%d came, %u times", f->next.result.number, f->next.result.count);
    f->ended = false;
    if (coir_spawn(&f->group, coir_new(stops, .ended = &f->ended)) < 0)
        coir_fail(f, ENOMEM);
    while (!is_caught(SIGTERM) && !f->ended && !coir_cancelled(f))
        coir_await(f, &f->sleep, coir_sleep, .ns = 1000);
    if (is_caught(SIGTERM))
        kill(getpid(), SIGTERM);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        coir_signals_close(f->signals);
        if (is_caught(SIGUSR1) || is_caught(SIGTERM))
            OK(false, "a disposition is left");
    }
} coir_end

/* ---- the table ---- */

static struct coir_task *make_tasks(void)
{
    return coir_new(tasks);
}

static struct coir_task *make_channels(void)
{
    return coir_new(channels);
}

static struct coir_task *make_waits(void)
{
    return coir_new(waits);
}

static struct coir_task *make_signals(void)
{
    return coir_new(signals);
}

static const struct program {
    const char *name;
    struct coir_task *(*make)(void);
    const char *covers;                  /* operations, without coir_, a space before and behind each */
} programs[] = {
    { "tasks", make_tasks, " sleep sleep_until pass group_spawn group_wait cell_wait combine " },
    { "channels", make_channels, " channel_send channel_recv xchan_send xchan_recv " },
    { "waits", make_waits, " acquire lock condition_wait event_wait once_begin barrier_wait " },
    { "signals", make_signals, " signal_next stop_on_signal " },
};

/* Not here, and why. */
static const struct { const char *covers, *why; } elsewhere[] = {
    { " connect_once ", "private, a part of coir_connect" },
    { " stream_read stream_write_all stream_shutdown stream_close ", "they await the stream's own: over a descriptor "
      "read, write, shutdown and close, which are in the table" },
    { " reader_fill read_some read_exact peek skip read_until read_line skip_until copy put flush make_room ",
      "they allocate nothing and ask nobody but their stream, whose every failure tests/stream makes" },
    { " serve ", "tests/ops/test_serve.c fails its parts" },
    { " process_start process_wait process_close process_run ", "tests/ops/test_process_faults.c fails them" },
    { " tls_handshake ", "another library; tests/tls" },
};

static bool lists(const char *covers, const char *name, size_t n)
{
    char word[80];

    snprintf(word, sizeof word, " %.*s ", (int)n, name);
    return strstr(covers, word);
}

static bool is_covered(const char *name, size_t n)
{
    const size_t less = n > 5 ? 5 : 0;                       /* coir_ */

    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strlen(operations[i].name) == n && !strncmp(operations[i].name, name, n))
            return true;
    }
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (lists(programs[i].covers, name + less, n - less))
            return true;
    }
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (lists(elsewhere[i].covers, name + less, n - less))
            return true;
    }
    return false;
}

/* Each coir_export(NAME) of a header. */
static int check_header(const char *path)
{
    char line[512];
    int found = 0;
    FILE *const file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file)) {
        const char *const at = strncmp(line, "coir_export(", 12) ? NULL : line + 12;

        if (!at || !strncmp(at, "name)", 5))
            continue;
        found++;
        if (!is_covered(at, strcspn(at, ")")))
            OK(false, "%.*s of %s fails at its N-th call nowhere", (int)strcspn(at, ")"), at, path);
    }
    if (file)
        fclose(file);
    return found;
}

static bool is_of_another_library(const char *header)
{
    return strcmp(header, "volume.h") == 0 || strcmp(header, "vm.h") == 0;
}

static void check_headers(void)
{
    const char *const source = getenv("COIR_SOURCE");
    char folder[400], path[700];
    int found = 0;

    snprintf(folder, sizeof folder, "%s/include/coir", source ? source : ".");
    DIR *const headers = opendir(folder);
    for (const struct dirent *e; headers && (e = readdir(headers));) {
        if (!strstr(e->d_name, ".h") || is_of_another_library(e->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        found += check_header(path);
    }
    if (headers)
        closedir(headers);
    OK(found > 60, "every operation of the headers is failed somewhere (%d)", found);
}

/* ---- failing ---- */

static const char *name_of(int err)
{
    return err ? strerrorname_np(err) : "allocation";
}

static bool run_once(const struct program *p, int err, long n)
{
    const int before = count_fds();

    snprintf(running, sizeof running, "not ok - it hangs: %s: %s %ld\n", p->name, name_of(err), n);
    alarm(PATIENCE);
    coir_fail_alloc_at = err ? 0 : n;
    coir_fail_syscall_at = err ? n : 0;
    coir_fail_syscall_with = err;
    const int run = coir_run(NULL, p->make());
    const bool fired = !coir_fail_alloc_at && !coir_fail_syscall_at;
    coir_fail_alloc_at = coir_fail_syscall_at = 0;
    alarm(0);
    if (run > 0 || run < -4095 || (!fired && run) || ((err == EINTR || err == EAGAIN) && run))
        OK(false, "%s: %d %ld: the run ends with %d", p->name, err, n, run);
    if (count_fds() != before)
        OK(false, "%s: %d %ld: descriptors %+d", p->name, err, n, count_fds() - before);
    return fired;
}

int main(void)
{
    static const int errors[] = { 0, EIO, ENOMEM, EMFILE, EINTR, EAGAIN };

    check_headers();
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
            long n = 1;

            while (n < LAST && run_once(&programs[i], errors[k], n))
                n++;
            OK(n < LAST, "%s: %s: each of %ld has failed", programs[i].name, name_of(errors[k]), n - 1);
        }
    }
    return DONE();
}
#endif
