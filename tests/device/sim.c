/* SPDX-License-Identifier: MIT */
/*
 * The simulator's operations: the kind of device, what each call does to what is read, and what it leaves in the
 * history. The bodies only wait; everything else is done at their beginning and at their end, under the lock.
 */
#include "sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"

static struct sim_device *device_of(struct coir_device *d)
{
    return coir_container_of(d, struct sim_device, device);
}

static void stop(const struct sim_device *d, uint64_t offset, const char *what)
{
    fprintf(stderr, "sim: device %u, byte %llu: %s\n", d->index, (unsigned long long)offset, what);
    abort();
}

/* ---- what every call does ---- */

/* 0, or what this call fails with: each fault counts the calls that it is about. Under the lock. */
static int fault(const struct sim_device *d, unsigned call)
{
    struct sim *const w = d->world;
    int with = 0;

    for (unsigned i = 0; i < w->faults; i++) {
        struct sim_fault *const f = &w->fault[i];

        if (!f->at || !(f->calls & call) || !(f->devices >> d->index & 1) || --f->at)
            continue;
        f->at = f->forever;
        w->has_failed = true;
        with = with ? with : f->with;
    }
    return with;
}

static int64_t duration(struct sim *w)
{
    return w->delay ? 1 + (int64_t)sim_below(&w->random, (uint64_t)w->delay) : 0;
}

/* The time that a call takes, in which others go on: what its frame has for it, and the awaiting. */
#define TAKES_TIME \
    int64_t ns; \
    struct coir_scope scope; \
    union { \
        struct coir_sleep sleep; \
        struct coir_pass pass; \
    }

#define TAKE_TIME(f) do { \
    if ((f)->ns) \
        coir_shield(f, &(f)->scope, &(f)->sleep, coir_sleep, .ns = (f)->ns); \
    else \
        coir_await(f, &(f)->pass, coir_pass); \
    } while (0)

static struct sim_op *record(struct sim_device *d, uint64_t offset, size_t len)
{
    struct sim *const w = d->world;

    if (w->ops == w->ops_room) {
        w->ops_room = w->ops_room ? 2 * w->ops_room : 64;
        w->op = sim_realloc(w->op, w->ops_room * sizeof *w->op);
    }
    w->op[w->ops] = (struct sim_op){ .device = d->index, .offset = offset, .len = len, .began = ++w->events,
                                     .ended = NEVER, .durable = NEVER };
    return &w->op[w->ops++];
}

static void must_be_alone(const struct sim_device *d, uint64_t offset, size_t len)
{
    for (size_t i = 0; i < d->world->ops; i++) {
        const struct sim_op *o = &d->world->op[i];
        if (o->device == d->index && o->ended == NEVER && o->len && o->offset < offset + len
            && offset < o->offset + o->len)
            stop(d, offset, "two writes at once");
    }
}

static size_t length(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

/* ---- read ---- */

struct sim_read {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset; int flags;);
    int fault;
    TAKES_TIME;
};
coir_device_fits(sim_read, coir_device_read);
static coir_declare(sim_read);

static void read_begins(struct sim_read *f)
{
    struct sim_device *d = device_of(f->device);

    pthread_mutex_lock(&d->world->lock);
    d->counts.reads++;
    d->counts.direct += f->flags & COIR_DIRECT;
    f->fault = fault(d, SIM_READ);
    f->ns = duration(d->world);
    pthread_mutex_unlock(&d->world->lock);
    for (int i = 0; i < f->n; i++)
        if (f->flags & COIR_DIRECT && (((uintptr_t)f->iov[i].iov_base | f->iov[i].iov_len | f->offset) % SIM_PAGE))
            stop(d, f->offset, "a direct read that is not aligned");
}

static int read_ends(struct sim_read *f)
{
    struct sim_device *d = device_of(f->device);
    uint64_t at = f->offset;
    int status = f->fault;

    pthread_mutex_lock(&d->world->lock);
    if (!status && f->offset + length(f->iov, f->n) > d->live.size)
        status = -ENODATA;
    if (!status && d->bad < f->offset + length(f->iov, f->n) && f->offset < d->bad + d->bad_len)
        status = -EIO;
    for (int i = 0; i < f->n; at += f->iov[i++].iov_len) {
        if (status)
            memset(f->iov[i].iov_base, 0xEE, f->iov[i].iov_len);
        else
            sim_image_read(&d->live, at, f->iov[i].iov_base, f->iov[i].iov_len);
    }
    pthread_mutex_unlock(&d->world->lock);
    return status;
}

coir_body(sim_read, f) {
    if (coir_cancelled(f))
        coir_fail(f, ECANCELED);
    read_begins(f);
    TAKE_TIME(f);
    coir_fail(f, read_ends(f));
} coir_end

/* ---- write, and punch ---- */

struct sim_write {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset;);
    size_t op;
    int fault;
    TAKES_TIME;
};
coir_device_fits(sim_write, coir_device_write);
static coir_declare(sim_write);

static void write_begins(struct sim_write *f)
{
    struct sim_device *d = device_of(f->device);
    const size_t n = length(f->iov, f->n);
    struct sim_op *o;
    size_t at = 0;

    if (f->offset % SIM_SECTOR || n % SIM_SECTOR)
        stop(d, f->offset, "a write that is not of sectors");
    pthread_mutex_lock(&d->world->lock);
    must_be_alone(d, f->offset, n);
    d->counts.writes++;
    d->counts.bytes_written += n;
    o = record(d, f->offset, n);
    o->data = sim_alloc(n);
    for (int i = 0; i < f->n; at += f->iov[i++].iov_len)
        memcpy(o->data + at, f->iov[i].iov_base, f->iov[i].iov_len);
    f->op = d->world->ops - 1;
    f->fault = fault(d, SIM_WRITE);
    f->ns = duration(d->world);
    pthread_mutex_unlock(&d->world->lock);
}

static void must_be_unchanged(const struct sim_write *f, const struct sim_op *o)
{
    size_t at = 0;

    for (int i = 0; i < f->n; at += f->iov[i++].iov_len)
        if (memcmp(o->data + at, f->iov[i].iov_base, f->iov[i].iov_len))
            stop(device_of(f->device), f->offset + at, "the buffer changed while it was written");
}

/* Half of it: the one or the other. */
static void only_a_part(struct sim *w, struct sim_op *o)
{
    const size_t half = o->len / 2 / SIM_SECTOR * SIM_SECTOR;

    o->len -= half;
    if (sim_below(&w->random, 2))
        return;
    o->offset += half;
    memmove(o->data, o->data + half, o->len);
}

static void lie(struct sim_device *d, struct sim_op *o)
{
    struct sim *const w = d->world;

    if (!w->lie_at || --w->lie_at)
        return;
    w->has_failed = true;
    if (w->lie == SIM_LOST)
        o->lost = true;
    if (w->lie == SIM_ELSEWHERE)
        o->offset = (o->offset + SIM_PAGE * (1 + sim_below(&w->random, d->live.size / SIM_PAGE - 1))) % d->live.size;
    if (w->lie == SIM_ELSEWHERE && o->offset + o->len > d->live.size)
        o->len = d->live.size - o->offset;
    if (w->lie == SIM_PART)
        only_a_part(w, o);
}

static int write_ends(struct sim_write *f)
{
    struct sim_device *d = device_of(f->device);
    struct sim *const w = d->world;
    struct sim_op *o;

    pthread_mutex_lock(&w->lock);
    o = &w->op[f->op];
    must_be_unchanged(f, o);
    o->ended = ++w->events;
    lie(d, o);
    o->orphan = f->fault != 0;
    if (f->fault)
        sim_image_write(&d->live, o->offset, o->data,
                        sim_below(&w->random, o->len / SIM_SECTOR + 1) * SIM_SECTOR);
    else if (!o->lost)
        sim_image_write(&d->live, o->offset, o->data, o->len);
    if (!f->fault && !o->lost && o->offset <= d->bad && d->bad + d->bad_len <= o->offset + o->len)
        d->bad_len = 0;
    pthread_mutex_unlock(&w->lock);
    return f->fault;
}

coir_body(sim_write, f) {
    if (coir_cancelled(f))
        coir_fail(f, ECANCELED);
    write_begins(f);
    TAKE_TIME(f);
    coir_fail(f, write_ends(f));
} coir_end

struct sim_punch {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t offset; uint64_t len;);
    size_t op;
    int fault;
    TAKES_TIME;
};
coir_device_fits(sim_punch, coir_device_punch);
static coir_declare(sim_punch);

static void punch_begins(struct sim_punch *f)
{
    struct sim_device *d = device_of(f->device);

    pthread_mutex_lock(&d->world->lock);
    must_be_alone(d, f->offset, f->len);
    d->counts.punches++;
    record(d, f->offset, f->len);
    f->op = d->world->ops - 1;
    f->fault = fault(d, SIM_PUNCH);
    f->ns = duration(d->world);
    pthread_mutex_unlock(&d->world->lock);
}

/* What is punched reads as zeros, or as before. */
static int punch_ends(struct sim_punch *f)
{
    struct sim_device *d = device_of(f->device);
    struct sim_op *o;

    pthread_mutex_lock(&d->world->lock);
    o = &d->world->op[f->op];
    o->ended = ++d->world->events;
    o->lost = f->fault || sim_below(&d->world->random, 4) == 0;
    if (!o->lost)
        sim_image_write(&d->live, f->offset, NULL, f->len);
    pthread_mutex_unlock(&d->world->lock);
    return f->fault;
}

coir_body(sim_punch, f) {
    if (coir_cancelled(f))
        coir_fail(f, ECANCELED);
    punch_begins(f);
    TAKE_TIME(f);
    coir_fail(f, punch_ends(f));
} coir_end

/* ---- grow ---- */

struct sim_grow {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t size;);
    size_t op;
    int fault;
    TAKES_TIME;
};
coir_device_fits(sim_grow, coir_device_grow);
static coir_declare(sim_grow);

static void grow_begins(struct sim_grow *f)
{
    struct sim_device *d = device_of(f->device);

    pthread_mutex_lock(&d->world->lock);
    d->counts.grows++;
    record(d, f->size, 0);
    f->op = d->world->ops - 1;
    f->fault = fault(d, SIM_GROW);
    f->ns = duration(d->world);
    pthread_mutex_unlock(&d->world->lock);
}

static int grow_ends(struct sim_grow *f)
{
    struct sim_device *d = device_of(f->device);
    struct sim_op *o;

    pthread_mutex_lock(&d->world->lock);
    o = &d->world->op[f->op];
    o->ended = ++d->world->events;
    o->lost = f->fault != 0;
    if (!f->fault && d->live.size < f->size)
        d->live.size = f->size;
    pthread_mutex_unlock(&d->world->lock);
    if (!f->fault)
        f->device->size = f->size;
    return f->fault;
}

coir_body(sim_grow, f) {
    if (coir_cancelled(f))
        coir_fail(f, ECANCELED);
    grow_begins(f);
    TAKE_TIME(f);
    coir_fail(f, grow_ends(f));
} coir_end

/* ---- sync, close ---- */

struct sim_sync {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    size_t began;
    int fault;
    TAKES_TIME;
};
coir_device_fits(sim_sync, coir_device_sync);
static coir_declare(sim_sync);

static void sync_begins(struct sim_sync *f)
{
    struct sim_device *d = device_of(f->device);

    pthread_mutex_lock(&d->world->lock);
    d->counts.syncs++;
    f->began = ++d->world->events;
    f->fault = fault(d, SIM_SYNC);
    f->ns = duration(d->world);
    pthread_mutex_unlock(&d->world->lock);
}

static int sync_ends(struct sim_sync *f)
{
    struct sim_device *d = device_of(f->device);
    struct sim *const w = d->world;

    pthread_mutex_lock(&w->lock);
    w->events++;
    for (size_t i = 0; i < w->ops; i++) {
        struct sim_op *o = &w->op[i];
        if (o->device != d->index || o->orphan || o->durable != NEVER || o->ended == NEVER)
            continue;
        if (f->fault)
            o->orphan = true;
        else if (o->ended < f->began)
            o->durable = w->events;
    }
    pthread_mutex_unlock(&w->lock);
    return f->fault;
}

coir_body(sim_sync, f) {
    if (coir_cancelled(f))
        coir_fail(f, ECANCELED);
    sync_begins(f);
    TAKE_TIME(f);
    coir_fail(f, sync_ends(f));
} coir_end

struct sim_close {
    coir_frame_void;
    coir_args(struct coir_device *device;);
};
coir_device_fits(sim_close, coir_device_close);
static coir_declare(sim_close);

coir_body(sim_close, f) {
} coir_end

static const struct coir_device_kind sim_kind = {
    .name = "sim",
    .read = sim_read_resume,
    .write = sim_write_resume,
    .sync = sim_sync_resume,
    .grow = sim_grow_resume,
    .punch = sim_punch_resume,
    .close = sim_close_resume,
};

/* ---- worlds, faults, counts ---- */

struct sim *sim_new(uint64_t seed, int64_t delay)
{
    struct sim *w = sim_alloc(sizeof *w);

    pthread_mutex_init(&w->lock, NULL);
    w->random = seed;
    w->delay = delay;
    return w;
}

void sim_free(struct sim *w)
{
    for (unsigned i = 0; i < w->devices; i++) {
        sim_image_free(&w->device[i]->live);
        sim_image_free(&w->device[i]->first);
        sim_image_free(&w->device[i]->base);
        free(w->device[i]);
    }
    for (size_t i = 0; i < w->ops; i++)
        free(w->op[i].data);
    free(w->op);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

unsigned sim_add(struct sim *w, uint64_t size, uint32_t grain)
{
    struct sim_device *d = sim_alloc(sizeof *d);

    COIR_ASSERT(w->devices < SIM_DEVICES);
    COIR_ASSERT(w->events == w->origin);
    d->world = w;
    d->index = w->devices;
    d->device.grain = grain;
    d->live.size = d->first.size = d->base.size = size;
    w->device[w->devices] = d;
    return w->devices++;
}

struct coir_device *sim_open(struct sim *w, unsigned index)
{
    static const char *const names[] = { "sim0", "sim1", "sim2", "sim3" };
    struct sim_device *d = w->device[index];

    COIR_ASSERT(index < w->devices);
    coir_device_init(&d->device, &sim_kind, index < 4 ? names[index] : "sim", d->live.size, d->device.grain, false);
    return &d->device;
}

size_t sim_events(const struct sim *w)
{
    return w->events - w->origin;
}

void sim_fail(struct sim *w, unsigned calls, uint64_t n, int err, bool forever)
{
    w->faults = 0;
    w->has_failed = false;
    sim_fail_too(w, SIM_ALL_DEVICES, calls, n, err, forever);
}

void sim_fail_too(struct sim *w, uint64_t devices, unsigned calls, uint64_t n, int err, bool forever)
{
    COIR_ASSERT(w->faults < SIM_FAULTS);
    w->fault[w->faults++] = (struct sim_fault){ devices, calls, n, err, forever };
}

bool sim_has_failed(const struct sim *w)
{
    return w->has_failed;
}

void sim_lie(struct sim *w, uint64_t n, enum sim_lie what)
{
    w->lie_at = n;
    w->lie = what;
    w->has_failed = false;
}

struct sim_counts sim_counts(const struct sim *w, unsigned device)
{
    return w->device[device]->counts;
}

uint64_t sim_seed(uint64_t usual)
{
    const char *const given = getenv("COIR_SIM_SEED");

    return given && *given ? strtoull(given, NULL, 0) : usual;
}

unsigned sim_stride(void)
{
    const char *const sanitizer = getenv("COIR_SANITIZE");

    return sanitizer && strcmp(sanitizer, "none") != 0 && !getenv("COIR_TEST_LONG") ? 7 : 1;
}
