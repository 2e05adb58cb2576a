/* SPDX-License-Identifier: MIT */
/*
 * The inside of the loader: load.c (sections, and what is small), load_types.c, load_functions.c (records and the
 * operands of instructions), and the proof. Nobody else includes it.
 *
 * Whoever finds something wrong calls coir_load_wrong, once, and returns false all the way up. A cursor that runs out
 * gives zeroes and says so itself, so that one look at the end of a record is enough; but a number that was read must
 * be looked at before it is used for anything.
 */
#ifndef COIR_VM_LOAD_INSIDE_H
#define COIR_VM_LOAD_INSIDE_H

#include "vm/arena.h"
#include "vm/load.h"

struct coir_cursor {
    const uint8_t *at, *end;
    bool ran_out;
};

struct coir_load {
    struct coir_program *p;
    struct coir_load_arena *arena;           /* the program's */
    const struct coir_library *library;
    struct coir_load_error *error;
    bool no_memory, failed;

    struct coir_cursor sections[COIR_SECTIONS];
    size_t length;                      /* of the image */
    const char **strings;               /* with a 0 behind them */
    uint32_t *lengths;
    uint32_t nstrings;
    uint8_t *key, *ordered;             /* of each type: whether it may be a key; whether CMPV is for it */

    struct coir_function *functions;
    struct coir_import *imports;

    uint64_t work;                      /* that the proof may still do */
    uint64_t drops;                     /* registers that drop maps may still name */

    /* the states are asked for, not the maps */
    void (*see)(void *arg, uint32_t pc, uint32_t reg, const char *what);
    void *see_arg;
};

bool coir_load_wrong(struct coir_load *l, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
bool coir_load_memory(struct coir_load *l) __attribute__((cold));

uint8_t coir_get8(struct coir_cursor *c);
uint16_t coir_get16(struct coir_cursor *c);
uint32_t coir_get32(struct coir_cursor *c);
uint64_t coir_get64(struct coir_cursor *c);

/* A number of things of which each takes `size` bytes or more: refused before anybody makes room for them. */
bool coir_get_count(struct coir_load *l, struct coir_cursor *c, uint32_t n, size_t size, const char *what);

/* A name: a string without a 0 in it. NULL if there is none. */
const char *coir_get_name(struct coir_load *l, struct coir_cursor *c);

/* A type of values: any but scopes and groups. */
const struct coir_type *coir_get_type(struct coir_load *l, struct coir_cursor *c);

/* Parameters, mut ones first; and the registers they take. */
struct coir_param *coir_get_params(struct coir_load *l, struct coir_cursor *c, uint32_t *n);
void coir_count_slots(const struct coir_param *params, uint32_t n, uint32_t *mut, uint32_t *all);

/* Fields: name and type each, their slots set. */
struct coir_field *coir_get_fields(struct coir_load *l, struct coir_cursor *c, uint32_t n);

bool coir_load_types(struct coir_load *l);
bool coir_load_classify(struct coir_load *l);       /* l->key, l->ordered */
bool coir_load_functions(struct coir_load *l);

/* The operands of a function's instructions; *starts: a bit for each word at which one begins. */
bool coir_load_operands(struct coir_load *l, struct coir_function *f, uint64_t **starts);

/* Types and ownership, and the drop maps. */
bool coir_load_prove(struct coir_load *l, struct coir_function *f, const uint64_t *starts);

static inline bool coir_bit(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static inline void coir_bit_set(uint64_t *bits, uint32_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void coir_bit_clear(uint64_t *bits, uint32_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

#endif
