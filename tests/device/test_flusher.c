/* SPDX-License-Identifier: MIT */
/*
 * The flusher: how many syncs serve how many callers, who is served by which, cancelling, the failure that stays. On
 * the simulator under virtual time, so that the counts are exact.
 */
#include "sim.h"

#include "tap.h"

enum { CALLERS = 100 };

static struct sim *world;
static struct coir_device *device;

/* ---- a caller: writes its sector or not, then flushes ---- */

struct caller {
    coir_frame_void;
    coir_args(unsigned n; int64_t at; bool writes; int *status;);
    unsigned char buf[SIM_SECTOR];
    struct iovec iov;
    union {
        struct coir_sleep_until sleep;
        struct coir_device_write write;
        struct coir_device_flush flush;
    };
};
static coir_declare(caller);
coir_body(caller, f) {
    coir_try(f, &f->sleep, coir_sleep_until, .at = f->at);
    if (f->writes) {
        memset(f->buf, (int)f->n, sizeof f->buf);
        f->iov = (struct iovec){ f->buf, sizeof f->buf };
        coir_try(f, &f->write, coir_device_write, .device = device, .iov = &f->iov, .n = 1,
                 .offset = f->n * SIM_SECTOR);
    }
    coir_await(f, &f->flush, coir_device_flush, .device = device);
    *f->status = coir_status(&f->flush);
} coir_end

/* `n` callers at once, and what they were told. */
struct crowd {
    coir_frame_void;
    coir_args(int n; bool writes;);
    int status[CALLERS];
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crowd);
coir_body(crowd, f) {
    coir_group_open(f, &f->group);
    for (int i = 0; i < f->n; i++) {
        f->status[i] = 1;
        (void)coir_spawn(&f->group, coir_new(caller, .n = (unsigned)i, .at = coir_now(), .writes = f->writes,
                                             .status = &f->status[i]));
    }
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    for (int i = 0; i < f->n; i++)
        if (f->status[i])
            coir_fail(f, f->status[i]);
} coir_end

/* ---- counts ---- */

struct counting {
    coir_frame_void;
    coir_no_args;
    union {
        struct crowd crowd;
        struct coir_device_flush flush;
    };
};
static coir_declare(counting);
coir_body(counting, f) {
    device = sim_open(world, 0);
    coir_await(f, &f->flush, coir_device_flush, .device = device);
    EQ(coir_status(&f->flush), 0, "one flush");
    EQ(sim_counts(world, 0).syncs, 1, "is one sync");
    coir_await(f, &f->crowd, crowd, .n = CALLERS);
    EQ(coir_status(&f->crowd), 0, "a hundred flushes at once");
    EQ(sim_counts(world, 0).syncs, 3, "are two syncs: the one that the first begins, and one for all the others");
    EQ(device->flusher.calls, 101, "calls are counted");
    EQ(device->flusher.begun, 3, "and syncs");
    coir_await(f, &f->flush, coir_device_flush, .device = device);
    EQ(sim_counts(world, 0).syncs, 4, "with nothing to do it syncs all the same: it cannot know");
} coir_end

/* ---- while one is under way ---- */

struct meanwhile {
    coir_frame_void;
    coir_no_args;
    int first, second;
    struct sim *after;
    unsigned char got[SIM_SECTOR];
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(meanwhile);
coir_body(meanwhile, f) {
    device = sim_open(world, 0);
    coir_group_open(f, &f->group);
    f->first = f->second = 1;
    (void)coir_spawn(&f->group, coir_new(caller, .n = 1, .at = coir_now(), .status = &f->first));
    (void)coir_spawn(&f->group, coir_new(caller, .n = 2, .at = coir_now() + 1, .writes = true, .status = &f->second));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->first, 0, "the first has flushed");
    EQ(f->second, 0, "the second, who wrote meanwhile, too");
    f->after = sim_cut(world, sim_events(world), SIM_NOTHING, 0);
    sim_peek(f->after, 0, 2 * SIM_SECTOR, f->got, sizeof f->got);
    EQ(f->got[0], 2, "and what he wrote is durable");
    sim_free(f->after);
} coir_end

/* ---- cancelling ---- */

struct cancelling {
    coir_frame_void;
    coir_no_args;
    int64_t begun;
    struct coir_scope scope;
    struct coir_group group;
    int others;
    union {
        struct coir_group_wait wait;
        struct coir_device_flush flush;
    };
};
static coir_declare(cancelling);
coir_body(cancelling, f) {
    device = sim_open(world, 0);
    coir_group_open(f, &f->group);
    f->others = 1;
    (void)coir_spawn(&f->group, coir_new(caller, .n = 1, .at = coir_now() + 1, .status = &f->others));
    f->begun = coir_now();
    coir_within(f, &f->scope, coir_now() + 2, &f->flush, coir_device_flush, .device = device);
    EQ(coir_status(&f->flush), 0, "who has begun a sync has it, whatever the deadline");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->others, 0, "and who waited for it goes on");
    EQ(sim_counts(world, 0).syncs, 2, "by a sync of its own");

    coir_group_open(f, &f->group);
    f->others = 1;
    (void)coir_spawn(&f->group, coir_new(caller, .n = 1, .at = coir_now(), .status = &f->others));
    (void)coir_spawn(&f->group, coir_new(caller, .n = 1, .at = coir_now(), .status = &f->others));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(sim_counts(world, 0).syncs, 4, "two more");

    coir_group_open(f, &f->group);
    (void)coir_spawn(&f->group, coir_new(caller, .n = 1, .at = coir_now() - 1, .status = &f->others));
    (void)coir_spawn(&f->group, coir_new(crowd, .n = 3));
    coir_within(f, &f->scope, coir_now(), &f->flush, coir_device_flush, .device = device);
    EQ(coir_status(&f->flush), -ETIMEDOUT, "who is cancelled before it begins one has not flushed");
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(coir_status(&f->wait), 0, "the others have");
    EQ(device->flusher.begun, device->flusher.over, "all that began have ended");
    OK(!device->flusher.busy, "and nobody is at it");
} coir_end

/* ---- a sync that could be cancelled ---- */

struct slow_sync {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    struct coir_sleep sleep;
};
coir_device_fits(slow_sync, coir_device_sync);
static coir_declare(slow_sync);
coir_body(slow_sync, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_MS);
} coir_end

static coir_step cannot(struct coir_task *t)
{
    t->status = -EOPNOTSUPP;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static const struct coir_device_kind slow_kind = { .name = "slow", .read = cannot, .write = cannot,
                                                   .sync = slow_sync_resume, .grow = cannot, .punch = cannot,
                                                   .close = cannot };

struct shielding {
    coir_frame_void;
    coir_no_args;
    struct coir_device slow;
    struct coir_scope scope;
    struct coir_device_flush flush;
};
static coir_declare(shielding);
coir_body(shielding, f) {
    coir_device_init(&f->slow, &slow_kind, "slow", 0, 4096, false);
    coir_within(f, &f->scope, coir_now() + 1, &f->flush, coir_device_flush, .device = &f->slow);
    EQ(coir_status(&f->flush), 0, "a sync that has begun is nobody's to cancel");
    EQ(f->slow.flusher.status, 0, "and nothing has failed");
    coir_within(f, &f->scope, coir_now() - 1, &f->flush, coir_device_flush, .device = &f->slow);
    EQ(coir_status(&f->flush), -ETIMEDOUT, "who comes too late begins none");
    EQ(f->slow.flusher.begun, 1, "one sync");
    coir_await(f, &f->flush, coir_device_flush, .device = &f->slow);
    EQ(coir_status(&f->flush), 0, "and the next one may");
} coir_end

/* ---- failing ---- */

/* How many of n were told `status`. */
static int told(const int *what, int n, int status)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += what[i] == status;
    return count;
}

struct failing {
    coir_frame_void;
    coir_no_args;
    union {
        struct crowd crowd;
        struct coir_device_flush flush;
    };
};
static coir_declare(failing);
coir_body(failing, f) {
    device = sim_open(world, 0);
    sim_fail(world, SIM_SYNC, 2, -EIO, false);
    coir_await(f, &f->crowd, crowd, .n = 10, .writes = true);
    EQ(told(f->crowd.status, 10, 0), 1, "one of ten is served by the first sync");
    EQ(told(f->crowd.status, 10, -EIO), 9, "nine are told that the second one failed");
    coir_await(f, &f->flush, coir_device_flush, .device = device);
    EQ(coir_status(&f->flush), -EIO, "and everybody who comes later");
    coir_await(f, &f->crowd, crowd, .n = 10, .writes = true);
    EQ(coir_status(&f->crowd), -EIO, "however many");
    EQ(sim_counts(world, 0).syncs, 2, "without another sync");
} coir_end

static void on(int64_t delay, struct coir_task *task, const char *name)
{
    EQ(coir_run(NULL, task), 0, "%s", name);
    sim_free(world);
    world = sim_new(11, delay);
    sim_add(world, 64 * SIM_PAGE, SIM_PAGE);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    WITHOUT_CHANCE("fifo");
    world = sim_new(11, COIR_MS);
    sim_add(world, 64 * SIM_PAGE, SIM_PAGE);
    on(COIR_MS, coir_new(counting), "counts");
    on(COIR_MS, coir_new(meanwhile), "meanwhile");
    on(COIR_MS, coir_new(cancelling), "cancelling");
    on(COIR_MS, coir_new(shielding), "shielding");
    on(COIR_MS, coir_new(failing), "failing");
    sim_free(world);
    return DONE();
}
