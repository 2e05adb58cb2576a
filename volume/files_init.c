/* SPDX-License-Identifier: MIT */
/*
 * Making a store on devices. The order is what makes a crash harmless: first what stood at the beginning of each file
 * is gone, durably; then everything that the superblocks will name is written, and flushed; the superblocks come last.
 * So at no moment is there a superblock over a store that is not whole. Whether the files may be overwritten at all has
 * been asked before (volume/find.h).
 */
#include "volume/files.h"

#include "journal/format.h"
#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MIB(blocks) ((unsigned long long)(blocks) * COIR_BLOCK >> 20)

/* ---- what it will be --------------------------------------------------------------------------------- */

static int lay_out(struct coir_files *files, uint64_t journal, struct coir_complaint *complaint)
{
    const uint64_t region = (uint64_t)COIR_REGION * COIR_BLOCK;
    uint64_t all = 0;

    for (unsigned i = 0; i < files->n; i++)
        all += files->file[i].layout.blocks;
    if (all < COIR_STORE_BYTES_MIN / COIR_BLOCK)
        return coir_complain(complaint, -ENOSPC, "a store needs at least %u MiB, and this would have %llu",
                             COIR_STORE_BYTES_MIN >> 20, MIB(all));
    if (journal / COIR_BLOCK > COIR_FILE_BLOCKS_MAX)
        return coir_complain(complaint, -EFBIG, "a journal of %llu MiB is too large", MIB(journal / COIR_BLOCK));
    journal = journal ? (journal + region - 1) / region * COIR_REGION : coir_journal_blocks(all);
    if (journal < COIR_JOURNAL_GRAINS * files->file[0].device->grain / COIR_BLOCK)
        journal = COIR_JOURNAL_GRAINS * files->file[0].device->grain / COIR_BLOCK;
    for (unsigned i = 0; i < files->n; i++) {
        const struct coir_device *const device = files->file[i].device;
        const uint64_t blocks = files->file[i].layout.blocks;
        const int r = coir_layout(&files->file[i].layout, blocks, i == 0 ? journal : 0);

        if (r == -EFBIG)
            return coir_complain(complaint, r, "%s: a file of a store has at most %llu GiB", device->name,
                                 MIB(COIR_FILE_BLOCKS_MAX) >> 10);
        if (r < 0)
            return coir_complain(complaint, r, "%s: less than half of its %llu MiB would be left for data%s",
                                 device->name, MIB(blocks), i == 0 ? ": make it larger, or the journal smaller" : "");
        if (device->grain > COIR_GRAIN_MAX)
            return coir_complain(complaint, -EINVAL, "%s: it writes %u bytes at once, which is too much", device->name,
                                 device->grain);
    }
    return 0;
}

/* How far each file has to grow: the reserve of volume/space.h has to be there, in the first ones. */
static void plan_growth(struct coir_files *files)
{
    uint64_t data = 0, want;

    for (unsigned i = 0; i < files->n; i++)
        data += files->file[i].layout.blocks - files->file[i].layout.data;
    want = 2 * coir_dirty_cap(data) + files->n;
    for (unsigned i = 0; i < files->n; i++) {
        struct coir_store_file *const file = &files->file[i];
        const uint64_t room = file->layout.blocks - file->layout.data;
        const uint64_t more = ((want < room ? want : room) + COIR_REGION - 1) / COIR_REGION * COIR_REGION;

        file->grain = file->device->grain;
        file->grown = file->layout.data + more;
        want -= more < want ? more : want;
        if (file->device->size / COIR_BLOCK > file->grown)
            file->grown = file->device->size / COIR_BLOCK / COIR_REGION * COIR_REGION;
        if (file->grown > file->layout.blocks)
            file->grown = file->layout.blocks;
    }
}

static int draw(void *to, size_t n)
{
    return getrandom(to, n, 0) == (ssize_t)n ? 0 : -EIO;
}

static int plan(struct coir_files *files, const struct coir_init_options *options, struct coir_complaint *complaint)
{
    struct coir_layout layouts[COIR_STORE_FILES];
    uint64_t grown[COIR_STORE_FILES];
    uint8_t key[16];
    const int r = lay_out(files, options ? options->journal : 0, complaint);

    if (r < 0)
        return r;
    plan_growth(files);
    for (unsigned i = 0; i < files->n; i++) {
        layouts[i] = files->file[i].layout;
        grown[i] = files->file[i].grown;
    }
    if (draw(files->store, sizeof files->store) < 0 || draw(key, sizeof key) < 0)
        return coir_complain(complaint, -EIO, "the kernel has no random numbers");
    files->super = (struct coir_disk_super){ .version = 0 };
    coir_super_make(&files->next, layouts, grown, files->n, files->store, key);
    return 0;
}

/* ---- writing it -------------------------------------------------------------------------------------- */

/* The head of file i, but for the superblocks, which are zero. */
static void draw_head(const struct coir_files *files, unsigned i, char *head)
{
    const struct coir_store_file *const file = &files->file[i];

    memset(head, 0, COIR_HEAD_BYTES);
    coir_header_make((void *)(head + (size_t)COIR_AT_HEADER * COIR_BLOCK), &file->layout, files->store, files->n, i,
                     file->grain, COIR_AT_HEADER);
    coir_header_make((void *)(head + (size_t)COIR_AT_HEADER2 * COIR_BLOCK), &file->layout, files->store, files->n, i,
                     file->grain, COIR_AT_HEADER2);
    for (unsigned k = 0; k < files->n; k++)
        if (files->file[k].path)
            coir_path_make((void *)(head + (size_t)(COIR_AT_PATHS + k) * COIR_BLOCK), i, k, files->file[k].path);
}

static int grow_failed(const struct coir_files *files, unsigned i, int status, struct coir_complaint *complaint)
{
    return coir_complain(complaint, status, "%s: cannot make it %llu MiB long, which an empty store needs: %s",
                         files->file[i].device->name, MIB(files->file[i].grown), coir_strerror(status));
}

static void tell(const struct coir_init_options *options, uint64_t done, uint64_t all)
{
    if (options && options->progress)
        options->progress(options->arg, done, all);
}

static uint64_t piece(uint64_t at, uint64_t end)
{
    return end - at < COIR_HEAD_BYTES ? end - at : COIR_HEAD_BYTES;
}

coir_body(coir_files_init, f) {
    COIR_ASSERT(f->files->n > 0 && f->files->n <= COIR_STORE_FILES);
    f->buffer = NULL;
    f->err = plan(f->files, f->options, f->complaint);
    if (f->err < 0)
        coir_fail(f, f->err);
    f->buffer = aligned_alloc(COIR_BLOCK, COIR_HEAD_BYTES);
    if (!f->buffer)
        coir_fail(f, coir_complain(f->complaint, -ENOMEM, "there is no memory to make a store with"));
    memset(f->buffer, 0, COIR_HEAD_BYTES);
    for (f->i = 0; f->i < f->files->n; f->i++) {
        coir_try(f, &f->write, coir_head_write, .device = f->files->file[f->i].device, .buffer = f->buffer,
                 .len = COIR_HEAD_BYTES, .offset = 0, .complaint = f->complaint);
        coir_try(f, &f->flush, coir_head_flush, .device = f->files->file[f->i].device, .complaint = f->complaint);
    }
    for (f->i = 0; f->i < f->files->n; f->i++) {
        coir_await(f, &f->grow, coir_device_grow, .device = f->files->file[f->i].device,
                   .size = f->files->file[f->i].grown * COIR_BLOCK);
        if (coir_status(&f->grow) < 0)
            coir_fail(f, grow_failed(f->files, f->i, coir_status(&f->grow), f->complaint));
    }
    f->at = f->files->file[0].layout.journal * COIR_BLOCK;
    f->end = f->at + f->files->file[0].layout.journal_blocks * COIR_BLOCK;
    for (; f->at < f->end; f->at += f->write.len) {
        coir_try(f, &f->write, coir_head_write, .device = f->files->file[0].device, .buffer = f->buffer,
                 .len = piece(f->at, f->end), .offset = f->at, .complaint = f->complaint);
        tell(f->options, f->at + f->write.len - f->files->file[0].layout.journal * COIR_BLOCK,
             f->files->file[0].layout.journal_blocks * COIR_BLOCK);
    }
    for (f->i = 0; f->i < f->files->n; f->i++) {
        draw_head(f->files, f->i, f->buffer);
        coir_try(f, &f->write, coir_head_write, .device = f->files->file[f->i].device, .buffer = f->buffer,
                 .len = COIR_HEAD_BYTES, .offset = 0, .complaint = f->complaint);
        coir_try(f, &f->flush, coir_head_flush, .device = f->files->file[f->i].device, .complaint = f->complaint);
    }
    coir_try(f, &f->commit, coir_super_commit, .files = f->files, .complaint = f->complaint);
    coir_finally(f) {
        free(f->buffer);
    }
} coir_end
