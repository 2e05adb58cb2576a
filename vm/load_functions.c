/* SPDX-License-Identifier: MIT */
/*
 * The loader's functions: their records, and what can be said of an instruction by looking at it alone: that its
 * operands are in range, that its branch leads to an instruction, that its further words are there. What it does to
 * the registers is the proof's.
 */
#include "vm/load_inside.h"

#include <stdlib.h>
#include <string.h>

static bool wrong_at(struct coir_load *l, const struct coir_function *f, uint32_t pc, const char *what, uint32_t number)
{
    const char *name = pc < f->ncode ? coir_ops[COIR_I_OP(f->code[pc])].name : "?";

    return coir_load_wrong(l, "function %s, pc %u, line %u: %s: %s %u", f->name, pc, coir_line_of(f, pc), name, what,
                           number);
}

/* ---- records ---- */

/* The body of a closure: of which function type, and what the cell holds. */
static bool load_body(struct coir_load *l, struct coir_cursor *c, struct coir_function *f)
{
    struct coir_field *captures;
    struct coir_slot *layout;
    uint32_t slots = 0;

    f->closure = coir_get_type(l, c);
    f->ncaptures = coir_get16(c);
    captures = f->closure ? coir_get_fields(l, c, f->ncaptures) : NULL;
    if (!captures)
        return false;
    if (f->closure->kind != COIR_TYPE_FUNC)
        return coir_load_wrong(l, "function %s is the body of what is no function value", f->name);
    for (uint32_t i = 0; i < f->ncaptures; i++) {
        if (captures[i].type->owns)
            return coir_load_wrong(l, "function %s captures a resource", f->name);
        captures[i].slot = slots;
        slots += captures[i].type->slots;
        if (slots > COIR_CELL_SLOTS)
            return coir_load_wrong(l, "function %s captures more than %d slots", f->name, COIR_CELL_SLOTS);
    }
    layout = coir_load_arena_alloc(l->arena, slots, sizeof *layout);
    if (!layout)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < f->ncaptures; i++) {
        if (captures[i].type->slots)
            memcpy(layout + captures[i].slot, captures[i].type->layout, captures[i].type->slots * sizeof *layout);
    }
    f->captures = captures;
    f->capture_layout = layout;
    f->capture_slots = slots;
    return true;
}

/* A body's parameters are those of its type. */
static bool check_body(struct coir_load *l, const struct coir_function *f)
{
    const struct coir_type *t = f->closure;
    bool same = t->nparams == f->nparams && t->element == f->result;

    for (uint32_t i = 0; same && i < f->nparams; i++)
        same = t->params[i].type == f->params[i].type && t->params[i].mode == f->params[i].mode;
    return same || coir_load_wrong(l, "function %s is called otherwise than its function type", f->name);
}

static bool load_handlers(struct coir_load *l, struct coir_cursor *c, struct coir_function *f)
{
    struct coir_handler *handlers;

    f->nhandlers = coir_get32(c);
    if (!coir_get_count(l, c, f->nhandlers, 15, "handlers"))
        return false;
    handlers = coir_load_arena_alloc(l->arena, f->nhandlers, sizeof *handlers);
    if (!handlers)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < f->nhandlers; i++) {
        struct coir_handler *h = &handlers[i];

        h->kind = coir_get8(c);
        h->from = coir_get32(c);
        h->to = coir_get32(c);
        h->at = coir_get32(c);
        h->keep = coir_get16(c);
        if (h->kind >= COIR_HANDLER_KINDS || h->from > h->to || h->keep >= f->nregs || h->keep < f->mut_slots)
            return coir_load_wrong(l, "function %s: handler %u is of no known kind, or keeps what it cannot", f->name,
                                   i);
    }
    f->handlers = handlers;
    return true;
}

static bool load_lines(struct coir_load *l, struct coir_cursor *c, struct coir_function *f)
{
    struct coir_source_line *lines;

    f->nlines = coir_get32(c);
    if (!coir_get_count(l, c, f->nlines, 8, "lines"))
        return false;
    lines = coir_load_arena_alloc(l->arena, f->nlines, sizeof *lines);
    if (!lines)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < f->nlines; i++) {
        lines[i].pc = coir_get32(c);
        lines[i].line = coir_get32(c);
        if (i && lines[i].pc <= lines[i - 1].pc)
            return coir_load_wrong(l, "function %s: lines that do not rise", f->name);
    }
    f->lines = lines;
    return true;
}

static bool load_code(struct coir_load *l, struct coir_cursor *c, struct coir_function *f)
{
    uint64_t *code;

    f->ncode = coir_get32(c);
    if (!coir_get_count(l, c, f->ncode, 8, "instructions"))
        return false;
    if (f->ncode == 0 || f->ncode > COIR_MAX_CODE)
        return coir_load_wrong(l, "function %s has %u words of code", f->name, f->ncode);
    code = coir_load_arena_alloc(l->arena, f->ncode, sizeof *code);
    if (!code)
        return coir_load_memory(l);
    for (uint32_t i = 0; i < f->ncode; i++)
        code[i] = coir_get64(c);
    f->code = code;
    for (uint32_t i = 0; i < f->nhandlers; i++) {
        if (f->handlers[i].to > f->ncode || f->handlers[i].at >= f->ncode)
            return coir_load_wrong(l, "function %s: handler %u is outside of its code", f->name, i);
    }
    return true;
}

static bool load_function(struct coir_load *l, struct coir_cursor *c, struct coir_function *f)
{
    f->name = coir_get_name(l, c);
    f->file = f->name ? coir_get_name(l, c) : NULL;
    f->params = f->file ? coir_get_params(l, c, &f->nparams) : NULL;
    f->result = f->params ? coir_get_type(l, c) : NULL;
    if (!f->result)
        return false;
    coir_count_slots(f->params, f->nparams, &f->mut_slots, &f->slots);
    const uint8_t flags = coir_get8(c);
    if (flags & ~COIR_FUNCTION_BODY)
        return coir_load_wrong(l, "function %s has flags 0x%x", f->name, flags);
    if (flags && (!load_body(l, c, f) || !check_body(l, f)))
        return false;
    f->nregs = coir_get16(c);
    if (f->nregs == 0 || f->slots + (f->closure != NULL) > f->nregs || f->mut_slots + f->result->slots > f->nregs)
        return coir_load_wrong(l, "function %s has %u registers, too few for its parameters or its result", f->name,
                               f->nregs);
    return load_handlers(l, c, f) && load_lines(l, c, f) && load_code(l, c, f);
}

/* A handler is given the actor's state, the actor, and what the sender gives up. */
static bool check_message(struct coir_load *l, const struct coir_type *t, const struct coir_message *m)
{
    const struct coir_function *f = m->function < l->p->nfunctions ? &l->functions[m->function] : NULL;
    bool good = f && !f->closure && f->nparams >= 2 && f->params[0].mode == COIR_MODE_MUT
        && f->params[0].type == t->element && f->params[1].mode == COIR_MODE_LEND && f->params[1].type == t;

    for (uint32_t i = 2; good && i < f->nparams; i++)
        good = f->params[i].mode == COIR_MODE_OWN || (f->params[i].mode == COIR_MODE_LEND && f->params[i].type->flat);
    return good || coir_load_wrong(l, "actor %s: message %s is no handler's", t->name, m->name);
}

static bool check_messages(struct coir_load *l)
{
    for (uint32_t i = 0; i < l->p->types.n; i++) {
        const struct coir_type *t = &l->p->types.all[i];

        for (uint32_t m = 0; m < t->nmessages; m++) {
            if (!check_message(l, t, &t->messages[m]))
                return false;
        }
    }
    return true;
}

bool coir_load_functions(struct coir_load *l)
{
    struct coir_cursor *c = &l->sections[COIR_SECTION_FUNCTIONS];
    const uint32_t n = coir_get32(c);

    if (!coir_get_count(l, c, n, 32, "functions"))
        return false;
    if (n > COIR_MAX_FUNCTIONS)
        return coir_load_wrong(l, "%u functions: at most %d", n, COIR_MAX_FUNCTIONS);
    l->functions = coir_load_arena_alloc(l->arena, n, sizeof *l->functions);
    if (!l->functions)
        return coir_load_memory(l);
    l->p->functions = l->functions;
    l->p->nfunctions = n;
    for (uint32_t i = 0; i < n; i++) {
        l->functions[i].index = i;
        if (!load_function(l, c, &l->functions[i]))
            return false;
    }
    return check_messages(l);
}

/* ---- operands ---- */

/* One operand by its letter. `x` is what it is read as. */
static bool operand(struct coir_load *l, const struct coir_function *f, uint32_t pc, char letter, uint32_t x)
{
    switch (letter) {
    case '-':
        return x == 0 || wrong_at(l, f, pc, "an operand that it has not is", x);
    case 'w':
    case 'W':
    case 'r':
        return x < f->nregs || wrong_at(l, f, pc, "there is no register", x);
    case 't':
        return (x < l->p->types.n && x != COIR_INDEX_SCOPE && x != COIR_INDEX_GROUP)
            || wrong_at(l, f, pc, "there is no type of values", x);
    case 'f':
    case 'F':
        return x < l->p->nfunctions || wrong_at(l, f, pc, "there is no function", x);
    case 'N':
        return x < l->p->nimports || wrong_at(l, f, pc, "there is no import", x);
    case 'K':
        if (x >= l->p->nconstants)
            return wrong_at(l, f, pc, "there is no constant", x);
        return l->p->constant_is_text[x] == (COIR_I_OP(f->code[pc]) == COIR_OP_CONSTT)
            || wrong_at(l, f, pc, "it is not for constant", x);
    case 'G':
        return x < l->p->nglobal_slots || wrong_at(l, f, pc, "there is no slot of the globals", x);
    default:
        return true;                    /* numbers; branches are looked at when all starts are known */
    }
}

/* What single instructions ask of their numbers. */
static bool numbers(struct coir_load *l, const struct coir_function *f, uint32_t pc, uint64_t w)
{
    const int16_t c = COIR_I_SC(w);

    switch (COIR_I_OP(w)) {
    case COIR_OP_DIVI:
    case COIR_OP_MODI:
        return (c != 0 && c != -1) || wrong_at(l, f, pc, "it cannot be by", (uint32_t)c);
    case COIR_OP_SHLI:
    case COIR_OP_SHRI:
        return (c >= 0 && c <= 63) || wrong_at(l, f, pc, "it cannot be by", (uint32_t)c);
    case COIR_OP_FORMAT:
    case COIR_OP_SPAWN:
    case COIR_OP_MSG:
        return COIR_I_D(w) <= 1 || wrong_at(l, f, pc, "D is", COIR_I_D(w));
    case COIR_OP_GSPAWN:
        return COIR_I_D(w) == 0 || wrong_at(l, f, pc, "D is", COIR_I_D(w));
    case COIR_OP_TRAPM:
        return COIR_I_D(w) < COIR_TRAP_CODES || wrong_at(l, f, pc, "there is no trap of code", COIR_I_D(w));
    case COIR_OP_SELECT:
        return (COIR_I_C(w) <= COIR_MAX_ARMS && COIR_I_D(w) <= 1) || wrong_at(l, f, pc, "too many arms:", COIR_I_C(w));
    default:
        return true;
    }
}

static bool extension(struct coir_load *l, const struct coir_function *f, uint32_t pc, uint32_t at)
{
    const uint64_t w = f->code[at];

    if (COIR_I_OP(w) != COIR_OP_EXT)
        return wrong_at(l, f, pc, "its further word is missing at", at);
    switch (COIR_I_OP(f->code[pc])) {
    case COIR_OP_EQV:
    case COIR_OP_CMPV:
    case COIR_OP_SPAWN:
        return operand(l, f, pc, 't', COIR_I_A(w)) && operand(l, f, pc, '-', COIR_I_B(w))
            && operand(l, f, pc, '-', COIR_I_C(w)) && operand(l, f, pc, '-', COIR_I_D(w));
    case COIR_OP_GSPAWN:
        return operand(l, f, pc, 't', COIR_I_A(w)) && operand(l, f, pc, 'r', COIR_I_B(w))
            && operand(l, f, pc, '-', COIR_I_C(w)) && operand(l, f, pc, '-', COIR_I_D(w));
    case COIR_OP_MSG:
        return operand(l, f, pc, 't', COIR_I_A(w)) && operand(l, f, pc, '-', COIR_I_C(w))
            && operand(l, f, pc, '-', COIR_I_D(w))
            && (COIR_I_B(w) < l->p->types.all[COIR_I_A(w)].nmessages
                || wrong_at(l, f, pc, "there is no message", COIR_I_B(w)));
    default:
        return operand(l, f, pc, 'r', COIR_I_A(w))
            && operand(l, f, pc, COIR_I_D(w) == COIR_ARM_AFTER ? '-' : 'r', COIR_I_B(w))
            && (COIR_I_D(w) < COIR_ARM_KINDS || wrong_at(l, f, pc, "there is no arm of kind", COIR_I_D(w)));
    }
}

/* The instruction at pc; *next is behind it. */
static bool instruction(struct coir_load *l, const struct coir_function *f, uint32_t pc, uint32_t *next)
{
    const uint64_t w = f->code[pc];
    const unsigned op = COIR_I_OP(w);
    uint32_t more;

    if (op >= COIR_OP_COUNT)
        return coir_load_wrong(l, "function %s, pc %u: there is no instruction %u", f->name, pc, op);
    const char *format = coir_ops[op].format;
    if (op == COIR_OP_EXT)
        return wrong_at(l, f, pc, "a further word of no instruction at", pc);
    const bool noted = l->see && (op == COIR_OP_PLDR || op == COIR_OP_PTAKE);     /* a D of the proof's own */
    if (!operand(l, f, pc, format[0], COIR_I_A(w)) || !operand(l, f, pc, noted ? 'd' : format[3], COIR_I_D(w))
            || !operand(l, f, pc, format[1], format[2] == '.' ? COIR_I_X(w) : COIR_I_B(w))
            || (format[2] != '.' && !operand(l, f, pc, format[2], COIR_I_C(w))) || !numbers(l, f, pc, w))
        return false;
    more = !(coir_ops[op].flags & COIR_EXTENDS) ? 0 : op == COIR_OP_SELECT ? COIR_I_C(w) : 1;
    if (more >= f->ncode - pc)
        return wrong_at(l, f, pc, "its further words are missing:", more);
    for (uint32_t i = 1; i <= more; i++) {
        if (!extension(l, f, pc, pc + i))
            return false;
    }
    *next = pc + 1 + more;
    return true;
}

static bool target(struct coir_load *l, const struct coir_function *f, const uint64_t *starts, uint32_t pc, int64_t off)
{
    const int64_t to = pc + off;

    return (to >= 0 && to < f->ncode && coir_bit(starts, (uint32_t)to))
        || wrong_at(l, f, pc, "it leads to no instruction:", (uint32_t)to);
}

/* Where the instruction at pc leads to. */
static bool targets(struct coir_load *l, const struct coir_function *f, const uint64_t *starts, uint32_t pc)
{
    const uint64_t w = f->code[pc];
    const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];

    if (COIR_I_OP(w) == COIR_OP_SELECT) {
        for (uint32_t i = 1; i <= COIR_I_C(w); i++) {
            if (!target(l, f, starts, pc, COIR_I_SC(f->code[pc + i])))
                return false;
        }
        return true;
    }
    if (COIR_I_OP(w) == COIR_OP_SWITCH) {
        const uint32_t n = COIR_I_B(w);

        for (uint32_t i = 1; i <= n; i++) {
            if (i >= f->ncode - pc || COIR_I_OP(f->code[pc + i]) != COIR_OP_JMP)
                return wrong_at(l, f, pc, "JMPs that follow it are not", n);
        }
        return true;
    }
    if (!(op->flags & COIR_BRANCHES))
        return true;
    return target(l, f, starts, pc, op->format[1] == 'J' ? COIR_I_SX(w) : COIR_I_SC(w));
}

bool coir_load_operands(struct coir_load *l, struct coir_function *f, uint64_t **starts)
{
    *starts = calloc(f->ncode / 64 + 1, sizeof **starts);
    if (!*starts)
        return coir_load_memory(l);
    for (uint32_t pc = 0, next = 0; pc < f->ncode; pc = next) {
        coir_bit_set(*starts, pc);
        if (!instruction(l, f, pc, &next))
            return false;
    }
    for (uint32_t pc = 0; pc < f->ncode; pc++) {
        if (coir_bit(*starts, pc) && !targets(l, f, *starts, pc))
            return false;
    }
    for (uint32_t i = 0; i < f->nhandlers; i++) {
        if (!coir_bit(*starts, f->handlers[i].at))
            return coir_load_wrong(l, "function %s: handler %u leads to no instruction", f->name, i);
    }
    return true;
}
