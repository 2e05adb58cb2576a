/* SPDX-License-Identifier: MIT */
/*
 * coir/process.h - other programs: started, fed and read through pipes, waited for, stopped.
 *
 *     static char *const argv[] = { "sort", "-u", NULL };
 *     coir_try(f, &f->run, coir_process_run, .argv = argv, .input = f->text, .input_len = f->n,
 *              .out = f->sorted, .out_len = sizeof f->sorted);
 *     printf("exit code %d, %zu bytes\n", f->run.result.exit.code, f->run.result.out_len);
 *
 * That is the everyday way. Underneath are coir_process_start, coir_process_wait, coir_process_kill and
 * coir_process_close, for programs that run beside the task and are talked to.
 *
 * Who starts a program owns it: it is left by coir_process_close, which stops it if it still runs, in coir_finally
 * where there is one. One that is left running is named when its shard ends, with the line that started it, and killed.
 *
 * Ends are learnt from the kernel by a descriptor (pidfd) and reaped through it, and so are signals sent: there is no
 * handler of SIGCHLD, no thread, and no signal ever reaches another process that has got the same number. Two things
 * that a program may do take the end away from everybody: to ignore SIGCHLD (or SA_NOCLDWAIT), and to call wait(2) for
 * any child. The wait then says -ECHILD, once the program has ended.
 *
 * A process is used on the shard that started it.
 */
#ifndef COIR_PROCESS_H
#define COIR_PROCESS_H

#include <coir/combine.h>
#include <coir/io.h>
#include <coir/time.h>

#ifdef __cplusplus
extern "C" {
#endif
# 34 "coir/process.h"

/* ---- how a program is started ------------------------------------------------------------------------ */

/* A standard stream. */
enum {
    COIR_STDIO_DEFAULT,             /* as INHERIT; for the standard input of coir_process_run as NULL */
    COIR_STDIO_INHERIT,             /* what this program has there; nothing, if that is close-on-exec */
    COIR_STDIO_NULL,                /* /dev/null */
    COIR_STDIO_PIPE,                /* a pipe, whose other end is in struct coir_process */
    COIR_STDIO_STDOUT,              /* .err only: where the standard output goes */
    COIR_STDIO_FIRST_FD_ = 16,
};
/* A descriptor, which stays the caller's. */
#define COIR_STDIO_FD(fd) (COIR_STDIO_FIRST_FD_ + (fd))

/*
 * All may be left out. Memory that is pointed at is the operation's until the start has been awaited.
 *
 *   program      the file, if it is not argv[0]
 *   env          its environment, "NAME=value", ended by NULL. NULL: this program's, not to be changed meanwhile
 *   cwd          its working directory, from which a relative path of the file is seen, too. NULL: this program's
 *   in, out, err its standard streams: .out = COIR_STDIO_PIPE, .err = COIR_STDIO_FD(f->log)
 *   exact        the file is a path as it stands; else one without a slash is looked for in the folders of this
 *                program's PATH
 *   group        it leads a process group of its own: signals go to all of it, and what is left of it when the program
 *                has ended is killed by coir_process_close. The terminal's Ctrl-C does not reach it
 *   session      the same, in a session of its own, without a terminal
 *   keep_fds     descriptors above 2 that are not close-on-exec stay open in it; else none does
 *
 * Signals are as a program expects them: none blocked, every disposition the default.
 */
struct coir_process_options {
    const char *program;
    char *const *env;
    const char *cwd;
    int in, out, err;
    bool exact, group, session, keep_fds;
};

/* What failed, when a start did. */
enum coir_process_part {
    COIR_PROCESS_NOTHING,
    COIR_PROCESS_ARGUMENTS,         /* they make no sense, or lie on the C stack */
    COIR_PROCESS_RESOURCES,         /* pipes, memory, a thread, a process: this program's or the machine's limits */
    COIR_PROCESS_STREAMS,           /* a standard stream: a descriptor that is not open */
    COIR_PROCESS_GROUP,             /* the group or session */
    COIR_PROCESS_CWD,               /* the working directory */
    COIR_PROCESS_PROGRAM,           /* the program itself: execve(2) */
};

/* How a program has ended. */
struct coir_exit {
    int code;                       /* what it returned from main, 0 to 255; -1: a signal ended it */
    int signal;                     /* that signal, or 0 */
    bool core;                      /* and wrote a core */
    int64_t user, system;           /* processor time, in ns: its own, and that of children that it waited for */
    int64_t max_rss;                /* the most memory that it had at a time, in bytes */
};

/* A program that was started. Memory of the caller's, in a frame or on the heap, until it is closed. A task that closes
 * one in its coir_finally begins with f->process = COIR_NO_PROCESS, so that a path that did not come to the start has
 * nothing to close. */
struct coir_process {
    int in, out, err;               /* this program's ends of its pipes, close-on-exec; -1: none. Who closes one before
                                     * coir_process_close does sets it to -1 */
    pid_t pid;                      /* for people to read: it may be another's once this one has ended */
    enum coir_process_part failed;  /* of a start that failed: where */
    bool ended;                     /* and that is known: `status` is what waiting says, `exit` how it ended */
    int status;
    struct coir_exit exit;
    struct coir_child *child;       /* private; NULL: nothing to reap */
};

/* No program: what a struct coir_process begins as, and what coir_process_close leaves. */
#define COIR_NO_PROCESS ((struct coir_process){ -1, -1, -1, 0, COIR_PROCESS_NOTHING, false, 0, \
                                                { 0, 0, false, 0, 0, 0 }, NULL })

/*
 * Starts a program: status 0, and *process describes it. Else *process is COIR_NO_PROCESS but for `failed`, and the
 * status is why: of execve(2) -ENOENT, -EACCES, -E2BIG, -ENOEXEC (not a program that the kernel runs; no shell is
 * tried) and others, with failed == COIR_PROCESS_PROGRAM. -EINVAL for no argv[0] and for streams that make no sense,
 * -EFAULT, -EMFILE, -ENOMEM, -EAGAIN.
 *
 * The thread that starts a program stands still until the kernel has loaded it, so this is done on the pool for files.
 * Not begun in a cancelled scope; one that had begun when it was cancelled is started and says 0.
 */
struct coir_process_start {
    coir_frame_void;
    coir_args(struct coir_process *process; char *const *argv; struct coir_process_options options;);
    void *private_[10];
    struct coir_io io;
};
coir_export(coir_process_start);

/*
 * Waits for the end of the program, and says the same again to whoever waits again. Its pipes stay open: others may
 * hold their far ends. -ECANCELED; -ECHILD when its end was taken by somebody else; -ESRCH when none was started,
 * -EINVAL on another shard.
 */
struct coir_process_wait {
    coir_frame(struct coir_exit);
    coir_args(struct coir_process *process;);
    struct coir_io io;
};
coir_export(coir_process_wait);

/* Sends a signal, also to the rest of its group if it leads one. 0: to see whether it runs. Does not suspend. 0;
 * -ESRCH once it has ended, also when nobody has waited for it yet (a group: once it is closed or gone), and when none
 * was started; -EINVAL for what is no signal, or on another shard; -EPERM for a program that changed its user. */
COIR_API int coir_process_kill(struct coir_process *process, int signal);

/*
 * Leaves a program: stops it if it still runs, with SIGTERM and, `grace` ns later, SIGKILL, and closes its pipes. A
 * grace of 0 is 2 seconds, a negative one SIGKILL at once. When it returns the program has ended and is reaped, and
 * *process is COIR_NO_PROCESS but for pid, ended, status and exit. One that has ended, or was closed before, or is
 * COIR_NO_PROCESS, it leaves at once.
 *
 * The signal goes first, and the pipes are closed right behind it: what the program still writes nobody reads, and
 * SIGPIPE may end it. To let it end by the end of its input, close that pipe and wait, before; to have its last words,
 * send the signal by coir_process_kill and read to the end, before.
 *
 * Always done to its end, in a cancelled scope too; there the grace is at most what coir_finally has. It waits until
 * the program is gone, which may be never for one that hangs in a dead disk, or that has become another user's. With
 * virtual time the grace is over at once, unless something keeps the shard busy. Status 0; -EINVAL on another shard.
 */
struct coir_process_close {
    coir_frame_void;
    coir_args(struct coir_process *process; int64_t grace;);
    struct coir_scope scope;
    union {
        struct coir_close close;
        struct coir_process_wait wait;
        struct coir_sleep sleep;
    };
    void *spare_[4];
};
coir_export(coir_process_close);

/* What coir_process_run has done, also when it failed. */
struct coir_ran {
    struct coir_exit exit;
    size_t out_len, err_len;        /* bytes collected */
    size_t fed;                     /* bytes of the input that it took, as far as the pipe can tell */
    bool out_cut, err_cut;          /* there was more */
    enum coir_process_part failed;  /* when it could not be started: where */
};

/*
 * Runs a program to its end. Bytes of `input` go to its standard input; what it writes to its standard output and
 * error is collected in `out` and `err`, at most out_len and err_len bytes; NULL: that stream is as the options say
 * (the input, if they say nothing, is /dev/null). With .options.err = COIR_STDIO_STDOUT both come to `out`. All at
 * once, so that neither waits for the other. A program that ends without reading its input is fine.
 *
 * `more`, if there is one, is called when `out` (with is_err: `err`) is full and the program may write more. It makes
 * room by setting run->out and run->out_len to memory that begins with the result.out_len bytes that are there, and
 * says 0; one that leaves them has no more room. Or it says a negative errno, and the run fails with that. A plain
 * call, on the shard, which does not suspend.
 *
 * The status is 0 when the program has ended, in whichever way: result.exit says how. Else it was stopped, as by
 * coir_process_close with `grace`, and what it had written up to its end is there:
 *
 *   -ECANCELED   cancelled; -ETIMEDOUT under coir_within with a deadline
 *   -EMSGSIZE    it wrote more than there is room for. With `truncate` the rest is read and dropped instead
 *   those of `more`
 *   -ECHILD      somebody else took its end: result.exit is not known
 *   those of coir_process_start, with result.failed
 *
 * It ends with the program, not with the pipes: what the program itself has written is there, but others that it has
 * left behind and that hold its output are not waited for. options.group stops these too.
 */
struct coir_process_run {
    coir_frame(struct coir_ran);
    coir_args(char *const *argv; struct coir_process_options options; const void *input; size_t input_len; void *out;
              size_t out_len; void *err; size_t err_len; bool truncate; int64_t grace;
              int (*more)(struct coir_process_run *run, bool is_err););
    struct coir_process process;
    struct coir_scope *pumps;       /* of what feeds and collects, while it does */
    bool stopping;
    struct coir_scope scope;
    struct coir_task *kids[2];
    union {
        struct coir_process_start start;
        struct coir_combine all;
        struct coir_process_close close;
    };
    void *spare_[4];
};
coir_export(coir_process_run);

#ifdef __cplusplus
}
#endif
#endif
