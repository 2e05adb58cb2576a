/* SPDX-License-Identifier: MIT */
/*
 * Reading what begins the files of a store. All of it is untrusted: each block by itself is checked in heads.c, and
 * here the blocks against each other and against the devices. Of two copies the one that is valid counts, so one
 * damaged block stops nobody; where none is, the complaint says what is wrong with each. Nothing is written here but
 * by coir_files_mend.
 */
#include "volume/files.h"

#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t headers[2] = { COIR_AT_HEADER, COIR_AT_HEADER2 };
static const uint64_t supers[2] = { COIR_AT_SUPER, COIR_AT_SUPER2 };

static const void *block_of(const char *head, uint64_t block)
{
    return head + block * COIR_BLOCK;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

coir_body(coir_head_read, f) {
    f->step = COIR_HEAD_BYTES;
    for (f->at = 0; f->at < COIR_HEAD_BYTES;) {
        f->iov = (struct iovec){ f->buffer + f->at, f->step };
        coir_await(f, &f->read, coir_device_read, .device = f->device, .iov = &f->iov, .n = 1, .offset = f->at,
                   .flags = COIR_DIRECT);
        if (coir_status(&f->read) == -EIO && f->step > f->device->grain) {
            f->step = f->device->grain;         /* again in small pieces: what can be read may be enough */
            continue;
        }
        if (coir_status(&f->read) == -EIO)
            memset(f->buffer + f->at, 0, f->step);
        else if (coir_status(&f->read) == -ENODATA)
            coir_fail(f, coir_complain(f->complaint, -ENODATA,
                                       "%s: it is shorter than the first MiB of a store's file: no store, or cut",
                                       f->device->name));
        else if (coir_status(&f->read) < 0)
            coir_fail(f, coir_complain(f->complaint, coir_status(&f->read), "%s: cannot read its first MiB: %s",
                                       f->device->name, coir_strerror(coir_status(&f->read))));
        f->at += f->step;
    }
} coir_end

int coir_head_find(const char *head, const char *name, const struct coir_disk_header **header,
                   struct coir_layout *layout, bool damaged[2], struct coir_complaint *complaint)
{
    const char *why[2];
    int r[2];

    for (unsigned i = 2; i-- > 0;) {
        const struct coir_disk_header *const copy = block_of(head, headers[i]);
        struct coir_layout its;

        r[i] = coir_header_check(copy, headers[i], &its, &why[i]);
        damaged[i] = r[i] < 0;
        if (r[i] == 0) {
            *header = copy;
            *layout = its;
        }
    }
    if (r[0] == 0 && r[1] == 0) {
        struct coir_disk_header first = **header;
        const struct coir_disk_header *const second = block_of(head, headers[1]);

        first.head = second->head;
        first.grain = second->grain;
        if (memcmp(&first, second, sizeof first) != 0)
            return coir_complain(complaint, -EBADMSG,
                                 "%s: its two headers, at blocks %u and %u, are of different stores", name,
                                 COIR_AT_HEADER, COIR_AT_HEADER2);
        damaged[0] = (*header)->grain < second->grain;
        damaged[1] = (*header)->grain > second->grain;
        if (damaged[0])
            *header = second;
    }
    if (r[0] == 0 || r[1] == 0)
        return 0;
    if (r[0] == -ENOTSUP || r[1] == -ENOTSUP)
        return coir_complain(complaint, -ENOTSUP, "%s: the store was made by a later version of coir", name);
    return coir_complain(complaint, -EBADMSG, "%s: no store, or its headers are damaged: the one at block %u %s, the "
                         "one at block %u %s", name, COIR_AT_HEADER, why[0], COIR_AT_HEADER2, why[1]);
}

/* ---- checking ---------------------------------------------------------------------------------------- */

/* Chooses between the superblocks that file 0 has. */
static int choose_super(struct coir_files *files, const char *head, struct coir_complaint *complaint)
{
    struct coir_layout layouts[COIR_STORE_FILES];
    const struct coir_disk_super *copy[2];
    const char *const name = files->file[0].device->name, *why[2];
    bool read_only[2] = { false, false };
    int r[2];

    for (unsigned i = 0; i < files->n; i++)
        layouts[i] = files->file[i].layout;
    for (unsigned i = 0; i < 2; i++) {
        copy[i] = block_of(head, supers[i]);
        r[i] = coir_super_check(copy[i], supers[i], layouts, files->n, files->store, &read_only[i], &why[i]);
        files->generation[i] = r[i] == 0 ? copy[i]->head.generation : 0;
    }
    for (unsigned i = 0; i < 2; i++)
        if (r[i] == -ENOTSUP)
            return coir_complain(complaint, -ENOTSUP,
                                 "%s: the superblock at block %u %s: a later version of coir is needed", name,
                                 (unsigned)supers[i], why[i]);
    if (r[0] < 0 && r[1] < 0)
        return coir_complain(complaint, -EBADMSG, "%s: both superblocks are damaged: the one at block %u %s, the one "
                             "at block %u %s%s", name, COIR_AT_SUPER, why[0], COIR_AT_SUPER2, why[1],
                             coir_is_zero(copy[0], COIR_BLOCK) && coir_is_zero(copy[1], COIR_BLOCK)
                             ? "; making this store was not finished: make it again with --force" : "");
    const unsigned best = files->generation[1] > files->generation[0] ? 1 : 0;
    files->super = files->next = *copy[best];
    files->read_only |= read_only[best];
    if (files->generation[0] == files->generation[1]) {
        struct coir_disk_super other = *copy[1 - best];

        other.head = copy[best]->head;
        if (memcmp(&other, copy[best], sizeof other) != 0)
            return coir_complain(complaint, -EBADMSG, "%s: the superblocks at blocks %u and %u differ, and are of the "
                                 "same generation, %llu", name, COIR_AT_SUPER, COIR_AT_SUPER2,
                                 (unsigned long long)files->generation[0]);
    }
    return 0;
}

static void note_paths(struct coir_files *files, unsigned i, const char *head)
{
    struct coir_store_file *const file = &files->file[i];

    file->stale_paths = 0;
    for (unsigned k = 0; k < files->n; k++) {
        const struct coir_disk_path *const p = block_of(head, COIR_AT_PATHS + k);
        const char *const path = files->file[k].path, *why;

        if (path && (coir_path_check(p, i, k, &why) < 0 || p->length != strlen(path)
                     || memcmp(p->path, path, p->length) != 0))
            file->stale_paths |= (uint64_t)1 << k;
    }
}

int coir_files_take(struct coir_files *files, unsigned i, const char *head, struct coir_complaint *complaint)
{
    struct coir_store_file *const file = &files->file[i];
    const struct coir_disk_header *header = NULL;
    const int r = coir_head_find(head, file->device->name, &header, &file->layout, file->bad_header, complaint);

    if (r < 0)
        return r;
    if (i == 0)
        memcpy(files->store, header->store, sizeof files->store);
    if (memcmp(header->store, files->store, sizeof files->store) != 0)
        return coir_complain(complaint, -EBADMSG, "%s: it belongs to another store than %s", file->device->name,
                             files->file[0].device->name);
    if (header->index != i)
        return coir_complain(complaint, -EBADMSG, "%s: it is file %u of its store, and is named as file %u",
                             file->device->name, header->index, i);
    if (header->files != files->n)
        return coir_complain(complaint, -EBADMSG, "%s: its store has %u files, and %u are named", file->device->name,
                             header->files, files->n);
    file->grain = header->grain;
    if (file->device->grain > COIR_GRAIN_MAX)
        return coir_complain(complaint, -EINVAL, "%s: it writes %u bytes at once, which is too much",
                             file->device->name, file->device->grain);
    files->read_only |= file->device->read_only;
    note_paths(files, i, head);
    return 0;
}

/* The lengths of the files, when the superblock is known. */
static int check_lengths(struct coir_files *files, struct coir_complaint *complaint)
{
    for (unsigned i = 0; i < files->n; i++) {
        struct coir_store_file *const file = &files->file[i];
        const uint64_t has = file->device->size / COIR_BLOCK, grown = files->super.file[i].grown;

        if (has < grown)
            return coir_complain(complaint, -ENODATA, "%s: it has %llu bytes and must have %llu: it was cut",
                                 file->device->name, (unsigned long long)file->device->size,
                                 (unsigned long long)grown * COIR_BLOCK);
        file->grown = has < file->layout.blocks ? has / COIR_REGION * COIR_REGION : file->layout.blocks;
    }
    return 0;
}

int coir_files_check(struct coir_files *files, const char *head0, struct coir_complaint *complaint)
{
    const int r = choose_super(files, head0, complaint);

    if (r < 0)
        return r;
    if (files->super.journal_start % files->file[0].grain)
        return coir_complain(complaint, -EBADMSG, "%s: the superblock's place in the journal, %llu, is no multiple of "
                             "the header's grain, %u", files->file[0].device->name,
                             (unsigned long long)files->super.journal_start, files->file[0].grain);
    return check_lengths(files, complaint);
}

coir_body(coir_files_load, f) {
    COIR_ASSERT(f->files->n > 0 && f->files->n <= COIR_STORE_FILES);
    f->buffer = aligned_alloc(COIR_GRAIN_MAX, 2 * COIR_HEAD_BYTES);
    if (!f->buffer)
        coir_fail(f, coir_complain(f->complaint, -ENOMEM, "there is no memory to open a store with"));
    for (f->i = 0; f->i < f->files->n; f->i++) {
        coir_try(f, &f->read, coir_head_read, .device = f->files->file[f->i].device,
                 .buffer = f->buffer + (f->i ? COIR_HEAD_BYTES : 0), .complaint = f->complaint);
        f->err = coir_files_take(f->files, f->i, f->read.buffer, f->complaint);
        if (f->err < 0)
            coir_fail(f, f->err);
    }
    f->err = coir_files_check(f->files, f->buffer, f->complaint);
    if (f->err < 0)
        coir_fail(f, f->err);
    coir_finally(f) {
        free(f->buffer);
    }
} coir_end

/* ---- mending ----------------------------------------------------------------------------------------- */

uint32_t coir_files_grain(const struct coir_files *files, unsigned i)
{
    const struct coir_store_file *const file = &files->file[i];

    return file->grain > file->device->grain ? file->grain : file->device->grain;
}

/* A file that has come to a device of a larger grain gets other headers. */
static void renew_headers(struct coir_files *files, unsigned i)
{
    struct coir_store_file *const file = &files->file[i];

    if (file->grain < coir_files_grain(files, i))
        file->bad_header[0] = file->bad_header[1] = true;
    file->grain = coir_files_grain(files, i);
}

/* The next block of file `i` from `*at` on that is to be written again, in `block`. False: there is none. */
static bool next_repair(const struct coir_files *files, unsigned i, unsigned *at, void *block)
{
    const struct coir_store_file *const file = &files->file[i];

    for (; *at <= COIR_AT_HEADER2; ++*at) {
        if ((*at == COIR_AT_HEADER && file->bad_header[0]) || (*at == COIR_AT_HEADER2 && file->bad_header[1])) {
            coir_header_make(block, &file->layout, files->store, files->n, i, file->grain, *at);
            return true;
        }
        if (*at >= COIR_AT_PATHS && *at < COIR_AT_PATHS + files->n && file->stale_paths >> (*at - COIR_AT_PATHS) & 1) {
            coir_path_make(block, i, *at - COIR_AT_PATHS, files->file[*at - COIR_AT_PATHS].path);
            return true;
        }
    }
    return false;
}

static void repaired(struct coir_store_file *file)
{
    file->bad_header[0] = file->bad_header[1] = false;
    file->stale_paths = 0;
}

coir_body(coir_files_mend, f) {
    f->block = NULL;
    if (f->files->read_only)
        coir_return(f);
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    if (!f->block)
        coir_fail(f, ENOMEM);
    for (f->i = 0; f->i < f->files->n; f->i++) {
        renew_headers(f->files, f->i);
        f->any = false;
        for (f->at = 0; next_repair(f->files, f->i, &f->at, f->block); f->at++, f->any = true) {
            if (f->at == COIR_AT_HEADER2 && f->any)     /* one is whole at any moment */
                coir_try(f, &f->flush, coir_head_flush, .device = f->files->file[f->i].device,
                         .complaint = f->complaint);
            coir_try(f, &f->write, coir_head_write, .device = f->files->file[f->i].device, .buffer = f->block,
                     .len = COIR_BLOCK, .offset = (uint64_t)f->at * COIR_BLOCK, .complaint = f->complaint);
        }
        if (!f->any)
            continue;
        coir_try(f, &f->flush, coir_head_flush, .device = f->files->file[f->i].device, .complaint = f->complaint);
        repaired(&f->files->file[f->i]);
    }
    coir_finally(f) {
        free(f->block);
    }
} coir_end
