/* SPDX-License-Identifier: MIT */
/*
 * The simulator itself: what a power cut may leave of a history that was worked out by hand, that everything it may
 * leave turns up, that the same seed leaves the same; failing calls, lies, faults at rest.
 */
#include "sim.h"

#include "tap.h"

/* In a body whose frame is f: awaits, and checks the status. */
#define SAYS(expected, slot, op, ...) do { \
    coir_await(f, slot, op, __VA_ARGS__); \
    EQ(coir_status(slot), expected, "%s: %s at line %d", #op, coir_strerror(expected), __LINE__); \
    } while (0)

union slots {
    struct coir_device_read read;
    struct coir_device_write write;
    struct coir_device_flush flush;
    struct coir_device_grow grow;
    struct coir_device_punch punch;
};

/* The byte with which a sector of a device is filled; -1: with several. */
static int filled(const struct sim *w, unsigned device, uint64_t sector)
{
    unsigned char bytes[SIM_SECTOR];

    sim_peek(w, device, sector * SIM_SECTOR, bytes, sizeof bytes);
    for (size_t i = 1; i < sizeof bytes; i++)
        if (bytes[i] != bytes[0])
            return -1;
    return bytes[0];
}

/* ---- a history: 1 over two sectors of device 0 and synced; then 2 over the second and third, then 3 over the third;
 *      then 4 on device 1, which grows; then device 0 is synced again ---- */

struct history {
    coir_frame_void;
    coir_args(struct sim *w; size_t *at;);
    struct coir_device *d[2];
    unsigned char buf[4][SIM_SECTOR * 2];
    struct iovec iov[4];
    union slots u;
};
static coir_declare(history);
coir_body(history, f) {
    for (int i = 0; i < 4; i++) {
        memset(f->buf[i], i + 1, sizeof f->buf[i]);
        f->iov[i] = (struct iovec){ f->buf[i], sizeof f->buf[i] };
    }
    f->d[0] = sim_open(f->w, 0);
    f->d[1] = sim_open(f->w, 1);
    f->at[0] = sim_events(f->w);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d[0], .iov = &f->iov[0], .n = 1, .offset = 0);
    f->at[1] = sim_events(f->w);
    SAYS(0, &f->u.flush, coir_device_flush, .device = f->d[0]);
    f->at[2] = sim_events(f->w);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d[0], .iov = &f->iov[1], .n = 1, .offset = SIM_SECTOR);
    f->iov[2].iov_len = SIM_SECTOR;
    SAYS(0, &f->u.write, coir_device_write, .device = f->d[0], .iov = &f->iov[2], .n = 1, .offset = 2 * SIM_SECTOR);
    f->at[3] = sim_events(f->w);
    SAYS(0, &f->u.grow, coir_device_grow, .device = f->d[1], .size = 3 * SIM_PAGE);
    EQ(f->d[1]->size, 3 * SIM_PAGE, "it has grown");
    SAYS(0, &f->u.write, coir_device_write, .device = f->d[1], .iov = &f->iov[3], .n = 1, .offset = 2 * SIM_PAGE);
    f->at[4] = sim_events(f->w);
    SAYS(0, &f->u.flush, coir_device_flush, .device = f->d[0]);
    f->at[5] = sim_events(f->w);
} coir_end

static void sectors_are(struct sim *w, size_t event, enum sim_keep keep, uint64_t seed, int a, int b, int c, int there)
{
    struct sim *after = sim_cut(w, event, keep, seed);
    const int other = filled(after, 1, 16);

    OK(filled(after, 0, 0) == a && filled(after, 0, 1) == b && filled(after, 0, 2) == c && other == there,
       "after event %zu, %s (%llu): %d %d %d %d, and are %d %d %d %d", event, sim_keep_name(keep),
       (unsigned long long)seed, a, b, c, there, filled(after, 0, 0), filled(after, 0, 1), filled(after, 0, 2), other);
    sim_free(after);
}

static void cuts(void)
{
    struct sim *w = sim_new(1, 1000);
    size_t at[6];
    unsigned seen = 0;

    sim_add(w, SIM_PAGE, SIM_PAGE);
    sim_add(w, 2 * SIM_PAGE, SIM_PAGE);
    EQ(coir_run(NULL, coir_new(history, .w = w, .at = at)), 0, "the history is made");
    EQ(at[5], 14, "a write, a sync, two writes, a grow, a write, a sync are fourteen events");
    EQ(sim_pending(w, at[0]), 0, "nothing is pending before");
    EQ(sim_pending(w, at[0] + 1), 1, "the first write under way");
    EQ(sim_pending(w, at[1] + 1), 1, "and while the sync is");
    EQ(sim_pending(w, at[2]), 0, "nothing once it is synced");
    EQ(sim_pending(w, at[4]), 4, "three writes and a grow");
    EQ(sim_pending(w, at[5]), 2, "those of the other device are not synced by this one");

    sectors_are(w, at[0], SIM_EVERYTHING, 0, 0, 0, 0, 0);
    sectors_are(w, at[0] + 1, SIM_EVERYTHING, 0, 1, 1, 0, 0);
    sectors_are(w, at[1], SIM_NOTHING, 0, 0, 0, 0, 0);
    sectors_are(w, at[2], SIM_NOTHING, 0, 1, 1, 0, 0);
    sectors_are(w, at[4], SIM_NOTHING, 0, 1, 1, 0, 0);
    sectors_are(w, at[4], SIM_EVERYTHING, 0, 1, 2, 3, 4);
    sectors_are(w, at[4], SIM_FIRST, 1, 1, 2, 2, 0);
    sectors_are(w, at[4], SIM_FIRST, 2, 1, 2, 3, 0);
    sectors_are(w, at[3], SIM_LAST, 0, 1, 1, 3, 0);
    sectors_are(w, at[4], SIM_ALL_BUT_ONE, 0, 1, 1, 3, 4);
    sectors_are(w, at[4], SIM_WHOLE, 1 + 8, 1, 2, 2, 4);
    sectors_are(w, at[5], SIM_NOTHING, 0, 1, 2, 3, 0);
    sectors_are(w, at[2], SIM_NOTHING, 0, 1, 1, 0, 0);

    for (uint64_t seed = 0; seed < 400; seed++) {
        struct sim *after = sim_cut(w, at[3], SIM_TORN, seed);
        const int b = filled(after, 0, 1), c = filled(after, 0, 2);
        if (filled(after, 0, 0) != 1 || b < 1 || b > 2 || c == 1 || c < 0 || c > 3)
            seen |= 1 << 31;
        else
            seen |= 1u << ((b - 1) * 4 + c);
        sim_free(after);
    }
    EQ(seen, 0xDD, "torn: each of the six mixtures turns up, and nothing else");

    sim_lose(w, 1, true);
    sectors_are(w, at[5], SIM_NOTHING, 0, 1, 1, 3, 0);
    sim_lose(w, 1, false);
    sectors_are(w, at[5], SIM_NOTHING, 0, 1, 2, 3, 0);
    sim_free(w);
}

/* ---- lengths ---- */

static void lengths(void)
{
    struct sim *w = sim_new(1, 1000), *after;
    size_t at[6];

    sim_add(w, SIM_PAGE, SIM_PAGE);
    sim_add(w, 2 * SIM_PAGE, SIM_PAGE);
    coir_run(NULL, coir_new(history, .w = w, .at = at));
    after = sim_cut(w, at[5], SIM_NOTHING, 0);
    EQ(sim_size(after, 1), 2 * SIM_PAGE, "what grew and was not synced may be as short as before");
    sim_free(after);
    after = sim_cut(w, at[5], SIM_FIRST, 1);
    EQ(sim_size(after, 1), 3 * SIM_PAGE, "or have grown");
    sim_free(after);
    sim_free(w);
}

/* ---- a failed sync, and what it takes away ---- */

struct orphans {
    coir_frame_void;
    coir_args(struct sim *w;);
    struct coir_device *d;
    unsigned char buf[3][SIM_SECTOR];
    struct iovec iov[3];
    struct coir_device_write write;
    struct coir_device_flush flush;
};
static coir_declare(orphans);
coir_body(orphans, f) {
    for (int i = 0; i < 3; i++) {
        memset(f->buf[i], i + 1, SIM_SECTOR);
        f->iov[i] = (struct iovec){ f->buf[i], SIM_SECTOR };
    }
    f->d = sim_open(f->w, 0);
    SAYS(0, &f->write, coir_device_write, .device = f->d, .iov = &f->iov[0], .n = 1, .offset = 0);
    sim_fail(f->w, SIM_SYNC, 1, -EIO, false);
    SAYS(-EIO, &f->flush, coir_device_flush, .device = f->d);
    OK(sim_has_failed(f->w), "and the world says so");
    f->d = sim_open(f->w, 0);                   /* a flusher that knows nothing of it */
    SAYS(0, &f->write, coir_device_write, .device = f->d, .iov = &f->iov[1], .n = 1, .offset = SIM_SECTOR);
    SAYS(0, &f->flush, coir_device_flush, .device = f->d);
    SAYS(0, &f->write, coir_device_write, .device = f->d, .iov = &f->iov[2], .n = 1, .offset = 0);
    SAYS(0, &f->flush, coir_device_flush, .device = f->d);
} coir_end

static void orphan(void)
{
    struct sim *w = sim_new(1, 1000);

    sim_add(w, 2 * SIM_PAGE, SIM_PAGE);
    sim_add(w, SIM_PAGE, SIM_PAGE);
    EQ(coir_run(NULL, coir_new(orphans, .w = w)), 0, "a sync fails, and the next ones succeed");
    sectors_are(w, 8, SIM_NOTHING, 0, 0, 2, 0, 0);
    sectors_are(w, 8, SIM_EVERYTHING, 0, 1, 2, 0, 0);
    sectors_are(w, sim_events(w), SIM_EVERYTHING, 0, 3, 2, 0, 0);
    EQ(sim_counts(w, 0).syncs, 3, "three syncs");
    EQ(sim_counts(w, 0).writes, 3, "three writes");
    EQ(sim_counts(w, 0).bytes_written, 3 * SIM_SECTOR, "of three sectors");
    sim_free(w);
}

/* ---- failing calls, lies ---- */

static _Alignas(SIM_PAGE) unsigned char got[2 * SIM_PAGE];

struct trouble {
    coir_frame_void;
    coir_args(struct sim *w;);
    struct coir_device *d;
    unsigned char buf[2 * SIM_PAGE];
    struct iovec iov, to;
    union slots u;
};
static coir_declare(trouble);
coir_body(trouble, f) {
    memset(f->buf, 7, sizeof f->buf);
    f->iov = (struct iovec){ f->buf, sizeof f->buf };
    f->to = (struct iovec){ got, sizeof got };
    f->d = sim_open(f->w, 0);
    sim_fail(f->w, SIM_READ | SIM_WRITE, 2, -ENOSPC, false);
    SAYS(0, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1);
    SAYS(-ENOSPC, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1);
    sim_fail(f->w, SIM_ANY, 1, -EIO, true);
    SAYS(-EIO, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1);
    EQ(got[5], 0xEE, "and the buffer is no data");
    SAYS(-EIO, &f->u.grow, coir_device_grow, .device = f->d, .size = 5 * SIM_PAGE);
    EQ(f->d->size, 4 * SIM_PAGE, "which has not grown");
    SAYS(-EIO, &f->u.punch, coir_device_punch, .device = f->d, .offset = 0, .len = SIM_PAGE);
    sim_fail(f->w, 0, 0, 0, false);
    SAYS(0, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .flags = COIR_DIRECT);
    MEM_EQ(got, f->buf, sizeof got, "what failed to be punched is there");
    EQ(sim_counts(f->w, 0).direct, 1, "one direct read");

    memset(f->buf, 8, sizeof f->buf);
    sim_lie(f->w, 1, SIM_LOST);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1);
    EQ(filled(f->w, 0, 0), 7, "a lost write changes nothing");
    sim_lie(f->w, 1, SIM_PART);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1);
    EQ(filled(f->w, 0, 0) + filled(f->w, 0, 15), 15, "half of one changes one end of it");
    memset(f->buf, 9, sizeof f->buf);
    sim_lie(f->w, 1, SIM_ELSEWHERE);
    SAYS(0, &f->u.write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1);
    OK(filled(f->w, 0, 0) != 9, "one that landed elsewhere is not here");
    OK(filled(f->w, 0, 8) == 9 || filled(f->w, 0, 16) == 9 || filled(f->w, 0, 24) == 9, "but elsewhere");
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .offset = 3 * SIM_PAGE);
} coir_end

/* ---- at rest ---- */

struct resting {
    coir_frame_void;
    coir_args(struct sim *w;);
    struct coir_device *d;
    unsigned char got[SIM_SECTOR];
    struct iovec to;
    union slots u;
};
static coir_declare(resting);
coir_body(resting, f) {
    f->to = (struct iovec){ f->got, sizeof f->got };
    f->d = sim_open(f->w, 0);
    EQ(f->d->size, SIM_PAGE, "it was cut short");
    SAYS(0, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .offset = SIM_SECTOR);
    EQ(f->got[3], 1 << 6, "a flipped bit, copied");
    SAYS(-EIO, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .offset = 2 * SIM_SECTOR);
    SAYS(0, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .offset = 3 * SIM_SECTOR);
    SAYS(-ENODATA, &f->u.read, coir_device_read, .device = f->d, .iov = &f->to, .n = 1, .offset = SIM_PAGE);
} coir_end

static void troubles(void)
{
    struct sim *w = sim_new(3, 0);

    sim_add(w, 4 * SIM_PAGE, SIM_PAGE);
    EQ(coir_run(NULL, coir_new(trouble, .w = w)), 0, "calls fail and lie");
    sim_free(w);
    w = sim_new(3, 0);
    sim_add(w, 2 * SIM_PAGE, SIM_PAGE);
    sim_flip(w, 0, 3, 6);
    sim_copy(w, 0, SIM_SECTOR, 0, SIM_SECTOR);
    sim_unreadable(w, 0, 2 * SIM_SECTOR, SIM_SECTOR);
    sim_shorten(w, 0, SIM_PAGE);
    EQ(coir_run(NULL, coir_new(resting, .w = w)), 0, "faults at rest");
    sim_free(w);
}

/* ---- the same seed ---- */

struct writer {
    coir_frame_void;
    coir_args(struct coir_device *d; unsigned n;);
    unsigned char buf[SIM_SECTOR];
    struct iovec iov;
    struct coir_device_write write;
};
static coir_declare(writer);
coir_body(writer, f) {
    memset(f->buf, (int)f->n, sizeof f->buf);
    f->iov = (struct iovec){ f->buf, sizeof f->buf };
    coir_try(f, &f->write, coir_device_write, .device = f->d, .iov = &f->iov, .n = 1, .offset = f->n * SIM_SECTOR);
} coir_end

struct crowd {
    coir_frame_void;
    coir_args(struct sim *w;);
    struct coir_device *d;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(crowd);
coir_body(crowd, f) {
    f->d = sim_open(f->w, 0);
    coir_group_open(f, &f->group);
    for (unsigned i = 0; i < 8; i++)
        (void)coir_spawn(&f->group, coir_new(writer, .d = f->d, .n = i));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* The sectors that are there when only the first of eight writes to end is. */
static unsigned first_of_eight(uint64_t seed)
{
    struct sim *w = sim_new(seed, 10 * COIR_MS), *after;
    unsigned set = 0;

    sim_add(w, SIM_PAGE, SIM_PAGE);
    coir_run(NULL, coir_new(crowd, .w = w));
    after = sim_cut(w, sim_events(w), SIM_FIRST, 1);
    for (unsigned i = 0; i < 8; i++)
        set |= (unsigned)(filled(after, 0, i) == (int)i && i) << i;
    sim_free(after);
    sim_free(w);
    return set;
}

int main(void)
{
    unsigned set = 0;

    setenv("COIR_TIME", "virtual", 1);
    cuts();
    lengths();
    orphan();
    troubles();
    for (uint64_t seed = 0; seed < 40; seed++) {
        EQ(first_of_eight(seed), first_of_eight(seed), "seed %llu says twice the same", (unsigned long long)seed);
        set |= first_of_eight(seed);
    }
    EQ(set, 0xFE, "any of the eight writes may end first");
    return DONE();
}
