/* SPDX-License-Identifier: MIT */
/*
 * Committing a superblock. The order of the four steps is what a crash depends on: at every moment one copy is valid
 * on the medium, all that it names is there, and the one that is being written is the other. Whoever commits has made
 * what the new one names durable; nothing that the old one names may be overwritten before this has returned 0.
 */
#include "volume/files.h"

#include "device/rules.h"
#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t places[2] = { COIR_AT_SUPER, COIR_AT_SUPER2 };

coir_body(coir_head_write, f) {
    f->iov = (struct iovec){ f->buffer, f->len };
    coir_await(f, &f->write, coir_device_write, .device = f->device, .iov = &f->iov, .n = 1, .offset = f->offset);
    if (coir_status(&f->write) < 0)
        coir_fail(f, coir_complain(f->complaint, coir_status(&f->write), "%s: cannot write %zu bytes at byte %llu: %s",
                                   f->device->name, f->len, (unsigned long long)f->offset,
                                   coir_strerror(coir_status(&f->write))));
} coir_end

coir_body(coir_head_flush, f) {
    coir_await(f, &f->flush, coir_device_flush, .device = f->device);
    if (coir_status(&f->flush) < 0)
        coir_fail(f, coir_complain(f->complaint, coir_status(&f->flush), "%s: cannot make it durable: %s",
                                   f->device->name, coir_strerror(coir_status(&f->flush))));
} coir_end

/* What the committer does not say of itself. */
static void complete(struct coir_files *files)
{
    struct coir_disk_super *const s = &files->next;

    s->version = COIR_STORE_VERSION;
    s->files = files->n;
    memcpy(s->store, files->store, sizeof s->store);
    s->head.generation = files->super.head.generation + 1;
}

/* Into `block`, with the address of its place. What the next opening would refuse is not written. */
static void seal(struct coir_files *files, struct coir_disk_super *block, unsigned copy)
{
    struct coir_layout layouts[COIR_STORE_FILES];
    const char *why;
    bool read_only;

    *block = files->next;
    coir_block_seal(block, COIR_MAGIC_SUPER, COIR_ADDRESS(0, places[copy]), files->next.head.generation);
    for (unsigned i = 0; i < files->n; i++)
        layouts[i] = files->file[i].layout;
    const int r = coir_super_check(block, places[copy], layouts, files->n, files->store, &read_only, &why);
    COIR_ASSERT(r == 0);
}

coir_body(coir_super_write, f) {
    f->copy = (f->files->generation[0] <= f->files->generation[1]) == COIR_RULE(SUPER_OLDER_FIRST) ? 0 : 1;
    for (f->turn = 0; f->turn < 2; f->turn++, f->copy = 1 - f->copy) {
        seal(f->files, f->block, f->copy);
        f->files->generation[f->copy] = 0;
        coir_try(f, &f->write, coir_head_write, .device = f->files->file[0].device, .buffer = f->block,
                 .len = COIR_BLOCK, .offset = places[f->copy] * COIR_BLOCK, .complaint = f->complaint);
        if (f->turn == 0 && !COIR_RULE(SUPER_ONE_BY_ONE))
            continue;
        coir_await(f, &f->flush, coir_device_flush, .device = f->files->file[0].device);
        if (coir_status(&f->flush) < 0)
            coir_fail(f, coir_complain(f->complaint, coir_status(&f->flush),
                                       "%s: cannot make the superblock at block %u durable: %s",
                                       f->files->file[0].device->name, (unsigned)places[f->copy],
                                       coir_strerror(coir_status(&f->flush))));
        f->files->generation[f->copy] = f->files->next.head.generation;
    }
} coir_end

/* Why nobody may begin, or 0. */
static int refuse(const struct coir_files *files, struct coir_complaint *complaint)
{
    if (files->failed)
        return coir_complain(complaint, files->failed, "%s: no superblock is written after one that failed",
                             files->file[0].device->name);
    if (files->read_only)
        return coir_complain(complaint, -EROFS, "%s: the store is open for reading only", files->file[0].device->name);
    return 0;
}

coir_body(coir_super_commit, f) {
    COIR_ASSERT(!f->files->committing);
    f->files->committing = true;
    f->block = NULL;
    f->err = refuse(f->files, f->complaint);
    if (f->err < 0)
        coir_fail(f, f->err);
    f->block = aligned_alloc(COIR_BLOCK, COIR_BLOCK);
    if (!f->block)
        coir_fail(f, ENOMEM);
    complete(f->files);
    coir_shield(f, &f->scope, &f->write, coir_super_write, .files = f->files, .block = f->block,
                .complaint = f->complaint);
    f->files->failed = coir_status(&f->write);
    coir_check(f, &f->write);
    f->files->super = f->files->next;
    coir_finally(f) {
        f->files->committing = false;
        free(f->block);
    }
} coir_end
