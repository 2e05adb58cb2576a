/* SPDX-License-Identifier: MIT */
/*
 * A loaded program: what the interpreter runs. The loader makes it of an image's bytes and has proved all that
 * docs/image.md says, so that whoever runs it checks nothing of it again. It is immutable but for the cells of
 * constants, which are made once before it runs; it may be shared by shards, and does not refer to the image's bytes.
 */
#ifndef COIR_VM_PROGRAM_H
#define COIR_VM_PROGRAM_H

#include "vm/image.h"
#include "vm/native.h"

/* A trap at a pc with from <= pc < to goes on at `at`, with the Trap, owned, in r[keep]; registers below keep stay,
 * what the drop map has from keep on is dropped. The first that fits is the one; a fiber that is being stopped passes
 * over COIR_CATCH. A pad has no memory of its own: it ends by raising the Trap again, with TRAP, and whether the
 * fiber is being stopped is the fiber's to remember. */
struct coir_handler {
    uint32_t from, to;
    uint32_t at;
    uint16_t keep;
    uint8_t kind;
};

/* Code from pc on is of this line. */
struct coir_source_line {
    uint32_t pc;
    uint32_t line;
};

/* The registers to drop if a frame is left at key / 2: at an even key, the instruction there (or the landing on it)
 * has trapped, or been cut short; at an odd one, what it called was left. Of the window's registers, and those after,
 * an odd one has only mut parameters. drops[first..first + count), rising. A register may hold null. */
struct coir_drop_map {
    uint32_t key;
    uint32_t first;
    uint32_t count;
};

struct coir_function {
    const uint64_t *code;                   /* as in the image, but: the D of a PLDR or PTAKE is 1 if null is a value
                                               of the slot, and no hole */
    uint32_t ncode;
    uint32_t nregs;                         /* at least 1; at most 65,535 */
    const struct coir_param *params;        /* mut ones first */
    const struct coir_type *result;
    uint32_t nparams;
    uint32_t mut_slots;                     /* registers of the mut parameters: results begin behind them */
    uint32_t slots;                         /* registers of all parameters, without the closure's cell */
    const struct coir_type *closure;        /* the body of a closure: its function type, else NULL. Its cell, lent, is
                                               in the register behind the parameters' */
    const struct coir_field *captures;      /* what the cell holds; a coir_box whose aux is this function's index */
    uint32_t ncaptures;
    uint32_t capture_slots;
    const struct coir_slot *capture_layout;
    bool is_init;                           /* may set globals */
    const char *name;
    const char *file;
    uint32_t index;
    uint32_t nhandlers, nlines, nmaps, ndrops;
    const struct coir_handler *handlers;    /* innermost first */
    const struct coir_source_line *lines;          /* rising by pc */
    const struct coir_drop_map *maps;       /* rising by key */
    const uint16_t *drops;                  /* the registers of all maps */
};

/* A constant: a word stands in program->constants already; a Text's cell is put there by who links. */
struct coir_text_constant {
    const char *bytes;
    uint32_t length;
    uint32_t index;                         /* into program->constants */
};

/* A module's `let`. */
struct coir_global {
    const char *name;
    const struct coir_type *type;
    uint32_t slot;                          /* its first */
};

/* What the outside starts: `main`, the init function, functions by name, tests. */
struct coir_export {
    const char *name;
    uint32_t function;
    uint8_t kind;
};

struct coir_program {
    struct coir_types types;
    const struct coir_function *functions;
    const struct coir_import *imports;      /* native.h */
    uint64_t *constants;
    const uint8_t *constant_is_text;
    const struct coir_text_constant *texts;
    const struct coir_global *globals;
    const struct coir_slot *global_layout;         /* the kinds of all slots of the globals */
    const struct coir_export *exports;
    uint32_t nfunctions, nimports, nconstants, ntexts, nglobals, nglobal_slots, nexports;
    int main, init;                         /* functions, or -1 */
    size_t memory;                          /* bytes that it takes */
    struct coir_load_arena *arena;               /* the loader's */
};

/* The drop map of a frame: see struct coir_drop_map. Every pc at which a frame can be left has one. `inside`: what the
 * instruction called is being left, or was. NULL if there is nothing to drop. */
const struct coir_drop_map *coir_drop_map(const struct coir_function *f, uint32_t pc, bool inside);

/* The innermost handler of a pc that a fiber goes to, NULL if none; `stopping` passes over COIR_CATCH. */
const struct coir_handler *coir_handler_of(const struct coir_function *f, uint32_t pc, bool stopping);

/* The source line of a pc, 0 if it has none. */
uint32_t coir_line_of(const struct coir_function *f, uint32_t pc);

/* The type as a program writes it, "Map[Text, Int?]", cut to size; value: `to`. Deep ones end in "...". */
const char *coir_write_type(const struct coir_type *type, char *to, size_t size);

#endif
