/* SPDX-License-Identifier: MIT */
/*
 * The inside of the proof: what is known of a function's registers at a pc, and what may be done with that. prove.c has
 * the states and how they meet, prove_rules.c and prove_calls.c what each instruction asks and does.
 *
 * A state is two sets of registers, those with a word and those with something about a reference; what it is stands in
 * `held`, of the registers of the second set only. All else is empty.
 */
#ifndef COIR_VM_PROVE_H
#define COIR_VM_PROVE_H

#include "vm/load_inside.h"

enum coir_held_kind {
    COIR_EMPTY,         /* unreadable */
    COIR_HAS_WORD,
    COIR_NULL,          /* 0, known */
    COIR_OWNED,         /* a reference of this frame's own; null too, if `nullable` */
    COIR_LENT,          /* a reference that `from` owns */
    COIR_PLACE,         /* the address of slots inside what register `from` owns */
};

/* What lends, besides registers. */
#define COIR_FROM_CALLER UINT32_MAX
#define COIR_FROM_PROGRAM (UINT32_MAX - 1)      /* constants, globals */

struct coir_held {
    uint8_t kind;                       /* enum coir_held_kind */
    bool nullable;
    bool cell;                          /* LENT: the cell of the closure whose body this is; PLACE: in a cell */
    uint32_t from;
    const struct coir_type *type;       /* OWNED, LENT: what it refers to; PLACE: NULL for a register itself */
    const struct coir_slot *slots;      /* PLACE: what it is the address of */
    uint32_t nslots;
};

/* The state with which an instruction is come to by more than one way. */
struct coir_entry {
    uint32_t pc, nheld;
    bool seen, landing;
    uint64_t *words;
    struct coir_entry_held {
        uint32_t reg;
        struct coir_held held;
    } *held;
};

struct coir_proof {
    struct coir_load *l;
    struct coir_function *f;
    const uint64_t *starts;
    uint32_t nregs, nwords;             /* of the bitmaps */

    /* the current state */
    struct coir_held *held;
    uint64_t *refs, *words;
    uint64_t *lenders;                  /* registers that something may be lent from, or point into */
    bool places;                        /* there may be some */

    uint32_t pc;
    bool inside;                        /* what follows is of the frame while it calls */
    bool ends;                          /* the instruction never goes on to the next: a branch always taken */
    bool recording;                     /* the states are known: the drop maps are made */

    uint32_t *entry_of;                 /* of each pc: its entry + 1, or 0 */
    struct coir_entry *entries;
    uint32_t nentries;
    uint64_t *queue;                    /* entries to be looked at */
    uint32_t first;                     /* none before it is in the queue */
    struct coir_load_arena arena;

    struct coir_drop_map *maps;
    uint16_t *drops;
    uint32_t nmaps, ndrops, maps_cap, drops_cap;
};

/* ---- what is known ---- */

bool coir_proof_wrong(struct coir_proof *p, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
bool coir_proof_pay(struct coir_proof *p, uint64_t work);

struct coir_held coir_held_at(const struct coir_proof *p, uint32_t reg);

/* In words, for messages: "owns Text, or null". */
struct coir_words { char text[96]; };
struct coir_words coir_held_words(const struct coir_held *h);
struct coir_words coir_slot_words(const struct coir_slot *slot);

/* Whether registers reg .. reg + n are there. */
bool coir_has_registers(struct coir_proof *p, uint32_t reg, uint32_t n);

/* ---- reading ---- */

bool coir_read_word(struct coir_proof *p, uint32_t reg);

/* A value of this layout, borrowed; or taken: owned, and empty afterwards. */
bool coir_borrow(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n);
bool coir_prove_take(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n);

/* A reference, not null, to a type of this kind, borrowed; or owned, to be changed. */
const struct coir_type *coir_borrow_kind(struct coir_proof *p, uint32_t reg, enum coir_type_kind kind);
const struct coir_type *coir_owned_kind(struct coir_proof *p, uint32_t reg, enum coir_type_kind kind);

/* Whether no register of these is `root`. */
bool coir_apart(struct coir_proof *p, uint32_t reg, uint32_t n, uint32_t root);

/* Who lends what is lent from a register. */
uint32_t coir_lender(struct coir_proof *p, uint32_t reg);

/* ---- writing: into registers that own nothing ---- */

bool coir_put_word(struct coir_proof *p, uint32_t reg);
bool coir_put_held(struct coir_proof *p, uint32_t reg, struct coir_held h);
bool coir_put_owned(struct coir_proof *p, uint32_t reg, const struct coir_type *type, bool nullable);
bool coir_put_lent(struct coir_proof *p, uint32_t reg, const struct coir_type *type, bool nullable, uint32_t from);

/* A value of this layout: owned; or, `from` being a lender, lent. */
bool coir_put_layout(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n);
bool coir_lend_layout(struct coir_proof *p, uint32_t reg, const struct coir_slot *slots, uint32_t n, uint32_t from);

/* Copying: refused of what owns a resource. */
bool coir_may_copy(struct coir_proof *p, const struct coir_type *type);

/* The register is empty, or all from it on, without asking what they had: who owned something there was unlended. */
void coir_forget(struct coir_proof *p, uint32_t reg);
void coir_forget_from(struct coir_proof *p, uint32_t reg);
/* What is lent from it, or points into it, is empty. */
void coir_unlend(struct coir_proof *p, uint32_t reg);

/* ---- going on ---- */

/* The current state also holds at pc. */
bool coir_proof_flow(struct coir_proof *p, uint32_t pc);

/* The frame may be left here. */
bool coir_proof_trap(struct coir_proof *p);

/* mut parameters are whole; nothing is owned but them and what was taken. */
bool coir_proof_whole(struct coir_proof *p);

/* Does the instruction at p->pc; *next is where it falls through to, UINT32_MAX if nowhere. */
bool coir_proof_step(struct coir_proof *p, uint32_t *next);

typedef bool coir_rule(struct coir_proof *p, uint64_t w);
extern coir_rule *const coir_value_rules[COIR_OP_COUNT];
extern coir_rule *const coir_list_rules[COIR_OP_COUNT];
extern coir_rule *const coir_call_rules[COIR_OP_COUNT];

#endif
