/* SPDX-License-Identifier: MIT */
/*
 * Every instruction on words: arithmetic, comparisons, conversions, branches, loops, switches; and what of it traps.
 */
#include "make.h"

enum { AT = 30 };

/* One instruction with two words: r2 = r0 op r1. */
#define TWO(op, a, b) do { LOAD(0, a); LOAD(1, b); I(op, 2, 0, 1); note(2, AT); } while (0)
#define ONE(op, a) do { LOAD(0, a); I(op, 2, 0); note(2, AT); } while (0)
#define WITH(op, a, c) do { LOAD(0, a); I(op, 2, 0, c); note(2, AT); } while (0)

static uint64_t word(double x)
{
    uint64_t w;

    memcpy(&w, &x, sizeof w);
    return w;
}

static void make_ints(void)
{
    begin_main();
    TWO(ADD, 3, 4);
    TWO(ADD, INT64_MAX, 1);
    TWO(SUB, 3, 4);
    TWO(MUL, -3, 4);
    TWO(MUL, INT64_MIN, -1);
    TWO(DIV, -7, 2);
    TWO(MOD, -7, 2);
    TWO(MOD, 7, -2);
    ONE(NEG, 5);
    TWO(AND, 12, 10);
    TWO(OR, 12, 10);
    TWO(XOR, 12, 10);
    TWO(SHL, 3, 4);
    TWO(SHL, 1, 63);
    TWO(SHR, -16, 2);
    WITH(ADDI, 5, -7);
    WITH(RSUBI, 5, 3);
    WITH(MULI, 5, -3);
    WITH(DIVI, -7, 2);
    WITH(MODI, -7, 3);
    WITH(ANDI, -1, -2);
    WITH(SHLI, 3, 2);
    WITH(SHRI, -8, 1);
    ONE(NOT, 0);
    ONE(NOT, 7);
    I(RET);
    end();
}

static void make_comparisons(void)
{
    begin_main();
    TWO(EQ, 2, 2);
    TWO(EQ, 2, 3);
    TWO(NE, 2, 3);
    TWO(LT, -1, 1);
    TWO(LT, 1, 1);
    TWO(LE, 1, 1);
    TWO(LE, 2, 1);
    I(RET);
    end();
}

static void make_floats(void)
{
    begin_main();
#define FLOATS(op, a, b) do { \
        LOAD(0, word(a)); LOAD(1, word(b)); I(op, 2, 0, 1); I(FTOI, 2, 2); note(2, AT); } while (0)
#define TRUTH(op, a, b) do { LOAD(0, word(a)); LOAD(1, word(b)); I(op, 2, 0, 1); note(2, AT); } while (0)
#define FLOAT(op, a) do { LOAD(0, word(a)); I(op, 2, 0); I(FTOI, 2, 2); note(2, AT); } while (0)
    FLOATS(FADD, 1.5, 2.5);
    FLOATS(FSUB, 1.5, 4.5);
    FLOATS(FMUL, 1.5, 4.0);
    FLOATS(FDIV, 9.0, 2.0);
    FLOATS(FMOD, 9.5, 4.0);
    FLOAT(FNEG, 3.0);
    FLOAT(FABS, -3.0);
    FLOAT(FSQRT, 81.0);
    TRUTH(FEQ, 1.0, 1.0);
    TRUTH(FNE, 0.0 / 0.0, 0.0 / 0.0);
    TRUTH(FEQ, 0.0, -0.0);
    TRUTH(FLT, 1.0, 2.0);
    TRUTH(FLE, 2.0, 2.0);
    TRUTH(FLE, 0.0 / 0.0, 2.0);
    LOAD(0, 7);
    I(ITOF, 0, 0);
    I(FTOI, 2, 0);
    note(2, AT);
    LOAD(0, word(1e30));
    I(FTOI, 2, 0);
    note(2, AT);
    LOAD(0, word(-1e30));
    I(FTOI, 2, 0);
    note(2, AT);
    LOAD(0, word(0.0 / 0.0));
    I(FTOI, 2, 0);
    note(2, AT);
    I(RET);
    end();
}

/* Notes 1 if the branch is taken, else 0; forwards and back. */
static void taken(enum coir_op op, int64_t a, int64_t b, bool immediate)
{
    const uint32_t yes = LABEL(), out = LABEL(), back = LABEL(), try = LABEL();

    LOAD(0, a);
    LOAD(1, b);
    coir_build_jump(making, op, 0, immediate ? (unsigned)(int)b : 1, 0, yes);
    note_number(0, AT);
    J(JMP, 0, 0, out);
    PLACE(yes);
    note_number(1, AT);
    PLACE(out);
    J(JMP, 0, 0, try);
    PLACE(back);
    note_number(1, AT);
    const uint32_t over = LABEL();
    J(JMP, 0, 0, over);
    PLACE(try);
    coir_build_jump(making, op, 0, immediate ? (unsigned)(int)b : 1, 0, back);
    note_number(0, AT);
    PLACE(over);
}

static void make_branches(void)
{
    begin_main();
    taken(COIR_OP_JEQ, 1, 1, false);
    taken(COIR_OP_JEQ, 1, 2, false);
    taken(COIR_OP_JNE, 1, 2, false);
    taken(COIR_OP_JLT, -1, 2, false);
    taken(COIR_OP_JLT, 2, 2, false);
    taken(COIR_OP_JLE, 2, 2, false);
    taken(COIR_OP_JEQI, 5, 5, true);
    taken(COIR_OP_JNEI, 5, 5, true);
    taken(COIR_OP_JLTI, -5, -4, true);
    taken(COIR_OP_JLEI, -4, -4, true);
    taken(COIR_OP_JGTI, 4, 3, true);
    taken(COIR_OP_JGEI, 3, 4, true);
    taken(COIR_OP_JFEQ, (int64_t)word(1), (int64_t)word(1), false);
    taken(COIR_OP_JFNE, (int64_t)word(1), (int64_t)word(1), false);
    taken(COIR_OP_JFLT, (int64_t)word(1), (int64_t)word(2), false);
    taken(COIR_OP_JFLE, (int64_t)word(2), (int64_t)word(2), false);
    taken(COIR_OP_JFNLT, (int64_t)word(0.0 / 0.0), (int64_t)word(2), false);
    taken(COIR_OP_JFNLE, (int64_t)word(1), (int64_t)word(2), false);
    I(RET);
    end();
}

static void make_loops(void)
{
    const struct { int64_t from, to; } over[] = { { 0, 3 }, { 3, 3 } };

    begin_main();
    for (int i = 0; i < 2; i++) {
        const uint32_t top = LABEL(), end_of = LABEL();

        LOAD(0, over[i].from);
        LOAD(1, over[i].to);
        J(JLE, 1, 0, end_of);
        PLACE(top);
        note(0, AT);
        J(FORI, 0, 1, top);
        PLACE(end_of);
    }
    const uint32_t inclusive = LABEL();
    LOAD(0, INT64_MAX - 1);
    LOAD(1, INT64_MAX);
    LOAD(2, 0);
    PLACE(inclusive);
    I(ADDI, 2, 2, 1);
    J(FORE, 0, 1, inclusive);
    note(2, AT);
    for (int i = 0; i < 4; i++) {                /* SWITCH: the arms and behind them */
        const uint32_t zero = LABEL(), one = LABEL(), out = LABEL();

        LOAD(0, i == 3 ? -1 : i);
        I(SWITCH, 0, 2);
        J(JMP, 0, 0, zero);
        J(JMP, 0, 0, one);
        note_number(99, AT);
        J(JMP, 0, 0, out);
        PLACE(zero);
        note_number(100, AT);
        J(JMP, 0, 0, out);
        PLACE(one);
        note_number(101, AT);
        PLACE(out);
    }
    const uint32_t yes = LABEL(), no = LABEL();
    LOAD(0, 5);
    J(JT, 0, 0, yes);
    note_number(-1, AT);
    PLACE(yes);
    LOAD(0, 0);
    J(JF, 0, 0, no);
    note_number(-2, AT);
    PLACE(no);
    I(RET);
    end();
}

/* ---- what traps ---- */

static enum coir_op trapping;
static int64_t left, right;

static void make_trapping(void)
{
    begin_main();
    LINE(7);
    LOAD(0, left);
    LOAD(1, right);
    coir_build_op(making, trapping, 2, 0, 1, 0);
    note_number(1, AT);
    I(RET);
    end();
}

static void traps(enum coir_op op, int64_t a, int64_t b, const char *how)
{
    trapping = op;
    left = a;
    right = b;
    program(coir_ops[op].name, make_trapping, 2, "", how);
}

int main(void)
{
    program("ints", make_ints, 0,
            "7 -9223372036854775808 -1 -12 -9223372036854775808 -3 -1 1 -5 8 14 6 48 -9223372036854775808 -4 "
            "-2 -2 -15 -3 -1 -2 12 -4 1 0 ", NULL);
    program("comparisons", make_comparisons, 0, "1 0 1 1 0 1 0 ", NULL);
    program("floats", make_floats, 0,
            "4 -3 6 4 1 -3 3 9 1 1 1 1 1 0 7 9223372036854775807 -9223372036854775808 0 ", NULL);
    program("branches", make_branches, 0,
            "1 1 0 0 1 1 1 1 0 0 1 1 1 1 0 0 1 1 1 1 1 1 0 0 1 1 0 0 1 1 1 1 1 1 0 0 ", NULL);
    program("loops", make_loops, 0, "0 1 2 2 100 101 99 99 ", NULL);
    traps(COIR_OP_DIV, 1, 0, "trap DivZero in main at t.coir:7: division by zero\n");
    traps(COIR_OP_DIV, INT64_MIN, -1, "trap DivZero in main at t.coir:7: division overflows\n");
    traps(COIR_OP_MOD, 1, 0, "trap DivZero in main at t.coir:7: remainder by zero\n");
    traps(COIR_OP_SHL, 1, 64, "trap Bounds in main at t.coir:7: shift by 64\n");
    traps(COIR_OP_SHR, 1, -1, "trap Bounds in main at t.coir:7: shift by -1\n");
    return DONE();
}
