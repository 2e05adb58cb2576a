/* SPDX-License-Identifier: MIT */
/*
 * Mapping and unmapping, leaf by leaf: first a hole is made, then, for a map, what comes into it, joined with what
 * stands on either side where that goes on in key and address and is of the same era. Everything happens in leaves
 * that are pinned, in one step; neighbours of the hole in other leaves are not looked at.
 *
 * Growing an entry may split its leaf, and the cursor then follows the entry. Nothing stands in the hole then, so no
 * leaf can begin inside of it but with a new extent.
 */
#include "volume/extents.h"
#include "volume/space.h"

/* A change: what it needs everywhere, and where it is. */
struct change {
    struct coir_extents *x;
    struct coir_credit *credit;
    const struct coir_superseded *superseded;
    uint64_t unit;
    unsigned most;                      /* extents that may still be punched */
    struct coir_cursor c;               /* behind what has been done */
    struct coir_node *leaf;             /* where the part of this leaf began, and then */
    unsigned used;                      /* its bytes, */
    uint64_t changes;                   /* and the tree's changes */
};

static struct coir_disk_extent *extent_at(const struct coir_cursor *c)
{
    unsigned length;

    return coir_cursor_value(c, &length);
}

static unsigned extent_length(unsigned count)
{
    return (unsigned)(sizeof(struct coir_disk_extent) + count * sizeof(uint32_t));
}

/* The cursor goes behind the extent at which it stands, in the leaf. */
static void step_over(struct coir_cursor *c)
{
    c->before = (int)c->at;
    c->at = coir_cursor_after(c);
}

static void let_go(struct change *ch, uint64_t address, uint64_t count)
{
    /* The count of an entry that was not true is no reason to stop: `check` says so. */
    ch->x->mapped -= count < ch->x->mapped ? count : ch->x->mapped;
    ch->superseded->call(ch->superseded->arg, address, count * ch->unit);
}

/* ---- making a hole ---- */

/* Cuts the extent at the cursor down to its first `count` volume blocks; the cursor goes behind it. */
static void cut_tail(struct change *ch, unsigned count)
{
    struct coir_cursor *c = &ch->c;
    struct coir_disk_extent *e = coir_cursor_resize(c, extent_length(count), ch->credit);

    e->count = (uint16_t)count;
    step_over(c);
}

/* The extent at the cursor loses its first `count` volume blocks. */
static void cut_head(struct change *ch, unsigned count)
{
    struct coir_cursor *c = &ch->c;
    struct coir_disk_extent *e;

    coir_cursor_rekey(c, coir_cursor_key(c) + count, ch->credit);
    e = extent_at(c);
    e->address += count * ch->unit;
    e->count = (uint16_t)(e->count - count);
    memmove(e->crc, e->crc + count, e->count * sizeof e->crc[0]);
    coir_cursor_resize(c, extent_length(e->count), ch->credit);
}

static void seek(struct change *ch, uint64_t lba)
{
    const bool pinned = coir_extents_seek(ch->x, lba, &ch->c);

    COIR_ASSERT(pinned);
}

/* The extent at the cursor keeps what is before `first` and what is behind `last`; the cursor goes between them. */
static void cut_middle(struct change *ch, uint64_t first, uint64_t last)
{
    struct coir_cursor *c = &ch->c;
    const struct coir_disk_extent *e = extent_at(c);
    const uint64_t key = coir_cursor_key(c);
    const unsigned head = (unsigned)(first - key), skip = (unsigned)(last + 1 - key), tail = e->count - skip;
    uint32_t crc[COIR_EXTENT_MAX];
    struct coir_disk_extent rest = { .address = e->address + skip * ch->unit, .era = e->era, .count = (uint16_t)tail };
    struct coir_disk_extent *to;

    memcpy(crc, e->crc + skip, tail * sizeof crc[0]);
    cut_tail(ch, head);
    to = coir_cursor_insert(c, last + 1, extent_length(tail), ch->credit);
    *to = rest;
    memcpy(to->crc, crc, tail * sizeof crc[0]);
    if (ch->x->tree.changes != ch->changes)
        seek(ch, first);                /* the two may be in different leaves now */
}

/* Makes a hole from `first`, where the cursor stands, to `last` in the same leaf; the cursor goes into it. The result
 * is the first volume block that may still be mapped, since too many extents were in the way; otherwise last + 1. */
static uint64_t punch(struct change *ch, uint64_t first, uint64_t last)
{
    struct coir_cursor *c = &ch->c;

    while (coir_cursor_has(c) && coir_cursor_key(c) <= last) {
        const uint64_t key = coir_cursor_key(c);
        const struct coir_disk_extent *e = extent_at(c);
        const uint64_t end = key + e->count - 1, from = key < first ? first : key, to = end > last ? last : end;
        const uint64_t address = e->address + (from - key) * ch->unit;

        if (ch->most-- == 0) {
            ch->most = 0;
            return from;
        }
        coir_extents_touch(ch->x, ch->credit);
        if (key < first && end > last)
            cut_middle(ch, first, last);
        else if (key < first)
            cut_tail(ch, (unsigned)(first - key));
        else if (end > last)
            cut_head(ch, (unsigned)(last + 1 - key));
        else
            coir_cursor_delete(c, ch->credit);
        let_go(ch, address, to - from + 1);
        if (end >= last)
            break;
    }
    return last + 1;
}

/* ---- filling it ---- */

/* New volume blocks for the hole. */
struct piece {
    uint64_t lba, address;
    unsigned count;
    const uint32_t *crc;
};

static bool continues(const struct change *ch, uint64_t lba, uint64_t address, uint32_t era, unsigned count,
                      uint64_t next_lba, uint64_t next_address, uint32_t next_era, unsigned next_count)
{
    return lba + count == next_lba && address + count * ch->unit == next_address && era == next_era
           && count + next_count <= COIR_EXTENT_MAX;
}

/* An extent that follows the piece, without a gap: it is deleted, its sums are put to `crc`, and the result is how many
 * there are. The cursor stands where the piece belongs. */
static unsigned take_next(struct change *ch, const struct piece *p, unsigned count, uint32_t *crc)
{
    struct coir_cursor *c = &ch->c;
    const struct coir_disk_extent *e;
    unsigned n;

    if (!coir_cursor_has(c))
        return 0;
    e = extent_at(c);
    if (!continues(ch, p->lba, p->address, ch->x->tree.era, p->count, coir_cursor_key(c), e->address, e->era, e->count)
            || count + e->count > COIR_EXTENT_MAX)
        return 0;
    n = e->count;
    memcpy(crc, e->crc, n * sizeof *crc);
    coir_cursor_delete(c, ch->credit);
    return n;
}

/* The count of the extent before the cursor, if the piece goes on from there; or 0. */
static unsigned look_back(struct change *ch, const struct piece *p)
{
    struct coir_cursor before = ch->c;
    const struct coir_disk_extent *e;

    if (!before.leaf || before.before < 0)
        return 0;
    before.at = (unsigned)before.before;
    e = extent_at(&before);
    if (!continues(ch, coir_cursor_key(&before), e->address, e->era, e->count, p->lba, p->address, ch->x->tree.era,
                   p->count))
        return 0;
    return e->count;
}

/* The piece comes to where the cursor stands; the cursor goes behind it. */
static void fill(struct change *ch, const struct piece *p)
{
    struct coir_cursor *c = &ch->c;
    uint32_t crc[COIR_EXTENT_MAX];
    struct coir_disk_extent *e;
    unsigned before, after;

    /* If the last piece began a leaf the cursor is in it; no leaf begins where nothing is yet. */
    COIR_ASSERT(p->lba >= c->low && p->count - 1 <= c->last - p->lba);
    before = look_back(ch, p);
    after = take_next(ch, p, before + p->count, crc);
    if (before) {
        coir_cursor_previous(c);
        e = coir_cursor_resize(c, extent_length(before + p->count + after), ch->credit);
    } else {
        e = coir_cursor_insert(c, p->lba, extent_length(p->count + after), ch->credit);
        *e = (struct coir_disk_extent){ .address = p->address, .era = ch->x->tree.era };
    }
    e->count = (uint16_t)(before + p->count + after);
    memcpy(e->crc + before, p->crc, p->count * sizeof crc[0]);
    memcpy(e->crc + before + p->count, crc, after * sizeof crc[0]);
    ch->x->mapped += p->count;
    step_over(c);
}

/* Fills the hole from `lba` to `end` with what comes next of the blocks. */
static void fill_hole(struct change *ch, uint64_t lba, uint64_t end, struct coir_blocks *from)
{
    while (lba - 1 != end) {
        const uint64_t left = end - lba + 1;
        struct piece p = { .lba = lba, .crc = from->crcs };
        uint64_t run;

        COIR_ASSERT(from->n > 0 && from->runs->blocks % ch->unit == 0 && from->runs->address % ch->unit == 0);
        run = from->runs->blocks / ch->unit;
        if (from->skip >= run) {
            from->skip -= run;
            from->runs++;
            from->n--;
            continue;
        }
        run -= from->skip;
        p.address = from->runs->address + from->skip * ch->unit;
        p.count = (unsigned)(run < left ? run : left);
        fill(ch, &p);
        lba += p.count;
        from->crcs += p.count;
        from->skip += p.count;
    }
}

/* ---- leaf by leaf ---- */

/* To the leaf of `lba`. The result is the last volume block up to `last` that is in it. */
static uint64_t enter_leaf(struct change *ch, uint64_t lba, uint64_t last)
{
    seek(ch, lba);
    ch->leaf = ch->c.leaf;
    ch->used = ch->leaf ? coir_leaf_used(ch->leaf) : 0;
    ch->changes = ch->x->tree.changes;
    return last < ch->c.last ? last : ch->c.last;
}

/* If the leaf has become smaller, and not by being split. */
static void leave_leaf(struct change *ch)
{
    if (!ch->leaf || ch->x->tree.changes != ch->changes || coir_leaf_used(ch->leaf) >= ch->used)
        return;
    ch->c.leaf = ch->leaf;
    coir_cursor_mend(&ch->c, ch->credit);
}

/* The result is what has not been used of the blocks. */
static struct coir_blocks map(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, unsigned count,
                              struct coir_blocks from, const struct coir_superseded *superseded)
{
    struct change ch = { x, credit, superseded, coir_extents_unit(x), .most = UINT32_MAX };
    const uint64_t last = lba + count - 1;

    COIR_ASSERT(count > 0 && count <= COIR_MAP_MAX && last >= lba);
    coir_extents_touch(x, credit);
    for (uint64_t end;; lba = end + 1) {
        end = enter_leaf(&ch, lba, last);
        punch(&ch, lba, end);
        fill_hole(&ch, lba, end, &from);
        leave_leaf(&ch);
        if (end == last)
            return from;
    }
}

void coir_extents_map_part(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, unsigned count,
                           const struct coir_blocks *blocks, const struct coir_superseded *superseded)
{
    map(x, credit, lba, count, *blocks, superseded);
}

void coir_extents_map(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, unsigned count,
                      const struct coir_run *runs, unsigned n, const uint32_t *crcs,
                      const struct coir_superseded *superseded)
{
    const struct coir_blocks left = map(x, credit, lba, count, (struct coir_blocks){ runs, n, 0, crcs }, superseded);

    COIR_ASSERT(left.n == 1 && left.skip == left.runs->blocks / coir_extents_unit(x));
}

uint64_t coir_extents_unmap(struct coir_extents *x, struct coir_credit *credit, uint64_t lba, uint64_t count,
                            unsigned most, const struct coir_superseded *superseded)
{
    struct change ch = { x, credit, superseded, coir_extents_unit(x), .most = most };
    const uint64_t first = lba, last = lba + count - 1;

    if (count == 0)
        return 0;
    COIR_ASSERT(last >= lba);
    for (;;) {
        const uint64_t end = enter_leaf(&ch, lba, last), to = punch(&ch, lba, end);

        leave_leaf(&ch);
        if (to - 1 != end || end == last)
            return to - first;
        lba = to;
    }
}

/* ---- both at once ---- */

static int take(struct coir_extents *x, struct coir_credit *credit, unsigned need, bool force)
{
    return (force ? coir_credit_force : coir_credit_take)(x->tree.cache, credit, need);
}

/* Of the runs that are left, those that the step may reach into. */
static unsigned runs_of(const struct coir_extents_put *f, uint64_t step)
{
    return f->blocks->n < step ? f->blocks->n : (unsigned)step;
}

/* What is pinned is mapped. */
static int put_step(struct coir_extents_put *f)
{
    const uint64_t lba = f->lba + f->result, left = f->count - f->result;
    struct coir_blocks blocks = *f->blocks;
    int err;

    f->step = left < COIR_MAP_MAX ? (unsigned)left : COIR_MAP_MAX;
    if (f->pin.last - lba < f->step)
        f->step = (unsigned)(f->pin.last - lba) + 1;
    err = take(f->extents, &f->credit, coir_extents_need(f->extents, &f->pin, f->step, runs_of(f, f->step)), f->force);
    if (err)
        return err;
    blocks.skip += f->result;
    blocks.crcs += f->result;
    coir_extents_map_part(f->extents, &f->credit, lba, f->step, &blocks, f->superseded);
    f->result += f->step;
    return 0;
}

coir_body(coir_extents_put, f) {
    f->pin = (struct coir_pin){ .tree = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    while (f->result < f->count) {
        coir_try(f, &f->pins, coir_extents_pin, .extents = f->extents, .pin = &f->pin, .lba = f->lba + f->result,
                 .count = f->count - f->result < COIR_MAP_MAX ? f->count - f->result : COIR_MAP_MAX);
        f->status = put_step(f);
        coir_unpin(&f->pin);
        coir_credit_give(&f->credit);
        if (f->status)
            coir_fail(f, f->status);
    }
    coir_finally(f) {
        coir_unpin(&f->pin);
    }
} coir_end

/* What is pinned is made a hole, or some of it. */
static int clear_step(struct coir_extents_clear *f)
{
    const uint64_t lba = f->lba + f->result, left = f->count - f->result, pinned = f->pin.last - lba;
    int err = take(f->extents, &f->credit, coir_extents_need(f->extents, &f->pin, left, 0), f->force);

    if (err)
        return err;
    f->result += coir_extents_unmap(f->extents, &f->credit, lba, pinned < left ? pinned + 1 : left, f->most,
                                    f->superseded);
    return 0;
}

coir_body(coir_extents_clear, f) {
    f->pin = (struct coir_pin){ .tree = NULL };
    f->credit = (struct coir_credit){ .cache = NULL };
    for (f->step = 0; f->result < f->count && (f->steps == 0 || f->step < f->steps); f->step++) {
        coir_try(f, &f->pins, coir_extents_pin, .extents = f->extents, .pin = &f->pin, .lba = f->lba + f->result,
                 .count = f->count - f->result);
        f->status = clear_step(f);
        coir_unpin(&f->pin);
        coir_credit_give(&f->credit);
        if (f->status)
            coir_fail(f, f->status);
    }
    coir_finally(f) {
        coir_unpin(&f->pin);
    }
} coir_end
