/* SPDX-License-Identifier: MIT */
/*
 * The allocator against a model that has one byte a block and scans it: random reservations of all classes and sizes,
 * uses, cancels, superseded runs that are parts and joins of what was given out, reads, checkpoints that succeed or
 * fail, and growing files. After each operation every block that was given out must have been free by the model, the
 * error be the one that the model's sums ask for, and all sums be the model's; every so often coir_space_verify looks
 * at all of the inside. What the checkpoints wrote is kept as the medium would have it, and a space that is loaded
 * from it must be the one that was frozen.
 *
 *     test_volume_test_space_model [SEED]
 */
#include "volume/space.h"

#include "tap.h"

#include <errno.h>

enum { FILES = 3, MOST = 70000, STEPS = 24000, GIVEN = 3000, TICKETS = 12, FREEZES = 4000, RUNS = 40 };
enum { FREE, RESERVED, LIVE, GONE };    /* GONE: superseded, whatever it waits for */

static const uint64_t blocks_of[FILES] = { 69888, 33024, 4096 }, data_of[FILES] = { 1536, 768, 512 };

static struct model {
    uint64_t random;
    struct coir_space *space;
    unsigned char state[FILES][MOST];
    unsigned gone_in[FILES][MOST];              /* GONE: freezes that had been when it was superseded */
    uint64_t grown[FILES];
    bool stuck[FILES];
    struct coir_run given[GIVEN];               /* reserved, not yet used or cancelled */
    unsigned n;
    struct { struct coir_space_reads *ticket; unsigned since; } read[TICKETS];
    unsigned reads;
    struct coir_frozen *frozen;                 /* under way */
    unsigned freezes, durable;                  /* `durable`: what was superseded before that many freezes */
    unsigned char medium[FILES][MOST], before[FILES][MOST];      /* live as of the last durable; as of the freeze */
    uint64_t images[FILES][3][COIR_MAP_BITS / 64];
    bool written[FILES][3];
    uint64_t lsn;
    bool filling;
    unsigned answers[5];                        /* of reservations: none, and each error */
} m;

static uint64_t draw(uint64_t below)
{
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random * 0x2545F4914F6CDD1D % below;
}

/* ---- what the model knows ---------------------------------------------------------------------------- */

static struct coir_space_counts counted(unsigned file)
{
    struct coir_space_counts c = { .ungrown = blocks_of[file] - m.grown[file] };

    for (uint64_t b = data_of[file]; b < m.grown[file]; b++) {
        const unsigned in = m.gone_in[file][b];

        switch (m.state[file][b]) {
        case FREE: c.free++; break;
        case RESERVED: c.reserved++; break;
        case LIVE: c.live++; break;
        default: *(in < m.durable ? &c.held : in < m.freezes ? &c.awaiting : &c.fresh) += 1;
        }
    }
    return c;
}

/* Frees what a durable checkpoint and the reads allow. */
static void settle(void)
{
    unsigned oldest = m.freezes;

    for (unsigned i = 0; i < m.reads; i++)
        oldest = m.read[i].since < oldest ? m.read[i].since : oldest;
    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t b = data_of[f]; b < m.grown[f]; b++)
            if (m.state[f][b] == GONE && m.gone_in[f][b] < m.durable && m.gone_in[f][b] < oldest)
                m.state[f][b] = FREE;
}

static bool can_grow(void)
{
    for (unsigned f = 0; f < FILES; f++)
        if (!m.stuck[f] && m.grown[f] < blocks_of[f])
            return true;
    return false;
}

static bool has_group(unsigned shift)
{
    const uint64_t size = (uint64_t)1 << shift;

    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t b = data_of[f]; b < m.grown[f]; b += size) {
            uint64_t n = 0;

            while (n < size && m.state[f][b + n] == FREE)
                n++;
            if (n == size)
                return true;
        }
    return false;
}

static void count_answer(int r)
{
    m.answers[r >= 0 ? 0 : r == -EFBIG ? 1 : r == -EBUSY ? 2 : r == -EAGAIN ? 3 : 4]++;
}

/* What a reservation may answer: 0, or an error. */
static int allowed(enum coir_space_class who, uint64_t blocks)
{
    uint64_t kept = coir_space_reserve_size(m.space), all, free = 0, held = 0, waits = 0;

    for (unsigned f = 0; f < FILES; f++) {
        const struct coir_space_counts c = counted(f);

        free += c.free;
        held += c.held;
        waits += c.awaiting + c.fresh;
    }
    all = blocks + (who == COIR_SPACE_WRITE ? kept : who == COIR_SPACE_UNMAP ? kept / 2 : 0);
    return free >= all ? 0 : can_grow() ? -EFBIG : free + held >= all ? -EBUSY
        : free + held + waits >= all ? -EAGAIN : -ENOSPC;
}

static void check_counts(const char *after)
{
    for (unsigned f = 0; f < FILES; f++) {
        const struct coir_space_counts want = counted(f);
        struct coir_space_counts got;

        coir_space_count(m.space, (int)f, &got);
        if (memcmp(&want, &got, sizeof want) != 0) {
            MEM_EQ(&got, &want, sizeof want, "the sums of file %u after %s", f, after);
            exit(DONE());
        }
    }
}

/* ---- operations -------------------------------------------------------------------------------------- */

static void fail(const char *what)
{
    OK(false, "%s", what);
    exit(DONE());
}

static void set(const struct coir_run *run, unsigned char from, unsigned char to)
{
    const unsigned f = COIR_ADDRESS_FILE(run->address);
    const uint64_t block = COIR_ADDRESS_BLOCK(run->address);

    if (f >= FILES || block < data_of[f] || block + run->blocks > m.grown[f])
        fail("a run outside of what its file has");
    for (uint64_t i = 0; i < run->blocks; i++) {
        if (m.state[f][block + i] != from)
            fail("a block was given out that was not free");
        m.state[f][block + i] = to;
        if (to == GONE)
            m.gone_in[f][block + i] = m.freezes;
    }
}

static void reserve(void)
{
    const enum coir_space_class who = (enum coir_space_class)draw(3);
    const unsigned shift = draw(3) ? 0 : (unsigned)draw(5), max = 1 + (unsigned)draw(RUNS);
    const uint64_t n = draw(4) ? 1 + draw(40) : 1 + draw(3000), size = (uint64_t)1 << shift;
    struct coir_run run[RUNS];

    if (m.n + RUNS > GIVEN)
        return;
    const int want = allowed(who, n << shift), got = coir_space_reserve(m.space, who, shift, n, run, max);
    uint64_t sum = 0;
    count_answer(got);
    if (got < 0 && want == 0) {                 /* only where there are no more groups, however few there were */
        if (shift == 0)
            fail("there was enough");
        check_counts("a reservation that failed");
        return;
    }
    if (got < 0 ? got != want : want != 0 || got > (int)max)
        fail("another answer than the sums ask for");
    for (int i = 0; i < got; i++) {
        if (run[i].blocks == 0 || run[i].blocks % size || COIR_ADDRESS_BLOCK(run[i].address) % size)
            fail("a run that is not aligned");
        set(&run[i], FREE, RESERVED);
        sum += run[i].blocks;
        m.given[m.n++] = run[i];
    }
    if (got > 0 && (sum > n << shift || (got < (int)max && sum != n << shift)))
        fail("more or less than was asked for");
}

/* One group, so that the answer is exact also where there are enough blocks and no group. */
static void reserve_group(void)
{
    const unsigned shift = (unsigned)draw(5);
    struct coir_run run;
    int want = allowed(COIR_SPACE_CHECKPOINT, (uint64_t)1 << shift);

    if (want == 0 && !has_group(shift)) {
        struct coir_space_counts c;

        coir_space_count(m.space, -1, &c);
        want = can_grow() ? -EFBIG : c.held ? -EBUSY : c.awaiting + c.fresh ? -EAGAIN : -ENOSPC;
    }
    if (m.n == GIVEN)
        return;
    if (coir_space_reserve(m.space, COIR_SPACE_CHECKPOINT, shift, 1, &run, 1) != (want ? want : 1))
        fail("another answer than the groups ask for");
    if (want == 0) {
        set(&run, FREE, RESERVED);
        m.given[m.n++] = run;
    }
}

static void decide(bool use)
{
    if (m.n == 0)
        return;
    const unsigned i = (unsigned)draw(m.n);
    const struct coir_run run = m.given[i];

    m.given[i] = m.given[--m.n];
    set(&run, RESERVED, use ? LIVE : FREE);
    (use ? coir_space_use : coir_space_cancel)(m.space, run.address, run.blocks);
}

static void supersede(void)
{
    const unsigned f = (unsigned)draw(FILES);
    uint64_t block = data_of[f] + draw(m.grown[f] - data_of[f]), end;

    while (block < m.grown[f] && m.state[f][block] != LIVE)
        block++;
    for (end = block; end < m.grown[f] && end < block + (m.filling ? 10 : 1000) && m.state[f][end] == LIVE;)
        end++;
    if (end == block)
        return;
    const struct coir_run run = { COIR_ADDRESS(f, block), end - block };
    set(&run, LIVE, GONE);
    coir_space_supersede(m.space, run.address, run.blocks, ++m.lsn);
}

/* One block of every few, over a long way: what makes groups rare. */
static void pierce(void)
{
    const unsigned f = (unsigned)draw(FILES);
    uint64_t block = data_of[f] + draw(m.grown[f] - data_of[f]);

    for (unsigned i = 0; i < (m.filling ? 20 : 2000) && block < m.grown[f]; i++, block += 1 + draw(12))
        if (m.state[f][block] == LIVE) {
            const struct coir_run run = { COIR_ADDRESS(f, block), 1 };

            set(&run, LIVE, GONE);
            coir_space_supersede(m.space, run.address, 1, ++m.lsn);
        }
}

static void read_begins(void)
{
    if (m.reads == TICKETS)
        return;
    m.read[m.reads].ticket = coir_space_read(m.space);
    m.read[m.reads++].since = m.freezes;
}

static void read_ends(void)
{
    if (m.reads == 0)
        return;
    const unsigned i = (unsigned)draw(m.reads);

    coir_space_read_ends(m.space, m.read[i].ticket);
    m.read[i] = m.read[--m.reads];
    settle();
}

static void freeze(void)
{
    if (m.frozen || m.freezes == FREEZES)
        return;
    if (coir_space_freeze(m.space, m.lsn, &m.frozen) < 0)
        fail("no memory");
    m.freezes++;
    uint64_t live = 0;
    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t b = 0; b < blocks_of[f]; b++) {
            m.before[f][b] = b < data_of[f] || m.state[f][b] == LIVE;
            live += b >= data_of[f] && m.state[f][b] == LIVE;
        }
    if (m.frozen->live != live || m.frozen->lsn != m.lsn)
        fail("what was frozen has other sums");
}

/* The medium is what it was, and the frozen pages; that must be what was live. */
static void write_images(void)
{
    for (uint64_t i = 0; i < m.frozen->n; i++) {
        const struct coir_frozen_page *const p = &m.frozen->pages[i];

        const struct coir_disk_map *const image = coir_space_image(m.space, m.frozen, i);

        if (image->page != p->page || (i && p[-1].file * 100 + p[-1].page >= p->file * 100 + p->page))
            fail("frozen pages out of order");
        memcpy(m.images[p->file][p->page], image->bits, sizeof image->bits);
        m.written[p->file][p->page] = true;
    }
    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t b = data_of[f]; b < blocks_of[f]; b++) {
            const uint64_t word = m.images[f][b / COIR_MAP_BITS][b % COIR_MAP_BITS / 64];

            m.medium[f][b] = m.before[f][b];
            if ((word >> b % 64 & 1) != m.before[f][b])
                fail("the map on the medium is not what was frozen");
        }
}

static void end_freeze(bool good)
{
    if (!m.frozen)
        return;
    if (good)
        write_images();
    (good ? coir_space_durable : coir_space_thaw)(m.space, m.frozen);
    m.frozen = NULL;
    if (good)
        m.durable = m.freezes;
    settle();
}

static void grow(void)
{
    const int f = coir_space_to_grow(m.space, draw(2), 0);

    if (f < 0)
        return;
    if (draw(3) == 0) {
        coir_space_stuck(m.space, (unsigned)f);
        m.stuck[f] = true;
        return;
    }
    uint64_t more = (1 + draw(draw(4) ? 4 : 150)) * COIR_REGION;
    more = more < blocks_of[f] - m.grown[f] ? more : blocks_of[f] - m.grown[f];
    m.grown[f] += more;
    m.stuck[f] = false;
    if (coir_space_grown(m.space, (unsigned)f, m.grown[f]) < 0)
        fail("no memory");
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void begin(void)
{
    struct coir_space_file files[FILES];

    for (unsigned f = 0; f < FILES; f++) {
        m.grown[f] = data_of[f] + COIR_REGION;
        files[f] = (struct coir_space_file){ blocks_of[f], data_of[f], m.grown[f] };
    }
    EQ(coir_space_create(&m.space, files, FILES), 0, "a space of three files");
}

/* A space that is loaded from the medium has the live blocks of the last durable checkpoint, and nothing else. */
static void reload(void)
{
    struct coir_space_file files[FILES];
    struct coir_space *loaded = NULL;
    uint64_t live = 0, sum = 0;

    for (unsigned f = 0; f < FILES; f++)
        files[f] = (struct coir_space_file){ blocks_of[f], data_of[f], m.grown[f] };
    if (coir_space_create(&loaded, files, FILES) < 0)
        fail("no memory");
    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t page = 0; page * COIR_MAP_BITS < blocks_of[f]; page++)
            if (m.written[f][page] && coir_space_load(loaded, f, page, m.images[f][page]) < 0)
                fail("what was frozen cannot be loaded");
    for (unsigned f = 0; f < FILES; f++)
        for (uint64_t b = data_of[f]; b < blocks_of[f]; b++) {
            live += m.medium[f][b];
            sum += m.medium[f][b] && coir_space_is_live(loaded, COIR_ADDRESS(f, b), 1);
        }
    struct coir_space_counts counts;
    coir_space_count(loaded, -1, &counts);
    if (counts.live != live || sum != live)
        fail("what was loaded is not what was frozen");
    if (coir_space_verify(loaded))
        fail(coir_space_verify(loaded));
    coir_space_destroy(loaded);
}

static void step(void)
{
    const unsigned fullness = m.filling ? 24 : 0;
    const uint64_t dice = draw(100);

    if (dice < 20 + fullness) reserve();
    else if (dice < 24 + fullness) reserve_group();
    else if (dice < 50 + fullness / 2) decide(draw(8) != 0);
    else if (dice < 70 && dice < 66 + fullness / 4) supersede();
    else if (dice < 72) pierce();
    else if (dice < 78) read_begins();
    else if (dice < 88) read_ends();
    else if (dice < 92) freeze();
    else if (dice < 97) end_freeze(draw(5) != 0);
    else grow();
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20260731;
    uint64_t full = 0, errors = 0;

    NOTE("seed %" PRIu64, seed);
    m.random = seed * 2 + 1;
    begin();
    for (unsigned i = 0; i < STEPS; i++) {
        struct coir_space_counts counts;

        m.filling = i / 2000 % 4 != 3;
        step();
        if (i % 8 == 0)
            check_counts("a step");
        if (i % 200 == 0) {
            const char *const wrong = coir_space_verify(m.space);

            if (wrong)
                fail(wrong);
            reload();
        }
        coir_space_count(m.space, -1, &counts);
        full += counts.free < 20;
        errors += coir_space_check(m.space, COIR_SPACE_WRITE, 1) < 0;
    }
    OK(full > STEPS / 100, "the space was full for %d steps of %d", (int)full, STEPS);
    OK(errors > STEPS / 100 && errors < STEPS, "writes were refused in %d", (int)errors);
    OK(m.durable > 100, "%u checkpoints", m.durable);
    for (unsigned i = 0; i < 5; i++)
        OK(m.answers[i] > 9, "%u reservations had answer %u of 5", m.answers[i], i);
    STR_EQ(coir_space_verify(m.space), NULL, "all sums are right");
    end_freeze(false);
    coir_space_destroy(m.space);
    return DONE();
}
