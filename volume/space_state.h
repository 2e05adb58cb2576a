/* SPDX-License-Identifier: MIT */
/*
 * The inside of a space, for the files volume/space*.c alone. Invariants, which space_verify.c checks:
 *
 *   1. A block's state is two bits, one in each plane of its page. Blocks before `data` and beyond `blocks` are LIVE,
 *      so that the map on the medium is both planes ANDed; blocks from `grown` on are RESERVED.
 *   2. A page without planes has only free blocks, if it lies in [data, grown); only fixed ones if before or beyond.
 *      A page that holds a border of one of the three has planes.
 *   3. page.count counts all of the page's blocks, file.count those in [data, blocks), space.count all files'.
 *   4. group[k] has every page with a free, aligned group of 2^k blocks, and perhaps others. whole, fresh and dirty
 *      are exact: all free; some fresh; live bits changed since the last freeze.
 *   5. What is in a list of struct coir_space_reads is RESERVED, and in no other list. Only the last one is open.
 *   6. A page of the frozen map that is `pending` has not changed since the freeze, but in its sums: its FRESH bits
 *      count as RESERVED, and are in no list yet.
 *   7. `ready` blocks may be given out, and are made FREE as reservations come: so nobody has to do it all at once.
 */
#ifndef COIR_VOLUME_SPACE_STATE_H
#define COIR_VOLUME_SPACE_STATE_H

#include "volume/pages.h"
#include "volume/space.h"

#include "runtime/base/assert.h"

enum state { FREE, RESERVED, FRESH, LIVE, STATES };

enum {
    BITS = COIR_MAP_BITS,
    WORDS = BITS / 64,
    ORDERS = COIR_VOLUME_SHIFT_MAX - COIR_BLOCK_SHIFT + 1,
};
_Static_assert(COIR_LONG == 1 << (ORDERS - 1), "a long run has a group of the highest order, or nearly");

struct planes {
    uint64_t lo[WORDS], hi[WORDS];              /* a block's state is hi * 2 + lo */
    uint64_t some[WORDS / 64 + 1];              /* a bit a word: it has a free block */
};

struct page {
    struct planes *planes;
    uint16_t count[STATES];                     /* not kept without planes */
    uint32_t pending;                           /* i + 1: page i of the frozen map, not copied yet */
};

struct file {
    uint64_t blocks, data, grown;
    uint64_t pages;
    struct page *page;
    uint64_t count[STATES];
    uint64_t awaiting, held, ready;             /* of the RESERVED */
    struct coir_pages group[ORDERS], whole, fresh, dirty;
    uint64_t small, large;                      /* where the next small, or large, reservation looks first */
    bool stuck;
};

/* Superseded blocks of one page: few as their numbers in the page, many as bits. */
struct held {
    unsigned file;
    unsigned n;
    uint64_t page;
    union {
        uint16_t *at;                           /* n <= HELD_LISTED: rising */
        uint64_t *bits;                         /* WORDS of them */
    };
};
enum { HELD_LISTED = BITS / 16 };

/*
 * The reads that began between two freezes, and the blocks that were superseded meanwhile. They are in a list, the
 * oldest first, the open one last. When the first one is durable and has no reads its blocks are ready, and it goes
 * to the end of another list.
 */
struct coir_space_reads {
    struct coir_space_reads *next;
    uint64_t reads;
    uint64_t lsn;                               /* of the freeze; of the open one: highest that superseded */
    uint64_t long_blocks;                       /* that were superseded by what is long */
    bool frozen, durable;
    size_t n, swept;                            /* `swept`: of the pages, those whose blocks are FREE already */
    struct held *pages;
    void *memory;                               /* what their lists lie in */
};

struct coir_space {
    unsigned files, at;                         /* `at`: the file that is given out from */
    uint64_t turn;                              /* blocks until it is the next one's turn */
    struct file *file;
    uint64_t count[STATES], awaiting, held, ready;      /* of all files */
    uint64_t lsn;                               /* of the last freeze */
    uint64_t cap;
    struct coir_frozen *frozen;                 /* under way, or NULL */
    struct coir_space_reads *first, *last;
    struct coir_space_reads *sweep, **sweep_end;
    void (*freed)(void *arg);
    void *arg;
};

/* Gives a page planes, if it has none. 0 or -ENOMEM. */
int coir_space_page(struct file *f, uint64_t page);

/* Copies a pending page as it was at the freeze, and lists what is superseded in it. */
void coir_space_settle(struct coir_space *s, struct page *page);

/* Makes blocks that are ready FREE: of at most `pages` pages. */
void coir_space_sweep(struct coir_space *s, size_t pages);

/* Changes blocks from one state to another, those of a page with planes, or those of one word of it. Stops the program
 * if one of them is in another state. */
void coir_space_change(struct coir_space *s, struct file *f, uint64_t block, uint64_t blocks, enum state from,
                       enum state to);
void coir_space_change_word(struct coir_space *s, struct file *f, uint64_t page, unsigned word, uint64_t mask,
                            enum state from, enum state to);

/* The free ones of the groups of 2^shift bits in a word: a group's first bit stands for it. */
static inline uint64_t coir_groups(uint64_t free, unsigned shift)
{
    static const uint64_t first[ORDERS] = {
        ~(uint64_t)0, 0x5555555555555555, 0x1111111111111111, 0x0101010101010101, 0x0001000100010001,
    };

    for (unsigned k = 0; k < shift; k++)
        free &= free >> ((uint64_t)1 << k);
    return free & first[shift];
}

static inline uint64_t coir_free_bits(const struct planes *planes, unsigned word)
{
    return ~(planes->lo[word] | planes->hi[word]);
}

#endif
