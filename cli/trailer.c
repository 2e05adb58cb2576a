/* SPDX-License-Identifier: MIT */
/*
 * The end of a built program. See trailer.h, and docs/build.md for the layout, which is that of the offsets below.
 */
#include "cli/trailer.h"

#include <string.h>

#include "vm/vm.h"

/* The three at the end stay where they are, seen from the end, in every version to come. */
enum { RUNTIME = 0, IMAGE = 8, CHECKSUM = 16, MAX_MEMORY = 24, SHARDS = 32, FEATURES = 36, OWN_CHECKSUM = 40,
       LENGTH = 48, VERSION = 52, MAGIC = 56 };

_Static_assert(MAGIC + sizeof CLI_TRAILER_MAGIC - 1 == CLI_TRAILER, "the magic comes last");

uint64_t cli_checksum(const void *bytes, size_t length)
{
    const uint8_t *const from = bytes;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        sum = (sum ^ from[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void put(uint8_t *to, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, unsigned size)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

void cli_trailer_write(uint8_t bytes[CLI_TRAILER], const struct cli_trailer *t)
{
    memset(bytes, 0, CLI_TRAILER);
    put(bytes + RUNTIME, 8, t->runtime);
    put(bytes + IMAGE, 8, t->image);
    put(bytes + CHECKSUM, 8, t->checksum);
    put(bytes + MAX_MEMORY, 8, t->flags.max_memory);
    put(bytes + SHARDS, 4, t->flags.shards);
    put(bytes + OWN_CHECKSUM, 8, cli_checksum(bytes, OWN_CHECKSUM));
    put(bytes + LENGTH, 4, CLI_TRAILER);
    put(bytes + VERSION, 4, CLI_TRAILER_VERSION);
    memcpy(bytes + MAGIC, CLI_TRAILER_MAGIC, CLI_TRAILER - MAGIC);
}

enum cli_trailer_found cli_trailer_read(const uint8_t bytes[CLI_TRAILER], uint64_t length, struct cli_trailer *t)
{
    const uint64_t runtime = get(bytes + RUNTIME, 8), image = get(bytes + IMAGE, 8);
    const uint64_t max_memory = get(bytes + MAX_MEMORY, 8);

    if (memcmp(bytes + MAGIC, CLI_TRAILER_MAGIC, CLI_TRAILER - MAGIC) != 0)
        return CLI_TRAILER_NONE;
    if (get(bytes + VERSION, 4) != CLI_TRAILER_VERSION)
        return CLI_TRAILER_OTHER;
    if (get(bytes + LENGTH, 4) != CLI_TRAILER || get(bytes + OWN_CHECKSUM, 8) != cli_checksum(bytes, OWN_CHECKSUM))
        return CLI_TRAILER_BROKEN;
    if (get(bytes + FEATURES, 4) != 0)
        return CLI_TRAILER_OTHER;
    if (get(bytes + SHARDS, 4) > COIR_SHARDS_MOST)
        return CLI_TRAILER_BROKEN;
    if (length < CLI_TRAILER || runtime > length - CLI_TRAILER || image != length - CLI_TRAILER - runtime)
        return CLI_TRAILER_CUT;
    *t = (struct cli_trailer){ runtime, image, get(bytes + CHECKSUM, 8),
                               { .shards = (uint32_t)get(bytes + SHARDS, 4),
                                 .max_memory = max_memory > SIZE_MAX ? SIZE_MAX : (size_t)max_memory } };
    return CLI_TRAILER_GOOD;
}
