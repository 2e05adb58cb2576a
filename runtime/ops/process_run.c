/* SPDX-License-Identifier: MIT */
/*
 * coir_process_run: a program fed, read and waited for, all at once.
 *
 *      run --coir_all--> watch: waits for the end, which cancels the pumps
 *                        pump --within a scope--> feed, collect, collect
 *
 * A pipe ends when the last that holds it closes it, and that may be somebody whom the program has left behind. So the
 * end of the program ends the pumps: what it has written itself is in the pipes by then, at most what a pipe holds, and
 * is read without waiting. That is what operations do in a cancelled scope; the rest is counting.
 *
 * Cancelled, or given more than it has room for, it stops the program in coir_finally, with the same watch and pumps,
 * which go on where they stood: what is written to the end is collected.
 */
#include <coir/process.h>
#include <coir/time.h>
#include <fcntl.h>
#include <signal.h>

#include "runtime/ops/op.h"

static bool has_ended(const struct coir_process_run *run)
{
    return run->process.ended;
}

/* ---- the pumps ---- */

struct feed {
    coir_frame_void;
    coir_args(struct coir_process_run *run;);
    int fd;
    union {
        struct coir_write_all write;
        struct coir_close close;
    };
};
static coir_declare(feed);

/* A program that does not read to the end is fine. */
static bool feeding_failed(const struct feed *f)
{
    const int status = coir_status(&f->write);

    return status < 0 && status != -EPIPE && !(status == -ECANCELED && has_ended(f->run));
}

coir_body(feed, f) {
    if (f->run->process.in < 0)
        coir_return(f);
    if (!f->run->stopping) {
        coir_await(f, &f->write, coir_write_all, .fd = f->run->process.in, .buf = f->run->input,
                   .len = f->run->input_len);
        f->run->result.fed = f->write.result;
        if (feeding_failed(f))
            coir_fail(f, coir_status(&f->write));
    }
    f->fd = f->run->process.in;
    f->run->process.in = -1;
    coir_await(f, &f->close, coir_close, .fd = f->fd);
} coir_end

enum { WASTE = 1024 };

struct collect {
    coir_frame_void;
    coir_args(struct coir_process_run *run; bool is_err;);
    int fd;
    size_t n;
    long left;                       /* of what may be the program's own, once it has ended; -1: it has not */
    struct coir_read read;
    char waste[WASTE];               /* where the rest goes */
};
static coir_declare(collect);

static size_t *got_of(struct collect *f)
{
    return f->is_err ? &f->run->result.err_len : &f->run->result.out_len;
}

static size_t room_of(struct collect *f)
{
    return (f->is_err ? f->run->err_len : f->run->out_len) - *got_of(f);
}

/* Where the next read goes: behind what there is, or to the waste. */
static void *place_of(struct collect *f)
{
    return room_of(f) ? (char *)(f->is_err ? f->run->err : f->run->out) + *got_of(f) : f->waste;
}

/* Takes a read into account: 0, it goes on; 1, that was all; or a negative errno. A read that was cancelled by the
 * program's end says nothing of what is in the pipe, one that began after it does. */
static int took(struct collect *f)
{
    const int status = coir_status(&f->read);
    const bool dropped = room_of(f) == 0;

    if (status < 0)
        return status == -ECANCELED && has_ended(f->run) ? f->left >= 0 : status;
    if (f->n == 0)
        return 1;
    if (dropped)
        *(f->is_err ? &f->run->result.err_cut : &f->run->result.out_cut) = true;
    else
        *got_of(f) += f->n;
    if (dropped && !f->run->truncate && !f->run->stopping)
        return -EMSGSIZE;
    return f->left >= 0 && (f->left -= (long)f->n) <= 0;
}

/* Before a read: how much may still come, and room for it; or -ECANCELED, or what `more` says. */
static int limit(struct collect *f)
{
    if (has_ended(f->run) && f->left < 0) {
        f->left = fcntl(f->fd, F_GETPIPE_SZ);
        if (f->left < 0)
            return -errno;
    }
    if (!has_ended(f->run) && coir_cancelled(f))
        return -ECANCELED;
    return room_of(f) == 0 && f->run->more && !f->run->stopping ? f->run->more(f->run, f->is_err) : 0;
}

coir_body(collect, f) {
    f->left = -1;
    f->fd = f->is_err ? f->run->process.err : f->run->process.out;
    if (f->fd < 0)
        coir_return(f);
    do {
        f->task.status = limit(f);
        if (f->task.status < 0)
            break;
        f->n = room_of(f);
        coir_await(f, &f->read, coir_read, .fd = f->fd, .buf = place_of(f), .len = f->n ? f->n : sizeof f->waste);
        f->n = f->read.result;
        f->task.status = took(f);
    } while (f->task.status == 0);
    if (f->task.status > 0)
        f->task.status = 0;
} coir_end

struct pump {
    coir_frame_void;
    coir_args(struct coir_process_run *run;);
    struct coir_scope scope;
    struct coir_task *kids[3];
    struct coir_combine all;
    struct feed feed;
    struct collect out, err;
};
static coir_declare(pump);

/* Its scope is cancelled by the program's end, which may have been before. */
coir_body(pump, f) {
    f->kids[0] = coir_make(&f->feed, feed, .run = f->run);
    f->kids[1] = coir_make(&f->out, collect, .run = f->run);
    f->kids[2] = coir_make(&f->err, collect, .run = f->run, .is_err = true);
    f->run->pumps = &f->scope;
    coir_within(f, &f->scope, has_ended(f->run) ? 0 : COIR_NEVER, &f->all, coir_combine, .kids = f->kids, .n = 3,
                .how = COIR_ALL);
    f->run->pumps = NULL;
    if (coir_status(&f->all) < 0 && !(has_ended(f->run) && coir_status(&f->all) == -ECANCELED))
        coir_fail(f, coir_status(&f->all));
} coir_end

struct watch {
    coir_frame_void;
    coir_args(struct coir_process_run *run;);
    struct coir_process_wait wait;
};
static coir_declare(watch);

/* That nobody will know how it ended is said when what it wrote is collected: a watch that failed would end the pumps,
 * and those that have not begun would never run. */
coir_body(watch, f) {
    coir_await(f, &f->wait, coir_process_wait, .process = &f->run->process);
    if (!has_ended(f->run))
        coir_check(f, &f->wait);
    else if (f->run->pumps)
        coir_scope_cancel(f->run->pumps);
} coir_end

/* ---- the operation ---- */

/* The streams that are collected and fed, beside what the options say. */
static struct coir_process_options options_of(const struct coir_process_run *run)
{
    struct coir_process_options o = run->options;

    if (run->input)
        o.in = COIR_STDIO_PIPE;
    else if (o.in == COIR_STDIO_DEFAULT)
        o.in = COIR_STDIO_NULL;
    if (run->out)
        o.out = COIR_STDIO_PIPE;
    if (run->err)
        o.err = COIR_STDIO_PIPE;
    return o;
}

static int check(struct coir_process_run *run)
{
    struct coir_task *t = &run->task;

    if ((run->input_len && !run->input) || (run->out_len && !run->out) || (run->err_len && !run->err)
        || coir_arguments_live(t, run->input, "coir_process_run")
        || coir_arguments_live(t, run->out, "coir_process_run")
        || coir_arguments_live(t, run->err, "coir_process_run"))
        return -EFAULT;
    /* A pipe that nobody would read, or write. */
    return run->options.in == COIR_STDIO_PIPE || run->options.out == COIR_STDIO_PIPE
        || run->options.err == COIR_STDIO_PIPE ? -EINVAL : 0;
}

static void begin(struct coir_process_run *run)
{
    run->process = COIR_NO_PROCESS;
    run->process.failed = COIR_PROCESS_ARGUMENTS;
    run->pumps = NULL;
    run->stopping = false;
}

static void make_kids(struct coir_process_run *run)
{
    run->kids[0] = coir_new(watch, .run = run);
    run->kids[1] = coir_new(pump, .run = run);
}

static bool runs(const struct coir_process_run *run)
{
    return run->process.child && !run->process.ended;
}

/* A signal, and what is to go on until the program has ended of it. */
static void stop(struct coir_process_run *run, int number)
{
    run->stopping = true;
    coir_process_kill(&run->process, number);
    make_kids(run);
}

static int64_t grace_of(const struct coir_process_run *run)
{
    return run->grace ? run->grace : 2 * COIR_S;
}

coir_body(coir_process_run, f) {
    begin(f);
    f->task.status = check(f);
    if (f->task.status < 0)
        coir_fail(f, f->task.status);
    coir_try(f, &f->start, coir_process_start, .process = &f->process, .argv = f->argv, .options = options_of(f));
    make_kids(f);
    coir_all(f, &f->all, f->kids, 2);
    coir_check(f, &f->all);
    if (f->process.status < 0)
        coir_fail(f, f->process.status);
    coir_finally(f) {
        if (runs(f) && f->grace >= 0) {
            stop(f, SIGTERM);
            coir_within(f, &f->scope, coir_now() + grace_of(f), &f->all, coir_combine, .kids = f->kids, .n = 2,
                        .how = COIR_ALL);
        }
        if (runs(f)) {
            stop(f, SIGKILL);
            coir_all(f, &f->all, f->kids, 2);
        }
        f->result.exit = f->process.exit;
        f->result.failed = f->process.failed;
        coir_await(f, &f->close, coir_process_close, .process = &f->process, .grace = -1);
        f->result.exit = f->process.exit;
    }
} coir_end
