/* SPDX-License-Identifier: MIT */
/*
 * Whether a block is the node that was meant: a sound one of each kind of tree, and everything that can be wrong with
 * it, one thing at a time, each told apart by what is said of it.
 */
#include "device/checksum.h"
#include "tap.h"
#include "volume/node.h"

enum { TREE = 99, AT = 12345 };

static union {
    struct coir_disk_node page;
    uint64_t align;
} b;

static struct coir_node_want want;

static void seal(void)
{
    b.page.head.magic = COIR_MAGIC_NODE;
    b.page.head.address = AT;
    b.page.head.crc = coir_node_sum(&b.page, AT);
    want.crc = b.page.head.crc;
}

static void begin(const struct coir_tree_kind *kind, unsigned level)
{
    memset(&b, 0, sizeof b);
    b.page.tree = TREE;
    b.page.level = (uint16_t)level;
    b.page.era = 3;
    want = (struct coir_node_want){
        .tree = TREE, .address = AT, .era = 3, .level = level, .shift = 13, .low = 100, .last = 9999, .kind = kind,
    };
}

static struct coir_disk_entry *add(uint64_t key, const void *value, unsigned length)
{
    struct coir_disk_entry *e = coir_entry_at(&b.page, b.page.used);

    e->key = key;
    e->length = (uint16_t)length;
    memcpy(e + 1, value, length);
    b.page.used = (uint16_t)(b.page.used + coir_entry_size(length));
    b.page.count++;
    return e;
}

/* ---- sound ones ---- */

static struct coir_disk_child *child(unsigned i)
{
    return &coir_children(&b.page)[i];
}

static void inner(void)
{
    begin(&coir_kind_extents, 2);
    for (unsigned i = 0; i < 5; i++)
        *child(i) = (struct coir_disk_child){ 100 + i * 1000, COIR_ADDRESS(i, 500 + i), i, 3 };
    b.page.count = 5;
    b.page.used = 5 * sizeof(struct coir_disk_child);
}

static struct coir_disk_extent *extent(unsigned i)
{
    unsigned at = 0;

    while (i--)
        at = coir_entry_next(&b.page, at);
    return coir_entry_value(coir_entry_at(&b.page, at));
}

static void extents(void)
{
    uint32_t x[4 + 3] = { 0 };

    begin(&coir_kind_extents, 0);
    for (unsigned i = 0; i < 4; i++) {
        struct coir_disk_extent *e = (void *)x;

        *e = (struct coir_disk_extent){ .address = COIR_ADDRESS(1, 2000 + 8 * i), .era = 3, .count = 3 };
        add(100 + 10 * i, x, sizeof x);
    }
}

static struct coir_disk_volume *volume(void)
{
    return coir_entry_value(coir_entry_at(&b.page, 0));
}

static void catalog(void)
{
    const struct coir_disk_volume v = { .blocks = 10, .shift = 12, .state = 1, .name_length = 4 };
    char value[sizeof v + 4];

    memcpy(value, &v, sizeof v);
    memcpy(value + sizeof v, "disk", 4);
    begin(&coir_kind_catalog, 0);
    add(100, value, sizeof value);
    add(101, value, sizeof value);
}

static void names(void)
{
    struct { uint64_t id; char name[8]; } v = { 100, "disk" };

    begin(&coir_kind_names, 0);
    add(500, &v, 12);
}

/* ---- one thing wrong ---- */

/* Makes it by `make`, spoils it, and says what must be said. Sealed after that: the sums are right. */
#define WRONG(make, spoil, what) do { \
    make(); \
    spoil; \
    seal(); \
    STR_EQ(coir_node_verify(&b.page, &want), what, "%s: %s", #make, #spoil); \
    } while (0)

static void test_outside(void)
{
    inner();
    seal();
    b.page.head.magic ^= 1;
    STR_EQ(coir_node_verify(&b.page, &want), "it is no node", "magic");
    inner();
    seal();
    want.address++;
    STR_EQ(coir_node_verify(&b.page, &want), "it was written for another place", "address");
    for (unsigned at = 24; at < COIR_BLOCK; at += 97) {
        inner();
        seal();
        ((unsigned char *)&b.page)[at] ^= 0x10;
        STR_EQ(coir_node_verify(&b.page, &want), "its checksum is wrong", "byte %u", at);
    }
    inner();
    seal();
    b.page.head.generation++;
    STR_EQ(coir_node_verify(&b.page, &want), "its checksum is wrong", "generation");
    inner();
    seal();
    want.crc++;
    STR_EQ(coir_node_verify(&b.page, &want), "it is another version than the one that is meant", "the pointer's sum");
}

static void test_head(void)
{
    WRONG(inner, b.page.tree++, "it is of another tree");
    WRONG(inner, b.page.level--, "it is of another level");
    WRONG(inner, b.page.era++, "it is of another era");
    WRONG(inner, b.page.zero = 1, "its head is not zero where it has to be");
    WRONG(inner, b.page.spare[19] = 1, "its head is not zero where it has to be");
    WRONG(inner, b.page.count = 0, "it is empty");
    WRONG(inner, b.page.used = COIR_NODE_BYTES + 8, "its length cannot be");
    WRONG(inner, (b.page.era++, want.any_era = true), NULL);
}

static void test_inner(void)
{
    WRONG(inner, (void)0, NULL);
    WRONG(inner, b.page.count = 169, "the count of children cannot be");
    WRONG(inner, b.page.count = 4, "the count of children cannot be");
    WRONG(inner, b.page.used -= 8, "the count of children cannot be");
    WRONG(inner, child(0)->key = 99, "a key is outside of the node's");
    WRONG(inner, child(0)->key = 101, NULL);            /* what is less belongs to it too */
    WRONG(inner, child(4)->key = 10000, "a key is outside of the node's");
    WRONG(inner, child(4)->key = 9999, NULL);
    WRONG(inner, child(2)->key = child(1)->key, "keys do not rise");
    WRONG(inner, child(2)->key = child(1)->key - 1, "keys do not rise");
    WRONG(inner, child(3)->address = 0, "a child's address cannot be");
    WRONG(inner, child(3)->address = COIR_ADDRESS(5, 0), "a child's address cannot be");
    WRONG(inner, child(3)->address = COIR_ADDRESS(64, 7), "a child's address cannot be");
    WRONG(inner, child(3)->address = COIR_ADDRESS(255, 7), "a child's address cannot be");
}

static void test_leaf(void)
{
    WRONG(extents, (void)0, NULL);
    WRONG(extents, b.page.count = 5, "the count of entries is wrong");
    WRONG(extents, b.page.count = 3, "the count of entries is wrong");
    WRONG(extents, b.page.used -= 8, "an entry is too long");
    WRONG(extents, b.page.used += 8, "an entry is cut");
    WRONG(extents, coir_entry_at(&b.page, 0)->length = COIR_VALUE_MAX + 1, "an entry is too long");
    WRONG(extents, coir_entry_at(&b.page, 0)->length = 65535, "an entry is too long");
    WRONG(extents, coir_entry_at(&b.page, 0)->zero[5] = 1, "an entry's padding is not zero");
    WRONG(extents, ((uint8_t *)extent(0))[28] = 1, "an entry's padding is not zero");
    WRONG(extents, want.low = 101, "a key is outside of the node's");
    WRONG(extents, want.last = 129, "a key is outside of the node's");
    WRONG(extents, coir_entry_at(&b.page, 48)->key = 100, "keys do not rise, or entries overlap");
    WRONG(extents, coir_entry_at(&b.page, 48)->key = 102, "keys do not rise, or entries overlap");
    WRONG(extents, coir_entry_at(&b.page, 48)->key = 103, NULL);
}

static void test_extents(void)
{
    WRONG(extents, coir_entry_at(&b.page, 0)->length = 8, "an extent is too short");
    WRONG(extents, extent(1)->count = 0, "an extent's count cannot be");
    WRONG(extents, extent(1)->count = 257, "an extent's count cannot be");
    WRONG(extents, extent(1)->count = 2, "an extent's count is not its length");
    WRONG(extents, extent(1)->count = 4, "an extent's count is not its length");
    WRONG(extents, extent(1)->zero = 1, "an extent is not zero where it has to be");
    WRONG(extents, extent(1)->address = 0, "an extent's address cannot be");
    WRONG(extents, extent(1)->address++, "an extent's address cannot be");
    WRONG(extents, extent(1)->address = COIR_ADDRESS(64, 8), "an extent's address cannot be");
    WRONG(extents, extent(1)->address = COIR_ADDRESS(2, 0) - 4, "an extent's address cannot be");
    WRONG(extents, want.last = 131, "an extent reaches beyond its leaf");
    WRONG(extents, want.last = 132, NULL);
    begin(&coir_kind_extents, 0);
    add(100, "", 0);
    seal();
    STR_EQ(coir_node_verify(&b.page, &want), "an extent is too short", "an extent without anything");
}

static void test_end_of_keys(void)
{
    extents();
    want.last = UINT64_MAX;
    coir_entry_at(&b.page, 3 * 48)->key = UINT64_MAX - 2;
    seal();
    STR_EQ(coir_node_verify(&b.page, &want), NULL, "up to the last key");
    coir_entry_at(&b.page, 3 * 48)->key = UINT64_MAX - 1;
    seal();
    STR_EQ(coir_node_verify(&b.page, &want), "an extent reaches beyond its leaf", "and one beyond");
    coir_entry_at(&b.page, 2 * 48)->key = UINT64_MAX - 2;
    seal();
    STR_EQ(coir_node_verify(&b.page, &want), "an entry follows the last key", "nothing follows the last");
}

static void test_catalog(void)
{
    WRONG(catalog, (void)0, NULL);
    WRONG(catalog, (want.low = 0, coir_entry_at(&b.page, 0)->key = 15), "a volume's id cannot be");
    WRONG(catalog, volume()->name_length = 3, "a volume's entry has the wrong length");
    WRONG(catalog, volume()->shift = 11, "a volume's block size cannot be");
    WRONG(catalog, volume()->shift = 17, "a volume's block size cannot be");
    WRONG(catalog, volume()->state = 0, "a volume's state cannot be");
    WRONG(catalog, volume()->state = 3, "a volume's state cannot be");
    WRONG(catalog, volume()->dead.crc = 1, "a volume has a list that this version does not know");
    WRONG(catalog, volume()->root.level = 1, "an empty root is not zero");
    WRONG(catalog, (volume()->root.address = 5, volume()->root.level = 16), "the root's level cannot be");
    WRONG(catalog, (volume()->root.address = 5, volume()->root.level = 15), NULL);
    WRONG(catalog, volume()->root.address = COIR_ADDRESS(64, 1), "the root's address cannot be");
    WRONG(names, (void)0, NULL);
    WRONG(names, *(uint64_t *)coir_entry_value(coir_entry_at(&b.page, 0)) = 15, "a name's id cannot be");
    begin(&coir_kind_names, 0);
    add(500, "12345678", 8);
    seal();
    STR_EQ(coir_node_verify(&b.page, &want), "a name has a length that cannot be", "no name");
}

int main(void)
{
    test_outside();
    test_head();
    test_inner();
    test_leaf();
    test_extents();
    test_end_of_keys();
    test_catalog();
    return DONE();
}
