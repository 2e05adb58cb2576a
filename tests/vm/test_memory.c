/* SPDX-License-Identifier: MIT */
/*
 * No memory: a limit that is reached traps Memory, and nothing ends but who asked; every allocation of a program fails
 * in its turn, and each time the program ends as it should, with everything given back.
 */
#include "make.h"

/* A bit of everything that allocates. */
static const char various[] =
    "record P { x: Int, t: Text } sum S { A(t: Text), B } "
    "import new \"chan\" (Int) -> Chan[Text] import put \"Chan.send\" (Chan[Text], own Text) "
    "import recv \"Chan.recv\" (Chan[Text]) -> Text? import join \"Task.join\" (Task[Int]) -> Int "
    "fn child(own c: Chan[Text]) -> Int regs 30 { LEND r10, r0 CALLN r10, recv MOVE r1, r10 JNULL r1, nil LEND r10, "
    "r1 "
    "CALLN r10, say nil: DROP r1 DROP r0 LOADI r0, 5 RET } "
    "fn add(x: Int) -> Int of fn(Int) -> Int captures (t: Text) regs 20 { LENDF r2, r1, 0 TLEN r2, r2 ADD r0, r0, "
    "r2 RET } "
    "fn deep(n: Int) -> Int regs 20 { JGTI r0, 0, more LOADI r1, 1 RETV r1 more: ADDI r1, r0, -1 CALL r1, deep RETV "
    "r1 } "
    "fn main() regs 40 { LOADI r30, 0 from: CONSTT r0, \"abc\" COPY r2, r0 LOADI r1, 5 NEW r3, P, r1 COPY r4, r3 "
    "LOADI r5, 6 SETW r4, 0, r5 TCAT r6, r0, r0 APPEND r6, r0 NEWV r7, S, r6, A NEWL r8, List[Int], r9, 0 LOADI "
    "r11, 0 "
    "LOADI r12, 300 top: LPUSHW r8, r11 FORI r11, r12, top COPY r9, r8 LPUSHW r9, r11 NEWM r13, Map[Text, Int] "
    "LOADI r11, 0 "
    "top2: TNEW r14, 0 FORMAT r14, r11, Int, 0 MSET r13, r14, r11 DROP r14 FORI r11, r12, top2 COPY r14, r13 "
    "MSET r14, r0, r11 TNEW r15, 0 FORMAT r15, r4, P, 1 LEND r35, r15 CALLN r35, say EQV r16, r3, r4, P DROP r15 "
    "COPY r15, r0 CLOSURE r16, add, r15 LOADI r35, 4 CALLC r35, r16 CALLN r35, note LOADI r35, 300 CALL r35, deep "
    "CALLN r35, note LOADI r35, 2 CALLN r35, new MOVE r17, r35 COPY r18, r17 SPAWN r19, child, r18, Task[Int] LEND "
    "r35, r17 "
    "COPY r36, r0 CALLN r35, put LEND r35, r19 CALLN r35, join CALLN r35, note LOADI r20, 0 GROUP r21, r20 COPY "
    "r18, r17 "
    "GSPAWN r22, child, r18, Task[Int], r21 DROP r22 LEND r35, r17 COPY r36, r0 CALLN r35, put GWAIT r21 DROP r21 "
    "LOADI r20, 1000000000 WITHIN r21, r20 SHIELD r22 DROP r22 DROP r21 "
    "SELECT else recv r17, r23, got JMP none got: DROP r23 none: DROP r19 DROP r17 DROP r16 DROP r14 DROP r13 DROP "
    "r9 "
    "DROP r8 DROP r7 DROP r4 DROP r3 to: LOADI r35, 77 CALLN r35, note RET "
    "pad: LENDF r35, r1, 0 CALLN r35, say DROP r1 RET .catch from, to, pad, 1 } export main main";

static const char whole[] = "P{ x: 6, t: \"abc\" } 7 1 abc 5 abc 77 ";

static void limited(void)
{
    size_t len;
    void *image = assembled("grows",
        "fn grow() regs 20 { NEWL r1, List[Int], r2, 0 LOADI r2, 1 top: LPUSHW r1, r2 JMP top } "
        "fn main() regs 30 { TNEW r1, 100 from: CALL r10, grow to: DROP r1 RET pad: LENDF r10, r2, 0 CALLN r10, say "
        "DROP r2 "
        "CONSTT r3, \"go on\" APPEND r1, r3 LEND r10, r1 CALLN r10, say DROP r1 RET .catch from, to, pad, 2 } "
        "export main main", &len);
    const struct coir_vm_options o = { .natives = test_tables, .max_memory = 1 << 20 };

    EQ(run_image(image, len, &o), 0, "a list without end, in a megabyte");
    STR_EQ(said, "Memory go on ", "traps, and the program goes on");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
    image = assembled("fibers without end",
        "fn f() regs 20 { LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep RET } "
        "fn main() regs 30 { LOADI r2, 0 LOADI r3, 1000000 from: top: SPAWN r1, f, r20, Task[()] DROP r1 "
        "FORI r2, r3, top to: RET pad: LENDF r10, r1, 0 CALLN r10, say DROP r1 RET .catch from, to, pad, 1 } "
        "export main main", &len);
    EQ(run_image(image, len, &o), 0, "fibers without end, in a megabyte");
    STR_EQ(said, "Memory ", "trap as well");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
    image = assembled("grows deep",
        "fn f(x: Int) -> Int regs 100 { ADDI r90, r0, 1 CALL r90, f RETV r90 } "
        "fn main() regs 30 { from: LOADI r1, 0 CALL r1, f to: RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 RET "
        ".catch from, to, pad, 2 } export main main", &len);
    EQ(run_image(image, len, &o), 0, "calls without end, in a megabyte");
    STR_EQ(said, "Stack ", "trap too");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
}

/* ---- each allocation fails ---- */

#ifdef COIR_FAULTS
static void each_fails(void)
{
    struct coir_vm_options o = { .natives = test_tables, .seed = 1 };
    size_t len;
    void *image = assembled("various", various, &len);
    int wrong = 0, odd = 0, began = 0;
    long n = 0;

    for (; n < 20000; n++) {
        coir_heap_fail_at = n + 1;
        const int code = run_image(image, len, &o);
        const bool failed = coir_heap_fail_at == 0;

        coir_heap_fail_at = 0;
        wrong += last.lives != 0;
        if (code == 1) {
            began++;
            continue;
        }
        if (!failed)
            break;
        odd += code != 0 && code != 2;
    }
    OK(n > 50, "%ld allocations fail, one after the other", n);
    OK(began < 10, "%d of them before main begins", began);
    EQ(wrong, 0, "each time everything is given back");
    EQ(odd, 0, "and main ends by itself, or is told");
    STR_EQ(said, whole, "with all of them it runs to its end");
    free(image);
}
#else
static void each_fails(void)
{
    SKIP("allocations fail in builds with faults");
}
#endif

int main(void)
{
    script("various", various, 0, whole, NULL);
    limited();
    each_fails();
    return DONE();
}
