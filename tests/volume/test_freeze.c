/* SPDX-License-Identifier: MIT */
/*
 * Nodes on the medium: what a checkpoint writes while the tree goes on, in how many writes; what a read that fails, a
 * node that is damaged, lost or of yesterday does; several who want one node; and a workload in which each read, and
 * each write, fails once.
 */
#include "index_world.h"

enum { TREE = 77, KEYS = 2000 };

static struct index_world w;
static struct coir_tree tree;
static struct coir_disk_root root;

static const char *any(const struct coir_entry *e, uint64_t *next)
{
    (void)e;
    (void)next;
    return NULL;
}

static const struct coir_tree_kind kind = { .name = "test", .check = any };

/* ---- a tree with keys 10, 20, ... of which each value is a number and some filling ---- */

struct put {
    coir_frame(int);                    /* reads that failed on the way */
    coir_args(unsigned first; unsigned n; uint64_t value; bool del; bool again;);
    unsigned i;
    struct coir_pin pin;
    struct coir_credit credit;
    struct coir_btree_pin pins;
};
static coir_declare(put);

static void put_one(struct put *f)
{
    uint64_t value[25] = { f->value + f->i };
    int err = coir_credit_take(&w.cache, &f->credit, coir_pin_need(&f->pin, 1, coir_entry_size(sizeof value)));

    if (err)
        world_wrong(&w, "no credit");
    if (f->del)
        coir_btree_delete(&tree, 10 * (uint64_t)f->i, &f->credit);
    else
        coir_btree_put(&tree, 10 * (uint64_t)f->i, value, sizeof value, &f->credit);
    coir_credit_give(&f->credit);
    coir_unpin(&f->pin);
}

coir_body(put, f) {
    f->pin = (struct coir_pin){ .tree = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    for (f->i = f->first; f->i < f->first + f->n;) {
        coir_await(f, &f->pins, coir_btree_pin, .tree = &tree, .pin = &f->pin, .first = 10 * (uint64_t)f->i,
                   .last = 10 * (uint64_t)f->i, .change = true);
        if (coir_status(&f->pins)) {
            f->result++;
            if (!f->again || coir_status(&f->pins) != -EIO)
                coir_fail(f, coir_status(&f->pins));
            continue;
        }
        put_one(f);
        f->i++;
    }
} coir_end

/* The value of a key: 0: it is not there. */
struct get {
    coir_frame(uint64_t);
    coir_args(unsigned i;);
    struct coir_btree_load load;
};
static coir_declare(get);

static bool get_now(unsigned i, uint64_t *value)
{
    struct coir_cursor c;
    unsigned length;

    *value = 0;
    if (!coir_btree_seek(&tree, 10 * (uint64_t)i, &c))
        return false;
    if (coir_cursor_has(&c) && coir_cursor_key(&c) == 10 * (uint64_t)i)
        *value = *(uint64_t *)coir_cursor_value(&c, &length);
    return true;
}

coir_body(get, f) {
    while (!get_now(f->i, &f->result))
        coir_try(f, &f->load, coir_btree_load, .tree = &tree, .key = 10 * (uint64_t)f->i, .level = 0);
} coir_end

/* How many of the keys up to n do not have this value and their number. */
struct count_wrong {
    coir_frame(unsigned);
    coir_args(unsigned first; unsigned n; uint64_t value;);
    unsigned i;
    struct get get;
};
static coir_declare(count_wrong);
coir_body(count_wrong, f) {
    for (f->i = f->first; f->i < f->first + f->n; f->i++) {
        coir_try(f, &f->get, get, .i = f->i);
        f->result += f->get.result != (f->value ? f->value + f->i : 0);
    }
} coir_end

static void begin(unsigned pages)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, pages, 4000);
    w.longest = 1000;
    EQ(coir_tree_init(&tree, &w.cache, &kind, TREE, &none), 0, "a tree");
}

static void end(void)
{
    STR_EQ(w.wrong, NULL, "the map of blocks agrees");
    STR_EQ(coir_tree_audit(&tree), NULL, "the tree is sound");
    STR_EQ(coir_cache_audit(&w.cache), NULL, "the cache is sound");
    world_close(&w);
}

/* As if it had been opened now. */
static void reopen(unsigned pages)
{
    root = tree.root;
    world_reopen(&w, pages, 4000);
    if (coir_tree_init(&tree, &w.cache, &kind, TREE, &root))
        world_wrong(&w, "no tree");
}

/* ---- writing ---- */

struct writing {
    coir_frame_void;
    coir_no_args;
    struct sim_counts before;
    unsigned nodes, height;
    struct coir_disk_root old;
    union {
        struct put put;
        struct count_wrong wrong;
        struct world_checkpoint checkpoint;
        struct coir_checkpoint_write write;
        struct world_walk walk;
    };
};
static coir_declare(writing);

static uint64_t writes(const struct writing *f)
{
    return sim_counts(w.sim, 0).writes - f->before.writes;
}

coir_body(writing, f) {
    world_devices(&w);
    coir_try(f, &f->put, put, .n = KEYS, .value = 1000000);
    f->nodes = w.cache.counts.dirty;
    f->height = coir_tree_height(&tree);
    /* 4,032 bytes hold 18 entries of 216, keys in order fill leaves: 112 leaves and a root. */
    EQ(f->nodes, 113, "nodes of 2,000 keys that came in order");
    EQ(f->height, 2, "levels");
    f->before = sim_counts(w.sim, 0);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    EQ(w.cache.counts.written, 113, "each is written once");
    EQ(writes(f), 4, "in writes of 32 blocks");
    EQ(sim_counts(w.sim, 0).bytes_written - f->before.bytes_written, 113 * COIR_BLOCK, "and no bytes more");
    EQ(w.cache.counts.dirty, 0, "nothing is dirty");
    f->before = sim_counts(w.sim, 0);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    EQ(writes(f), 0, "a checkpoint of nothing writes nothing");

    /* One change: its leaf and the root. */
    coir_try(f, &f->put, put, .first = 700, .n = 1, .value = 2000000);
    EQ(w.cache.counts.dirty, 2, "a change makes its leaf and the root dirty");
    coir_try(f, &f->put, put, .first = 700, .n = 1, .value = 3000000);
    EQ(w.cache.counts.dirty, 2, "the next one nothing more");

    /* While that is frozen: the same leaf again, another one, and one that splits. */
    if (coir_checkpoint_prepare(&w.ck, &w.cache))
        coir_fail(f, -ENOMEM);
    world_freeze(&w, NULL);
    EQ(w.cache.counts.frozen, 2, "two are frozen");
    coir_try(f, &f->put, put, .first = 700, .n = 1, .value = 4000000);
    EQ(w.cache.counts.copied, 2, "both are copied by a change of the one");
    coir_try(f, &f->put, put, .first = 100, .n = 1, .value = 4000000);
    coir_try(f, &f->put, put, .first = KEYS, .n = 40, .value = 4000000);
    EQ(w.cache.counts.copied, 2, "others are not");
    coir_try(f, &f->write, coir_checkpoint_write, .checkpoint = &w.ck);
    EQ(w.cache.counts.written, 115, "what was frozen is written");
    f->old = tree.to;
    world_end(&w, NULL, true);
    EQ(w.cache.counts.frozen, 0, "and no longer frozen");
    coir_try(f, &f->wrong, count_wrong, .first = 700, .n = 1, .value = 4000000);
    EQ(f->wrong.result, 0, "in memory the newer value");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    root = tree.root;

    /* What was frozen stands there still, though the next checkpoint is done: nothing has been written over it. */
    reopen(64);
    tree.root = f->old;
    coir_try(f, &f->wrong, count_wrong, .n = 700, .value = 1000000);
    EQ(f->wrong.result, 0, "before the change what was there when it was frozen");
    coir_try(f, &f->wrong, count_wrong, .first = 700, .n = 1, .value = 3000000);
    EQ(f->wrong.result, 0, "and of the change the value of the freeze");
    coir_try(f, &f->wrong, count_wrong, .first = KEYS, .n = 40);
    EQ(f->wrong.result, 0, "later keys are not in it");
    coir_tree_forget(&tree);
    tree.root = root;
    coir_try(f, &f->wrong, count_wrong, .first = KEYS, .n = 40, .value = 4000000);
    EQ(f->wrong.result, 0, "they are in the next");
    coir_try(f, &f->walk, world_walk, .w = &w, .kind = &kind, .tree = TREE, .root = &root);
    EQ(f->walk.result, world_nodes(&w), "all nodes that are given out are in the tree");
} coir_end

/* ---- how trees grow and shrink ---- */

struct shape {
    coir_frame_void;
    coir_no_args;
    union {
        struct put put;
        struct world_checkpoint checkpoint;
    };
};
static coir_declare(shape);

coir_body(shape, f) {
    world_devices(&w);
    /* In order nodes become full: 7,200 keys in 400 leaves of 18; these in 168, 168 and 64; a root. */
    coir_try(f, &f->put, put, .n = 7200, .value = 1);
    EQ(w.cache.counts.dirty, 404, "nodes of 7,200 keys in order");
    EQ(coir_tree_height(&tree), 3, "levels");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    coir_try(f, &f->put, put, .n = 7190, .del = true);
    EQ(coir_tree_height(&tree), 1, "ten keys are in one leaf");
    EQ(w.cache.counts.dirty, 1, "one node");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    EQ(world_nodes(&w), 1, "one block");
    coir_try(f, &f->put, put, .first = 7190, .n = 10, .del = true);
    EQ(coir_tree_height(&tree), 0, "none");
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    OK(tree.root.address == 0 && world_nodes(&w) == 0, "no root on the medium, no block");
    coir_try(f, &f->put, put, .n = 1, .value = 1);
    EQ(coir_tree_height(&tree), 1, "and it begins again");
} coir_end

static void test_shape(void)
{
    begin(1000);
    EQ(coir_run(NULL, coir_new(shape)), 0, "growing and shrinking");
    end();
}

static void test_writing(void)
{
    begin(64);
    EQ(coir_run(NULL, coir_new(writing)), 0, "writing");
    end();
}

/* ---- reading ---- */

/* A reader of its own, which tells how it ended. */
struct told {
    coir_frame_void;
    coir_args(unsigned i; int *status; struct coir_scope **scope;);
    struct coir_scope mine;
    struct get get;
};
static coir_declare(told);
coir_body(told, f) {
    if (f->scope)
        *f->scope = &f->mine;
    coir_within(f, &f->mine, COIR_NEVER, &f->get, get, .i = f->i);
    *f->status = coir_status(&f->get) ? coir_status(&f->get) : f->get.result == 1000000 + f->i ? 0 : -EBADE;
} coir_end

struct reading {
    coir_frame_void;
    coir_no_args;
    int i, status[10];
    uint64_t reads, at;
    struct coir_scope *scope;
    struct coir_group group;
    union {
        struct put put;
        struct get get;
        struct world_checkpoint checkpoint;
        struct coir_group_wait wait;
        struct coir_pass pass;
    };
};
static coir_declare(reading);

static void spawn_readers(struct reading *f, unsigned key, int n, bool keep_scope)
{
    for (int i = 0; i < n; i++) {
        f->status[i] = 1;
        if (coir_spawn(&f->group, coir_new(told, .i = key, .status = &f->status[i],
                                           .scope = i == 0 && keep_scope ? &f->scope : NULL)))
            world_wrong(&w, "no task");
    }
}

static bool all_say(const struct reading *f, int n, int status)
{
    for (int i = 0; i < n; i++) {
        if (f->status[i] != status)
            return false;
    }
    return true;
}

/* Where the leaf of a key stands, which is in memory. */
static uint64_t leaf_address(unsigned i)
{
    struct coir_pin pin = { .tree = NULL };
    uint64_t address = 0;

    if (coir_pin_now(&tree, &pin, 10 * (uint64_t)i, 10 * (uint64_t)i, false) == 0)
        address = coir_node_address(pin.node[0]);
    coir_unpin(&pin);
    return address;
}

coir_body(reading, f) {
    world_devices(&w);
    coir_try(f, &f->put, put, .n = KEYS, .value = 1000000);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    reopen(64);
    coir_try(f, &f->get, get, .i = 5);
    EQ(w.cache.counts.reads, 2, "cold: a read a level");
    coir_try(f, &f->get, get, .i = 6);
    EQ(w.cache.counts.reads, 2, "warm: none");
    coir_try(f, &f->get, get, .i = 1500);
    EQ(w.cache.counts.reads, 3, "another leaf: one");

    /* One that is looked at between all others stays, though there is room for 8 and the root. */
    reopen(9);
    f->reads = 1 + KEYS / 18 + 1;
    for (f->i = 0; f->i < KEYS; f->i += 18) {
        coir_try(f, &f->get, get, .i = (unsigned)f->i);
        coir_try(f, &f->get, get, .i = 900);
    }
    EQ(w.cache.counts.reads, f->reads, "each leaf is read once");

    /* Ten want one node. */
    reopen(64);
    coir_group_open(f, &f->group);
    spawn_readers(f, 900, 10, false);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(all_say(f, 10, 0), "ten read one key");
    EQ(w.cache.counts.reads, 2, "and each node is read once");

    /* The one who reads is cancelled: another does. */
    reopen(64);
    coir_group_open(f, &f->group);
    spawn_readers(f, 900, 3, true);
    coir_await(f, &f->pass, coir_pass);
    coir_scope_cancel(f->scope);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->status[0], -ECANCELED, "the one who was reading is cancelled");
    OK(f->status[1] == 0 && f->status[2] == 0, "the others are not");
    EQ(w.damages, 0, "which is no damage");

    /* It cannot be read: all are told, by one read. */
    reopen(64);
    coir_try(f, &f->get, get, .i = 5);
    f->reads = w.cache.counts.reads;
    sim_fail(w.sim, SIM_READ, 1, -EIO, false);
    coir_group_open(f, &f->group);
    spawn_readers(f, 900, 10, false);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    OK(all_say(f, 10, -EIO), "all are told -EIO");
    EQ(w.cache.counts.reads, f->reads + 1, "after one read");
    OK(w.damages == 1 && w.damage.tree == TREE && w.damage.level == 0 && w.damage.status == -EIO, "which is named");
    STR_EQ(w.damage.what, "it cannot be read", "and why");
    coir_try(f, &f->get, get, .i = 900);
    EQ(f->get.result, 1000900, "the next read may go well");
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static void test_reading(void)
{
    begin(64);
    EQ(coir_run(NULL, coir_new(reading)), 0, "reading");
    end();
}

/* ---- damage ---- */

struct damaged {
    coir_frame_void;
    coir_no_args;
    uint64_t at, old_at, root_at;
    unsigned char old[COIR_BLOCK], now[COIR_BLOCK];
    union {
        struct put put;
        struct get get;
        struct world_checkpoint checkpoint;
        struct world_walk walk;
    };
};
static coir_declare(damaged);

static void peek(uint64_t block, void *to)
{
    sim_peek(w.sim, 0, block * COIR_BLOCK, to, COIR_BLOCK);
}

static void poke(uint64_t block, const void *from)
{
    sim_poke(w.sim, 0, block * COIR_BLOCK, from, COIR_BLOCK);
}

static void refused(int status, unsigned level, uint64_t at, const char *what, const char *name)
{
    EQ(status, -EBADMSG, "%s: refused", name);
    OK(w.damage.tree == TREE && w.damage.level == level && w.damage.address == at && w.damage.status == -EBADMSG,
       "%s: tree, level and address are named", name);
    STR_EQ(w.damage.what, what, "%s", name);
}

coir_body(damaged, f) {
    world_devices(&w);
    coir_try(f, &f->put, put, .n = KEYS, .value = 1000000);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &w);
    f->at = leaf_address(900);
    f->root_at = tree.root.address;
    world_at_rest(&w);
    peek(f->at, f->now);

    /* A bit. */
    reopen(64);
    sim_flip(w.sim, 0, f->at * COIR_BLOCK + 1000, 3);
    coir_await(f, &f->get, get, .i = 900);
    refused(coir_status(&f->get), 0, f->at, "its checksum is wrong", "a flipped bit");
    coir_try(f, &f->get, get, .i = 5);
    EQ(f->get.result, 1000005, "other keys are read");
    coir_try(f, &f->walk, world_walk, .w = &w, .kind = &kind, .tree = TREE, .root = &root);
    EQ(f->walk.result, 112, "a walk finds all other nodes");
    poke(f->at, f->now);
    coir_try(f, &f->get, get, .i = 900);
    EQ(f->get.result, 1000900, "healed");

    /* The write that made it was lost: an older node of the same tree, that was written for the same block. */
    reopen(64);
    memcpy(f->old, f->now, COIR_BLOCK);
    ((struct coir_disk_node *)f->old)->head.generation--;
    ((struct coir_disk_node *)f->old)->head.crc = coir_node_sum((struct coir_disk_node *)f->old, f->at);
    poke(f->at, f->old);
    coir_await(f, &f->get, get, .i = 900);
    refused(coir_status(&f->get), 0, f->at, "it is another version than the one that is meant", "an older version");

    /* A write that landed elsewhere: a node of another place. */
    peek(f->root_at, f->old);
    poke(f->at, f->old);
    coir_await(f, &f->get, get, .i = 900);
    refused(coir_status(&f->get), 0, f->at, "it was written for another place", "a node of another place");

    /* The root; a device that is cut; an address in a file that the store does not have. */
    reopen(64);
    poke(f->at, f->now);
    sim_flip(w.sim, 0, f->root_at * COIR_BLOCK, 0);
    coir_await(f, &f->get, get, .i = 900);
    refused(coir_status(&f->get), 1, f->root_at, "it is no node", "the root");
    sim_shorten(w.sim, 0, f->root_at * COIR_BLOCK);
    coir_await(f, &f->get, get, .i = 900);
    EQ(coir_status(&f->get), -EBADMSG, "a device that was cut");
    STR_EQ(w.damage.what, "the file is too short", "which is said");
    tree.root.address = COIR_ADDRESS(1, 77);
    coir_await(f, &f->get, get, .i = 900);
    EQ(coir_status(&f->get), -EBADMSG, "a file that is not there");
    tree.root = root;
    OK(tree.top == NULL && w.cache.counts.nodes == 0, "nothing stays of what was refused");
} coir_end

static void test_damage(void)
{
    begin(64);
    EQ(coir_run(NULL, coir_new(damaged)), 0, "damage");
    end();
}

/* ---- each read, and each write, fails ---- */

/* A tree that is changed all over in a cache of a few nodes, with a checkpoint in the middle. */
struct workload {
    coir_frame_void;
    coir_args(unsigned calls; uint64_t nth;);
    unsigned i, failed, checkpoints;
    union {
        struct put put;
        struct count_wrong wrong;
        struct world_checkpoint checkpoint;
        struct world_walk walk;
    };
};
static coir_declare(workload);

enum { FEW = 400 };

static bool has_failed;

coir_body(workload, f) {
    world_devices(&w);
    f->failed = f->checkpoints = 0;
    sim_fail(w.sim, f->calls, f->nth, -EIO, false);
    for (f->i = 0; f->i < FEW; f->i++) {
        coir_try(f, &f->put, put, .first = f->i * 7 % FEW, .n = 1, .value = 5000000, .again = true);
        f->failed += (unsigned)f->put.result;
        if (f->i % 10)
            continue;
        do {
            coir_await(f, &f->checkpoint, world_checkpoint, .w = &w);
            f->failed += coir_status(&f->checkpoint) != 0;
            f->checkpoints++;
        } while (coir_status(&f->checkpoint) == -EIO);
        coir_check(f, &f->checkpoint);
    }
    coir_try(f, &f->put, put, .first = 100, .n = 250, .del = true, .again = true);
    f->failed += (unsigned)f->put.result;
    do {
        coir_await(f, &f->checkpoint, world_checkpoint, .w = &w);
        f->failed += coir_status(&f->checkpoint) != 0;
    } while (coir_status(&f->checkpoint) == -EIO);
    has_failed = sim_has_failed(w.sim);
    if (f->failed != has_failed)
        world_wrong(&w, "a failure was told to nobody, or more than once");
    sim_fail(w.sim, SIM_ANY, 0, 0, false);
    reopen(8);
    coir_try(f, &f->wrong, count_wrong, .n = 100, .value = 5000000);
    if (f->wrong.result)
        world_wrong(&w, "keys are lost");
    coir_try(f, &f->wrong, count_wrong, .first = 100, .n = 250);
    if (f->wrong.result)
        world_wrong(&w, "keys are there that were deleted");
    coir_try(f, &f->wrong, count_wrong, .first = 350, .n = 50, .value = 5000000);
    if (f->wrong.result)
        world_wrong(&w, "keys are lost");
    coir_try(f, &f->walk, world_walk, .w = &w, .kind = &kind, .tree = TREE, .root = &root);
    if (f->walk.result != world_nodes(&w))
        world_wrong(&w, "a block is lost");
} coir_end

static void test_each_fails(unsigned calls, const char *name)
{
    const struct coir_disk_root none = { .address = 0 };
    uint64_t nth = 0;
    bool failed = true;
    int status = 0;

    while (failed && !status && !w.wrong) {
        nth++;
        world_open(&w, 1, 8, 4000);
        status = coir_tree_init(&tree, &w.cache, &kind, TREE, &none);
        if (!status)
            status = coir_run(NULL, coir_new(workload, .calls = calls, .nth = nth));
        failed = has_failed;
        if (!w.wrong)
            w.wrong = coir_tree_audit(&tree);
        if (!w.wrong)
            w.wrong = coir_cache_audit(&w.cache);
        if (failed && !status && !w.wrong)
            world_close(&w);
    }
    EQ(status, 0, "%s: ends well whichever of %llu fails", name, (unsigned long long)nth - 1);
    STR_EQ(w.wrong, NULL, "%s: and nothing is lost", name);
    OK(nth > 10, "%s: there are some", name);
    world_close(&w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    test_shape();
    test_writing();
    test_reading();
    test_damage();
    test_each_fails(SIM_READ, "reads");
    test_each_fails(SIM_WRITE, "writes");
    return DONE();
}
