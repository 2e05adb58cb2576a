/* SPDX-License-Identifier: MIT */
/*
 * What a machine begins with, whoever makes it: natives by their names, the program's constants, what the environment
 * says.
 */
#ifndef COIR_VM_BEGIN_H
#define COIR_VM_BEGIN_H

#include "vm/load.h"

/* The machine's own natives, and those of `more`, up to a NULL. */
struct coir_standard_library {
    struct coir_library library;
    const struct coir_natives *const *more;
};
struct coir_standard_library coir_library_of(const struct coir_natives *const *more);

/* The texts' cells of the program's constants: once, before anything runs. False: no memory. */
bool coir_make_constants(struct coir_program *p);

/* A slice: what is said, else COIR_REDUCTIONS, else 4000. */
uint32_t coir_reductions(uint32_t said);
/* Messages that a mailbox has room for: what is said, else COIR_MAILBOX, else 1024. */
uint32_t coir_mailbox(uint32_t said);
/* "switch" or "labels": what is said, else COIR_DISPATCH, else labels. */
bool coir_by_switch(const char *said);

#endif
