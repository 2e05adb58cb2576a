/* SPDX-License-Identifier: MIT */
/*
 * Freezing, and what is free after it. Rule 7 stands here: superseded blocks may be given out again by one function,
 * release(), and there only those of a list that is durable, has no reads, and has no list before it. So a read, which
 * is counted in the list that was open when it began, holds that list and all later ones, and needs no list of its
 * blocks.
 */
#include "volume/space_state.h"

#include "device/rules.h"

#include <string.h>

/* ---- reads ------------------------------------------------------------------------------------------- */

static void make_free(struct coir_space *s, const struct held *held)
{
    struct file *const f = &s->file[held->file];

    f->ready -= held->n;
    s->ready -= held->n;
    if (held->n > HELD_LISTED) {
        for (unsigned word = 0; word < WORDS; word++)
            if (held->bits[word])
                coir_space_change_word(s, f, held->page, word, held->bits[word], RESERVED, FREE);
        return;
    }
    for (unsigned i = 0; i < held->n;) {
        const unsigned word = held->at[i] / 64;
        uint64_t mask = 0;

        for (; i < held->n && held->at[i] / 64 == word; i++)
            mask |= (uint64_t)1 << held->at[i] % 64;
        coir_space_change_word(s, f, held->page, word, mask, RESERVED, FREE);
    }
}

void coir_space_sweep(struct coir_space *s, size_t pages)
{
    while (s->sweep && pages > 0) {
        struct coir_space_reads *const reads = s->sweep;

        for (; reads->swept < reads->n && pages > 0; pages--)
            make_free(s, &reads->pages[reads->swept++]);
        if (reads->swept < reads->n)
            break;
        s->sweep = reads->next;
        if (!s->sweep)
            s->sweep_end = &s->sweep;
        free(reads->pages);
        free(reads->memory);
        free(reads);
    }
}

/* The next long reservations look first where what long writes have superseded has just become ready: what was written
 * not long ago is in the page cache, and the store does not wander over all that its files have. But not among many
 * short ones. */
static void look_here_first(struct coir_space *s, const struct coir_space_reads *reads)
{
    uint64_t blocks = 0;

    for (size_t i = 0; i < reads->n; i++)
        blocks += reads->pages[i].n;
    if (reads->long_blocks <= blocks / 2)
        return;
    for (size_t i = reads->n; i-- > 0;)
        s->file[reads->pages[i].file].large = reads->pages[i].page * BITS;
}

/* What nothing holds any more is ready. */
static void release(struct coir_space *s)
{
    const uint64_t before = s->ready;

    while (s->first->durable && s->first->reads == 0) {
        struct coir_space_reads *const reads = s->first;

        for (size_t i = 0; i < reads->n; i++) {
            struct file *const f = &s->file[reads->pages[i].file];

            f->held -= reads->pages[i].n;
            f->ready += reads->pages[i].n;
            s->held -= reads->pages[i].n;
            s->ready += reads->pages[i].n;
        }
        look_here_first(s, reads);
        s->first = reads->next;
        reads->next = NULL;
        *s->sweep_end = reads;
        s->sweep_end = &reads->next;
    }
    if (s->ready > before && s->freed)
        s->freed(s->arg);
}

struct coir_space_reads *coir_space_read(struct coir_space *s)
{
    s->last->reads += COIR_RULE(REUSE_AFTER_READS);
    return s->last;
}

void coir_space_read_ends(struct coir_space *s, struct coir_space_reads *ticket)
{
    if (!COIR_RULE(REUSE_AFTER_READS))
        return;
    COIR_ASSERT(ticket->reads > 0);
    if (--ticket->reads == 0)
        release(s);
}

/* ---- freezing ---------------------------------------------------------------------------------------- */

/* Bytes for the list of a page's n superseded blocks, a multiple of 8. */
static size_t list_size(unsigned n)
{
    return n > HELD_LISTED ? WORDS * 8 : (n * sizeof(uint16_t) + 7) / 8 * 8;
}

/* Dirty pages, and bytes for the lists of what is fresh in them. */
static void measure(const struct coir_space *s, size_t *pages, size_t *size)
{
    *pages = *size = 0;
    for (unsigned i = 0; i < s->files; i++) {
        const struct file *const f = &s->file[i];

        for (uint64_t p = coir_pages_next(&f->dirty, 0); p < f->pages; p = coir_pages_next(&f->dirty, p + 1)) {
            ++*pages;
            *size += list_size(f->page[p].count[FRESH]);
        }
    }
}

/* The memory of a freeze, for what is dirty now. NULL: there is none. */
static struct coir_frozen *make_frozen(const struct coir_space *s, struct coir_space_reads *list)
{
    struct coir_frozen *const frozen = calloc(1, sizeof *frozen);
    size_t pages, size;

    measure(s, &pages, &size);
    if (!frozen)
        return NULL;
    frozen->pages = malloc(pages * sizeof *frozen->pages + 1);
    frozen->images = aligned_alloc(COIR_BLOCK, (pages + 1) * sizeof *frozen->images);
    list->pages = malloc(pages * sizeof *list->pages + 1);
    list->memory = malloc(size + 1);
    if (frozen->pages && frozen->images && list->pages && list->memory)
        return frozen;
    free(list->memory);
    free(list->pages);
    free(frozen->images);
    free(frozen->pages);
    free(frozen);
    list->memory = list->pages = NULL;
    return NULL;
}

/* A dirty page is not dirty any more, but pending, and what is fresh in it belongs to the list. */
static void freeze_page(struct coir_space *s, struct file *f, uint64_t number, struct held *held)
{
    struct page *const page = &f->page[number];
    const uint16_t n = page->count[FRESH];

    coir_pages_drop(&f->dirty, number);
    coir_pages_drop(&f->fresh, number);
    s->frozen->pages[s->frozen->n] = (struct coir_frozen_page){ (unsigned)(f - s->file), number, n ? held : NULL };
    page->pending = (uint32_t)++s->frozen->n;
    page->count[FRESH] = 0;
    page->count[RESERVED] = (uint16_t)(page->count[RESERVED] + n);
    f->count[FRESH] -= n;
    f->count[RESERVED] += n;
    f->awaiting += n;
    s->count[FRESH] -= n;
    s->count[RESERVED] += n;
    s->awaiting += n;
}

static void freeze_pages(struct coir_space *s, struct coir_space_reads *list)
{
    char *memory = list->memory;

    for (unsigned i = 0; i < s->files; i++) {
        struct file *const f = &s->file[i];

        for (uint64_t p = coir_pages_next(&f->dirty, 0); p < f->pages; p = coir_pages_next(&f->dirty, p + 1)) {
            const unsigned n = f->page[p].count[FRESH];
            struct held *const held = &list->pages[list->n];

            freeze_page(s, f, p, held);
            if (n == 0)
                continue;
            *held = (struct held){ .file = i, .page = p, .n = n, .at = (uint16_t *)(void *)memory };
            memory += list_size(n);
            list->n++;
        }
    }
}

/* The checkpoint of this list, and of those before it, is durable: what they list is only held by reads now. */
static void mark_durable(struct coir_space *s, const struct coir_space_reads *last)
{
    for (struct coir_space_reads *reads = s->first;; reads = reads->next) {
        COIR_ASSERT(reads && reads->frozen);
        for (size_t i = 0; i < reads->n && !reads->durable; i++) {
            const struct held *const held = &reads->pages[i];

            s->file[held->file].awaiting -= held->n;
            s->file[held->file].held += held->n;
            s->awaiting -= held->n;
            s->held += held->n;
        }
        reads->durable = true;
        if (reads == last)
            break;
    }
}

int coir_space_freeze(struct coir_space *s, uint64_t lsn, struct coir_frozen **out)
{
    struct coir_space_reads *const next = calloc(1, sizeof *next);

    COIR_ASSERT(!s->frozen);
    COIR_ASSERT(lsn >= s->lsn && lsn >= s->last->lsn);
    s->frozen = next ? make_frozen(s, s->last) : NULL;
    if (!s->frozen) {
        free(next);
        return -ENOMEM;
    }
    s->frozen->lsn = lsn;
    s->frozen->live = s->count[LIVE];
    s->frozen->last = s->last;
    freeze_pages(s, s->last);
    s->last->lsn = s->lsn = lsn;
    s->last->frozen = true;
    s->last->next = next;
    s->last = next;
    next->lsn = lsn;
    *out = s->frozen;
    if (!COIR_RULE(REUSE_AFTER_DURABLE)) {
        for (uint64_t i = 0; i < s->frozen->n; i++)
            coir_space_image(s, s->frozen, i);
        mark_durable(s, s->frozen->last);
        release(s);
    }
    return 0;
}

void coir_space_settle(struct coir_space *s, struct page *page)
{
    struct planes *const planes = page->planes;
    struct coir_frozen_page *const frozen = &s->frozen->pages[page->pending - 1];
    struct coir_disk_map *const image = &s->frozen->images[page->pending - 1];
    struct held *const held = frozen->held;
    unsigned n = 0;

    page->pending = 0;
    memset(image, 0, offsetof(struct coir_disk_map, bits));
    image->page = frozen->page;
    for (unsigned word = 0; word < WORDS; word++) {
        const uint64_t lo = planes->lo[word], hi = planes->hi[word], fresh = hi & ~lo;

        image->bits[word] = lo & hi;
        planes->lo[word] = lo | fresh;
        planes->hi[word] = hi & lo;
        if (held && held->n > HELD_LISTED)
            held->bits[word] = fresh;
        else
            for (uint64_t rest = fresh; rest; rest &= rest - 1)
                held->at[n++] = (uint16_t)(word * 64 + (unsigned)__builtin_ctzll(rest));
    }
    COIR_ASSERT(!held || held->n > HELD_LISTED || n == held->n);
}

struct coir_disk_map *coir_space_image(struct coir_space *s, struct coir_frozen *frozen, uint64_t i)
{
    struct page *const page = &s->file[frozen->pages[i].file].page[frozen->pages[i].page];

    COIR_ASSERT(frozen == s->frozen && i < frozen->n);
    if (page->pending)
        coir_space_settle(s, page);
    return &frozen->images[i];
}

/* ---- and after it ------------------------------------------------------------------------------------ */

/* The end of a freeze: nothing is pending any more. */
static void end_freeze(struct coir_space *s, struct coir_frozen *frozen)
{
    for (uint64_t i = 0; i < frozen->n; i++)
        coir_space_image(s, frozen, i);
    free(frozen->pages);
    free(frozen->images);
    free(frozen);
    s->frozen = NULL;
}

void coir_space_durable(struct coir_space *s, struct coir_frozen *frozen)
{
    struct coir_space_reads *const last = frozen->last;

    end_freeze(s, frozen);
    if (COIR_RULE(REUSE_AFTER_DURABLE))
        mark_durable(s, last);
    release(s);
}

void coir_space_thaw(struct coir_space *s, struct coir_frozen *frozen)
{
    for (uint64_t i = 0; i < frozen->n; i++)
        coir_pages_add(&s->file[frozen->pages[i].file].dirty, frozen->pages[i].page);
    end_freeze(s, frozen);
}
