/* SPDX-License-Identifier: MIT */
/*
 * What the allocator of volumes costs: ns for each reservation of one block, of 16 in a row, and of one volume block
 * of 64 KiB, on a map of 1 TiB that is empty, half full at random, 99% full at random, or full but for one block in
 * each GiB; and what a checkpoint takes of the shard after all pages have changed. Prints a table.
 *
 *     ninja -C build/release libcoirvol.a
 *     gcc -O2 -g -D_GNU_SOURCE -I. -Iinclude bench/space.c build/release/libcoirvol.a -lisal -lblkid -o build/space
 */
#include "volume/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t TIB = ((uint64_t)1 << 40) / COIR_BLOCK;
enum { DATA = 82688, ROUNDS = 200000 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t draw(void)
{
    static uint64_t x = 88172645463325252;

    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

/* A TiB of which `percent` are live, at random; 100: all but one block in each GiB. */
static struct coir_space *make(unsigned percent)
{
    static uint64_t bits[COIR_MAP_BITS / 64];
    struct coir_space *space = NULL;

    if (coir_space_create(&space, &(struct coir_space_file){ TIB, DATA, TIB }, 1) < 0)
        exit(1);
    for (uint64_t page = DATA / COIR_MAP_BITS; percent && page <= (TIB - 1) / COIR_MAP_BITS; page++) {
        memset(bits, 0, sizeof bits);
        for (unsigned i = 0; i < COIR_MAP_BITS; i++) {
            const uint64_t block = page * COIR_MAP_BITS + i;
            const bool live = percent == 100 ? block % (1 << 18) != 77 : draw() % 100 < percent;

            bits[i / 64] |= (uint64_t)(live || block < DATA || block >= TIB) << i % 64;
        }
        if (coir_space_load(space, 0, page, bits) < 0)
            exit(1);
    }
    return space;
}

/* Mean ns of reserving and using, and how many runs were given. */
static void reserve(struct coir_space *space, unsigned shift, uint64_t n)
{
    struct coir_run run[16];
    unsigned done = 0, runs = 0;

    const double begun = now();
    while (done < ROUNDS) {
        const int r = coir_space_reserve(space, COIR_SPACE_CHECKPOINT, shift, n, run, 16);

        if (r < 0)
            break;
        done++;
        runs += (unsigned)r;
        for (int i = 0; i < r; i++)
            coir_space_use(space, run[i].address, run[i].blocks);
    }
    printf(" %6u %7.0f %5.2f |", done, done ? (now() - begun) / done : 0, done ? (double)runs / done : 0);
}

static void freeze(struct coir_space *space)
{
    struct coir_frozen *frozen;

    for (unsigned i = 0; i < 1000000; i++) {
        const uint64_t block = DATA + draw() % (TIB - DATA);

        if (coir_space_is_live(space, block, 1))
            coir_space_supersede(space, block, 1, 1);
        else if (coir_space_claim(space, block, 1) == 0)
            coir_space_use(space, block, 1);
    }
    const double begun = now();
    if (coir_space_freeze(space, 1, &frozen) < 0)
        exit(1);
    const double froze = now();
    const uint64_t pages = frozen->n;
    for (uint64_t i = 0; i < pages; i++)
        coir_space_image(space, frozen, i);
    const double copied = now();
    coir_space_durable(space, frozen);
    printf(" %4u %6.2f %6.2f %6.2f\n", (unsigned)pages, (froze - begun) / 1e6, (copied - froze) / 1e6,
           (now() - copied) / 1e6);
}

int main(void)
{
    const unsigned percents[] = { 0, 50, 99, 100 };

    printf("      reservations: how many, ns for reserving and using, runs given               after 10^6 changes\n"
           "full           1 block              16 in a row          64 KiB, aligned   pages; ms: freeze copy free\n");
    for (unsigned i = 0; i < 4; i++) {
        struct coir_space *const space = make(percents[i]);

        printf("%3u%% |", percents[i]);
        reserve(space, 0, 1);
        reserve(space, 0, 16);
        reserve(space, 4, 1);
        freeze(space);
        coir_space_destroy(space);
    }
    return 0;
}
