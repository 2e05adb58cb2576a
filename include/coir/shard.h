/* SPDX-License-Identifier: MIT */
/*
 * coir/shard.h - running tasks.
 *
 * A shard is one thread with a FIFO run queue (and a background one that yields to it), timers, an inbox and
 * one I/O plane. A task lives on one shard and is resumed there; between two awaits nothing else runs on the
 * shard. Shards share nothing but their inboxes.
 *
 * The environment can say: COIR_IO=uring|epoll, which plane (default: uring if the kernel and its limits
 * allow it); COIR_URING=-multishot,-msg_ring,-defer,-bufring,..., ring features to do without;
 * COIR_TIME=virtual (or real), a clock that jumps to the next timer when the shard is idle: nothing is
 * ready, and no file operation or offload is under way, since those end by themselves. It does not wait for
 * cells, or for peers. COIR_SEE=path: a window, through which other processes see the run; COIR_TRACE=file: a
 * trace of it; COIR_RECORD=n: its last events are kept (docs/see.md).
 */
#ifndef COIR_SHARD_H
#define COIR_SHARD_H

#include <coir/group.h>

#ifdef __cplusplus
extern "C" {
#endif
# 25 "coir/shard.h"

/* Where frames and the runtime's own memory come from. `alloc` returns NULL when there is none; memory
 * is 16-byte aligned. Both are called from any shard's thread. */
#ifndef COIR_ALLOCATOR_DECLARED
#define COIR_ALLOCATOR_DECLARED
struct coir_allocator {
    void *(*alloc)(size_t size, void *ctx);
    void (*free)(void *ptr, size_t size, void *ctx);
    void *ctx;
};
#endif

/* What coir_run may be told; what is not named is 0 or NULL, and means what is said first or in the comment. */
struct coir_options {
    unsigned shards;                  /* threads that run tasks, at most 64. 0: one */
    /* do not pin shard n to the n-th allowed CPU (one shard is never pinned) */
    bool unpinned;
    /* when the main task has ended, wait for detached tasks; false: cancel them */
    bool drain;
    const char *io;                   /* "uring", "epoll"; NULL: COIR_IO, then a probe */
    unsigned ring_entries;            /* of the submission queue, a power of two from 2 to 4096. 0: 256 */
    const struct coir_allocator *allocator;   /* NULL: malloc */
    /* path of a window, through which other processes see the run (docs/see.md). NULL: COIR_SEE; "": none */
    const char *see;
    /* a step that takes so many milliseconds is reported on stderr, while it goes on (docs/see.md). 0: COIR_SLOW_MS;
     * without it 100 in a program compiled with -DCOIR_DEBUG, and in others none is. Negative: none is. */
    int slow_ms;
    /* a signal that makes every shard print its tasks to stderr, as coir_dump does: SIGUSR1, say. 0: COIR_DUMP, which
     * has its name; without it none does, and the program's signals are left alone. */
    int dump_signal;
};

/*
 * int coir_main(task) - runs a program on one shard, on the calling thread, with default options. Returns
 * an exit code: 0, or 1 after a line on stderr that says what the main task failed with. NULL for a task is
 * -ENOMEM.
 *
 * int coir_run(options, task) - runs `task` on shard 0, which is the calling thread, until it has ended;
 * then detached tasks are drained or cancelled, and every shard's thread has ended when it returns. Returns
 * the task's status;
 *   -EDEADLK   everything sleeps and nothing can wake it: coir_dump has been printed, and everything was cancelled
 *   -ENOMEM, -EMFILE, -EAGAIN...   it could not begin; a line on stderr says why
 *   -EINVAL    the options, or a COIR_... variable of the environment, make no sense; a line on stderr says which
 *   -ENOEXEC   the program was compiled against frames of other sizes than this library's
 *   -EBUSY     another coir_run is going on in this process, or this thread is a shard
 * `options` may be NULL. The task is taken in every case.
 */
#define coir_main(task) coir_main_(task, COIR_ABI_)
#define coir_run(options, task) coir_run_(options, task, COIR_ABI_)
COIR_API int coir_main_(struct coir_task *main, uint64_t abi);
COIR_API int coir_run_(const struct coir_options *o, struct coir_task *main, uint64_t abi);

/* Asks coir_run to end: cancels the main task and the detached ones of every shard. Any thread; not a
 * signal handler. */
COIR_API void coir_stop(void);

/* The shard this thread is, from 0; -1: none. Any thread. */
COIR_API int coir_shard_id(void);

/* How many shards the running program has; 0 when none runs. Any thread. */
COIR_API unsigned coir_shard_count(void);

/* Nanoseconds of CLOCK_MONOTONIC, or of the virtual clock. Any thread; where no shard runs the real clock. */
COIR_API int64_t coir_now(void);

/* True under COIR_TIME=virtual. */
COIR_API bool coir_time_is_virtual(void);

/* ---- inside another loop ----------------------------------------------------------------------------- */

/*
 * Makes the calling thread a shard whose turns another loop runs (libuv, GLib, epoll), and begins `task` on
 * it. All later calls are made on this thread. Errors as coir_run; NULL and errno set. options.shards must be
 * 0 or 1.
 */
#define coir_shard_open(options, task) coir_shard_open_(options, task, COIR_ABI_)
COIR_API struct coir_shard *coir_shard_open_(const struct coir_options *o, struct coir_task *main, uint64_t abi);

/* A descriptor that polls readable when coir_turn has something to do. It stays the shard's; do not read from
 * it. A completion of the ring may end this thread's wait for it with EINTR: wait again. Cannot fail. */
COIR_API int coir_shard_fd(struct coir_shard *s);

/* Runs what is ready, without waiting. 1: tasks are left, call again when the descriptor is readable; 0:
 * all have ended. Cannot fail. */
COIR_API int coir_turn(struct coir_shard *s);

/* Cancels what is left, waits for its end, and undoes coir_shard_open. Returns the status of the first
 * task, 0 or a negative errno: as a rule -ECANCELED if it had not ended before. */
COIR_API int coir_shard_close(struct coir_shard *s);

/* ---- from shard to shard ----------------------------------------------------------------------------- */

/* Begins a task of coir_new on shard `shard`, in that shard's root group. Takes the frame in every case.
 * -ENOMEM for NULL, -EINVAL for a shard that is not there. Any thread while coir_run goes on. */
COIR_API int coir_spawn_on(unsigned shard, struct coir_task *t);

/*
 * coir_await_on(f, shard, slot, name, .arg = ...) - coir_await whose child runs on another shard and comes
 * home. Cancelling follows it there. -EINVAL in its status for a shard that is not there, -ENOMEM for no
 * memory.
 */
#ifndef __cplusplus
#define coir_await_on(f, shard, slot, name, ...) COIR_AWAIT_ON_(__COUNTER__, f, shard, slot, name, __VA_ARGS__)
#define COIR_AWAIT_ON_(n, f, shard, slot, name, ...) do { \
    COIR_STAND_(f); \
    COIR_ARGS_(slot, name, __VA_ARGS__); \
    coir_child_(&(slot)->task, name##_resume, &(f)->task); \
    { \
        struct coir_task *const coir_waits_ = coir_send_away_(&(slot)->task, shard); \
        if (coir_waits_) \
            COIR_SUSPEND_(n, f, coir_waits_); \
    } \
    if (0) { \
        COIR_RESUMED_(n, f); \
    } } while (0)
#endif
COIR_API struct coir_task *coir_send_away_(struct coir_task *child, unsigned shard);

/*
 * Runs a task of coir_new on shard `shard` and blocks the calling thread, which is no shard, until it has
 * ended. Returns its status. Takes the frame in every case. -EDEADLK, and a line on stderr, on a shard's
 * thread; -EINVAL for a shard that is not there, -ENOMEM for NULL.
 */
COIR_API int coir_sync(unsigned shard, struct coir_task *t);

/* ---- scheduling -------------------------------------------------------------------------------------- */

/* Goes to the tail of the run queue. -ECANCELED in a cancelled scope, without going. */
struct coir_pass {
    coir_frame_void;
    coir_no_args;
};
COIR_API coir_step coir_pass_apart_(struct coir_task *t);

/* In place, since it is done so often: the awaiter itself is queued, its child has nothing left to do. A
 * combinator and a spawned pass are resumed by the child. */
static inline coir_step coir_pass_resume(struct coir_task *t)
{
    struct coir_task *const up = t->awaiter;

    if (__builtin_expect(t->state || coir_here.cancelled || !up, 0)
        || (up->flags & (COIR_TASK_COUNTS_ | COIR_TASK_BACKGROUND_)))
        return coir_pass_apart_(t);
    t->state = COIR_LEFT_;
    coir_ready_(up);
    const coir_step parked = { 1 };
    return parked;
}

/* From now on `f`, and what it awaits, runs on the background queue (true), which yields to the other
 * one, or on the usual. */
#define coir_background(f, on) coir_background_(&(f)->task, on)
static inline void coir_background_(struct coir_task *t, bool on)
{
    t->flags = (uint8_t)(on ? t->flags | COIR_TASK_BACKGROUND_ : t->flags & ~COIR_TASK_BACKGROUND_);
}

#ifdef __cplusplus
}
#endif
#endif
