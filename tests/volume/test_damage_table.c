/* SPDX-License-Identifier: MIT */
/*
 * Each class of damage in each kind of block of a store that was in use, and what comes of it: the table "What damage
 * does" of docs/volumes.md, which has to say the same. On top of that: nothing is ever read that was not written there,
 * and whatever is not read is named.
 *
 * The store was closed twice, and then left with three groups in its journal: block LATE + i of the volume is in the
 * i-th, all others are in the index. Older versions, for writes that the medium lost, are those of the first closing.
 */
#include "crash.h"

enum { EXTENTS = 400, LATE = 1000, GROUPS = 3, LBA_MAX = LATE + GROUPS, STORE_BLOCKS = 40000, VARIANTS = 7 };

enum damage { FLIPPED, ZEROED, UNREADABLE, TORN, LOST, ELSEWHERE, DAMAGES };

enum kind {
    HEADER, HEADERS, PATH, SUPER, SUPERS, MAP_TOP, MAP_PAGE, GROUP, LAST_GROUP, LAST_GROUP_MARKED, MARK, CATALOG, NAMES,
    INNER, LEAF, DATA, LAST_DATA, LAST_DATA_MARKED, NOTHING, KINDS
};

static const char *const kinds[KINDS] = {
    "a header", "both headers", "a path", "a superblock", "both superblocks", "space map, top", "space map, a page",
    "a group of the journal", "the last group", "the last group, a mark behind it", "the mark", "index: catalog",
    "index: names", "index: an inner node", "index: a leaf", "data", "data of the last group",
    "the same, a mark behind it", "what nothing names",
};

/* ---- contents ---- */

static uint32_t expected[LBA_MAX], before[LBA_MAX];     /* versions; 0: a hole */

static void content(unsigned char *p, unsigned lba, uint32_t version)
{
    if (version)
        make_content(p, lba, version);
    else
        memset(p, 0, BLOCK);
}

/* ---- the store ---- */

static struct {
    struct sim *old, *marked, *unmarked;        /* at the first closing; at the end, with and without the last mark */
    uint64_t at[KINDS][2];                      /* blocks: of a kind, and another one of the same */
} s;

struct put {
    coir_frame_void;
    coir_args(struct coir_volume *v; unsigned lba; uint32_t version; unsigned flags;);
    struct iovec iov;
    unsigned char bytes[BLOCK];
    struct coir_volume_write write;
};
static coir_declare(put);

coir_body(put, f) {
    before[f->lba] = expected[f->lba];
    expected[f->lba] = f->version;
    make_content(f->bytes, f->lba, f->version);
    f->iov = (struct iovec){ f->bytes, BLOCK };
    coir_try(f, &f->write, coir_volume_write, .volume = f->v, .iov = &f->iov, .n = 1,
             .offset = (uint64_t)f->lba * BLOCK, .flags = f->flags);
} coir_end

/* Of an open store, which is clean: where its pages and nodes stand. */
static struct coir_disk_node *node_at(const struct sim *w, uint64_t address, struct coir_disk_node *to)
{
    sim_peek(w, 0, address * BLOCK, to, BLOCK);
    return to;
}

static void locate(const struct engine *e)
{
    const struct coir_disk_super *super = &e->files->super;
    const struct coir_map_file *map = &e->store->map.file[0];
    static struct coir_disk_node catalog, root, leaf;
    struct coir_disk_volume *v;

    s.at[HEADER][0] = s.at[HEADERS][0] = COIR_AT_HEADER;
    s.at[HEADER][1] = s.at[HEADERS][1] = COIR_AT_HEADER2;
    s.at[PATH][0] = s.at[PATH][1] = COIR_AT_PATHS;
    s.at[SUPER][0] = s.at[SUPERS][0] = COIR_AT_SUPER;
    s.at[SUPER][1] = s.at[SUPERS][1] = COIR_AT_SUPER2;
    s.at[MAP_TOP][0] = coir_map_block(&map->shape, 1, 0, map->pointer[1][0].slot_or_none - 1u);
    s.at[MAP_PAGE][0] = coir_map_block(&map->shape, 0, 0, map->pointer[0][0].slot_or_none - 1u);
    s.at[MAP_TOP][1] = s.at[MAP_PAGE][0];
    s.at[MAP_PAGE][1] = s.at[MAP_TOP][0];
    s.at[NOTHING][0] = s.at[MAP_PAGE][0] ^ 1;
    s.at[NOTHING][1] = s.at[MAP_TOP][0];
    s.at[CATALOG][0] = s.at[NAMES][1] = super->catalog.address;
    s.at[NAMES][0] = s.at[CATALOG][1] = super->names.address;
    v = coir_entry_value(coir_entry_at(node_at(e->w, super->catalog.address, &catalog), 0));
    s.at[INNER][0] = v->root.address;
    node_at(e->w, v->root.address, &root);
    OK(v->root.level == 1 && root.count > 2, "the volume's tree has %u leaves", root.count);
    s.at[INNER][1] = s.at[LEAF][0] = coir_children(&root)[1].address;
    s.at[LEAF][1] = coir_children(&root)[0].address;
    node_at(e->w, s.at[LEAF][1], &leaf);
    s.at[DATA][0] = ((struct coir_disk_extent *)coir_entry_value(coir_entry_at(&leaf, 0)))->address;
    s.at[DATA][1] = s.at[DATA][0] + 1;
}

/* The groups stand one behind the other, a block each; behind each there may be a mark. */
static void locate_groups(const struct sim *w, const struct coir_store_file *file)
{
    uint64_t at = file->layout.journal;
    static union {
        struct coir_disk_group head;
        unsigned char bytes[BLOCK];
    } block;
    unsigned groups = 0;

    for (unsigned i = 0; groups < GROUPS && i < 2 * GROUPS; i++, at++) {
        sim_peek(w, 0, at * BLOCK, &block, BLOCK);
        if (block.head.magic != COIR_MAGIC_GROUP || block.head.records == 0)
            continue;
        if (groups == 0)
            s.at[GROUP][0] = s.at[LAST_GROUP][1] = s.at[LAST_GROUP_MARKED][1] = at;
        s.at[GROUP][1] = s.at[LAST_GROUP][0] = s.at[LAST_GROUP_MARKED][0] = at;
        groups++;
    }
    EQ(groups, GROUPS, "the groups are there");
    s.at[MARK][0] = at;
    s.at[MARK][1] = s.at[GROUP][0];
    sim_peek(w, 0, s.at[LAST_GROUP][0] * BLOCK, &block, BLOCK);
    /* header, the record's head, volume, lba, count and number of extents, the first of them */
    memcpy(&s.at[LAST_DATA][0], block.bytes + 64 + 8 + 24, 8);
    s.at[LAST_DATA_MARKED][0] = s.at[LAST_DATA][0];
    s.at[LAST_DATA][1] = s.at[LAST_DATA_MARKED][1] = s.at[DATA][0];
}

struct make {
    coir_frame_void;
    coir_args(struct sim *w; struct engine *e;);
    struct coir_volume *v;
    size_t event;
    unsigned i;
    union {
        struct engine_make make;
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_create create;
        struct coir_volume_open volume;
        struct coir_volume_close leave;
        struct put put;
        struct coir_sleep sleep;
    };
};
static coir_declare(make);

coir_body(make, f) {
    coir_try(f, &f->make, engine_make, .e = f->e, .blocks = STORE_BLOCKS, .journal = 1 << 20);
    coir_try(f, &f->open, engine_open, .e = f->e);
    coir_try(f, &f->create, coir_volume_create, .store = f->e->store, .name = "v", .size = (uint64_t)LBA_MAX * BLOCK);
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    for (f->i = 0; f->i < EXTENTS; f->i++)
        coir_try(f, &f->put, put, .v = f->v, .lba = 2 * f->i, .version = 2);
    coir_try(f, &f->leave, coir_volume_close, .volume = f->v);
    coir_try(f, &f->close, engine_close, .e = f->e);
    s.old = sim_cut(f->w, sim_events(f->w), SIM_EVERYTHING, 1);

    coir_try(f, &f->open, engine_open, .e = f->e);
    coir_try(f, &f->create, coir_volume_create, .store = f->e->store, .name = "w", .size = BLOCK);
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    for (f->i = 1; f->i < EXTENTS; f->i++)
        coir_try(f, &f->put, put, .v = f->v, .lba = 2 * f->i, .version = 4);
    for (f->i = 0; f->i < GROUPS; f->i++)
        coir_try(f, &f->put, put, .v = f->v, .lba = LATE + f->i, .version = 4);
    coir_try(f, &f->leave, coir_volume_close, .volume = f->v);
    coir_try(f, &f->close, engine_close, .e = f->e);

    coir_try(f, &f->open, engine_open, .e = f->e);
    locate(f->e);
    coir_get(f, f->v, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    for (f->i = 0; f->i < GROUPS; f->i++)
        coir_try(f, &f->put, put, .v = f->v, .lba = LATE + f->i, .version = 6, .flags = COIR_VOLUME_DURABLE);
    s.unmarked = sim_cut(f->w, sim_events(f->w), SIM_NOTHING, 1);
    coir_try(f, &f->sleep, coir_sleep, .ns = COIR_S);
    s.marked = sim_cut(f->w, sim_events(f->w), SIM_EVERYTHING, 1);
    locate_groups(s.marked, &f->e->files->file[0]);
    coir_try(f, &f->leave, coir_volume_close, .volume = f->v);
    coir_try(f, &f->close, engine_close, .e = f->e);
} coir_end

/* ---- damage ---- */

static bool is_both(enum kind kind)
{
    return kind == HEADERS || kind == SUPERS;
}

static struct sim *copy_of(enum kind kind)
{
    const bool unmarked = kind == LAST_GROUP || kind == LAST_DATA;

    return sim_cut(unmarked ? s.unmarked : s.marked, 0, SIM_EVERYTHING, 1);
}

/* Block `at` becomes what it was at the first closing, from sector `first` on. False: that is what it is. */
static bool age(struct sim *w, uint64_t at, unsigned first)
{
    static unsigned char old[BLOCK], now[BLOCK];

    sim_peek(s.old, 0, at * BLOCK, old, BLOCK);
    sim_peek(w, 0, at * BLOCK, now, BLOCK);
    if (memcmp(old + first * SIM_SECTOR, now + first * SIM_SECTOR, BLOCK - first * SIM_SECTOR) == 0)
        return false;
    sim_poke(w, 0, at * BLOCK + first * SIM_SECTOR, old + first * SIM_SECTOR, BLOCK - first * SIM_SECTOR);
    return true;
}

/* False: there is no such damage. */
static bool harm_block(struct sim *w, uint64_t at, enum damage damage, unsigned how, const unsigned char *other)
{
    static const unsigned bits[VARIANTS] = { 3, 35, 67, 135, 330, 2000 * 8, 4095 * 8 + 7 };
    static const unsigned char zeros[BLOCK];
    static unsigned char now[BLOCK];

    switch (damage) {
    case FLIPPED: sim_flip(w, 0, at * BLOCK + bits[how] / 8, bits[how] % 8); return true;
    case ZEROED:
        sim_peek(w, 0, at * BLOCK, now, BLOCK);
        sim_poke(w, 0, at * BLOCK, zeros, BLOCK);
        return memcmp(now, zeros, BLOCK) != 0;
    case UNREADABLE: sim_unreadable(w, 0, at * BLOCK, BLOCK); return true;
    case TORN: return age(w, at, 1 + how);
    case LOST: return age(w, at, 0);
    default: sim_poke(w, 0, at * BLOCK, other, BLOCK); return true;
    }
}

static bool harm(struct sim *w, enum kind kind, enum damage damage, unsigned how)
{
    static unsigned char block[2][BLOCK];
    const uint64_t *at = s.at[kind];

    if (is_both(kind) && (damage == LOST || damage == TORN))
        return false;                   /* two faults at once, each of a correct block */
    for (unsigned i = 0; i < 2; i++)
        sim_peek(w, 0, at[i] * BLOCK, block[i], BLOCK);
    if (kind == PATH)                   /* the only one */
        sim_peek(w, 0, COIR_AT_HEADER, block[1], BLOCK);
    if (!harm_block(w, at[0], damage, how, block[1]))
        return false;
    if (is_both(kind) && damage == UNREADABLE)
        sim_unreadable(w, 0, at[0] * BLOCK, (at[1] - at[0] + 1) * BLOCK);
    else if (is_both(kind))
        harm_block(w, at[1], damage, how, block[0]);
    return true;
}

/* ---- what comes of it ---- */

struct result {
    int opened, volume;
    bool read_only;
    unsigned whole, older, refused, wrong;
};

struct try {
    coir_frame_void;
    coir_args(struct engine *e; struct result *r;);
    struct coir_volume *v;
    unsigned i;
    struct iovec iov;
    unsigned char bytes[BLOCK];
    union {
        struct engine_open open;
        struct engine_close close;
        struct coir_volume_open volume;
        struct coir_volume_read read;
        struct coir_volume_close leave;
    };
};
static coir_declare(try);

static void compare(struct try *f, int status)
{
    static unsigned char want[BLOCK];

    if (status == -EBADMSG || status == -EIO) {
        f->r->refused++;
        return;
    }
    content(want, f->i, expected[f->i]);
    if (status == 0 && memcmp(f->bytes, want, BLOCK) == 0) {
        f->r->whole++;
        return;
    }
    content(want, f->i, before[f->i]);
    if (status == 0 && f->i >= LATE && memcmp(f->bytes, want, BLOCK) == 0)
        f->r->older++;
    else
        f->r->wrong++;
}

coir_body(try, f) {
    f->v = NULL;
    coir_await(f, &f->open, engine_open, .e = f->e);
    f->r->opened = coir_status(&f->open);
    coir_check(f, &f->open);
    coir_await(f, &f->volume, coir_volume_open, .store = f->e->store, .name = "v");
    f->r->volume = coir_status(&f->volume);
    f->v = f->volume.result;
    for (f->i = 0; f->v && f->i < LBA_MAX; f->i++) {
        f->iov = (struct iovec){ f->bytes, BLOCK };
        coir_await(f, &f->read, coir_volume_read, .volume = f->v, .iov = &f->iov, .n = 1,
                   .offset = (uint64_t)f->i * BLOCK);
        compare(f, coir_status(&f->read));
    }
    f->r->read_only = coir_store_why(f->e->store) != NULL;
    coir_finally(f) {
        if (f->v)
            coir_await(f, &f->leave, coir_volume_close, .volume = f->v);
        if (f->e->store)
            coir_await(f, &f->close, engine_close, .e = f->e);
    }
} coir_end

/* Whether somebody who reads `text` learns of the block, by its number or its first byte in the file. */
static bool names(const char *text, uint64_t block)
{
    char number[2][32];

    snprintf(number[0], sizeof number[0], "block %llu", (unsigned long long)block);
    snprintf(number[1], sizeof number[1], "byte %llu of", (unsigned long long)block * BLOCK);
    return strstr(text, number[0]) || strstr(text, number[1]);
}

static bool is_mended(const struct sim *w, enum kind kind)
{
    static unsigned char now[BLOCK], was[BLOCK];

    sim_peek(w, 0, s.at[kind][0] * BLOCK, now, BLOCK);
    sim_peek(s.marked, 0, s.at[kind][0] * BLOCK, was, BLOCK);
    return memcmp(now, was, BLOCK) == 0;
}

static const char *outcome(enum kind kind, const struct sim *w, const struct engine *e, const struct result *r)
{
    if (r->wrong)
        return "WRONG";
    if (r->opened)
        return names(e->complaint.text, s.at[kind][0]) ? "not opened" : "not opened, UNNAMED";
    if (r->volume)
        return names(e->log, s.at[kind][0]) ? "no volume" : "no volume, UNNAMED";
    if (r->read_only && r->older)
        return strstr(e->log, "journal is damaged at its byte") ? "read-only, lost" : "read-only, lost, UNNAMED";
    if (r->refused)
        return !names(e->log, s.at[kind][0]) ? "refused, UNNAMED" : r->read_only ? "read-only, refused" : "refused";
    if (r->older)
        return strstr(e->log, "last group") || !strstr(e->log, "; 0 writes") ? "lost" : "lost, unsaid";
    if (r->read_only)
        return "read-only";
    return (kind == HEADER || kind == PATH) && is_mended(w, kind) ? "whole, mended" : "whole";
}

static const char *try_it(enum kind kind, enum damage damage, unsigned how)
{
    struct sim *const w = copy_of(kind);
    struct engine *const e = engine_new(w, 1);
    struct result r = { 0 };
    const char *what = "-";

    e->path = "/srv/disk.coir";
    if (harm(w, kind, damage, how)) {
        coir_run(NULL, coir_new(try, .e = e, .r = &r));
        what = outcome(kind, w, e, &r);
        if (strstr(what, "WRONG") || strstr(what, "UNNAMED"))
            NOTE("%s, damage %u, %u: %s; %u wrong; %s", kinds[kind], damage, how, e->complaint.text, r.wrong, e->log);
    }
    free(e);
    sim_free(w);
    return what;
}

/* All that the variants of it do. */
static void cell(enum kind kind, enum damage damage, char *to, size_t size)
{
    const unsigned variants = damage == FLIPPED || damage == TORN ? VARIANTS : 1;
    const char *seen[VARIANTS];
    unsigned n = 0, k;

    snprintf(to, size, "-");
    for (unsigned how = 0; how < variants; how++) {
        const char *const what = try_it(kind, damage, how);

        for (k = 0; k < n && strcmp(seen[k], what) != 0; k++)
            ;
        if (what[0] == '-' || k < n)
            continue;
        seen[n++] = what;
        snprintf(n == 1 ? to : to + strlen(to), size - (n == 1 ? 0 : strlen(to)), "%s%s", n == 1 ? "" : ", or ", what);
    }
}

/* ---- the document ---- */

static char *document(void)
{
    const char *const source = getenv("COIR_SOURCE");
    char path[4096], *text = calloc(1, 1 << 20);
    FILE *in;

    snprintf(path, sizeof path, "%s/docs/volumes.md", source ? source : ".");
    in = fopen(path, "r");
    if (!in || fread(text, 1, (1 << 20) - 1, in) == 0)
        NOTE("cannot read %s", path);
    if (in)
        fclose(in);
    return text;
}

int main(void)
{
    struct engine *e;
    struct sim *const w = sim_new(sim_seed(1), 1000);
    char *const text = document();

    setenv("COIR_TIME", "virtual", 1);
    sim_add(w, 0, BLOCK);
    e = engine_new(w, 1);
    e->path = "/srv/disk.coir";
    EQ(coir_run(NULL, coir_new(make, .w = w, .e = e)), 0, "a store that was in use: %s", e->complaint.text);
    for (enum kind kind = HEADER; kind < KINDS; kind++) {
        char row[1000];
        int n = snprintf(row, sizeof row, "| %s |", kinds[kind]);

        for (enum damage damage = FLIPPED; damage < DAMAGES; damage++) {
            char what[200];
            cell(kind, damage, what, sizeof what);
            n += snprintf(row + n, sizeof row - (size_t)n, " %s |", what);
        }
        OK(strstr(text, row) != NULL, "docs/volumes.md says so: %s", row);
        OK(!strstr(row, "WRONG") && !strstr(row, "UNNAMED"), "%s: nothing wrong is read, what is not read is named",
           kinds[kind]);
    }
    free(text);
    free(e);
    sim_free(s.old);
    sim_free(s.marked);
    sim_free(s.unmarked);
    sim_free(w);
    return DONE();
}
