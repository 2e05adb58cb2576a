/* SPDX-License-Identifier: MIT */
/*
 * Whether a block is the node that was meant. The order is from the outside to the inside: that it is a node at all,
 * that it is this one, in this version, then its head, and then each entry, of which nothing is touched before its
 * bounds are known.
 */
#include "volume/node.h"

#include "device/checksum.h"
#include "volume/layout.h"

uint32_t coir_node_sum(const struct coir_disk_node *page, uint64_t address)
{
    return coir_crc(address, (const char *)page + 8, COIR_BLOCK - 8);
}

const char *coir_root_verify(const struct coir_disk_root *root)
{
    static const struct coir_disk_root empty;

    if (root->address == 0)
        return memcmp(root, &empty, sizeof empty) ? "an empty root is not zero" : NULL;
    if (!coir_address_may_be(root->address, 1))
        return "the root's address cannot be";
    if (root->level >= COIR_TREE_LEVELS || root->zero)
        return "the root's level cannot be";
    return NULL;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    uint8_t all = 0;

    while (n--)
        all |= *p++;
    return all == 0;
}

static const char *verify_child(const struct coir_disk_child *c)
{
    if (!coir_address_may_be(c->address, 1))
        return "a child's address cannot be";
    return NULL;
}

static const char *verify_inner(const struct coir_disk_node *page, const struct coir_node_want *want)
{
    const struct coir_disk_child *c = (const void *)page->entries;

    if (page->count > COIR_NODE_CHILDREN || page->used != page->count * sizeof *c)
        return "the count of children cannot be";
    for (unsigned i = 0; i < page->count; i++) {
        const char *bad = verify_child(&c[i]);

        if (bad)
            return bad;
        if (c[i].key < want->low || c[i].key > want->last)
            return "a key is outside of the node's";
        if (i && c[i].key <= c[i - 1].key)
            return "keys do not rise";
    }
    return NULL;
}

/* The entry at byte `at`, of whose `left` bytes nothing is known; *size is set. */
static const char *verify_entry(const struct coir_disk_node *page, const struct coir_node_want *want, unsigned at,
                                uint64_t *next, unsigned *size)
{
    const struct coir_disk_entry *d = (const void *)(page->entries + at);
    const unsigned left = page->used - at;
    struct coir_entry e = { .last = want->last, .shift = want->shift };

    if (left < sizeof *d)
        return "an entry is cut";
    *size = coir_entry_size(d->length);
    if (d->length > COIR_VALUE_MAX || *size > left)
        return "an entry is too long";
    if (!is_zero(d->zero, sizeof d->zero)
            || !is_zero((const uint8_t *)(d + 1) + d->length, *size - sizeof *d - d->length))
        return "an entry's padding is not zero";
    if (d->key > want->last)
        return "a key is outside of the node's";
    if (d->key < *next)
        return at ? "keys do not rise, or entries overlap" : "a key is outside of the node's";
    e.key = d->key;
    e.value = d + 1;
    e.length = d->length;
    *next = d->key + 1;
    return want->kind->check(&e, next);
}

static const char *verify_leaf(const struct coir_disk_node *page, const struct coir_node_want *want)
{
    uint64_t next = want->low;
    unsigned at = 0, count = 0, size;

    for (; at < page->used; at += size, count++) {
        const char *bad;

        if (count && next == 0)
            return "an entry follows the last key";
        bad = verify_entry(page, want, at, &next, &size);
        if (bad)
            return bad;
    }
    return count != page->count ? "the count of entries is wrong" : NULL;
}

const char *coir_node_verify_content(const struct coir_disk_node *page, const struct coir_node_want *want)
{
    if (page->tree != want->tree)
        return "it is of another tree";
    if (page->level != want->level)
        return "it is of another level";
    if (page->era != want->era && !want->any_era)
        return "it is of another era";
    if (page->zero || !is_zero(page->spare, sizeof page->spare))
        return "its head is not zero where it has to be";
    if (page->count == 0)
        return "it is empty";
    if (page->used > COIR_NODE_BYTES)
        return "its length cannot be";
    return page->level ? verify_inner(page, want) : verify_leaf(page, want);
}

const char *coir_node_verify(const struct coir_disk_node *page, const struct coir_node_want *want)
{
    if (page->head.magic != COIR_MAGIC_NODE)
        return "it is no node";
    if (page->head.address != want->address)
        return "it was written for another place";
    if (coir_node_sum(page, want->address) != page->head.crc)
        return "its checksum is wrong";
    if (page->head.crc != want->crc)
        return "it is another version than the one that is meant";
    return coir_node_verify_content(page, want);
}
