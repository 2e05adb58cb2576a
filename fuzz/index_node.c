/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the nodes of the index: what stands in them is anything, their sums and the pointers to them are right. A node
 * is refused when it is read, or it is sound: then looking up, mapping, unmapping, splitting and merging go on as on
 * any other, and after each step what is in memory follows the rules.
 *
 * An input is the length of the patches (patches.h, their blocks are numbered among the nodes), the patches, and steps
 * of five bytes: what, a key, how much.
 */
#include "patches.h"

enum { STEP = 5, CREDIT = 100, MAX = COIR_EXTENT_MAX };

static struct coir_cache cache;
static struct coir_extents x;
static struct coir_tree names, catalog;
static struct coir_device *device = &medium.device;
static unsigned node[PATCH_TARGETS], nodes;

/* ---- what the engine would do with it ---- */

static void let_go(void *arg, uint64_t address, uint64_t blocks)
{
    must(arg == &x && address != 0 && blocks > 0);
}

static void released(void *arg, uint64_t address)
{
    must(arg == &x && address != 0);
}

static void damaged(void *arg, const struct coir_damage *d)
{
    must(arg == &x && d->status && d->what);
}

static void sound(const char *of, const char *wrong)
{
    if (wrong)
        fprintf(stderr, "%s: %s\n", of, wrong);
    must(!wrong);
}

static void audit(void)
{
    sound("the volume", coir_tree_audit(&x.tree));
    sound("the names", coir_tree_audit(&names));
    sound("the catalog", coir_tree_audit(&catalog));
    sound("the cache", coir_cache_audit(&cache));
}

static void open_trees(void)
{
    const struct coir_disk_super *const super = (const void *)medium_block(COIR_AT_SUPER);
    const struct coir_cache_options o = { .limit = 64 * COIR_BLOCK, .dirty = CREDIT, .files = &device, .n_files = 1,
                                          .released = released, .damaged = damaged, .arg = &x };
    const struct coir_disk_volume *v;
    struct coir_disk_node *entry = (void *)(medium.base + COIR_ADDRESS_BLOCK(super->catalog.address) * COIR_BLOCK);

    must(coir_cache_init(&cache, &o) == 0);
    v = coir_entry_value(coir_entry_at(entry, 0));
    x = (struct coir_extents){ .blocks = v->blocks, .mapped = v->mapped };
    must(coir_tree_init(&x.tree, &cache, &coir_kind_extents, COIR_FIRST_VOLUME, &v->root) == 0);
    x.tree.shift = v->shift;
    must(coir_tree_init(&names, &cache, &coir_kind_names, COIR_TREE_NAMES, &super->names) == 0);
    must(coir_tree_init(&catalog, &cache, &coir_kind_catalog, COIR_TREE_CATALOG, &super->catalog) == 0);
}

/* The sums of what was patched are in those pointers now. */
static void put_roots_right(void)
{
    const struct coir_disk_super *const super = (const void *)medium_block(COIR_AT_SUPER);
    const struct coir_block_head *head;

    head = (const void *)medium_block((unsigned)COIR_ADDRESS_BLOCK(x.tree.root.address));
    x.tree.root.crc = head->crc;
    names.root = super->names;
    catalog.root = super->catalog;
}

/* ---- one step ---- */

struct step {
    coir_frame_void;
    coir_args(const uint8_t *data;);
    uint64_t key;
    unsigned what, amount;
    struct coir_tree *tree;
    struct coir_cursor cursor;
    struct coir_run run;
    struct coir_blocks blocks;
    struct coir_superseded superseded;
    struct coir_pin pin;
    struct coir_credit credit;
    struct coir_mapped mapped[8];
    uint32_t crcs[MAX];
    unsigned char value[COIR_VALUE_MAX];
    union {
        struct coir_extents_put put;
        struct coir_extents_clear clear;
        struct coir_extents_find find;
        struct coir_btree_pin pins;
    };
};
static coir_declare(step);

/* With its leaf pinned and credit: the entry goes, or another one comes that has its value. */
static void change(struct step *f, bool remove)
{
    const void *value;
    uint64_t missing;
    unsigned length;

    if (coir_btree_find(f->tree, f->key, COIR_FIND_AT_LEAST, &f->cursor, &missing) <= 0)
        return;
    if (f->cursor.leaf != f->pin.node[0])
        return;
    value = coir_cursor_value(&f->cursor, &length);
    must(length <= COIR_VALUE_MAX);
    memcpy(f->value, value, length);
    if (remove)
        must(coir_btree_delete(f->tree, coir_cursor_key(&f->cursor), &f->credit));
    else
        coir_btree_put(f->tree, f->key, f->value, length, &f->credit);
}

coir_body(step, f) {
    f->pin = (struct coir_pin){ 0 };
    f->credit = (struct coir_credit){ 0 };
    f->superseded = (struct coir_superseded){ let_go, &x };
    f->key = f->data[1] | f->data[2] << 8;
    f->amount = 1 + f->data[3];
    f->tree = f->data[0] & 8 ? &names : &catalog;
    f->what = f->data[0] % 8;
    if (f->what < 2) {
        f->run = (struct coir_run){ COIR_ADDRESS(0, 4096 + f->data[4]), f->amount };
        f->blocks = (struct coir_blocks){ &f->run, 1, 0, f->crcs };
        memset(f->crcs, f->data[4], sizeof f->crcs);
        coir_await(f, &f->put, coir_extents_put, .extents = &x, .lba = f->key, .count = f->amount,
                   .blocks = &f->blocks, .superseded = &f->superseded);
    } else if (f->what < 4) {
        coir_await(f, &f->clear, coir_extents_clear, .extents = &x, .lba = f->key, .count = f->amount * 16,
                   .most = 1 + f->data[4] % 32, .superseded = &f->superseded);
    } else if (f->what == 4) {
        coir_await(f, &f->find, coir_extents_find, .extents = &x, .lba = f->key, .count = f->amount,
                   .pieces = f->mapped, .max = 8, .crcs = f->crcs);
    } else if (f->what == 5) {
        coir_cache_evict_all(&cache);
    } else {                            /* the trees of volumes and names */
        f->key = COIR_FIRST_VOLUME + (f->data[0] & 16 ? f->key << 48 : f->key);
        coir_try(f, &f->pins, coir_btree_pin, .tree = f->tree, .pin = &f->pin, .first = f->key, .last = f->key,
                 .change = true);
        if (f->pin.n > 0 && coir_credit_take(&cache, &f->credit, coir_pin_need(&f->pin, 1, COIR_VALUE_MAX + 16)) == 0)
            change(f, f->what == 6);
    }
    coir_finally(f) {
        coir_unpin(&f->pin);
        coir_credit_give(&f->credit);
    }
} coir_end

/* ---- one input ---- */

static struct coir_event go;
static const uint8_t *steps;
static size_t left;
static bool done;

struct forever {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_event_wait wait;
        struct medium_make make;
        struct step step;
    };
};
static coir_declare(forever);

coir_body(forever, f) {
    coir_await(f, &f->make, medium_make);
    must(coir_status(&f->make) == 0);
    done = true;
    for (;;) {
        coir_try(f, &f->wait, coir_event_wait, .event = &go);
        coir_event_reset(&go);
        for (; left >= STEP; steps += STEP, left -= STEP) {
            coir_await(f, &f->step, step, .data = steps);
            audit();
        }
        done = true;
    }
} coir_end

static struct coir_shard *shard;

static void run(void)
{
    while (!done)
        must(coir_turn(shard) == 1);
    done = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct coir_options epoll = { .io = "epoll" };
    size_t patched;

    if (!shard) {
        setenv("COIR_TIME", "virtual", 1);
        coir_event_init(&go);
        shard = coir_shard_open(&epoll, coir_new(forever));
        must(shard != NULL);
        run();
        patch_survey();
        memcpy(medium.now, medium.base, sizeof medium.now);
        for (unsigned i = 0; i < patches.targets; i++)
            if (patch_magic(patches.target[i]) == COIR_MAGIC_NODE)
                node[nodes++] = patches.target[i];
    }
    if (n < 1)
        return 0;
    patched = data[0] < n - 1 ? data[0] : n - 1;
    medium_reset();
    patch_blocks(node, nodes, data + 1, patched);
    patch_put_right(PUT_SUMS | PUT_POINTERS);
    open_trees();
    put_roots_right();
    steps = data + 1 + patched;
    left = n - 1 - patched;
    coir_event_set(&go);
    run();
    coir_cache_destroy(&cache);
    return 0;
}
