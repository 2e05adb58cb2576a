/* SPDX-License-Identifier: MIT */
/*
 * The space map on simulated devices: which pages a checkpoint writes, and where, worked out by hand; what is loaded is
 * what was frozen, after random work and over several files; a power cut at every event of checkpoints, of some that
 * fail among them.
 */
#include "store.h"

enum { DATA1 = 1536, COVER = COIR_MAP_BITS };

/* 100 GiB: 26,214,400 blocks, 813 pages of level 0, 2 of level 1, the top: 816 pairs, so that the journal of 4 MiB
 * begins at 2,048 and the data at 3,072. */
static const uint64_t large[] = { 26214400 }, small[] = { 16384 }, three[] = { 16384, 26214400, 70000 };
static const struct coir_init_options short_journal = { .journal = 4 << 20 };

static struct store *store_new(unsigned devices, uint64_t seed, int64_t delay)
{
    struct store *const s = calloc(1, sizeof *s);

    s->w = sim_new(seed, delay);
    for (unsigned i = 0; i < devices; i++)
        sim_add(s->w, 0, 4096);
    return s;
}

static uint64_t number(const struct store *s, uint64_t block, unsigned offset, unsigned bytes)
{
    uint64_t n = 0;

    sim_peek(s->w, 0, block * 4096 + offset, &n, bytes);
    return n;
}

/* ---- where pages are written ---- */

static void use(struct store *s, uint64_t address, uint64_t blocks)
{
    EQ(coir_space_claim(s->space, address, blocks), 0, "%d blocks at %d", (int)blocks, (int)address);
    coir_space_use(s->space, address, blocks);
}

struct places {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    uint64_t writes;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
};
static coir_declare(places);
coir_body(places, f) {
    f->s = store_new(1, 1, 0);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = small);
    use(f->s, DATA1, 3);
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 1);
    EQ(number(f->s, 256, 0, 4), 0x304D5243, "the first one goes into slot 0, block 256: CRM0");
    EQ(number(f->s, 256, 8, 8), 256, "its address");
    EQ(number(f->s, 256, 16, 8), 2, "its generation is the superblock's");
    EQ(number(f->s, 256, 24, 4), 0, "level");
    EQ(number(f->s, 256, 32, 8), 0, "page");
    EQ(number(f->s, 256, 64 + 1536 / 8, 2), 7, "three blocks are in use");
    EQ(number(f->s, 256, 64 + 1536 / 8 - 1, 1), 255, "and all before");
    EQ(number(f->s, 256, 64 + 16384 / 8, 1), 255, "and all beyond the file");
    EQ(number(f->s, 256, 4, 4), number(f->s, 1, 272, 4), "the superblock has its sum");
    EQ(number(f->s, 1, 276, 4), 0, "and its slot");
    EQ(number(f->s, 1, 168, 8), 3, "three are live");
    use(f->s, DATA1 + 3, 1);
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 2);
    EQ(number(f->s, 257, 64 + 1536 / 8, 1), 15, "the second one into slot 1");
    EQ(number(f->s, 256, 64 + 1536 / 8, 1), 7, "the first one stays");
    EQ(number(f->s, 1, 276, 4), 1, "the superblock names slot 1");
    f->writes = sim_counts(f->s->w, 0).writes;
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 3);
    EQ(sim_counts(f->s->w, 0).writes - f->writes, 2, "nothing has changed: two superblocks and no page");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    sim_free(f->s->w);
    free(f->s);
} coir_end

struct levels {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    uint64_t before, writes;
    struct store_make make;
    struct store_open open;
    struct store_checkpoint checkpoint;
    struct store_close close;
    struct coir_grow_file grow;
};
static coir_declare(levels);
coir_body(levels, f) {
    f->s = store_new(1, 1, 0);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 1, .blocks = large, .options = &short_journal);
    EQ(f->s->files->file[0].layout.data, 3072, "100 GiB: the data");
    f->s->grower.step = large[0];
    coir_try(f, &f->grow, coir_grow_file, .grower = &f->s->grower, .file = 0);
    EQ(sim_size(f->s->w, 0), large[0] * 4096, "as large as it may be");
    use(f->s, 5 * COVER, 1);
    use(f->s, 503 * (uint64_t)COVER + 7, 1);
    use(f->s, 504 * (uint64_t)COVER - 1, 2);
    f->writes = sim_counts(f->s->w, 0).writes;
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 1);
    EQ(sim_counts(f->s->w, 0).writes - f->writes, 3 + 2 + 1 + 2, "three pages, the two above, the top, superblocks");
    EQ(number(f->s, 256, 0, 4), 0x314D5243, "the top: CRM1");
    EQ(number(f->s, 256, 24, 4), 2, "of level 2");
    EQ(number(f->s, 256, 64, 4), number(f->s, 258, 4, 4), "its first entry has the sum of page 0 of level 1");
    EQ(number(f->s, 256, 68, 4), 0, "no sum of free blocks, slot 0");
    EQ(number(f->s, 256, 64 + 16, 8), 0, "and there are two entries");
    EQ(number(f->s, 258, 64, 4), 0, "page 0 of level 0 was never written");
    EQ(number(f->s, 258, 68, 2), COVER - 3072, "below it all but those before the data are free");
    EQ(number(f->s, 258, 70, 2), 2, "slot 2: none");
    EQ(number(f->s, 258, 64 + 5 * 8 + 4, 2), COVER - 1, "one block is in use below page 5");
    EQ(number(f->s, 258, 64 + 5 * 8 + 6, 2), 0, "which is in slot 0");
    EQ(number(f->s, 258, 64 + 5 * 8, 4), number(f->s, 256 + 2 * (3 + 5), 4, 4), "at its place");
    EQ(number(f->s, 258, 64 + 503 * 8 + 4, 2), COVER - 2, "two below page 503");
    EQ(number(f->s, 260, 64 + 4, 2), COVER - 1, "one below page 504, the first of page 1 of level 1");
    EQ(number(f->s, 260, 64 + 308 * 8 + 4, 4), (26214400 - 812 * COVER) | 2 << 16, "the last one is a part");
    EQ(number(f->s, 260, 64 + 309 * 8, 8), 0, "nothing behind it");

    f->before = f->s->files->super.head.generation;
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    coir_try(f, &f->open, store_open, .s = f->s, .n = 1);
    EQ(f->s->files->super.head.generation, f->before, "opened again");
    OK(coir_space_is_live(f->s->space, 504 * (uint64_t)COVER - 1, 2), "two blocks over the border of two pages");
    STR_EQ(coir_space_verify(f->s->space), NULL, "all sums are right");
    coir_space_supersede(f->s->space, 5 * COVER, 1, 2);
    use(f->s, 5 * COVER + 1, 1);
    coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = 2);
    EQ(number(f->s, 256 + 2 * (3 + 5) + 1, 64, 1), 2, "page 5 in slot 1");
    EQ(number(f->s, 259, 64 + 5 * 8 + 6, 2), 1, "page 0 of level 1 too");
    EQ(number(f->s, 257, 64 + 6, 2), 1, "which the top says");
    EQ(number(f->s, 257, 64 + 8 + 6, 2), 0, "page 1 is where it was");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 1);
    sim_free(f->s->w);
    free(f->s);
} coir_end

/* ---- random work, loaded again after each checkpoint ---- */

enum { ROUNDS = 40 };

struct random {
    coir_frame_void;
    coir_args(uint64_t seed; unsigned *pages;);
    struct store *s, *again;
    uint64_t random, at;
    unsigned round;
    struct store_make make;
    struct store_open open;
    struct store_checkpoint checkpoint;
    struct store_close close;
    struct coir_grow_file grow;
};
static coir_declare(random);

/* Uses some blocks and supersedes some, near and far. */
static void stir(struct store *s, uint64_t *random, uint64_t lsn)
{
    for (unsigned i = 0; i < 30; i++) {
        const unsigned file = (unsigned)sim_below(random, s->files->n);
        const uint64_t data = s->files->file[file].layout.data, room = coir_space_grown_to(s->space, file) - data;
        const uint64_t block = data + sim_below(random, sim_below(random, 2) ? room : room < 3000 ? room : 3000);
        const uint64_t n = 1 + sim_below(random, 100);

        if (coir_space_claim(s->space, COIR_ADDRESS(file, block), n) == 0)
            coir_space_use(s->space, COIR_ADDRESS(file, block), n);
        else if (coir_space_is_live(s->space, COIR_ADDRESS(file, block), n))
            coir_space_supersede(s->space, COIR_ADDRESS(file, block), n, lsn);
        else if (coir_space_is_live(s->space, COIR_ADDRESS(file, block), 1))
            coir_space_supersede(s->space, COIR_ADDRESS(file, block), 1, lsn);
    }
}

coir_body(random, f) {
    f->random = f->seed;
    f->s = store_new(3, f->seed, 100000);
    f->again = calloc(1, sizeof *f->again);
    coir_try(f, &f->make, store_make, .s = f->s, .n = 3, .blocks = three, .options = &short_journal);
    f->s->grower.step = 20000 / 256 * 256;
    for (f->round = 1; f->round < 3; f->round++) {
        coir_try(f, &f->grow, coir_grow_file, .grower = &f->s->grower, .file = f->round);
    }
    for (f->round = 1; f->round <= ROUNDS; f->round++) {
        stir(f->s, &f->random, f->round);
        if (f->round == ROUNDS / 2) {
            f->s->grower.step = large[0] / 2;
            coir_try(f, &f->grow, coir_grow_file, .grower = &f->s->grower, .file = 1);
        }
        coir_try(f, &f->checkpoint, store_checkpoint, .s = f->s, .lsn = f->round);
        f->again->w = sim_cut(f->s->w, sim_events(f->s->w), SIM_NOTHING, 1);
        coir_await(f, &f->open, store_open, .s = f->again, .n = 3);
        EQ(coir_status(&f->open), 0, "it opens after checkpoint %u: %s", f->round, f->again->complaint.text);
        f->at = 0;
        if (coir_status(&f->open) == 0 && coir_space_differ(f->s->space, f->again->space, &f->at))
            OK(false, "what is loaded differs at %llx", (unsigned long long)f->at);
        coir_await(f, &f->close, store_close, .s = f->again, .n = 3);
        sim_free(f->again->w);
    }
    STR_EQ(coir_space_verify(f->s->space), NULL, "all sums are right");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 3);
    sim_free(f->s->w);
    free(f->s);
    free(f->again);
} coir_end

/* ---- power cuts, and checkpoints that fail ---- */

enum { LSNS = 8 };

struct history {
    struct store *s;
    uint64_t live[LSNS];                /* blocks in use at each LSN */
    uint64_t sum[LSNS];                 /* and a sum of their addresses */
    size_t over[LSNS];                  /* the event after which it was durable */
};

struct works {
    coir_frame_void;
    coir_args(struct history *h; uint64_t seed; unsigned fails;);
    uint64_t random, lsn;
    struct store_make make;
    struct store_checkpoint checkpoint;
    struct store_close close;
    struct coir_grow_file grow;
};
static coir_declare(works);

static uint64_t sum_of(const struct coir_space *space, const struct coir_files *files)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < files->n; i++)
        for (uint64_t block = files->file[i].layout.data; block < files->file[i].layout.data + 3100; block++)
            sum += coir_space_is_live(space, COIR_ADDRESS(i, block), 1) ? block * 2654435761 ^ block << i : 0;
    return sum;
}

static void note(struct history *h, uint64_t lsn)
{
    struct coir_space_counts counts;

    coir_space_count(h->s->space, -1, &counts);
    h->live[lsn] = counts.live;
    h->sum[lsn] = sum_of(h->s->space, h->s->files);
}

coir_body(works, f) {
    f->random = f->seed;
    coir_try(f, &f->make, store_make, .s = f->h->s, .n = 2, .blocks = three, .options = &short_journal);
    f->h->s->grower.step = 2 * COVER / 256 * 256;
    coir_try(f, &f->grow, coir_grow_file, .grower = &f->h->s->grower, .file = 1);
    note(f->h, 0);
    f->h->over[0] = sim_events(f->h->s->w);
    for (f->lsn = 1; f->lsn < LSNS; f->lsn++) {
        stir(f->h->s, &f->random, f->lsn);
        note(f->h, f->lsn);
        if (f->fails) {
            sim_fail(f->h->s->w, SIM_WRITE, 1 + sim_below(&f->random, f->fails), -ENOMEM, false);
            coir_await(f, &f->checkpoint, store_checkpoint, .s = f->h->s, .lsn = f->lsn);
            if (coir_status(&f->checkpoint) == 0 || f->h->s->files->failed)
                OK(false, "the map is not written: %d", coir_status(&f->checkpoint));
        }
        coir_try(f, &f->checkpoint, store_checkpoint, .s = f->h->s, .lsn = f->lsn);
        f->h->over[f->lsn] = sim_events(f->h->s->w);
    }
    coir_await(f, &f->close, store_close, .s = f->h->s, .n = 2);
} coir_end

struct opens {
    coir_frame_void;
    coir_args(struct sim *w; const struct history *h; uint64_t done; bool *good;);
    struct store s;
    struct coir_space_counts counts;
    struct store_open open;
    struct store_close close;
};
static coir_declare(opens);
coir_body(opens, f) {
    memset(&f->s, 0, sizeof f->s);
    f->s.w = f->w;
    coir_await(f, &f->open, store_open, .s = &f->s, .n = 2);
    *f->good = coir_status(&f->open) == 0;
    if (*f->good) {
        const uint64_t lsn = f->s.files->super.lsn;

        coir_space_count(f->s.space, -1, &f->counts);
        *f->good = lsn >= f->done && lsn <= f->done + 1 && lsn < LSNS && f->counts.live == f->h->live[lsn]
            && sum_of(f->s.space, f->s.files) == f->h->sum[lsn];
    } else {
        NOTE("%s", f->s.complaint.text);
    }
    coir_await(f, &f->close, store_close, .s = &f->s, .n = 2);
} coir_end

static void cuts(uint64_t seed, unsigned fails)
{
    struct history h = { .s = store_new(2, seed, 1000000) };
    unsigned tried = 0;

    EQ(coir_run(NULL, coir_new(works, .h = &h, .seed = seed, .fails = fails)), 0, "%d checkpoints", LSNS - 1);
    for (unsigned done = 0; done < LSNS; done++)
        for (size_t event = h.over[done]; event <= (done + 1 < LSNS ? h.over[done + 1] - 1 : h.over[done]);
             event += sim_stride())
            for (unsigned keep = 0; keep < SIM_KEEPS; keep++, tried++) {
                struct sim *const w = sim_cut(h.s->w, event, (enum sim_keep)keep, event + keep);
                bool good = false;

                coir_run(NULL, coir_new(opens, .w = w, .h = &h, .done = done, .good = &good));
                sim_free(w);
                if (!good)
                    OK(false, "event %zu, %s, after LSN %u", event, sim_keep_name((enum sim_keep)keep), done);
            }
    OK(tried > 1000 / sim_stride(), "%u cuts", tried);
    sim_free(h.s->w);
    free(h.s);
}

int main(void)
{
    const uint64_t seed = sim_seed(3);

    setenv("COIR_TIME", "virtual", 1);
    NOTE("COIR_SIM_SEED=%llu", (unsigned long long)seed);
    EQ(coir_run(NULL, coir_new(places)), 0, "all of it");
    EQ(coir_run(NULL, coir_new(levels)), 0, "all of it");
    EQ(coir_run(NULL, coir_new(random, .seed = seed)), 0, "all of it");
    EQ(coir_run(NULL, coir_new(random, .seed = seed + 1)), 0, "all of it");
    cuts(seed, 0);
    cuts(seed + 1, 3);
    return DONE();
}
