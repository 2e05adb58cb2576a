/* SPDX-License-Identifier: MIT */
/*
 * Child processes: starting, waiting, signals, and the shard's list of those that nobody has left yet.
 *
 *      start: pipes here -> made on the pool -> listed     wait: the pidfd is readable -> waitid -> noted, reaped
 *
 * The number of a process is used for nothing but its group, and only while its leader is not reaped, which nobody but
 * this file does (SIGCHLD aside: see process.h): a leader stays a zombie until it is closed. Everything else goes
 * through the pidfd, which is closed when the child is reaped and nobody waits on it any more.
 *
 * Must never happen: a descriptor of a start that failed left open; a child in no list.
 */
#include <coir/process.h>
#include <coir/time.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "runtime/ops/op.h"
#include "runtime/ops/process.h"

/* ---- the record ---- */

static void list(struct coir_child *c)
{
    struct coir_shard *s = coir_shard_here();

    c->home = s;
    c->next = s->children;
    c->link = &s->children;
    if (c->next)
        c->next->link = &c->next;
    s->children = c;
}

static void unlist(struct coir_child *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
}

/* The last component of a path, cut. */
static void name_child(struct coir_child *c, const char *file)
{
    const char *slash = strrchr(file, '/');

    snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : file);
}

/* ---- start ---- */

struct start {
    struct coir_child *child;           /* not listed before it is there */
    int theirs[3], ours[3];             /* ends of pipes, or -1 */
    enum coir_process_part failed;
};
_Static_assert(sizeof(struct start) <= sizeof ((struct coir_process_start *)0)->private_, "fits into the frame");

static struct start *private_of(struct coir_process_start *op)
{
    return (struct start *)(void *)op->private_;
}

static int stdio_of(const struct coir_process_options *o, int i)
{
    return i == 0 ? o->in : i == 1 ? o->out : o->err;
}

static const char *file_of(const struct coir_process_start *op)
{
    return op->options.program ? op->options.program : op->argv[0];
}

static int check_list(struct coir_task *t, char *const *list)
{
    if (coir_arguments_live(t, list, "coir_process_start"))
        return -EFAULT;
    for (; list && *list; list++) {
        if (coir_arguments_live(t, *list, "coir_process_start"))
            return -EFAULT;
    }
    return 0;
}

static int check_stdio(int stdio, bool is_err)
{
    if (stdio == COIR_STDIO_FD(-1))
        return -EBADF;
    return stdio < 0 || (stdio > COIR_STDIO_STDOUT && stdio < COIR_STDIO_FIRST_FD_)
        || (stdio == COIR_STDIO_STDOUT && !is_err) ? -EINVAL : 0;
}

static int check_start(struct coir_process_start *op)
{
    struct coir_task *t = &op->task;
    int err;

    if (!op->argv || check_list(t, op->argv) || check_list(t, op->options.env)
        || coir_arguments_live(t, op->options.program, "coir_process_start")
        || coir_arguments_live(t, op->options.cwd, "coir_process_start"))
        return -EFAULT;
    err = op->argv[0] ? 0 : -EINVAL;
    for (int i = 0; i < 3 && !err; i++)
        err = check_stdio(stdio_of(&op->options, i), i == 2);
    return err;
}

/* Out of the way of the standard streams, where this program has closed one of its own. */
static int above_streams(int fd)
{
    int high = fd;

    if (fd < 3) {
        high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        const int err = errno;
        close(fd);
        errno = err;
    }
    return high;
}

/* A pipe for stream i: the child's end blocks, ours is as the plane wants it. */
static int make_pipe(struct start *s, int i)
{
    const int fault = coir_syscall_fault_lasting();
    int fds[2];

    if (fault)
        return fault;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    s->theirs[i] = above_streams(fds[i != 0]);
    s->ours[i] = s->theirs[i] < 0 ? (close(fds[i == 0]), -1) : above_streams(fds[i == 0]);
    if (s->ours[i] < 0)
        return -errno;
    if (coir_plane_here()->kind->nonblocking && fcntl(s->ours[i], F_SETFL, O_NONBLOCK | (i ? O_RDONLY : O_WRONLY)) < 0)
        return -errno;
    coir_fd_forget(coir_plane_here(), s->ours[i]);
    return 0;
}

static void close_ends(int fds[3])
{
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* What a child needs that is made before it. 0 or a negative errno. */
static int prepare(struct coir_process_start *op)
{
    struct start *s = private_of(op);
    int err = 0;

    s->failed = COIR_PROCESS_RESOURCES;
    s->child = coir_pool_alloc(&coir_shard_here()->pool, sizeof *s->child);
    if (!s->child)
        return -ENOMEM;
    for (int i = 0; i < 3 && !err; i++) {
        if (stdio_of(&op->options, i) == COIR_STDIO_PIPE)
            err = make_pipe(s, i);
    }
    return err;
}

static int stream_of(const struct coir_process_start *op, const struct start *s, int i)
{
    const int stdio = stdio_of(&op->options, i);

    switch (stdio) {
    case COIR_STDIO_DEFAULT:
    case COIR_STDIO_INHERIT:
        return COIR_STREAM_AS_IT_IS;
    case COIR_STDIO_NULL:
        return COIR_STREAM_NULL;
    case COIR_STDIO_PIPE:
        return s->theirs[i];
    case COIR_STDIO_STDOUT:
        return COIR_STREAM_STDOUT;
    default:
        return stdio - COIR_STDIO_FIRST_FD_;
    }
}

static const char *folders_for(const struct coir_process_start *op)
{
    const char *path;

    if (op->options.exact || strchr(file_of(op), '/') || !*file_of(op))
        return NULL;
    path = getenv("PATH");
    return path ? path : "/bin:/usr/bin";
}

/* On a thread of the pool. */
static int start_attempt(struct coir_task *t)
{
    struct coir_process_start *op = (struct coir_process_start *)t;
    struct start *s = private_of(op);
    struct coir_child *c = s->child;
    struct coir_plan plan = {
        .file = file_of(op),
        .path = folders_for(op),
        .argv = op->argv,
        .env = op->options.env ? op->options.env : environ,
        .cwd = op->options.cwd,
        .stream = { stream_of(op, s, 0), stream_of(op, s, 1), stream_of(op, s, 2) },
        .session = op->options.session,
        .group = op->options.group,
        .keep_fds = op->options.keep_fds,
    };
    const int err = coir_process_make(&plan, &c->pid, &c->pidfd);

    s->failed = plan.failed;
    return err;
}

static const struct coir_io_kind start_kind = {
    .name = "coir_process_start",
    .attempt = start_attempt,
};

/* True: it has ended, and io.res says how. */
static bool start_begins(struct coir_process_start *op)
{
    struct start *s = private_of(op);

    *s = (struct start){ NULL, { -1, -1, -1 }, { -1, -1, -1 }, COIR_PROCESS_ARGUMENTS };
    op->io.res = op->process && !coir_arguments_live(&op->task, op->process, "coir_process_start")
        ? check_start(op) : -EFAULT;
    if (op->io.res == 0)
        op->io.res = coir_is_refused(&op->task) ? -ECANCELED : prepare(op);
    if (op->io.res < 0)
        return true;
    s->child->home = coir_shard_here();
    return coir_io_begin(&op->task, &op->io, &start_kind, -1);
}

static void started(struct coir_process_start *op)
{
    struct start *s = private_of(op);
    struct coir_child *c = s->child;

    c->site = op->task.awaiter ? op->task.awaiter->site : NULL;
    c->group = op->options.group || op->options.session;
    c->reaped = c->leaving = false;
    name_child(c, file_of(op));
    coir_fd_forget(coir_plane_here(), c->pidfd);
    list(c);
    *op->process = COIR_NO_PROCESS;
    op->process->child = c;
    op->process->pid = c->pid;
    op->process->in = s->ours[0];
    op->process->out = s->ours[1];
    op->process->err = s->ours[2];
}

static void did_not_start(struct coir_process_start *op)
{
    struct coir_shard *here = coir_shard_here();
    struct start *s = private_of(op);

    close_ends(s->ours);
    if (s->child)
        coir_pool_free(&here->pool, s->child, sizeof *s->child);
    if (!op->process || !coir_is_live(here, op->process))
        return;
    *op->process = COIR_NO_PROCESS;
    op->process->failed = op->io.res == -ECANCELED ? COIR_PROCESS_NOTHING : s->failed;
}

coir_step coir_process_start_resume(struct coir_task *t)
{
    struct coir_process_start *op = (struct coir_process_start *)t;
    struct start *s = private_of(op);

    if (t->state == 0 && !start_begins(op))
        return COIR_PARK_;
    close_ends(s->theirs);
    if (op->io.res == 0)
        started(op);
    else
        did_not_start(op);
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- looking ---- */

static int64_t ns_of(const struct timeval *tv)
{
    return tv->tv_sec * COIR_S + tv->tv_usec * COIR_US;
}

static void note(struct coir_process *p, const siginfo_t *info, const struct rusage *used)
{
    const bool exited = info->si_code == CLD_EXITED;

    p->exit = (struct coir_exit){
        .code = exited ? info->si_status : -1,
        .signal = exited ? 0 : info->si_status,
        .core = info->si_code == CLD_DUMPED,
        .user = ns_of(&used->ru_utime),
        .system = ns_of(&used->ru_stime),
        .max_rss = (int64_t)used->ru_maxrss * 1024,
    };
    p->status = 0;
}

/* waitid(2) as the kernel has it. 1: it has ended; 0: it has not; or a negative errno. */
static int wait_now(const struct coir_child *c, int options, siginfo_t *info, struct rusage *used)
{
    info->si_pid = 0;
    if (syscall(SYS_waitid, P_PIDFD, c->pidfd, info, WEXITED | WNOHANG | options, used) < 0)
        return -errno;
    return info->si_pid != 0;
}

static int look(struct coir_process *p)
{
    struct coir_child *c = p->child;
    struct rusage used;
    siginfo_t info;
    int res;

    if (p->ended)
        return 0;
    res = wait_now(c, c->group ? WNOWAIT : 0, &info, &used);
    if (res == 0)
        return -EAGAIN;
    if (res > 0)
        note(p, &info, &used);
    else
        p->status = res;                 /* -ECHILD: nobody will ever know */
    p->ended = true;
    c->reaped = res < 0 || !c->group;
    return 0;
}

static bool is_waited_on(int fd)
{
    const struct coir_fd *e = coir_fd_find(&coir_plane_here()->fds, fd);

    return e && e->waits;
}

static void forget(struct coir_process *p)
{
    struct coir_child *c = p->child;

    unlist(c);
    coir_pool_free(&c->home->pool, c, sizeof *c);
    p->child = NULL;
}

/* What has been reaped is forgotten, by the last that waits on its pidfd. */
static void bury(struct coir_process *p)
{
    struct coir_child *c = p->child;

    if (!c || !c->reaped || c->leaving || is_waited_on(c->pidfd))
        return;
    coir_fd_forget(coir_plane_here(), c->pidfd);
    close(c->pidfd);
    forget(p);
}

static int check(struct coir_task *t, const struct coir_process *p, const char *name)
{
    if (!p || coir_arguments_live(t, p, name))
        return -EFAULT;
    if (!p->child)
        return p->ended ? 0 : -ESRCH;
    return p->child->home == coir_shard_here() ? 0 : -EINVAL;
}

/* ---- wait ---- */

static int wait_attempt(struct coir_task *t)
{
    return look(((struct coir_process_wait *)t)->process);
}

static const struct coir_io_kind wait_kind = {
    .name = "coir_process_wait",
    .events = POLLIN,
    .attempt = wait_attempt,
};

coir_step coir_process_wait_resume(struct coir_task *t)
{
    struct coir_process_wait *op = (struct coir_process_wait *)t;
    struct coir_process *p = op->process;

    if (t->state == 0) {
        op->io.res = check(t, p, "coir_process_wait");
        if (op->io.res < 0)
            return coir_op_ends_int(t, &op->io, NULL);
        if (!p->ended && !coir_io_begin(t, &op->io, &wait_kind, p->child->pidfd))
            return COIR_PARK_;
    }
    if (p->ended) {                      /* also when somebody else has seen it while this wait was cancelled */
        op->io.res = p->status;
        op->result = p->exit;
        bury(p);
    }
    return coir_op_ends_int(t, &op->io, NULL);
}

/* ---- signals ---- */

int coir_process_kill(struct coir_process *p, int number)
{
    struct coir_child *c;
    struct rusage used;
    siginfo_t info;
    int alive;

    if (!p || !p->child)
        return p ? -ESRCH : -EFAULT;
    c = p->child;
    if (c->home != coir_shard_here())
        return -EINVAL;
    alive = c->reaped ? -ECHILD : wait_now(c, WNOWAIT, &info, &used);
    if (alive == -ECHILD || (alive > 0 && !c->group))
        return -ESRCH;
    /* The number is the leader's as long as it is not reaped. */
    if (c->group)
        return kill(-c->pid, number) < 0 ? -errno : 0;
    return syscall(SYS_pidfd_send_signal, c->pidfd, number, NULL, 0) < 0 ? -errno : 0;
}

/* ---- close ---- */

enum { GRACE_S = 2 };

static int64_t grace_of(const struct coir_process_close *op)
{
    return op->grace ? op->grace : GRACE_S * COIR_S;
}

static int *pipe_of(struct coir_process *p)
{
    return p->in >= 0 ? &p->in : p->out >= 0 ? &p->out : p->err >= 0 ? &p->err : NULL;
}

static int take(int *fd)
{
    const int taken = *fd;

    *fd = -1;
    return taken;
}

/* What is left of its group goes with it; then the leader's number may be another's. */
static void end_group(struct coir_process *p)
{
    struct coir_child *c = p->child;
    struct rusage used;
    siginfo_t info;

    if (!c->reaped && c->group) {
        kill(-c->pid, SIGKILL);
        wait_now(c, 0, &info, &used);
    }
    c->reaped = true;
    c->leaving = true;
}

static int check_close(struct coir_process_close *op)
{
    const int err = check(&op->task, op->process, "coir_process_close");

    return err == -ESRCH ? 0 : err;
}

static bool has_child(const struct coir_process_close *op)
{
    return op->process->child && !op->process->child->leaving;
}

static bool runs(const struct coir_process_close *op)
{
    return op->task.status == 0 && has_child(op) && !op->process->ended;
}

/* Nothing but cleaning up: so all of it stands in coir_finally. The signal goes before the pipes: one that reads to the
 * end of its input would end by itself, or by the signal, as the machine likes. The pipes before the wait: none hangs
 * in one that nobody reads. Who waits for the end meanwhile is told of it before the record goes. */
coir_body(coir_process_close, f) {
    f->task.status = check_close(f);
    coir_finally(f) {
        if (runs(f))
            coir_process_kill(f->process, f->grace < 0 ? SIGKILL : SIGTERM);
        while (f->task.status == 0 && pipe_of(f->process))
            coir_await(f, &f->close, coir_close, .fd = take(pipe_of(f->process)));
        if (runs(f) && f->grace >= 0)
            coir_within(f, &f->scope, coir_now() + grace_of(f), &f->wait, coir_process_wait, .process = f->process);
        while (f->task.status == 0 && has_child(f) && look(f->process) < 0) {
            coir_process_kill(f->process, SIGKILL);
            coir_shield(f, &f->scope, &f->wait, coir_process_wait, .process = f->process);
            if (coir_status(&f->wait) < 0 && look(f->process) < 0)     /* no room in the kernel for another wait */
                coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = COIR_MS);
        }
        if (f->task.status == 0 && has_child(f)) {
            end_group(f->process);
            coir_await(f, &f->close, coir_close, .fd = f->process->child->pidfd);
            forget(f->process);
        }
    }
} coir_end

/* ---- what the shard says of them ---- */

static void print_place(FILE *to, const struct coir_child *c)
{
    fprintf(to, "started at %s:%u (task %s)\n", c->site ? c->site->file : "?", c->site ? c->site->line : 0,
            c->site ? c->site->task : "?");
}

void coir_children_dump(FILE *to, const struct coir_shard *s)
{
    for (const struct coir_child *c = s->children; c; c = c->next) {
        fprintf(to, "  program %d (%s), fd %d, ", (int)c->pid, c->name, c->pidfd);
        print_place(to, c);
    }
}

static void end_child(struct coir_child *c)
{
    siginfo_t info;

    fprintf(stderr, "coir: program %d (%s) was never closed, and is killed; it was ", (int)c->pid, c->name);
    print_place(stderr, c);
    if (c->group)
        kill(-c->pid, SIGKILL);
    syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED) < 0 && errno == EINTR)
        ;
}

void coir_children_end(struct coir_shard *s)
{
    struct coir_child *next;

    for (struct coir_child *c = s->children; c; c = next) {
        next = c->next;
        if (!c->reaped)
            end_child(c);
        close(c->pidfd);
        coir_pool_free(&s->pool, c, sizeof *c);
    }
    s->children = NULL;
}
