/* SPDX-License-Identifier: MIT */
/*
 * The whole index against arrays: writers that pin, wait for their data and then map in one step, readers, somebody
 * who makes, renames, resizes and removes volumes, and checkpoints that succeed or fail, all at once in a cache of a
 * few nodes with few that may be dirty. Volume blocks of 4 to 64 KiB, both ends of volumes of 2^51 blocks, several
 * eras. What a change lets go must be what the arrays say. Every so often everybody stops, all trees are checked on
 * the device, and the index is opened anew and compared with the arrays from one end to the other.
 *
 *     test_volume_test_index_model [SEED]
 */
#define WORLD_DELAY 40000

#include "index_world.h"

enum {
    VOLUMES = 6, BLOCKS = 3000, ROUNDS = 10, WRITERS = 5, READERS = 2, STEPS = 400, PAGES = 40, DIRTY = 70,
    RANGE = 300, RUNS = 60,
};

#define FAR ((uint64_t)1 << 50)

struct volume {
    uint64_t id;                        /* 0: none in this place */
    char name[300];
    struct coir_extents *x;
    bool removing;
    unsigned busy;                      /* writers and readers that have chosen it */
    unsigned shift;
    uint64_t size, mapped;
    uint64_t address[BLOCKS];
    uint32_t crc[BLOCKS], era[BLOCKS];
};

static struct model {
    struct index_world w;
    struct coir_catalog catalog;
    struct volume volume[VOLUMES];
    uint64_t next_id, next_address, names;
    bool stop;                          /* checkpoints: the others are done */
    unsigned checkpoints, failures, stale, short_of_credit, waits, maps, unmaps, lookups, made, removed;
    uint64_t cut_short;
    uint64_t nodes, extents;
} m;

static const uint8_t key[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static uint64_t draw(uint64_t below)
{
    return sim_below(&m.w.random, below);
}

static uint64_t lba_of(unsigned i)
{
    return i < BLOCKS / 2 ? i : FAR + i;
}

static uint64_t unit_of(const struct volume *v)
{
    return (uint64_t)1 << (v->shift - 12);
}

static void audit(void)
{
    const char *bad = coir_cache_audit(&m.w.cache);

    if (!bad)
        bad = coir_tree_audit(&m.catalog.volumes);
    if (!bad)
        bad = coir_tree_audit(&m.catalog.names);
    for (int i = 0; !bad && i < VOLUMES; i++)
        bad = m.volume[i].x ? coir_tree_audit(&m.volume[i].x->tree) : NULL;
    if (bad)
        world_wrong(&m.w, bad);
}

/* ---- changes of a volume ---- */

/* What a change must let go, from the arrays: all that is mapped from `at` to `end`. */
struct expected {
    struct volume *v;
    unsigned at, end;
};

static void let_go(void *arg, uint64_t address, uint64_t blocks)
{
    struct expected *e = arg;
    const uint64_t unit = unit_of(e->v);

    for (; blocks; blocks -= unit, address += unit) {
        while (e->at < e->end && e->v->address[e->at] == 0)
            e->at++;
        if (e->at == e->end || e->v->address[e->at] != address) {
            world_wrong(&m.w, "something else was let go than what was there");
            return;
        }
        e->v->address[e->at++] = 0;
        e->v->mapped--;
    }
}

/* All that was mapped before `to` has been let go. */
static void expect_end(struct expected *e, unsigned to)
{
    for (; e->at < to; e->at++) {
        if (e->v->address[e->at])
            world_wrong(&m.w, "something was there and was not let go");
    }
}

struct writer {
    coir_frame_void;
    coir_args(unsigned n;);
    unsigned step, i, count, n_runs;
    int err;
    struct volume *v;
    struct coir_run run[RUNS];
    uint32_t crcs[RANGE];
    struct coir_pin pin;
    struct coir_credit credit;
    union {
        struct coir_extents_pin pins;
        struct coir_sleep sleep;
    };
};
static coir_declare(writer);

static struct volume *choose(void)
{
    struct volume *v = &m.volume[draw(VOLUMES)];

    return v->id && !v->removing ? v : NULL;
}

static void choose_range(unsigned *i, unsigned *count)
{
    static const unsigned most[] = { 1, 1, 4, 20, 256 };

    *i = (unsigned)draw(BLOCKS);
    *count = 1 + (unsigned)draw(most[draw(5)]);
    if (*i < BLOCKS / 2 && *i + *count > BLOCKS / 2)
        *count = BLOCKS / 2 - *i;
    if (*i + *count > BLOCKS)
        *count = BLOCKS - *i;
}

/* New places for the data: often behind what is before it, so that extents are joined. */
static void place(struct writer *f)
{
    const uint64_t unit = unit_of(f->v);
    uint64_t address = m.next_address;
    unsigned left = f->count;

    if (f->i && f->v->address[f->i - 1] && draw(2))
        address = f->v->address[f->i - 1] + unit;
    f->n_runs = 0;
    while (left) {
        const unsigned n = f->n_runs + 1 == RUNS || draw(3) == 0 ? left : 1 + (unsigned)draw(left < 8 ? left : 8);

        f->run[f->n_runs++] = (struct coir_run){ address, n * unit };
        left -= n;
        m.next_address += 16 * 300;
        address = draw(3) ? m.next_address : address + n * unit;
    }
    for (unsigned i = 0; i < f->count; i++)
        f->crcs[i] = (uint32_t)sim_random(&m.w.random);
}

/* A run's blocks one by one into the arrays. */
static void note_map(struct writer *f, unsigned count)
{
    unsigned i = f->i;

    for (unsigned r = 0; i < f->i + count; r++) {
        for (uint64_t b = 0; b < f->run[r].blocks && i < f->i + count; b += unit_of(f->v), i++) {
            f->v->address[i] = f->run[r].address + b;
            f->v->crc[i] = f->crcs[i - f->i];
            f->v->era[i] = f->v->x->tree.era;
        }
    }
    f->v->mapped += count;
}

static bool unmaps(const struct writer *f)
{
    return f->step % 5 == 4;
}

/* In one step: the change, and the arrays. */
static void change(struct writer *f)
{
    const struct coir_blocks blocks = { f->run, f->n_runs, 0, f->crcs };
    const uint64_t lba = lba_of(f->i), pinned = f->pin.last - lba;
    unsigned count = pinned < f->count ? (unsigned)pinned + 1 : f->count;
    struct expected expected = { .v = f->v, .at = f->i };
    const struct coir_superseded superseded = { let_go, &expected };

    m.cut_short += count < f->count;
    expected.end = f->i + count;
    if (unmaps(f)) {
        const uint64_t done = coir_extents_unmap(f->v->x, &f->credit, lba, count, 1 + (unsigned)draw(30), &superseded);

        if (done > count)
            world_wrong(&m.w, "more was unmapped than there was");
        expect_end(&expected, f->i + (unsigned)done);
        m.unmaps++;
    } else {
        if (count > COIR_MAP_MAX)
            count = COIR_MAP_MAX;
        coir_extents_map_part(f->v->x, &f->credit, lba, count, &blocks, &superseded);
        expect_end(&expected, f->i + count);
        note_map(f, count);
        m.maps++;
    }
    if (f->v->x->mapped != f->v->mapped)
        world_wrong(&m.w, "the count of mapped blocks is wrong");
    audit();
}

static unsigned runs(const struct writer *f)
{
    return unmaps(f) ? 0 : f->n_runs;
}

coir_body(writer, f) {
    f->pin = (struct coir_pin){ .tree = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    for (f->step = 0; f->step < STEPS && !m.w.wrong; f->step++) {
        f->v = choose();
        choose_range(&f->i, &f->count);
        coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)draw(20000));
        if (!f->v || f->v->id == 0 || f->v->removing)
            continue;
        f->v->busy++;
        place(f);
        f->err = -ESTALE;
        while (f->err) {
            if (f->err == -ESTALE) {
                coir_try(f, &f->pins, coir_extents_pin, .extents = f->v->x, .pin = &f->pin, .lba = lba_of(f->i),
                         .count = f->count);
            }
            while (coir_credit_take(&m.w.cache, &f->credit,
                                    coir_extents_need(f->v->x, &f->pin, f->count, runs(f)))) {
                m.waits++;
                coir_credit_give(&f->credit);
                coir_try(f, &f->sleep, coir_sleep, .ns = 10000);
            }
            /* The data is written. */
            coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)draw(60000));
            f->err = coir_extents_ready(f->v->x, &f->pin, &f->credit, f->count, runs(f));
            m.stale += f->err == -ESTALE;
            m.short_of_credit += f->err == -EAGAIN;
        }
        change(f);
        coir_credit_give(&f->credit);
        coir_unpin(&f->pin);
        f->v->busy--;
    }
} coir_end

/* ---- looking ---- */

struct reader {
    coir_frame_void;
    coir_args(unsigned n;);
    unsigned step, i, count;
    uint64_t covered;
    struct volume *v;
    struct coir_mapped pieces[20];
    uint32_t crcs[RANGE];
    union {
        struct coir_btree_load load;
        struct coir_sleep sleep;
    };
};
static coir_declare(reader);

/* The pieces say of `covered` blocks from i on what the arrays say. */
static bool agree(const struct volume *v, unsigned i, uint64_t covered, const struct coir_mapped *p, unsigned n,
                  const uint32_t *crcs)
{
    uint64_t at = 0;

    for (unsigned k = 0; k < n; k++) {
        if (p[k].count == 0 || (k && !p[k].address && !p[k - 1].address))
            return false;
        for (uint64_t b = 0; b < p[k].count; b++, at++) {
            const uint64_t address = p[k].address ? p[k].address + b * unit_of(v) : 0;

            if (address != v->address[i + at] || crcs[at] != (address ? v->crc[i + at] : 0))
                return false;
        }
    }
    return at == covered;
}

static void look(struct reader *f)
{
    const unsigned n = coir_extents_lookup(f->v->x, lba_of(f->i), f->count, f->pieces, 20, f->crcs, &f->covered);

    if (!agree(f->v, f->i, f->covered, f->pieces, n, f->crcs))
        world_wrong(&m.w, "a look-up does not say what is there");
    m.lookups++;
}

coir_body(reader, f) {
    for (f->step = 0; f->step < STEPS && !m.w.wrong; f->step++) {
        f->v = choose();
        choose_range(&f->i, &f->count);
        coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)draw(40000));
        if (!f->v || f->v->id == 0 || f->v->removing)
            continue;
        f->v->busy++;
        while (f->count) {
            look(f);
            f->i += (unsigned)f->covered;
            f->count -= (unsigned)f->covered;
            if (f->count && f->covered == 0)
                coir_try(f, &f->load, coir_btree_load, .tree = &f->v->x->tree, .key = lba_of(f->i), .level = 0);
        }
        f->v->busy--;
    }
} coir_end

/* ---- making, renaming, resizing, removing ---- */

struct keeper {
    coir_frame_void;
    coir_no_args;
    unsigned step, act;
    int err;
    struct volume *v;
    char name[300];
    struct coir_catalog_item item;
    struct coir_catalog_change change;
    struct coir_credit credit;
    struct expected expected;
    struct coir_superseded superseded;
    union {
        struct coir_catalog_pin pins;
        struct coir_catalog_open open;
        struct coir_extents_clear clear;
        struct coir_sleep sleep;
    };
};
static coir_declare(keeper);

enum { CREATE, RENAME, REMOVE, ERA, RESIZE };

/* Short, long, and every so often one that is taken. */
static void new_name(char *to)
{
    const struct volume *other = &m.volume[draw(VOLUMES)];

    snprintf(to, 300, "v%llu%.*s", (unsigned long long)m.names++, (int)draw(240),
             "------------------------------------------------------------------------------------------------------"
             "------------------------------------------------------------------------------------------------------"
             "------------------------------------");
    if (other->id && !other->removing && draw(4) == 0)
        snprintf(to, 300, "%s", other->name);
}

static bool is_taken(const char *name)
{
    for (int i = 0; i < VOLUMES; i++) {
        if (m.volume[i].id && !m.volume[i].removing && strcmp(m.volume[i].name, name) == 0)
            return true;
    }
    return false;
}

/* In one step. The result is what the catalog says; the arrays follow. */
static int act(struct keeper *f)
{
    struct volume *v = f->v;
    int err = 0, want = 0;

    switch (f->act) {
    case CREATE:
        f->item.id = m.next_id;
        err = coir_catalog_create(&f->change, &f->credit, &f->item);
        want = is_taken(f->name) ? -EEXIST : 0;
        if (!err) {
            *v = (struct volume){ .id = m.next_id++, .shift = f->item.shift, .size = f->item.blocks };
            memcpy(v->name, f->name, sizeof v->name);
            m.made++;
        }
        break;
    case RENAME:
        err = coir_catalog_rename(&f->change, &f->credit, v->id, f->name, strlen(f->name));
        want = is_taken(f->name) && strcmp(f->name, v->name) ? -EEXIST : 0;
        if (!err)
            memcpy(v->name, f->name, sizeof v->name);
        break;
    case REMOVE:
        err = coir_catalog_remove(&f->change, &f->credit, v->id);
        v->removing = true;
        break;
    }
    if (err != want)
        world_wrong(&m.w, "the catalog said something else than it should");
    audit();
    return err;
}

static void prepare(struct keeper *f)
{
    static const unsigned acts[] = { RENAME, ERA, RESIZE };

    new_name(f->name);
    f->item = (struct coir_catalog_item){
        .id = m.next_id, .blocks = 1000 + draw(1000), .shift = (uint8_t)(12 + draw(5)), .era = (uint32_t)draw(3),
        .name_length = (uint8_t)strlen(f->name),
    };
    memcpy(f->item.name, f->name, f->item.name_length);
    f->v = &m.volume[draw(VOLUMES)];
    f->act = !f->v->id ? CREATE : draw(40) == 0 ? REMOVE : acts[draw(3)];
}

coir_body(keeper, f) {
    f->change = (struct coir_catalog_change){ .catalog = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    for (f->step = 0; f->step < STEPS / 2 && !m.w.wrong; f->step++) {
        coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)draw(200000));
        prepare(f);
        if (f->act == ERA) {
            f->v->x->tree.era++;
            continue;
        }
        do {
            coir_try(f, &f->pins, coir_catalog_pin, .catalog = &m.catalog, .change = &f->change,
                     .id = f->act == CREATE ? m.next_id : f->v->id, .name = f->act == CREATE ? f->name : f->v->name,
                     .n = strlen(f->act == CREATE ? f->name : f->v->name),
                     .other = f->act == RENAME ? f->name : NULL, .n_other = strlen(f->name));
            while (coir_credit_take(&m.w.cache, &f->credit, coir_catalog_need(&f->change) + 8)) {
                coir_credit_give(&f->credit);
                coir_try(f, &f->sleep, coir_sleep, .ns = 10000);
            }
        } while (coir_catalog_ready(&f->change, &f->credit));
        if (f->act == RESIZE) {
            if (coir_pin_now(&m.catalog.volumes, &f->v->x->entry, f->v->id, f->v->id, false) == 0) {
                f->v->size = f->v->x->blocks = 1000 + draw(1000);
                coir_extents_touch(f->v->x, &f->credit);
            }
        } else {
            f->err = act(f);
        }
        coir_catalog_unpin(&f->change);
        coir_credit_give(&f->credit);
        if (f->act == CREATE && f->err == 0) {
            coir_try(f, &f->open, coir_catalog_open, .catalog = &m.catalog, .id = f->v->id);
            f->v->x = f->open.result;
        }
        if (f->act != REMOVE)
            continue;
        while (f->v->busy)
            coir_try(f, &f->sleep, coir_sleep, .ns = 10000);
        for (f->err = -EAGAIN; f->err;) {
            f->expected = (struct expected){ .v = f->v, .end = BLOCKS };
            f->superseded = (struct coir_superseded){ let_go, &f->expected };
            coir_await(f, &f->clear, coir_extents_clear, .extents = f->v->x, .count = UINT64_MAX, .most = 50,
                       .superseded = &f->superseded);
            f->err = coir_status(&f->clear);
            if (f->err)
                coir_try(f, &f->sleep, coir_sleep, .ns = 10000);
        }
        if (!coir_tree_is_empty(&f->v->x->tree) || f->v->x->mapped)
            world_wrong(&m.w, "a cleared tree is not empty");
        coir_catalog_close(f->v->x);
        f->v->x = NULL;
        do {
            coir_try(f, &f->pins, coir_catalog_pin, .catalog = &m.catalog, .change = &f->change, .id = f->v->id);
            while (coir_credit_take(&m.w.cache, &f->credit, coir_catalog_need(&f->change))) {
                coir_credit_give(&f->credit);
                coir_try(f, &f->sleep, coir_sleep, .ns = 10000);
            }
        } while (coir_catalog_ready(&f->change, &f->credit));
        if (coir_catalog_gone(&f->change, &f->credit, f->v->id))
            world_wrong(&m.w, "a volume cannot go");
        audit();
        f->v->id = 0;
        m.removed++;
        coir_catalog_unpin(&f->change);
        coir_credit_give(&f->credit);
    }
} coir_end

/* ---- checkpoints ---- */

struct checkpoints {
    coir_frame_void;
    coir_no_args;
    union {
        struct coir_sleep sleep;
        struct world_checkpoint checkpoint;
    };
};
static coir_declare(checkpoints);

coir_body(checkpoints, f) {
    while (!m.stop && !m.w.wrong) {
        coir_try(f, &f->sleep, coir_sleep, .ns = (int64_t)draw(draw(2) ? 200000 : 3000000));
        if (draw(3) == 0)
            sim_fail(m.w.sim, SIM_WRITE, 1 + draw(4), -EIO, false);
        coir_await(f, &f->checkpoint, world_checkpoint, .w = &m.w, .catalog = &m.catalog);
        sim_fail(m.w.sim, SIM_WRITE, 0, 0, false);
        m.checkpoints++;
        m.failures += coir_status(&f->checkpoint) != 0;
        audit();
    }
} coir_end

/* ---- opened anew ---- */

struct compare {
    coir_frame_void;
    coir_no_args;
    unsigned k, i, n;
    struct coir_mapped pieces[20];
    uint32_t crcs[RANGE];
    struct coir_catalog_item items[VOLUMES + 1];
    union {
        struct coir_catalog_list list;
        struct coir_catalog_find find;
        struct coir_catalog_open open;
        struct coir_extents_find extents;
    };
};
static coir_declare(compare);

static unsigned count_at(unsigned i)
{
    const unsigned end = i < BLOCKS / 2 ? BLOCKS / 2 : BLOCKS;

    return end - i < RANGE ? end - i : RANGE;
}

static void compare_list(struct compare *f)
{
    unsigned seen = 0;

    for (int k = 0; k < VOLUMES; k++) {
        const struct volume *v = &m.volume[k];

        for (unsigned i = 0; v->id && i < f->list.result; i++) {
            const struct coir_catalog_item *item = &f->items[i];

            if (item->id == v->id && item->blocks == v->size && item->mapped == v->mapped && item->shift == v->shift
                    && strcmp(item->name, v->name) == 0)
                seen++;
        }
        f->n += v->id != 0;
    }
    for (unsigned i = 1; i < f->list.result; i++)
        seen -= f->items[i - 1].id >= f->items[i].id;
    if (seen != f->n || f->list.result != f->n)
        world_wrong(&m.w, "the list is not that of the volumes");
}

coir_body(compare, f) {
    f->n = 0;
    coir_try(f, &f->list, coir_catalog_list, .catalog = &m.catalog, .items = f->items, .max = VOLUMES + 1);
    compare_list(f);
    for (f->k = 0; f->k < VOLUMES; f->k++) {
        if (m.volume[f->k].id == 0)
            continue;
        coir_try(f, &f->find, coir_catalog_find, .catalog = &m.catalog, .name = m.volume[f->k].name,
                 .n = strlen(m.volume[f->k].name));
        if (f->find.result != m.volume[f->k].id)
            world_wrong(&m.w, "a name is another volume's");
        coir_try(f, &f->open, coir_catalog_open, .catalog = &m.catalog, .id = m.volume[f->k].id);
        m.volume[f->k].x = f->open.result;
        for (f->i = 0; f->i < BLOCKS; f->i += (unsigned)f->extents.result) {
            coir_try(f, &f->extents, coir_extents_find, .extents = m.volume[f->k].x, .lba = lba_of(f->i),
                     .count = count_at(f->i), .pieces = f->pieces, .max = 20, .crcs = f->crcs);
            if (!agree(&m.volume[f->k], f->i, f->extents.result, f->pieces, f->extents.n, f->crcs))
                world_wrong(&m.w, "what is opened anew is not what was there");
        }
    }
} coir_end

/* ---- what stands on the device ---- */

static void saw_node(void *arg, uint64_t tree, unsigned level, uint64_t address)
{
    (void)arg;
    (void)tree;
    (void)level;
    m.nodes++;
    if (m.w.block[address] != BLOCK_NODE)
        world_wrong(&m.w, "a node stands in a block that is not given out");
}

/* The extents say of each block what the arrays say, its era too. */
static void saw_extent(void *arg, uint64_t id, uint64_t lba, unsigned count, uint64_t address, uint64_t blocks)
{
    struct volume *v = m.volume;
    unsigned i = (unsigned)(lba < FAR ? lba : lba - FAR);

    (void)arg;
    m.extents++;
    while (v->id != id)
        v++;
    for (unsigned k = 0; k < count; k++) {
        if (v->address[i + k] != address + k * unit_of(v) || v->era[i + k] != v->era[i] || blocks != count * unit_of(v))
            world_wrong(&m.w, "an extent is not what the arrays say, or of two eras");
    }
}

/* ---- a round ---- */

struct round {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    struct coir_disk_root volumes, names;
    struct coir_walk_options o;
    struct coir_check_calls calls;
    struct coir_group work, rest;
    union {
        struct coir_group_wait wait;
        struct world_checkpoint checkpoint;
        struct coir_check_trees check;
        struct compare compare;
    };
};
static coir_declare(round);

static void spawn(struct coir_group *g, struct coir_task *t)
{
    if (coir_spawn(g, t))
        world_wrong(&m.w, "no task");
}

static void spawn_all(struct round *f)
{
    m.stop = false;
    for (unsigned i = 0; i < WRITERS; i++)
        spawn(&f->work, coir_new(writer, .n = i));
    for (unsigned i = 0; i < READERS; i++)
        spawn(&f->work, coir_new(reader, .n = i));
    spawn(&f->work, coir_new(keeper));
    spawn(&f->rest, coir_new(checkpoints));
}

static int reopen(struct round *f)
{
    for (int i = 0; i < VOLUMES; i++) {
        if (m.volume[i].x)
            coir_catalog_close(m.volume[i].x);
        m.volume[i].x = NULL;
    }
    if (m.catalog.n_open)
        world_wrong(&m.w, "a volume is open that nobody uses");
    coir_catalog_destroy(&m.catalog);
    world_reopen(&m.w, PAGES, DIRTY);
    return coir_catalog_init(&m.catalog, &m.w.cache, &f->volumes, &f->names, key);
}

coir_body(round, f) {
    coir_group_open(f, &f->work);
    coir_group_open(f, &f->rest);
    spawn_all(f);
    coir_try(f, &f->wait, coir_group_wait, .group = &f->work);
    m.stop = true;
    coir_try(f, &f->wait, coir_group_wait, .group = &f->rest);
    coir_try(f, &f->checkpoint, world_checkpoint, .w = &m.w, .catalog = &m.catalog);
    coir_catalog_roots(&m.catalog, &f->volumes, &f->names);
    f->o = (struct coir_walk_options){
        .files = m.w.file, .n_files = 1, .direct = true, .damaged = world_damaged, .arg = &m.w,
    };
    f->calls = (struct coir_check_calls){ .node = saw_node, .extent = saw_extent };
    m.nodes = m.extents = 0;
    coir_try(f, &f->check, coir_check_trees, .options = &f->o, .volumes = &f->volumes, .names = &f->names, .key = key,
             .calls = &f->calls);
    if (f->check.result || m.nodes != world_nodes(&m.w))
        world_wrong(&m.w, "what stands on the device is not what is given out");
    if (reopen(f))
        coir_fail(f, -EBADMSG);
    coir_try(f, &f->compare, compare);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->work);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->rest);
    }
} coir_end

struct model_run {
    coir_frame_void;
    coir_no_args;
    unsigned i;
    struct round round;
};
static coir_declare(model_run);

coir_body(model_run, f) {
    world_devices(&m.w);
    for (f->i = 0; f->i < ROUNDS && !m.w.wrong; f->i++)
        coir_try(f, &f->round, round);
} coir_end

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : sim_seed(1);
    const struct coir_disk_root none = { .address = 0 };

    NOTE("seed %llu", (unsigned long long)seed);
    setenv("COIR_TIME", "virtual", 1);
    world_open(&m.w, seed, PAGES, DIRTY);
    m.next_id = COIR_FIRST_VOLUME;
    m.next_address = 1 << 20;
    EQ(coir_catalog_init(&m.catalog, &m.w.cache, &none, &none, key), 0, "an empty catalog");
    EQ(coir_run(NULL, coir_new(model_run)), 0, "all rounds");
    STR_EQ(m.w.wrong, NULL, "nothing was wrong");
    EQ(m.w.damages, 0, "nothing is damaged");
    OK(m.failures > 10 && m.checkpoints > m.failures, "%u checkpoints, %u failed", m.checkpoints, m.failures);
    OK(m.maps > 1000 && m.unmaps > 300 && m.lookups > 500, "%u maps, %u unmaps, %u look-ups", m.maps, m.unmaps,
       m.lookups);
    OK(m.made > 10 && m.removed > 5, "%u volumes made, %u removed", m.made, m.removed);
    OK(m.stale > 10, "%u times a leaf had been split meanwhile, %u the credit was no longer enough", m.stale,
       m.short_of_credit);
    OK(m.waits > 0, "%u waits for credit; %llu pins did not reach to the end", m.waits,
       (unsigned long long)m.cut_short);
    for (int i = 0; i < VOLUMES; i++) {
        if (m.volume[i].x)
            coir_catalog_close(m.volume[i].x);
    }
    coir_catalog_destroy(&m.catalog);
    world_close(&m.w);
    return DONE();
}
