/* SPDX-License-Identifier: MIT */
/*
 * Pins: whose leaf is split, merged or taken away by another, and who must not notice; credit that is asked for
 * again; what happens while a node is being read, by a device that waits until it is told to go on: the reader is
 * cancelled, the tree changes under those who wait for something else.
 */
#include "index_world.h"

enum { TREE = 77 };

static struct index_world w;
static struct coir_tree tree;

static const char *any(const struct coir_entry *e, uint64_t *next)
{
    (void)e;
    (void)next;
    return NULL;
}

static const struct coir_tree_kind kind = { .name = "test", .check = any };

/* ---- a device whose reads wait at a gate, in front of the simulated one ---- */

static struct gate {
    struct coir_device device;
    struct coir_event open;
    unsigned waiting;
} gate;

struct gate_read {
    coir_frame_void;
    coir_args(struct coir_device *device; const struct iovec *iov; int n; uint64_t offset; int flags;);
    struct coir_event_wait wait;
};
coir_device_fits(gate_read, coir_device_read);
static coir_declare(gate_read);

coir_body(gate_read, f) {
    gate.waiting++;
    coir_try(f, &f->wait, coir_event_wait, .event = &gate.open);
    sim_peek(w.sim, 0, f->offset, f->iov->iov_base, f->iov->iov_len);
    coir_finally(f) {
        gate.waiting--;
    }
} coir_end

static coir_step refuse(struct coir_task *t)
{
    t->status = -EROFS;
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

static const struct coir_device_kind gated = {
    .name = "gate", .read = gate_read_resume, .write = refuse, .sync = refuse, .grow = refuse, .punch = refuse,
    .close = refuse,
};

/* From now on reads wait. */
static void shut(void)
{
    if (!gate.device.kind)
        coir_device_init(&gate.device, &gated, "gate", (uint64_t)WORLD_BLOCKS * COIR_BLOCK, COIR_BLOCK, false);
    coir_event_init(&gate.open);
    w.file[0] = &gate.device;
}

static void pass(void)
{
    coir_event_set(&gate.open);
}

/* ---- in one step ---- */

static bool pin_now(struct coir_pin *pin, uint64_t first, uint64_t last)
{
    return coir_pin_now(&tree, pin, first, last, true) == 0;
}

/* Keys 0, 10, ... of so many bytes each; a leaf holds 18 of 200. */
static void put(uint64_t key, unsigned length)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit credit = { .cache = NULL };
    char value[COIR_VALUE_MAX] = { 0 };

    if (!pin_now(&pin, key, key) || coir_credit_take(&w.cache, &credit,
                                                     coir_pin_need(&pin, 1, coir_entry_size(length))))
        world_wrong(&w, "cannot put");
    coir_btree_put(&tree, key, value, length, &credit);
    coir_credit_give(&credit);
    coir_unpin(&pin);
}

static void del(uint64_t key)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit credit = { .cache = NULL };

    /* Neighbours need not be in memory. */
    if (coir_pin_now(&tree, &pin, key, key, false) || coir_credit_take(&w.cache, &credit, coir_pin_need(&pin, 0, 0)))
        world_wrong(&w, "cannot delete");
    coir_btree_delete(&tree, key, &credit);
    coir_credit_give(&credit);
    coir_unpin(&pin);
}

static void begin(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 200);
    EQ(coir_tree_init(&tree, &w.cache, &kind, TREE, &none), 0, "a tree");
}

static void end(void)
{
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    STR_EQ(coir_tree_audit(&tree), NULL, "the tree is sound");
    STR_EQ(coir_cache_audit(&w.cache), NULL, "the cache is sound");
    world_close(&w);
}

static void test_holding(void)
{
    struct coir_pin a = { .tree = NULL }, b = { .tree = NULL };

    begin();
    OK(!coir_pin_holds(&a), "nothing is pinned at first");
    OK(pin_now(&a, 5, 5) && coir_pin_holds(&a), "in an empty tree there is nothing to pin");
    EQ(a.last, 5, "for all of the range");
    put(500, 100);
    OK(!coir_pin_holds(&a), "until there is a leaf");
    for (uint64_t i = 0; i < 18; i++)
        put(10 * i, 200);
    del(500);
    OK(pin_now(&a, 30, 40) && coir_pin_holds(&a), "a leaf is pinned");
    put(30, 150);
    del(40);
    put(40, 200);
    OK(coir_pin_holds(&a), "which others may change");
    OK(pin_now(&b, 0, UINT64_MAX) && b.last == UINT64_MAX && coir_pin_holds(&b), "also all there is");
    put(31, 200);
    put(32, 200);
    EQ(coir_tree_height(&tree), 2, "the leaf is split");
    OK(!coir_pin_holds(&a), "then the pin does not hold");
    OK(!coir_pin_holds(&b), "nor one that has both halves");
    OK(pin_now(&a, 30, 30) && pin_now(&b, 170, 170), "both halves are pinned, each by one");
    put(165, 10);
    OK(coir_pin_holds(&a) && coir_pin_holds(&b), "and hold");
    for (uint64_t i = 0; i < 16; i++)
        del(10 * i);
    OK(!coir_pin_holds(&a) || !coir_pin_holds(&b), "until they are merged");
    EQ(coir_tree_height(&tree), 1, "into one");
    OK(pin_now(&a, 30, 30), "pinned again");
    del(31);
    del(32);
    del(160);
    del(165);
    del(170);
    OK(coir_tree_is_empty(&tree) && !coir_pin_holds(&a), "until it is gone");
    EQ(w.cache.counts.nodes, 2, "but for those who have pins");
    coir_unpin(&a);
    coir_unpin(&a);
    coir_unpin(&b);
    EQ(w.cache.counts.nodes, 0, "who let go, once or twice");
    end();
}

/* A leaf that has become sparse beside a full one gets half of all. */
static void test_sharing(void)
{
    struct coir_pin pin = { .tree = NULL };

    begin();
    for (uint64_t i = 0; i < 36; i++)
        put(10 * i, 200);
    for (uint64_t i = 18; i < 31; i++)
        del(10 * i);
    OK(pin_now(&pin, 0, UINT64_MAX) && pin.leaves == 2, "two leaves");
    OK(coir_leaf_used(pin.node[0]) == 18 * 216 && coir_leaf_used(pin.node[1]) == 5 * 216, "one is a quarter full");
    del(310);
    OK(pin_now(&pin, 0, UINT64_MAX) && pin.leaves == 2, "less than that");
    OK(coir_leaf_used(pin.node[0]) == 11 * 216 && coir_leaf_used(pin.node[1]) == 11 * 216, "and both are equal");
    for (uint64_t i = 0; i < 7; i++)
        del(10 * i);
    OK(pin_now(&pin, 0, UINT64_MAX) && pin.leaves == 2, "less on the other side");
    OK(coir_leaf_used(pin.node[0]) == 7 * 216 && coir_leaf_used(pin.node[1]) == 8 * 216, "and equal again");
    for (uint64_t i = 7; i < 10; i++)
        del(10 * i);
    OK(pin_now(&pin, 0, UINT64_MAX) && pin.leaves == 1, "until all fit into one");
    coir_unpin(&pin);
    end();
}

/* ---- credit ---- */

static void test_credit(void)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit a = { .cache = NULL }, b = { .cache = NULL };

    begin();
    pin_now(&pin, 0, 0);
    EQ(coir_pin_need(&pin, 1, 216), 4, "an empty tree needs a root, and as much again as a split");
    for (uint64_t i = 0; i < 17; i++)
        put(10 * i, 200);
    pin_now(&pin, 0, 0);
    EQ(coir_pin_need(&pin, 1, 216), 1, "where there is room, the leaf");
    EQ(coir_pin_need(&pin, 1, 432), 3, "where there is none, the new leaf and the new root, too");
    put(170, 200);
    EQ(coir_pin_need(&pin, 1, 216), 3, "which is seen when it is asked again");
    EQ(coir_credit_take(&w.cache, &a, 150), 0, "150");
    EQ(w.cache.counts.promised, 150, "are promised");
    EQ(coir_credit_take(&w.cache, &b, 50), -EAGAIN, "one too many, as one is dirty");
    OK(b.nodes == 0 && w.cache.counts.promised == 150, "are not");
    EQ(coir_credit_take(&w.cache, &b, 49), 0, "but just as many as there may be");
    EQ(coir_credit_take(&w.cache, &b, 49), 0, "which is not added to what it has");
    EQ(coir_credit_take(&w.cache, &b, 50), -EAGAIN, "no more");
    EQ(coir_credit_force(&w.cache, &b, 60), 0, "but by force");
    EQ(w.cache.counts.promised, 210, "then there are more");
    OK(w.cache.counts.pages - w.cache.counts.nodes >= 210, "with memory for each");
    coir_credit_give(&a);
    coir_credit_give(&a);
    coir_credit_give(&b);
    EQ(w.cache.counts.promised, 0, "all is given back, once");
    coir_unpin(&pin);
    end();
}

/* ---- while somebody reads ---- */

struct loader {
    coir_frame_void;
    coir_args(uint64_t key; int *status; struct coir_scope **scope;);
    struct coir_scope mine;
    struct coir_btree_load load;
};
static coir_declare(loader);
coir_body(loader, f) {
    *f->status = 1;
    *f->scope = &f->mine;
    coir_within(f, &f->mine, COIR_NEVER, &f->load, coir_btree_load, .tree = &tree, .key = f->key);
    *f->status = coir_status(&f->load);
} coir_end

struct reading {
    coir_frame_void;
    coir_no_args;
    int i, status[4];
    struct coir_scope *scope[4];
    struct coir_group group;
    union {
        struct world_checkpoint checkpoint;
        struct coir_group_wait wait;
        struct coir_pass pass;
    };
};
static coir_declare(reading);
struct first_child {
    coir_frame_void;
    coir_no_args;
    union {
        struct world_checkpoint checkpoint;
        struct coir_btree_load load;
    };
};
static coir_declare(first_child);

static void spawn_loaders(struct reading *f, int from, int to, uint64_t key)
{
    for (int i = from; i < to; i++) {
        if (coir_spawn(&f->group, coir_new(loader, .key = key, .status = &f->status[i], .scope = &f->scope[i])))
            world_wrong(&w, "no task");
    }
}

static void reopen(void)
{
    const struct coir_disk_root root = tree.root;

    world_reopen(&w, 64, 200);
    if (coir_tree_init(&tree, &w.cache, &kind, TREE, &root))
        world_wrong(&w, "no tree");
}

#define LET_RUN(f) do { \
    for ((f)->i = 0; (f)->i < 5; (f)->i++) \
        coir_await(f, &(f)->pass, coir_pass); \
    } while (0)

coir_body(reading, f) {
    world_devices(&w);
    for (uint64_t i = 0; i < 36; i++)
        put(10 * i, 200);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    reopen();
    shut();
    coir_group_open(f, &f->group);
    spawn_loaders(f, 0, 4, 50);
    LET_RUN(f);
    EQ(gate.waiting, 1, "four want the root, one reads it");
    coir_scope_cancel(f->scope[0]);
    LET_RUN(f);
    EQ(f->status[0], -ECANCELED, "who is cancelled");
    EQ(gate.waiting, 1, "then another one does");
    coir_scope_cancel(f->scope[2]);
    LET_RUN(f);
    EQ(f->status[2], -ECANCELED, "one who waits is cancelled");
    EQ(gate.waiting, 1, "without the reader's noticing");
    pass();
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(f->status[1] == 0 && f->status[3] == 0, "the others have what they want");
    EQ(w.cache.counts.reads, 2, "by a read a level");
    EQ(w.damages, 0, "and nothing is damaged");

    /* While a leaf is being read the one beside it is split, and merged. */
    reopen();
    coir_group_open(f, &f->group);
    spawn_loaders(f, 0, 1, 350);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    shut();
    coir_group_open(f, &f->group);
    spawn_loaders(f, 0, 2, 50);
    LET_RUN(f);
    EQ(gate.waiting, 1, "the first leaf is being read");
    for (uint64_t i = 1; i < 10; i++)
        put(350 + i, 200);
    EQ(coir_tree_audit(&tree) == NULL && w.cache.counts.dirty == 3, true, "meanwhile the other one is split");
    for (uint64_t i = 1; i < 10; i++)
        del(350 + i);
    for (uint64_t i = 19; i < 36; i++)
        del(10 * i);
    STR_EQ(coir_tree_audit(&tree), NULL, "and emptied, but for a key, with nobody to merge with");
    pass();
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(f->status[0] == 0 && f->status[1] == 0, "the leaf is read nevertheless");
    del(180);
    EQ(coir_tree_height(&tree), 2, "the other one is gone; the root stays, as its child is not dirty");
    put(50, 100);
    del(50);
    EQ(coir_tree_height(&tree), 1, "and goes when something is mended");
    coir_finally(f) {
        pass();
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void test_reading(void)
{
    begin();
    EQ(coir_run(NULL, coir_new(reading)), 0, "while somebody reads");
    end();
}

/* ---- a first child is taken out: the next one gets keys that are less than its own in the parent ---- */

coir_body(first_child, f) {
    world_devices(&w);
    for (uint64_t leaf = 0; leaf < 3; leaf++) {
        for (uint64_t i = 0; i < 18; i++)
            put(1000 * leaf + 10 * i, 200);
    }
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    reopen();
    coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 0);
    for (uint64_t i = 0; i < 18; i++)
        del(10 * i);
    EQ(w.cache.counts.nodes, 1, "the first leaf is gone, without the others' being read");
    coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 5);
    EQ(w.cache.counts.nodes, 2, "its keys are the second's");
    for (uint64_t i = 0; i < 12; i++) {
        del(1000 + 10 * i);
        put(i, 200);
    }
    for (uint64_t i = 12; i < 18; i++)
        del(1000 + 10 * i);
    coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 2000);
    for (uint64_t i = 0; i < 14; i++)
        del(2000 + 10 * i);
    STR_EQ(coir_tree_audit(&tree), NULL, "and it shares them with the third");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    reopen();
    coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 0);
    coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 2000);
    STR_EQ(coir_tree_audit(&tree), NULL, "on the medium, too");
    for (uint64_t i = 0; i < 12; i++)
        del(i);
    for (uint64_t i = 14; i < 18; i++)
        del(2000 + 10 * i);
    OK(coir_tree_is_empty(&tree), "every key is found");
} coir_end

static void test_first_child(void)
{
    begin();
    EQ(coir_run(NULL, coir_new(first_child)), 0, "taking out a first child");
    end();
}

/* ---- what is pinned in two trees: the second is being read while the leaf in the first is split ---- */

static struct coir_catalog catalog;
static const uint8_t key[16] = { 9 };

static void ignore(void *arg, uint64_t address, uint64_t blocks)
{
    (void)arg;
    (void)address;
    (void)blocks;
}

static const struct coir_superseded nobody = { ignore, NULL };

struct pinner {
    coir_frame_void;
    coir_args(struct coir_extents *x; struct coir_pin *pin; struct coir_catalog_change *change; int *status;);
    union {
        struct coir_extents_pin pins;
        struct coir_catalog_pin names;
    };
};
static coir_declare(pinner);
coir_body(pinner, f) {
    *f->status = 1;
    if (f->x) {
        coir_await(f, &f->pins, coir_extents_pin, .extents = f->x, .pin = f->pin, .lba = 50, .count = 1);
        *f->status = coir_status(&f->pins);
    } else {
        coir_await(f, &f->names, coir_catalog_pin, .catalog = &catalog, .change = f->change, .id = 16, .name = "a",
                   .n = 1);
        *f->status = coir_status(&f->names);
    }
} coir_end

struct stale {
    coir_frame_void;
    coir_no_args;
    int i, status;
    struct coir_catalog_change change;
    struct coir_credit credit;
    struct coir_catalog_item item;
    struct coir_extents *x;
    struct coir_run run;
    struct coir_blocks blocks;
    uint32_t crc;
    struct coir_mapped piece;
    struct coir_pin pin;
    struct coir_disk_root volumes, names;
    struct coir_group group;
    union {
        struct coir_catalog_pin pins;
        struct coir_catalog_open open;
        struct coir_catalog_find find_name;
        struct coir_extents_put put;
        struct coir_extents_find find;
        struct world_checkpoint checkpoint;
        struct coir_group_wait wait;
        struct coir_pass pass;
    };
};
static coir_declare(stale);

static void create(struct stale *f)
{
    f->item = (struct coir_catalog_item){ .id = 16, .blocks = 1000, .shift = 12, .name_length = 1, .name = "a" };
    if (coir_credit_take(&w.cache, &f->credit, coir_catalog_need(&f->change))
            || coir_catalog_create(&f->change, &f->credit, &f->item))
        world_wrong(&w, "no volume");
    coir_catalog_unpin(&f->change);
    coir_credit_give(&f->credit);
}

/* Entries behind the owner's back, until the tree is two levels high. */
static void split(struct coir_tree *t, const void *value, unsigned length)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit credit = { .cache = NULL };

    for (uint64_t i = 100; coir_tree_height(t) < 2; i += 2) {
        if (coir_pin_now(t, &pin, i, i, true)
                || coir_credit_take(&w.cache, &credit, coir_pin_need(&pin, 1, coir_entry_size(length)))) {
            world_wrong(&w, "cannot split");
            break;
        }
        coir_btree_put(t, i, value, length, &credit);
        coir_unpin(&pin);
        coir_credit_give(&credit);
    }
}

static void split_volume(struct coir_extents *x)
{
    const struct coir_disk_extent e = { .address = 700, .count = 1 };
    char value[sizeof e + 4] = "";      /* the sum is 0 */

    memcpy(value, &e, sizeof e);
    split(&x->tree, value, sizeof value);
}

static void split_catalog(void)
{
    const struct coir_disk_volume v = { .shift = 12, .state = COIR_VOLUME_READY, .name_length = 8 };
    char value[sizeof v + 8];

    memcpy(value, &v, sizeof v);
    memcpy(value + sizeof v, "anybody", 8);
    split(&catalog.volumes, value, sizeof value);
}

static int anew(struct stale *f)
{
    coir_catalog_roots(&catalog, &f->volumes, &f->names);
    coir_catalog_close(f->x);
    coir_catalog_destroy(&catalog);
    world_reopen(&w, 64, 200);
    return coir_catalog_init(&catalog, &w.cache, &f->volumes, &f->names, key);
}

#define SPAWN(f, ...) do { \
    coir_group_open(f, &(f)->group); \
    if (coir_spawn(&(f)->group, coir_new(pinner, .status = &(f)->status, __VA_ARGS__))) \
        coir_fail(f, -ENOMEM); \
    LET_RUN(f); \
    } while (0)

coir_body(stale, f) {
    world_devices(&w);
    f->change = (struct coir_catalog_change){ .catalog = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    f->pin = (struct coir_pin){ .tree = NULL };
    coir_try(f, &f->pins, coir_catalog_pin, .catalog = &catalog, .change = &f->change, .id = 16, .name = "a", .n = 1);
    create(f);
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 16);
    f->x = f->open.result;
    f->run = (struct coir_run){ 500, 1 };
    f->crc = 1;
    f->blocks = (struct coir_blocks){ &f->run, 1, 0, &f->crc };
    coir_try(f, &f->put, coir_extents_put, .extents = f->x, .lba = 50, .count = 1, .blocks = &f->blocks,
             .superseded = &nobody);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    if (anew(f))
        coir_fail(f, -EBADMSG);

    /* The volume's leaf is in memory, its entry in the catalog is not. */
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = 16);
    f->x = f->open.result;
    coir_try(f, &f->find, coir_extents_find, .extents = f->x, .lba = 50, .count = 1, .pieces = &f->piece, .max = 1);
    coir_tree_forget(&catalog.volumes);
    shut();
    SPAWN(f, .x = f->x, .pin = &f->pin);
    EQ(gate.waiting, 1, "the catalog is being read");
    OK(coir_pin_holds(&f->pin), "the volume's leaf is pinned");
    split_volume(f->x);
    OK(!coir_pin_holds(&f->pin), "and split meanwhile");
    pass();
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "both are pinned");
    OK(coir_pin_holds(&f->pin) && coir_pin_holds(&f->x->entry), "and hold at the end");
    EQ(coir_extents_ready(f->x, &f->pin, &f->credit, 1, 1), -EAGAIN, "all that is missing is credit");
    coir_unpin(&f->pin);
    coir_unpin(&f->x->entry);

    /* The catalog's leaf is in memory, that of the names is not. */
    OK(catalog.names.top == NULL, "no name has been looked at");
    shut();
    SPAWN(f, .change = &f->change);
    EQ(gate.waiting, 1, "the names are being read");
    split_catalog();
    OK(!coir_pin_holds(&f->change.volume), "the catalog's leaf is split meanwhile");
    pass();
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, 0, "both are pinned");
    EQ(coir_catalog_ready(&f->change, NULL), 0, "and hold at the end");
    coir_catalog_unpin(&f->change);

    /* Cancelled while it waits nothing stays pinned. */
    coir_tree_forget(&catalog.names);
    shut();
    SPAWN(f, .change = &f->change);
    coir_group_cancel(&f->group);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status, -ECANCELED, "cancelled");
    OK(f->change.volume.n == 0 && f->change.name.n == 0, "nothing is pinned");
    coir_catalog_close(f->x);
    coir_finally(f) {
        pass();
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void test_stale(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 200);
    EQ(coir_catalog_init(&catalog, &w.cache, &none, &none, key), 0, "a catalog");
    EQ(coir_run(NULL, coir_new(stale)), 0, "pins in two trees");
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    STR_EQ(coir_cache_audit(&w.cache), NULL, "the cache is sound");
    coir_catalog_destroy(&catalog);
    world_close(&w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    test_holding();
    test_sharing();
    test_credit();
    test_reading();
    test_first_child();
    test_stale();
    return DONE();
}
