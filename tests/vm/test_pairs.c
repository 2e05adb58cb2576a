/* SPDX-License-Identifier: MIT */
/*
 * What linking makes of instructions that follow one another does the same as they do one by one: random sequences of
 * those that make pairs, once side by side and once with something between that makes none.
 */
#include "make.h"

enum { REGISTERS = 5, AT = 30, SEQUENCES = 400, STEPS = 12 };

static uint32_t state;
static bool is_apart;

static unsigned dice(unsigned n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 16) % n;
}

static void apart_if(void)
{
    if (is_apart)
        LOAD(29, 0);
}

static void change(unsigned a, unsigned b, unsigned c)
{
    static const enum coir_op work[] = { COIR_OP_FADD, COIR_OP_FSUB, COIR_OP_ADD, COIR_OP_ADDI };
    const enum coir_op op = work[dice(4)];
    const unsigned field = dice(2);
    const bool plain = dice(2);

    if (dice(3) == 0)                        /* somebody else holds it now */
        coir_build_op(making, COIR_OP_COPY, plain ? 11 : 10, plain ? 7 : 5, 0, 0);
    coir_build_op(making, plain ? COIR_OP_LGETW : COIR_OP_LFLDW, a, plain ? 7 : 5, 6, plain ? 0 : field);
    apart_if();
    coir_build_op(making, op, b, a, op == COIR_OP_ADDI ? 9 : c, 0);
    apart_if();
    coir_build_op(making, plain ? COIR_OP_LSETW : COIR_OP_LPUTW, plain ? 7 : 5, 6, b, plain ? 0 : field);
    apart_if();
    coir_build_op(making, COIR_OP_DROP, plain ? 11 : 10, 0, 0, 0);
    coir_build_op(making, COIR_OP_NULL, plain ? 11 : 10, 0, 0, 0);
}

static void step(void)
{
    static const enum coir_op three[] = { COIR_OP_ADD, COIR_OP_MUL, COIR_OP_FADD, COIR_OP_FSUB, COIR_OP_FMUL,
                                          COIR_OP_FADD, COIR_OP_FSUB, COIR_OP_FMUL };
    const unsigned a = dice(REGISTERS), b = dice(REGISTERS), c = dice(REGISTERS), which = dice(16);

    if (dice(6) == 0) {                      /* list[i].field += x, or list[i] += x; the lists are held alone, or not */
        change(a, b, c);
        return;
    }
    if (which < 8)
        coir_build_op(making, three[which], a, b, c, 0);
    else if (which < 10)
        coir_build_op(making, COIR_OP_MOVW, a, b, 0, 0);
    else if (which < 12)
        coir_build_op(making, COIR_OP_ADDI, a, b, (unsigned)-7, 0);
    else if (which < 13)
        coir_build_op(making, COIR_OP_MULI, a, b, 3, 0);
    else if (which < 14)
        coir_build_op(making, COIR_OP_MODI, a, b, 10007, 0);
    else if (which < 15)                     /* a record's word, by index r6 of the list r5 */
        coir_build_op(making, COIR_OP_LFLDW, a, 5, 6, b % 2);
    else
        coir_build_op(making, COIR_OP_LPUTW, 5, 6, a, b % 2);
}

static void sequence(uint32_t seed, bool apart)
{
    state = seed;
    is_apart = apart;
    for (int i = 0; i < REGISTERS; i++) {
        double x = (double)dice(1000) / 8 - 40;
        uint64_t w;

        memcpy(&w, &x, sizeof w);
        LOAD((unsigned)i, w);
    }
    LOAD(8, 0x4000000000000000);
    LOAD(9, 0x3ff8000000000000);
    coir_build_op(making, COIR_OP_LPUTW, 5, 6, 8, 0);
    coir_build_op(making, COIR_OP_LPUTW, 5, 6, 9, 1);
    coir_build_op(making, COIR_OP_LSETW, 7, 6, 9, 0);
    for (int i = 0; i < STEPS; i++) {
        if (apart)
            LOAD(29, i);
        step();
    }
    for (unsigned i = 0; i < REGISTERS; i++) {
        LOAD(29, 0);
        note(i, AT);
    }
    coir_build_op(making, COIR_OP_LFLDW, 8, 5, 6, 0);
    note(8, AT);
    coir_build_op(making, COIR_OP_LFLDW, 8, 5, 6, 1);
    note(8, AT);
    coir_build_op(making, COIR_OP_LGETW, 8, 7, 6, 0);
    note(8, AT);
}

static uint32_t first;

static void make_both(void)
{
    const uint32_t pair = coir_build_record(making, "P");

    coir_build_field(making, pair, "x", COIR_TYPE_FLOAT);
    coir_build_field(making, pair, "y", COIR_TYPE_FLOAT);
    begin_main();
    LOAD(7, 0);
    LOAD(8, 0);
    coir_build_op(making, COIR_OP_NEW, 9, pair, 7, 0);
    coir_build_op(making, COIR_OP_NEWL, 5, coir_build_list(making, pair), 9, 1);
    LOAD(12, 0);
    coir_build_op(making, COIR_OP_NEWL, 7, coir_build_list(making, COIR_TYPE_FLOAT), 12, 1);
    I(NULL, 10);
    I(NULL, 11);
    LOAD(6, 0);
    for (uint32_t i = 0; i < 20; i++) {
        sequence(first + i, false);
        sequence(first + i, true);
    }
    I(DROP, 5);
    I(DROP, 7);
    I(RET);
    end();
}

/* Each sequence says eight words, then the same once more. */
static bool is_twice(const char *text)
{
    char words[8][32];

    for (int n = 0; *text; n++) {
        const size_t len = strcspn(text, " ");

        if (n % 16 < 8)
            snprintf(words[n % 16], sizeof words[0], "%.*s", (int)len, text);
        else if (strlen(words[n % 16 - 8]) != len || strncmp(words[n % 16 - 8], text, len))
            return false;
        text += len + 1;
    }
    return true;
}

int main(void)
{
    for (first = 1; first < SEQUENCES; first += 20) {
        size_t len = 0;
        void *image = made(make_both, &len);
        struct coir_vm_options o = { .natives = test_tables, .dispatch = first % 40 == 1 ? "labels" : "switch" };

        EQ(run_image(image, len, &o), 0, "sequences from %u", first);
        OK(strlen(said) > 1000, "say much");
        OK(is_twice(said), "and the same side by side as apart");
        free(image);
    }
    return DONE();
}
