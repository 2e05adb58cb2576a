/* SPDX-License-Identifier: MIT */
/*
 * Extents: what a sound one is, looking up, and what a change needs. Changing is in extents_map.c.
 */
#include "volume/extents.h"

#include "volume/catalog.h"
#include "volume/layout.h"

enum { LOOKUP_LEAVES = 16 };            /* of one call: it does not suspend */

static const char *check_extent(const struct coir_entry *e, uint64_t *next)
{
    const struct coir_disk_extent *x = e->value;
    const uint64_t unit = (uint64_t)1 << (e->shift - COIR_BLOCK_SHIFT);

    if (e->length < sizeof *x)
        return "an extent is too short";
    if (x->count == 0 || x->count > COIR_EXTENT_MAX)
        return "an extent's count cannot be";
    if (e->length != sizeof *x + x->count * sizeof x->crc[0])
        return "an extent's count is not its length";
    if (x->zero)
        return "an extent is not zero where it has to be";
    if (x->address % unit || !coir_address_may_be(x->address, x->count * unit))
        return "an extent's address cannot be";
    if (x->count - 1u > e->last - e->key)
        return "an extent reaches beyond its leaf";
    *next = e->key + x->count;
    return NULL;
}

const struct coir_tree_kind coir_kind_extents = { .name = "extents", .check = check_extent };

/* ---- looking up ---- */

/* What a lookup has found so far. */
struct found {
    struct coir_mapped *pieces;
    unsigned n, max, unit;
    uint32_t *crcs;                     /* of the next volume block; NULL: not wanted */
};

/* `count` volume blocks at `address`, 0 for a hole, come next. False: there is no piece left for them. */
static bool found(struct found *f, uint64_t address, uint64_t count, const uint32_t *crc)
{
    struct coir_mapped *last = f->n ? &f->pieces[f->n - 1] : NULL;

    if (last && (address ? last->address && last->address + last->count * f->unit == address : !last->address)) {
        last->count += count;
    } else {
        if (f->n == f->max)
            return false;
        f->pieces[f->n++] = (struct coir_mapped){ address, count };
    }
    if (f->crcs && crc)
        memcpy(f->crcs, crc, count * sizeof *crc);
    else if (f->crcs)
        memset(f->crcs, 0, count * sizeof *f->crcs);
    if (f->crcs)
        f->crcs += count;
    return true;
}

/* The extent at the cursor, or NULL. */
static const struct coir_disk_extent *extent_at(const struct coir_cursor *c)
{
    unsigned length;

    return coir_cursor_has(c) ? coir_cursor_value(c, &length) : NULL;
}

bool coir_extents_seek(struct coir_extents *x, uint64_t at, struct coir_cursor *c)
{
    struct coir_cursor before;

    if (!coir_btree_seek(&x->tree, at, c))
        return false;
    before = *c;
    if (c->leaf && c->before >= 0) {
        before.at = (unsigned)c->before;
        if (at - coir_cursor_key(&before) < extent_at(&before)->count)
            coir_cursor_previous(c);
    }
    return true;
}

/* What stands from `at` to `last` in one leaf. The result is the first volume block that it has not been said of; 0:
 * the end of all. */
static uint64_t lookup_leaf(struct found *f, struct coir_cursor *c, uint64_t at, uint64_t last, bool *full)
{
    const uint64_t end = last < c->last ? last : c->last;

    for (;;) {
        const struct coir_disk_extent *e = extent_at(c);
        const uint64_t key = e ? coir_cursor_key(c) : 0;
        uint64_t count, address = 0;
        const uint32_t *crc = NULL;

        if (e && key <= at) {
            const unsigned skip = (unsigned)(at - key);

            count = e->count - skip;
            address = e->address + (uint64_t)skip * f->unit;
            crc = e->crc + skip;
        } else {
            count = e && key <= end ? key - at : end - at + 1;
        }
        if (count - 1 > end - at)
            count = end - at + 1;
        *full = !found(f, address, count, crc);
        if (*full)
            return at;
        at += count;
        if (at - 1 == end)
            return at;
        if (crc) {
            c->before = (int)c->at;
            c->at = coir_cursor_after(c);
        }
    }
}

/* Looks on from `*at` to `last`; false: there is nothing more to be found, or no room for it. */
static bool lookup(struct coir_extents *x, struct found *f, uint64_t *at, uint64_t last)
{
    for (int i = 0; i < LOOKUP_LEAVES; i++) {
        struct coir_cursor c;
        bool full;

        if (!coir_extents_seek(x, *at, &c))
            return true;
        *at = lookup_leaf(f, &c, *at, last, &full);
        if (full || *at - 1 == last)
            return false;
    }
    return true;
}

unsigned coir_extents_lookup(struct coir_extents *x, uint64_t lba, uint64_t count, struct coir_mapped *pieces,
                             unsigned max, uint32_t *crcs, uint64_t *covered)
{
    struct found f = { .pieces = pieces, .max = max, .unit = coir_extents_unit(x), .crcs = crcs };
    uint64_t at = lba;

    if (count)
        lookup(x, &f, &at, lba + count - 1);
    *covered = at - lba;
    return f.n;
}

coir_body(coir_extents_find, f) {
    f->n = 0;
    f->at = f->lba;
    while (f->count) {
        {
            struct found found = { .pieces = f->pieces, .n = f->n, .max = f->max, .unit = coir_extents_unit(f->extents),
                                   .crcs = f->crcs ? f->crcs + (f->at - f->lba) : NULL };

            f->more = lookup(f->extents, &found, &f->at, f->lba + f->count - 1);
            f->n = found.n;
        }
        if (!f->more)
            break;
        coir_try(f, &f->load, coir_btree_load, .tree = &f->extents->tree, .key = f->at, .level = 0);
    }
    coir_return(f, f->at - f->lba);
} coir_end

int coir_extents_next(struct coir_extents *x, uint64_t lba, uint64_t count, uint64_t *at)
{
    struct coir_cursor c;

    *at = lba;
    if (count == 0)
        return 0;
    if (!coir_extents_seek(x, lba, &c))
        return -EAGAIN;
    if (!coir_cursor_has(&c)) {
        const int err = c.leaf ? coir_cursor_next(&c, at) : 0;

        if (err <= 0)
            return err < 0 && *at - lba < count ? err : 0;
    }
    *at = coir_cursor_key(&c) > lba ? coir_cursor_key(&c) : lba;
    return *at - lba < count;
}

/* ---- what a change needs ---- */

/* Whether the volume's entry in the catalog is pinned, or can be at once. */
static bool pin_entry(struct coir_extents *x)
{
    return !x->catalog || coir_pin_holds(&x->entry)
           || coir_pin_now(&x->catalog->volumes, &x->entry, x->tree.id, x->tree.id, false) == 0;
}

coir_body(coir_extents_pin, f) {
    COIR_ASSERT(f->count > 0 && f->count - 1 <= UINT64_MAX - f->lba);
    do {
        coir_try(f, &f->pins, coir_btree_pin, .tree = &f->extents->tree, .pin = f->pin, .first = f->lba,
                 .last = f->lba + f->count - 1, .change = true);
        while (!pin_entry(f->extents)) {
            coir_await(f, &f->load, coir_btree_load, .tree = &f->extents->catalog->volumes,
                       .key = f->extents->tree.id, .level = 0);
            if (coir_status(&f->load) < 0) {
                coir_unpin(f->pin);
                coir_fail(f, coir_status(&f->load));
            }
        }
    } while (!coir_pin_holds(f->pin));
} coir_end

unsigned coir_extents_need(const struct coir_extents *x, const struct coir_pin *pin, uint64_t count, unsigned runs)
{
    /* A run for each leaf that it reaches into, and what is left of an extent that loses its middle. */
    const unsigned entries = runs ? runs + pin->leaves + 1 : 1;
    const size_t each = sizeof(struct coir_disk_entry) + sizeof(struct coir_disk_extent) + 8;
    unsigned need = coir_pin_need(pin, entries, entries * each + (runs ? count * sizeof(uint32_t) : 0));

    if (x->catalog && !x->tree.changed)
        need += coir_tree_height(&x->catalog->volumes);
    return need;
}

int coir_extents_ready(const struct coir_extents *x, const struct coir_pin *pin, const struct coir_credit *credit,
                       uint64_t count, unsigned runs)
{
    if (!coir_pin_holds(pin) || (x->catalog && !coir_pin_holds(&x->entry)))
        return -ESTALE;
    return credit->nodes < coir_extents_need(x, pin, count, runs) ? -EAGAIN : 0;
}

void coir_extents_touch(struct coir_extents *x, struct coir_credit *credit)
{
    struct coir_cursor c;
    bool pinned;

    if (!x->catalog || x->tree.changed)
        return;
    pinned = coir_btree_seek(&x->catalog->volumes, x->tree.id, &c);
    COIR_ASSERT(pinned && coir_cursor_has(&c) && coir_cursor_key(&c) == x->tree.id);
    coir_cursor_touch(&c, credit);
    coir_tree_change(&x->tree);
}
