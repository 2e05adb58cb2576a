/* SPDX-License-Identifier: MIT */
/*
 * The allocator, case by case, in a store of 64 MiB whose numbers were worked out by hand: 14,848 blocks from block
 * 1,536 on, at most 232 dirty nodes, so 465 blocks are kept from writes and 232 from unmaps.
 */
#include "volume/space.h"

#include "tap.h"

#include <errno.h>

enum { BLOCKS = 16384, DATA = 1536, ALL = BLOCKS - DATA, KEPT = 2 * 232 + 1 };

static struct coir_space *make(uint64_t grown)
{
    struct coir_space *space = NULL;

    EQ(coir_space_create(&space, &(struct coir_space_file){ BLOCKS, DATA, grown }, 1), 0, "a space");
    return space;
}

static struct coir_space_counts count(struct coir_space *space)
{
    struct coir_space_counts counts;

    coir_space_count(space, -1, &counts);
    STR_EQ(coir_space_verify(space), NULL, "all sums are right");
    return counts;
}

/* Reserves one run and uses it. */
static uint64_t put(struct coir_space *space, uint64_t blocks)
{
    struct coir_run run = { 0 };

    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, blocks, &run, 1), 1, "%d blocks in a row", (int)blocks);
    EQ(run.blocks, blocks, "all of them");
    coir_space_use(space, run.address, run.blocks);
    return run.address;
}

static void checkpoint(struct coir_space *space, uint64_t lsn)
{
    struct coir_frozen *frozen = NULL;

    EQ(coir_space_freeze(space, lsn, &frozen), 0, "frozen at %d", (int)lsn);
    coir_space_durable(space, frozen);
}

static void test_rows(void)
{
    struct coir_space *const space = make(BLOCKS);
    struct coir_run run[4];

    EQ(count(space).free, ALL, "all is free");
    EQ(coir_space_dirty_cap(space), 232, "dirty nodes");
    EQ(coir_space_reserve_size(space), KEPT, "what is kept");
    for (unsigned i = 0; i < 100; i++) {
        EQ(coir_space_reserve(space, COIR_SPACE_WRITE, 0, 1, run, 4), 1, "a block");
        EQ(run[0].address, DATA + i, "small ones lie one behind the other");
    }
    EQ(coir_space_reserve(space, COIR_SPACE_WRITE, 4, 1, run, 4), 1, "a block of 64 KiB");
    EQ(run[0].address, 1648, "the next multiple of 16 after 1,636");
    EQ(run[0].blocks, 16, "it has 16");
    EQ(coir_space_reserve(space, COIR_SPACE_WRITE, 0, 256, run, 4), 1, "a MiB in a row");
    EQ(run[0].blocks, 256, "all of it");
    const struct coir_space_counts counts = count(space);
    EQ(counts.reserved, 100 + 16 + 256, "reserved");
    EQ(counts.free, ALL - 372, "free");
    EQ(counts.live, 0, "nothing is live");
    coir_space_cancel(space, run[0].address, run[0].blocks);
    EQ(count(space).free, ALL - 116, "cancelled is free");
    coir_space_destroy(space);
}

static void test_classes(void)
{
    struct coir_space *const space = make(BLOCKS);
    struct coir_run run;

    put(space, ALL - KEPT - 1);
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 1), 0, "one block for writes");
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 2), -ENOSPC, "not two");
    put(space, 1);
    EQ(coir_space_reserve(space, COIR_SPACE_WRITE, 0, 1, &run, 1), -ENOSPC, "a write stops at the reserve");
    EQ(coir_space_check(space, COIR_SPACE_UNMAP, KEPT - KEPT / 2), 0, "an unmap does not");
    EQ(coir_space_check(space, COIR_SPACE_UNMAP, KEPT - KEPT / 2 + 1), -ENOSPC, "but at half of it");
    put(space, KEPT);
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, 1, &run, 1), -ENOSPC, "a checkpoint uses it all");
    const struct coir_space_counts counts = count(space);
    EQ(counts.live, ALL, "all is live");
    EQ(counts.free, 0, "nothing is free");
    coir_space_destroy(space);
}

static void test_reuse(void)
{
    struct coir_space *const space = make(BLOCKS);
    struct coir_frozen *frozen = NULL;
    struct coir_run run;

    const uint64_t all = put(space, ALL);
    coir_space_supersede(space, all, 100, 7);
    EQ(count(space).fresh, 100, "superseded");
    EQ(coir_space_check(space, COIR_SPACE_CHECKPOINT, 100), -EAGAIN, "awaits a checkpoint");
    EQ(coir_space_check(space, COIR_SPACE_CHECKPOINT, 101), -ENOSPC, "which would not be enough for more");
    EQ(coir_space_freeze(space, 7, &frozen), 0, "frozen at 7");
    EQ(frozen->live, ALL - 100, "the map has what is live");
    EQ(frozen->n, 1, "one page");
    EQ(coir_space_image(space, frozen, 0)->bits[DATA / 64], ~(uint64_t)0 << 36 << 28, "the first 64 are not");
    EQ(coir_space_image(space, frozen, 0)->bits[DATA / 64 - 1], ~(uint64_t)0, "what is before the data is 1");
    EQ(coir_space_image(space, frozen, 0)->bits[BLOCKS / 64], ~(uint64_t)0, "what is beyond the file is 1");
    coir_space_supersede(space, all + 100, 50, 8);
    EQ(count(space).awaiting, 100, "frozen is not free");
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, 1, &run, 1), -EAGAIN, "nor given out");
    coir_space_durable(space, frozen);
    struct coir_space_counts counts = count(space);
    EQ(counts.free, 100, "durable: what 7 superseded is free");
    EQ(counts.fresh, 50, "what 8 did is not");
    put(space, 100);
    EQ(coir_space_freeze(space, 8, &frozen), 0, "frozen at 8");
    coir_space_thaw(space, frozen);
    counts = count(space);
    EQ(counts.awaiting, 50, "the map was not written: nothing is free");
    EQ(coir_space_freeze(space, 8, &frozen), 0, "again at 8");
    EQ(frozen->n, 1, "the page is in it again");
    coir_space_durable(space, frozen);
    EQ(count(space).free, 50, "now it is");
    coir_space_destroy(space);
}

static void test_long_runs(void)
{
    struct coir_space *const space = make(BLOCKS);
    const uint64_t first = put(space, 200), second = put(space, 100), single = put(space, 1);

    EQ(coir_space_long_fresh(space), 0, "nothing is superseded");
    coir_space_supersede(space, single, 1, 1);
    EQ(coir_space_long_fresh(space), 0, "by something short");
    coir_space_supersede(space, second, 31, 2);
    coir_space_supersede(space, first, 200, 2);
    coir_space_by_long(space, 231);
    EQ(coir_space_long_fresh(space), 231, "by something long");
    checkpoint(space, 3);
    EQ(coir_space_long_fresh(space), 0, "the checkpoint gives them back");
    EQ(put(space, 150), first, "long ones go where long ones have just become free");
    EQ(put(space, 50), first + 150, "and on from there");
    EQ(put(space, 31), second, "and on");
    EQ(put(space, 1), single + 1, "small ones do not: they lie one behind the other");
    checkpoint(space, 3);
    EQ(put(space, 16), single + 2, "a checkpoint that gives nothing back changes nothing");
    coir_space_supersede(space, first, 10, 4);
    checkpoint(space, 4);
    EQ(put(space, 16), single + 18, "nor one that gives back only small ones");
    for (unsigned i = 0; i < 17; i++)
        coir_space_supersede(space, first + 20 + 2 * i, 1, 5);
    coir_space_supersede(space, first + 100, 17, 5);
    coir_space_by_long(space, 17);
    checkpoint(space, 5);
    EQ(put(space, 16), single + 34, "nor one that gives back as many for small ones");
    for (unsigned i = 0; i < 39; i++)
        coir_space_supersede(space, first + 21 + 2 * i + (i > 15), 1, 6);
    coir_space_supersede(space, first + 120, 64, 6);
    coir_space_by_long(space, 103);
    checkpoint(space, 6);
    EQ(put(space, 64), first + 120, "a hole that is long enough is found behind many that are not, and all of it used");
    EQ(coir_space_verify(space) == NULL, true, "all sums are right");
    coir_space_destroy(space);
}

static void note(void *arg)
{
    ++*(int *)arg;
}

static void test_reads(void)
{
    struct coir_space *const space = make(BLOCKS);
    const uint64_t all = put(space, ALL);
    int freed = 0;

    coir_space_on_free(space, note, &freed);
    struct coir_space_reads *const first = coir_space_read(space);
    coir_space_supersede(space, all, 10, 1);
    checkpoint(space, 1);
    EQ(count(space).held, 10, "a read that began before holds them");
    EQ(coir_space_check(space, COIR_SPACE_CHECKPOINT, 10), -EBUSY, "which the error says");
    EQ(coir_space_check(space, COIR_SPACE_CHECKPOINT, 11), -ENOSPC, "unless it would not be enough");
    struct coir_space_reads *const second = coir_space_read(space), *const third = coir_space_read(space);
    coir_space_supersede(space, all + 10, 20, 2);
    checkpoint(space, 2);
    EQ(count(space).held, 30, "and the next ones too");
    EQ(freed, 0, "nothing was freed");
    coir_space_read_ends(space, first);
    EQ(count(space).free, 10, "it is over: what the first one held");
    EQ(freed, 1, "which was told");
    coir_space_read_ends(space, third);
    EQ(count(space).held, 20, "one of two is not enough");
    struct coir_space_reads *const fourth = coir_space_read(space);
    coir_space_read_ends(space, second);
    EQ(count(space).free, 30, "a read that began later holds nothing of it");
    EQ(freed, 2, "which was told");
    coir_space_read_ends(space, fourth);

    struct coir_space_reads *const late = coir_space_read(space);
    coir_space_read_ends(space, late);
    coir_space_supersede(space, all + 30, 1, 3);
    EQ(count(space).fresh, 1, "an end does not free what awaits a checkpoint");
    coir_space_destroy(space);
}

/* Aligned volume blocks, when what is free lies scattered. */
static void test_scattered(void)
{
    struct coir_space *const space = make(BLOCKS);
    struct coir_run run[2000];
    const uint64_t all = put(space, ALL);

    for (unsigned i = 0; i < 1000; i++)
        coir_space_supersede(space, all + 8 * i + 1, 4, 1);     /* 1, 2, 3, 4 of each 8: one aligned pair */
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 2, 1, run, 1), -EAGAIN, "four in a row await");
    checkpoint(space, 1);
    EQ(count(space).free, 4000, "4,000 are free");
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 2, 1, run, 1), -ENOSPC, "but no four that are aligned");
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 1, 1000, run, 2000), 1000, "a thousand pairs");
    for (unsigned i = 0; i < 1000; i++)
        if (run[i].address % 8 != 2 || run[i].blocks != 2)
            OK(false, "pair %u is at %d", i, (int)run[i].address);
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 1, 1, run, 2), -ENOSPC, "there is no other");
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, 2000, run, 100), 100, "no more runs than there is room for");
    EQ(count(space).free, 1900, "these were given");
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, 1901, run, 100), -ENOSPC, "nor more than there are");
    EQ(count(space).free, 1900, "and then nothing is taken");
    coir_space_destroy(space);
}

static void test_growth(void)
{
    struct coir_space *const space = make(2048);
    struct coir_run run;

    struct coir_space_counts counts = count(space);
    EQ(counts.free, 512, "what is on the medium");
    EQ(counts.ungrown, ALL - 512, "what is not");
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 512 - KEPT), 0, "a write leaves the reserve alone");
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 512 - KEPT + 1), -EFBIG, "or has the file grow");
    EQ(coir_space_is_short(space, 512 - KEPT), false, "not short");
    EQ(coir_space_is_short(space, 512 - KEPT + 1), true, "short");
    EQ(coir_space_to_grow(space, false, 0), 0, "the file may grow");
    coir_space_stuck(space, 0);
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 512 - KEPT + 1), -ENOSPC, "it could not");
    EQ(coir_space_to_grow(space, false, 0), -1, "so it is not asked again");
    EQ(coir_space_to_grow(space, true, 0), 0, "but by who says so");
    EQ(coir_space_is_short(space, 5000), false, "and nothing is short");
    EQ(coir_space_grown(space, 0, 2304), 0, "later it can");
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 512 - KEPT + 256), 0, "which heals it");
    EQ(coir_space_check(space, COIR_SPACE_WRITE, 512 - KEPT + 257), -EFBIG, "and it may grow again");
    put(space, 768);
    EQ(coir_space_reserve(space, COIR_SPACE_CHECKPOINT, 0, 1, &run, 1), -EFBIG, "nothing beyond is given out");
    EQ(coir_space_grown(space, 0, BLOCKS), 0, "as large as it may be");
    EQ(coir_space_check(space, COIR_SPACE_CHECKPOINT, ALL - 767), -ENOSPC, "then it is full");
    EQ(coir_space_to_grow(space, true, 0), -1, "and no file may grow");
    counts = count(space);
    EQ(counts.free, ALL - 768, "all the rest is free");
    coir_space_destroy(space);
}

static void test_claims(void)
{
    struct coir_space *const space = make(BLOCKS), *const other = make(4096);

    EQ(coir_space_claim(space, DATA + 5, 10), 0, "exactly these");
    EQ(coir_space_claim(space, DATA + 14, 2), -EEXIST, "once");
    EQ(coir_space_claim(space, DATA - 1, 2), -EINVAL, "not before the data");
    EQ(coir_space_claim(space, BLOCKS - 1, 2), -EINVAL, "not beyond the file");
    EQ(coir_space_claim(space, DATA, UINT64_MAX), -EINVAL, "not any number");
    EQ(coir_space_claim(space, DATA, 0), -EINVAL, "not none");
    EQ(coir_space_claim(space, COIR_ADDRESS(1, DATA), 1), -EINVAL, "not in a file that is not there");
    EQ(coir_space_claim(other, 4096, 1), -EINVAL, "not where a file has not grown to");
    EQ(count(space).reserved, 10, "the others took nothing");
    coir_space_use(space, DATA + 5, 10);
    EQ(coir_space_is_live(space, DATA + 5, 10), true, "live");
    EQ(coir_space_is_live(space, DATA + 4, 2), false, "not all of these");
    EQ(coir_space_is_live(space, UINT64_MAX, 2), false, "nor of these");

    uint64_t at = 0;
    EQ(coir_space_differ(space, other, &at), true, "they differ");
    EQ(at, DATA + 5, "where");
    EQ(coir_space_claim(other, DATA + 5, 9), 0, "the same but one");
    coir_space_use(other, DATA + 5, 9);
    at = 0;
    EQ(coir_space_differ(space, other, &at), true, "they differ still");
    EQ(at, DATA + 14, "where");
    at++;
    EQ(coir_space_differ(space, other, &at), false, "not behind it");
    coir_space_destroy(space);
    coir_space_destroy(other);
}

static void test_load(void)
{
    struct coir_space *space = make(4096);
    static uint64_t bits[COIR_MAP_BITS / 64];

    for (unsigned block = 0; block < COIR_MAP_BITS; block++)
        if (block < DATA + 3 || block >= BLOCKS)
            bits[block / 64] |= (uint64_t)1 << block % 64;
    EQ(coir_space_load(space, 0, 0, bits), 0, "a page");
    EQ(count(space).live, 3, "three are live");
    EQ(count(space).free, 4096 - DATA - 3, "the others free");
    EQ(put(space, 1), DATA + 3, "the next one");
    coir_space_destroy(space);
    space = make(4096);
    bits[4096 / 64] = 1;
    EQ(coir_space_load(space, 0, 0, bits), -EBADMSG, "in use where the file has not grown to");
    bits[4096 / 64] = 0;
    bits[BLOCKS / 64] &= ~(uint64_t)1;
    EQ(coir_space_load(space, 0, 0, bits), -EBADMSG, "free beyond the file");
    bits[BLOCKS / 64] |= 1;
    bits[2] = 0;
    EQ(coir_space_load(space, 0, 0, bits), -EBADMSG, "free before the data");
    EQ(count(space).live, 0, "and nothing was loaded");
    coir_space_destroy(space);
}

/* Two files, of 29 and 10 parts: both are filled to about the same part. */
static void test_files(void)
{
    const struct coir_space_file files[] = {
        { 30 * 4096, 4096, 30 * 4096 },
        { 11 * 4096 - 1024, 1024, 11 * 4096 - 1024 },
    };
    struct coir_space *space = NULL;
    struct coir_space_counts one, two;
    struct coir_run run;
    uint64_t last = 0;
    unsigned turns = 0;

    EQ(coir_space_create(&space, files, 2), 0, "two files");
    for (unsigned i = 0; i < 60000; i++) {
        if (coir_space_reserve(space, COIR_SPACE_WRITE, 0, 1, &run, 1) != 1)
            OK(false, "block %u", i);
        turns += run.address != last + 1;
        last = run.address;
    }
    coir_space_count(space, 0, &one);
    coir_space_count(space, 1, &two);
    EQ(one.reserved + two.reserved, 60000, "all of them");
    OK(one.reserved > 39000 && one.reserved < 51000, "of 29 and 10 parts the first one gave %d of 60,000",
       (int)one.reserved);
    OK(turns < 40, "in long runs: %u", turns);
    STR_EQ(coir_space_verify(space), NULL, "all sums are right");
    coir_space_destroy(space);
}

int main(void)
{
    test_rows();
    test_classes();
    test_reuse();
    test_long_runs();
    test_reads();
    test_scattered();
    test_growth();
    test_claims();
    test_load();
    test_files();
    return DONE();
}
