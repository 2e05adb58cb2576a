/* SPDX-License-Identifier: MIT */
/*
 * Taking removed volumes to pieces: the catalog is gone through, page by page, and of each volume that is being removed
 * the mappings go, in bounded steps, then the entry. A crash anywhere leaves it being removed, with less to do. Home.
 */
#include "volume/chunk.h"
#include "volume/manage.h"

struct dismantle_one {
    coir_frame_void;
    coir_args(struct coir_store *store; uint64_t id;);
    struct coir_volume volume;          /* of nobody else, and in no list */
    struct coir_change change;
    struct coir_record record;
    union {
        struct coir_catalog_open open;
        struct coir_unmap_home unmap;
        struct coir_change_begin begin;
    };
};
static coir_declare(dismantle_one);

coir_body(dismantle_one, f) {
    f->change = (struct coir_change){ 0 };
    f->volume = (struct coir_volume){ 0 };
    coir_try(f, &f->open, coir_catalog_open, .catalog = &f->store->catalog, .id = f->id);
    f->volume = (struct coir_volume){ .store = f->store, .extents = f->open.result, .id = f->id,
        .blocks = f->open.result->blocks, .shift = f->open.result->tree.shift, .users = 1 };
    coir_event_init(&f->volume.unlocked);
    coir_try(f, &f->unmap, coir_unmap_home, .volume = &f->volume, .lba = 0, .count = f->volume.blocks);
    coir_catalog_close(f->volume.extents);
    f->volume.extents = NULL;
    f->record = (struct coir_record){ .kind = COIR_RECORD_GONE, .volume = f->id };
    coir_try(f, &f->begin, coir_change_begin, .store = f->store, .change = &f->change, .id = f->id,
             .bytes = coir_record_bytes(&f->record));
    coir_store_step(f->store);
    if (coir_catalog_gone(&f->change.catalog, &f->change.credit, f->id) == 0)
        coir_change_record(&f->change, &f->record);
    coir_finally(f) {
        coir_change_end(&f->change);
        if (f->volume.extents)
            coir_catalog_close(f->volume.extents);
    }
} coir_end

struct store_dismantle {
    coir_frame_void;
    coir_args(struct coir_store *store;);
    uint64_t from;
    unsigned i;
    struct coir_catalog_item item[4];
    struct coir_catalog_list list;
    struct dismantle_one one;
};
coir_public(store_dismantle, coir_store_dismantle);

coir_body(store_dismantle, f) {
    f->from = COIR_FIRST_VOLUME;
    f->store->removing = false;
    do {
        coir_try(f, &f->list, coir_catalog_list, .catalog = &f->store->catalog, .from = f->from, .items = f->item,
                 .max = sizeof f->item / sizeof f->item[0]);
        for (f->i = 0; f->i < f->list.result; f->i++) {
            f->from = f->item[f->i].id + 1;
            if (f->item[f->i].state == COIR_VOLUME_REMOVING)
                coir_try(f, &f->one, dismantle_one, .store = f->store, .id = f->item[f->i].id);
        }
    } while (f->list.result == sizeof f->item / sizeof f->item[0]);
    coir_finally(f) {
        if (coir_status(f))
            f->store->removing = true;  /* later */
    }
} coir_end
