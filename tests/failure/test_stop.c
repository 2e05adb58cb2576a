/* SPDX-License-Identifier: MIT */
/*
 * Shutting down with every kind of operation in flight, several of each: the main task returns with detached tasks,
 * or coir_stop is called, by a task or by another thread. Every task's coir_finally runs, once, and may await there;
 * every operation has its end; no descriptor and no memory is left.
 */
#include <pthread.h>
#include <signal.h>

#include "../agree/drive.h"

enum { COPIES = 5, OPERATIONS = sizeof operations / sizeof *operations, ALL_OF_THEM = COPIES * OPERATIONS };

static struct world worlds[ALL_OF_THEM];
static int finished;

/* An operation, and a cleanup that awaits. */
struct held {
    coir_frame_void;
    coir_args(struct world *w; struct coir_task *(*make)(struct world *w););
    struct coir_task *kids[1];
    struct coir_combine all;
    struct coir_pass pass;
    struct coir_close close;
};
static coir_declare(held);
coir_body(held, f) {
    f->kids[0] = f->make(f->w);
    coir_all(f, &f->all, f->kids, 1);
    if (f->make == make_coir_close && f->w->status == 0)
        f->w->fd = -1;
    coir_finally(f) {
        coir_await(f, &f->pass, coir_pass);
        if (f->w->fd >= 0) {
            coir_await(f, &f->close, coir_close, .fd = f->w->fd);
            f->w->fd = -1;
        }
        finished++;
    }
} coir_end

/* A row in which it waits; where there is none, one that does something. */
static const struct row *row_that_waits(const struct operation *op)
{
    for (size_t i = 0; i < op->n; i++) {
        if (op->rows[i].when == DURING)
            return &op->rows[i];
    }
    return op->rows;
}

static void make_worlds(void)
{
    for (int i = 0; i < ALL_OF_THEM; i++) {
        const struct operation *const op = &operations[i % OPERATIONS];
        const struct case_ c = { op, row_that_waits(op), i / OPERATIONS % 2 };

        make_world(&worlds[i], &c);
    }
}

static void close_worlds(void)
{
    for (int i = 0; i < ALL_OF_THEM; i++)
        close_world(&worlds[i]);
}

enum way { MAIN_RETURNS, MAIN_FAILS, STOPPED_BY_A_TASK, STOPPED_BY_A_THREAD, AT_ONCE_, WAYS };
static const char *const ways[] = { "the main task returns", "the main task fails", "a task stops the run",
                                    "a thread stops the run", "the main task returns at once" };

static void *stop_from_outside(void *arg)
{
    (void)arg;
    coir_stop();
    return NULL;
}

struct leader {
    coir_frame_void;
    coir_args(enum way way;);
    pthread_t thread;
    struct coir_sleep sleep;
};
static coir_declare(leader);
coir_body(leader, f) {
    for (int i = 0; i < ALL_OF_THEM; i++)
        coir_detach(coir_new(held, .w = &worlds[i], .make = operations[i % OPERATIONS].make));
    if (f->way == AT_ONCE_)
        coir_return(f);
    coir_await(f, &f->sleep, coir_sleep, .ns = 5 * COIR_MS);
    if (f->way == MAIN_FAILS)
        coir_fail(f, -EDOM);
    if (f->way == STOPPED_BY_A_TASK)
        coir_stop();
    if (f->way == STOPPED_BY_A_THREAD && pthread_create(&f->thread, NULL, stop_from_outside, NULL) == 0)
        pthread_join(f->thread, NULL);
    if (f->way == STOPPED_BY_A_TASK || f->way == STOPPED_BY_A_THREAD)
        coir_try(f, &f->sleep, coir_sleep, .ns = 60 * COIR_S);
} coir_end

static int wanted(enum way way)
{
    return way == MAIN_FAILS ? -EDOM : way == STOPPED_BY_A_TASK || way == STOPPED_BY_A_THREAD ? -ECANCELED : 0;
}

static void stop(enum way way, unsigned entries, const char *without)
{
    const struct coir_options options = { .ring_entries = entries };
    const int before = count_fds();
    int unended = 0;

    finished = 0;
    if (without)
        setenv("COIR_URING", without, 1);
    make_worlds();
    alarm(30);
    EQ(coir_run(&options, coir_new(leader, .way = way)), wanted(way), "%s, ring %u", ways[way], entries);
    alarm(0);
    for (int i = 0; i < ALL_OF_THEM; i++) {
        if (!worlds[i].ended && unended++ == 0)
            NOTE("%s has not ended", operations[i % OPERATIONS].name);
    }
    EQ(unended, 0, "%s: every operation has ended", ways[way]);
    EQ(finished, ALL_OF_THEM, "%s: every coir_finally has run to its end", ways[way]);
    close_worlds();
    EQ(count_fds(), before, "%s: no descriptor is left", ways[way]);
    unsetenv("COIR_URING");
}

int main(void)
{
    const char *const where = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    char folder[64];

    snprintf(folder, sizeof folder, "%s/coir-stop-XXXXXX", where);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        SKIP_ALL("no folder under %s", where);
    for (int way = 0; way < WAYS; way++) {
        stop((enum way)way, 0, NULL);
        stop((enum way)way, 8, NULL);
        stop((enum way)way, 8, "-multishot,-msg_ring,-defer,-coop,-submit_all,-bufring,-poll_first");
    }
    unlink("file");
    unlink("new");
    rmdir("folder/new");
    rmdir("folder");
    if (chdir("/") == 0)
        rmdir(folder);
    return DONE();
}
