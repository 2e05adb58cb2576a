/* SPDX-License-Identifier: MIT */
/*
 * A file or a block device as a device. The store's other layers include this only where they open one.
 *
 * It is locked with flock(2) on the description that writes, so that the lock lasts until the kernel's last write has
 * ended, whatever became of the process: for writing against everybody, for reading against writers. Written and synced
 * through the page cache; COIR_DIRECT reads on a second descriptor with O_DIRECT.
 */
#ifndef COIR_DEVICE_FILE_H
#define COIR_DEVICE_FILE_H

#include <sys/stat.h>

#include "device/device.h"

struct coir_file_device {
    struct coir_device device;
    int fd;                             /* writes, syncs, holds the lock */
    int direct;                         /* reads past the page cache; -1: the filesystem cannot */
    bool is_block;
};

extern const struct coir_device_kind coir_file_kind;

enum {
    COIR_FILE_READ_ONLY = 1,
    COIR_FILE_CREATE = 2,               /* a file that is not there is made, empty, mode 0600 */
    COIR_FILE_NEW = 4,                  /* and it must not be there: -EEXIST */
    COIR_FILE_WAIT = 8,                 /* who has it may have died, and the kernel not closed it yet: 2 s for that */
};

/*
 * Opens `path`, which has to last as long as the device, on this shard, its home. A file's grain is 4,096; a block
 * device's is its physical block, if that is more. When it returns 0 there is a device, and coir_device_close ends it.
 *   -EBUSY     another process, or this one, has it open as a device; a block device is mounted
 *   -ENOTBLK   neither a file nor a block device
 *   ...        as open(2)
 * The name of a file that was made is durable once its folder is synced, which is for whoever makes a store.
 */
struct coir_file_open {
    coir_frame_void;
    coir_args(struct coir_file_device *file; const char *path; int flags;);
    int fd, err, tries;
    uint64_t size;
    uint32_t grain;
    bool is_block;
    char again[32];                     /* a path of what is open */
    struct statx st;
    union {
        struct coir_statx statx;
        struct coir_open open;
        struct coir_close close;
        struct coir_sleep sleep;
    };
};
coir_declare(coir_file_open);

#endif
