/* SPDX-License-Identifier: MIT */
/*
 * A device: one file or block device of a store, as bytes by position, behind a table of what its kind does. Whoever
 * reads, writes and flushes by these operations need not know what is behind them: a file (device/file.h), the
 * simulator of the tests, or a filter over another device.
 *
 *     coir_try(f, &f->write, coir_device_write, .device = d, .iov = f->iov, .n = 2, .offset = 8192);
 *     coir_try(f, &f->flush, coir_device_flush, .device = d);
 *
 * A device belongs to the shard that opened it, its home. Reading, writing and punching are done on any shard, on the
 * caller's own ring; flushing too, and is awaited at home; growing and closing are for the home alone. Its address must
 * not change. What is read and written at the same time in the same place is in no order.
 *
 * Nothing here allocates for an operation but the way to another shard. The iovecs and what they point at are the
 * caller's, outlive the await, and do not change meanwhile.
 */
#ifndef COIR_DEVICE_DEVICE_H
#define COIR_DEVICE_DEVICE_H

#include <coir/coir.h>

#include "device/flusher.h"

/*
 * What a kind of device does: bodies of tasks whose frames begin as struct coir_device_read and so on, and whose own
 * members lie in `room` (coir_device_fits checks it). Their contracts are those of the operations below. All are there.
 * `sync` is called by the flusher only, one at a time: when it succeeds, all writes that had ended before it began are
 * durable. Static and constant.
 */
struct coir_device_kind {
    const char *name;
    coir_step (*read)(struct coir_task *);
    coir_step (*write)(struct coir_task *);
    coir_step (*sync)(struct coir_task *);
    coir_step (*grow)(struct coir_task *);
    coir_step (*punch)(struct coir_task *);
    coir_step (*close)(struct coir_task *);
};

/* The first member of every device. */
struct coir_device {
    const struct coir_device_kind *kind;
    const char *name;                   /* for messages: a file's path. The opener's, as long as the device */
    uint64_t size;                      /* bytes it has; home */
    uint32_t grain;                     /* bytes that the medium writes at once, 4,096 or more: a power of two */
    unsigned home;                      /* shard */
    bool read_only;
    struct coir_flusher flusher;        /* home */
};

/* Kinds fill a device with this, on its home. */
void coir_device_init(struct coir_device *d, const struct coir_device_kind *kind, const char *name, uint64_t size,
                      uint32_t grain, bool read_only);

/* Past the page cache, so that it cannot vouch for the medium. Offset, lengths and addresses are multiples of 4,096.
 * Where the filesystem cannot do it, or the device not at that place, the pages are dropped and read again as well as
 * it goes. */
enum { COIR_DIRECT = 1 };

/* Reads all of it. -ENODATA: the device ends before; it was cut. */
struct coir_device_read {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset; int flags;);
    void *room[48];
};
coir_declare(coir_device_read);

/* Writes all of it; when it fails, or was cancelled, any part of it. A file becomes longer where it has to. Durable
 * when a coir_device_flush that was called after its end has returned 0. -EROFS: the device is read-only. */
struct coir_device_write {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset;);
    void *room[48];
};
coir_declare(coir_device_write);

/* Used by struct coir_device_flush. */
struct coir_device_sync {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    void *room[32];
};
coir_declare(coir_device_sync);

struct coir_flush_home {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    uint64_t mine;                      /* the sync that is good enough */
    struct coir_scope scope;
    union {
        struct coir_event_wait wait;
        struct coir_device_sync sync;
    };
};
coir_declare(coir_flush_home);

/*
 * Returns 0 when all that had been written when it was called is durable. The first failure is for ever: every
 * later call says the same at once, since the kernel forgets what it could not write. -ECANCELED: cancelled while it
 * waited for others' flush; nothing is known. One that has begun is not cancelled.
 */
struct coir_device_flush {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    struct coir_flush_home home;
};
coir_declare(coir_device_flush);

/* Makes the device at least `size` bytes long, with room for all of them on the medium; what is new reads as zeros.
 * -ENOSPC: there is none; a block device has the size it has. Home, one at a time. */
struct coir_device_grow {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t size;);
    void *room[48];
};
coir_declare(coir_device_grow);

/* Gives the room of some bytes back; they read as zeros then, or as before. An offer: any failure is harmless,
 * -EOPNOTSUPP where it cannot be done at all. */
struct coir_device_punch {
    coir_frame_void;
    coir_args(struct coir_device *device; uint64_t offset; uint64_t len;);
    void *room[48];
};
coir_declare(coir_device_punch);

/* Ends it: nobody uses it, or will. Flushes nothing. Home; also in a cancelled scope. */
struct coir_device_close {
    coir_frame_void;
    coir_args(struct coir_device *device;);
    void *room[48];
};
coir_declare(coir_device_close);

/* In the file of a kind, behind the frame of one of its bodies: `frame` is one for the operation `op`. */
#define coir_device_fits(frame, op) \
    _Static_assert(sizeof(struct frame) <= sizeof(struct op) \
                   && offsetof(struct frame, coir_args_) == offsetof(struct op, coir_args_) \
                   && sizeof(((struct frame *)0)->coir_args_) == sizeof(((struct op *)0)->coir_args_), \
                   "struct " #frame " begins as struct " #op ", and is no larger")

#endif
