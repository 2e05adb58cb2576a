/* SPDX-License-Identifier: MIT */
/*
 * A tree against an array of its values: random puts and deletes of values of 0 to 2,000 bytes in a cache of a few
 * nodes, checkpoints that succeed and fail with changes while they are written, and every so often everything is
 * read anew from the device. After each step the inside is audited; after each checkpoint the tree is walked on the
 * device, and every block that is given out to a node must be found there.
 *
 *     test_volume_test_btree_model [SEED]
 */
#include "index_world.h"

enum { KEYS = 3000, STEPS = 20000, TREE = 77, PAGES = 12, DIRTY = 4000 };

static const char *any(const struct coir_entry *e, uint64_t *next)
{
    (void)e;
    (void)next;
    return NULL;
}

static const struct coir_tree_kind kind = { .name = "test", .check = any };

static struct model {
    struct index_world w;
    struct coir_tree tree;
    int length[KEYS];                   /* -1: not there */
    uint64_t seed[KEYS];
    unsigned frozen_at, checkpoints, failures, reopened;
    unsigned least, biggest;            /* how long values are */
    unsigned height;                    /* the most */
    uint64_t nodes;
    uint64_t seen;                      /* entries of a walk */
} m;

/* Keys lie at both ends of what there is, and apart. */
static uint64_t key_of(unsigned i)
{
    return i < KEYS / 2 ? (uint64_t)i * i : UINT64_MAX - (uint64_t)(KEYS - 1 - i) * 3;
}

static void fill(unsigned char *to, unsigned length, uint64_t seed)
{
    for (unsigned i = 0; i < length; i++)
        to[i] = (unsigned char)(seed >> i % 8 * 8) ^ (unsigned char)i;
}

static bool is_filled(const unsigned char *p, unsigned length, uint64_t seed)
{
    for (unsigned i = 0; i < length; i++) {
        if (p[i] != (unsigned char)((unsigned char)(seed >> i % 8 * 8) ^ (unsigned char)i))
            return false;
    }
    return true;
}

/* ---- one change ---- */

struct change {
    coir_frame_void;
    coir_args(unsigned i; int length;);
    struct coir_pin pin;
    struct coir_credit credit;
    struct coir_btree_pin pins;
};
static coir_declare(change);

static void change_it(struct change *f)
{
    const uint64_t key = key_of(f->i);
    unsigned char value[COIR_VALUE_MAX];
    bool was;

    if (f->length < 0) {
        was = coir_btree_delete(&m.tree, key, &f->credit);
        if (was != (m.length[f->i] >= 0))
            world_wrong(&m.w, "a key was deleted that was not there, or the other way round");
    } else {
        m.seed[f->i] = sim_random(&m.w.random);
        fill(value, (unsigned)f->length, m.seed[f->i]);
        coir_btree_put(&m.tree, key, value, (unsigned)f->length, &f->credit);
    }
    m.length[f->i] = f->length;
}

coir_body(change, f) {
    f->pin = (struct coir_pin){ .tree = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    coir_try(f, &f->pins, coir_btree_pin, .tree = &m.tree, .pin = &f->pin, .first = key_of(f->i),
             .last = key_of(f->i), .change = true);
    {
        const unsigned size = f->length < 0 ? 0 : coir_entry_size((unsigned)f->length);
        const int err = coir_credit_take(&m.w.cache, &f->credit, coir_pin_need(&f->pin, f->length >= 0, size));

        if (err)
            coir_fail(f, err);
    }
    change_it(f);
    coir_finally(f) {
        coir_credit_give(&f->credit);
        coir_unpin(&f->pin);
    }
} coir_end

/* ---- looking ---- */

/* A key and its neighbours, by each way of finding. */
struct look {
    coir_frame_void;
    coir_args(unsigned i;);
    int how, is;
    uint64_t missing;
    struct coir_cursor c;
    struct coir_btree_load load;
};
static coir_declare(look);

static int expected(unsigned i, int how)
{
    int at = (int)i;

    while (at >= 0 && at < KEYS && m.length[at] < 0)
        at = how == COIR_FIND_EXACT ? -1 : how == COIR_FIND_AT_MOST ? at - 1 : at + 1;
    return at < KEYS ? at : -1;
}

static void compare(struct look *f)
{
    const int want = expected(f->i, f->how);
    unsigned length;
    const unsigned char *value;

    if (f->is != (want >= 0)) {
        world_wrong(&m.w, "a key is there that should not be, or is not");
        return;
    }
    if (want < 0)
        return;
    value = coir_cursor_value(&f->c, &length);
    if (coir_cursor_key(&f->c) != key_of((unsigned)want) || (int)length != m.length[want]
            || !is_filled(value, length, m.seed[want]))
        world_wrong(&m.w, "a value is not what was put");
}

coir_body(look, f) {
    for (f->how = COIR_FIND_EXACT; f->how <= COIR_FIND_AT_LEAST; f->how++) {
        for (;;) {
            f->is = coir_btree_find(&m.tree, key_of(f->i), (enum coir_find)f->how, &f->c, &f->missing);
            if (f->is >= 0)
                break;
            coir_try(f, &f->load, coir_btree_load, .tree = &m.tree, .key = f->missing, .level = 0);
        }
        compare(f);
    }
} coir_end

/* Everything, in order, by going on from one to the next. */
struct look_all {
    coir_frame_void;
    coir_no_args;
    int is;
    unsigned i;
    uint64_t missing;
    struct coir_cursor c;
    struct coir_btree_load load;
};
static coir_declare(look_all);

static void compare_next(struct look_all *f)
{
    unsigned length;
    const unsigned char *value;

    while (f->i < KEYS && m.length[f->i] < 0)
        f->i++;
    if (f->is != (f->i < KEYS)) {
        world_wrong(&m.w, "there are more keys, or fewer, than there should be");
    } else if (f->is) {
        value = coir_cursor_value(&f->c, &length);
        if (coir_cursor_key(&f->c) != key_of(f->i) || (int)length != m.length[f->i]
                || !is_filled(value, length, m.seed[f->i]))
            world_wrong(&m.w, "a value is not what was put");
        f->i++;
    }
}

coir_body(look_all, f) {
    f->i = 0;
    f->missing = 0;
    for (f->is = -EAGAIN; f->is; ) {
        if (f->is < 0) {
            coir_try(f, &f->load, coir_btree_load, .tree = &m.tree, .key = f->missing, .level = 0);
            f->is = coir_btree_find(&m.tree, f->missing, COIR_FIND_AT_LEAST, &f->c, &f->missing);
        } else {
            f->is = coir_cursor_next(&f->c, &f->missing);
        }
        if (f->is >= 0)
            compare_next(f);
    }
} coir_end

/* ---- the whole ---- */

static void saw(void *arg, const struct coir_disk_node *node)
{
    (void)arg;
    if (node->level == 0)
        m.seen += node->count;
}

static uint64_t present(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < KEYS; i++)
        n += m.length[i] >= 0;
    return n;
}

struct model_run {
    coir_frame_void;
    coir_no_args;
    unsigned step, i, n;
    int length;
    struct coir_disk_root root;
    union {
        struct change change;
        struct look look;
        struct look_all all;
        struct coir_checkpoint_write write;
        struct world_checkpoint checkpoint;
        struct world_walk walk;
    };
};
static coir_declare(model_run);

/* Growing, steady, shrinking; small values, all sizes, and such of which only two, or one, are in a leaf. */
static int random_length(void)
{
    const unsigned phase = m.checkpoints / 8 % 3;

    if (sim_below(&m.w.random, 8) < (phase == 0 ? 1 : phase == 1 ? 4 : 7))
        return -1;
    return (int)(m.least + sim_below(&m.w.random, m.biggest - m.least + 1));
}

static void next_sizes(void)
{
    static const unsigned least[] = { 0, 0, 1900, 1300 }, biggest[] = { 30, COIR_VALUE_MAX, COIR_VALUE_MAX, 1500 };
    const unsigned sizes = m.checkpoints / 30 % 4;

    m.least = least[sizes];
    m.biggest = biggest[sizes];
}

/* Keys in a row: leaves, and nodes above them, lose all they have. */
static unsigned random_run(void)
{
    return sim_below(&m.w.random, 60) ? 1 : 1 + (unsigned)sim_below(&m.w.random, 400);
}

static void audit(void)
{
    const char *bad = coir_tree_audit(&m.tree);
    const unsigned height = coir_tree_height(&m.tree);

    m.height = height > m.height ? height : m.height;
    if (!bad)
        bad = coir_cache_audit(&m.w.cache);
    if (bad)
        world_wrong(&m.w, bad);
}

coir_body(model_run, f) {
    world_devices(&m.w);
    for (f->step = 0; f->step < STEPS && !m.w.wrong; f->step++) {
        f->i = (unsigned)sim_below(&m.w.random, KEYS);
        f->length = random_length();
        for (f->n = random_run(); f->n && f->i < KEYS; f->n--, f->i++)
            coir_try(f, &f->change, change, .i = f->i, .length = f->length);
        audit();
        coir_try(f, &f->look, look, .i = (unsigned)sim_below(&m.w.random, KEYS));
        if (sim_below(&m.w.random, 30))
            continue;
        m.checkpoints++;
        next_sizes();
        if (coir_checkpoint_prepare(&m.w.ck, &m.w.cache))
            coir_fail(f, -ENOMEM);
        world_freeze(&m.w, NULL);
        for (m.frozen_at = 0; m.frozen_at < m.checkpoints % 20; m.frozen_at++) {
            coir_try(f, &f->change, change, .i = (unsigned)sim_below(&m.w.random, KEYS), .length = random_length());
            audit();
        }
        if (sim_below(&m.w.random, 4) == 0)
            sim_fail(m.w.sim, SIM_WRITE, 1 + sim_below(&m.w.random, 3), -EIO, false);
        coir_await(f, &f->write, coir_checkpoint_write, .checkpoint = &m.w.ck);
        if (coir_status(&f->write))
            m.failures++;
        audit();
        world_end(&m.w, NULL, coir_status(&f->write) == 0);
        sim_fail(m.w.sim, SIM_WRITE, 0, 0, false);
        audit();
        if (sim_below(&m.w.random, 5))
            continue;
        /* Everything anew, from the device. */
        coir_try(f, &f->checkpoint, world_checkpoint, .w = &m.w);
        f->root = m.tree.root;
        m.seen = 0;
        coir_try(f, &f->walk, world_walk, .w = &m.w, .kind = &kind, .tree = TREE, .root = &f->root, .node = saw);
        if (f->walk.result != world_nodes(&m.w) || m.seen != present())
            world_wrong(&m.w, "what stands on the device is not what is given out");
        m.nodes = f->walk.result > m.nodes ? f->walk.result : m.nodes;
        world_reopen(&m.w, PAGES, DIRTY);
        if (coir_tree_init(&m.tree, &m.w.cache, &kind, TREE, &f->root))
            coir_fail(f, -EBADMSG);
        m.reopened++;
        coir_try(f, &f->all, look_all);
    }
} coir_end

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : sim_seed(1);
    const struct coir_disk_root none = { .address = 0 };
    int status;

    NOTE("seed %llu", (unsigned long long)seed);
    setenv("COIR_TIME", "virtual", 1);
    world_open(&m.w, seed, PAGES, DIRTY);
    memset(m.length, -1, sizeof m.length);
    m.biggest = 300;
    EQ(coir_tree_init(&m.tree, &m.w.cache, &kind, TREE, &none), 0, "a tree");
    status = coir_run(NULL, coir_new(model_run));
    EQ(status, 0, "all steps");
    STR_EQ(m.w.wrong, NULL, "nothing was wrong");
    EQ(m.w.damages, 0, "nothing is damaged");
    OK(m.failures > 20 && m.reopened > 20, "%u checkpoints, of which %u failed; %u reopened; %llu nodes at most",
       m.checkpoints, m.failures, m.reopened, (unsigned long long)m.nodes);
    EQ(m.height, 3, "levels at most");
    OK(m.w.cache.counts.evicted > 0 || m.reopened > 0, "nodes were evicted");
    world_close(&m.w);
    return DONE();
}
