/* SPDX-License-Identifier: MIT */
/*
 * Volumes come, are called otherwise, become larger, and go. Each change is one step at home, of catalog and journal,
 * and durable when the operation returns.
 */
#include "volume/manage.h"

#include <string.h>

#include "volume/chunk.h"

int coir_volume_name_check(const char *name)
{
    const size_t n = name ? strnlen(name, COIR_NAME_MAX + 1) : 0;

    if (n == 0 || n > COIR_NAME_MAX)
        return -EINVAL;
    for (const char *p = name; *p; p++) {
        if ((unsigned char)*p < ' ' || *p == '/' || *p == 0x7f)
            return -EINVAL;
    }
    return 0;
}

uint64_t coir_volume_blocks(uint64_t size, unsigned shift)
{
    const uint64_t block = (uint64_t)1 << shift, most = (uint64_t)INT64_MAX >> shift;
    const uint64_t blocks = (size >> shift) + ((size & (block - 1)) != 0);

    return blocks <= most ? blocks : 0;
}

/* ---- what changes have in common ---- */

/* What the change needs, if it can be had now. */
static int take_room(struct coir_change *c)
{
    const unsigned need = coir_catalog_need(&c->catalog);
    int err = coir_space_check(c->store->space, COIR_SPACE_UNMAP, need);

    return err ? err : coir_credit_take(&c->store->cache, &c->credit, need);
}

struct change_begin {
    coir_frame_void;
    coir_args(struct coir_store *store; struct coir_change *change; uint64_t id; const char *name; const char *other;
              size_t bytes;);
    int err;
    union {
        struct coir_journal_reserve reserve;
        struct coir_catalog_pin pins;
        struct coir_store_room room;
    };
};
coir_public(change_begin, coir_change_begin);

coir_body(change_begin, f) {
    f->change->store = f->store;
    if (!f->change->entered) {
        f->err = coir_store_enter(f->store, NULL, COIR_USE_WRITE);
        if (f->err)
            coir_fail(f, f->err);
        f->change->entered = true;
    }
    if (f->change->room.bytes == 0)
        coir_try(f, &f->reserve, coir_journal_reserve, .journal = &f->store->journal, .bytes = f->bytes,
                 .room = &f->change->room);
    for (;;) {
        coir_try(f, &f->pins, coir_catalog_pin, .catalog = &f->store->catalog, .change = &f->change->catalog,
                 .id = f->id, .name = f->name, .n = f->name ? strlen(f->name) : 0, .other = f->other,
                 .n_other = f->other ? strlen(f->other) : 0);
        if (f->store->read_only || coir_journal_status(&f->store->journal))
            coir_fail(f, -EROFS);
        f->err = take_room(f->change);
        if (f->err == 0)
            f->err = coir_catalog_ready(&f->change->catalog, &f->change->credit);
        if (f->err == 0)
            break;
        coir_catalog_unpin(&f->change->catalog);
        coir_credit_give(&f->change->credit);
        if (f->err != -ESTALE)
            coir_try(f, &f->room, coir_store_room, .store = f->store, .why = f->err);
    }
} coir_end

void coir_change_record(struct coir_change *c, const struct coir_record *r)
{
    coir_store_record(c->store, &c->room, r, 0);
}

void coir_change_end(struct coir_change *c)
{
    if (!c->store)
        return;
    coir_catalog_unpin(&c->catalog);
    coir_unpin(&c->pin);
    coir_credit_give(&c->credit);
    coir_journal_release(&c->store->journal, &c->room);
    if (c->entered)
        coir_store_leave(c->store);
    c->entered = false;
}

/* ---- create ---- */

struct create_home {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t blocks; unsigned shift;);
    struct coir_change change;
    struct coir_record record;
    struct coir_catalog_item item;
    uint64_t lsn;
    int err;
    union {
        struct coir_change_begin begin;
        struct coir_journal_commit commit;
    };
};
static coir_declare(create_home);

coir_body(create_home, f) {
    f->change = (struct coir_change){ 0 };
    f->record = (struct coir_record){ .kind = COIR_RECORD_CREATE, .blocks = f->blocks, .shift = f->shift,
        .name = f->name, .name_length = (unsigned)strlen(f->name) };
    do {
        f->record.volume = f->store->next_volume;
        coir_try(f, &f->begin, coir_change_begin, .store = f->store, .change = &f->change, .id = f->record.volume,
                 .name = f->name, .bytes = coir_record_bytes(&f->record));
    } while (f->record.volume != f->store->next_volume);    /* another one was made meanwhile */
    f->item = (struct coir_catalog_item){ .id = f->record.volume, .blocks = f->blocks, .shift = (uint8_t)f->shift,
        .state = COIR_VOLUME_READY, .name_length = (uint8_t)f->record.name_length };
    memcpy(f->item.name, f->name, f->record.name_length);
    f->lsn = coir_store_step(f->store);
    f->err = coir_catalog_create(&f->change.catalog, &f->change.credit, &f->item);
    if (f->err)
        coir_fail(f, f->err);
    f->store->next_volume++;
    coir_change_record(&f->change, &f->record);
    coir_try(f, &f->commit, coir_journal_commit, .journal = &f->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_change_end(&f->change);
    }
} coir_end

struct volume_create {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; uint64_t size; uint32_t block;);
    unsigned shift;
    uint64_t blocks;
    struct create_home home;
};
coir_public(volume_create, coir_volume_create);

/* The shift of a block size: 0 for what is none. */
static unsigned shift_of(uint32_t block)
{
    for (unsigned shift = COIR_BLOCK_SHIFT; shift <= COIR_VOLUME_SHIFT_MAX; shift++) {
        if (block == (uint32_t)1 << shift)
            return shift;
    }
    return 0;
}

coir_body(volume_create, f) {
    f->shift = shift_of(f->block ? f->block : COIR_BLOCK);
    if (!f->store)
        coir_fail(f, -EFAULT);
    if (coir_volume_name_check(f->name) || f->shift == 0 || coir_volume_blocks(f->size, f->shift) == 0)
        coir_fail(f, -EINVAL);
    f->blocks = coir_volume_blocks(f->size, f->shift);
    COIR_AT_HOME(f, f->store, &f->home, create_home, .store = f->store, .name = f->name, .blocks = f->blocks,
                 .shift = f->shift);
    coir_check(f, &f->home);
} coir_end

/* ---- rename and remove ---- */

/* `to` NULL: remove. */
struct rename_home {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; const char *to;);
    struct coir_change change;
    struct coir_record record;
    uint64_t lsn;
    int err;
    union {
        struct coir_catalog_find find;
        struct coir_change_begin begin;
        struct coir_journal_commit commit;
    };
};
static coir_declare(rename_home);

/* The step: what the change is called, and the journal. */
static int rename_step(struct rename_home *f)
{
    struct coir_volume *v = coir_volume_get(f->store, f->record.volume);
    int err;

    if (!f->to && v)
        return -EBUSY;
    f->lsn = coir_store_step(f->store);
    if (f->to)
        err = coir_catalog_rename(&f->change.catalog, &f->change.credit, f->record.volume, f->to,
                                  f->record.name_length);
    else
        err = coir_catalog_remove(&f->change.catalog, &f->change.credit, f->record.volume);
    if (err)
        return err;
    coir_change_record(&f->change, &f->record);
    if (v)
        memcpy(v->name, f->to, f->record.name_length + 1);
    if (!f->to) {
        f->store->removing = true;
        coir_event_set(&f->store->due);
    }
    return 0;
}

coir_body(rename_home, f) {
    f->change = (struct coir_change){ 0 };
    do {                                /* again, when somebody else was faster: who has the name now? */
        coir_change_end(&f->change);
        coir_get(f, f->record.volume, &f->find, coir_catalog_find, .catalog = &f->store->catalog, .name = f->name,
                 .n = strlen(f->name));
        f->record = (struct coir_record){ .kind = f->to ? COIR_RECORD_RENAME : COIR_RECORD_REMOVE,
            .volume = f->record.volume, .name = f->to, .name_length = f->to ? (unsigned)strlen(f->to) : 0 };
        coir_try(f, &f->begin, coir_change_begin, .store = f->store, .change = &f->change, .id = f->record.volume,
                 .name = f->name, .other = f->to, .bytes = coir_record_bytes(&f->record));
        f->err = rename_step(f);
    } while (f->err == -ESTALE);
    if (f->err)
        coir_fail(f, f->err);
    coir_try(f, &f->commit, coir_journal_commit, .journal = &f->store->journal, .lsn = f->lsn);
    coir_finally(f) {
        coir_change_end(&f->change);
    }
} coir_end

struct volume_rename {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name; const char *to;);
    struct rename_home home;
};
coir_public(volume_rename, coir_volume_rename);

coir_body(volume_rename, f) {
    if (!f->store || !f->name)
        coir_fail(f, -EFAULT);
    if (coir_volume_name_check(f->to))
        coir_fail(f, -EINVAL);
    COIR_AT_HOME(f, f->store, &f->home, rename_home, .store = f->store, .name = f->name, .to = f->to);
    coir_check(f, &f->home);
} coir_end

struct volume_remove {
    coir_frame_void;
    coir_args(struct coir_store *store; const char *name;);
    struct rename_home home;
};
coir_public(volume_remove, coir_volume_remove);

coir_body(volume_remove, f) {
    if (!f->store || !f->name)
        coir_fail(f, -EFAULT);
    COIR_AT_HOME(f, f->store, &f->home, rename_home, .store = f->store, .name = f->name);
    coir_check(f, &f->home);
} coir_end
