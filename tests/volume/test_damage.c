/* SPDX-License-Identifier: MIT */
/*
 * Each class of damage by itself, in each kind of block that begins a store: a flipped bit, a block of zeros, one that
 * cannot be read, one torn at each sector, one whose last write was lost, one where another block's write has landed.
 * Of headers and superblocks the other copy is used, and what can be mended is; of both copies, and of the pages of the
 * space map at each level, the error names file and block. What nothing names may be damaged as it likes.
 */
#include "store.h"

enum { CHECKPOINTS = 5, COVER = COIR_MAP_BITS, MOST = 12 };
enum damage { FLIPPED, ZEROED, UNREADABLE, TORN, LOST, ELSEWHERE, DAMAGES };
static const char *const damages[] = { "a bit flipped", "zeros", "not to be read", "torn", "the last write lost",
                                       "another block's write" };

/* 100 GiB, so that the map has three levels. */
static const uint64_t large[] = { 26214400 };
static const struct coir_init_options short_journal = { .journal = 4 << 20 };

static struct history {
    struct store s;
    struct sim *old;                    /* the store two checkpoints before its end: slots have their older version */
    size_t old_event;
    unsigned n;                         /* pages of the map that count */
    struct { unsigned level; uint64_t page, block; } page[MOST];
} h;

/* ---- a store with a history ---- */

struct make {
    coir_frame_void;
    coir_no_args;
    uint64_t lsn;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
    struct coir_grow_file grow;
};
static coir_declare(make);

/* A block in each of three pages, another one each time. */
static void stir(uint64_t lsn)
{
    static const uint64_t pages[] = { 2, 503, 700 };

    for (unsigned i = 0; i < 3; i++) {
        EQ(coir_space_claim(h.s.space, pages[i] * COVER + lsn, 1), 0, "a block");
        coir_space_use(h.s.space, pages[i] * COVER + lsn, 1);
    }
}

static void list_pages(void)
{
    const struct coir_map_file *const file = &h.s.map.file[0];

    h.n = 0;
    for (unsigned level = 0; level < file->shape.levels; level++)
        for (uint64_t page = 0; page < file->shape.pages[level]; page++) {
            const unsigned slot = file->pointer[level][page].slot_or_none;

            if (slot && h.n < MOST) {
                h.page[h.n].level = level;
                h.page[h.n].page = page;
                h.page[h.n++].block = coir_map_block(&file->shape, level, page, slot - 1);
            }
        }
}

coir_body(make, f) {
    coir_try(f, &f->make, store_make, .s = &h.s, .n = 1, .blocks = large, .options = &short_journal);
    h.s.grower.step = large[0];
    coir_try(f, &f->grow, coir_grow_file, .grower = &h.s.grower, .file = 0);
    for (f->lsn = 1; f->lsn <= CHECKPOINTS; f->lsn++) {
        stir(f->lsn);
        coir_try(f, &f->checkpoint, store_checkpoint, .s = &h.s, .lsn = f->lsn);
        if (f->lsn == CHECKPOINTS - 2)
            h.old_event = sim_events(h.s.w);
    }
    list_pages();
    coir_await(f, &f->close, store_close, .s = &h.s, .n = 1);
} coir_end

/* ---- damage ---- */

/* Of a copy of the store, at one block; `how` varies it. `from` is another block of its kind. */
static void harm(struct sim *w, uint64_t block, enum damage damage, unsigned how, uint64_t from)
{
    static const unsigned bits[] = { 3, 35, 67, 135, 330, 2000 * 8, 4095 * 8 + 7 };
    static unsigned char old[4096], zeros[4096];
    const uint64_t at = block * 4096;

    sim_peek(h.old, 0, at, old, sizeof old);
    switch (damage) {
    case FLIPPED: sim_flip(w, 0, at + bits[how % 7] / 8, bits[how % 7] % 8); break;
    case ZEROED: sim_poke(w, 0, at, zeros, sizeof zeros); break;
    case UNREADABLE: sim_unreadable(w, 0, at, 4096); break;
    case TORN: sim_poke(w, 0, at + 512 * (1 + how % 7), old + 512 * (1 + how % 7), 4096 - 512 * (1 + how % 7)); break;
    case LOST: sim_poke(w, 0, at, old, sizeof old); break;
    default: sim_copy(w, 0, at, from * 4096, 4096);
    }
}

static bool same(const struct sim *w, uint64_t block, bool but_head)
{
    static unsigned char a[4096], b[4096];

    sim_peek(w, 0, block * 4096, a, sizeof a);
    sim_peek(h.s.w, 0, block * 4096, b, sizeof b);
    return memcmp(a + (but_head ? 24 : 0), b + (but_head ? 24 : 0), 4096 - (but_head ? 24 : 0)) == 0;
}

/* Opens a copy, lets it be mended, closes it. */
struct try {
    coir_frame_void;
    coir_args(struct sim *w;);
    struct store s;
    int status;
    uint64_t generation[2], lsn, stale;
    bool bad[2];
    struct store_open open;
    struct coir_files_mend mend;
    struct store_close close;
};
static coir_declare(try);
static struct try last;

coir_body(try, f) {
    memset(&f->s, 0, sizeof f->s);
    f->s.w = f->w;
    f->s.path = h.s.path;
    coir_await(f, &f->open, store_open, .s = &f->s, .n = 1);
    f->status = coir_status(&f->open);
    if (f->status == 0) {
        memcpy(f->generation, f->s.files->generation, sizeof f->generation);
        memcpy(f->bad, f->s.files->file[0].bad_header, sizeof f->bad);
        f->stale = f->s.files->file[0].stale_paths;
        f->lsn = f->s.files->super.lsn;
        coir_await(f, &f->mend, coir_files_mend, .files = f->s.files, .complaint = &f->s.complaint);
        EQ(coir_status(&f->mend), 0, "it is mended");
    }
    coir_await(f, &f->close, store_close, .s = &f->s, .n = 1);
    last = *f;
} coir_end

static struct sim *copy(void)
{
    return sim_cut(h.s.w, sim_events(h.s.w), SIM_EVERYTHING, 1);
}

static int open_copy(struct sim *w)
{
    EQ(coir_run(NULL, coir_new(try, .w = w)), 0, "tried");
    return last.status;
}

static unsigned variants(enum damage damage)
{
    return damage == FLIPPED || damage == TORN ? 7 : 1;
}

/* ---- headers and paths ---- */

static void headers(enum damage damage)
{
    static const uint64_t at[] = { COIR_AT_HEADER, COIR_AT_HEADER2 };

    if (damage == LOST || damage == TORN)       /* they are written once */
        return;
    for (unsigned how = 0; how < variants(damage) * 2; how++) {
        struct sim *const w = copy();

        harm(w, at[how & 1], damage, how / 2, at[1 - (how & 1)]);
        EQ(open_copy(w), 0, "a header, %s: the other one is used", damages[damage]);
        OK(last.bad[how & 1] && !last.bad[1 - (how & 1)], "it is known which");
        OK(damage == UNREADABLE || same(w, at[how & 1], false), "and mended");
        sim_free(w);
    }
    struct sim *const w = copy();
    harm(w, at[0], damage, 0, at[1]);
    if (damage != UNREADABLE)
        harm(w, at[1], damage, 1, at[0] + 2);
    else
        harm(w, at[1], ZEROED, 1, 0);
    EQ(open_copy(w), -EBADMSG, "both headers, %s", damages[damage]);
    OK(strstr(last.s.complaint.text, "sim0") && strstr(last.s.complaint.text, "at block 0 ")
       && strstr(last.s.complaint.text, "at block 128 "), "both are named: %s", last.s.complaint.text);
    sim_free(w);
}

static void paths(enum damage damage)
{
    if (damage == LOST || damage == TORN)
        return;
    struct sim *const w = copy();
    harm(w, COIR_AT_PATHS, damage, 4, COIR_AT_HEADER);
    EQ(open_copy(w), 0, "a path, %s: it is a hint", damages[damage]);
    EQ(last.stale, 1, "it is known to be wrong");
    OK(damage == UNREADABLE || same(w, COIR_AT_PATHS, false), "and mended");
    sim_free(w);
}

/* ---- superblocks ---- */

static void superblocks(enum damage damage)
{
    static const uint64_t at[] = { COIR_AT_SUPER, COIR_AT_SUPER2 };

    for (unsigned how = 0; how < variants(damage) * 2; how++) {
        const unsigned i = how & 1;
        struct sim *const w = copy();

        harm(w, at[i], damage, how / 2, at[1 - i]);
        /* Behind a tear all may be the same in both generations: then it is none. */
        const bool whole = damage == TORN && same(w, at[i], false);
        EQ(open_copy(w), 0, "a superblock, %s: the other one counts", damages[damage]);
        EQ(last.lsn, CHECKPOINTS, "and is the newest");
        EQ(last.generation[1 - i], CHECKPOINTS + 1, "of this generation");
        const unsigned want = damage == LOST ? CHECKPOINTS - 1 : whole ? CHECKPOINTS + 1 : 0;
        EQ(last.generation[i], want, "it is known which");
        sim_free(w);
    }
    if (damage == LOST || damage == TORN)
        return;
    struct sim *const w = copy();
    harm(w, at[0], damage, 0, 0);
    if (damage != UNREADABLE)
        harm(w, at[1], damage, 1, 0);
    else
        harm(w, at[1], ZEROED, 1, 0);
    EQ(open_copy(w), -EBADMSG, "both superblocks, %s", damages[damage]);
    OK(strstr(last.s.complaint.text, "sim0: both superblocks are damaged: the one at block 1 ")
       && strstr(last.s.complaint.text, "the one at block 129 "), "both are named: %s", last.s.complaint.text);
    sim_free(w);
}

/* ---- the space map ---- */

static void pages(enum damage damage)
{
    char words[100];

    for (unsigned i = 0; i < h.n; i++)
        for (unsigned how = 0; how < variants(damage); how++) {
            struct sim *const w = copy();

            harm(w, h.page[i].block, damage, how, h.page[(i + 1) % h.n].block);
            if (damage == TORN && same(w, h.page[i].block, false)) {
                sim_free(w);                    /* nothing changed in these sectors */
                continue;
            }
            EQ(open_copy(w), damage == UNREADABLE ? -EIO : -EBADMSG, "page %d of level %u, %s", (int)h.page[i].page,
               h.page[i].level, damages[damage]);
            if (damage == UNREADABLE)
                snprintf(words, sizeof words, "sim0: cannot read the space map, 4096 bytes at block %d",
                         (int)h.page[i].block);
            else
                snprintf(words, sizeof words, "sim0: the space map is damaged: page %d of level %d, at block %d",
                         (int)h.page[i].page, (int)h.page[i].level, (int)h.page[i].block);
            OK(strstr(last.s.complaint.text, words), "it is named: %s", last.s.complaint.text);
            sim_free(w);
        }
}

/* The other slot of each pair, which is of no checkpoint that counts. */
static void other_slots(enum damage damage)
{
    struct sim *const w = copy();

    for (unsigned i = 0; i < h.n; i++)
        if (damage != UNREADABLE || i == 0)
            harm(w, h.page[i].block ^ 1, damage, i, h.page[(i + 1) % h.n].block);
    EQ(open_copy(w), 0, "what nothing names, %s: %s", damages[damage], last.s.complaint.text);
    EQ(last.lsn, CHECKPOINTS, "it is the newest");
    sim_free(w);
}

/* A superblock with a good sum, over a map of which not all is there. */
static void sums(void)
{
    static struct coir_disk_super s;
    static const uint64_t at[] = { COIR_AT_SUPER, COIR_AT_SUPER2 };
    struct sim *const w = copy();

    for (unsigned i = 0; i < 2; i++) {
        sim_peek(w, 0, at[i] * 4096, &s, sizeof s);
        s.live++;
        coir_block_seal(&s, COIR_MAGIC_SUPER, at[i], s.head.generation);
        sim_poke(w, 0, at[i] * 4096, &s, sizeof s);
    }
    EQ(open_copy(w), -EBADMSG, "the superblock says another number of blocks");
    OK(strstr(last.s.complaint.text, "15 blocks in use, and the superblock says 16"), "%s", last.s.complaint.text);
    sim_peek(w, 0, at[0] * 4096, &s, sizeof s);
    s.volumes++;
    coir_block_seal(&s, COIR_MAGIC_SUPER, at[0], s.head.generation);
    sim_poke(w, 0, at[0] * 4096, &s, sizeof s);
    EQ(open_copy(w), -EBADMSG, "the superblocks are not the same");
    OK(strstr(last.s.complaint.text, "differ, and are of the same generation, 6"), "%s", last.s.complaint.text);
    sim_free(w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    h.s.w = sim_new(sim_seed(1), 1000);
    sim_add(h.s.w, 0, 4096);
    h.s.path = "/srv/disk.coir";
    EQ(coir_run(NULL, coir_new(make)), 0, "a store with a history");
    h.old = sim_cut(h.s.w, h.old_event, SIM_EVERYTHING, 1);
    EQ(h.n, 3 + 2 + 1, "its map has six pages");
    for (enum damage damage = FLIPPED; damage < DAMAGES; damage++) {
        headers(damage);
        paths(damage);
        superblocks(damage);
        pages(damage);
        other_slots(damage);
    }
    sums();
    sim_free(h.old);
    sim_free(h.s.w);
    return DONE();
}
