/* SPDX-License-Identifier: MIT */
/*
 * A table from addresses to numbers, for who writes a trace: which operation began there, who woke the task there. It
 * has room for so many and no more, and what it says does not depend on where things lie.
 */
#ifndef COIR_RUNTIME_SEE_PAIRS_H
#define COIR_RUNTIME_SEE_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/torture.h"

enum { COIR_PAIRS_SLOTS = 2 * COIR_TRACE_PAIRS };
_Static_assert((COIR_PAIRS_SLOTS & (COIR_PAIRS_SLOTS - 1)) == 0, "slots are masked");

struct coir_pairs {
    struct coir_pair { uint64_t key, value; } *slot;    /* a key of 0: free; kept where probing finds it */
    unsigned n;
};

/* False: no memory. */
static inline bool coir_pairs_init(struct coir_pairs *p)
{
    p->n = 0;
    p->slot = calloc(COIR_PAIRS_SLOTS, sizeof *p->slot);
    return p->slot;
}

static inline void coir_pairs_clear(struct coir_pairs *p)
{
    if (p->n)
        memset(p->slot, 0, COIR_PAIRS_SLOTS * sizeof *p->slot);
    p->n = 0;
}

static inline unsigned coir_pairs_home(uint64_t key)
{
    return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (COIR_PAIRS_SLOTS - 1);
}

static inline unsigned coir_pairs_find(const struct coir_pairs *p, uint64_t key)
{
    unsigned i = coir_pairs_home(key);

    while (p->slot[i].key && p->slot[i].key != key)
        i = (i + 1) & (COIR_PAIRS_SLOTS - 1);
    return i;
}

/* Remembers `value`, which is not 0, instead of what was there. False: there is no room. */
static inline bool coir_pairs_set(struct coir_pairs *p, uint64_t key, uint64_t value)
{
    struct coir_pair *at = &p->slot[coir_pairs_find(p, key)];

    if (!at->key && p->n == COIR_TRACE_PAIRS)
        return false;
    p->n += !at->key;
    *at = (struct coir_pair){ key, value };
    return true;
}

/* Forgets it. 0: there is none. */
static inline uint64_t coir_pairs_take(struct coir_pairs *p, uint64_t key)
{
    unsigned hole = coir_pairs_find(p, key), i = hole;
    const uint64_t value = p->slot[hole].value;

    if (!p->slot[hole].key)
        return 0;
    p->n--;
    /* Whoever was put off by it moves up: who lies farther from home than the hole is. */
    for (;;) {
        i = (i + 1) & (COIR_PAIRS_SLOTS - 1);
        if (!p->slot[i].key)
            break;
        const unsigned far = (i - coir_pairs_home(p->slot[i].key)) & (COIR_PAIRS_SLOTS - 1);
        if (far < ((i - hole) & (COIR_PAIRS_SLOTS - 1)))
            continue;
        p->slot[hole] = p->slot[i];
        hole = i;
    }
    p->slot[hole] = (struct coir_pair){ 0, 0 };
    return value;
}

#endif
