/* SPDX-License-Identifier: MIT */
/*
 * From places in the program's code to names and lines. elfutils' libdw knows how; it is loaded when it is first
 * needed, so that nobody needs it to be installed. Without it a place is a module and an offset, which addr2line takes.
 *
 * For one thread at a time, which is no shard's: it allocates, and reads files.
 */
#ifndef COIR_RUNTIME_SEE_SYMBOLS_H
#define COIR_RUNTIME_SEE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct coir_symbols;
struct coir_text;

/* What is loaded into this process now; NULL: libdw is not to be had, or no memory. */
struct coir_symbols *coir_symbols_open(void);
void coir_symbols_close(struct coir_symbols *s);

/* Adds the lines of one frame: the functions that were inlined there, and the one that they were inlined into,
 * numbered from *number on. `pc` is in the middle of what runs, so of a caller one less than where it goes on. False:
 * that is coir's loop; nothing was added. `s` may be NULL. */
bool coir_symbols_frame(struct coir_symbols *s, struct coir_text *t, uintptr_t pc, unsigned *number);

/* The stack of a thread that stands still, from the two registers that are known: at most `most` places, the
 * innermost first. Memory is read from `sp` up to `top` only. Value: how many; 0: it cannot be told. */
size_t coir_symbols_unwind(struct coir_symbols *s, uintptr_t pc, uintptr_t sp, uintptr_t top, uintptr_t *out,
                           size_t most);

#endif
