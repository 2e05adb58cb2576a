/* SPDX-License-Identifier: MIT */
/*
 * Makes images. The emitter, and the tests' assembler, tell it types, constants, imports and functions, then
 * instructions; coir_build_finish gives the bytes. It checks what would not fit the format, not what the loader
 * proves. The first failure (out of memory, a limit) is kept and everything after it does nothing, so that it is looked
 * at once, at the end. One thread.
 *
 *     struct coir_build *b = coir_build_new();
 *     uint32_t f = coir_build_function(b, "twice", "a.coir");
 *     struct coir_build_param n = { COIR_TYPE_INT, COIR_MODE_LEND };
 *     coir_build_begin(b, f, &n, 1, COIR_TYPE_INT);
 *     coir_build_line(b, 3);
 *     coir_build_op(b, COIR_OP_ADD, 0, 0, 0, 0);
 *     coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
 *     coir_build_end(b, 1);
 *     int bad = coir_build_finish(b, &bytes, &length);
 */
#ifndef COIR_VM_BUILD_H
#define COIR_VM_BUILD_H

#include "vm/image.h"

struct coir_build;

/* Types are indexes: COIR_TYPE_INT ... COIR_TYPE_TEXT, COIR_INDEX_TEXTS, COIR_INDEX_TRAP, and what is made below. */
struct coir_build_param {
    uint32_t type;
    enum coir_mode mode;
};

struct coir_build *coir_build_new(void);            /* NULL: out of memory */
void coir_build_free(struct coir_build *b);

/* What failed first, or NULL. */
const char *coir_build_error(const struct coir_build *b);

/* ---- types: their indexes. Equal ones are made once; records, sums, enums and resources are told by their names. */

uint32_t coir_build_list(struct coir_build *b, uint32_t element);
uint32_t coir_build_map(struct coir_build *b, uint32_t key, uint32_t value);
uint32_t coir_build_optional(struct coir_build *b, uint32_t inner);
uint32_t coir_build_chan(struct coir_build *b, uint32_t element);
uint32_t coir_build_task(struct coir_build *b, uint32_t result);
uint32_t coir_build_tuple(struct coir_build *b, const uint32_t *elements, unsigned n);

uint32_t coir_build_func(struct coir_build *b, const struct coir_build_param *params, unsigned n, uint32_t result);
uint32_t coir_build_resource(struct coir_build *b, const char *name);

/* Records, sums and enums are declared by name, the same name giving the same type, and told what they hold later, so
 * that they may refer to themselves. */
uint32_t coir_build_record(struct coir_build *b, const char *name);
uint32_t coir_build_sum(struct coir_build *b, const char *name);
uint32_t coir_build_enum(struct coir_build *b, const char *name);
/* One of several of the same kind and name, told apart by a number: types of different modules, of a generic one. */
uint32_t coir_build_numbered(struct coir_build *b, enum coir_type_kind kind, const char *name, uint32_t number);
void coir_build_field(struct coir_build *b, uint32_t record, const char *name, uint32_t type);
void coir_build_variant(struct coir_build *b, uint32_t sum_or_enum, const char *name);
void coir_build_payload(struct coir_build *b, uint32_t sum, const char *name, uint32_t type);  /* of the last variant */

/* An actor, told by its name and the record of its state; and what it understands, in order: the function has the state
 * (mut), the actor (lent), and then the message's own parameters (own, or flat). */
uint32_t coir_build_actor_type(struct coir_build *b, const char *name, uint32_t state);
void coir_build_message(struct coir_build *b, uint32_t actor, const char *name, uint32_t function);

/* How many registers a value takes, and what each is: the type a reference refers to, and whether it may be null.
 * Known as soon as the type is made, since what a record holds does not matter for it. */
struct coir_build_slot {
    bool is_ref, nullable;
    uint32_t type;
};
unsigned coir_build_slots(struct coir_build *b, uint32_t type);
struct coir_build_slot coir_build_slot(struct coir_build *b, uint32_t type, unsigned i);

/* ---- constants, globals, imports ---- */

uint32_t coir_build_word(struct coir_build *b, uint64_t word);
uint32_t coir_build_text(struct coir_build *b, const char *bytes, size_t length);
uint32_t coir_build_global(struct coir_build *b, const char *name, uint32_t type);     /* its first slot */

/* The same import is made once. mut parameters come first. */
uint32_t coir_build_import(struct coir_build *b, const char *name, const struct coir_build_param *params, unsigned n,
                           uint32_t result);

/* ---- functions ---- */

/* Declares one, so that it can be called. Each must be defined, in any order, by begin ... end. */
uint32_t coir_build_function(struct coir_build *b, const char *name, const char *file);

/* mut parameters come first. */
void coir_build_begin(struct coir_build *b, uint32_t function, const struct coir_build_param *params, unsigned n,
                      uint32_t result);

/* Right after begin: this is the body of a closure of that function type; then what it captures, in order. */
void coir_build_body(struct coir_build *b, uint32_t func);
void coir_build_capture(struct coir_build *b, const char *name, uint32_t type);

void coir_build_end(struct coir_build *b, unsigned nregs);

void coir_build_export(struct coir_build *b, enum coir_export_kind kind, const char *name, uint32_t function);

/* What follows is of this source line. */
void coir_build_line(struct coir_build *b, uint32_t line);

/* One instruction, its operands by their places in opcodes.h. Unused ones 0. */
void coir_build_op(struct coir_build *b, enum coir_op op, unsigned a, unsigned bb, unsigned c, unsigned d);

/* One whose B:C is a number, a constant, a function, an import, a global's slot. */
void coir_build_wide(struct coir_build *b, enum coir_op op, unsigned a, uint32_t x, unsigned d);

/* The EXT word of the instruction before. */
void coir_build_ext(struct coir_build *b, unsigned a, unsigned bb, unsigned c, unsigned d);

/* LOADI if it fits, else CONSTW. */
void coir_build_load(struct coir_build *b, unsigned a, uint64_t word);

/* Labels, of the function that is being built. A branch may come before or after its label's place; one that is too
 * far for its operand is made longer at the end. Two labels may have one place. */
uint32_t coir_build_label(struct coir_build *b);
void coir_build_place(struct coir_build *b, uint32_t label);
void coir_build_jump(struct coir_build *b, enum coir_op op, unsigned a, unsigned bb, unsigned d, uint32_t label);

/* An arm of the SELECT before, which counts them (its C is 0 when it is told): kind, the channel or duration, the
 * window, where it goes. */
void coir_build_arm(struct coir_build *b, enum coir_arm_kind kind, unsigned reg, unsigned window, uint32_t label);

/* Handlers are asked in the order in which they were told: the innermost first. */
void coir_build_handler(struct coir_build *b, enum coir_handler_kind kind, uint32_t from, uint32_t to, uint32_t at,
                        unsigned keep);

/* Whether code can go on here: the last instruction did not end the function's flow, or a label is placed here. */
bool coir_build_falls(const struct coir_build *b);

/* The image, of malloc. 0, -ENOMEM, or -EINVAL: coir_build_error says why. */
int coir_build_finish(struct coir_build *b, void **bytes, size_t *length);

#endif
