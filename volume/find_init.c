/* SPDX-License-Identifier: MIT */
/*
 * Making a store where something else may be. All files are opened, locked and looked at before the first one is
 * touched, so that a store of which one file cannot be had costs nobody anything.
 */
#include "volume/find.h"

#include "runtime/base/assert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct coir_found *found_of(struct coir_device *device)
{
    return coir_container_of(device, struct coir_found, file.device);
}

/* ---- one file ---------------------------------------------------------------------------------------- */

static int open_failed(const char *path, int status, struct coir_complaint *complaint)
{
    if (status == -EBUSY)
        return coir_complain(complaint, status, "%s: it is in use by another process, mounted, or named twice", path);
    if (status == -ENOTBLK)
        return coir_complain(complaint, status, "%s: it is neither a file nor a block device", path);
    return coir_complain(complaint, status, "%s: %s", path, coir_strerror(status));
}

/* What the file may grow to. */
static int choose_size(struct coir_files *files, unsigned i, const struct coir_new_file *as,
                       struct coir_complaint *complaint)
{
    const struct coir_found *const found = found_of(files->file[i].device);
    const uint64_t has = found->file.device.size, size = as->size ? as->size : has;

    if (size == 0)
        return coir_complain(complaint, -EINVAL, "%s: it is empty: say how large it may become (--size)", found->path);
    if (found->file.is_block && size > has)
        return coir_complain(complaint, -ENOSPC, "%s: it has %llu bytes, and not %llu", found->path,
                             (unsigned long long)has, (unsigned long long)size);
    files->file[i].layout.blocks = size / COIR_BLOCK;
    return 0;
}

/* Whether a file holds nothing: it is empty, or all hole, as truncate(1) leaves it. */
static bool is_empty(const struct coir_found *found)
{
    struct stat st;

    return found->file.device.size == 0 || (!found->file.is_block && fstat(found->file.fd, &st) == 0 && !st.st_blocks);
}

/* Whether a file that holds something may be overwritten. `head` is NULL when it is too short for a store. */
static int judge(const struct coir_init_file *f)
{
    const struct coir_disk_header *header = NULL;
    const char *const path = f->found->path;
    struct coir_layout layout;
    bool damaged[2];

    if (f->force || is_empty(f->found))
        return 0;
    if (f->head && coir_head_find(f->head, path, &header, &layout, damaged, NULL) != -EBADMSG)
        return coir_complain(f->complaint, -EEXIST, "%s: it holds a store already; --force destroys it", path);
    if (f->probe.found[0])
        return coir_complain(f->complaint, -EEXIST, "%s: it holds %s; --force destroys it", path, f->probe.found);
    if (f->found->file.is_block)
        return 0;
    return coir_complain(f->complaint, -EEXIST, "%s: it is not empty (%llu bytes); --force overwrites it", path,
                         (unsigned long long)f->found->file.device.size);
}

coir_body(coir_init_file, f) {
    f->head = NULL;
    f->probe.found[0] = 0;
    f->found = calloc(1, sizeof *f->found);
    if (!f->found)
        coir_fail(f, ENOMEM);
    f->err = coir_path_absolute(f->found->path, f->as->path);
    if (f->err < 0)
        coir_fail(f, coir_complain(f->complaint, f->err, "%s: the path is too long", f->as->path));
    f->found->made = true;
    coir_await(f, &f->open, coir_file_open, .file = &f->found->file, .path = f->found->path, .flags = COIR_FILE_NEW);
    if (coir_status(&f->open) == -EEXIST) {
        f->found->made = false;
        coir_await(f, &f->open, coir_file_open, .file = &f->found->file, .path = f->found->path);
    }
    if (coir_status(&f->open) < 0)
        coir_fail(f, open_failed(f->found->path, coir_status(&f->open), f->complaint));
    f->files->file[f->i].device = &f->found->file.device;
    f->files->file[f->i].path = f->found->path;
    if (f->found->file.device.size >= COIR_HEAD_BYTES) {
        f->head = aligned_alloc(COIR_GRAIN_MAX, COIR_HEAD_BYTES);
        if (!f->head)
            coir_fail(f, ENOMEM);
        coir_try(f, &f->read, coir_head_read, .device = &f->found->file.device, .buffer = f->head,
                 .complaint = f->complaint);
    }
    f->probe.fd = f->found->file.fd;
    coir_try(f, &f->offload, coir_offload, .fn = coir_probe_look, .arg = &f->probe);
    f->err = f->offload.result < 0
        ? coir_complain(f->complaint, (int)f->offload.result, "%s: cannot look what it holds: %s", f->found->path,
                        coir_strerror((int)f->offload.result))
        : judge(f);
    f->err = f->err < 0 ? f->err : choose_size(f->files, f->i, f->as, f->complaint);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_finally(f) {
        free(f->head);
        if (!f->files->file[f->i].device)
            free(f->found);
    }
} coir_end

/* Makes nothing of what it holds: a file is cut to no length, a block device has its signatures removed. */
coir_body(coir_empty_file, f) {
    if (f->found->file.is_block) {
        f->probe.fd = f->found->file.fd;
        coir_try(f, &f->offload, coir_offload, .fn = coir_probe_wipe, .arg = &f->probe);
        if (f->offload.result < 0)
            coir_fail(f, coir_complain(f->complaint, (int)f->offload.result, "%s: cannot remove what it holds: %s",
                                       f->found->path, coir_strerror((int)f->offload.result)));
        coir_return(f);
    }
    coir_await(f, &f->ftruncate, coir_ftruncate, .fd = f->found->file.fd, .length = 0);
    if (coir_status(&f->ftruncate) < 0)
        coir_fail(f, coir_complain(f->complaint, coir_status(&f->ftruncate), "%s: cannot empty it: %s", f->found->path,
                                   coir_strerror(coir_status(&f->ftruncate))));
    f->found->file.device.size = 0;
} coir_end

/* ---- all of them ------------------------------------------------------------------------------------- */

/* The folder of an absolute path. */
static void folder_of(char folder[COIR_PATH_MAX + 1], const char *path)
{
    const size_t n = (size_t)(strrchr(path, '/') - path);

    snprintf(folder, COIR_PATH_MAX + 1, "%.*s", n > 0 ? (int)n : 1, path);
}

coir_body(coir_sync_folder, f) {
    f->fd = -1;
    folder_of(f->folder, f->path);
    coir_get(f, f->fd, &f->open, coir_open, .path = f->folder, .flags = O_RDONLY | O_DIRECTORY);
    coir_await(f, &f->fsync, coir_fsync, .fd = f->fd);
    if (coir_status(&f->fsync) != -EINVAL)      /* a filesystem that does not sync folders */
        coir_check(f, &f->fsync);
    coir_finally(f) {
        if (f->fd >= 0)
            coir_await(f, &f->close, coir_close, .fd = f->fd);
    }
} coir_end

coir_body(coir_files_create, f) {
    if (f->n == 0 || f->n > COIR_STORE_FILES)
        coir_fail(f, coir_complain(f->complaint, -EINVAL, "a store has 1 to %u files, and not %u", COIR_STORE_FILES,
                                   f->n));
    f->files->n = f->n;
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->file, coir_init_file, .files = f->files, .i = f->i, .as = &f->list[f->i], .force = f->force,
                 .complaint = f->complaint);
    for (f->i = 0; f->i < f->n; f->i++)
        if (f->files->file[f->i].device->size > 0)
            coir_try(f, &f->empty, coir_empty_file, .found = found_of(f->files->file[f->i].device),
                     .complaint = f->complaint);
    coir_try(f, &f->init, coir_files_init, .files = f->files, .options = f->options, .complaint = f->complaint);
    for (f->i = 0; f->i < f->n; f->i++) {
        if (!found_of(f->files->file[f->i].device)->made)
            continue;
        coir_await(f, &f->sync, coir_sync_folder, .path = f->files->file[f->i].path);
        if (coir_status(&f->sync) < 0)
            coir_fail(f, coir_complain(f->complaint, coir_status(&f->sync), "%s: cannot make its name durable: %s",
                                       f->files->file[f->i].path, coir_strerror(coir_status(&f->sync))));
    }
    coir_finally(f) {
        if (coir_status(f) < 0) {
            for (f->i = 0; f->i < f->n && f->i < COIR_STORE_FILES; f->i++)
                if (f->files->file[f->i].device && found_of(f->files->file[f->i].device)->made)
                    coir_await(f, &f->unlink, coir_unlink, .path = f->files->file[f->i].path);
            coir_await(f, &f->close, coir_files_close, .files = f->files);
        }
    }
} coir_end
