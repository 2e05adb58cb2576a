/* SPDX-License-Identifier: MIT */
/*
 * The operations on a device: the frame becomes its kind's, whose body is called at state 0, so that a kind costs no
 * frame and no resumption of its own. Nothing here waits, and nothing here knows a kind.
 */
#include "device/device.h"

#include "runtime/base/assert.h"

void coir_device_init(struct coir_device *d, const struct coir_device_kind *kind, const char *name, uint64_t size,
                      uint32_t grain, bool read_only)
{
    COIR_ASSERT(coir_shard_id() >= 0);
    COIR_ASSERT(kind->read && kind->write && kind->sync && kind->grow && kind->punch && kind->close);
    COIR_ASSERT(grain >= 4096 && (grain & (grain - 1)) == 0);
    *d = (struct coir_device){ .kind = kind, .name = name, .size = size, .grain = grain,
                               .home = (unsigned)coir_shard_id(), .read_only = read_only };
    coir_flusher_init(&d->flusher);
}

static coir_step ends(struct coir_task *t, int status)
{
    t->status = status;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* The task goes on in the kind's body, which knows its frame as a struct of another name: what the compiler may not
 * conclude from that, should it see both sides at once. */
static coir_step enter(struct coir_task *t, coir_step (*body)(struct coir_task *))
{
    coir_step step;

    t->body = body;
    __asm__ volatile("" : : : "memory");
    step = body(t);
    __asm__ volatile("" : : : "memory");
    return step;
}

static bool is_home(const struct coir_device *d)
{
    return coir_shard_id() == (int)d->home;
}

coir_step coir_device_read_resume(struct coir_task *t)
{
    const struct coir_device *d = ((struct coir_device_read *)t)->device;

    return enter(t, d->kind->read);
}

coir_step coir_device_write_resume(struct coir_task *t)
{
    const struct coir_device *d = ((struct coir_device_write *)t)->device;

    return d->read_only ? ends(t, -EROFS) : enter(t, d->kind->write);
}

coir_step coir_device_sync_resume(struct coir_task *t)
{
    const struct coir_device *d = ((struct coir_device_sync *)t)->device;

    COIR_ASSERT(is_home(d));
    COIR_ASSERT(d->flusher.busy);
    return enter(t, d->kind->sync);
}

coir_step coir_device_grow_resume(struct coir_task *t)
{
    const struct coir_device_grow *op = (struct coir_device_grow *)t;
    const struct coir_device *d = op->device;

    COIR_ASSERT(is_home(d));
    if (op->size <= d->size)
        return ends(t, 0);
    return d->read_only ? ends(t, -EROFS) : enter(t, d->kind->grow);
}

coir_step coir_device_punch_resume(struct coir_task *t)
{
    const struct coir_device_punch *op = (struct coir_device_punch *)t;
    const struct coir_device *d = op->device;

    if (op->len == 0)
        return ends(t, 0);
    return d->read_only ? ends(t, -EROFS) : enter(t, d->kind->punch);
}

coir_step coir_device_close_resume(struct coir_task *t)
{
    const struct coir_device *d = ((struct coir_device_close *)t)->device;

    COIR_ASSERT(is_home(d));
    COIR_ASSERT(!d->flusher.busy);
    return enter(t, d->kind->close);
}
