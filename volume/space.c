/* SPDX-License-Identifier: MIT */
/*
 * Making a space, the states of its blocks, growth and the sums. One function changes states and keeps every sum and
 * set with them: coir_space_change_word. Who asks for a state that a block is not in has lost track of what is his:
 * that stops the program, as going on would give one block to two owners.
 */
#include "volume/space_state.h"

#include <string.h>

/* ---- states ------------------------------------------------------------------------------------------ */

/* Sets [from, to) of a page that nobody counts yet. */
static void paint(struct page *page, uint64_t from, uint64_t to, enum state state)
{
    for (uint64_t at = from, n; at < to; at += n) {
        const uint64_t rest = 64 - at % 64;

        n = to - at < rest ? to - at : rest;
        const uint64_t mask = (n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1) << at % 64;
        page->planes->lo[at / 64] |= state & 1 ? mask : 0;
        page->planes->hi[at / 64] |= state & 2 ? mask : 0;
    }
    page->count[state] = (uint16_t)(page->count[state] + to - from);
}

static uint64_t clamp(uint64_t x, uint64_t low, uint64_t high)
{
    return x < low ? low : x > high ? high : x;
}

int coir_space_page(struct file *f, uint64_t number)
{
    struct page *const page = &f->page[number];
    const uint64_t from = number * BITS, to = from + BITS;

    if (page->planes)
        return 0;
    page->planes = aligned_alloc(64, (sizeof *page->planes + 63) / 64 * 64);
    if (!page->planes)
        return -ENOMEM;
    memset(page->planes, 0, sizeof *page->planes);
    memset(page->count, 0, sizeof page->count);

    const uint64_t data = clamp(f->data, from, to), grown = clamp(f->grown, from, to);
    const uint64_t blocks = clamp(f->blocks, from, to);

    paint(page, 0, data - from, LIVE);
    paint(page, data - from, grown - from, FREE);
    paint(page, grown - from, blocks - from, RESERVED);
    paint(page, blocks - from, BITS, LIVE);
    for (unsigned word = 0; word < WORDS; word++)
        if (coir_free_bits(page->planes, word))
            page->planes->some[word / 64] |= (uint64_t)1 << word % 64;
    return 0;
}

static void note_free(struct file *f, uint64_t page, unsigned word)
{
    struct planes *const planes = f->page[page].planes;
    const uint64_t free = coir_free_bits(planes, word);

    planes->some[word / 64] |= (uint64_t)1 << word % 64;
    for (unsigned shift = 0; shift < ORDERS && coir_groups(free, shift); shift++)
        coir_pages_add(&f->group[shift], page);
    if (f->page[page].count[FREE] == BITS)
        coir_pages_add(&f->whole, page);
}

static void note_taken(struct file *f, uint64_t page, unsigned word)
{
    struct planes *const planes = f->page[page].planes;

    coir_pages_drop(&f->whole, page);
    if (coir_free_bits(planes, word) == 0)
        planes->some[word / 64] &= ~((uint64_t)1 << word % 64);
    if (f->page[page].count[FREE] == 0)
        for (unsigned shift = 0; shift < ORDERS; shift++)
            coir_pages_drop(&f->group[shift], page);
}

void coir_space_change_word(struct coir_space *s, struct file *f, uint64_t number, unsigned word, uint64_t mask,
                            enum state from, enum state to)
{
    struct page *const page = &f->page[number];
    uint64_t *const lo = &page->planes->lo[word], *const hi = &page->planes->hi[word];
    const unsigned n = (unsigned)__builtin_popcountll(mask);

    if (page->pending)
        coir_space_settle(s, page);
    COIR_ASSERT((*lo & mask) == (from & 1 ? mask : 0));
    COIR_ASSERT((*hi & mask) == (from & 2 ? mask : 0));
    *lo = (*lo & ~mask) | (to & 1 ? mask : 0);
    *hi = (*hi & ~mask) | (to & 2 ? mask : 0);
    page->count[from] = (uint16_t)(page->count[from] - n);
    page->count[to] = (uint16_t)(page->count[to] + n);
    f->count[from] -= n;
    f->count[to] += n;
    s->count[from] -= n;
    s->count[to] += n;
    if (to == FREE)
        note_free(f, number, word);
    if (from == FREE)
        note_taken(f, number, word);
    if (from == LIVE || to == LIVE)
        coir_pages_add(&f->dirty, number);
    if (to == FRESH)
        coir_pages_add(&f->fresh, number);
    if (from == FRESH && page->count[FRESH] == 0)
        coir_pages_drop(&f->fresh, number);
}

void coir_space_change(struct coir_space *s, struct file *f, uint64_t block, uint64_t blocks, enum state from,
                       enum state to)
{
    while (blocks > 0) {
        const uint64_t page = block / BITS, at = block % BITS, rest = 64 - at % 64;
        const uint64_t n = blocks < rest ? blocks : rest;
        const uint64_t mask = (n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1) << at % 64;

        COIR_ASSERT(f->page[page].planes);
        coir_space_change_word(s, f, page, (unsigned)(at / 64), mask, from, to);
        block += n;
        blocks -= n;
    }
}

/* The file of an address, if all the blocks are in its grown data; or NULL. */
static struct file *file_of(const struct coir_space *s, uint64_t address, uint64_t blocks)
{
    const uint64_t block = COIR_ADDRESS_BLOCK(address);

    if (COIR_ADDRESS_FILE(address) >= s->files)
        return NULL;
    struct file *const f = &s->file[COIR_ADDRESS_FILE(address)];
    return block >= f->data && block < f->grown && blocks <= f->grown - block ? f : NULL;
}

/* Whether all of these are in this state, in a file of this space. */
static bool all_are(const struct coir_space *s, uint64_t address, uint64_t blocks, enum state state)
{
    const struct file *const f = file_of(s, address, blocks);

    if (!f)
        return false;
    for (uint64_t block = COIR_ADDRESS_BLOCK(address), end = block + blocks, n; block < end; block += n) {
        const struct planes *const planes = f->page[block / BITS].planes;
        const uint64_t word = block % BITS / 64, rest = 64 - block % BITS % 64;

        n = end - block < rest ? end - block : rest;
        const uint64_t mask = (n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1) << block % BITS % 64;
        if (planes ? (planes->lo[word] & mask) != (state & 1 ? mask : 0)
            || (planes->hi[word] & mask) != (state & 2 ? mask : 0) : state != FREE)
            return false;
    }
    return true;
}

int coir_space_claim(struct coir_space *s, uint64_t address, uint64_t blocks)
{
    const uint64_t block = COIR_ADDRESS_BLOCK(address);
    struct file *const f = file_of(s, address, blocks);

    if (!f || blocks == 0)
        return -EINVAL;
    while (s->ready > 0)
        coir_space_sweep(s, SIZE_MAX);
    if (!all_are(s, address, blocks, FREE))
        return -EEXIST;
    for (uint64_t page = block / BITS; page <= (block + blocks - 1) / BITS; page++)
        if (coir_space_page(f, page) < 0)
            return -ENOMEM;
    coir_space_change(s, f, block, blocks, FREE, RESERVED);
    return 0;
}

static void change(struct coir_space *s, uint64_t address, uint64_t blocks, enum state from, enum state to)
{
    struct file *const f = file_of(s, address, blocks);

    COIR_ASSERT(f);
    coir_space_change(s, f, COIR_ADDRESS_BLOCK(address), blocks, from, to);
}

void coir_space_use(struct coir_space *s, uint64_t address, uint64_t blocks)
{
    change(s, address, blocks, RESERVED, LIVE);
}

void coir_space_cancel(struct coir_space *s, uint64_t address, uint64_t blocks)
{
    change(s, address, blocks, RESERVED, FREE);
}

bool coir_space_supersede(struct coir_space *s, uint64_t address, uint64_t blocks, uint64_t lsn)
{
    COIR_ASSERT(lsn >= s->lsn);
    if (!coir_space_is_live(s, address, blocks))
        return false;
    if (lsn > s->last->lsn)
        s->last->lsn = lsn;
    change(s, address, blocks, LIVE, FRESH);
    return true;
}

bool coir_space_has(const struct coir_space *s, uint64_t address, uint64_t blocks)
{
    return file_of(s, address, blocks) != NULL;
}

bool coir_space_is_live(const struct coir_space *s, uint64_t address, uint64_t blocks)
{
    return all_are(s, address, blocks, LIVE);
}

/* ---- making ------------------------------------------------------------------------------------------ */

/* Puts a page into the sets of those that have free blocks. */
static void offer(struct file *f, uint64_t number)
{
    const struct page *const page = &f->page[number];

    if (page->planes && page->count[FREE] == 0)
        return;
    for (unsigned shift = 0; shift < ORDERS; shift++)
        coir_pages_add(&f->group[shift], number);
    if (!page->planes || page->count[FREE] == BITS)
        coir_pages_add(&f->whole, number);
}

/* A page with planes where one of the borders is inside it. */
static int border(struct file *f, uint64_t block)
{
    return block % BITS ? coir_space_page(f, block / BITS) : 0;
}

static int make_file(struct file *f, const struct coir_space_file *as)
{
    COIR_ASSERT(as->blocks % COIR_REGION == 0 && as->data % COIR_REGION == 0 && as->grown % COIR_REGION == 0);
    COIR_ASSERT(as->data > 0 && as->data <= as->grown && as->grown <= as->blocks);
    COIR_ASSERT(as->blocks <= COIR_FILE_BLOCKS_MAX);
    *f = (struct file){
        .blocks = as->blocks, .data = as->data, .grown = as->grown, .small = as->data, .large = as->data,
        .pages = (as->blocks + BITS - 1) / BITS,
        .count = { [FREE] = as->grown - as->data, [RESERVED] = as->blocks - as->grown },
    };
    f->page = calloc(f->pages, sizeof *f->page);
    int r = f->page ? 0 : -ENOMEM;
    for (unsigned shift = 0; shift < ORDERS; shift++)
        r = coir_pages_init(&f->group[shift], f->pages) < 0 ? -ENOMEM : r;
    r = coir_pages_init(&f->whole, f->pages) < 0 ? -ENOMEM : r;
    r = coir_pages_init(&f->fresh, f->pages) < 0 ? -ENOMEM : r;
    r = coir_pages_init(&f->dirty, f->pages) < 0 ? -ENOMEM : r;
    if (r < 0 || border(f, f->data) < 0 || border(f, f->grown) < 0 || border(f, f->blocks) < 0)
        return -ENOMEM;
    for (uint64_t page = f->data / BITS; page * BITS < f->grown; page++)
        offer(f, page);
    return 0;
}

static void destroy_file(struct file *f)
{
    for (uint64_t page = 0; f->page && page < f->pages; page++)
        free(f->page[page].planes);
    free(f->page);
    for (unsigned shift = 0; shift < ORDERS; shift++)
        coir_pages_destroy(&f->group[shift]);
    coir_pages_destroy(&f->whole);
    coir_pages_destroy(&f->fresh);
    coir_pages_destroy(&f->dirty);
}

int coir_space_create(struct coir_space **out, const struct coir_space_file *files, unsigned n)
{
    struct coir_space *const s = calloc(1, sizeof *s);
    uint64_t data = 0;

    COIR_ASSERT(n > 0 && n <= COIR_STORE_FILES);
    if (!s)
        return -ENOMEM;
    s->files = n;
    s->file = calloc(n, sizeof *s->file);
    s->first = s->last = calloc(1, sizeof *s->last);
    s->sweep_end = &s->sweep;
    int r = s->file && s->last ? 0 : -ENOMEM;
    for (unsigned i = 0; i < n && r == 0; i++) {
        r = make_file(&s->file[i], &files[i]);
        data += files[i].blocks - files[i].data;
        for (enum state state = FREE; state < STATES; state++)
            s->count[state] += s->file[i].count[state];
    }
    if (r < 0) {
        coir_space_destroy(s);
        return r;
    }
    s->cap = coir_dirty_cap(data);
    *out = s;
    return 0;
}

void coir_space_destroy(struct coir_space *s)
{
    if (!s)
        return;
    for (unsigned i = 0; s->file && i < s->files; i++)
        destroy_file(&s->file[i]);
    free(s->file);
    *s->sweep_end = s->first;
    for (struct coir_space_reads *reads = s->sweep, *next; reads; reads = next) {
        next = reads->next;
        free(reads->pages);
        free(reads->memory);
        free(reads);
    }
    if (s->frozen) {
        free(s->frozen->pages);
        free(s->frozen->images);
        free(s->frozen);
    }
    free(s);
}

void coir_space_on_free(struct coir_space *s, void (*freed)(void *), void *arg)
{
    s->freed = freed;
    s->arg = arg;
}

int coir_space_load(struct coir_space *s, unsigned file, uint64_t number, const uint64_t bits[WORDS])
{
    struct file *const f = &s->file[file];

    COIR_ASSERT(file < s->files && number < f->pages);
    if (coir_space_page(f, number) < 0)
        return -ENOMEM;
    const struct planes *const planes = f->page[number].planes;
    for (unsigned word = 0; word < WORDS; word++) {
        const uint64_t fixed = planes->lo[word] & planes->hi[word], ungrown = planes->lo[word] & ~planes->hi[word];

        if ((fixed & ~bits[word]) || (ungrown & bits[word]))
            return -EBADMSG;
    }
    for (unsigned word = 0; word < WORDS; word++) {
        const uint64_t live = bits[word] & ~planes->lo[word];

        if (live)
            coir_space_change_word(s, f, number, word, live, FREE, LIVE);
    }
    coir_pages_drop(&f->dirty, number);
    return 0;
}

/* ---- growing ----------------------------------------------------------------------------------------- */

int coir_space_grown(struct coir_space *s, unsigned file, uint64_t grown)
{
    struct file *const f = &s->file[file];
    const uint64_t old = f->grown;

    COIR_ASSERT(file < s->files && grown >= old && grown <= f->blocks && grown % COIR_REGION == 0);
    if (border(f, grown) < 0)
        return -ENOMEM;
    f->stuck = false;
    f->grown = grown;
    for (uint64_t block = old, n; block < grown; block += n) {
        const uint64_t page = block / BITS, rest = BITS - block % BITS;

        n = grown - block < rest ? grown - block : rest;
        if (f->page[page].planes) {
            coir_space_change(s, f, block, n, RESERVED, FREE);
            continue;
        }
        f->count[RESERVED] -= n;
        f->count[FREE] += n;
        s->count[RESERVED] -= n;
        s->count[FREE] += n;
        offer(f, page);
    }
    return 0;
}

void coir_space_stuck(struct coir_space *s, unsigned file)
{
    COIR_ASSERT(file < s->files);
    s->file[file].stuck = true;
}

int coir_space_to_grow(const struct coir_space *s, bool stuck_too, uint64_t except)
{
    uint64_t most = 0;
    int file = -1;

    for (unsigned i = 0; i < s->files; i++) {
        const struct file *const f = &s->file[i];

        if (f->blocks - f->grown > most && (stuck_too || !f->stuck) && !(except >> i & 1)) {
            most = f->blocks - f->grown;
            file = (int)i;
        }
    }
    return file;
}

bool coir_space_is_short(const struct coir_space *s, uint64_t ahead)
{
    return s->count[FREE] + s->ready < coir_space_reserve_size(s) + ahead && coir_space_to_grow(s, false, 0) >= 0;
}

void coir_space_by_long(struct coir_space *s, uint64_t blocks)
{
    s->last->long_blocks += blocks;
}

uint64_t coir_space_long_fresh(const struct coir_space *s)
{
    return s->last->long_blocks;
}

/* ---- counting ---------------------------------------------------------------------------------------- */

uint64_t coir_space_reserve_size(const struct coir_space *s)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < s->files; i++)
        pages += s->file[i].grown / BITS + 1;
    return 2 * s->cap + pages;
}

uint64_t coir_space_dirty_cap(const struct coir_space *s)
{
    return s->cap;
}

uint64_t coir_space_grown_to(const struct coir_space *s, unsigned file)
{
    COIR_ASSERT(file < s->files);
    return s->file[file].grown;
}

void coir_space_count(const struct coir_space *s, int file, struct coir_space_counts *counts)
{
    *counts = (struct coir_space_counts){ 0 };
    for (unsigned i = 0; i < s->files; i++) {
        const struct file *const f = &s->file[i];
        const uint64_t ungrown = f->blocks - f->grown;

        if (file >= 0 && (unsigned)file != i)
            continue;
        counts->free += f->count[FREE] + f->ready;
        counts->reserved += f->count[RESERVED] - ungrown - f->awaiting - f->held - f->ready;
        counts->live += f->count[LIVE];
        counts->fresh += f->count[FRESH];
        counts->awaiting += f->awaiting;
        counts->held += f->held;
        counts->ungrown += ungrown;
    }
}
