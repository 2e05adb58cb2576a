/* SPDX-License-Identifier: MIT */
/*
 * Finding the files of a store. What the files remember of each other is a hint: a file is taken for one of the store
 * because its header says so, wherever it is. Until all are there `files->n` is the number that the first one says, and
 * those that are missing have no device.
 */
#include "volume/find.h"

#include "runtime/base/assert.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct coir_found *found_of(struct coir_device *device)
{
    return coir_container_of(device, struct coir_found, file.device);
}

int coir_path_absolute(char to[COIR_PATH_MAX + 1], const char *path)
{
    char folder[COIR_PATH_MAX + 1] = "";

    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        return errno == ERANGE ? -ENAMETOOLONG : -errno;
    const int n = path[0] == '/' ? snprintf(to, COIR_PATH_MAX + 1, "%s", path)
                                 : snprintf(to, COIR_PATH_MAX + 1, "%s/%s", strcmp(folder, "/") ? folder : "", path);
    return n > COIR_PATH_MAX ? -ENAMETOOLONG : 0;
}

coir_body(coir_files_close, f) {
    for (f->i = 0; f->i < COIR_STORE_FILES; f->i++) {
        if (!f->files->file[f->i].device)
            continue;
        coir_await(f, &f->close, coir_device_close, .device = f->files->file[f->i].device);
        free(found_of(f->files->file[f->i].device)->paths);
        free(found_of(f->files->file[f->i].device));
        f->files->file[f->i].device = NULL;
        f->files->file[f->i].path = NULL;
    }
} coir_end

/* ---- one file ---------------------------------------------------------------------------------------- */

static int open_failed(const char *path, int status, struct coir_complaint *complaint)
{
    if (status == -EBUSY)
        return coir_complain(complaint, status,
                             "%s: it is in use: another process has the store open, or it is mounted", path);
    if (status == -ENOTBLK)
        return coir_complain(complaint, status, "%s: it is neither a file nor a block device", path);
    if (status == -EROFS || status == -EACCES)
        return coir_complain(complaint, status, "%s: %s; to open the store for reading only, say so", path,
                             coir_strerror(status));
    return coir_complain(complaint, status, "%s: %s", path, coir_strerror(status));
}

/* Gives what was opened its place, if it is the file that is looked for. */
static int take(struct coir_find_file *f)
{
    const struct coir_disk_header *header = NULL;
    struct coir_files *const files = f->files;
    struct coir_layout layout;
    bool damaged[2];
    const int r = coir_head_find(f->head, f->found->path, &header, &layout, damaged, f->complaint);

    if (r < 0)
        return r;
    if (f->index >= 0 && memcmp(files->store, header->store, sizeof files->store) != 0)
        return coir_complain(f->complaint, -EBADMSG, "%s: it belongs to another store", f->found->path);
    if (f->index >= 0 && header->index != (unsigned)f->index)
        return coir_complain(f->complaint, -EBADMSG, "%s: it is file %u of the store, and is named as file %d",
                             f->found->path, header->index, f->index);
    if (f->index >= 0 && header->files != files->n)
        return coir_complain(f->complaint, -EBADMSG, "%s: its store has %u files, and not %u", f->found->path,
                             header->files, files->n);
    f->found->paths = malloc((size_t)header->files * COIR_BLOCK);
    if (!f->found->paths)
        return -ENOMEM;
    memcpy(f->found->paths, f->head + (size_t)COIR_AT_PATHS * COIR_BLOCK, (size_t)header->files * COIR_BLOCK);
    memcpy(files->store, header->store, sizeof files->store);
    files->n = f->index < 0 ? header->files : files->n;
    COIR_ASSERT(!files->file[header->index].device);
    files->file[header->index].device = &f->found->file.device;
    files->file[header->index].path = f->found->path;
    return 0;
}

coir_body(coir_find_file, f) {
    f->head = NULL;
    f->found = calloc(1, sizeof *f->found);
    if (!f->found)
        coir_fail(f, ENOMEM);
    f->err = coir_path_absolute(f->found->path, f->path);
    if (f->err < 0)
        coir_fail(f, coir_complain(f->complaint, f->err, "%s: the path is too long", f->path));
    coir_await(f, &f->open, coir_file_open, .file = &f->found->file, .path = f->found->path,
               .flags = COIR_FILE_WAIT | (f->read_only ? COIR_FILE_READ_ONLY : 0));
    if (coir_status(&f->open) < 0)
        coir_fail(f, open_failed(f->found->path, coir_status(&f->open), f->complaint));
    f->head = aligned_alloc(COIR_GRAIN_MAX, COIR_HEAD_BYTES);
    f->err = -ENOMEM;
    if (f->head) {
        coir_await(f, &f->read, coir_head_read, .device = &f->found->file.device, .buffer = f->head,
                   .complaint = f->complaint);
        f->err = coir_status(&f->read);
    }
    if (f->err == 0)
        f->err = take(f);
    if (f->err == 0) {
        f->found = NULL;
        coir_return(f);
    }
    coir_await(f, &f->close, coir_device_close, .device = &f->found->file.device);
    coir_fail(f, f->err);
    coir_finally(f) {
        free(f->head);
        free(f->found);
    }
} coir_end

/* ---- the others -------------------------------------------------------------------------------------- */

/* The n-th place where a file may be: for each file that is open, what it remembers, and the same name in the folder of
 * that file. False: there are no more, or none by this one (`path` is empty). */
static bool place(const struct coir_files *files, unsigned holder, unsigned way, unsigned index, char *path)
{
    path[0] = 0;
    if (holder >= files->n)
        return false;
    if (!files->file[holder].device)
        return true;
    const char *why;
    const struct coir_found *const found = found_of(files->file[holder].device);
    const struct coir_disk_path *const p = (const void *)(found->paths + (size_t)index * COIR_BLOCK);
    if (coir_path_check(p, holder, index, &why) < 0)
        return true;
    if (way == 0) {
        memcpy(path, p->path, p->length);
        path[p->length] = 0;
        return true;
    }
    const char *const slash = memrchr(p->path, '/', p->length);
    const int folder = (int)(strrchr(found->path, '/') + 1 - found->path);
    const int name = (int)(p->path + p->length - slash - 1);
    if (folder + name <= COIR_PATH_MAX)
        snprintf(path, COIR_PATH_MAX + 1, "%.*s%.*s", folder, found->path, name, slash + 1);
    return true;
}

coir_body(coir_find_other, f) {
    f->best.status = 0;
    for (f->holder = 0; place(f->files, f->holder, 0, f->index, f->path); f->holder++)
        for (f->way = 0; f->way < 2 && place(f->files, f->holder, f->way, f->index, f->path); f->way++) {
            if (!f->path[0])
                continue;
            f->this.status = 0;
            coir_await(f, &f->one, coir_find_file, .files = f->files, .path = f->path, .index = (int)f->index,
                       .read_only = f->read_only, .complaint = &f->this);
            if (coir_status(&f->one) == 0)
                coir_return(f);
            if (coir_status(&f->one) == -ECANCELED || coir_status(&f->one) == -ENOMEM)
                coir_fail(f, coir_status(&f->one));
            if (!f->best.status || f->best.status == -ENOENT)
                f->best = f->this;
        }
    coir_fail(f, coir_complain(f->complaint, f->best.status ? f->best.status : -ENOENT,
                               "file %u of the store was not found (%s): name it with --file %u=PATH", f->index,
                               f->best.status ? f->best.text : "nothing remembers where it was", f->index));
} coir_end

/* ---- all of them ------------------------------------------------------------------------------------- */

static void forget_paths(struct coir_files *files)
{
    for (unsigned i = 0; i < files->n; i++) {
        free(found_of(files->file[i].device)->paths);
        found_of(files->file[i].device)->paths = NULL;
    }
}

coir_body(coir_store_find, f) {
    coir_try(f, &f->one, coir_find_file, .files = f->files, .path = f->path, .index = -1, .read_only = f->read_only,
             .complaint = f->complaint);
    for (f->i = 0; f->i < f->n; f->i++) {
        if (f->moved[f->i].index >= f->files->n)
            coir_fail(f, coir_complain(f->complaint, -EINVAL, "%s: the store has %u files, and no file %u", f->path,
                                       f->files->n, f->moved[f->i].index));
        if (f->files->file[f->moved[f->i].index].device)
            coir_fail(f, coir_complain(f->complaint, -EINVAL, "%s: file %u of the store is named twice",
                                       f->moved[f->i].path, f->moved[f->i].index));
        coir_try(f, &f->one, coir_find_file, .files = f->files, .path = f->moved[f->i].path,
                 .index = (int)f->moved[f->i].index, .read_only = f->read_only, .complaint = f->complaint);
    }
    for (f->i = 0; f->i < f->files->n; f->i++)
        if (!f->files->file[f->i].device)
            coir_try(f, &f->other, coir_find_other, .files = f->files, .index = f->i, .read_only = f->read_only,
                     .complaint = f->complaint);
    forget_paths(f->files);
    coir_try(f, &f->load, coir_files_load, .files = f->files, .complaint = f->complaint);
    coir_finally(f) {
        if (coir_status(f) < 0)
            coir_await(f, &f->close, coir_files_close, .files = f->files);
    }
} coir_end
