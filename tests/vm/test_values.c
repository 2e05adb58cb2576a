/* SPDX-License-Identifier: MIT */
/*
 * Every instruction on references: moves, records, sums, places, lists, maps, texts, closures, calls with all sorts of
 * parameters; what of it traps, with everything given back; and what is copied, and how often.
 */
#include "make.h"

static void moves(void)
{
    script("moves",
           "fn main() regs 20 { CONSTT r0, \"a\" COPY r1, r0 MOVE r2, r1 LEND r10, r2 CALLN r10, say "
           "CONSTT r0, \"b\" COPY r3, r0 SET r2, r3 LEND r10, r2 CALLN r10, say "
           "JNULL r3, gone LOADI r10, 9 CALLN r10, note gone: DROP r2 DROP r3 "
           "NULL r4 DROP r4 RET } export main main",
           0, "a b ", NULL);
    script("globals",
           "global n: Int global t: Text "
           "fn init() regs 4 { LOADI r0, 41 GSET r0, n CONSTT r1, \"x\" COPY r2, r1 GSET r2, t RET } "
           "fn main() regs 20 { GLOBAL r10, n CALLN r10, note GLOBAL r10, t CALLN r10, say "
           "GLOBAL r1, t COPY r2, r1 DROP r2 RET } export main main export init init",
           0, "41 x ", NULL);
    script("a global before it is set",
           "global n: Int fn main() regs 20 { .line 3 GLOBAL r10, n RET } export main main",
           2, "", "trap Explicit in main at test.coir:3: ");
    script("arguments",
           "fn three(mut t: Text, own u: Text, v: Text, n: Int) -> Int regs 20 { APPEND r0, r1 APPEND r0, r2 DROP r1 "
           "ADDI r1, r3, 1 RET } "
           "fn main() regs 20 { CONSTT r0, \"a\" COPY r5, r0 CONSTT r0, \"b\" COPY r6, r0 CONSTT r7, \"c\" LOADI "
           "r8, 1 "
           "CALL r5, three MOVW r10, r6 CALLN r10, note LEND r10, r5 CALLN r10, say DROP r5 RET } export main main",
           0, "2 abc ", NULL);
}

static void records(void)
{
    script("records",
           "record P { x: Int, name: Text } "
           "fn main() regs 20 { LOADI r1, 5 CONSTT r0, \"n\" COPY r2, r0 NEW r3, P, r1 GETW r10, r3, 0 CALLN r10, "
           "note "
           "LENDF r10, r3, 1 CALLN r10, say GETR r4, r3, 1 DROP r4 "
           "COPY r5, r3 LOADI r6, 6 SETW r5, 0, r6 GETW r10, r3, 0 CALLN r10, note GETW r10, r5, 0 CALLN r10, note "
           "CONSTT r0, \"m\" COPY r7, r0 SETR r5, 1, r7 LENDF r10, r3, 1 CALLN r10, say LENDF r10, r5, 1 CALLN r10, "
           "say "
           "DROP r3 DROP r5 RET } export main main",
           0, "5 n 5 6 n m ", NULL);
    script("sums",
           "sum S { Circle(r: Int), Named(name: Text, at: Int), Empty } "
           "fn main() regs 20 { LOADI r1, 5 NEWV r2, S, r1, Circle GETPW r10, r2, 0, Circle CALLN r10, note "
           "TAG r10, r2 CALLN r10, note CONSTT r0, \"n\" COPY r3, r0 LOADI r4, 7 NEWV r5, S, r3, Named "
           "LENDP r10, r5, 0, Named CALLN r10, say GETPR r6, r5, 0, Named DROP r6 "
           "JIS r5, yes, Named LOADI r10, -1 CALLN r10, note yes: JISNT r5, no, Named LOADI r10, 1 CALLN r10, note "
           "no: "
           "NEWV r7, S, r0, Empty TAG r10, r7 CALLN r10, note COPY r8, r5 "
           "UNPACK r11, r8, Named LEND r14, r11 CALLN r14, say MOVW r14, r12 CALLN r14, note DROP r11 "
           "UNPACK r11, r5, Named DROP r11 UNPACK r11, r7, Empty DROP r2 RET } export main main",
           0, "5 0 n 1 2 n 7 ", NULL);
    script("another variant",
           "sum S { Circle(r: Int), Named(name: Text), Empty } "
           "fn main() regs 20 { NEWV r2, S, r0, Empty .line 4 GETPW r10, r2, 0, Circle DROP r2 RET } export main "
           "main",
           2, "", "trap Explicit in main at test.coir:4: a value of another variant\n");
    script("unpacking another variant",
           "sum S { Named(name: Text), Empty } "
           "fn main() regs 20 { CONSTT r0, \"n\" COPY r1, r0 NEWV r2, S, r1, Named .line 4 UNPACK r10, r2, Empty "
           "RET } "
           "export main main",
           2, "", "trap Explicit in main at test.coir:4: a value of another variant\n");
}

static void lists(void)
{
    script("lists of words",
           "fn main() regs 20 { LOADI r1, 1 LOADI r2, 2 LOADI r3, 3 NEWL r4, List[Int], r1, 3 LLEN r10, r4 CALLN "
           "r10, note "
           "LOADI r5, 1 LGETW r10, r4, r5 CALLN r10, note LOADI r6, 9 LSETW r4, r5, r6 LGETW r10, r4, r5 CALLN r10, "
           "note "
           "LPUSHW r4, r6 LLEN r10, r4 CALLN r10, note LEND r7, r4 LOADI r8, 0 JMP try "
           "next: MOVW r10, r9 CALLN r10, note try: LNEXTW r9, r7, next DROP r4 RET } export main main",
           0, "3 2 9 4 1 9 3 9 ", NULL);
    script("lists of texts",
           "fn main() regs 20 { CONSTT r0, \"a\" COPY r1, r0 CONSTT r0, \"b\" COPY r2, r0 NEWL r4, List[Text], r1, 2 "
           "LOADI r5, 1 LGETR r6, r4, r5 LEND r10, r6 CALLN r10, say DROP r6 LLEND r10, r4, r5 CALLN r10, say "
           "CONSTT r0, \"c\" COPY r6, r0 LSETR r4, r5, r6 LLEND r10, r4, r5 CALLN r10, say "
           "CONSTT r0, \"d\" COPY r6, r0 LPUSH r4, r6 LEND r7, r4 LOADI r8, 0 JMP try "
           "next: LEND r10, r9 CALLN r10, say DROP r9 try: LNEXT r9, r7, next "
           "LOADI r8, 0 JMP try2 next2: LEND r10, r9 CALLN r10, say try2: LNEXTL r9, r7, next2 DROP r4 RET } "
           "export main main",
           0, "b b c a c d a c d ", NULL);
    script("pairs",
           "fn main() regs 20 { LOADI r1, 1 CONSTT r0, \"a\" COPY r2, r0 LOADI r3, 2 CONSTT r0, \"b\" COPY r4, r0 "
           "NEWL r5, List[(Int, Text)], r1, 2 LOADI r6, 1 LGET r7, r5, r6 MOVW r10, r7 CALLN r10, note LEND r10, r8 "
           "CALLN r10, say DROP r8 LOADI r7, 3 CONSTT r0, \"c\" COPY r8, r0 LSET r5, r6, r7 LLEND r7, r5, r6 "
           "MOVW r10, r7 CALLN r10, note LEND r10, r8 CALLN r10, say LOADI r7, 4 CONSTT r0, \"d\" COPY r8, r0 LPUSH "
           "r5, r7 "
           "LLEN r10, r5 CALLN r10, note DROP r5 RET } export main main",
           0, "2 b 3 c 3 ", NULL);
    script("records in lists",
           "record P { x: Int, name: Text } "
           "fn main() regs 20 { LOADI r1, 5 CONSTT r0, \"n\" COPY r2, r0 NEW r3, P, r1 COPY r4, r3 NEWL r5, "
           "List[P], r3, 2 "
           "LOADI r6, 1 LFLDW r10, r5, r6, 0 CALLN r10, note LOADI r7, 6 LPUTW r5, r6, r7, 0 LFLDW r10, r5, r6, 0 "
           "CALLN r10, note LOADI r8, 0 LFLDW r10, r5, r8, 0 CALLN r10, note CONSTT r0, \"m\" COPY r9, r0 "
           "LPUTR r5, r6, r9, 1 LFLDR r9, r5, r6, 1 LEND r10, r9 CALLN r10, say DROP r9 LFLDR r9, r5, r8, 1 LEND "
           "r10, r9 "
           "CALLN r10, say DROP r9 DROP r5 RET } export main main",
           0, "5 6 5 m n ", NULL);
}

static void maps(void)
{
    script("maps",
           "fn main() regs 30 { NEWM r1, Map[Text, Int] CONSTT r2, \"a\" LOADI r3, 1 MSET r1, r2, r3 CONSTT r2, "
           "\"b\" "
           "LOADI r3, 2 MSET r1, r2, r3 MLEN r10, r1 CALLN r10, note MGET r10, r1, r2 CALLN r10, note LOADI r3, 5 "
           "MSET r1, r2, r3 MGETO r4, r1, r2 MOVW r10, r4 CALLN r10, note MOVW r10, r5 CALLN r10, note CONSTT r2, "
           "\"c\" "
           "MGETO r4, r1, r2 MOVW r10, r4 CALLN r10, note MHAS r10, r1, r2 CALLN r10, note CONSTT r2, \"a\" "
           "MHAS r10, r1, r2 CALLN r10, note LEND r7, r1 LOADI r8, 0 JMP try next: LEND r20, r11 CALLN r20, say "
           "MOVW r20, r12 CALLN r20, note DROP r11 try: MNEXT r11, r7, next LOADI r8, 0 JMP try2 next2: LEND r20, "
           "r11 "
           "CALLN r20, say MOVW r20, r12 CALLN r20, note try2: MNEXTL r11, r7, next2 DROP r1 RET } export main main",
           0, "2 2 1 5 0 0 1 a 1 b 5 a 1 b 5 ", NULL);
    script("maps of texts",
           "fn main() regs 30 { NEWM r1, Map[Int, Text] LOADI r2, 7 CONSTT r0, \"x\" COPY r3, r0 MSET r1, r2, r3 "
           "MGET r4, r1, r2 LEND r10, r4 CALLN r10, say DROP r4 MLEND r10, r1, r2 CALLN r10, say MGETO r4, r1, r2 "
           "DROP r4 LOADI r2, 8 MGETO r4, r1, r2 JNULL r4, nil LOADI r10, -1 CALLN r10, note nil: DROP r4 "
           "COPY r5, r1 LOADI r2, 7 CONSTT r0, \"y\" COPY r3, r0 MSET r5, r2, r3 MLEND r10, r1, r2 CALLN r10, say "
           "MLEND r10, r5, r2 CALLN r10, say DROP r1 DROP r5 RET } export main main",
           0, "x x x y ", NULL);
    script("a missing key",
           "fn main() regs 30 { NEWM r1, Map[Text, Int] CONSTT r2, \"a\" .line 5 MGET r10, r1, r2 DROP r1 RET } "
           "export main main",
           2, "", "trap Key in main at test.coir:5: no key \"a\"\n");
    script("a missing number",
           "fn main() regs 30 { NEWM r1, Map[Int, Int] LOADI r2, 4 .line 5 MLEND r10, r1, r2 DROP r1 RET } export "
           "main main",
           2, "", "trap Key in main at test.coir:5: no key 4\n");
}

static void texts(void)
{
    script("texts",
           "fn main() regs 30 { CONSTT r1, \"ab\" CONSTT r2, \"ac\" TLEN r10, r1 CALLN r10, note LOADI r3, 1 "
           "TBYTE r10, r2, r3 CALLN r10, note TEQ r10, r1, r2 CALLN r10, note TEQ r10, r1, r1 CALLN r10, note "
           "TCMP r10, r1, r2 CALLN r10, note TCMP r10, r2, r1 CALLN r10, note TCMP r10, r1, r1 CALLN r10, note "
           "TCAT r4, r1, r2 LEND r10, r4 CALLN r10, say APPEND r4, r1 LEND r10, r4 CALLN r10, say DROP r4 "
           "TNEW r5, 20 FORMAT r5, r1, Text, 0 FORMAT r5, r1, Text, 1 LOADI r6, -3 FORMAT r5, r6, Int, 0 LEND r10, "
           "r5 "
           "CALLN r10, say DROP r5 RET } export main main",
           0, "2 99 0 1 -1 1 0 abac abacab ab\"ab\"-3 ", NULL);
    script("a byte beyond",
           "fn main() regs 30 { CONSTT r1, \"ab\" LOADI r3, 2 .line 5 TBYTE r10, r1, r3 RET } export main main",
           2, "", "trap Bounds in main at test.coir:5: index 2 of 2\n");
    script("generic",
           "record P { x: Int, name: Text } "
           "fn main() regs 30 { LOADI r1, 5 CONSTT r0, \"n\" COPY r2, r0 NEW r3, P, r1 LOADI r1, 5 CONSTT r0, \"n\" "
           "COPY r2, r0 NEW r4, P, r1 EQV r10, r3, r4, P CALLN r10, note LOADI r5, 6 SETW r4, 0, r5 EQV r10, r3, "
           "r4, P "
           "CALLN r10, note LOADI r5, 1 CONSTT r6, \"a\" LOADI r7, 1 CONSTT r8, \"b\" CMPV r10, r5, r7, (Int, Text) "
           "CALLN r10, note CMPV r10, r7, r5, (Int, Text) CALLN r10, note TNEW r9, 0 FORMAT r9, r3, P, 1 LEND r10, "
           "r9 "
           "CALLN r10, say DROP r9 DROP r3 DROP r4 RET } export main main",
           0, "1 0 -1 1 P{ x: 5, name: \"n\" } ", NULL);
}

static void places(void)
{
    script("places",
           "record P { x: Int, names: List[Text] } record Q { p: P } "
           "fn main() regs 30 { LOADI r1, 5 CONSTT r0, \"n\" COPY r3, r0 NEWL r2, List[Text], r3, 1 NEW r3, P, r1 "
           "NEW r4, Q, r3 COPY r5, r4 PREG r6, r4 PFLD r6, 0, 0 PFLD r6, 0, 0 LOADI r7, 8 PSTW r6, 0, r7 "
           "PLDW r10, r6, 0 CALLN r10, note LOADI r8, 0 CONSTT r9, \"+\" PREG r6, r4 PFLD r6, 0, 0 PFLD r6, 0, 1 "
           "PIDX r6, 0, r8 PCAT r6, 0, r9 PLDR r11, r6, 0 LEND r20, r11 CALLN r20, say DROP r11 CONSTT r0, \"z\" "
           "COPY r11, r0 PREG r6, r4 PFLD r6, 0, 0 PFLD r6, 0, 1 PPUSH r6, 0, r11 TNEW r12, 0 FORMAT r12, r4, Q, 1 "
           "LEND r20, r12 CALLN r20, say DROP r12 TNEW r12, 0 FORMAT r12, r5, Q, 1 LEND r20, r12 CALLN r20, say "
           "DROP r12 "
           "DROP r4 DROP r5 RET } export main main",
           0, "8 n+ Q{ p: P{ x: 8, names: [\"n+\", \"z\"] } } Q{ p: P{ x: 5, names: [\"n\"] } } ", NULL);
    script("taken and put back",
           "record P { t: Text } "
           "fn main() regs 30 { CONSTT r0, \"n\" COPY r1, r0 NEW r2, P, r1 PREG r3, r2 PFLD r3, 0, 0 PTAKE r4, r3, 0 "
           "CONSTT r5, \"m\" APPEND r4, r5 PREG r3, r2 PFLD r3, 0, 0 PSTR r3, 0, r4 LENDF r10, r2, 0 CALLN r10, say "
           "PREG r3, r2 PFLD r3, 0, 0 PTAKE r4, r3, 0 DROP r4 .line 9 LENDF r10, r2, 0 CALLN r10, say DROP r2 RET } "
           "export main main",
           2, "nm ", "trap Explicit in main at test.coir:9: a value that has been taken out is used\n");
    script("places in maps",
           "fn main() regs 30 { NEWM r1, Map[Text, Int] CONSTT r2, \"a\" LOADI r3, 1 MSET r1, r2, r3 PREG r4, r1 "
           "PKEY r4, 0, r2 LOADI r3, 7 PSTW r4, 0, r3 MGET r10, r1, r2 CALLN r10, note CONSTT r2, \"b\" PREG r4, r1 "
           ".line 6 PKEY r4, 0, r2 DROP r1 RET } export main main",
           2, "7 ", "trap Key in main at test.coir:6: no key \"b\"\n");
}

static void closures(void)
{
    script("closures",
           "fn add(x: Int) -> Int of fn(Int) -> Int captures (k: Int, t: Text) regs 20 { GETW r2, r1, 0 LENDF r10, "
           "r1, 1 "
           "CALLN r10, say ADD r0, r0, r2 RET } "
           "fn twice(f: fn(Int) -> Int, x: Int) -> Int regs 20 { MOVW r5, r1 CALLC r5, r0 CALLC r5, r0 RETV r5 } "
           "fn main() regs 20 { LOADI r1, 3 CONSTT r0, \"t\" COPY r2, r0 CLOSURE r3, add, r1 LEND r5, r3 LOADI r6, "
           "10 "
           "CALL r5, twice MOVW r10, r5 CALLN r10, note DROP r3 RET } export main main",
           0, "t t 16 ", NULL);
}

/* Each instruction that traps in the middle of what is owned, in a call: all is given back. */
static void trapping(void)
{
    static const struct { const char *body, *complaint; } traps[] = {
        { "LOADI r5, 9 .line 7 LGETW r6, r3, r5", "trap Bounds in inner at test.coir:7: index 9 of 1" },
        { "LOADI r5, -1 .line 7 LGETW r6, r3, r5", "trap Bounds in inner at test.coir:7: index -1 of 1" },
        { "LOADI r5, 1 .line 7 LSETW r3, r5, r5", "trap Bounds in inner at test.coir:7: index 1 of 1" },
        { "LOADI r5, 1 .line 7 LGETR r6, r4, r5 DROP r6", "trap Bounds in inner at test.coir:7: index 1 of 1" },
        { "LOADI r5, 1 .line 7 LGET r6, r4, r5 DROP r6", "trap Bounds in inner at test.coir:7: index 1 of 1" },
        { "LOADI r5, 1 .line 7 LLEND r6, r4, r5", "trap Bounds in inner at test.coir:7: index 1 of 1" },
        { "LOADI r5, 1 CONSTT r6, \"x\" COPY r6, r6 .line 7 LSETR r4, r5, r6 ",
          "trap Bounds in inner at test.coir:7: index" },
        { "LOADI r5, 1 CONSTT r6, \"x\" COPY r7, r6 .line 7 LSET r4, r5, r7 ",
          "trap Bounds in inner at test.coir:7: index" },
        { "LOADI r5, 1 .line 7 PREG r6, r3 PIDX r6, 0, r5", "trap Bounds in inner at test.coir:7: index 1 of 1" },
        { "LOADI r5, 0 .line 7 DIV r6, r5, r5", "trap DivZero in inner at test.coir:7: division by zero" },
        { "LOADI r5, 0 NULL r6 JF r5, null COPY r6, r2 null: .line 7 NONNULL r6 DROP r6",
          "trap Explicit in inner at test.coir:7" },
        { "CONSTT r5, \"why\" .line 7 TRAPM r5, Explicit", "trap Explicit in inner at test.coir:7: why" },
        { "CONSTT r5, \"no\" .line 7 TRAPM r5, Assert", "trap Assert in inner at test.coir:7: no" },
    };

    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++) {
        char text[2000];

        snprintf(text, sizeof text,
                 "record P { x: Int, name: Text } "
                 "fn inner(mut u: Text, own t: Text) -> () regs 30 { LOADI r2, 5 NEWL r3, List[Int], r2, 1 "
                 "CONSTT r2, \"in\" COPY r5, r2 NEWL r4, List[Text], r5, 1 %s%s "
                 "fn outer(t: Text) regs 30 { CONSTT r1, \"o\" COPY r2, r1 COPY r8, r1 COPY r9, r1 .line 20 "
                 "CALL r8, inner DROP r8 DROP r2 RET } "
                 "fn main() regs 30 { CONSTT r1, \"m\" TNEW r2, 3 APPEND r2, r1 LEND r5, r2 .line 30 CALL r5, outer "
                 "DROP r2 RET } export main main",
                 traps[i].body, strstr(traps[i].body, "TRAPM") ? "}" : " DROP r3 DROP r4 DROP r1 RET }");
        script(traps[i].body, text, 2, "", traps[i].complaint);
        OK(strstr(complaint, "\n    outer at test.coir:20\n    main at test.coir:30\n"), "with who called");
    }
}

/* A loop that appends is linear, and what is not shared is not copied. */
static void counts(void)
{
    size_t len;
    void *image = assembled("appending",
        "record P { xs: List[Int], t: Text } "
        "fn main() regs 30 { NEWL r1, List[Int], r0, 0 TNEW r2, 0 NEW r3, P, r1 LOADI r4, 0 LOADI r5, 100000 "
        "CONSTT r6, \"abc\" top: PREG r7, r3 PFLD r7, 0, 0 PPUSH r7, 0, r4 PREG r7, r3 PFLD r7, 0, 1 PCAT r7, 0, r6 "
        "FORI r4, r5, top LENDF r8, r3, 0 LLEN r10, r8 CALLN r10, note LENDF r8, r3, 1 TLEN r10, r8 CALLN r10, note "
        "DROP r3 RET } export main main", &len);
    const struct coir_vm_options o = { .natives = test_tables };

    EQ(run_image(image, len, &o), 0, "a hundred thousand appends");
    STR_EQ(said, "100000 300000 ", "are all there");
    EQ(last.copies, 0, "nothing was copied");
    OK(last.allocations < 100, "with %llu allocations", (unsigned long long)last.allocations);
    free(image);
    image = assembled("shared",
        "record P { xs: List[Int] } "
        "fn main() regs 30 { LOADI r2, 1 NEWL r1, List[Int], r2, 1 NEW r3, P, r1 COPY r4, r3 LOADI r5, 2 "
        "PREG r6, r4 PFLD r6, 0, 0 PPUSH r6, 0, r5 PREG r6, r4 PFLD r6, 0, 0 PPUSH r6, 0, r5 "
        "DROP r3 DROP r4 RET } export main main", &len);
    EQ(run_image(image, len, &o), 0, "a shared record");
    EQ(last.copies, 2, "is copied once, and so is its list");
    free(image);
}

int main(void)
{
    moves();
    records();
    lists();
    maps();
    texts();
    places();
    closures();
    trapping();
    counts();
    return DONE();
}
