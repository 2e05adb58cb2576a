/* SPDX-License-Identifier: MIT */
/*
 * What a thread of a pool, or of the kernel's, does for a task, against what may end the wait: what has not begun
 * never does, what has begun is waited for, and a descriptor is somebody's.
 *
 * A pool is held to one thread, and that one stands at a gate, so that what comes behind it is queued for as long as
 * the test likes.
 */
#include "races.h"

#include <sched.h>
#include <semaphore.h>
#include <sys/stat.h>

static sem_t gate;
static int ran;                          /* atomic: the contender's function has begun */
static char folder[64], path[96];

static int64_t stands_at_the_gate(void *unused)
{
    (void)unused;
    while (sem_wait(&gate) < 0)
        ;
    return 0;
}

struct occupant {
    coir_frame_void;
    coir_args(const char *pool;);
    struct coir_offload offload;
};
static coir_declare(occupant);

coir_body(occupant, f) {
    coir_await(f, &f->offload, coir_offload, .pool = f->pool, .fn = stands_at_the_gate);
} coir_end

/* The only thread of the pool is held. On the shard. */
static void occupy(const char *pool)
{
    coir_pool_limit(pool, 1);
    coir_detach(coir_new(occupant, .pool = pool));
}

static struct coir_pool_counts counts(const char *pool)
{
    struct coir_pool_counts c = { 0 };

    coir_pool_stats(pool, &c);
    return c;
}

/* The gate opens; with the contender behind it, until its thread has done with it too. */
static void let_all_go(const struct world *w, const char *pool)
{
    sem_post(&gate);
    while (w->order == EVENT_FIRST && counts(pool).done < 2)
        sched_yield();
}

/* ---- functions ---- */

static bool begin_gate(struct world *w)
{
    (void)w;
    __atomic_store_n(&ran, 0, __ATOMIC_SEQ_CST);
    return sem_init(&gate, 0, 0) == 0;
}

static int64_t counts_itself(void *unused)
{
    (void)unused;
    return __atomic_add_fetch(&ran, 1, __ATOMIC_SEQ_CST) + 16;
}

struct offloads { coir_frame_void; coir_args(struct world *w;); struct coir_pass pass; struct coir_offload slot; };
static coir_declare(offloads);
coir_body(offloads, f) {
    occupy("held");
    while (counts("held").running == 0)
        coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->slot, coir_offload, .pool = "held", .fn = counts_itself);
    f->w->status = coir_status(&f->slot);
    f->w->number = f->slot.result;
    coir_check(f, &f->slot);
} coir_end
static struct coir_task *make_offloads(struct world *w) { return coir_new(offloads, .w = w); }

static bool it_is_queued(struct world *w)
{
    (void)w;
    return counts("held").running == 1 && counts("held").queued == 1;
}

static void held_pool_goes_on(struct world *w)
{
    let_all_go(w, "held");
}

static void check_ran(struct world *w)
{
    RACE_EQ(__atomic_load_n(&ran, __ATOMIC_SEQ_CST), w->won, "it has run, once, or never will");
    RACE_EQ(w->number, w->won ? 17 : 0, "what it returned");
}

static const struct contest queued_contest = {
    "offload, queued", begin_gate, make_offloads, held_pool_goes_on, check_ran, NULL, it_is_queued,
    .rivals = BUT_CLOSE };

static int64_t waits_and_counts(void *unused)
{
    stands_at_the_gate(NULL);
    return counts_itself(unused);
}

RACE_WAITS(runs, f->w->number = f->slot.result, coir_offload, .fn = waits_and_counts)

static bool it_runs(struct world *w)
{
    (void)w;
    return counts(NULL).running == 1;
}

static void it_ends(struct world *w)
{
    (void)w;
    sem_post(&gate);
    while (counts(NULL).done < 1)
        sched_yield();
}

static const struct contest running_contest = {
    "offload, running", begin_gate, make_runs, it_ends, check_ran, NULL, it_runs,
    .rivals = BUT_CLOSE, .stubborn = true };

/* ---- names ---- */

struct resolves {
    coir_frame_void;
    coir_args(struct world *w;);
    struct sockaddr_storage addrs[4];
    struct coir_pass pass;
    struct coir_resolve slot;
};
static coir_declare(resolves);
coir_body(resolves, f) {
    occupy("name");
    while (counts("name").running == 0)
        coir_await(f, &f->pass, coir_pass);
    coir_await(f, &f->slot, coir_resolve, .host = "localhost", .service = "80", .addrs = f->addrs, .max = 4);
    f->w->status = coir_status(&f->slot);
    f->w->number = (long long)f->slot.result;
    coir_check(f, &f->slot);
} coir_end
static struct coir_task *make_resolves(struct world *w) { return coir_new(resolves, .w = w); }

static bool a_name_is_queued(struct world *w)
{
    (void)w;
    return counts("name").running == 1 && counts("name").queued == 1;
}

static void names_go_on(struct world *w)
{
    let_all_go(w, "name");
}

static void check_name(struct world *w)
{
    RACE_EQ(w->number > 0, w->won, "addresses come with a success");
}

static const struct contest resolve_contest = {
    "resolve", begin_gate, make_resolves, names_go_on, check_name, NULL, a_name_is_queued, .rivals = BUT_CLOSE };

/* ---- opening, which may block in the kernel ---- */

static bool begin_fifo(struct world *w)
{
    (void)w;
    snprintf(path, sizeof path, "%s/fifo", folder);
    return mkfifo(path, 0600) == 0;
}

RACE_WAITS(opens, f->w->other = coir_status(&f->slot) ? -1 : f->slot.result, coir_open, .path = path,
           .flags = O_RDONLY)

static bool is_epoll(void)
{
    return coir_plane_here()->kind == &coir_epoll;
}

static bool it_blocks(struct world *w)
{
    if (!w->turns && coir_plane_here()->in_flight)
        w->turns = coir_shard_here()->stats.turns;
    return is_epoll() ? counts("file").running == 1 : w->turns && coir_shard_here()->stats.turns > w->turns + 1;
}

/* What has been done can be seen to be done: in the inbox, or in the ring. */
static void wait_for_its_end(void)
{
    const struct coir_shard *s = coir_shard_here();

    while (s->plane->in_flight && coir_inbox_empty(&s->inbox) && !s->plane->kind->peek(s->plane))
        sched_yield();
}

static void the_other_end_opens(struct world *w)
{
    w->peer = MUST(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (w->order == EVENT_FIRST)
        wait_for_its_end();
}

static void check_opened(struct world *w)
{
    RACE_EQ(w->other >= 0, w->won, "a descriptor comes with a success");
    if (w->other >= 0)
        close(w->other);
    close(w->peer);
}

static void end_file(struct world *w)
{
    unlink(path);
    if (w->twin >= 0)
        close(w->twin);
    if (w->fd >= 0 && w->rival != CLOSE)
        close(w->fd);
}

static const struct contest open_contest = {
    "open, of a FIFO", begin_fifo, make_opens, the_other_end_opens, check_opened, end_file, it_blocks,
    .rivals = BUT_CLOSE, .has_no_after = true };

/* ---- a file ---- */

static bool begin_file(struct world *w)
{
    begin_gate(w);
    snprintf(path, sizeof path, "%s/file", folder);
    w->fd = MUST(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    MUST(write(w->fd, "hello", 5));
    w->twin = MUST(fcntl(w->fd, F_DUPFD_CLOEXEC, 0));
    return true;
}

struct uses_file {
    coir_frame_void;
    coir_args(struct world *w; bool writes;);
    union {
        struct coir_pass pass;
        struct coir_pread read;
        struct coir_pwrite write;
    };
};
static coir_declare(uses_file);

coir_body(uses_file, f) {
    if (is_epoll()) {
        occupy("file");
        while (counts("file").running == 0)
            coir_await(f, &f->pass, coir_pass);
    }
    if (f->writes)
        coir_await(f, &f->write, coir_pwrite, .fd = f->w->fd, .buf = "world", .len = 5, .offset = 5);
    else
        coir_await(f, &f->read, coir_pread, .fd = f->w->fd, .buf = f->w->buf, .len = 5);
    f->w->status = f->writes ? coir_status(&f->write) : coir_status(&f->read);
    f->w->result = f->writes ? f->write.result : f->read.result;
    if (f->w->status)
        coir_fail(f, f->w->status);
} coir_end

static struct coir_task *make_reads(struct world *w) { return coir_new(uses_file, .w = w); }
static struct coir_task *make_writes(struct world *w) { return coir_new(uses_file, .w = w, .writes = true); }

/* It is queued for the pool; or stands in the submission queue, and the kernel has not heard of it. */
static bool it_has_begun(struct world *w)
{
    (void)w;
    return is_epoll() ? counts("file").running == 1 && counts("file").queued == 1 : is_sent();
}

static void the_disk_answers(struct world *w)
{
    if (is_epoll()) {
        let_all_go(w, "file");
    } else if (w->order == EVENT_FIRST) {
        coir_uring_enter(coir_uring_self(coir_plane_here()), 0);
        wait_for_its_end();
    }
}

static void check_read(struct world *w)
{
    RACE_EQ(w->result, w->won ? 5 : 0, "how much");
    RACE_EQ(memcmp(w->buf, "hello", 5) == 0, w->won, "the bytes are there, or nothing was touched");
}

static void check_size(struct world *w)
{
    struct stat st;

    MUST(fstat(w->twin, &st));
    RACE_EQ(st.st_size, 5 + w->result, "the file has grown by what was written");
    RACE_EQ(w->result, w->won ? 5 : 0, "how much");
}

static const struct contest read_contest = {
    "pread", begin_file, make_reads, the_disk_answers, check_read, end_file, it_has_begun,
    .rivals = ALL_RIVALS, .has_no_after = true };
static const struct contest write_contest = {
    "pwrite", begin_file, make_writes, the_disk_answers, check_size, end_file, it_has_begun,
    .rivals = ALL_RIVALS, .has_no_after = true };

int main(void)
{
    WITHOUT_CHANCE("whole");             /* bytes are counted */
    setenv("COIR_TIME", "virtual", 1);
    snprintf(folder, sizeof folder, "/tmp/coir-races-XXXXXX");
    if (!mkdtemp(folder))
        SKIP_ALL("no folder under /tmp");
    race_all(&queued_contest);
    race_all(&running_contest);
    race_all(&resolve_contest);
    race_all(&open_contest);
    race_all(&read_contest);
    race_all(&write_contest);
    rmdir(folder);
    return DONE();
}
