/* SPDX-License-Identifier: MIT */
/*
 * One source file: its bytes, its name as it is reported, and where its lines begin. The bytes are any: what is no
 * source is for the lexer to say. Nothing changes a source once it is made; trees and diagnostics point at it, and it
 * must outlive them.
 */
#ifndef COIR_LANG_SOURCE_H
#define COIR_LANG_SOURCE_H

#include <stdint.h>

#include "lang/budget.h"

/* The largest source, in bytes: offsets and token numbers fit 32 bits with room to spare. */
#define COIR_SOURCE_MOST (256u << 20)

struct coir_source {
    const char *path;           /* as it is reported */
    const char *text;           /* size bytes, and a NUL behind them */
    uint32_t size;
    uint32_t lines;             /* how many there are, at least 1 */
    const uint32_t *starts;     /* where line i + 1 begins */
    struct coir_budget *memory;
};

/* Some bytes of a source. */
struct coir_word {
    const char *text;
    uint32_t size;
};

/* Both from 1; columns in bytes, a tab is one. */
struct coir_position {
    uint32_t line, column;
};

/* A source of n bytes, which are copied, as is the path. 0; -ENOMEM; -EFBIG if they are more than COIR_SOURCE_MOST. */
int coir_source_init(struct coir_source *s, struct coir_budget *m, const char *path, const void *text, size_t n);

/* The file `path`, read whole; for the process, it blocks. 0, or -errno, -ENOMEM, -EFBIG. */
int coir_source_read(struct coir_source *s, struct coir_budget *m, const char *path);

/* Also of one that is all zeros, or whose making failed. */
void coir_source_free(struct coir_source *s);

/* Where the byte at `offset` stands; offset may be the size, the end. */
struct coir_position coir_source_position(const struct coir_source *s, uint32_t offset);

#endif
