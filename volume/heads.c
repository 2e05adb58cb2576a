/* SPDX-License-Identifier: MIT */
/*
 * The checks read a field only when all that it depends on has been checked: the sum first, then the version, then
 * what bounds the others. Nothing of a block is believed for having a good sum: who makes a block can sum it.
 */
#include "volume/heads.h"

#include "device/checksum.h"
#include "journal/format.h"
#include "runtime/base/assert.h"

#include <errno.h>
#include <string.h>

/* Fails a check. */
static int bad(const char **why, const char *what)
{
    *why = what;
    return -EBADMSG;
}

/* ---- any structure that is one block ----------------------------------------------------------------- */

static uint32_t sum(const void *block, uint64_t address)
{
    return coir_crc(address, (const char *)block + 8, COIR_BLOCK - 8);
}

void coir_block_seal(void *block, uint32_t magic, uint64_t address, uint64_t generation)
{
    struct coir_block_head *const head = block;

    *head = (struct coir_block_head){ .magic = magic, .address = address, .generation = generation };
    head->crc = sum(block, address);
}

int coir_block_check(const void *block, uint32_t magic, uint64_t address, const char **why)
{
    const struct coir_block_head *const head = block;

    if (coir_is_zero(block, COIR_BLOCK))
        return bad(why, "is all zeros");
    if (head->magic != magic)
        return bad(why, "begins with another magic number");
    if (head->crc != sum(block, head->address))
        return bad(why, "has a wrong checksum");
    return head->address == address ? 0 : bad(why, "was written for another place");
}

bool coir_is_zero(const void *p, size_t n)
{
    const unsigned char *const bytes = p;

    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* ---- headers and paths ------------------------------------------------------------------------------- */

void coir_header_make(struct coir_disk_header *h, const struct coir_layout *layout, const uint8_t store[16],
                      unsigned files, unsigned index, uint32_t grain, uint64_t at)
{
    *h = (struct coir_disk_header){
        .version = COIR_STORE_VERSION, .files = files, .index = index, .grain = grain, .blocks = layout->blocks,
        .map = layout->map, .journal = layout->journal, .journal_blocks = layout->journal_blocks,
        .data = layout->data,
    };
    memcpy(h->store, store, sizeof h->store);
    coir_block_seal(h, COIR_MAGIC_HEADER, COIR_ADDRESS(index, at), 0);
}

int coir_header_check(const struct coir_disk_header *h, uint64_t at, struct coir_layout *layout, const char **why)
{
    const int r = coir_block_check(h, COIR_MAGIC_HEADER, COIR_ADDRESS(h->index % COIR_STORE_FILES, at), why);

    if (r < 0)
        return r;
    if (h->version != COIR_STORE_VERSION) {
        *why = "is of a version that this program does not know";
        return -ENOTSUP;
    }
    if (h->files == 0 || h->files > COIR_STORE_FILES || h->index >= h->files)
        return bad(why, "says that there is an impossible number of files");
    if (h->grain < COIR_BLOCK || h->grain > COIR_GRAIN_MAX || (h->grain & (h->grain - 1)))
        return bad(why, "has an impossible grain");
    if (h->blocks % COIR_REGION || h->journal_blocks % COIR_REGION || h->journal_blocks > COIR_FILE_BLOCKS_MAX)
        return bad(why, "has impossible sizes");
    if ((h->index == 0) != (h->journal_blocks > 0))
        return bad(why, "has a journal where there is none, or none where it is");
    if (h->index == 0 && h->journal_blocks * COIR_BLOCK < (uint64_t)COIR_JOURNAL_GRAINS * h->grain)
        return bad(why, "has a journal that is too small for its grain");
    if (coir_layout(layout, h->blocks, h->journal_blocks) < 0)
        return bad(why, "has impossible sizes");
    if (h->map != layout->map || h->journal != layout->journal || h->data != layout->data)
        return bad(why, "has its parts in impossible places");
    if (h->head.generation != 0 || !coir_is_zero(h->zero, sizeof h->zero))
        return bad(why, "has something where zeros must be");
    return 0;
}

void coir_path_make(struct coir_disk_path *p, unsigned holder, unsigned index, const char *path)
{
    const size_t length = strlen(path);

    COIR_ASSERT(path[0] == '/' && length <= COIR_PATH_MAX);
    *p = (struct coir_disk_path){ .index = index, .length = (uint32_t)length };
    memcpy(p->path, path, length);
    coir_block_seal(p, COIR_MAGIC_PATH, COIR_ADDRESS(holder, COIR_AT_PATHS + index), 0);
}

int coir_path_check(const struct coir_disk_path *p, unsigned holder, unsigned index, const char **why)
{
    const int r = coir_block_check(p, COIR_MAGIC_PATH, COIR_ADDRESS(holder, COIR_AT_PATHS + index), why);

    if (r < 0)
        return r;
    if (p->index != index)
        return bad(why, "is about another file");
    if (p->length == 0 || p->length > COIR_PATH_MAX || p->path[0] != '/' || memchr(p->path, 0, p->length))
        return bad(why, "is no absolute path");
    if (!coir_is_zero(p->path + p->length, COIR_PATH_MAX - p->length) || !coir_is_zero(p->zero, sizeof p->zero)
        || p->head.generation != 0)
        return bad(why, "has something where zeros must be");
    return 0;
}

/* ---- superblocks ------------------------------------------------------------------------------------- */

void coir_super_make(struct coir_disk_super *s, const struct coir_layout *layouts, const uint64_t *grown,
                     unsigned files, const uint8_t store[16], const uint8_t key[16])
{
    *s = (struct coir_disk_super){
        .version = COIR_STORE_VERSION, .files = files, .journal_number = 1, .next_volume = COIR_FIRST_VOLUME,
    };
    memcpy(s->store, store, sizeof s->store);
    memcpy(s->key, key, sizeof s->key);
    for (unsigned i = 0; i < files; i++)
        s->file[i] = (struct coir_disk_file){
            .blocks = layouts[i].blocks, .grown = grown[i], .map_slot = COIR_MAP_NONE,
        };
}

/* `zeros`: all must be zero that this version does not know. */
static int check_root(const struct coir_disk_super *s, const struct coir_disk_root *root,
                      const struct coir_layout *layouts, bool zeros, const char **why)
{
    const unsigned file = COIR_ADDRESS_FILE(root->address);
    const uint64_t block = COIR_ADDRESS_BLOCK(root->address);

    if (zeros && root->zero)
        return bad(why, "has something where zeros must be");
    if (root->address == 0)
        return root->crc || root->level ? bad(why, "has an impossible root") : 0;
    if (file >= s->files || block < layouts[file].data || block >= s->file[file].grown
        || root->level >= COIR_TREE_LEVELS)
        return bad(why, "has an impossible root");
    return 0;
}

static int check_files(const struct coir_disk_super *s, const struct coir_layout *layouts, const char **why)
{
    uint64_t room = 0;

    for (unsigned i = 0; i < s->files; i++) {
        const struct coir_disk_file *const file = &s->file[i];

        if (file->blocks != layouts[i].blocks)
            return bad(why, "says another size of a file than its header");
        if (file->grown % COIR_REGION || file->grown < layouts[i].data || file->grown > file->blocks)
            return bad(why, "has an impossible length of a file");
        if (file->map_slot > COIR_MAP_NONE || (file->map_slot == COIR_MAP_NONE && file->map_crc))
            return bad(why, "has an impossible place of a space map");
        room += file->grown - layouts[i].data;
    }
    if (s->live > room)
        return bad(why, "has more blocks in use than there are");
    return coir_is_zero(&s->file[s->files], sizeof s->file - s->files * sizeof s->file[0])
        ? 0 : bad(why, "has something where zeros must be");
}

static int check_numbers(const struct coir_disk_super *s, const struct coir_layout *layouts, const char **why)
{
    if (s->head.generation == 0 || s->head.generation == UINT64_MAX || s->epoch == UINT64_MAX)
        return bad(why, "has an impossible generation");
    if (s->lsn >= UINT64_MAX / 2 || s->next_volume < COIR_FIRST_VOLUME || s->next_volume >= UINT64_MAX / 2)
        return bad(why, "has an impossible LSN or volume number");
    if (s->journal_start >= layouts[0].journal_blocks * COIR_BLOCK || s->journal_start % COIR_BLOCK
        || s->journal_number == 0)
        return bad(why, "has an impossible place in the journal");
    return s->volumes <= s->next_volume ? 0 : bad(why, "has an impossible number of volumes");
}

int coir_super_check(const struct coir_disk_super *s, uint64_t at, const struct coir_layout *layouts, unsigned files,
                     const uint8_t store[16], bool *read_only, const char **why)
{
    int r = coir_block_check(s, COIR_MAGIC_SUPER, COIR_ADDRESS(0, at), why);

    if (r < 0)
        return r;
    if (s->version != COIR_STORE_VERSION || s->features_read & ~COIR_FEATURES_READ) {
        *why = s->version != COIR_STORE_VERSION ? "is of a version that this program does not know"
                                                : "has a feature that this program cannot read";
        return -ENOTSUP;
    }
    if (memcmp(s->store, store, sizeof s->store) != 0 || s->files != files)
        return bad(why, "is another store's");
    const bool zeros = !(s->features || s->features_write);
    r = check_files(s, layouts, why);
    r = r < 0 ? r : check_numbers(s, layouts, why);
    r = r < 0 ? r : check_root(s, &s->catalog, layouts, zeros, why);
    r = r < 0 ? r : check_root(s, &s->names, layouts, zeros, why);
    if (r < 0)
        return r;
    if (zeros && (!coir_is_zero(s->zero, sizeof s->zero) || !coir_is_zero(s->rest, sizeof s->rest)))
        return bad(why, "has something where zeros must be");
    *read_only = (s->features_write & ~COIR_FEATURES_WRITE) != 0;
    return 0;
}
