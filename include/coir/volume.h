/* SPDX-License-Identifier: MIT */
/*
 * coir/volume.h - block volumes: thin, checksummed, crash-safe arrays of bytes, in a library of its own, coirvol.
 *
 *     coir_get(f, f->store, &f->open, coir_store_open, .path = "disk.coir");
 *     coir_get(f, f->volume, &f->find, coir_volume_open, .store = f->store, .name = "vm0");
 *     coir_try(f, &f->write, coir_volume_write, .volume = f->volume, .iov = &f->iov, .n = 1, .offset = 0);
 *     coir_try(f, &f->flush, coir_volume_flush, .volume = f->volume);
 *
 * A store is one or more files or block devices and holds volumes. What the medium looks like is in
 * docs/volume-format.md, how to live with it in docs/volumes.md.
 *
 * A store has a home: the shard on which it was opened. Reads, writes and the like may be awaited on any shard of the
 * run; data moves on the caller's ring, and only a letter goes home and back. Stores are opened and closed at home,
 * and volumes are made, removed, renamed and resized from any shard.
 *
 * Offsets and lengths are bytes. Any are allowed, also unaligned ones, which read what they do not cover; those that
 * begin and end with volume blocks cost the least. The sum of `iov` is the length. `iov` and the memory that it points
 * at are the caller's, and outlive the await. Nothing is moved in part: an operation does all or fails.
 *
 * What is written is seen by every read that begins after the write has ended, and survives a crash after a flush that
 * began after it has ended, or with COIR_VOLUME_DURABLE. Of writes at the same time to the same place, one is the
 * last, volume block by volume block. Cancelling an operation ends the waiting; whether a write has happened then is
 * unknown, as after every error.
 *
 * Errors:
 *   -EINVAL      out of the volume's range, or arguments that make no sense
 *   -EBADMSG     what was read is not what was written: volume, place and device offset are named in the store's log
 *   -ENOSPC      the store is full. Reading and unmapping go on, and unmapping heals it
 *   -EIO         the medium failed
 *   -EROFS       the store is read-only: it was opened so, or became so since a write of its own failed: coir_store_why
 *   -ESHUTDOWN   the store is being closed
 *   -ESTALE      the volume has been removed
 *   -ENOMEM, -ECANCELED, -EFAULT (NULL, or memory on the C stack of a body)
 */
#ifndef COIR_VOLUME_H
#define COIR_VOLUME_H

#include <coir/task.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif
# 46 "coir/volume.h"

struct coir_store;
struct coir_volume;

/* ---- a store ----------------------------------------------------------------------------------------- */

/* One line about the store: what an opening replayed, what is damaged and where, why it became read-only. `line` is
 * gone after the call. On the store's home shard. */
typedef void coir_store_log(void *ctx, const char *line);

/* What is not named is 0 or NULL, and means what is said first. */
struct coir_store_options {
    bool read_only;
    size_t memory;                      /* for nodes of the index, in bytes. 0: 64 MiB */
    coir_store_log *log;                /* NULL: to stderr, with "coir: " in front */
    void *ctx;
    /* files that lie elsewhere than the store remembers: path i is taken for file `moved_index[i]` */
    const char *const *moved;
    const unsigned *moved_index;
    unsigned n_moved;
};

/*
 * Makes a store of `n` files or devices, 1 to 64, each of `size` bytes (a device: 0 is all of it), 32 MiB at least.
 * Regular files are made when they are not there.
 *   -EEXIST      one holds a store, a filesystem, a partition table or other data already, and `force` is false
 *   -EBUSY       one is open in another process, or mounted
 *   -EINVAL      sizes; the same file twice
 * `why`, of `why_size` bytes (NULL, 0: none), says which file, and what to do.
 */
struct coir_store_init {
    coir_frame_void;
    coir_args(const char *const *paths; unsigned n; uint64_t size; uint64_t journal; bool force; char *why;
              size_t why_size; void (*progress)(void *ctx, uint64_t done, uint64_t all); void *ctx;);
    void *room_[64];
};
coir_export(coir_store_init);

/*
 * Opens the store that the file `path` belongs to, and recovers it. The result is the store, the caller's, who leaves
 * it with coir_store_close.
 *   -EBUSY       another process has it open. One that was killed has it until its last write has ended: for that it
 *                waits, 2 s at most
 *   -EBADMSG     damage that leaves nothing to serve. Less damage opens it read-only: coir_store_why
 *   -EPROTO      it is no store, or of a version that this library does not know
 *   -ENOENT, -EACCES, ...   of a file
 */
struct coir_store_open {
    coir_frame(struct coir_store *);
    coir_args(const char *path; const struct coir_store_options *options; char *why; size_t why_size;);
    void *room_[64];
};
coir_export(coir_store_open);

/* Waits for operations under way, refuses new ones (-ESHUTDOWN), flushes, writes a checkpoint, gives everything back.
 * The status is that of the flush and the checkpoint; the store is gone in every case. Volumes that are still open
 * stop the program. Home shard. Not cancellable. */
struct coir_store_close {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    void *room_[200];
};
coir_export(coir_store_close);

/* NULL, or why the store is read-only. The text is the store's. Any thread. */
COIR_API const char *coir_store_why(const struct coir_store *s);

/* What a store is, and has done since it was opened. Bytes, unless said. */
struct coir_store_facts {
    uint8_t id[16];
    unsigned files;
    bool read_only;
    uint64_t size;                      /* what volumes and the index may take in all, when its files have grown */
    uint64_t live, free;                /* in use; what writes may have now, or when files have grown */
    uint64_t waiting;                   /* given back, and not free before a checkpoint or a read has ended */
    uint64_t reserve;                   /* kept from writes, so that unmapping and checkpoints never lack room */
    uint64_t journal, journal_used;
    uint64_t generation, epoch, lsn;    /* of the last checkpoint; of this opening; the last record */
    uint64_t durable;                   /* the last record that is */
    uint64_t checkpoints;               /* written */
    uint64_t records, groups, flushes;  /* of the journal: flushes of devices, for groups */
    uint64_t written;                   /* bytes of groups and marks */
    uint64_t waits;                     /* writes that waited for room in the journal */
    uint64_t busy;                      /* ns of the home shard that committing took */
    uint64_t nodes, dirty;              /* of the index, in memory */
    uint64_t reads, hits;               /* nodes that were read, leaves that were in memory */
};

/* The shard on which it was opened. Any thread. */
COIR_API unsigned coir_store_home(const struct coir_store *s);

/* Fills it in. Home shard. */
COIR_API void coir_store_describe(const struct coir_store *s, struct coir_store_facts *out);

/*
 * Verifies every structure of the store: reads all nodes of the index and the space map past the page cache, and
 * compares what is named with what is in use. While others read and write, what is verified is a checkpoint, which it
 * begins with. `tell` is called with a line for each thing that is wrong; NULL: nobody. The result is how many nodes
 * there are.
 *   -EBADMSG     something is
 * Home shard; data is not read: coir_store_scrub.
 */
struct coir_store_check {
    coir_frame(uint64_t);
    coir_args(struct coir_store *store; coir_store_log *tell; void *ctx;);
    void *room_[64];
};
coir_export(coir_store_check);

/*
 * Reads all data of all volumes past the page cache and compares it with its sums, while others read and write. Each
 * damaged volume block is named in the store's log. `progress`, which may be NULL, is told now and then. The result is
 * how many bytes were compared.
 *   -EBADMSG     some are damaged: `damaged` of the frame says how many volume blocks
 * Home shard.
 */
struct coir_store_scrub {
    coir_frame(uint64_t);
    coir_args(struct coir_store *store; void (*progress)(void *ctx, uint64_t done, uint64_t all); void *ctx;);
    uint64_t damaged;
    void *room_[64];
};
coir_export(coir_store_scrub);

/* ---- volumes ----------------------------------------------------------------------------------------- */

/* What coir_volume_describe tells. */
struct coir_volume_facts {
    uint64_t id;
    uint64_t size, mapped;              /* bytes; those that take space */
    uint32_t block;                     /* bytes of a volume block */
    bool read_only;
    char name[256];
};

/* Makes a volume: a name of 1 to 255 bytes of printable UTF-8 without '/'; `size` bytes, a multiple of `block` after
 * rounding up; `block` bytes a volume block, 4 KiB (0) to 64 KiB, a power of two. It is durable when it returns.
 *   -EEXIST   the name is taken      -EINVAL   name, size or block */
struct coir_volume_create {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t size; uint32_t block;);
    void *room_[700];
};
coir_export(coir_volume_create);

/* Removes the volume of that name. It is durable when it returns; its space comes back in the background. -ENOENT;
 * -EBUSY while it is open. */
struct coir_volume_remove {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name;);
    void *room_[700];
};
coir_export(coir_volume_remove);

/* Gives a volume another name; who has it open does not mind. -ENOENT, -EEXIST. */
struct coir_volume_rename {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; const char *to;);
    void *room_[700];
};
coir_export(coir_volume_rename);

/* Makes a volume larger; or smaller, with what is beyond lost. -ENOENT; -EBUSY: smaller while it is open. */
struct coir_volume_resize {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t size;);
    void *room_[700];
};
coir_export(coir_volume_resize);

/* Up to `n` volumes in order of id, beginning after id `after`, into `facts`. The result is how many; fewer than `n`:
 * those were the last. */
struct coir_volume_list {
    coir_frame(unsigned);
    coir_args(struct coir_store *store; uint64_t after; struct coir_volume_facts *facts; unsigned n;);
    void *room_[700];
};
coir_export(coir_volume_list);

/* Opens a volume; the result is a handle, used from any shard, left with coir_volume_close. Opening the same one again
 * gives the same handle, which is then left as often. -ENOENT. */
struct coir_volume_open {
    coir_frame(struct coir_volume *);
    coir_args(struct coir_store *store; const char *name;);
    void *room_[700];
};
coir_export(coir_volume_open);

/* Leaves a volume, after the last of its operations has ended. Any shard. */
struct coir_volume_close {
    coir_frame_void;
    coir_args(struct coir_volume *volume;);
    void *room_[32];
};
coir_export(coir_volume_close);

/* What is known of an open volume, now. Any thread. */
COIR_API void coir_volume_describe(const struct coir_volume *v, struct coir_volume_facts *out);

/* ---- bytes ------------------------------------------------------------------------------------------- */

/* Flags of the operations that write. */
enum {
    COIR_VOLUME_DURABLE = 1,            /* it survives a crash when the await returns: FUA */
    COIR_VOLUME_NO_HOLE = 2,            /* zeros that take their space */
    COIR_VOLUME_FAST = 4,               /* -EOPNOTSUPP rather than writing zeros */
};

/* Reads as much as `iov` has room for, from `offset` on. */
struct coir_volume_read {
    coir_frame_void;
    coir_args(struct coir_volume *volume; const struct iovec *iov; unsigned n; uint64_t offset;);
    void *room_[40];
};
coir_export(coir_volume_read);

/* Writes what `iov` holds, to `offset` and on. */
struct coir_volume_write {
    coir_frame_void;
    coir_args(struct coir_volume *volume; const struct iovec *iov; unsigned n; uint64_t offset; unsigned flags;);
    void *room_[64];
};
coir_export(coir_volume_write);

/* Gives the space of whole volume blocks back, which then read as zeros; what it covers of others is left as it is. */
struct coir_volume_unmap {
    coir_frame_void;
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; unsigned flags;);
    void *room_[72];
};
coir_export(coir_volume_unmap);

/* Zeros: by giving space back where whole volume blocks are covered, unless COIR_VOLUME_NO_HOLE. */
struct coir_volume_write_zeroes {
    coir_frame_void;
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; unsigned flags;);
    void *room_[76];
};
coir_export(coir_volume_write_zeroes);

/* Everything that had ended when it began survives a crash when it returns. */
struct coir_volume_flush {
    coir_frame_void;
    coir_args(struct coir_volume *volume;);
    void *room_[88];
};
coir_export(coir_volume_flush);

/* A piece of a volume: `length` bytes that take space, or that do not and read as zeros. */
struct coir_volume_piece {
    uint64_t length;
    bool hole;
};

/* How the range is made up, from `offset` on: up to `n` pieces into `pieces`, neighbours of different kinds, the last
 * one perhaps cut short or ending before the range does. The result is how many: at least one. */
struct coir_volume_status {
    coir_frame(unsigned);
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; struct coir_volume_piece *pieces;
              unsigned n;);
    void *room_[8];
};
coir_export(coir_volume_status);

#ifdef __cplusplus
}
#endif
#endif
