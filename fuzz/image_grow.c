/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the proof by growing programs that pass it: a function gets one instruction after the other, of random kind
 * and operands, and each that the loader still accepts stays. What has grown is loaded as an image and run, until it is
 * stopped; with AddressSanitizer, so that a proof that lets something wrong pass is found by what it does: a cell used
 * after its end, dropped twice, or left.
 *
 * Words that have not grown yet are branches to themselves, so any beginning is a function that never returns; it owns
 * what it owns until the program is stopped. The input says what is tried, and chance when it is used up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "vm/build.h"
#include "vm/load_inside.h"
#include "vm/machine.h"
#include "vm/natives/standard.h"
#include "vm/vm.h"

enum { WORDS = 64, PADS = 48, REGS = 11, TRIES = 300 };

/* ---- a resource, counted ---- */

static long open_ones;

static void drop_conn(struct coir_heap *h, struct coir_counted *c)
{
    (void)h;
    (void)c;
    open_ones--;
}

static const struct coir_resource conn = { .name = "net.Conn", .size = 32, .drop = drop_conn };

static enum coir_native_result dial(struct coir_fiber *f, uint64_t *r)
{
    struct coir_counted *c = coir_resource_new(f->heap, &f->vm->program->types.all[f->import->result->index]);

    if (!c)
        return coir_trap_memory(f);
    open_ones++;
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result refuse(struct coir_fiber *f, uint64_t *r)
{
    (void)r;
    return coir_trap(f, COIR_TRAP_IO, "refused");
}

static const struct coir_native own_natives[] = {
    { "net.dial", "fn dial() -> net.Conn", dial },
    { "net.refuse", "fn refuse(own c: net.Conn, own t: Text)", refuse },
};
static const struct coir_resource *const own_resources[] = { &conn };
static const struct coir_natives own = { own_natives, 2, own_resources, 1 };
static const struct coir_natives *const natives[] = {
    &own, &coir_list_natives, &coir_map_natives, &coir_text_natives, NULL,
};

/* ---- the image that grows ---- */

static uint8_t *image;
static size_t length, code_at;              /* where the growing function's code lies in it */
static struct coir_program *program;
static uint32_t grows;                      /* its number */
static uint32_t actor;                      /* the type */
static uint64_t code[WORDS];

static void op(struct coir_build *b, enum coir_op o, unsigned a, unsigned bb, unsigned c)
{
    coir_build_op(b, o, a, bb, c, 0);
}

static uint32_t begin(struct coir_build *b, const char *name, const struct coir_build_param *p, unsigned n, uint32_t t)
{
    const uint32_t f = coir_build_function(b, name, "f");

    coir_build_begin(b, f, p, n, t);
    return f;
}

/* What can be called: each takes, lends, changes, returns, or traps. */
static void helpers(struct coir_build *b, uint32_t texts, uint32_t tuple, uint32_t maybe, uint32_t func)
{
    const struct coir_build_param lent = { COIR_TYPE_TEXT, COIR_MODE_LEND }, taken = { COIR_TYPE_TEXT, COIR_MODE_OWN },
        word = { COIR_TYPE_INT, COIR_MODE_LEND }, list = { texts, COIR_MODE_MUT };

    begin(b, "takes", (struct coir_build_param[]){ lent, taken }, 2, COIR_TYPE_UNIT);
    op(b, COIR_OP_APPEND, 1, 0, 0);
    op(b, COIR_OP_DROP, 1, 0, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 2);
    begin(b, "grow", (struct coir_build_param[]){ list, taken, word }, 3, COIR_TYPE_INT);
    op(b, COIR_OP_LPUSH, 0, 1, 0);
    op(b, COIR_OP_DIV, 1, 2, 2);            /* traps at 0, the list changed */
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 3);
    begin(b, "both", &taken, 1, tuple);
    op(b, COIR_OP_MOVE, 1, 0, 0);
    op(b, COIR_OP_TLEN, 0, 1, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 2);
    begin(b, "maybe", &lent, 1, maybe);
    op(b, COIR_OP_YIELD, 0, 0, 0);
    op(b, COIR_OP_COPY, 1, 0, 0);
    op(b, COIR_OP_RETV, 1, 0, 0);
    coir_build_end(b, 2);
    begin(b, "work", &taken, 1, COIR_TYPE_INT);
    op(b, COIR_OP_YIELD, 0, 0, 0);
    op(b, COIR_OP_DROP, 0, 0, 0);
    coir_build_wide(b, COIR_OP_LOADI, 0, 3, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 2);
    begin(b, "closure", &word, 1, COIR_TYPE_INT);
    coir_build_body(b, func);
    coir_build_capture(b, "t", COIR_TYPE_TEXT);
    op(b, COIR_OP_LENDF, 2, 1, 0);
    op(b, COIR_OP_TLEN, 2, 2, 0);
    op(b, COIR_OP_DIV, 0, 2, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 3);
}

/* An actor whose state is a P: it takes, gives, waits, dies, gives itself away. */
static void handlers_of(struct coir_build *b, uint32_t record, uint32_t tuple, uint32_t maybe, uint32_t resource)
{
    const struct coir_build_param state = { record, COIR_MODE_MUT }, self = { actor, COIR_MODE_LEND },
        text = { COIR_TYPE_TEXT, COIR_MODE_OWN }, word = { COIR_TYPE_INT, COIR_MODE_LEND },
        c = { resource, COIR_MODE_OWN };

    coir_build_message(b, actor, "take", begin(b, "h_take", (struct coir_build_param[]){ state, self, text, c }, 4,
                                               COIR_TYPE_UNIT));
    op(b, COIR_OP_SETR, 0, 1, 2);
    op(b, COIR_OP_DROP, 3, 0, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 4);
    coir_build_message(b, actor, "both", begin(b, "h_both", (struct coir_build_param[]){ state, self, text, word }, 4,
                                               tuple));
    op(b, COIR_OP_YIELD, 0, 0, 0);
    op(b, COIR_OP_DIV, 1, 3, 3);                /* dies at 0, the text its own */
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 4);
    coir_build_message(b, actor, "maybe", begin(b, "h_maybe", (struct coir_build_param[]){ state, self }, 2, maybe));
    op(b, COIR_OP_LEND, 3, 1, 0);
    op(b, COIR_OP_TNEW, 4, 1, 0);
    coir_build_wide(b, COIR_OP_LOADI, 5, 1, 0);
    coir_build_op(b, COIR_OP_MSG, 3, 0, 0, 0);
    coir_build_ext(b, actor, 1, 0, 0);
    op(b, COIR_OP_GETR, 1, 0, 1);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 6);
    coir_build_message(b, actor, "self", begin(b, "h_self", (struct coir_build_param[]){ state, self }, 2, actor));
    op(b, COIR_OP_COPY, 2, 1, 0);
    op(b, COIR_OP_RETV, 2, 0, 0);
    coir_build_end(b, 3);
}

static void imports(struct coir_build *b, uint32_t texts, uint32_t maybe, uint32_t resource)
{
    const struct coir_build_param list = { texts, COIR_MODE_MUT }, lent = { texts, COIR_MODE_LEND },
        text = { COIR_TYPE_TEXT, COIR_MODE_OWN }, borrowed = { COIR_TYPE_TEXT, COIR_MODE_LEND },
        word = { COIR_TYPE_INT, COIR_MODE_LEND }, c = { resource, COIR_MODE_OWN };

    coir_build_import(b, "net.dial", NULL, 0, resource);
    coir_build_import(b, "net.refuse", (struct coir_build_param[]){ c, text }, 2, COIR_TYPE_UNIT);
    coir_build_import(b, "List.push", (struct coir_build_param[]){ list, text }, 2, COIR_TYPE_UNIT);
    coir_build_import(b, "List.pop", &list, 1, maybe);
    coir_build_import(b, "List.get", (struct coir_build_param[]){ lent, word }, 2, maybe);
    coir_build_import(b, "List.remove", (struct coir_build_param[]){ list, word }, 2, COIR_TYPE_TEXT);
    coir_build_import(b, "Text.upper", &borrowed, 1, COIR_TYPE_TEXT);
}

/* The function that grows: with one parameter of each mode, and handlers, whose pads lie at its end. */
static void growing(struct coir_build *b, uint32_t texts, uint32_t record)
{
    static const struct { uint8_t kind, from, to, at, keep; } handlers[] = {
        { COIR_CLEANUP, 6, 12, PADS, 5 }, { COIR_CATCH, 4, 20, PADS + 5, 4 }, { COIR_CATCH, 24, 30, PADS + 9, 6 },
        { COIR_CLEANUP, 22, 36, PADS + 13, 3 },
    };
    const struct coir_build_param params[] = { { texts, COIR_MODE_MUT }, { record, COIR_MODE_OWN },
        { COIR_TYPE_TEXT, COIR_MODE_LEND }, { COIR_TYPE_INT, COIR_MODE_LEND } };
    uint32_t labels[WORDS];

    grows = begin(b, "grows", params, 4, COIR_TYPE_UNIT);
    for (unsigned i = 0; i < WORDS; i++) {
        labels[i] = coir_build_label(b);
        coir_build_place(b, labels[i]);
        coir_build_wide(b, COIR_OP_JMP, 0, 0, 0);
    }
    for (unsigned i = 0; i < sizeof handlers / sizeof *handlers; i++)
        coir_build_handler(b, handlers[i].kind, labels[handlers[i].from], labels[handlers[i].to],
                           labels[handlers[i].at], handlers[i].keep);
    coir_build_end(b, REGS);
}

static void main_function(struct coir_build *b, uint32_t texts, uint32_t record)
{
    const uint32_t f = begin(b, "main", NULL, 0, COIR_TYPE_UNIT);

    op(b, COIR_OP_NULL, 4, 0, 0);
    coir_build_wide(b, COIR_OP_LOADI, 2, 1, 0);
    op(b, COIR_OP_TNEW, 3, 9, 0);
    op(b, COIR_OP_NEW, 2, record, 2);
    coir_build_wide(b, COIR_OP_CONSTT, 0, coir_build_text(b, "abc", 3), 0);
    op(b, COIR_OP_COPY, 3, 0, 0);
    op(b, COIR_OP_COPY, 4, 0, 0);
    coir_build_op(b, COIR_OP_NEWL, 1, texts, 3, 2);
    op(b, COIR_OP_LEND, 3, 0, 0);
    coir_build_wide(b, COIR_OP_LOADI, 4, 1, 0);
    coir_build_wide(b, COIR_OP_CALL, 1, grows, 0);
    op(b, COIR_OP_DROP, 1, 0, 0);
    op(b, COIR_OP_RET, 0, 0, 0);
    coir_build_end(b, 6);
    coir_build_export(b, COIR_EXPORT_MAIN, "main", f);
}

static const struct coir_native *find_native(const struct coir_library *l, const char *name)
{
    (void)l;
    for (size_t i = 0; natives[i]; i++) {
        for (size_t k = 0; k < natives[i]->n; k++) {
            if (strcmp(natives[i]->natives[k].name, name) == 0)
                return &natives[i]->natives[k];
        }
    }
    return NULL;
}

static const struct coir_resource *find_resource(const struct coir_library *l, const char *name)
{
    (void)l;
    return strcmp(name, conn.name) == 0 ? &conn : NULL;
}

static void make_image(void)
{
    static const struct coir_library library = { find_native, find_resource };
    const uint64_t self = coir_instruction_wide(COIR_OP_JMP, 0, 0, 0), filler[] = { self, self };
    const struct coir_build_param word = { COIR_TYPE_INT, COIR_MODE_LEND };
    struct coir_build *b = coir_build_new();
    struct coir_load_error error;
    void *bytes;

    const uint32_t texts = COIR_INDEX_TEXTS, record = coir_build_record(b, "P"), sum = coir_build_sum(b, "S"),
        maybe = coir_build_optional(b, COIR_TYPE_TEXT), resource = coir_build_resource(b, "net.Conn"),
        tuple = coir_build_tuple(b, (uint32_t[]){ COIR_TYPE_INT, COIR_TYPE_TEXT }, 2),
        func = coir_build_func(b, &word, 1, COIR_TYPE_INT);
    coir_build_field(b, record, "x", COIR_TYPE_INT);
    coir_build_field(b, record, "name", COIR_TYPE_TEXT);
    coir_build_field(b, record, "next", coir_build_optional(b, record));
    coir_build_variant(b, sum, "A");
    coir_build_payload(b, sum, "t", COIR_TYPE_TEXT);
    coir_build_payload(b, sum, "n", COIR_TYPE_INT);
    coir_build_variant(b, sum, "B");
    coir_build_variant(b, sum, "C");
    coir_build_payload(b, sum, "c", resource);
    coir_build_list(b, record);
    coir_build_list(b, tuple);
    coir_build_list(b, resource);
    coir_build_map(b, COIR_TYPE_TEXT, COIR_TYPE_TEXT);
    coir_build_map(b, COIR_TYPE_INT, tuple);
    coir_build_chan(b, COIR_TYPE_TEXT);
    coir_build_task(b, COIR_TYPE_INT);
    actor = coir_build_actor_type(b, "Meter", record);
    coir_build_list(b, actor);
    imports(b, texts, maybe, resource);
    helpers(b, texts, tuple, maybe, func);
    handlers_of(b, record, tuple, maybe, resource);
    growing(b, texts, record);
    main_function(b, texts, record);
    COIR_ASSERT(coir_build_finish(b, &bytes, &length) == 0);
    coir_build_free(b);
    image = bytes;
    for (size_t i = 0; i + sizeof filler <= length && !code_at; i++)
        code_at = memcmp(image + i, filler, sizeof filler) == 0 ? i : 0;
    COIR_ASSERT(code_at > 0);
    COIR_ASSERT(coir_program_load(image, length, &library, &program, &error) == 0);
}

/* ---- growing ---- */

struct chance {
    const uint8_t *at, *end;
    uint32_t state;
};

static uint32_t below(struct chance *c, uint32_t n)
{
    if (c->at < c->end)
        c->state = c->state * 31 + *c->at++;
    c->state = c->state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(c->state >> 8) * n >> 24);
}

static uint32_t a_branch(struct chance *c, uint32_t pc)
{
    const uint32_t ahead = 1 + below(c, 12);

    if (pc >= PADS || pc == 0 || below(c, 3))   /* pads go forwards only: else the program might never stop */
        return ahead;
    return (uint32_t)-(int32_t)below(c, pc + 1);
}

static uint32_t an_operand(struct chance *c, char letter, uint32_t pc)
{
    switch (letter) {
    case 'w':
    case 'W':
    case 'r':
        return below(c, REGS);
    case 't':
        return below(c, program->types.n);
    case 'f':
    case 'F':
        return below(c, grows);                 /* helpers only */
    case 'N':
        return below(c, program->nimports);
    case 'K':
        return below(c, program->nconstants);
    case 'j':
    case 'J':
        return a_branch(c, pc);
    case '-':
    case 'G':
        return 0;
    default:
        return below(c, 4);
    }
}

/* Any instruction, those about ownership more often. But for SHIELD: what loops in a shield is not stopped. */
static uint32_t an_op(struct chance *c)
{
    static const uint8_t often[] = {
        COIR_OP_MOVE, COIR_OP_SET, COIR_OP_LEND, COIR_OP_LEND, COIR_OP_COPY, COIR_OP_COPY, COIR_OP_DROP, COIR_OP_DROP,
        COIR_OP_NULL, COIR_OP_TNEW, COIR_OP_LENDF, COIR_OP_LLEND, COIR_OP_LENDP, COIR_OP_GETR, COIR_OP_SETR,
        COIR_OP_SETW, COIR_OP_LSETR, COIR_OP_LPUSH, COIR_OP_APPEND, COIR_OP_MSET, COIR_OP_PREG, COIR_OP_PFLD,
        COIR_OP_PIDX, COIR_OP_PSTR, COIR_OP_PTAKE, COIR_OP_PLDR, COIR_OP_PCAT, COIR_OP_TLEN, COIR_OP_TLEN, COIR_OP_TEQ,
        COIR_OP_LLEN, COIR_OP_JNULL, COIR_OP_SPAWN, COIR_OP_MSG, COIR_OP_MSG, COIR_OP_JT, COIR_OP_NONNULL,
        COIR_OP_CALL, COIR_OP_CALLN, COIR_OP_LOADI,
    };
    const uint32_t any = 1 + below(c, COIR_OP_COUNT - 1), o = below(c, 4) ? often[below(c, sizeof often)] : any;

    return o == COIR_OP_SHIELD ? COIR_OP_YIELD : o;
}

/* One instruction, and its further words. Their number. */
static uint32_t an_instruction(struct chance *c, uint32_t pc, uint64_t words[3])
{
    const uint32_t o = an_op(c);
    const char *format = coir_ops[o].format;
    const uint32_t a = an_operand(c, format[0], pc), b = an_operand(c, format[1], pc);

    words[0] = format[2] == '.' ? coir_instruction_wide(o, a, b, an_operand(c, format[3], pc))
        : coir_instruction(o, a, b, an_operand(c, format[2], pc), an_operand(c, format[3], pc));
    if (!(coir_ops[o].flags & COIR_EXTENDS))
        return 1;
    if (o == COIR_OP_MSG || (o == COIR_OP_SPAWN && below(c, 2))) {
        if (o == COIR_OP_SPAWN)
            words[0] = coir_instruction(o, a, 0, COIR_I_C(words[0]), 0);
        words[1] = coir_instruction(COIR_OP_EXT, actor, o == COIR_OP_MSG ? below(c, 5) : 0, 0, 0);
        return 2;
    }
    if (o != COIR_OP_SELECT) {
        words[1] = coir_instruction(COIR_OP_EXT, below(c, program->types.n), o == COIR_OP_GSPAWN ? below(c, REGS) : 0,
                                    0, 0);
        return 2;
    }
    words[0] = coir_instruction(o, 0, 0, 2, below(c, 2));
    for (int i = 1; i <= 2; i++) {
        const uint32_t kind = below(c, 3);

        words[i] = coir_instruction(COIR_OP_EXT, below(c, REGS), kind == COIR_ARM_AFTER ? 0 : below(c, REGS),
                                    1 + below(c, 9), kind);
    }
    return 3;
}

/* Whether the function with this code is accepted. */
static bool accepted(void)
{
    struct coir_function f = program->functions[grows];
    struct coir_program p = *program;
    struct coir_load_error error;
    struct coir_load_arena arena = { 0 };
    struct coir_load l = { .p = &p, .arena = &arena, .error = &error, .work = 1 << 20, .drops = 1 << 16 };
    uint64_t *starts = NULL, kept[WORDS];
    bool good;

    memcpy(kept, code, sizeof kept);            /* the proof makes notes in it */
    f.code = kept;
    good = coir_load_classify(&l) && coir_load_operands(&l, &f, &starts) && coir_load_prove(&l, &f, starts);
    free(l.key);
    free(l.ordered);
    free(starts);
    coir_load_arena_free(&arena);
    return good;
}

static void grow(struct chance *c)
{
    uint32_t pc = 0;

    for (uint32_t i = 0; i < WORDS; i++)
        code[i] = coir_instruction_wide(COIR_OP_JMP, 0, 0, 0);
    for (uint32_t i = 0; i < TRIES && pc + 3 < WORDS; i++) {
        uint64_t words[3], old[3];
        const uint32_t n = an_instruction(c, pc, words);

        memcpy(old, code + pc, sizeof old);
        memcpy(code + pc, words, n * sizeof *words);
        if (accepted())
            pc += n;
        else
            memcpy(code + pc, old, sizeof old);
        if (below(c, 24) == 0 && pc < PADS)
            pc = PADS + 4 * below(c, 4);
    }
}

static void run(void)
{
    const struct coir_vm_options options = { .reductions = 10, .max_memory = 8 << 20, .seed = 1, .natives = natives,
        .io = "epoll", .slices = 60 };
    struct coir_vm_report report = { .lives = 1 };
    static FILE *nothing;
    FILE *const kept = stderr;

    if (!nothing)
        nothing = fopen("/dev/null", "w");
    COIR_ASSERT(nothing != NULL);
    for (uint32_t i = 0; i < WORDS; i++) {
        for (int k = 0; k < 8; k++)
            image[code_at + i * 8 + (size_t)k] = (uint8_t)(code[i] >> 8 * k);
    }
    open_ones = 0;
    stderr = nothing;
    coir_vm_run(image, length, 0, NULL, &options, &report);
    stderr = kept;
    COIR_ASSERT(report.lives == 0);             /* it was loaded, and left nothing */
    COIR_ASSERT(open_ones == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct chance c = { data, data + n, (uint32_t)n };

    if (!image) {
        setenv("COIR_TIME", "virtual", 1);
        make_image();
    }
    grow(&c);
    run();
    return 0;
}
