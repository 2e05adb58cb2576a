/* SPDX-License-Identifier: MIT */
/*
 * An index, or a journal, that names what the store does not have, or what its space map has as free; all sums are
 * right. Whoever can write a block can sum it: so this is damage like any other. It is named, nothing wrong is read,
 * and nothing is written any more.
 */
#include "crash.h"

#include "journal/group.h"

enum { LBA = 3, OTHER = 5 };

static struct sim *store;               /* closed, with two blocks of one volume */
static uint64_t free_block, far_block;  /* of its file: nobody's; beyond its end */

/* ---- the store ---- */

struct make {
    coir_frame_void;
    coir_args(struct sim *w; struct engine *e; unsigned flags; bool keep_open;);
    struct coir_volume *v;
    unsigned lba;
    struct iovec iov;
    unsigned char bytes[BLOCK];
    union {
        struct engine_make make;
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct coir_volume_write write;
        struct coir_volume_close leave;
    };
};
static coir_declare(make);

coir_body(make, f) {
    coir_try(f, &f->make, engine_make, .e = f->e, .blocks = BLOCKS, .journal = 1 << 20);
    coir_try(f, &f->open, engine_open, .e = f->e);
    coir_try(f, &f->create, coir_volume_create, .store = f->e->store, .name = "v", .size = 64 * BLOCK);
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    for (f->lba = LBA; f->lba <= OTHER; f->lba += OTHER - LBA) {
        make_content(f->bytes, f->lba, 2);
        f->iov = (struct iovec){ f->bytes, BLOCK };
        coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1,
                 .offset = (uint64_t)f->lba * BLOCK, .flags = f->flags);
    }
    if (f->keep_open)                   /* the power goes */
        store = sim_cut(f->w, sim_events(f->w), SIM_EVERYTHING, 1);
    coir_try(f, &f->leave, coir_volume_close, .volume = f->v);
    coir_try(f, &f->close, engine_close, .e = f->e);
    if (!f->keep_open)
        store = sim_cut(f->w, sim_events(f->w), SIM_EVERYTHING, 1);
} coir_end

static void make_store(unsigned flags, bool keep_open)
{
    struct sim *const w = sim_new(1, 0);
    struct engine *const e = engine_new(w, 1);

    sim_add(w, 0, BLOCK);
    EQ(coir_run(NULL, coir_new(make, .w = w, .e = e, .flags = flags, .keep_open = keep_open)), 0, "a store");
    free_block = sim_size(w, 0) / BLOCK - 1;
    far_block = sim_size(w, 0) / BLOCK + 100;
    free(e);
    sim_free(w);
}

/* ---- the index says something else ---- */

union block {
    struct coir_block_head head;
    struct coir_disk_super super;
    struct coir_disk_node node;
    struct coir_disk_group group;
    unsigned char bytes[BLOCK];
};

static union block *block_at(struct sim *w, uint64_t at, union block *to)
{
    sim_peek(w, 0, at * BLOCK, to, BLOCK);
    return to;
}

/* The block with its sum, which is returned; in a file that is not there it is nowhere. */
static uint32_t put_block(struct sim *w, uint64_t at, union block *b)
{
    coir_block_seal(b, b->head.magic, at, b->head.generation);
    if (COIR_ADDRESS_FILE(at) == 0)
        sim_poke(w, 0, at * BLOCK, b, BLOCK);
    return b->head.crc;
}

/* The first extent of the volume, or with `root` the volume's tree itself, is at that address; all above it is summed
 * anew. */
static void point_at(struct sim *w, uint64_t address, bool root)
{
    static union block super, catalog, leaf;
    struct coir_disk_volume *v;
    uint64_t at;

    at = block_at(w, COIR_AT_SUPER, &super)->super.catalog.address;
    v = coir_entry_value(coir_entry_at(&block_at(w, at, &catalog)->node, 0));
    block_at(w, v->root.address, &leaf);
    if (root) {
        v->root.address = address;
        v->root.crc = put_block(w, address, &leaf);
    } else {
        ((struct coir_disk_extent *)coir_entry_value(coir_entry_at(&leaf.node, 0)))->address = address;
        v->root.crc = put_block(w, v->root.address, &leaf);
    }
    super.super.catalog.crc = put_block(w, at, &catalog);
    put_block(w, COIR_AT_SUPER, &super);
    put_block(w, COIR_AT_SUPER2, &super);
}

/* The first record of the journal writes to that address. */
static void record_at(struct sim *w, const struct coir_disk_header *header, uint64_t address)
{
    static union block group;

    block_at(w, header->journal, &group);
    for (uint64_t at = header->journal; at < header->journal + 8; at++) {
        block_at(w, at, &group);
        /* behind the header: a record's head, volume, lba, count and number of extents, the first of them */
        if (group.group.magic == COIR_MAGIC_GROUP && group.group.records && group.bytes[64 + 4] == COIR_RECORD_WRITE) {
            memcpy(group.bytes + 64 + 8 + 24, &address, 8);
            coir_group_seal(&group, at, BLOCK);
            sim_poke(w, 0, at * BLOCK, &group, BLOCK);
            return;
        }
    }
    OK(false, "a record that writes");
}

/* ---- what comes of it ---- */

struct result {
    int opened, read, other, write, check;
    char why[256];
};

struct use {
    coir_frame_void;
    coir_args(struct engine *e; struct result *r;);
    struct coir_volume *v;
    struct iovec iov;
    unsigned char bytes[BLOCK];
    union {
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_open volume;
        struct coir_volume_read read;
        struct coir_volume_write write;
        struct coir_volume_close leave;
        struct coir_store_check check;
    };
};
static coir_declare(use);

coir_body(use, f) {
    *f->r = (struct result){ .opened = 1 };
    coir_await(f, &f->open, engine_open, .e = f->e);
    f->r->opened = coir_status(&f->open);
    coir_check(f, &f->open);
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    f->iov = (struct iovec){ f->bytes, BLOCK };
    coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1, .offset = LBA * BLOCK);
    f->r->read = coir_status(&f->read);
    coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1, .offset = OTHER * BLOCK);
    f->r->other = coir_status(&f->read) ? coir_status(&f->read) : version_of(f->bytes, OTHER) != 2;
    coir_await(f, &f->check, coir_store_check, .store = f->e->store);
    f->r->check = coir_status(&f->check);
    coir_await(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = LBA * BLOCK);
    f->r->write = coir_status(&f->write);
    coir_await(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1, .offset = 0);
    snprintf(f->r->why, sizeof f->r->why, "%s", coir_store_why(f->e->store) ? coir_store_why(f->e->store) : "");
    if (f->r->why[0])
        EQ(coir_status(&f->write), -EROFS, "nothing is written any more");
    coir_await(f, &f->leave, coir_volume_close, .volume = f->v);
    coir_await(f, &f->close, engine_close, .e = f->e);
} coir_end

static struct result used(struct sim *w, const char *log)
{
    struct engine *const e = engine_new(w, 1);
    struct result r;

    coir_run(NULL, coir_new(use, .e = e, .r = &r));
    EQ(r.opened, 0, "it is opened: %s", e->complaint.text);
    OK(strstr(e->log, log), "the log has \"%s\": %s", log, e->log);
    free(e);
    sim_free(w);
    return r;
}

static struct sim *copy(void)
{
    return sim_cut(store, 0, SIM_EVERYTHING, 1);
}

static void extents(void)
{
    const uint64_t places[] = { far_block, COIR_ADDRESS(1, 5000), COIR_ADDRESS(63, 5000), 300 };
    struct sim *w = copy();
    struct result r;

    point_at(w, free_block, false);
    r = used(w, "volume v: block 3 is damaged, at byte");
    EQ(r.read, -EBADMSG, "a block that is free: what is there is not it");
    EQ(r.other, 0, "another block is read");
    EQ(r.check, -EBADMSG, "check finds it");
    OK(strstr(r.why, "the index names 1 blocks at byte") && strstr(r.why, "of sim0 that are free"),
       "when it is let go the store becomes read-only: %s", r.why);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        w = copy();
        point_at(w, places[i], false);
        r = used(w, "volume v: the index is damaged: of blocks 3 to 3 some are where the store has no data");
        EQ(r.read, -EBADMSG, "a block that is not there: address %llx", (unsigned long long)places[i]);
        EQ(r.other, 0, "another block is read");
        EQ(r.check, -EBADMSG, "check finds it");
        OK(strstr(r.why, "the index names 1 blocks at byte"), "when it is let go the store becomes read-only: %s",
           r.why);
    }
    w = copy();
    point_at(w, (uint64_t)1 << 50, false);
    r = used(w, "an extent's address cannot be");
    EQ(r.read, -EBADMSG, "an address that no file has");
}

static void nodes(void)
{
    struct sim *w = copy();
    struct result r;

    point_at(w, free_block, true);
    r = used(w, "read-only from now on");
    EQ(r.read, 0, "a node in a free block is read: it is the one that is meant");
    EQ(r.check, -EBADMSG, "check finds it");
    OK(strstr(r.why, "the index names 1 blocks at byte"), "when it is let go the store becomes read-only: %s", r.why);
    w = copy();
    point_at(w, COIR_ADDRESS(1, 5000), true);
    r = used(w, "the index of volume 16 is damaged, level 0, at byte 20480000 of no file");
    EQ(r.read, -EBADMSG, "a node that is not there");
}

static void records(void)
{
    const uint64_t places[] = { far_block, COIR_ADDRESS(1, 5000), COIR_ADDRESS(200, 5000), 300, UINT64_MAX >> 8 };
    struct coir_disk_header header;
    struct result r;

    sim_peek(store, 0, 0, &header, sizeof header);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct sim *const w = copy();

        record_at(w, &header, places[i]);
        r = used(w, "of the journal does not fit the store: it writes to blocks that the store does not have");
        OK(r.why[0], "a record that writes to %llx: read-only", (unsigned long long)places[i]);
    }
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    make_store(0, false);
    extents();
    nodes();
    sim_free(store);
    make_store(COIR_VOLUME_DURABLE, true);
    records();
    sim_free(store);
    return DONE();
}
