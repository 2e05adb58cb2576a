/* SPDX-License-Identifier: MIT */
/*
 * Size and cost: a volume of a million extents, and one of a million that are taken away again; 100,000 volumes. What
 * a look-up reads, cold and warm, what a change allocates and makes dirty, what a checkpoint writes: all exact. How
 * long a change takes of the processor is only said.
 */
#include "index_world.h"

#include <malloc.h>
#include <time.h>

/* Builds that are ten times as slow get by with less. */
#if COIR_ASAN || COIR_TSAN || defined(COIR_TORTURE)
enum { EXTENTS = 200000, VOLUMES = 10000, SOME = 20000 };
#else
enum { EXTENTS = 1000000, VOLUMES = 100000, SOME = 100000 };
#endif
enum { PAGES = 32768 };

static struct index_world w;
static struct coir_extents x;
static struct coir_catalog catalog;
static const uint8_t key[16] = { 42 };

/* ---- counting allocations: not where a sanitizer has them ---- */

static unsigned long allocations;

#if !COIR_ASAN && !COIR_TSAN
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *aligned_alloc(size_t align, size_t n)
{
    allocations++;
    return __libc_memalign(align, n);
}
#endif

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void ignore(void *arg, uint64_t address, uint64_t blocks)
{
    (void)blocks;
    *(uint64_t *)arg += address;
}

static uint64_t sum;
static const struct coir_superseded nobody = { ignore, &sum };

/* ---- one change in one step, of what is in memory ---- */

static void change(uint64_t lba, uint64_t address, struct coir_pin *pin, struct coir_credit *credit)
{
    struct coir_run run = { address, 1 };
    uint32_t crc = (uint32_t)address;

    if (coir_pin_now(&x.tree, pin, lba, lba, true)
            || coir_credit_take(&w.cache, credit, coir_extents_need(&x, pin, 1, address ? 1 : 0))) {
        world_wrong(&w, "a change needs what is not in memory");
    } else if (address) {
        coir_extents_map(&x, credit, lba, 1, &run, 1, &crc, &nobody);
    } else {
        coir_extents_unmap(&x, credit, lba, 1, 1, &nobody);
    }
    coir_unpin(pin);
    coir_credit_give(credit);
}

/* Volume blocks are two apart, so that nothing is joined; their order is that of `from` times a number. */
static void change_all(unsigned from, unsigned n, uint64_t add)
{
    struct coir_pin pin = { .tree = NULL };
    struct coir_credit credit = { .cache = NULL };

    for (uint64_t i = from; i < (uint64_t)from + n; i++) {
        const uint64_t at = i * 611953 % EXTENTS;

        change(2 * at, add ? add + 2 * at : 0, &pin, &credit);
    }
}

static unsigned wrong_of(unsigned from, unsigned n, uint64_t add)
{
    unsigned wrong = 0;

    for (uint64_t i = from; i < (uint64_t)from + n; i++) {
        const uint64_t at = i * 611953 % EXTENTS;
        struct coir_mapped piece;
        uint64_t covered;
        uint32_t crc;

        if (coir_extents_lookup(&x, 2 * at, 1, &piece, 1, &crc, &covered) != 1
                || piece.address != (add ? add + 2 * at : 0) || crc != (add ? (uint32_t)(add + 2 * at) : 0))
            wrong++;
    }
    return wrong;
}

struct extents {
    coir_frame_void;
    coir_no_args;
    int64_t since;
    uint64_t i, leaves, reads;
    struct coir_disk_root root;
    struct coir_mapped piece;
    uint32_t crc;
    union {
        struct coir_extents_find find;
        struct world_checkpoint checkpoint;
        struct world_walk walk;
    };
};
static coir_declare(extents);

struct changes {
    coir_frame_void;
    coir_no_args;
    int64_t since;
    uint64_t i, leaves;
    unsigned long allocations;
    union {
        struct world_checkpoint checkpoint;
        struct world_walk walk;
    };
};
static coir_declare(changes);

static void count_leaves(void *arg, const struct coir_disk_node *node)
{
    *(uint64_t *)arg += node->level == 0;
}

static void ns_each(const char *what, int64_t since, unsigned n)
{
    NOTE("%s: %lld ns each", what, (long long)(now() - since) / (long long)n);
}

static void reopen(struct extents *f)
{
    f->root = x.tree.root;
    world_reopen(&w, PAGES, 30000);
    x.tree.era = 0;
    if (coir_tree_init(&x.tree, &w.cache, &coir_kind_extents, COIR_FIRST_VOLUME, &f->root))
        world_wrong(&w, "no tree");
    x.tree.shift = 12;
}

coir_body(extents, f) {
    world_devices(&w);
    f->since = now();
    change_all(0, EXTENTS, 1 << 20);
    ns_each("maps in random order, from nothing", f->since, EXTENTS);
    EQ(x.mapped, EXTENTS, "all are mapped");
    EQ(coir_tree_height(&x.tree), 3, "levels");
    EQ(wrong_of(0, EXTENTS, 1 << 20), 0, "each is found");
    f->i = w.cache.counts.dirty;
    f->since = now();
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    ns_each("writing a node to memory", f->since, (unsigned)f->i);
    EQ(w.cache.counts.written, f->i, "the checkpoint writes what was dirty");
    f->leaves = 0;
    coir_try(f, &f->walk, world_walk, .w = &w, .kind = &coir_kind_extents, .tree = COIR_FIRST_VOLUME, .shift = 12,
             .root = &x.tree.root, .node = count_leaves, .arg = &f->leaves);
    EQ(f->walk.result, f->i, "which are all nodes of the tree");
    OK(f->leaves < (uint64_t)EXTENTS * 40 * 2 / COIR_NODE_BYTES, "%llu leaves are half full, at least",
       (unsigned long long)f->leaves);

    /* Cold, and warm. */
    reopen(f);
    for (f->i = 0; f->i < 3; f->i++) {
        static const uint64_t lba[] = { EXTENTS, EXTENTS + 2, 2 * EXTENTS - 2 };
        static const uint64_t reads[] = { 3, 3, 5 };

        coir_try(f, &f->find, coir_extents_find, .extents = &x, .lba = lba[f->i], .count = 1, .pieces = &f->piece,
                 .max = 1, .crcs = &f->crc);
        EQ(f->piece.address, (1 << 20) + lba[f->i], "found");
        EQ(w.cache.counts.reads, reads[f->i], "a read a level that is not in memory");
    }
    for (f->i = 0; f->i < EXTENTS; f->i += f->find.result / 2 + 1) {
        coir_try(f, &f->find, coir_extents_find, .extents = &x, .lba = 2 * f->i, .count = 2, .pieces = &f->piece,
                 .max = 1);
    }
    f->reads = w.cache.counts.reads;
    EQ(f->reads, world_nodes(&w), "every node is read once");
    f->since = now();
    EQ(wrong_of(0, EXTENTS, 1 << 20), 0, "warm, each is found");
    ns_each("a random look-up, warm", f->since, EXTENTS);
    EQ(w.cache.counts.reads, f->reads, "without a read");
} coir_end

/* Of the tree that `extents` has left, warm: overwriting, once to make all dirty, then for what it costs. */
coir_body(changes, f) {
    world_devices(&w);
    change_all(0, SOME, 1 << 22);
    f->allocations = allocations;
    f->i = w.cache.counts.dirty;
    f->since = now();
    change_all(0, SOME, 1 << 23);
    ns_each("a random map over another, warm", f->since, SOME);
    if (COIR_ASAN || COIR_TSAN)
        SKIP("the sanitizer counts allocations, not this");
    else
        OK(f->allocations > 0, "allocations are counted");
    EQ(allocations, f->allocations, "without an allocation");
    EQ(w.cache.counts.dirty, f->i, "and nothing more dirty than before");
    EQ(wrong_of(0, SOME, 1 << 23), 0, "each is found");
    EQ(x.mapped, EXTENTS, "all are mapped");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    f->allocations = allocations;
    change_all(0, SOME, 1 << 24);
    EQ(allocations, f->allocations, "also when nodes become dirty that were clean");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);

    /* Taking away: all but every hundredth of those that were changed last. */
    f->since = now();
    change_all(EXTENTS / 100, EXTENTS - EXTENTS / 100, 0);
    ns_each("unmapping in random order", f->since, EXTENTS);
    EQ(x.mapped, EXTENTS / 100, "a hundredth is left");
    EQ(wrong_of(EXTENTS / 100, EXTENTS - EXTENTS / 100, 0), 0, "the others are holes");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    f->leaves = 0;
    coir_try(f, &f->walk, world_walk, .w = &w, .kind = &coir_kind_extents, .tree = COIR_FIRST_VOLUME, .shift = 12,
             .root = &x.tree.root, .node = count_leaves, .arg = &f->leaves);
    OK(f->leaves <= 4u * EXTENTS / 100 * 40 / COIR_NODE_BYTES, "%llu leaves are a quarter full, at least",
       (unsigned long long)f->leaves);
    EQ(f->walk.result, world_nodes(&w), "nothing else is given out");
    change_all(0, EXTENTS / 100, 0);
    OK(coir_tree_is_empty(&x.tree), "and then it is empty");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    EQ(x.tree.root.address, 0, "on the medium, too");
    EQ(world_nodes(&w), 0, "where it has no block");
} coir_end

static void test_extents(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, PAGES, 30000);
    w.longest = 4096;
    EQ(coir_tree_init(&x.tree, &w.cache, &coir_kind_extents, COIR_FIRST_VOLUME, &none), 0, "a tree");
    x.tree.shift = 12;
    EQ(coir_run(NULL, coir_new(extents)), 0, "many extents");
    EQ(coir_run(NULL, coir_new(changes)), 0, "and changes of them");
    STR_EQ(coir_tree_audit(&x.tree), NULL, "sound");
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    world_close(&w);
}

/* ---- 100,000 volumes in a cache of 64 nodes ---- */

struct volumes {
    coir_frame_void;
    coir_no_args;
    uint64_t i, from, seen;
    int64_t since;
    unsigned wrong;
    struct coir_catalog_change change;
    struct coir_credit credit;
    struct coir_catalog_item item;
    struct coir_catalog_item items[100];
    struct coir_disk_root volumes, names;
    struct coir_walk_options o;
    struct coir_check_calls calls;
    union {
        struct coir_catalog_pin pins;
        struct coir_catalog_list list;
        struct coir_catalog_find find;
        struct coir_catalog_open open;
        struct world_checkpoint checkpoint;
        struct coir_check_trees check;
    };
};
static coir_declare(volumes);

static size_t name_of(char *to, uint64_t i)
{
    return (size_t)snprintf(to, COIR_NAME_MAX, "disk-%llu", (unsigned long long)i);
}

static int create(struct volumes *f)
{
    int err = coir_credit_take(&w.cache, &f->credit, coir_catalog_need(&f->change));

    if (!err)
        err = coir_catalog_create(&f->change, &f->credit, &f->item);
    coir_credit_give(&f->credit);
    coir_catalog_unpin(&f->change);
    return err;
}

static void saw_volume(void *arg, uint64_t id, const struct coir_disk_volume *v)
{
    (void)id;
    (void)v;
    (void)arg;
    sum++;
}

coir_body(volumes, f) {
    world_devices(&w);
    f->change = (struct coir_catalog_change){ .catalog = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    f->since = now();
    for (f->i = 0; f->i < VOLUMES; f->i++) {
        f->item = (struct coir_catalog_item){ .id = 16 + f->i, .blocks = f->i, .shift = 12 };
        f->item.name_length = (uint8_t)name_of(f->item.name, f->i);
        coir_try(f, &f->pins, coir_catalog_pin, .catalog = &catalog, .change = &f->change, .id = 16 + f->i,
                 .name = f->item.name, .n = f->item.name_length);
        if (create(f))
            coir_fail(f, -EINVAL);
        if (w.cache.counts.dirty > 800)
            coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    }
    ns_each("making a volume", f->since, VOLUMES);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w, .catalog = &catalog);
    coir_catalog_roots(&catalog, &f->volumes, &f->names);
    coir_catalog_destroy(&catalog);
    world_reopen(&w, 64, 1000);
    EQ(coir_catalog_init(&catalog, &w.cache, &f->volumes, &f->names, key), 0, "opened anew");
    EQ(w.cache.counts.reads, 0, "reads nothing");
    f->item.name_length = (uint8_t)name_of(f->item.name, VOLUMES / 2);
    coir_try(f, &f->find, coir_catalog_find, .catalog = &catalog, .name = f->item.name, .n = f->item.name_length);
    EQ(f->find.result, 16 + VOLUMES / 2, "one by its name");
    EQ(w.cache.counts.reads, coir_tree_height(&catalog.names), "is a read a level");
    coir_try(f, &f->open, coir_catalog_open, .catalog = &catalog, .id = f->find.result);
    EQ(f->open.result->blocks, VOLUMES / 2, "opened");
    EQ(w.cache.counts.reads, coir_tree_height(&catalog.names) + coir_tree_height(&catalog.volumes), "as many again");
    coir_catalog_close(f->open.result);
    f->seen = f->wrong = 0;
    for (f->from = 0;; f->from = f->items[f->list.result - 1].id + 1) {
        coir_try(f, &f->list, coir_catalog_list, .catalog = &catalog, .from = f->from, .items = f->items, .max = 100);
        for (unsigned i = 0; i < f->list.result; i++, f->seen++) {
            char name[COIR_NAME_MAX];

            name_of(name, f->seen);
            f->wrong += f->items[i].id != 16 + f->seen || strcmp(f->items[i].name, name) != 0;
        }
        if (f->list.result < 100)
            break;
    }
    EQ(f->seen, VOLUMES, "all are listed");
    EQ(f->wrong, 0, "in order");
    OK(w.cache.counts.pages <= 96, "in no more memory: %u blocks", w.cache.counts.pages);
    f->o = (struct coir_walk_options){ .files = w.file, .n_files = 1, .damaged = world_damaged, .arg = &w };
    f->calls = (struct coir_check_calls){ .volume = saw_volume };
    sum = 0;
    coir_try(f, &f->check, coir_check_trees, .options = &f->o, .volumes = &f->volumes, .names = &f->names, .key = key,
             .calls = &f->calls);
    EQ(f->check.result, 0, "a check finds nothing");
    EQ(sum, VOLUMES, "and every volume");
} coir_end

static void test_volumes(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 1000);
    w.longest = 4096;
    EQ(coir_catalog_init(&catalog, &w.cache, &none, &none, key), 0, "a catalog");
    EQ(coir_run(NULL, coir_new(volumes)), 0, "many volumes");
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    coir_catalog_destroy(&catalog);
    world_close(&w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    setenv("COIR_SLOW_MS", "0", 1);     /* what names a slow step allocates, and allocations are counted here */
    test_extents();
    test_volumes();
    return DONE();
}
