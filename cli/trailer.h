/* SPDX-License-Identifier: MIT */
/*
 * What stands at the end of a built program: the runtime, the image, and this, which says where the image begins, how
 * it is run, and what the bytes are checked by. docs/build.md tells it byte by byte. `coir build` writes it, the
 * runtime reads it; it may be given any bytes.
 */
#ifndef COIR_CLI_TRAILER_H
#define COIR_CLI_TRAILER_H

#include <stdint.h>

#include "cli/launch.h"

enum { CLI_TRAILER = 64, CLI_TRAILER_VERSION = 1 };

/* The last bytes of a built program. */
#define CLI_TRAILER_MAGIC "\x7f" "COIRX\r\n"

/* What a runtime has in it, behind a byte 0x7f, and a line's end behind it: by that `coir build` knows one. */
#define CLI_RUNTIME_STAMP "coir-runtime " COIR_VERSION

struct cli_trailer {
    uint64_t runtime;                   /* bytes before the image */
    uint64_t image;                     /* bytes of it; the trailer is behind them */
    uint64_t checksum;                  /* of these */
    struct cli_flags flags;
};

/* Each byte turns it into another: one that is changed never goes unseen. */
uint64_t cli_checksum(const void *bytes, size_t length);

void cli_trailer_write(uint8_t bytes[CLI_TRAILER], const struct cli_trailer *t);

enum cli_trailer_found {
    CLI_TRAILER_NONE,                   /* the bytes do not end as a trailer does */
    CLI_TRAILER_OTHER,                  /* one of another version */
    CLI_TRAILER_BROKEN,
    CLI_TRAILER_CUT,                    /* the file is not as long as it says */
    CLI_TRAILER_GOOD,
};

/* Reads the last bytes of a file of `length`. *t is set if it is good. */
enum cli_trailer_found cli_trailer_read(const uint8_t bytes[CLI_TRAILER], uint64_t length, struct cli_trailer *t);

#endif
