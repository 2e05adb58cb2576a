/* SPDX-License-Identifier: MIT */
/*
 * volume/find.h - a store by paths: making it in files and block devices that may hold something else, and finding all
 * its files by any one of them.
 *
 *     files = calloc(1, sizeof *files);
 *     coir_try(f, &f->find, coir_store_find, .files = files, .path = "b.coir", .complaint = &f->complaint);
 *     ...
 *     coir_await(f, &f->close, coir_files_close, .files = files);
 *
 * The devices are of device/file.h, locked, on this shard, their home; and they and their paths belong to `files` from
 * then on, until coir_files_close. When one of these fails nothing is open.
 */
#ifndef COIR_VOLUME_FIND_H
#define COIR_VOLUME_FIND_H

#include "device/file.h"
#include "volume/files.h"
#include "volume/probe.h"

/* A device of `files`, and where it is. */
struct coir_found {
    struct coir_file_device file;
    char path[COIR_PATH_MAX + 1];       /* absolute */
    char *paths;                        /* while others are looked for: the path blocks that it has */
    bool made;                          /* it was not there before */
};

/* Closes the devices of `files`, and frees them. Cannot fail. Those that are NULL are passed over. */
struct coir_files_close {
    coir_frame_void;
    coir_args(struct coir_files *files;);
    unsigned i;
    struct coir_device_close close;
};
coir_declare(coir_files_close);

/* ---- making ------------------------------------------------------------------------------------------ */

struct coir_new_file {
    const char *path;
    uint64_t size;                      /* bytes that it may grow to; 0: as large as the device, or the file, is */
};

struct coir_init_file {
    coir_frame_void;
    coir_args(struct coir_files *files; unsigned i; const struct coir_new_file *as; bool force;
              struct coir_complaint *complaint;);
    struct coir_found *found;
    int err;
    char *head;
    struct coir_probe probe;
    union {
        struct coir_file_open open;
        struct coir_offload offload;
        struct coir_head_read read;
    };
};
coir_declare(coir_init_file);

struct coir_sync_folder {
    coir_frame_void;
    coir_args(const char *path;);
    char folder[COIR_PATH_MAX + 1];
    int fd;
    union {
        struct coir_open open;
        struct coir_fsync fsync;
        struct coir_close close;
    };
};
coir_declare(coir_sync_folder);

struct coir_empty_file {
    coir_frame_void;
    coir_args(struct coir_found *found; struct coir_complaint *complaint;);
    struct coir_probe probe;
    union {
        struct coir_ftruncate ftruncate;
        struct coir_offload offload;
    };
};
coir_declare(coir_empty_file);

/*
 * Makes a store of `n` files, 1 to 64, the first of which gets the journal, and opens it. A file that is not there is
 * made. One that is there must be empty, or all hole, and a block device without a signature; or `force` is set: then
 * what is there is lost, once all of them have been looked at. `files` is all zero.
 *   -EEXIST      it holds something: the complaint says what
 *   -EBUSY       somebody has it open as a store, or has mounted it; or it is named twice
 *   -EINVAL      no size; -ENAMETOOLONG; as coir_file_open, as coir_files_init
 * Files that were made are removed when it fails.
 */
struct coir_files_create {
    coir_frame_void;
    coir_args(struct coir_files *files; const struct coir_new_file *list; unsigned n; bool force;
              const struct coir_init_options *options; struct coir_complaint *complaint;);
    unsigned i;
    union {
        struct coir_init_file file;
        struct coir_empty_file empty;
        struct coir_files_init init;
        struct coir_sync_folder sync;
        struct coir_unlink unlink;
        struct coir_files_close close;
    };
};
coir_declare(coir_files_create);

/* ---- finding ----------------------------------------------------------------------------------------- */

/* Where a file is that is not where it was. */
struct coir_moved_file {
    unsigned index;
    const char *path;
};

/* Opens a file as file `index` of the store; -1 is whichever it is. */
struct coir_find_file {
    coir_frame_void;
    coir_args(struct coir_files *files; const char *path; int index; bool read_only;
              struct coir_complaint *complaint;);
    struct coir_found *found;
    char *head;
    int err;
    union {
        struct coir_file_open open;
        struct coir_head_read read;
        struct coir_device_close close;
    };
};
coir_declare(coir_find_file);

/* Tries the places where file `index` may be, by the path blocks of those that are open. */
struct coir_find_other {
    coir_frame_void;
    coir_args(struct coir_files *files; unsigned index; bool read_only; struct coir_complaint *complaint;);
    unsigned holder, way;
    char path[COIR_PATH_MAX + 1];
    struct coir_complaint this, best;   /* of one place; the one that says most */
    struct coir_find_file one;
};
coir_declare(coir_find_other);

/*
 * Opens the store that `path` is a file of, and loads it (coir_files_load). The others are looked for where `moved`
 * says; else where the files remember each other; else, by the same name, in the folder of `path`. `files` is all
 * zero. With `read_only` nothing is written, and others may read at the same time.
 *   -EBUSY       somebody has the store open
 *   -ENOENT      a file was not found: the complaint says which, and how to name it
 *   ...          as coir_file_open, as coir_files_load
 */
struct coir_store_find {
    coir_frame_void;
    coir_args(struct coir_files *files; const char *path; const struct coir_moved_file *moved; unsigned n;
              bool read_only; struct coir_complaint *complaint;);
    unsigned i;
    int err;
    union {
        struct coir_find_file one;
        struct coir_find_other other;
        struct coir_files_load load;
        struct coir_files_close close;
    };
};
coir_declare(coir_store_find);

/* Makes a path absolute, without looking at what is there: a link stays one. 0; -ENAMETOOLONG, or of getcwd(3). */
int coir_path_absolute(char to[COIR_PATH_MAX + 1], const char *path);

#endif
