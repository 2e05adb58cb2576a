/* SPDX-License-Identifier: MIT */
/*
 * Finding free blocks. Next fit, with a place of its own in each file for small and for large reservations: small ones
 * lie one behind the other in the order in which they were made, so that what is written at random is sequential on
 * the medium. Nothing is scanned block by block: sets of pages say where there is something, a bit a word says where
 * in the page. The effort of one search is bounded by the runs it looks at; what it looks at in vain it notes, so
 * that nobody looks there again before something was freed.
 */
#include "volume/space_state.h"

enum {
    EFFORT = 32,                        /* runs that a search looks at, to find one that is long enough */
    EFFORT_AGAIN = 8,                   /* the next ones of a reservation for which there was none */
    SWEEP = 4,                          /* pages of what is ready that a reservation makes free */
    TURN = (16 << 20) / COIR_BLOCK,     /* blocks that the emptiest file gives before the next one's turn */
};

struct found {
    struct file *file;
    uint64_t block, blocks;
};

/* ---- in a page --------------------------------------------------------------------------------------- */

/* The first free group of 2^shift at `from` or above, as its place in the page; BITS: none. */
static uint64_t next_group(const struct planes *planes, uint64_t from, unsigned shift)
{
    const uint64_t size = (uint64_t)1 << shift;

    from = (from + size - 1) / size * size;
    if (!planes || from >= BITS)
        return from;
    unsigned word = (unsigned)(from / 64);
    uint64_t groups = coir_groups(coir_free_bits(planes, word), shift) >> from % 64 << from % 64;
    while (!groups) {
        unsigned at = ++word / 64;
        uint64_t some = word % 64 ? planes->some[at] >> word % 64 << word % 64 : planes->some[at];

        while (!some && ++at <= WORDS / 64)
            some = planes->some[at];
        if (!some)
            return BITS;
        word = at * 64 + (unsigned)__builtin_ctzll(some);
        groups = coir_groups(coir_free_bits(planes, word), shift);
    }
    return word * 64 + (unsigned)__builtin_ctzll(groups);
}

/* The first block in [from, to) that is not free, or `to`. */
static uint64_t next_used(const struct planes *planes, uint64_t from, uint64_t to)
{
    if (!planes || from >= to)
        return to;
    uint64_t word = from / 64, used = ~coir_free_bits(planes, (unsigned)word) >> from % 64 << from % 64;
    while (!used && ++word * 64 < to)
        used = ~coir_free_bits(planes, (unsigned)word);
    if (!used)
        return to;
    const uint64_t at = word * 64 + (uint64_t)__builtin_ctzll(used);
    return at < to ? at : to;
}

/* Where the free run that `at` lies in begins, at `from` or above, and aligned to `size`. */
static uint64_t run_start(const struct planes *planes, uint64_t from, uint64_t at, uint64_t size)
{
    while (planes && at >= from + size
           && next_used(planes, at - size, at) == at)
        at -= size;
    return at;
}

/* What is looked for: `want` blocks, a multiple of 2^shift, in runs that have an aligned group of 2^coarse: so that who
 * wants many does not look at each hole of a few. */
struct wish {
    uint64_t want;
    unsigned shift, coarse;
};

/* Looks at such runs of a page from `from` on; keeps the longest. True: it is long enough. */
static bool look(struct file *f, uint64_t page, uint64_t from, const struct wish *w, struct found *best,
                 unsigned *effort)
{
    const struct planes *const planes = f->page[page].planes;
    const uint64_t size = (uint64_t)1 << w->shift;
    bool any = false;

    for (uint64_t at = from; *effort > 0 && (at = next_group(planes, at, w->coarse)) < BITS;) {
        const uint64_t start = run_start(planes, from, at, size);
        const uint64_t end = next_used(planes, at, start + w->want < BITS ? start + w->want : BITS);
        const uint64_t n = (end - start) / size * size;

        any = true;
        --*effort;
        if (n > best->blocks)
            *best = (struct found){ f, page * BITS + start, n };
        if (n >= w->want)
            return true;
        at = end;
    }
    if (!any && from == 0 && *effort > 0)
        for (unsigned k = w->coarse; k < ORDERS; k++)
            coir_pages_drop(&f->group[k], page);
    return false;
}

/* ---- in a file --------------------------------------------------------------------------------------- */

/* Looks through the pages from `cursor` on, and around. True: `best` is long enough. */
static bool look_around(struct file *f, uint64_t cursor, const struct wish *w, struct found *best, unsigned *effort)
{
    const uint64_t first = cursor / BITS;
    struct coir_pages *const pages = &f->group[w->coarse];

    if (first < f->pages && coir_pages_has(pages, first) && look(f, first, cursor % BITS, w, best, effort))
        return true;
    for (uint64_t page = coir_pages_next(pages, first + 1); *effort > 0 && page < f->pages;
         page = coir_pages_next(pages, page + 1))
        if (look(f, page, 0, w, best, effort))
            return true;
    for (uint64_t page = coir_pages_next(pages, 0); *effort > 0 && page <= first && page < f->pages;
         page = coir_pages_next(pages, page + 1))
        if (look(f, page, 0, w, best, effort))
            return true;
    return false;
}

/* The same, and for a large one the next page that is wholly free. */
static bool look_in(struct file *f, const struct wish *w, struct found *best, unsigned *effort)
{
    const uint64_t cursor = w->want < COIR_LONG ? f->small : f->large;

    if (f->count[FREE] == 0)
        return false;
    if (look_around(f, cursor, w, best, effort))
        return true;
    if (w->want < COIR_LONG)
        return false;
    uint64_t page = coir_pages_next(&f->whole, cursor / BITS);
    if (page == f->pages)
        page = coir_pages_next(&f->whole, 0);
    if (page == f->pages)
        return false;
    *best = (struct found){ f, page * BITS, w->want };
    return true;
}

/* ---- in all files ------------------------------------------------------------------------------------ */

/* The next file that has something gives out as much, of TURN, as it has free of what the emptiest has: so all are
 * full at about the same time. */
static void next_turn(struct coir_space *s)
{
    uint64_t most = 1;

    for (unsigned i = 0; i < s->files; i++)
        most = s->file[i].count[FREE] > most ? s->file[i].count[FREE] : most;
    for (unsigned i = 0; i < s->files; i++) {
        s->at = s->at + 1 < s->files ? s->at + 1 : 0;
        if (s->file[s->at].count[FREE] > 0)
            break;
    }
    s->turn = s->file[s->at].count[FREE] * TURN / most + COIR_REGION;
}

static bool find_by(struct coir_space *s, const struct wish *w, unsigned effort, struct found *best)
{
    *best = (struct found){ 0 };
    for (unsigned i = 0; i < s->files && effort > 0; i++) {
        const unsigned file = s->at + i < s->files ? s->at + i : s->at + i - s->files;

        if (look_in(&s->file[file], w, best, &effort))
            return true;
    }
    return best->blocks > 0;
}

/* The best run that can be found: the first that is long enough, in the file whose turn it is or one behind it; else
 * the longest that was seen. False: there is no free group. */
static bool find(struct coir_space *s, unsigned shift, uint64_t want, unsigned effort, struct found *best)
{
    struct wish w = { .want = want < BITS ? want : BITS, .shift = shift, .coarse = ORDERS - 1 };

    if (s->turn == 0)
        next_turn(s);
    if (w.want >= COIR_LONG && find_by(s, &w, effort, best))
        return true;
    w.coarse = shift;
    return find_by(s, &w, effort, best);
}

static int take(struct coir_space *s, uint64_t want, const struct found *found, struct coir_run *run)
{
    struct file *const f = found->file;
    const uint64_t end = found->block + found->blocks;

    if (coir_space_page(f, found->block / BITS) < 0)
        return -ENOMEM;
    coir_space_change(s, f, found->block, found->blocks, FREE, RESERVED);
    *(want < COIR_LONG ? &f->small : &f->large) = end;
    s->turn -= found->blocks < s->turn ? found->blocks : s->turn;
    *run = (struct coir_run){ COIR_ADDRESS(f - s->file, found->block), found->blocks };
    return 0;
}

/* ---- what may be had --------------------------------------------------------------------------------- */

static uint64_t left_alone(const struct coir_space *s, enum coir_space_class who)
{
    const uint64_t reserve = coir_space_reserve_size(s);

    return who == COIR_SPACE_WRITE ? reserve : who == COIR_SPACE_UNMAP ? reserve / 2 : 0;
}

int coir_space_check(const struct coir_space *s, enum coir_space_class who, uint64_t blocks)
{
    const uint64_t free = s->count[FREE] + s->ready, need = left_alone(s, who) + blocks;

    COIR_ASSERT(blocks <= UINT64_MAX / 2);
    if (free >= need)
        return 0;
    if (coir_space_to_grow(s, false, 0) >= 0)
        return -EFBIG;
    if (free + s->held >= need)
        return -EBUSY;
    return free + s->held + s->awaiting + s->count[FRESH] >= need ? -EAGAIN : -ENOSPC;
}

/* There are enough blocks, and not enough groups of them. */
static int scattered(const struct coir_space *s)
{
    if (coir_space_to_grow(s, false, 0) >= 0)
        return -EFBIG;
    if (s->held > 0)
        return -EBUSY;
    return s->awaiting + s->count[FRESH] > 0 ? -EAGAIN : -ENOSPC;
}

/* The same as find(), once more where blocks that are ready have not been made free yet. */
static bool find_swept(struct coir_space *s, unsigned shift, uint64_t want, unsigned effort, struct found *best)
{
    while (!find(s, shift, want, effort, best)) {
        if (s->ready == 0)
            return false;
        coir_space_sweep(s, EFFORT);
    }
    return true;
}

int coir_space_reserve(struct coir_space *s, enum coir_space_class who, unsigned shift, uint64_t n,
                       struct coir_run *runs, unsigned max)
{
    struct found found;
    unsigned got = 0;

    COIR_ASSERT(shift < ORDERS && n > 0 && n <= UINT64_MAX >> (shift + 1) && max > 0);
    int r = coir_space_check(s, who, n << shift);
    if (s->ready > 0)
        coir_space_sweep(s, SWEEP);
    for (uint64_t left = n << shift; r == 0 && left > 0 && got < max; left -= runs[got++].blocks) {
        const unsigned effort = got ? EFFORT_AGAIN : EFFORT;

        r = find_swept(s, shift, left, effort, &found) ? take(s, left, &found, &runs[got]) : scattered(s);
        if (r < 0)
            break;
    }
    if (r == 0)
        return (int)got;
    while (got-- > 0)
        coir_space_cancel(s, runs[got].address, runs[got].blocks);
    return r;
}
