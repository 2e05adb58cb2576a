/* SPDX-License-Identifier: MIT */
/*
 * The table of who writes a trace, against a plain array: what was set is taken, once, whatever else came and went
 * beside it; when it is full it says so, and keeps what it has.
 */
#include "runtime/see/pairs.h"

#include "tap.h"

enum { KEYS = 4 * COIR_TRACE_PAIRS, ROUNDS = 40 * COIR_TRACE_PAIRS };

static uint64_t values[KEYS];            /* by the number of the key; 0: not there */

/* Addresses as frames have them: apart by a size, so that many share a home. */
static uint64_t key_of(uint32_t i)
{
    return UINT64_C(0x7f0000000000) + (uint64_t)i * 208;
}

static uint32_t draw(void)
{
    static uint64_t seed = 88172645463325252;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 20);
}

int main(void)
{
    struct coir_pairs p;
    unsigned n = 0, wrong = 0, full = 0;

    OK(coir_pairs_init(&p), "an empty table");
    EQ(coir_pairs_take(&p, key_of(1)), 0, "has nothing");
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        const uint32_t i = draw() % KEYS;
        if (draw() % 2) {
            const bool fits = values[i] || n < COIR_TRACE_PAIRS;
            wrong += coir_pairs_set(&p, key_of(i), round) != fits;
            n += fits && !values[i];
            values[i] = fits ? round : values[i];
            full += !fits;
        } else {
            wrong += coir_pairs_take(&p, key_of(i)) != values[i];
            n -= values[i] != 0;
            values[i] = 0;
        }
        wrong += p.n != n;
    }
    EQ(wrong, 0, "as the array says, %d times", ROUNDS);
    OK(full > 0, "it was full, %u times", full);
    for (uint32_t i = 0; i < KEYS; i++)
        wrong += coir_pairs_take(&p, key_of(i)) != values[i];
    EQ(wrong, 0, "what is left is all there");
    EQ(p.n, 0, "and then nothing is");
    for (uint32_t i = 0; i < 10; i++)
        coir_pairs_set(&p, key_of(i), i + 1);
    coir_pairs_clear(&p);
    EQ(coir_pairs_take(&p, key_of(3)), 0, "nor after it was cleared");
    free(p.slot);
    return DONE();
}
