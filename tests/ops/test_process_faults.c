/* SPDX-License-Identifier: MIT */
/*
 * A task with two programs, one talked to and one run, again and again with the N-th allocation, then the N-th system
 * call failing, for every N until nothing fails. Each failure is reported, none leaves a descriptor or a child, and
 * none hangs. Interruptions and "again" are not for callers to see.
 */
#include "children.h"
#include "runtime/base/fault.h"
#include "runtime/base/pool.h"

#ifdef COIR_FAULTS

enum { PATIENCE = 20, LAST = 1000 };

static char running[128];

static void hangs(int number)
{
    (void)number;
    if (write(1, running, strlen(running)) < 0)
        _exit(3);
    _exit(2);
}

struct owner {
    coir_frame_void;
    coir_args(bool group;);
    char said[8];
    size_t n;
    struct coir_process p;
    union {
        struct coir_process_start start;
        struct coir_process_wait wait;
        struct coir_process_close close;
        struct coir_process_run run;
        struct coir_write_all write;
        struct coir_read read;
    };
};
static coir_declare(owner);

coir_body(owner, f) {
    static char *const cat[] = { "cat", NULL }, *const echo[] = { "echo", "hello", NULL };

    f->p = COIR_NO_PROCESS;
    f->n = 0;
    coir_try(f, &f->start, coir_process_start, .process = &f->p, .argv = cat,
             .options = { .in = COIR_STDIO_PIPE, .out = COIR_STDIO_PIPE, .group = f->group });
    coir_try(f, &f->write, coir_write_all, .fd = f->p.in, .buf = "hello", .len = 5);
    do {                                 /* a read may give a part */
        coir_try(f, &f->read, coir_read, .fd = f->p.out, .buf = f->said + f->n, .len = sizeof f->said - f->n);
        f->n += f->read.result;
    } while (f->read.result && f->n < 5);
    if (f->n != 5 || memcmp(f->said, "hello", 5))
        coir_fail(f, EBADMSG);
    coir_process_kill(&f->p, SIGTERM);
    coir_try(f, &f->wait, coir_process_wait, .process = &f->p);
    coir_try(f, &f->run, coir_process_run, .argv = echo, .out = f->said, .out_len = sizeof f->said);
    if (f->run.result.out_len != 6 || memcmp(f->said, "hello\n", 6) || f->run.result.exit.code != 0)
        coir_fail(f, EPROTO);
    coir_finally(f) {
        coir_await(f, &f->close, coir_process_close, .process = &f->p);
    }
} coir_end

static const char *name_of(int err)
{
    return err ? strerrorname_np(err) : "allocation";
}

static bool run_once(bool group, int err, long n)
{
    const int before = open_descriptors();

    snprintf(running, sizeof running, "not ok - it hangs: %s %ld\n", name_of(err), n);
    alarm(PATIENCE);
    coir_fail_alloc_at = err ? 0 : n;
    coir_fail_syscall_at = err ? n : 0;
    coir_fail_syscall_with = err;
    const int run = coir_run(NULL, coir_new(owner, .group = group));
    const bool fired = !coir_fail_alloc_at && !coir_fail_syscall_at;
    coir_fail_alloc_at = coir_fail_syscall_at = 0;
    alarm(0);
    if (run > 0 || run < -4095 || run == -EBADMSG || run == -EPROTO || (!fired && run)
        || ((err == EINTR || err == EAGAIN) && run))
        OK(false, "%s %ld: the run ends with %d", name_of(err), n, run);
    if (open_descriptors() != before || !no_children())
        OK(false, "%s %ld: descriptors %+d, children %d", name_of(err), n, open_descriptors() - before, !no_children());
    return fired;
}

int main(int argc, char **argv)
{
    static const int errors[] = { 0, EIO, ENOMEM, EMFILE, EINTR, EAGAIN };

    child_begin(argc, argv);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = hangs }, NULL);
    for (int group = 0; group < 2; group++) {
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            long n = 1;
            while (n < LAST && run_once(group, errors[i], n))
                n++;
            OK(n > 5 && n < LAST, "%s: each of %ld has failed", name_of(errors[i]), n - 1);
        }
    }
    return DONE();
}

#else

int main(void)
{
    (void)child_begin;
    (void)clean_run;
    SKIP_ALL("built without -Dfaults=true");
}

#endif
