/* SPDX-License-Identifier: MIT */
/*
 * The disassembler. It assumes a loaded program, and reads it; names come from an image, and may hold anything, so they
 * are printed with what is not printable as an escape.
 */
#include "vm/dis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vm/load_inside.h"

struct dis {
    const struct coir_program *p;
    const struct coir_function *f;
    unsigned what;
    FILE *to;
    char *text;                     /* of the line that is made */
    size_t length;
    uint64_t *labels;               /* pcs that something leads to */
    char *states;                   /* of the function's entries: text, one behind the other */
    size_t nstates;
    FILE *states_to;
    uint32_t states_pc;
};

static void put_bytes(FILE *to, const char *bytes, size_t n, bool quoted)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];

        if (quoted && (c == '"' || c == '\\'))
            fprintf(to, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", to);
        else if (c == '\t')
            fputs("\\t", to);
        else if (c < ' ' || c == 0x7f)
            fprintf(to, "\\x%02x", c);
        else
            fputc(c, to);
    }
}

static void put_name(FILE *to, const char *name)
{
    put_bytes(to, name, strlen(name), false);
}

static void put_type(FILE *to, const struct coir_type *t)
{
    char text[256];

    put_name(to, coir_write_type(t, text, sizeof text));
}

/* ---- declarations ---- */

static void put_fields(FILE *to, const struct coir_field *fields, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", to);
        put_name(to, fields[i].name ? fields[i].name : "_");
        fputs(": ", to);
        put_type(to, fields[i].type);
    }
}

static void put_variants(FILE *to, const struct coir_type *t)
{
    for (uint32_t i = 0; i < t->nvariants; i++) {
        fputs(i ? ", " : "", to);
        put_name(to, t->variants[i].name);
        if (!t->variants[i].nfields)
            continue;
        fputc('(', to);
        put_fields(to, t->variants[i].fields, t->variants[i].nfields);
        fputc(')', to);
    }
}

static void put_messages(FILE *to, const struct coir_program *p, const struct coir_type *t)
{
    for (uint32_t i = 0; i < t->nmessages; i++) {
        fputs(i ? ", " : "", to);
        put_name(to, t->messages[i].name);
        fputs(": ", to);
        put_name(to, p->functions[t->messages[i].function].name);
    }
}

static void put_declaration(FILE *to, const struct coir_program *p, const struct coir_type *t)
{
    static const char *const words[COIR_TYPE_KINDS] = {
        [COIR_TYPE_RECORD] = "record", [COIR_TYPE_SUM] = "sum", [COIR_TYPE_ENUM] = "enum",
        [COIR_TYPE_RESOURCE] = "resource", [COIR_TYPE_ACTOR] = "actor",
    };

    if (!words[t->kind])
        return;
    fprintf(to, "%s ", words[t->kind]);
    put_name(to, t->name);
    if (t->kind == COIR_TYPE_ACTOR) {
        fputs(" of ", to);
        put_type(to, t->element);
    }
    if (t->kind != COIR_TYPE_RESOURCE) {
        fputs(" { ", to);
        if (t->kind == COIR_TYPE_RECORD)
            put_fields(to, t->fields, t->nfields);
        else if (t->kind == COIR_TYPE_ACTOR)
            put_messages(to, p, t);
        else
            put_variants(to, t);
        fputs(" }", to);
    }
    fputc('\n', to);
}

static void put_mode(FILE *to, const struct coir_param *p)
{
    fputs(p->mode == COIR_MODE_OWN ? "own " : p->mode == COIR_MODE_MUT ? "mut " : "", to);
}

static void put_result(FILE *to, const struct coir_type *t)
{
    if (t->kind == COIR_TYPE_UNIT)
        return;
    fputs(" -> ", to);
    put_type(to, t);
}

static void put_import(FILE *to, const struct coir_import *n, uint32_t index)
{
    fprintf(to, "import n%u \"", index);
    put_bytes(to, n->native->name, strlen(n->native->name), true);
    fputs("\" (", to);
    for (uint32_t i = 0; i < n->nparams; i++) {
        fputs(i ? ", " : "", to);
        put_mode(to, &n->params[i]);
        put_type(to, n->params[i].type);
    }
    fputc(')', to);
    put_result(to, n->result);
    fputc('\n', to);
}

static void put_export(FILE *to, const struct coir_program *p, const struct coir_export *e)
{
    static const char *const words[] = {
        [COIR_EXPORT_MAIN] = "main", [COIR_EXPORT_INIT] = "init", [COIR_EXPORT_FUNCTION] = "function",
        [COIR_EXPORT_TEST] = "test",
    };

    fprintf(to, "export %s \"", words[e->kind]);
    put_bytes(to, e->name, strlen(e->name), true);
    fputs("\" ", to);
    put_name(to, p->functions[e->function].name);
    fputc('\n', to);
}

/* ---- instructions ---- */

static void put_constant(struct dis *d, uint32_t i)
{
    double number;

    if (!d->p->constant_is_text[i]) {
        fprintf(d->to, "0x%llx", (unsigned long long)d->p->constants[i]);
        memcpy(&number, &d->p->constants[i], sizeof number);
        fprintf(d->to, "    # %lld, %.17g", (long long)d->p->constants[i], number);
        return;
    }
    for (uint32_t k = 0; k < d->p->ntexts; k++) {
        if (d->p->texts[k].index != i)
            continue;
        fputc('"', d->to);
        put_bytes(d->to, d->p->texts[k].bytes, d->p->texts[k].length, true);
        fputc('"', d->to);
    }
}

static void put_global(struct dis *d, uint32_t slot)
{
    fprintf(d->to, "%u    # ", slot);
    for (uint32_t i = 0; i < d->p->nglobals; i++) {
        if (d->p->globals[i].slot <= slot && slot < d->p->globals[i].slot + d->p->globals[i].type->slots)
            put_name(d->to, d->p->globals[i].name);
    }
}

/* An operand by its letter. */
static void put_operand(struct dis *d, uint32_t pc, char letter, uint32_t x)
{
    switch (letter) {
    case 'w':
    case 'W':
    case 'r':
        fprintf(d->to, "r%u", x);
        break;
    case 'j':
    case 'J':
        fprintf(d->to, "L%u", pc + (letter == 'j' ? (uint32_t)(int16_t)x : x));
        break;
    case 't':
        put_type(d->to, &d->p->types.all[x]);
        break;
    case 'f':
    case 'F':
        put_name(d->to, d->p->functions[x].name);
        break;
    case 'N':
        fprintf(d->to, "n%u    # ", x);
        put_name(d->to, d->p->imports[x].native->name);
        break;
    case 'K':
        put_constant(d, x);
        break;
    case 'G':
        put_global(d, x);
        break;
    case 'i':
        fprintf(d->to, "%d", (int16_t)x);
        break;
    case 'I':
        fprintf(d->to, "%d", (int32_t)x);
        break;
    default:
        fprintf(d->to, "%u", x);
    }
}

static void put_arm(struct dis *d, uint32_t pc, uint64_t w)
{
    static const char *const words[] = {
        [COIR_ARM_RECV] = "recv", [COIR_ARM_SEND] = "send", [COIR_ARM_AFTER] = "after",
    };

    fprintf(d->to, "             %-7s r%u, ", words[COIR_I_D(w)], COIR_I_A(w));
    if (COIR_I_D(w) != COIR_ARM_AFTER)
        fprintf(d->to, "r%u, ", COIR_I_B(w));
    fprintf(d->to, "L%u\n", pc + (uint32_t)(int32_t)COIR_I_SC(w));
}

/* What the further word of an instruction says. */
static void put_extension(struct dis *d, uint32_t pc)
{
    const uint64_t w = d->f->code[pc], more = d->f->code[pc + 1];
    const unsigned op = COIR_I_OP(w);

    fputs(", ", d->to);
    put_type(d->to, &d->p->types.all[COIR_I_A(more)]);
    if (op == COIR_OP_GSPAWN)
        fprintf(d->to, ", r%u", COIR_I_B(more));
    if (op == COIR_OP_MSG) {
        fprintf(d->to, ", %u    # ", COIR_I_B(more));
        put_name(d->to, d->p->types.all[COIR_I_A(more)].messages[COIR_I_B(more)].name);
    }
    if (op == COIR_OP_SPAWN && COIR_I_D(w))
        fputs(" any", d->to);
}

static bool spawns_actor(const struct dis *d, uint32_t pc)
{
    return d->p->types.all[COIR_I_A(d->f->code[pc + 1])].kind == COIR_TYPE_ACTOR;
}

static void put_instruction(struct dis *d, uint32_t pc)
{
    const uint64_t w = d->f->code[pc];
    const unsigned op = COIR_I_OP(w);
    const char *format = coir_ops[op].format;
    const bool wide = format[2] == '.';
    const uint32_t operands[] = { COIR_I_A(w), wide ? COIR_I_X(w) : COIR_I_B(w), COIR_I_C(w), COIR_I_D(w) };
    const bool spawns = op == COIR_OP_SPAWN || op == COIR_OP_GSPAWN;
    bool first = true;

    fprintf(d->to, op == COIR_OP_SELECT ? "    %s" : "    %-8s", coir_ops[op].name);
    if (op == COIR_OP_SELECT) {
        fputs(COIR_I_D(w) ? " else\n" : "\n", d->to);
        for (uint32_t i = 1; i <= COIR_I_C(w); i++)
            put_arm(d, pc, d->f->code[pc + i]);
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        if (format[i] == '-' || format[i] == '.' || (i == 3 && spawns))
            continue;
        fputs(first ? " " : ", ", d->to);
        first = false;
        put_operand(d, pc, i == 1 && spawns && spawns_actor(d, pc) ? 'u' : format[i], operands[i]);
    }
    if (coir_ops[op].flags & COIR_EXTENDS)
        put_extension(d, pc);
}

/* An instruction, its pc behind it in a column. */
static int put_line(struct dis *d, uint32_t pc)
{
    FILE *const to = d->to, *line = open_memstream(&d->text, &d->length);

    if (!line)
        return -ENOMEM;
    d->to = line;
    put_instruction(d, pc);
    d->to = to;
    if (fclose(line))
        return -ENOMEM;
    if (COIR_I_OP(d->f->code[pc]) == COIR_OP_SELECT)
        fputs(d->text, to);
    else
        fprintf(to, "%-48s # %u\n", d->text, pc);
    free(d->text);
    return 0;
}

/* ---- functions ---- */

static void put_head(struct dis *d)
{
    const struct coir_function *f = d->f;
    uint32_t at = 0;

    fputs("\nfn ", d->to);
    put_name(d->to, f->name);
    fputc('(', d->to);
    for (uint32_t i = 0; i < f->nparams; i++) {
        fputs(i ? ", " : "", d->to);
        put_mode(d->to, &f->params[i]);
        fprintf(d->to, "r%u: ", at);
        put_type(d->to, f->params[i].type);
        at += f->params[i].type->slots;
    }
    fputc(')', d->to);
    put_result(d->to, f->result);
    if (f->closure) {
        fputs(" of ", d->to);
        put_type(d->to, f->closure);
        fputs(" captures (", d->to);
        put_fields(d->to, f->captures, f->ncaptures);
        fputc(')', d->to);
    }
    fprintf(d->to, " regs %u {    # ", f->nregs);
    put_name(d->to, f->file);
    fputc('\n', d->to);
    for (uint32_t i = 0; i < f->nhandlers; i++) {
        const struct coir_handler *h = &f->handlers[i];

        fprintf(d->to, "    .%s L%u, L%u, L%u, %u\n", h->kind == COIR_CATCH ? "catch" : "cleanup", h->from, h->to,
                h->at, h->keep);
    }
}

static void mark_labels(struct dis *d)
{
    const struct coir_function *f = d->f;

    for (uint32_t i = 0; i < f->nhandlers; i++) {
        coir_bit_set(d->labels, f->handlers[i].from);
        coir_bit_set(d->labels, f->handlers[i].to);
        coir_bit_set(d->labels, f->handlers[i].at);
    }
    for (uint32_t pc = 0, of = 0; pc < f->ncode; pc++) {
        const uint64_t w = f->code[pc];
        const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];

        if (COIR_I_OP(w) != COIR_OP_EXT)
            of = pc;
        if (COIR_I_OP(w) == COIR_OP_EXT && COIR_I_OP(f->code[of]) == COIR_OP_SELECT)
            coir_bit_set(d->labels, of + (uint32_t)(int32_t)COIR_I_SC(w));
        else if ((op->flags & COIR_BRANCHES) && COIR_I_OP(w) != COIR_OP_SELECT)
            coir_bit_set(d->labels, pc + (uint32_t)(op->format[1] == 'J' ? COIR_I_SX(w) : COIR_I_SC(w)));
    }
}

static void put_map(struct dis *d, uint32_t pc, bool inside)
{
    const struct coir_drop_map *m = coir_drop_map(d->f, pc, inside);

    if (!m)
        return;
    fprintf(d->to, "             # drops%s", inside ? ", once the callee runs:" : ":");
    for (uint32_t i = 0; i < m->count; i++)
        fprintf(d->to, " r%u", d->f->drops[m->first + i]);
    fputc('\n', d->to);
}

/* The states come in the order of the pcs, in which they are printed. */
static void see_state(void *arg, uint32_t pc, uint32_t reg, const char *what)
{
    struct dis *d = arg;

    if (pc != d->states_pc)
        fprintf(d->states_to, "%s%u", d->states_pc == UINT32_MAX ? "" : "\n", pc);
    d->states_pc = pc;
    fprintf(d->states_to, " r%u %s,", reg, what);
}

static int find_states(struct dis *d)
{
    int bad;

    if (!(d->what & COIR_DIS_STATES))
        return 0;
    d->states_to = open_memstream(&d->states, &d->nstates);
    if (!d->states_to)
        return -ENOMEM;
    d->states_pc = UINT32_MAX;
    bad = coir_program_states(d->p, d->f->index, see_state, d);
    return fclose(d->states_to) ? -ENOMEM : bad;
}

/* Prints the next line of the states if it is this pc's, less its last comma; value: what follows it. */
static const char *put_states(struct dis *d, const char *at, uint32_t pc)
{
    char *end;

    if (!at || !*at || strtoul(at, &end, 10) != pc)
        return at;
    const size_t n = strcspn(end, "\n");
    fprintf(d->to, "             #%.*s\n", (int)(n ? n - 1 : 0), end);
    return end[n] ? end + n + 1 : end + n;
}

static int put_code(struct dis *d)
{
    const struct coir_function *f = d->f;
    const char *states = d->states;
    uint32_t line = 0;
    int bad = 0;

    for (uint32_t pc = 0; !bad && pc <= f->ncode; pc++) {
        if (coir_bit(d->labels, pc))
            fprintf(d->to, "L%u:\n", pc);
        states = put_states(d, states, pc);
        if (pc == f->ncode)
            break;
        if (line < f->nlines && f->lines[line].pc == pc)
            fprintf(d->to, "    .line %u\n", f->lines[line++].line);
        if (COIR_I_OP(f->code[pc]) == COIR_OP_EXT)
            continue;
        bad = put_line(d, pc);
        if (d->what & COIR_DIS_MAPS) {
            put_map(d, pc, false);
            put_map(d, pc, true);
        }
    }
    fputs("}\n", d->to);
    return bad;
}

int coir_dis_function(const struct coir_program *p, const struct coir_function *f, unsigned what, FILE *to)
{
    struct dis d = { .p = p, .f = f, .what = what, .to = to };
    int bad;

    d.labels = calloc(f->ncode / 64 + 1, sizeof *d.labels);
    if (!d.labels)
        return -ENOMEM;
    bad = find_states(&d);
    if (!bad) {
        mark_labels(&d);
        put_head(&d);
        bad = put_code(&d);
    }
    free(d.states);
    free(d.labels);
    return bad ? bad : ferror(to) ? -EIO : 0;
}

int coir_dis(const struct coir_program *p, unsigned what, FILE *to)
{
    int bad = 0;

    for (uint32_t i = COIR_INDEX_FREE; i < p->types.n; i++)
        put_declaration(to, p, &p->types.all[i]);
    for (uint32_t i = 0; i < p->nglobals; i++) {
        fputs("global ", to);
        put_name(to, p->globals[i].name);
        fputs(": ", to);
        put_type(to, p->globals[i].type);
        fputc('\n', to);
    }
    for (uint32_t i = 0; i < p->nimports; i++)
        put_import(to, &p->imports[i], i);
    for (uint32_t i = 0; !bad && i < p->nfunctions; i++)
        bad = coir_dis_function(p, &p->functions[i], what, to);
    if (p->nexports)
        fputc('\n', to);
    for (uint32_t i = 0; i < p->nexports; i++)
        put_export(to, p, &p->exports[i]);
    return bad ? bad : ferror(to) ? -EIO : 0;
}
