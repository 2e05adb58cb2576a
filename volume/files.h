/* SPDX-License-Identifier: MIT */
/*
 * volume/files.h - the files of a store over devices: making the store, reading headers and superblocks, committing a
 * superblock. How devices are found by path is in volume/find.h; what the space map is, in volume/map.h.
 *
 *     coir_try(f, &f->load, coir_files_load, .files = files, .complaint = &f->complaint);
 *     ... recovery; a checkpoint ...
 *     files->next.lsn = lsn;  ...
 *     coir_try(f, &f->commit, coir_super_commit, .files = files, .complaint = &f->complaint);
 *
 * On the store's home shard, where the devices were opened. Whatever fails says why in the complaint, which may be
 * NULL, and which a second failure leaves as it is.
 */
#ifndef COIR_VOLUME_FILES_H
#define COIR_VOLUME_FILES_H

#include "device/device.h"
#include "volume/complain.h"
#include "volume/heads.h"

/* Blocks before the space map: both headers, superblocks and paths. Read at once. */
enum { COIR_HEAD_BYTES = COIR_AT_MAP * COIR_BLOCK };

struct coir_store_file {
    struct coir_device *device;
    const char *path;                   /* absolute, where it is now; NULL: it has no place to be remembered */
    struct coir_layout layout;
    uint64_t grown;                     /* blocks on the medium when it was opened; of a device all */
    uint32_t grain;                     /* its header's; the journal in file 0 is laid out by it */
    uint64_t stale_paths;               /* a bit a path block that is damaged, or says another place */
    bool bad_header[2];                 /* damaged, or has a grain that counts no more */
};

/* All zero but `n`, the devices and the paths, before coir_files_init or coir_files_load. Large: on the heap. */
struct coir_files {
    unsigned n;
    struct coir_store_file file[COIR_STORE_FILES];
    uint8_t store[16];                  /* its id */
    bool read_only;                     /* a device is, or a feature asks for it */
    struct coir_disk_super super;       /* what counts: the newest valid one, or the one committed last */
    struct coir_disk_super next;        /* what the next commit writes; whoever commits fills it, from `super` */
    uint64_t generation[2];             /* of each copy on the medium; 0: it is not valid */
    int failed;                         /* what the first commit that failed said: no other is tried */
    bool committing;
};

/* ---- making ------------------------------------------------------------------------------------------ */

struct coir_init_options {
    uint64_t journal;                   /* bytes; 0: coir_journal_blocks */
    void (*progress)(void *arg, uint64_t done, uint64_t total);     /* bytes; NULL: nobody is told */
    void *arg;
};

struct coir_head_write {
    coir_frame_void;
    coir_args(struct coir_device *device; void *buffer; size_t len; uint64_t offset; struct coir_complaint *complaint;);
    struct iovec iov;
    struct coir_device_write write;
};
coir_declare(coir_head_write);

struct coir_head_flush {
    coir_frame_void;
    coir_args(struct coir_device *device; struct coir_complaint *complaint;);
    struct coir_device_flush flush;
};
coir_declare(coir_head_flush);

struct coir_super_write {
    coir_frame_void;
    coir_args(struct coir_files *files; struct coir_disk_super *block; struct coir_complaint *complaint;);
    unsigned copy, turn;
    union {
        struct coir_head_write write;
        struct coir_device_flush flush;
    };
};
coir_declare(coir_super_write);

/*
 * Makes `files->next` the superblock: its generation is that of `super` plus 1; what identifies the store, and sizes,
 * are filled in. Writes the older or invalid copy, flushes, then the other one, flushes. When it returns 0 both are
 * durable, and `super` is what was `next`. When it fails either may count after a crash: the store must not be written
 * any more, and every later commit fails in the same way. What the superblock names has to be durable before. One at
 * a time. Not cancelled once it has begun.
 *   -EROFS, -ENOMEM (and then nothing was written, and another may succeed), or what a device said
 */
struct coir_super_commit {
    coir_frame_void;
    coir_args(struct coir_files *files; struct coir_complaint *complaint;);
    struct coir_disk_super *block;
    int err;
    struct coir_scope scope;
    struct coir_super_write write;
};
coir_declare(coir_super_commit);

/*
 * Makes a store of the devices, each for `blocks` of its layout, which the caller has filled with what the file may
 * grow to. Everything in the first MiB of each is overwritten, and the journal's place in the first one with zeros;
 * the files grow as far as the reserve of volume/space.h needs. When it returns 0 the store is durable, and loaded. A
 * crash, or a failure, leaves no store.
 *   -ENOSPC      the files are too small, or the filesystem below is full
 *   -EFBIG       a file is too large
 *   -ENOMEM, or what a device said
 */
struct coir_files_init {
    coir_frame_void;
    coir_args(struct coir_files *files; const struct coir_init_options *options; struct coir_complaint *complaint;);
    char *buffer;
    unsigned i;
    int err;
    uint64_t at, end;
    union {
        struct coir_head_write write;
        struct coir_device_grow grow;
        struct coir_head_flush flush;
        struct coir_super_commit commit;
    };
};
coir_declare(coir_files_init);

/* ---- reading ----------------------------------------------------------------------------------------- */

/* Reads the first COIR_HEAD_BYTES past the page cache into `buffer`, aligned to COIR_GRAIN_MAX or the device's grain.
 * What cannot be read (-EIO) is zeros in it. -ENODATA: the device is shorter. */
struct coir_head_read {
    coir_frame_void;
    coir_args(struct coir_device *device; char *buffer; struct coir_complaint *complaint;);
    size_t at, step;
    struct iovec iov;
    struct coir_device_read read;
};
coir_declare(coir_head_read);

/*
 * Reads the headers and superblocks of devices that are in the order of their files, and checks them against each
 * other and against the devices' lengths. Nothing is written. When it returns 0: layouts, `grown`, the id and `super`
 * are filled, `next` is a copy of `super`, `generation` says which copies are valid, and what coir_files_mend would
 * write is noted.
 *   -EBADMSG     damaged, or not the files of one store
 *   -ENODATA     a file is shorter than the store made it: it was cut
 *   -ENOTSUP     of a later version
 *   -ENOMEM, or what a device said
 */
struct coir_files_load {
    coir_frame_void;
    coir_args(struct coir_files *files; struct coir_complaint *complaint;);
    char *buffer;
    unsigned i;
    int err;
    struct coir_head_read read;
};
coir_declare(coir_files_load);

/* What the grain of a file will be when it has been mended: its header's, or that of the device where it is now if that
 * is larger. It never shrinks, so of two headers the one with the larger is the newer. */
uint32_t coir_files_grain(const struct coir_files *files, unsigned i);

/* Writes headers that were damaged, or are of a smaller grain than the device's, and paths that were wrong, and
 * flushes. At the end of an opening that may write, while no group stands in the journal that counts: the next one is
 * found by the header's grain. Of no use to one that may not write, and does nothing then. */
struct coir_files_mend {
    coir_frame_void;
    coir_args(struct coir_files *files; struct coir_complaint *complaint;);
    void *block;
    unsigned i, at;
    bool any;
    union {
        struct coir_head_write write;
        struct coir_head_flush flush;
    };
};
coir_declare(coir_files_mend);

/* ---- parts of these, which volume/find.h, the tests and the fuzzer use -------------------------------- */

/* Finds the header of a file in its first COIR_HEAD_BYTES: its own index, from either copy. 0 and a copy that is
 * valid; or the worse error of both, and a complaint that names the file as `name`. bad[i] is set when copy i is not,
 * or is older than the other. */
int coir_head_find(const char *head, const char *name, const struct coir_disk_header **header,
                   struct coir_layout *layout, bool bad[2], struct coir_complaint *complaint);

/* Takes what was read of file `i`: checks it against file 0, which comes first, and against its place. */
int coir_files_take(struct coir_files *files, unsigned i, const char *head, struct coir_complaint *complaint);

/* After all were taken: chooses the superblock, of which `head0` is what was read of file 0, and checks it against the
 * devices' lengths. */
int coir_files_check(struct coir_files *files, const char *head0, struct coir_complaint *complaint);

#endif
