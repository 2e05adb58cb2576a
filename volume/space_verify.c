/* SPDX-License-Identifier: MIT */
/*
 * Compares every bit of a space with every sum, set and list of it: the invariants of space_state.h. It assumes
 * nothing of what it checks but that pointers are good, and changes nothing but that it
 * copies what a freeze has not copied yet.
 */
#include "volume/space_state.h"

#include <string.h>

static enum state state_of(const struct page *page, uint64_t at)
{
    const uint64_t hi = page->planes->hi[at / 64] >> at % 64 & 1, lo = page->planes->lo[at / 64] >> at % 64 & 1;

    return (enum state)(hi * 2 + lo);
}

/* What a block beyond the borders must be; STATES: it is inside them. */
static enum state fixed_state(const struct file *f, uint64_t block)
{
    if (block < f->data || block >= f->blocks)
        return LIVE;
    return block >= f->grown ? RESERVED : STATES;
}

static const char *verify_sets(const struct file *f, uint64_t number)
{
    const struct page *const page = &f->page[number];
    bool group[ORDERS] = { false };

    for (unsigned word = 0; word < WORDS; word++) {
        const uint64_t free = coir_free_bits(page->planes, word);

        if ((page->planes->some[word / 64] >> word % 64 & 1) != (free != 0))
            return "the bit that says whether a word has free blocks is wrong";
        for (unsigned shift = 0; shift < ORDERS; shift++)
            group[shift] |= coir_groups(free, shift) != 0;
    }
    for (unsigned shift = 0; shift < ORDERS; shift++)
        if (group[shift] && !coir_pages_has(&f->group[shift], number))
            return "a page has a free group that searches do not know";
    return NULL;
}

/* A page with planes; adds what is inside the borders to `sum`. */
static const char *verify_page(const struct file *f, uint64_t number, uint64_t sum[STATES])
{
    const struct page *const page = &f->page[number];
    uint64_t count[STATES] = { 0 };

    for (uint64_t at = 0; at < BITS; at++) {
        const enum state state = state_of(page, at), fixed = fixed_state(f, number * BITS + at);

        if (fixed != STATES && state != fixed)
            return "a block beyond the borders of the data is not what it must be";
        count[state]++;
        if (fixed != LIVE)
            sum[state]++;
    }
    for (enum state state = FREE; state < STATES; state++)
        if (count[state] != page->count[state])
            return "a page's sum is wrong";
    if (coir_pages_has(&f->whole, number) != (count[FREE] == BITS))
        return "the set of pages that are free is wrong";
    if (coir_pages_has(&f->fresh, number) != (count[FRESH] > 0))
        return "the set of pages with superseded blocks is wrong";
    return verify_sets(f, number);
}

/* A page without planes. */
static const char *verify_absent(const struct file *f, uint64_t number, uint64_t sum[STATES])
{
    const enum state first = fixed_state(f, number * BITS), last = fixed_state(f, number * BITS + BITS - 1);
    const bool free = first == STATES;

    if (first != last)
        return "a page with a border has no bits";
    if (first != LIVE)
        sum[free ? FREE : RESERVED] += BITS;
    if (coir_pages_has(&f->whole, number) != free || coir_pages_has(&f->group[0], number) != free)
        return "a page without bits is not where searches look for it";
    if (coir_pages_has(&f->fresh, number) || coir_pages_has(&f->dirty, number))
        return "a page without bits has changed";
    return NULL;
}

static const char *verify_file(const struct file *f)
{
    uint64_t sum[STATES] = { 0 };

    for (uint64_t page = 0; page < f->pages; page++) {
        const char *const wrong = f->page[page].planes ? verify_page(f, page, sum) : verify_absent(f, page, sum);

        if (wrong)
            return wrong;
    }
    return memcmp(sum, f->count, sizeof sum) == 0 ? NULL : "a file's sums are wrong";
}

/* Marks the blocks of a list in `seen`, a bit a block of the file. */
static const char *verify_held(const struct file *f, const struct held *held, uint64_t *seen)
{
    unsigned n = 0;

    for (unsigned i = 0; i < BITS; i++) {
        const uint64_t block = held->page * BITS + i;
        const bool in = held->n > HELD_LISTED ? held->bits[i / 64] >> i % 64 & 1 : n < held->n && held->at[n] == i;

        if (!in)
            continue;
        n++;
        if (!f->page[held->page].planes || state_of(&f->page[held->page], i) != RESERVED
            || fixed_state(f, block) != STATES)
            return "a block that waits to be free is not reserved";
        if (seen[block / 64] >> block % 64 & 1)
            return "a block waits twice to be free";
        seen[block / 64] |= (uint64_t)1 << block % 64;
    }
    return n == held->n ? NULL : "a list of superseded blocks is wrong";
}

static const char *verify_lists(const struct coir_space *s, unsigned file)
{
    const struct file *const f = &s->file[file];
    uint64_t *const seen = calloc(f->blocks / 64 + 1, 8), held = 0, awaiting = 0, ready = 0;
    const char *wrong = seen ? NULL : "there is no memory to verify the space with";

    for (const struct coir_space_reads *reads = s->sweep; reads && !wrong; reads = reads->next) {
        if (!reads->durable || reads->reads > 0)
            wrong = "what is ready is not durable, or a read needs it";
        for (size_t i = reads->swept; i < reads->n && !wrong; i++)
            if (reads->pages[i].file == file) {
                ready += reads->pages[i].n;
                wrong = verify_held(f, &reads->pages[i], seen);
            }
    }

    for (const struct coir_space_reads *reads = s->first; reads && !wrong; reads = reads->next) {
        if (reads->frozen != (reads != s->last) || (reads->durable && !reads->frozen))
            wrong = "a list of superseded blocks is open that is not the last, or the last is not";
        for (size_t i = 0; i < reads->n && !wrong; i++)
            if (reads->pages[i].file == file) {
                *(reads->durable ? &held : &awaiting) += reads->pages[i].n;
                wrong = verify_held(f, &reads->pages[i], seen);
            }
    }
    free(seen);
    if (!wrong && (held != f->held || awaiting != f->awaiting || ready != f->ready))
        wrong = "the sum of what waits to be free is wrong";
    return wrong;
}

const char *coir_space_verify(struct coir_space *s)
{
    uint64_t sum[STATES] = { 0 }, held = 0, awaiting = 0, ready = 0;

    for (uint64_t i = 0; s->frozen && i < s->frozen->n; i++)
        coir_space_image(s, s->frozen, i);
    for (unsigned i = 0; i < s->files; i++) {
        const char *wrong = verify_file(&s->file[i]);

        wrong = wrong ? wrong : verify_lists(s, i);
        if (wrong)
            return wrong;
        for (enum state state = FREE; state < STATES; state++)
            sum[state] += s->file[i].count[state];
        held += s->file[i].held;
        awaiting += s->file[i].awaiting;
        ready += s->file[i].ready;
    }
    if (s->first->durable && s->first->reads == 0)
        return "what could be free is not";
    if (memcmp(sum, s->count, sizeof sum) != 0 || held != s->held || awaiting != s->awaiting
        || ready != s->ready)
        return "the sums of all files are wrong";
    return NULL;
}

/* The live bits of a word, those inside the borders. */
static uint64_t live_bits(const struct file *f, uint64_t page, unsigned word)
{
    const struct planes *const planes = f->page[page].planes;

    return planes ? planes->lo[word] & planes->hi[word] : 0;
}

bool coir_space_differ(const struct coir_space *a, const struct coir_space *b, uint64_t *address)
{
    uint64_t block = COIR_ADDRESS_BLOCK(*address);

    COIR_ASSERT(a->files == b->files);
    for (unsigned i = COIR_ADDRESS_FILE(*address); i < a->files; i++, block = 0) {
        const struct file *const fa = &a->file[i], *const fb = &b->file[i];

        COIR_ASSERT(fa->blocks == fb->blocks && fa->data == fb->data);
        block = block < fa->data ? fa->data : block;
        for (uint64_t page = block / BITS; page < fa->pages; page++) {
            if (!fa->page[page].planes && !fb->page[page].planes)
                continue;
            for (uint64_t at = page == block / BITS ? block % BITS : 0; at < BITS; at = (at / 64 + 1) * 64) {
                const unsigned word = (unsigned)(at / 64);
                const uint64_t inside = ~(uint64_t)0 << at % 64;
                const uint64_t other = (live_bits(fa, page, word) ^ live_bits(fb, page, word)) & inside;

                if (other) {
                    *address = COIR_ADDRESS(i, page * BITS + word * 64 + (unsigned)__builtin_ctzll(other));
                    return true;
                }
            }
        }
    }
    return false;
}
