/* SPDX-License-Identifier: MIT */
/*
 * Extents one change at a time: what is joined and what is not, what each way of overlapping leaves and lets go, both
 * ends of the largest volume, volume blocks of 64 KiB, look-ups that are cut short. Each case says the extents that
 * must stand in the tree afterwards.
 */
#include "index_world.h"

static struct index_world w;
static struct coir_extents x;

/* ---- what is there, and what was let go, as text: "lba+count@address" ---- */

static char is[4096];
static char gone[4096];

static void append(char *to, const char *fmt, uint64_t a, uint64_t b, uint64_t c)
{
    const size_t n = strlen(to);

    snprintf(to + n, sizeof is - n, fmt, n ? " " : "", (unsigned long long)a, (unsigned long long)b,
             (unsigned long long)c);
}

static void let_go(void *arg, uint64_t address, uint64_t blocks)
{
    (void)arg;
    append(gone, "%s%llu+%llu", address, blocks, 0);
}

static const struct coir_superseded superseded = { let_go, NULL };

/* The sum that a volume block at an address has in these tests. */
static uint32_t sum_of(uint64_t address)
{
    return (uint32_t)(address * 2654435761u + 1);
}

static void extents(void)
{
    struct coir_cursor c;
    uint64_t missing;

    is[0] = 0;
    for (int err = coir_btree_find(&x.tree, 0, COIR_FIND_AT_LEAST, &c, &missing); err > 0;
            err = coir_cursor_next(&c, &missing)) {
        unsigned length;
        const struct coir_disk_extent *e = coir_cursor_value(&c, &length);

        append(is, "%s%llu+%llu@%llu", coir_cursor_key(&c), e->count, e->address);
        for (unsigned i = 0; i < e->count; i++) {
            if (e->crc[i] != sum_of(e->address + i * coir_extents_unit(&x)))
                append(is, "%sbad sum of %llu", coir_cursor_key(&c) + i, 0, 0);
        }
    }
}

/* ---- a change ---- */

struct step {
    bool unmap;
    uint64_t lba, count, address;       /* of one run; map only */
    uint32_t era;
};

struct play {
    coir_frame_void;
    coir_args(const struct step *steps; unsigned n;);
    unsigned i;
    struct coir_run run;
    struct coir_blocks blocks;
    uint32_t crcs[1024];
    union {
        struct coir_extents_put put;
        struct coir_extents_clear clear;
    };
};
static coir_declare(play);

static void prepare(struct play *f)
{
    const struct step *s = &f->steps[f->i];
    const unsigned unit = coir_extents_unit(&x);

    gone[0] = 0;
    x.tree.era = s->era;
    f->run = (struct coir_run){ s->address, s->count * unit };
    f->blocks = (struct coir_blocks){ &f->run, 1, 0, f->crcs };
    for (uint64_t i = 0; !s->unmap && i < s->count; i++)
        f->crcs[i] = sum_of(s->address + i * unit);
}

coir_body(play, f) {
    world_devices(&w);
    for (f->i = 0; f->i < f->n; f->i++) {
        prepare(f);
        if (f->steps[f->i].unmap) {
            coir_try(f, &f->clear, coir_extents_clear, .extents = &x, .lba = f->steps[f->i].lba,
                     .count = f->steps[f->i].count, .most = 100, .superseded = &superseded);
        } else {
            coir_try(f, &f->put, coir_extents_put, .extents = &x, .lba = f->steps[f->i].lba,
                     .count = f->steps[f->i].count, .blocks = &f->blocks, .superseded = &superseded);
        }
    }
    extents();
} coir_end

#define PLAY(shift, want, want_gone, name, ...) do { \
    const struct step steps_[] = { __VA_ARGS__ }; \
    play_all(shift, steps_, sizeof steps_ / sizeof steps_[0], want, want_gone, name); \
    } while (0)
#define MAP(lba, count, address) { false, lba, count, address, 0 }
#define MAP_ERA(lba, count, address, era) { false, lba, count, address, era }
#define UNMAP(lba, count) { true, lba, count, 0, 0 }

/* Afterwards the extents are `want`, and the last step let `want_gone` go. The tree is left for who looks at it. */
static void play_on(unsigned shift, const struct step *steps, unsigned n)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 4000);
    x = (struct coir_extents){ .mapped = 0 };
    EQ(coir_tree_init(&x.tree, &w.cache, &coir_kind_extents, COIR_FIRST_VOLUME, &none), 0, "a tree");
    x.tree.shift = shift;
    EQ(coir_run(NULL, coir_new(play, .steps = steps, .n = n)), 0, "its changes");
}

static void play_all(unsigned shift, const struct step *steps, unsigned n, const char *want, const char *want_gone,
                     const char *name)
{
    uint64_t mapped = 0;
    const char *at = want;

    play_on(shift, steps, n);
    STR_EQ(is, want, "%s: the extents", name);
    STR_EQ(gone, want_gone, "%s: what the last change let go", name);
    while ((at = strchr(at, '+')) != NULL)
        mapped += strtoull(++at, NULL, 10);
    EQ(x.mapped, mapped, "%s: how many are mapped", name);
    STR_EQ(coir_tree_audit(&x.tree), NULL, "%s: sound", name);
    world_close(&w);
}

/* ---- joining ---- */

static void test_joining(void)
{
    PLAY(12, "0+2@100", "", "behind", MAP(0, 1, 100), MAP(1, 1, 101));
    PLAY(12, "0+2@100", "", "before", MAP(1, 1, 101), MAP(0, 1, 100));
    PLAY(12, "0+3@100", "", "between", MAP(0, 1, 100), MAP(2, 1, 102), MAP(1, 1, 101));
    PLAY(12, "0+1@100 1+1@102", "", "not the next address", MAP(0, 1, 100), MAP(1, 1, 102));
    PLAY(12, "0+1@100 2+1@101", "", "not the next lba", MAP(0, 1, 100), MAP(2, 1, 101));
    PLAY(12, "0+1@100 1+1@101", "", "another era before", MAP_ERA(0, 1, 100, 1), MAP_ERA(1, 1, 101, 2));
    PLAY(12, "0+1@100 1+1@101", "", "another era behind", MAP_ERA(1, 1, 101, 1), MAP_ERA(0, 1, 100, 2));
    PLAY(12, "0+2@100 2+1@102", "", "of the same era one of two", MAP_ERA(0, 1, 100, 1), MAP_ERA(2, 1, 102, 2),
         MAP_ERA(1, 1, 101, 1));
    PLAY(12, "0+256@100", "", "256 are one", MAP(0, 128, 100), MAP(128, 128, 228));
    PLAY(12, "0+129@100 129+128@229", "", "257 are two", MAP(0, 129, 100), MAP(129, 128, 229));
    PLAY(12, "0+256@100 256+256@356 512+88@612", "", "a long run", MAP(0, 600, 100));
    PLAY(12, "0+256@100 256+56@356", "", "no more than 256: with the one before", MAP(0, 200, 100), MAP(256, 56, 356),
         MAP(200, 56, 300));
    PLAY(12, "0+201@100 201+255@301", "", "no more than 256: with the one behind", MAP(0, 201, 100),
         MAP(257, 199, 357), MAP(201, 56, 301));
    PLAY(16, "0+2@160", "", "16 blocks a volume block", MAP(0, 1, 160), MAP(1, 1, 176));
    PLAY(16, "0+1@160 1+1@192", "", "16 blocks further", MAP(0, 1, 160), MAP(1, 1, 192));
}

/* ---- overlapping ---- */

static void test_overlaps(void)
{
    PLAY(12, "10+10@500", "100+10", "the same", MAP(10, 10, 100), MAP(10, 10, 500));
    PLAY(12, "8+14@500", "100+10", "more", MAP(10, 10, 100), MAP(8, 14, 500));
    PLAY(12, "10+4@500 14+6@104", "100+4", "the head", MAP(10, 10, 100), MAP(10, 4, 500));
    PLAY(12, "10+6@100 16+4@500", "106+4", "the tail", MAP(10, 10, 100), MAP(16, 4, 500));
    PLAY(12, "10+3@100 13+4@500 17+3@107", "103+4", "the middle", MAP(10, 10, 100), MAP(13, 4, 500));
    PLAY(12, "10+5@100 15+10@500 25+5@205", "105+5 200+5", "of two", MAP(10, 10, 100), MAP(20, 10, 200),
         MAP(15, 10, 500));
    PLAY(12, "0+9@100 9+7@500 17+3@403", "109+1 200+2 300+2 400+2",
         "of four, with a gap", MAP(0, 10, 100), MAP(10, 2, 200), MAP(12, 2, 300), MAP(14, 6, 400), UNMAP(16, 1),
         MAP(9, 7, 500));
    PLAY(12, "10+10@100", "103+4", "what was there, again", MAP(10, 10, 100), MAP(13, 4, 103));
    PLAY(16, "0+2@160 2+1@800 3+5@208", "192+16", "the middle, in large blocks", MAP(0, 8, 160), MAP(2, 1, 800));
}

static void test_unmapping(void)
{
    PLAY(12, "", "100+10", "all", MAP(10, 10, 100), UNMAP(0, 100));
    PLAY(12, "10+10@100", "", "nothing: before", MAP(10, 10, 100), UNMAP(0, 10));
    PLAY(12, "10+10@100", "", "nothing: behind", MAP(10, 10, 100), UNMAP(20, 10));
    PLAY(12, "", "", "nothing at all", UNMAP(0, UINT64_MAX));
    PLAY(12, "11+9@101", "100+1", "the head", MAP(10, 10, 100), UNMAP(9, 2));
    PLAY(12, "10+9@100", "109+1", "the tail", MAP(10, 10, 100), UNMAP(19, 2));
    PLAY(12, "10+4@100 15+5@105", "104+1", "the middle", MAP(10, 10, 100), UNMAP(14, 1));
    PLAY(12, "0+1@100 29+1@309", "101+9 200+10 300+9", "of three", MAP(0, 10, 100), MAP(10, 10, 200), MAP(20, 10, 300),
         UNMAP(1, 28));
}

/* ---- the ends ---- */

static void test_ends(void)
{
    const uint64_t last = ((uint64_t)1 << 51) - 2;      /* of 8 EiB less a block */

    PLAY(12, "2251799813685246+1@100", "", "the last block of the largest volume", MAP(last, 1, 100));
    PLAY(12, "18446744073709551615+1@100", "", "the last key", MAP(UINT64_MAX, 1, 100));
    PLAY(12, "18446744073709551614+2@100", "", "the last two", MAP(UINT64_MAX, 1, 101), MAP(UINT64_MAX - 1, 1, 100));
    PLAY(12, "", "101+1", "and gone", MAP(UINT64_MAX - 1, 2, 100), UNMAP(0, UINT64_MAX), UNMAP(UINT64_MAX - 1, 2));
    PLAY(12, "18446744073709551615+1@101", "100+1", "and one of them", MAP(UINT64_MAX - 1, 2, 100),
         UNMAP(0, UINT64_MAX));
}

/* ---- looking up ---- */

static void test_lookup(void)
{
    static const struct step steps[] = { MAP(10, 10, 100), MAP(20, 10, 110), MAP_ERA(30, 10, 120, 1), MAP(50, 5, 400) };
    struct coir_mapped pieces[8];
    uint32_t crcs[100];
    uint64_t covered, at;

    play_on(12, steps, 4);
    EQ(coir_extents_lookup(&x, 0, 100, pieces, 8, crcs, &covered), 5, "pieces, joined over extents and eras");
    EQ(covered, 100, "all of it");
    OK(pieces[0].address == 0 && pieces[0].count == 10, "a hole");
    OK(pieces[1].address == 100 && pieces[1].count == 30, "mapped");
    OK(pieces[2].address == 0 && pieces[2].count == 10, "a hole");
    OK(pieces[3].address == 400 && pieces[3].count == 5, "mapped");
    OK(pieces[4].address == 0 && pieces[4].count == 45, "a hole up to the end");
    OK(crcs[9] == 0 && crcs[10] == sum_of(100) && crcs[39] == sum_of(129) && crcs[40] == 0
       && crcs[54] == sum_of(404) && crcs[99] == 0, "the sums");
    EQ(coir_extents_lookup(&x, 15, 3, pieces, 8, crcs, &covered), 1, "in the middle of one");
    OK(covered == 3 && pieces[0].address == 105 && pieces[0].count == 3 && crcs[0] == sum_of(105), "of it");
    EQ(coir_extents_lookup(&x, 0, 100, pieces, 2, crcs, &covered), 2, "no more pieces than there is room for");
    EQ(covered, 40, "and so far it came");
    EQ(coir_extents_lookup(&x, 12, UINT64_MAX - 12, pieces, 8, NULL, &covered), 4, "all there is, without sums");
    EQ(covered, UINT64_MAX - 12, "up to the last key but one");
    EQ(coir_extents_lookup(&x, 55, 0, pieces, 8, crcs, &covered), 0, "nothing of nothing");
    EQ(coir_extents_next(&x, 0, 10, &at), 0, "nothing to unmap in the first ten");
    EQ(coir_extents_next(&x, 0, 11, &at), 1, "but in the first eleven");
    EQ(at, 10, "at their end");
    EQ(coir_extents_next(&x, 12, 1, &at), 1, "in the middle");
    EQ(at, 12, "at once");
    EQ(coir_extents_next(&x, 55, UINT64_MAX - 55, &at), 0, "nothing behind all");
    world_close(&w);
}

/* ---- bounded steps ---- */

struct bounded {
    coir_frame_void;
    coir_no_args;
    struct step step[40];
    struct play play;
    struct coir_extents_clear clear;
};
static coir_declare(bounded);

coir_body(bounded, f) {
    for (unsigned i = 0; i < 40; i++)
        f->step[i] = (struct step)MAP(2 * i, 1, 1000 + 3 * i);
    coir_try(f, &f->play, play, .steps = f->step, .n = 40);
    coir_try(f, &f->clear, coir_extents_clear, .extents = &x, .lba = 0, .count = 1000, .most = 7, .steps = 2,
             .superseded = &superseded);
    EQ(f->clear.result, 28, "two steps of seven extents: up to the fifteenth");
    EQ(x.mapped, 26, "the others are there");
    coir_try(f, &f->clear, coir_extents_clear, .extents = &x, .lba = 28, .count = 972, .most = 7,
             .superseded = &superseded);
    EQ(f->clear.result, 972, "the rest");
    OK(coir_tree_is_empty(&x.tree) && x.mapped == 0, "nothing is left");
} coir_end

static void test_bounded(void)
{
    const struct coir_disk_root none = { .address = 0 };

    world_open(&w, 1, 64, 4000);
    x = (struct coir_extents){ .mapped = 0 };
    EQ(coir_tree_init(&x.tree, &w.cache, &coir_kind_extents, COIR_FIRST_VOLUME, &none), 0, "a tree");
    x.tree.shift = 12;
    EQ(coir_run(NULL, coir_new(bounded)), 0, "unmapping in steps");
    world_close(&w);
}

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    test_joining();
    test_overlaps();
    test_unmapping();
    test_ends();
    test_lookup();
    test_bounded();
    return DONE();
}
