/* SPDX-License-Identifier: MIT */
/*
 * The N-th allocation fails, or the N-th system call, for N = 1, 2, 3, ... until a run passes in which nothing failed.
 * So for every operation of the table of tests/agree, at once and while it waits. After each: nothing hangs, no
 * descriptor is left, the status is success or a negative errno, and memory is the leak checker's business.
 *
 * An interruption, and an "again", are not for callers to see: with those every run must end as if nothing had been.
 */

#ifndef COIR_FAULTS
#include "tap.h"

int main(void)
{
    SKIP_ALL("built without -Dfaults=true");
}
#else
#include <signal.h>

#include "../agree/drive.h"
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

/* 0: allocations; else the errno that system calls fail with. */
static void arm(int err, long n)
{
    coir_fail_alloc_at = err ? 0 : n;
    coir_fail_syscall_at = err ? n : 0;
    coir_fail_syscall_with = err;
}

static bool has_fired(void)
{
    const bool fired = !coir_fail_alloc_at && !coir_fail_syscall_at;

    coir_fail_alloc_at = coir_fail_syscall_at = 0;
    return fired;
}

static const char *name_of(int err)
{
    return err ? strerrorname_np(err) : "allocation";
}

/* The torture build may move less than there is. */
static bool is_result(int64_t result, int64_t wanted)
{
    return result == wanted || (COIR_TORTURED && result > 0 && result < wanted);
}

static bool is_sensible(const struct world *w, const struct row *row, int run, int err)
{
    if (run < 0 || !w->ended)        /* what was around it failed */
        return run <= 0 && run > -4096;
    if (err == EINTR || err == EAGAIN)
        return (w->status == row->status && is_result(w->result, row->result))
            || (row->either && w->status == -ECANCELED);
    return w->status <= 0 && w->status > -4096;
}

/* One run. Value: whether the fault has come. */
static bool run_once(const struct case_ *c, int err, long n)
{
    static struct world w;
    const int before = count_fds();

    make_world(&w, c);
    snprintf(running, sizeof running, "not ok - it hangs: %s: %s: %s %ld\n", c->op->name, c->row->what, name_of(err),
             n);
    alarm(PATIENCE);
    arm(err, n);
    const int run = coir_run(NULL, coir_new(whole, .w = &w, .c = c));
    const bool fired = has_fired();
    alarm(0);
    if (!strcmp(c->op->name, "coir_close") && w.ended && fcntl(w.fd, F_GETFD) < 0)
        w.fd = -1;
    close_world(&w);
    if (!is_sensible(&w, c->row, run, err))
        OK(false, "%s, %s: %s %ld: run %d, status %d, result %lld", c->op->name, c->row->what, name_of(err), n, run,
           w.status, (long long)w.result);
    if (count_fds() != before)
        OK(false, "%s, %s: %s %ld: descriptors %+d", c->op->name, c->row->what, name_of(err), n, count_fds() - before);
    return fired;
}

static void fail_each(const struct operation *op, const struct row *row, int err)
{
    const struct case_ c = { op, row, false };
    long n = 1;

    while (n < LAST && run_once(&c, err, n))
        n++;
    OK(n < LAST, "%s, %s: %s: each of %ld has failed", op->name, row->what, name_of(err), n - 1);
}

static void check_row(const struct operation *op, const struct row *row)
{
    static const int errors[] = { 0, EIO, ENOMEM, EMFILE, EINTR, EAGAIN };

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        fail_each(op, row, errors[i]);
}

/* The success at once, the success that comes, and one that is cancelled. */
static void check_operation(const struct operation *op)
{
    static const enum when whens[] = { LATER, DURING, CLOSING };

    check_row(op, &op->rows[0]);
    for (size_t i = 0; i < sizeof whens / sizeof *whens; i++) {
        const struct row *row = op->rows;

        while (row < op->rows + op->n && row->when != whens[i])
            row++;
        if (row < op->rows + op->n)
            check_row(op, row);
    }
}

int main(int argc, char **argv)
{
    const char *const where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char folder[64];

    snprintf(folder, sizeof folder, "%s/coir-nth-XXXXXX", where);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        SKIP_ALL("no folder under %s", where);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (argc < 2 || !strcmp(argv[1], operations[i].name))
            check_operation(&operations[i]);
    }
    unlink("file");
    unlink("new");
    rmdir("folder/new");
    rmdir("folder");
    if (chdir("/") == 0)
        rmdir(folder);
    return DONE();
}
#endif
