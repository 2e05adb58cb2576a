/* SPDX-License-Identifier: MIT */
/*
 * The builder's functions: instructions, labels, handlers, lines. Words are collected as they are told; where labels
 * are is known at the end. A branch whose operand has 16 bits and whose label is farther is made longer then:
 *
 *          JLT a b, far                JLT a b, island
 *                                      JMP over
 *                             island:  JMP far
 *                             over:
 *
 * which moves what comes after it, so that others may become too far; it ends, since nothing is ever made shorter. An
 * index into b->code is a word as it was told, `moved` says where it comes to lie.
 */
#include "vm/build_inside.h"

#include <stdlib.h>
#include <string.h>

uint32_t coir_build_function(struct coir_build *b, const char *name, const char *file)
{
    const uint32_t at_name = coir_build_name(b, name), at_file = coir_build_name(b, file);
    struct coir_build_fn *f;

    if (b->functions.n >= COIR_MAX_FUNCTIONS)
        coir_build_fail(b, "more than %d functions", COIR_MAX_FUNCTIONS);
    f = COIR_PUSH(b, b->functions);
    if (!f)
        return 0;
    f->name = at_name;
    f->file = at_file;
    return b->functions.n - 1;
}

/* The body's own part of the record: flags, what it captures, parameters, result. */
void coir_build_begin(struct coir_build *b, uint32_t function, const struct coir_build_param *params, unsigned n,
                      uint32_t result)
{
    if (b->open)
        coir_build_fail(b, "a function in a function");
    else if (function >= b->functions.n || b->functions.p[function].defined)
        coir_build_fail(b, "function %u is not declared, or defined twice", function);
    if (b->error)
        return;
    b->open = true;
    b->function = function;
    b->head.n = b->code.n = b->fixes.n = b->labels.n = b->lines.n = b->handlers.n = 0;
    b->captures_at = 0;
    b->ncaptures = 0;
    b->placed_at = UINT32_MAX;
    coir_build_params(b, &b->head, params, n);
    coir_put32(b, &b->head, result);
    b->flags_at = b->head.n;
    coir_put8(b, &b->head, 0);
}

static bool is_open(struct coir_build *b)
{
    if (!b->open)
        coir_build_fail(b, "outside of a function");
    return !b->error;
}

void coir_build_body(struct coir_build *b, uint32_t func)
{
    if (!is_open(b))
        return;
    coir_put32(b, &b->head, func);
    b->captures_at = b->head.n;
    coir_put16(b, &b->head, 0);
    if (!b->error)
        b->head.p[b->flags_at] |= COIR_FUNCTION_BODY;
}

void coir_build_capture(struct coir_build *b, const char *name, uint32_t type)
{
    const uint32_t string = coir_build_name(b, name);

    if (!is_open(b))
        return;
    if (!b->captures_at || ++b->ncaptures == 0)
        coir_build_fail(b, "what is captured, of what is no body of a closure");
    coir_put32(b, &b->head, string);
    coir_put32(b, &b->head, type);
    if (b->error)
        return;
    b->head.p[b->captures_at] = (uint8_t)b->ncaptures;
    b->head.p[b->captures_at + 1] = (uint8_t)(b->ncaptures >> 8);
}

/* ---- instructions ---- */

void coir_build_line(struct coir_build *b, uint32_t line)
{
    struct coir_build_line *last = b->lines.n ? &b->lines.p[b->lines.n - 1] : NULL;

    if (!is_open(b) || (last && last->line == line))
        return;
    if (last && last->at == b->code.n) {
        last->line = line;
        return;
    }
    last = COIR_PUSH(b, b->lines);
    if (last)
        *last = (struct coir_build_line){ b->code.n, line };
}

static void put_word(struct coir_build *b, uint64_t word)
{
    uint64_t *to;

    if (b->code.n >= COIR_MAX_CODE)
        coir_build_fail(b, "a function of more than %d words", COIR_MAX_CODE);
    to = COIR_PUSH(b, b->code);
    if (to)
        *to = word;
}

/* 16 bits, signed or not. */
static bool fits(unsigned x)
{
    return x <= UINT16_MAX || x >= (unsigned)INT16_MIN;
}

void coir_build_op(struct coir_build *b, enum coir_op op, unsigned a, unsigned bb, unsigned c, unsigned d)
{
    if (!is_open(b))
        return;
    if (op >= COIR_OP_COUNT || !fits(a) || !fits(bb) || !fits(c) || d > UINT8_MAX)
        coir_build_fail(b, "%s %u %u %u %u: an operand is too large", op < COIR_OP_COUNT ? coir_ops[op].name : "?",
                        a, bb, c, d);
    b->owner = b->code.n;
    put_word(b, coir_instruction(op, a, bb, c, d));
}

void coir_build_wide(struct coir_build *b, enum coir_op op, unsigned a, uint32_t x, unsigned d)
{
    if (!is_open(b))
        return;
    if (op >= COIR_OP_COUNT || !fits(a) || d > UINT8_MAX || coir_ops[op].format[2] != '.')
        coir_build_fail(b, "%s: no wide operand, or one that is too large",
                        op < COIR_OP_COUNT ? coir_ops[op].name : "?");
    b->owner = b->code.n;
    put_word(b, coir_instruction_wide(op, a, x, d));
}

void coir_build_ext(struct coir_build *b, unsigned a, unsigned bb, unsigned c, unsigned d)
{
    if (!is_open(b))
        return;
    if (!fits(a) || !fits(bb) || !fits(c) || d > UINT8_MAX)
        coir_build_fail(b, "EXT %u %u %u %u: an operand is too large", a, bb, c, d);
    put_word(b, coir_instruction(COIR_OP_EXT, a, bb, c, d));
}

void coir_build_load(struct coir_build *b, unsigned a, uint64_t word)
{
    if ((int64_t)word >= INT32_MIN && (int64_t)word <= INT32_MAX)
        coir_build_wide(b, COIR_OP_LOADI, a, (uint32_t)word, 0);
    else
        coir_build_wide(b, COIR_OP_CONSTW, a, coir_build_word(b, word), 0);
}

bool coir_build_falls(const struct coir_build *b)
{
    if (b->error || !b->open)
        return false;
    if (b->placed_at == b->code.n)
        return true;
    return !b->code.n || !(coir_ops[COIR_I_OP(b->code.p[b->owner])].flags & COIR_ENDS);
}

/* ---- labels ---- */

uint32_t coir_build_label(struct coir_build *b)
{
    uint32_t *at = is_open(b) ? COIR_PUSH(b, b->labels) : NULL;

    if (!at)
        return 0;
    *at = UINT32_MAX;
    return b->labels.n - 1;
}

void coir_build_place(struct coir_build *b, uint32_t label)
{
    if (!is_open(b))
        return;
    if (label >= b->labels.n || b->labels.p[label] != UINT32_MAX)
        coir_build_fail(b, "label %u is none, or placed twice", label);
    else
        b->labels.p[label] = b->placed_at = b->code.n;
}

static void fix(struct coir_build *b, uint32_t at, uint32_t label, bool wide)
{
    struct coir_build_fix *f;

    if (label >= b->labels.n)
        coir_build_fail(b, "label %u is none", label);
    f = COIR_PUSH(b, b->fixes);
    if (f)
        *f = (struct coir_build_fix){ at, b->owner, label, wide, false };
}

void coir_build_jump(struct coir_build *b, enum coir_op op, unsigned a, unsigned bb, unsigned d, uint32_t label)
{
    if (op >= COIR_OP_COUNT || !(coir_ops[op].flags & COIR_BRANCHES) || op == COIR_OP_SELECT) {
        coir_build_fail(b, "instruction %d is no branch", (int)op);
        return;
    }
    const bool wide = coir_ops[op].format[1] == 'J';
    if (wide)
        coir_build_wide(b, op, a, 0, d);
    else
        coir_build_op(b, op, a, bb, 0, d);
    if (!b->error)
        fix(b, b->code.n - 1, label, wide);
}

void coir_build_arm(struct coir_build *b, enum coir_arm_kind kind, unsigned reg, unsigned window, uint32_t label)
{
    if (is_open(b) && (COIR_I_OP(b->code.p[b->owner]) != COIR_OP_SELECT
            || COIR_I_C(b->code.p[b->owner]) == COIR_MAX_ARMS))
        coir_build_fail(b, "an arm of no SELECT, or one too many");
    coir_build_ext(b, reg, window, 0, kind);
    if (b->error)
        return;
    b->code.p[b->owner] += UINT64_C(1) << 48;
    fix(b, b->code.n - 1, label, false);
}

void coir_build_handler(struct coir_build *b, enum coir_handler_kind kind, uint32_t from, uint32_t to, uint32_t at,
                        unsigned keep)
{
    struct coir_build_handler *h;

    if (is_open(b) && (from >= b->labels.n || to >= b->labels.n || at >= b->labels.n || keep > UINT16_MAX))
        coir_build_fail(b, "a handler with labels that are none");
    h = COIR_PUSH(b, b->handlers);
    if (h)
        *h = (struct coir_build_handler){ (uint8_t)kind, (uint16_t)keep, from, to, at };
}

/* ---- the end: where everything comes to lie ---- */

/* The word behind an instruction and what extends it. */
static uint32_t behind(const struct coir_build *b, uint32_t owner)
{
    uint32_t at = owner + 1;

    while (at < b->code.n && COIR_I_OP(b->code.p[at]) == COIR_OP_EXT)
        at++;
    return at;
}

/* moved[i] for each word and the end, with islands for the fixes that are far. */
static void layout(const struct coir_build *b, uint32_t *moved)
{
    memset(moved, 0, (b->code.n + 1) * sizeof *moved);
    for (uint32_t i = 0; i < b->fixes.n; i++) {
        const struct coir_build_fix *f = &b->fixes.p[i];

        if (f->is_far)
            moved[behind(b, f->owner)] += moved[behind(b, f->owner)] ? 1 : 2;
    }
    for (uint32_t i = 0, more = 0; i <= b->code.n; i++) {
        more += moved[i];
        moved[i] = i + more;
    }
}

/* Finds what is too far. Whether there was more than before. */
static bool stretch(struct coir_build *b, const uint32_t *moved)
{
    bool more = false;

    for (uint32_t i = 0; i < b->fixes.n; i++) {
        struct coir_build_fix *f = &b->fixes.p[i];
        const int64_t distance = (int64_t)moved[b->labels.p[f->label]] - moved[f->owner];

        if (!f->wide && !f->is_far && (distance < INT16_MIN || distance > INT16_MAX))
            f->is_far = more = true;
    }
    return more;
}

static void put_code(struct coir_build *b, struct coir_bytes *to, const uint32_t *moved)
{
    uint32_t next = 0, far[COIR_MAX_ARMS], nfar = 0, at = 0;
    struct coir_build_fix *f;

    for (uint32_t i = 0; i <= b->code.n && !b->error; i++) {
        if (nfar && moved[i] > at) {                /* the islands of the instruction before */
            coir_put64(b, to, coir_instruction_wide(COIR_OP_JMP, 0, nfar + 1, 0));
            at++;
            for (uint32_t k = 0; k < nfar; k++, at++)
                coir_put64(b, to, coir_instruction_wide(COIR_OP_JMP, 0, b->labels.p[far[k]] == UINT32_MAX ? 0
                    : moved[b->labels.p[far[k]]] - at, 0));
            nfar = 0;
        }
        if (i == b->code.n)
            break;
        uint64_t word = b->code.p[i];
        for (; next < b->fixes.n && (f = &b->fixes.p[next])->at == i; next++) {
            uint32_t offset = moved[b->labels.p[f->label]] - moved[f->owner];

            if (f->is_far && nfar < COIR_MAX_ARMS) {
                offset = moved[behind(b, f->owner) - 1] + 2 + nfar - moved[f->owner];
                far[nfar++] = f->label;
            }
            word |= (uint64_t)(f->wide ? offset : offset & 0xffff) << (f->wide ? 32 : 48);
        }
        coir_put64(b, to, word);
        at++;
    }
}

/* Labels, of which all that are used must be placed. */
static bool placed(struct coir_build *b)
{
    for (uint32_t i = 0; i < b->fixes.n; i++) {
        if (b->labels.p[b->fixes.p[i].label] == UINT32_MAX)
            coir_build_fail(b, "label %u is nowhere", b->fixes.p[i].label);
    }
    for (uint32_t i = 0; i < b->handlers.n; i++) {
        const struct coir_build_handler *h = &b->handlers.p[i];

        if (b->labels.p[h->from] == UINT32_MAX || b->labels.p[h->to] == UINT32_MAX
                || b->labels.p[h->at] == UINT32_MAX)
            coir_build_fail(b, "a handler's label is nowhere");
    }
    return !b->error;
}

static void put_tables(struct coir_build *b, struct coir_bytes *to, const uint32_t *moved)
{
    coir_put32(b, to, b->handlers.n);
    for (uint32_t i = 0; i < b->handlers.n; i++) {
        const struct coir_build_handler *h = &b->handlers.p[i];

        coir_put8(b, to, h->kind);
        coir_put32(b, to, moved[b->labels.p[h->from]]);
        coir_put32(b, to, moved[b->labels.p[h->to]]);
        coir_put32(b, to, moved[b->labels.p[h->at]]);
        coir_put16(b, to, h->keep);
    }
    coir_put32(b, to, b->lines.n);
    for (uint32_t i = 0; i < b->lines.n; i++) {
        coir_put32(b, to, moved[b->lines.p[i].at]);
        coir_put32(b, to, b->lines.p[i].line);
    }
}

void coir_build_end(struct coir_build *b, unsigned nregs)
{
    uint32_t *moved;

    if (!is_open(b))
        return;
    b->open = false;
    if (nregs > COIR_MAX_REGISTERS)
        coir_build_fail(b, "%u registers: at most %d", nregs, COIR_MAX_REGISTERS);
    while (b->lines.n && b->lines.p[b->lines.n - 1].at >= b->code.n)
        b->lines.n--;
    moved = calloc(b->code.n + 1, sizeof *moved);
    if (!moved)
        coir_build_fail(b, "no memory");
    if (moved && placed(b)) {
        struct coir_bytes *to = &b->functions.p[b->function].bytes;

        do
            layout(b, moved);
        while (stretch(b, moved));
        coir_put(b, to, b->head.p, b->head.n);
        coir_put16(b, to, (uint16_t)nregs);
        put_tables(b, to, moved);
        coir_put32(b, to, moved[b->code.n]);
        put_code(b, to, moved);
        b->functions.p[b->function].defined = true;
    }
    free(moved);
}
