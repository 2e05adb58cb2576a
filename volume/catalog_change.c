/* SPDX-License-Identifier: MIT */
/*
 * Changes of the catalog: each looks first, and does nothing that could fail once it has begun. An open volume's entry
 * keeps what the last freeze wrote there, but for the name and the state, which are changed in the entry at once.
 */
#include "volume/catalog.h"

/* ---- what they need ---- */

coir_body(coir_catalog_pin, f) {
    if (!f->name)
        f->n = 0;
    if (!f->other)
        f->n_other = 0;
    f->change->catalog = f->catalog;
    do {
        coir_unpin(&f->change->name);
        coir_unpin(&f->change->other);
        coir_try(f, &f->pins, coir_btree_pin, .tree = &f->catalog->volumes, .pin = &f->change->volume, .first = f->id,
                 .last = f->id, .change = true);
        if (f->n) {
            f->hash = coir_catalog_hash(f->catalog, f->name, f->n);
            coir_try(f, &f->pins, coir_btree_pin, .tree = &f->catalog->names, .pin = &f->change->name,
                     .first = f->hash, .last = f->hash, .change = true);
        }
        if (f->n_other) {
            f->hash = coir_catalog_hash(f->catalog, f->other, f->n_other);
            coir_try(f, &f->pins, coir_btree_pin, .tree = &f->catalog->names, .pin = &f->change->other,
                     .first = f->hash, .last = f->hash, .change = true);
        }
    } while (coir_catalog_ready(f->change, NULL));
    coir_finally(f) {
        if (coir_status(f) < 0)
            coir_catalog_unpin(f->change);
    }
} coir_end

void coir_catalog_unpin(struct coir_catalog_change *change)
{
    coir_unpin(&change->volume);
    coir_unpin(&change->name);
    coir_unpin(&change->other);
}

static unsigned name_need(const struct coir_pin *pin)
{
    return pin->tree ? coir_pin_need(pin, 1, coir_entry_size(sizeof(uint64_t) + COIR_NAME_MAX)) : 0;
}

unsigned coir_catalog_need(const struct coir_catalog_change *change)
{
    return coir_pin_need(&change->volume, 1, coir_entry_size(sizeof(struct coir_disk_volume) + COIR_NAME_MAX))
           + name_need(&change->name) + name_need(&change->other);
}

int coir_catalog_ready(const struct coir_catalog_change *change, const struct coir_credit *credit)
{
    if (!coir_pin_holds(&change->volume) || (change->name.tree && !coir_pin_holds(&change->name))
            || (change->other.tree && !coir_pin_holds(&change->other)))
        return -ESTALE;
    return credit && credit->nodes < coir_catalog_need(change) ? -EAGAIN : 0;
}

/* ---- entries ---- */

/* Puts the cursor at the entry of a key, or where it would be. 1: it is there; 0: it is not; -ESTALE: its
 * leaf is not in memory. */
static int seek(struct coir_tree *t, uint64_t key, struct coir_cursor *c)
{
    if (!coir_btree_seek(t, key, c))
        return -ESTALE;
    return coir_cursor_has(c) && coir_cursor_key(c) == key;
}

static bool is_named(const struct coir_cursor *c, const char *name, size_t n)
{
    unsigned length;
    const char *value = coir_cursor_value(c, &length);

    return length == sizeof(uint64_t) + n && memcmp(value + sizeof(uint64_t), name, n) == 0;
}

/* Whether a volume may get a name. 0: it may; or why not. */
static int name_is_free(struct coir_catalog *c, const char *name, size_t n, uint64_t id)
{
    struct coir_cursor cursor;
    unsigned length;
    int is;

    if (n == 0 || n > COIR_NAME_MAX)
        return -EINVAL;
    is = seek(&c->names, coir_catalog_hash(c, name, n), &cursor);
    if (is <= 0)
        return is;
    if (*(uint64_t *)coir_cursor_value(&cursor, &length) == id)
        return 0;                       /* its own, which it is to lose */
    return is_named(&cursor, name, n) ? -EEXIST : -ENOTUNIQ;
}

static void put_name(struct coir_catalog *c, const char *name, size_t n, uint64_t id, struct coir_credit *credit)
{
    char value[sizeof id + COIR_NAME_MAX];

    memcpy(value, &id, sizeof id);
    memcpy(value + sizeof id, name, n);
    coir_btree_put(&c->names, coir_catalog_hash(c, name, n), value, (unsigned)(sizeof id + n), credit);
}

/* The entry of a volume, and its cursor. 0, -ENOENT, -ESTALE. */
static int volume_entry(struct coir_catalog *c, uint64_t id, struct coir_cursor *cursor, struct coir_disk_volume **v)
{
    unsigned length;
    const int is = seek(&c->volumes, id, cursor);

    if (is <= 0)
        return is < 0 ? is : -ENOENT;
    *v = coir_cursor_value(cursor, &length);
    return 0;
}

/* Whether a volume's name is in memory, and its own: 1; 0: it has lost it; -ESTALE. */
static int has_name(struct coir_catalog *c, uint64_t id, const struct coir_disk_volume *v)
{
    struct coir_cursor cursor;
    unsigned length;
    const int is = seek(&c->names, coir_catalog_hash(c, v->name, v->name_length), &cursor);

    return is <= 0 ? is : *(uint64_t *)coir_cursor_value(&cursor, &length) == id;
}

/* ---- the changes ---- */

int coir_catalog_create(struct coir_catalog_change *change, struct coir_credit *credit,
                        const struct coir_catalog_item *item)
{
    struct coir_catalog *c = change->catalog;
    struct coir_cursor cursor;
    struct coir_disk_volume *v;
    int err;

    if (item->id < COIR_FIRST_VOLUME || item->shift < COIR_BLOCK_SHIFT || item->shift > COIR_VOLUME_SHIFT_MAX)
        return -EINVAL;
    err = name_is_free(c, item->name, item->name_length, 0);
    if (err)
        return err;
    err = seek(&c->volumes, item->id, &cursor);
    if (err)
        return err > 0 ? -EINVAL : err;
    v = coir_cursor_insert(&cursor, item->id, (unsigned)sizeof *v + item->name_length, credit);
    *v = (struct coir_disk_volume){
        .blocks = item->blocks, .era = item->era, .shift = item->shift, .state = COIR_VOLUME_READY,
        .name_length = item->name_length,
    };
    memcpy(v->name, item->name, item->name_length);
    put_name(c, item->name, item->name_length, item->id, credit);
    return 0;
}

int coir_catalog_rename(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id,
                        const char *name, size_t n)
{
    struct coir_catalog *c = change->catalog;
    struct coir_cursor cursor;
    struct coir_disk_volume *v;
    int err = volume_entry(c, id, &cursor, &v);

    if (!err)
        err = name_is_free(c, name, n, id);
    if (err)
        return err;
    if (v->state != COIR_VOLUME_READY)
        return -ENOENT;
    err = has_name(c, id, v);
    if (err <= 0)
        return err ? err : -ENOENT;
    coir_btree_delete(&c->names, coir_catalog_hash(c, v->name, v->name_length), credit);
    v = coir_cursor_resize(&cursor, (unsigned)(sizeof *v + n), credit);
    v->name_length = (uint16_t)n;
    memcpy(v->name, name, n);
    put_name(c, name, n, id, credit);
    return 0;
}

int coir_catalog_remove(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id)
{
    struct coir_catalog *c = change->catalog;
    struct coir_extents *x = coir_catalog_get(c, id);
    struct coir_cursor cursor;
    struct coir_disk_volume *v;
    int err = volume_entry(c, id, &cursor, &v);

    if (err)
        return err;
    if (v->state != COIR_VOLUME_READY)
        return -ENOENT;
    err = has_name(c, id, v);
    if (err <= 0)
        return err ? err : -ENOENT;
    coir_btree_delete(&c->names, coir_catalog_hash(c, v->name, v->name_length), credit);
    coir_cursor_touch(&cursor, credit);
    v->state = COIR_VOLUME_REMOVING;
    if (x)
        x->state = COIR_VOLUME_REMOVING;
    return 0;
}

int coir_catalog_gone(struct coir_catalog_change *change, struct coir_credit *credit, uint64_t id)
{
    struct coir_catalog *c = change->catalog;
    const struct coir_extents *x = coir_catalog_get(c, id);
    struct coir_cursor cursor;
    struct coir_disk_volume *v;
    const int err = volume_entry(c, id, &cursor, &v);

    if (err)
        return err;
    if (v->state != COIR_VOLUME_REMOVING || (x ? x->users || !coir_tree_is_empty(&x->tree) : v->root.address != 0))
        return -EBUSY;
    coir_cursor_delete(&cursor, credit);
    coir_cursor_mend(&cursor, credit);
    return 0;
}
