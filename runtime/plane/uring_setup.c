/* SPDX-License-Identifier: MIT */
/*
 * Setting the ring up and taking it down: which features there are, by trying them; smaller rings where the
 * limits ask for it; nothing left in the kernel at the end.
 *
 * A feature is used when the kernel takes it and COIR_URING does not switch it off. Rings are made on the
 * shard's own thread, after the program has dropped what privileges it drops, and are not inherited by a
 * fork.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/plane/lends.h"
#include "runtime/plane/uring.h"

static const struct { const char *name; unsigned feature; } names[] = {
    { "defer", COIR_RING_DEFER },
    { "coop", COIR_RING_COOP },
    { "submit_all", COIR_RING_SUBMIT_ALL },
    { "msg_ring", COIR_RING_MSG },
    { "multishot", COIR_RING_MULTISHOT },
    { "bufring", COIR_RING_BUFRING },
    { "poll_first", COIR_RING_POLL_FIRST },
};

/* Takes "-name,-name" away from *features. -EINVAL, with `why`, for a name that is none. */
static int switch_off(const char *list, unsigned *features, char *why, size_t len)
{
    while (list && *list) {
        const size_t n = strcspn(list, ",");
        size_t i = 0;

        while (i < sizeof names / sizeof *names
               && !(n == strlen(names[i].name) + 1 && list[0] == '-' && !strncmp(list + 1, names[i].name, n - 1)))
            i++;
        if (i == sizeof names / sizeof *names) {
            snprintf(why, len, "COIR_URING: \"%.*s\" is not one of -defer, -coop, -submit_all, -msg_ring, "
                     "-multishot, -bufring, -poll_first", (int)n, list);
            return -EINVAL;
        }
        *features &= ~names[i].feature;
        list += n + (list[n] == ',');
    }
    return 0;
}

static unsigned setup_flags(unsigned features)
{
    unsigned flags = IORING_SETUP_CQSIZE;

    if (features & COIR_RING_SUBMIT_ALL)
        flags |= IORING_SETUP_SUBMIT_ALL;
    if (features & COIR_RING_COOP)
        flags |= IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG;
    if (features & COIR_RING_DEFER)
        flags |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    return flags;
}

/* What a kernel does not know goes first the newest: each is a step towards 5.15. */
static int make_ring(struct coir_uring_plane *p, unsigned entries)
{
    static const unsigned newest_first[] = { COIR_RING_DEFER, COIR_RING_COOP, COIR_RING_SUBMIT_ALL };
    size_t step = 0;

    for (;;) {
        struct io_uring_params params = {
            .flags = setup_flags(p->features),
            .cq_entries = entries * COIR_RING_CQ_FACTOR,
        };
        const int fault = coir_syscall_fault_lasting();
        const int err = fault ? fault : io_uring_queue_init_params(entries, &p->ring, &params);

        if (!err)
            return params.features & IORING_FEAT_EXT_ARG ? 0 : -ENOSYS;
        if (err == -EINVAL && step < sizeof newest_first / sizeof *newest_first)
            p->features &= ~newest_first[step++];
        else if ((err == -ENOMEM) && entries > COIR_RING_SMALLEST)
            entries /= 2;
        else
            return err == -EINVAL ? -ENOSYS : err;
    }
}

static void probe(struct coir_uring_plane *p)
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(&p->ring);

    for (unsigned op = 0; probe && op <= probe->last_op && op / 8 < sizeof p->can; op++) {
        if (probe->ops[op].flags & IO_URING_OP_SUPPORTED)
            p->can[op / 8] |= (uint8_t)(1 << op % 8);
    }
    if (probe)
        io_uring_free_probe(probe);
    if (!coir_uring_can(p, IORING_OP_MSG_RING))
        p->features &= ~(unsigned)COIR_RING_MSG;
    if (!coir_uring_can(p, IORING_OP_SOCKET))    /* 5.19, as these, which no probe tells of */
        p->features &= ~(unsigned)(COIR_RING_MULTISHOT | COIR_RING_BUFRING | COIR_RING_POLL_FIRST);
}

static const char *reason(int err)
{
    return err == -EPERM ? "the kernel denies io_uring (a container's seccomp filter, or kernel.io_uring_disabled)"
         : err == -ENOSYS ? "the kernel has no io_uring, or one older than 5.11"
         : err == -ENOMEM ? "no memory for a ring: RLIMIT_MEMLOCK may be too low"
         : err == -EMFILE ? "no descriptor for a ring: RLIMIT_NOFILE may be too low"
         : strerror(-err);
}

static int give_up(struct coir_uring_plane *p, int err, char *why, size_t len)
{
    if (err != -EINVAL || !*why)
        snprintf(why, len, "%s", reason(err));
    if (p->wake >= 0)
        close(p->wake);
    if (p->ring.ring_fd >= 0)
        io_uring_queue_exit(&p->ring);
    free(p->slots);
    free(p);
    return err;
}

int coir_uring_open(struct coir_shard *s, const struct coir_plane_options *o, struct coir_plane **out, char *why,
                    size_t len)
{
    struct coir_uring_plane *p = calloc(1, sizeof *p);
    unsigned workers[2] = { COIR_RING_WORKERS_BOUNDED, COIR_RING_WORKERS_UNBOUNDED };
    int err;

    *why = '\0';
    if (!p)
        return -ENOMEM;
    p->base.kind = &coir_uring;
    p->base.shard = s;
    p->unsent_end = &p->unsent;
    p->again.fire = coir_uring_cancel_again;
    p->ring.ring_fd = -1;
    p->registered = p->wake = -1;
    p->features = ~0u;
    err = switch_off(o->features, &p->features, why, len);
    if (err)
        return give_up(p, err, why, len);
    /* With it a completion that comes from within the signal of an eventfd (somebody reads one) tells the ring's
     * own eventfd late, and on some kernels never. Nobody waits in the ring, so it would gain little. */
    if (o->foreign)
        p->features &= ~(unsigned)COIR_RING_DEFER;
    err = make_ring(p, o->entries ? o->entries : COIR_RING_ENTRIES);
    if (err)
        p->ring.ring_fd = -1;
    if (!err) {
        p->wake = eventfd(0, EFD_CLOEXEC);
        err = p->wake < 0 ? -errno : 0;
    }
    if (err)
        return give_up(p, err, why, len);
    probe(p);
    io_uring_ring_dontfork(&p->ring);
    /* 5.15; without it the kernel's own bound holds */
    io_uring_register_iowq_max_workers(&p->ring, workers);
    err = coir_uring_arm_wake(p);
    if (err)
        return give_up(p, err, why, len);
    *out = &p->base;
    return 0;
}

/* Every task has ended, so what is left is the plane's own: guests of descriptors, and the wake, whose
 * memory the kernel still writes to. If they should not come back the plane is leaked rather than freed
 * under the kernel. */
void coir_uring_close(struct coir_plane *plane)
{
    struct coir_uring_plane *p = coir_uring_self(plane);
    bool clean = coir_fds_leave(&plane->fds);

    p->closing = true;
    if (coir_timer_armed(&p->again.timer))
        coir_wheel_remove(&plane->shard->wheel, &p->again.timer);
    p->wake_io.asked = 1;
    coir_uring_cancel(plane, &p->wake_io);
    for (int i = 0; i < 1000 && !(clean && !p->wake_io.owed); i++) {
        plane->kind->wait(plane, COIR_MS);
        clean = coir_fds_leave(&plane->fds);
    }
    clean = clean && !p->wake_io.owed;
    if (p->registered >= 0)
        close(p->registered);
    coir_uring_unprovide(p);
    io_uring_queue_exit(&p->ring);
    if (clean)
        coir_lends_destroy(plane);
    close(p->wake);
    coir_fds_destroy(&plane->fds);
    free(p->slots);
    if (clean)
        free(p);
}
