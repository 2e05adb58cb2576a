/* SPDX-License-Identifier: MIT */
/*
 * The catalog one change at a time: names that are taken, or that have the hash of another, renaming, removing, what
 * a listing says page by page, volumes that are open while they are changed, closed while they are not written, and
 * opened again; what is read for that.
 */
#include "index_world.h"

#include "volume/siphash.h"

static struct index_world w;
static struct coir_catalog catalog;
static const uint8_t key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* ---- the hash: the authors' vectors for the key 0, 1, ... and the input 0, 1, ... ---- */

static void test_hash(void)
{
    static const struct { unsigned n; uint64_t want; } v[] = {
        { 0, UINT64_C(0x726fdb47dd0e0e31) }, { 1, UINT64_C(0x74f839c593dc67fd) },
        { 7, UINT64_C(0xab0200f58b01d137) }, { 8, UINT64_C(0x93f5f5799a932462) },
        { 15, UINT64_C(0xa129ca6149be45e5) }, { 16, UINT64_C(0x3f2acc7f57c29bdb) },
        { 63, UINT64_C(0x958a324ceb064572) },
    };
    unsigned char in[64];

    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)i;
    for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++)
        OK(coir_siphash(key, in, v[i].n) == v[i].want, "SipHash of %u bytes", v[i].n);
}

/* ---- one change ---- */

enum act { CREATE, RENAME, REMOVE, GONE };

struct change {
    coir_frame(int);                    /* what the catalog says */
    coir_args(enum act act; uint64_t id; const char *name; const char *to; uint64_t blocks;);
    struct coir_catalog_item item;
    struct coir_catalog_change change;
    struct coir_credit credit;
    struct coir_catalog_pin pins;
};
static coir_declare(change);

static int act(struct change *f)
{
    int err = coir_credit_take(&w.cache, &f->credit, coir_catalog_need(&f->change));

    if (err)
        return err;
    f->item = (struct coir_catalog_item){ .id = f->id, .blocks = f->blocks, .shift = 12, .name_length = 0 };
    if (f->name) {
        f->item.name_length = (uint8_t)strlen(f->name);
        memcpy(f->item.name, f->name, f->item.name_length);
    }
    switch (f->act) {
    case CREATE:
        return coir_catalog_create(&f->change, &f->credit, &f->item);
    case RENAME:
        return coir_catalog_rename(&f->change, &f->credit, f->id, f->to, strlen(f->to));
    case REMOVE:
        return coir_catalog_remove(&f->change, &f->credit, f->id);
    case GONE:
        return coir_catalog_gone(&f->change, &f->credit, f->id);
    }
    return -EINVAL;
}

coir_body(change, f) {
    f->change = (struct coir_catalog_change){ .catalog = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    coir_try(f, &f->pins, coir_catalog_pin, .catalog = &catalog, .change = &f->change, .id = f->id, .name = f->name,
             .n = f->name ? strlen(f->name) : 0, .other = f->to, .n_other = f->to ? strlen(f->to) : 0);
    f->result = act(f);
    coir_finally(f) {
        coir_catalog_unpin(&f->change);
        coir_credit_give(&f->credit);
    }
} coir_end

/* ---- the case ---- */

/* What the macros below await. */
#define COMMON \
    struct coir_catalog_item items[8]; \
    union { \
        struct change change; \
        struct coir_catalog_find find; \
        struct coir_catalog_open open; \
        struct coir_catalog_list list; \
        struct coir_extents_put put; \
        struct world_checkpoint checkpoint; \
    }

struct plain {
    coir_frame_void;
    coir_no_args;
    char long_name[256];
    COMMON;
};
static coir_declare(plain);

struct opening {
    coir_frame_void;
    coir_no_args;
    struct coir_extents *x;
    struct coir_run run;
    struct coir_blocks blocks;
    uint32_t crc;
    struct coir_disk_root volumes, names;
    COMMON;
};
static coir_declare(opening);

static void ignore(void *arg, uint64_t address, uint64_t blocks)
{
    (void)arg;
    (void)address;
    (void)blocks;
}

static const struct coir_superseded nobody = { ignore, NULL };

#define CHANGE(f, want, name_, ...) do { \
    coir_try(f, &(f)->change, change, __VA_ARGS__); \
    EQ((f)->change.result, want, name_); \
    } while (0)
#define FIND(f, want_status, want, name_, what) do { \
    coir_await(f, &(f)->find, coir_catalog_find, .catalog = &catalog, .name = name_, .n = strlen(name_)); \
    EQ(coir_status(&(f)->find), want_status, what); \
    EQ((f)->find.result, want, what); \
    } while (0)

/* A name that stands where another one's hash is: nobody has found two that collide. */
static void collide(const char *name, const char *with, uint64_t id)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit credit = { .cache = NULL };
    char value[64];
    const uint64_t hash = coir_catalog_hash(&catalog, name, strlen(name));

    memcpy(value, &id, 8);
    memcpy(value + 8, with, strlen(with));
    OK(coir_pin_now(&catalog.names, &pin, hash, hash, true) == 0
       && coir_credit_take(&w.cache, &credit, coir_pin_need(&pin, 1, 80)) == 0, "room for a collision");
    coir_btree_put(&catalog.names, hash, value, 8 + (unsigned)strlen(with), &credit);
    coir_credit_give(&credit);
    coir_unpin(&pin);
}

static int again(struct opening *f)
{
    coir_catalog_roots(&catalog, &f->volumes, &f->names);
    coir_catalog_destroy(&catalog);
    world_reopen(&w, 64, 1000);
    return coir_catalog_init(&catalog, &w.cache, &f->volumes, &f->names, key);
}

static const char *listed(const struct coir_catalog_item *items, unsigned count)
{
    static char text[512];
    size_t n = 0;

    text[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu %.12s %llu/%llu %u", i ? ", " : "",
                              (unsigned long long)items[i].id, items[i].name,
                              (unsigned long long)items[i].mapped, (unsigned long long)items[i].blocks,
                              items[i].state);
    }
    return text;
}

#define LIST(f, from_, max_, want, name_) do { \
    coir_try(f, &(f)->list, coir_catalog_list, .catalog = &catalog, .from = from_, .items = (f)->items, .max = max_); \
    STR_EQ(listed((f)->items, (f)->list.result), want, name_); \
    } while (0)

coir_body(plain, f) {
    world_devices(&w);
    memset(f->long_name, 'x', 255);
    f->long_name[255] = 0;
    LIST(f, 0, 8, "", "no volumes");
    FIND(f, -ENOENT, 0, "a", "and none of that name");
    FIND(f, -EINVAL, 0, "", "nor of no name");
    CHANGE(f, 0, "a", .act = CREATE, .id = 16, .name = "a", .blocks = 100);
    CHANGE(f, 0, "b", .act = CREATE, .id = 17, .name = "b", .blocks = 200);
    CHANGE(f, 0, "of 255 bytes", .act = CREATE, .id = 20, .name = f->long_name, .blocks = 300);
    CHANGE(f, -EEXIST, "a, again", .act = CREATE, .id = 21, .name = "a");
    CHANGE(f, -EINVAL, "no name", .act = CREATE, .id = 21, .name = "");
    CHANGE(f, -EINVAL, "an id that is taken", .act = CREATE, .id = 17, .name = "c");
    CHANGE(f, -EINVAL, "an id that cannot be", .act = CREATE, .id = 15, .name = "c");
    FIND(f, -ENOENT, 0, "c", "what failed left nothing");
    collide("d", "elsewhere", 99);
    CHANGE(f, -ENOTUNIQ, "the hash of another name", .act = CREATE, .id = 21, .name = "d");
    CHANGE(f, -ENOTUNIQ, "nor by renaming", .act = RENAME, .id = 16, .name = "a", .to = "d");
    FIND(f, -ENOENT, 0, "d", "which is not found by the hash alone");
    LIST(f, 0, 8, "16 a 0/100 1, 17 b 0/200 1, 20 xxxxxxxxxxxx 0/300 1", "all");
    LIST(f, 0, 2, "16 a 0/100 1, 17 b 0/200 1", "two");
    LIST(f, 18, 2, "20 xxxxxxxxxxxx 0/300 1", "and the rest");
    LIST(f, 21, 2, "", "and no more");

    /* Renaming. */
    CHANGE(f, -EEXIST, "to a name that is taken", .act = RENAME, .id = 16, .name = "a", .to = "b");
    CHANGE(f, -ENOENT, "of nobody", .act = RENAME, .id = 50, .name = "a", .to = "z");
    CHANGE(f, 0, "to its own", .act = RENAME, .id = 16, .name = "a", .to = "a");
    CHANGE(f, 0, "to a longer one", .act = RENAME, .id = 16, .name = "a", .to = "a longer one");
    FIND(f, -ENOENT, 0, "a", "the old name");
    FIND(f, 0, 16, "a longer one", "the new name");
    CHANGE(f, 0, "the old one may be had", .act = CREATE, .id = 21, .name = "a");
    CHANGE(f, -EINVAL, "no name", .act = RENAME, .id = 21, .name = "a", .to = "");

} coir_end

/* Of the volumes that `plain` has left: open, changed, closed, open again. */
coir_body(opening, f) {
    world_devices(&w);
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 17);
    f->x = f->open.result;
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 17);
    OK(f->open.result == f->x && f->x->users == 2, "opened twice it is one");
    coir_catalog_close(f->x);
    coir_await(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 19);
    EQ(coir_status(&f->open), -ENOENT, "one that is not there");
    f->run = (struct coir_run){ 4000, 1 };
    f->crc = 7;
    f->blocks = (struct coir_blocks){ &f->run, 1, 0, &f->crc };
    coir_try(f, &f->put, coir_extents_put, .extents = f->x, .lba = 5, .count = 1, .blocks = &f->blocks,
             .superseded = &nobody);
    LIST(f, 17, 1, "17 b 1/200 1", "a listing says what is mapped now");
    coir_catalog_close(f->x);
    EQ(catalog.n_open, 1, "it stays until it is written");
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 17);
    OK(f->open.result == f->x && f->x->mapped == 1, "opened meanwhile it is the same");
    coir_catalog_close(f->x);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    EQ(catalog.n_open, 0, "then it goes");
    EQ(w.cache.counts.nodes, 2, "with its nodes: a leaf of the catalog and one of the names are left");
    LIST(f, 17, 1, "17 b 1/200 1", "and the tree says the same");

    /* Opened anew: nothing is read at first. */
    EQ(again(f), 0, "opened anew");
    EQ(w.cache.counts.reads, 0, "which reads nothing");
    FIND(f, 0, 17, "b", "a name");
    EQ(w.cache.counts.reads, 1, "is one read of a tree of one level");
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 17);
    EQ(w.cache.counts.reads, 2, "its volume another");
    f->x = f->open.result;
    OK(f->x->mapped == 1 && f->x->blocks == 200 && f->x->tree.root.address != 0, "and there it is");

    /* Removing while it is open. */
    CHANGE(f, -EBUSY, "not while it is not being removed", .act = GONE, .id = 17);
    CHANGE(f, 0, "removed", .act = REMOVE, .id = 17, .name = "b");
    EQ(f->x->state, COIR_VOLUME_REMOVING, "who has it open sees it");
    FIND(f, -ENOENT, 0, "b", "its name is free");
    CHANGE(f, -ENOENT, "once only", .act = REMOVE, .id = 17, .name = "b");
    CHANGE(f, -ENOENT, "no more a name", .act = RENAME, .id = 17, .name = "b", .to = "bb");
    CHANGE(f, 0, "which another may have", .act = CREATE, .id = 22, .name = "b");
    CHANGE(f, -EBUSY, "it does not go while it is open", .act = GONE, .id = 17);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    coir_catalog_close(f->x);
    CHANGE(f, -EBUSY, "nor while its tree is not empty", .act = GONE, .id = 17);
    LIST(f, 17, 1, "17 b 1/200 2", "a listing says so");
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 17);
    f->x = f->open.result;
    {
        struct coir_pin pin = { .tree = NULL };
        struct coir_credit credit = { .cache = NULL };

        EQ(coir_pin_now(&f->x->tree, &pin, 0, 10, true), -EAGAIN, "its leaf is not in memory");
        EQ(coir_credit_take(&w.cache, &credit, 1000000), -EAGAIN, "more credit than may be dirty");
        EQ(credit.nodes, 0, "none");
    }
    coir_catalog_close(f->x);
} coir_end

static void test_plain(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 1000);
    EQ(coir_catalog_init(&catalog, &w.cache, &none, &none, key), 0, "a catalog");
    EQ(coir_run(NULL, coir_new(plain)), 0, "one change at a time");
    EQ(coir_run(NULL, coir_new(opening)), 0, "opening");
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    STR_EQ(coir_tree_audit(&catalog.volumes), NULL, "the volumes are sound");
    STR_EQ(coir_tree_audit(&catalog.names), NULL, "the names are sound");
    STR_EQ(coir_cache_audit(&w.cache), NULL, "the cache is sound");
    coir_catalog_destroy(&catalog);
    world_close(&w);
}

/* ---- two volumes and a frozen leaf: whose root is written ---- */

struct roots {
    coir_frame_void;
    coir_no_args;
    struct coir_extents *x[2];
    struct coir_run run;
    struct coir_blocks blocks;
    uint32_t crc;
    int i;
    struct coir_disk_root first, volumes, names;
    struct coir_walk_options o;
    struct coir_check_calls calls;
    union {
        struct change change;
        struct coir_catalog_open open;
        struct coir_extents_put put;
        struct world_checkpoint checkpoint;
        struct coir_checkpoint_write write;
        struct coir_check_trees check;
    };
};
static coir_declare(roots);

static struct coir_disk_root seen[2];

static void saw(void *arg, uint64_t id, const struct coir_disk_volume *v)
{
    (void)arg;
    seen[id - COIR_FIRST_VOLUME] = v->root;
}

#define PUT(f, which, lba_, address_) do { \
    (f)->run = (struct coir_run){ address_, 1 }; \
    coir_try(f, &(f)->put, coir_extents_put, .extents = (f)->x[which], .lba = lba_, .count = 1, \
             .blocks = &(f)->blocks, .superseded = &nobody); \
    } while (0)
#define CHECK(f, want, name_) do { \
    coir_catalog_roots(&catalog, &(f)->volumes, &(f)->names); \
    coir_try(f, &(f)->check, coir_check_trees, .options = &(f)->o, .volumes = &(f)->volumes, .names = &(f)->names, \
             .key = key, .calls = &(f)->calls); \
    EQ((f)->check.result, want, name_); \
    } while (0)

coir_body(roots, f) {
    world_devices(&w);
    f->o = (struct coir_walk_options){ .files = w.file, .n_files = 1, .damaged = world_damaged, .arg = &w };
    f->calls = (struct coir_check_calls){ .volume = saw };
    f->crc = 7;
    f->blocks = (struct coir_blocks){ &f->run, 1, 0, &f->crc };
    for (f->i = 0; f->i < 2; f->i++) {
        CHANGE(f, 0, "a volume", .act = CREATE, .id = 16 + (uint64_t)f->i, .name = f->i ? "one" : "zero");
        coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 16 + (uint64_t)f->i);
        f->x[f->i] = f->open.result;
    }
    PUT(f, 0, 1, 1000);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 0, "the first");
    f->first = seen[0];
    OK(seen[0].address != 0 && seen[1].address == 0, "has one root");

    /* Volume 1 is changed; while that is being written volume 0 is. */
    PUT(f, 1, 1, 2000);
    if (coir_checkpoint_prepare(&w.ck, &w.cache))
        coir_fail(f, -ENOMEM);
    world_freeze(&w, &catalog);
    PUT(f, 0, 2, 3000);
    PUT(f, 1, 2, 4000);
    coir_try(f, &f->write, coir_checkpoint_write, .checkpoint = &w.ck);
    CHECK(f, 0, "the second, before it is done");
    OK(memcmp(&seen[0], &f->first, sizeof seen[0]) == 0, "has volume 0 as it was");
    OK(seen[1].address != 0, "and volume 1 with a root");
    world_end(&w, &catalog, true);

    /* Only the catalog's leaf is written: both roots are in it. */
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 0, "the third");
    f->first = seen[1];
    OK(seen[0].address && seen[1].address, "has both");
    CHANGE(f, 0, "a name", .act = RENAME, .id = 16, .name = "zero", .to = "null");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 0, "the fourth");
    OK(memcmp(&seen[1], &f->first, sizeof seen[1]) == 0, "has the same root of volume 1");

    /* Closed, and the leaf written again without it. */
    coir_catalog_close(f->x[0]);
    coir_catalog_close(f->x[1]);
    EQ(catalog.n_open, 0, "both are closed");
    CHANGE(f, 0, "a name", .act = RENAME, .id = 16, .name = "null", .to = "zero");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 0, "the fifth");
    OK(memcmp(&seen[1], &f->first, sizeof seen[1]) == 0, "has the same root of volume 1");

    /* What does not agree is found. */
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 16);
    f->x[0] = f->open.result;
    PUT(f, 0, 3, 5000);
    f->x[0]->mapped++;
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 1, "a volume that says that more is mapped");
    STR_EQ(w.damage.what, "the count of mapped blocks is not that of the extents", "is named");
    PUT(f, 0, 4, 5001);
    f->x[0]->mapped--;
    coir_catalog_close(f->x[0]);
    collide("d", "elsewhere", 99);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 1, "a name that does not stand where it belongs");
    STR_EQ(w.damage.what, "a name does not stand where it belongs", "is named");
    collide("d", "d", 99);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    CHECK(f, 1, "a name of no volume");
    STR_EQ(w.damage.what, "the names are not those of the volumes", "is named");
} coir_end

static void test_roots(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 1000);
    EQ(coir_catalog_init(&catalog, &w.cache, &none, &none, key), 0, "a catalog");
    EQ(coir_run(NULL, coir_new(roots)), 0, "the roots of volumes");
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    coir_catalog_destroy(&catalog);
    world_close(&w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    test_hash();
    test_plain();
    test_roots();
    return DONE();
}
