/* SPDX-License-Identifier: MIT */
/*
 * The loader's proof, rule by rule: a program that keeps the rule is loaded, one that breaks it is refused with the
 * message that says where and why. Nothing is run here. Programs are the assembler's (asm.h); each is one function f,
 * with what stands in `head` known to it, and as few instructions as show the rule.
 */
#include "tap.h"
#include "vm/asm.h"

static const char head[] =
    "record P { x: Int, name: Text }\n"
    "record Holder { conn: net.Conn }\n"
    "sum Shape { Circle(r: Float), Named(name: Text, at: Int), Held(conn: net.Conn), Empty }\n"
    "enum Color { Red, Green }\n"
    "resource net.Conn\n"
    "global limit: Int\n"
    "global title: Text\n"
    "import print \"io.print\" (Text)\n"
    "import push \"List.push\" (mut List[Text], own Text)\n"
    "import close \"net.close\" (own net.Conn)\n"
    "import dial \"net.dial\" (Text) -> net.Conn\n"
    "fn one(x: Int) -> Int regs 1 { RET }\n"
    "fn takes(own t: Text) regs 1 { DROP r0 RET }\n"
    "fn lends(t: Text) regs 1 { RET }\n"
    "fn both(a: Text, own b: Text) regs 2 { DROP r1 RET }\n"
    "fn grow(mut xs: List[Int], x: Int) -> Int regs 3 { LPUSHW r0, r1 RET }\n"
    "fn add(x: Int) -> Int of fn(Int) -> Int captures (k: Int, t: Text) regs 3 { GETW r2, r1, 0 ADD r0, r0, r2 RET }\n";

static struct coir_program *load(const char *text, struct coir_load_error *error)
{
    static char whole[65536];

    snprintf(whole, sizeof whole, "%s%s", head, text);
    return asm_load(whole, NULL, error);
}

static void keeps(const char *name, const char *text)
{
    struct coir_load_error error;
    struct coir_program *p = load(text, &error);

    if (!OK(p != NULL, "%s", name))
        NOTE("%s", error.text);
    coir_program_free(p);
}

static void breaks(const char *name, const char *text, const char *message)
{
    struct coir_load_error error;
    struct coir_program *p = load(text, &error);

    STR_EQ(p ? "loaded" : error.text, message, "%s", name);
    coir_program_free(p);
}

/* "pc 2: DROP: what": all messages of the proof begin alike. */
#define WRONG(pc, what) "function f, pc " #pc ", line 0: " what

static void words(void)
{
    keeps("words are read once they were written", "fn f() regs 2 { LOADI r0, 1 ADD r1, r0, r0 RET }");
    breaks("an empty register is read", "fn f() regs 3 { .line 4 ADD r0, r1, r2 RET }",
           "function f, pc 0, line 4: ADD: r1 is empty, not a word");
    breaks("a reference is no word", "fn f() regs 2 { CONSTT r0, \"a\" NEG r1, r0 RET }",
           WRONG(1, "NEG: r0 is lent Text, not a word"));
    breaks("what is owned is not written over", "fn f() regs 1 { TNEW r0, 0 LOADI r0, 1 DROP r0 RET }",
           WRONG(1, "LOADI: r0 owns Text, and is written: it must be dropped or moved first"));
    keeps("what is lent is", "fn f() regs 1 { CONSTT r0, \"a\" LOADI r0, 1 RET }");
    breaks("a word after a branch on one way only",
           "fn f(x: Int) regs 3 { JT r0, over LOADI r1, 1 over: NEG r2, r1 RET }",
           WRONG(2, "NEG: r1 is empty, not a word"));
    keeps("a word on both", "fn f(x: Int) regs 3 { JT r0, a LOADI r1, 1 JMP b a: LOADI r1, 2 b: NEG r2, r1 RET }");
    breaks("nothing is divided by a constant 0", "fn f(x: Int) regs 1 { DIVI r0, r0, 0 RET }",
           "function f, pc 0, line 0: DIVI: it cannot be by 0");
    breaks("nor by -1, which may overflow", "fn f(x: Int) regs 1 { MODI r0, r0, -1 RET }",
           "function f, pc 0, line 0: MODI: it cannot be by 4294967295");
    keeps("but by -2", "fn f(x: Int) regs 1 { DIVI r0, r0, -2 RET }");
    breaks("a shift by 64", "fn f(x: Int) regs 1 { SHLI r0, r0, 64 RET }",
           "function f, pc 0, line 0: SHLI: it cannot be by 64");
}

static void owning(void)
{
    keeps("a text is copied and dropped", "fn f() regs 3 { CONSTT r0, \"a\" COPY r1, r0 DROP r1 RET }");
    breaks("what is owned leaks", "fn f() regs 3 { CONSTT r0, \"a\" COPY r1, r0 RET }",
           WRONG(2, "RET: r1 owns Text, and lies where the callee's registers are"));
    breaks("what is dropped is gone", "fn f() regs 2 { TNEW r0, 0 DROP r0 TLEN r1, r0 RET }",
           WRONG(2, "TLEN: r0 is empty, not a Text"));
    breaks("nothing is dropped twice", "fn f() regs 2 { TNEW r0, 0 DROP r0 DROP r0 RET }",
           WRONG(2, "DROP: r0 is empty, and is to be dropped"));
    breaks("what is lent is not dropped", "fn f(t: Text) regs 2 { DROP r0 RET }",
           WRONG(0, "DROP: r0 is lent Text, and is to be dropped"));
    breaks("nor moved", "fn f(t: Text) regs 2 { MOVE r1, r0 RET }",
           WRONG(0, "MOVE: r0 is lent Text, and is to give up what it owns"));
    breaks("what is moved is null", "fn f() regs 3 { TNEW r0, 0 MOVE r1, r0 TLEN r2, r0 DROP r1 RET }",
           WRONG(2, "TLEN: r0 is null, not a Text"));
    keeps("and may be written", "fn f() regs 3 { TNEW r0, 0 MOVE r1, r0 LOADI r0, 1 DROP r1 RET }");
    breaks("what may have moved is not used",
           "fn f(x: Int) regs 4 { TNEW r1, 0 JT r0, over MOVE r2, r1 DROP r2 over: TLEN r3, r1 DROP r1 RET }",
           WRONG(4, "TLEN: r1 owns Text or null, not a Text"));
    keeps("but dropped", "fn f(x: Int) regs 4 { TNEW r1, 0 JT r0, over MOVE r2, r1 DROP r2 over: DROP r1 RET }");
    breaks("owned on one way, empty on the other",
           "fn f(x: Int) regs 2 { JT r0, over TNEW r1, 0 over: DROP r1 RET }",
           WRONG(1, "TNEW: goes to pc 2, where r1 is empty; here it owns Text"));
    keeps("owned on one way, null on the other",
          "fn f(x: Int) regs 2 { NULL r1 JT r0, over TNEW r1, 0 over: DROP r1 RET }");
    breaks("two types on two ways",
           "fn f(x: Int) regs 2 { JT r0, a TNEW r1, 0 JMP b a: NEWL r1, List[Int], r0, 0 b: DROP r1 RET }",
           WRONG(3, "NEWL: goes to pc 4, where r1 owns Text; here it owns List[Int]"));
    breaks("a loop that owns more each turn", "fn f(x: Int) regs 2 { again: TNEW r1, 0 JT r0, again DROP r1 RET }",
           WRONG(1, "JT: goes to pc 0, where r1 is empty; here it owns Text"));
    breaks("nothing moves to itself", "fn f() regs 2 { TNEW r0, 0 MOVE r0, r0 DROP r0 RET }",
           WRONG(1, "MOVE: r0 is moved to itself"));
    keeps("SET drops the old", "fn f() regs 2 { TNEW r0, 0 TNEW r1, 0 SET r0, r1 DROP r0 RET }");
    breaks("SET of what was never there", "fn f() regs 2 { TNEW r1, 0 SET r0, r1 DROP r0 RET }",
           WRONG(1, "SET: r0 is empty, and is to be dropped"));
    breaks("what has one owner is not copied",
           "fn f(own c: net.Conn) regs 2 { COPY r1, r0 DROP r0 DROP r1 RET }",
           WRONG(0, "COPY: net.Conn has one owner, and cannot be copied"));
    breaks("nor what contains it", "fn f(own h: Holder) regs 2 { COPY r1, r0 DROP r0 DROP r1 RET }",
           WRONG(0, "COPY: Holder has one owner, and cannot be copied"));
    breaks("nor a field that is it", "fn f(h: Holder) regs 2 { GETR r1, r0, 0 DROP r1 RET }",
           WRONG(0, "GETR: net.Conn has one owner, and cannot be copied"));
    keeps("which is lent", "fn f(h: Holder) regs 2 { LENDF r1, r0, 0 RET }");
}

static void lending(void)
{
    keeps("what is lent is read", "fn f() regs 3 { TNEW r0, 0 LEND r1, r0 TLEN r2, r1 DROP r0 RET }");
    breaks("but not behind its owner's end", "fn f() regs 3 { TNEW r0, 0 LEND r1, r0 DROP r0 TLEN r2, r1 RET }",
           WRONG(3, "TLEN: r1 is empty, not a Text"));
    breaks("nor when the owner has moved",
           "fn f() regs 4 { TNEW r0, 0 LEND r1, r0 MOVE r3, r0 TLEN r2, r1 DROP r3 RET }",
           WRONG(3, "TLEN: r1 is empty, not a Text"));
    breaks("nor when the owner has another value",
           "fn f() regs 4 { TNEW r0, 0 LEND r1, r0 TNEW r3, 0 SET r0, r3 TLEN r2, r1 DROP r0 RET }",
           WRONG(4, "TLEN: r1 is empty, not a Text"));
    breaks("nor when the owner was changed",
           "fn f(t: Text) regs 4 { TNEW r1, 0 LEND r2, r1 APPEND r1, r0 TLEN r3, r2 DROP r1 RET }",
           WRONG(3, "TLEN: r2 is empty, not a Text"));
    breaks("a field of a record that was changed",
           "fn f(own p: P) regs 4 { LENDF r1, r0, 1 LOADI r2, 1 SETW r0, 0, r2 TLEN r3, r1 DROP r0 RET }",
           WRONG(3, "TLEN: r1 is empty, not a Text"));
    breaks("a lent field of a lent field",
           "fn f(own ps: List[P]) regs 5 { LOADI r1, 0 LLEND r2, r0, r1 LENDF r3, r2, 1 DROP r0 TLEN r4, r3 RET }",
           WRONG(4, "TLEN: r3 is empty, not a Text"));
    keeps("is lent as long as the whole",
          "fn f(own ps: List[P]) regs 5 { LOADI r1, 0 LLEND r2, r0, r1 LENDF r3, r2, 1 LOADI r2, 0 TLEN r4, r3 "
          "DROP r0 RET }");
    breaks("two lenders on two ways",
           "fn f(x: Int, own a: Text, own b: Text) regs 5 { JT r0, two LEND r3, r1 JMP on two: LEND r3, r2 "
           "on: TLEN r4, r3 DROP r1 DROP r2 RET }",
           WRONG(4, "TLEN: r3 is empty, not a Text"));
    breaks("what is appended is not what it is appended to",
           "fn f(own t: Text) regs 2 { APPEND r0, r0 DROP r0 RET }",
           WRONG(0, "APPEND: r0 is what is changed, and an operand, too"));
    breaks("nor lent from it", "fn f(own t: Text) regs 2 { LEND r1, r0 APPEND r0, r1 DROP r0 RET }",
           WRONG(1, "APPEND: r1 is empty, not a Text"));
    breaks("a key that is lent from the map that changes",
           "fn f(own m: Map[Text, Text]) regs 4 { CONSTT r1, \"a\" MLEND r1, r0, r1 TNEW r2, 0 MSET r0, r1, r2 "
           "DROP r0 RET }",
           WRONG(3, "MSET: r1 is empty, not Text"));
    breaks("a key that is the value, too",
           "fn f(mut m: Map[Text, Text], own k: Text) regs 3 { MSET r0, r1, r1 RET }",
           WRONG(0, "MSET: r1 is what is changed, and an operand, too"));
    breaks("a key that is lent from the value",
           "fn f(mut m: Map[Text, P], own p: P) regs 3 { LENDF r2, r1, 1 MSET r0, r2, r1 RET }",
           WRONG(1, "MSET: r1 is what is changed, and an operand, too"));
    breaks("a lent value is not stored", "fn f(mut xs: List[Text], t: Text) regs 2 { LPUSH r0, r1 RET }",
           WRONG(0, "LPUSH: r1 is lent Text, and is to give up Text"));
    breaks("a lent list is not changed", "fn f(xs: List[Int], x: Int) regs 2 { LPUSHW r0, r1 RET }",
           WRONG(0, "LPUSHW: r0 is lent List[Int], and a list of its own is to be changed"));
}

static void nulls(void)
{
    keeps("an optional is looked at first",
          "fn f(t: Text?) regs 2 { JNULL r0, none TLEN r1, r0 none: RET }");
    breaks("and not read before", "fn f(t: Text?) regs 2 { TLEN r1, r0 RET }",
           WRONG(0, "TLEN: r0 is lent Text or null, not a Text"));
    breaks("nor on the wrong way", "fn f(t: Text?) regs 2 { JNNULL r0, some TLEN r1, r0 some: RET }",
           WRONG(1, "TLEN: r0 is null, not a Text"));
    keeps("or it traps", "fn f(t: Text?) regs 2 { NONNULL r0 TLEN r1, r0 RET }");
    keeps("nil is given for an optional",
          "fn g(own t: Text?) regs 1 { DROP r0 RET } fn f() regs 1 { NULL r0 CALL r0, g RET }");
    breaks("an optional is not given for a Text", "fn f(own t: Text?) regs 1 { CALL r0, takes RET }",
           WRONG(0, "CALL: r0 owns Text or null, and is to give up Text"));
    breaks("nor lent for one", "fn f(t: Text?) regs 2 { LEND r1, r0 CALL r1, lends RET }",
           WRONG(1, "CALL: r1 is lent Text or null, not Text"));
    breaks("not for a Text", "fn f() regs 1 { NULL r0 CALL r0, takes RET }",
           WRONG(1, "CALL: r0 is null, and is to give up Text"));
    keeps("an optional of a word has a tag",
          "fn f(own m: Map[Text, Int]) regs 4 { CONSTT r1, \"k\" MGETO r2, r0, r1 JF r2, none NEG r3, r3 none: "
          "DROP r0 RET }");
    keeps("one of a Text is null or not",
          "fn f(own m: Map[Text, Text]) regs 4 { CONSTT r1, \"k\" MGETO r2, r0, r1 DROP r2 DROP r0 RET }");
}

static void cells(void)
{
    keeps("a record takes its fields",
          "fn f() regs 3 { LOADI r0, 1 TNEW r1, 0 NEW r0, P, r0 GETW r1, r0, 0 DROP r0 RET }");
    breaks("of their types", "fn f() regs 3 { TNEW r1, 0 LOADI r0, 1 NEW r0, P, r1 DROP r0 RET }",
           WRONG(2, "NEW: r1 owns Text, and is to give up a word"));
    breaks("all of them", "fn f() regs 1 { LOADI r0, 1 NEW r0, P, r0 DROP r0 RET }",
           WRONG(1, "NEW: 2 registers from r0: there are 1"));
    breaks("a field that is not there", "fn f(p: P) regs 2 { GETW r1, r0, 2 RET }", WRONG(0, "GETW: slot 2 of 2"));
    breaks("a word that is a reference", "fn f(p: P) regs 2 { GETW r1, r0, 1 RET }", WRONG(0, "GETW: slot 1 is Text"));
    breaks("a reference that is a word", "fn f(p: P) regs 2 { LENDF r1, r0, 0 RET }",
           WRONG(0, "LENDF: slot 0 is a word"));
    breaks("a record of what is none", "fn f() regs 2 { LOADI r0, 1 NEW r0, Shape, r0 DROP r0 RET }",
           "function f, pc 1, line 0: NEW: type 13 is no record");
    keeps("a variant takes its payload",
          "fn f() regs 3 { CONSTW r0, 1.5 NEWV r1, Shape, r0, Circle GETPW r0, r1, 0, Circle DROP r1 RET }");
    breaks("a variant that is not there", "fn f(s: Shape) regs 2 { TAG r1, r0 JIS r0, out, 4 out: RET }",
           WRONG(1, "JIS: Shape has no variant 4"));
    breaks("a slot of another's payload", "fn f(s: Shape) regs 2 { GETPW r1, r0, 0, Named RET }",
           WRONG(0, "GETPW: slot 0 is Text"));
    keeps("a payload is moved out of a whole",
          "fn f(own s: Shape) regs 4 { JISNT r0, no, Held UNPACK r1, r0, Held LOADI r0, 0 DROP r1 RET no: DROP r0 "
          "RET }");
    breaks("and the whole is gone", "fn f(own s: Shape) regs 4 { UNPACK r1, r0, Named DROP r1 TAG r2, r0 RET }",
           WRONG(2, "TAG: r0 is empty, not a sum"));
    breaks("not out of a lent one", "fn f(s: Shape) regs 4 { UNPACK r1, r0, Named DROP r1 RET }",
           WRONG(0, "UNPACK: r0 is lent Shape, and is to give up Shape"));
    breaks("an enum is a word", "fn f(c: Color) regs 2 { TAG r1, r0 RET }", WRONG(0, "TAG: r0 is a word, not a sum"));
}

static void places(void)
{
    keeps("a place is walked and used",
          "fn f(mut ps: List[P], i: Int) regs 5 { PREG r2, r0 PIDX r2, 0, r1 PFLD r2, 0, 0 PLDW r3, r2, 0 "
          "ADDI r3, r3, 1 PSTW r2, 0, r3 RET }");
    breaks("but not over what does not keep it",
           "fn f(mut ps: List[P], i: Int) regs 5 { PREG r2, r0 PIDX r2, 0, r1 YIELD PFLD r2, 0, 0 RET }",
           WRONG(3, "PFLD: r2 is empty, not a place"));
    breaks("nor over a branch",
           "fn f(mut ps: List[P], i: Int) regs 5 { PREG r2, r0 JT r1, on on: PIDX r2, 0, r1 RET }",
           WRONG(2, "PIDX: r2 is empty, not a place"));
    breaks("a place in what is lent", "fn f(ps: List[P], i: Int) regs 5 { PREG r2, r0 RET }",
           WRONG(0, "PREG: r0 is lent List[P], and a place is to be in it"));
    breaks("what is lent from the register is gone",
           "fn f(mut p: P) regs 5 { LENDF r1, r0, 1 PREG r2, r0 PFLD r2, 0, 1 TLEN r3, r1 RET }",
           WRONG(3, "TLEN: r1 is empty, not a Text"));
    breaks("one place in a register at a time",
           "fn f(mut p: P) regs 5 { PREG r1, r0 PREG r2, r0 PFLD r1, 0, 1 RET }",
           WRONG(2, "PFLD: r1 is empty, not a place"));
    breaks("a list is not a record", "fn f(mut ps: List[P]) regs 5 { PREG r2, r0 PFLD r2, 0, 0 RET }",
           WRONG(1, "PFLD: slot 0 is List[P]"));
    breaks("a field that is not there", "fn f(mut p: P) regs 5 { PREG r2, r0 PFLD r2, 0, 2 RET }",
           WRONG(1, "PFLD: slot 2 of 2"));
    breaks("beyond the cell", "fn f(mut p: P) regs 5 { PREG r2, r0 PFLD r2, 0, 1 PLDW r3, r2, 1 RET }",
           WRONG(2, "PLDW: slot 1 of 1"));
    keeps("a field is taken and put back",
          "fn f(mut p: P) regs 5 { PREG r1, r0 PFLD r1, 0, 1 PTAKE r2, r1, 0 PSTR r1, 0, r2 RET }");
    breaks("a register's value is not taken by its place",
           "fn f(mut p: P) regs 5 { PREG r1, r0 PTAKE r2, r1, 0 DROP r2 RET }",
           WRONG(1, "PTAKE: r1 is a register's place: that is moved with MOVE"));
    breaks("a value is not stored into itself",
           "fn f(own t: Text) regs 5 { PREG r1, r0 PSTR r1, 0, r0 RET }",
           WRONG(1, "PSTR: r0 is what is changed, and an operand, too"));
    breaks("what was stored is gone",
           "fn f(mut p: P, own t: Text) regs 5 { PREG r2, r0 PFLD r2, 0, 1 PSTR r2, 0, r1 TLEN r3, r1 RET }",
           WRONG(3, "TLEN: r1 is empty, not a Text"));
}

/* Of a place the address is all that the interpreter has: the loader tells it where null is a value. */
static void noted(void)
{
    struct coir_load_error error;
    struct coir_program *p = load("record Q { a: Text, b: Text? } fn f(mut q: Q) regs 5 { PREG r1, r0 PFLD r1, 0, 0 "
        "PLDR r2, r1, 0 DROP r2 PREG r1, r0 PFLD r1, 0, 1 PLDR r2, r1, 0 PTAKE r3, r1, 0 DROP r3 DROP r2 RET }",
        &error);
    const struct coir_function *f = p ? asm_function(p, "f") : NULL;

    if (!OK(f != NULL, "fields with and without nil"))
        return;
    EQ(COIR_I_D(f->code[2]), 0, "a Text that is null is a hole");
    EQ(COIR_I_D(f->code[6]), 1, "a Text? that is null is nil");
    EQ(COIR_I_D(f->code[7]), 1, "also when it is taken");
    coir_program_free(p);
}

static void lists(void)
{
    keeps("a list is walked, its elements lent",
          "fn f(xs: List[Text]) regs 6 { LEND r1, r0 LOADI r2, 0 JMP next body: TLEN r4, r3 next: LNEXTL r3, r1, "
          "body RET }");
    breaks("the element is not there behind the loop",
           "fn f(xs: List[Text]) regs 6 { LEND r1, r0 LOADI r2, 0 JMP next body: TLEN r4, r3 next: LNEXTL r3, r1, body "
           "TLEN r4, r3 RET }",
           WRONG(5, "TLEN: r3 is empty, not a Text"));
    breaks("a copied element must be dropped in the turn",
           "fn f(xs: List[Text]) regs 6 { LEND r1, r0 LOADI r2, 0 JMP next body: next: LNEXT r3, r1, body RET }",
           WRONG(3, "LNEXT: goes to pc 3, where r3 is empty; here it owns Text"));
    breaks("the counter is not the element",
           "fn f(xs: List[Int]) regs 6 { LEND r1, r0 LOADI r2, 0 body: LNEXTW r2, r1, body RET }",
           WRONG(2, "LNEXTW: r2 is what is changed, and an operand, too"));
    breaks("a list that changes in its loop",
           "fn f(own xs: List[Text]) regs 6 { LEND r1, r0 LOADI r2, 0 body: LNEXTL r3, r1, body2 DROP r0 RET "
           "body2: TNEW r4, 0 LPUSH r0, r4 JMP body }",
           WRONG(2, "LNEXTL: r1 is empty, not a list"));
    breaks("elements of a word", "fn f(xs: List[Text], i: Int) regs 3 { LGETW r2, r0, r1 RET }",
           WRONG(0, "LGETW: the elements of List[Text] are not one word"));
    breaks("elements of one reference", "fn f(xs: List[(Int, Text)], i: Int) regs 3 { LGETR r2, r0, r1 DROP r2 RET }",
           WRONG(0, "LGETR: the elements of List[(Int, Text)] are not one reference"));
    keeps("elements of several slots", "fn f(xs: List[(Int, Text)], i: Int) regs 4 { LGET r2, r0, r1 DROP r3 RET }");
    breaks("what owns is not copied out of a list",
           "fn f(xs: List[net.Conn], i: Int) regs 3 { LGETR r2, r0, r1 DROP r2 RET }",
           WRONG(0, "LGETR: net.Conn has one owner, and cannot be copied"));
    keeps("a field of an element", "fn f(ps: List[P], i: Int) regs 3 { LFLDW r2, r0, r1, 0 RET }");
    breaks("of one that is no record", "fn f(ps: List[Int], i: Int) regs 3 { LFLDW r2, r0, r1, 0 RET }",
           WRONG(0, "LFLDW: the elements are no records"));
    breaks("a map's key has the map's type", "fn f(m: Map[Text, Int], k: Int) regs 3 { MGET r2, r0, r1 RET }",
           WRONG(0, "MGET: r1 is a word, not Text"));
    breaks("CMPV of what has no order", "fn f(a: P, b: P) regs 3 { CMPV r2, r0, r1, P RET }",
           WRONG(0, "CMPV: P cannot be compared"));
    breaks("EQV of what has one owner", "fn f(a: Holder, b: Holder) regs 3 { EQV r2, r0, r1, Holder RET }",
           WRONG(0, "EQV: Holder cannot be compared"));
    keeps("EQV of records", "fn f(a: P, b: P) regs 3 { EQV r2, r0, r1, P RET }");
    keeps("CMPV of tuples of texts",
          "fn f(a: (Text, Int), b: (Text, Int)) regs 5 { CMPV r4, r0, r2, (Text, Int) RET }");
}

static void calls(void)
{
    keeps("a word is given and one returned", "fn f() regs 2 { LOADI r1, 1 CALL r1, one NEG r1, r1 RET }");
    breaks("the window fits the registers", "fn f() regs 1 { LOADI r0, 1 CALL r0, both RET }",
           WRONG(1, "CALL: 2 registers from r0: there are 1"));
    breaks("an own argument is owned", "fn f(t: Text) regs 2 { LEND r1, r0 CALL r1, takes RET }",
           WRONG(1, "CALL: r1 is lent Text, and is to give up Text"));
    breaks("a lent one is not", "fn f() regs 2 { TNEW r1, 0 CALL r1, lends RET }",
           WRONG(1, "CALL: r1 owns Text, and the parameter is lent: LEND it into the window"));
    keeps("it is lent into the window", "fn f() regs 2 { TNEW r0, 0 LEND r1, r0 CALL r1, lends DROP r0 RET }");
    breaks("what the callee may drop lends nothing to it",
           "fn f() regs 3 { TNEW r2, 0 LEND r1, r2 CALL r1, both RET }",
           WRONG(2, "CALL: r1 is lent from r2, which the callee may drop"));
    breaks("what is owned behind the window", "fn f() regs 9 { TNEW r8, 0 LOADI r1, 1 CALL r1, one DROP r8 RET }",
           WRONG(2, "CALL: r8 owns Text, and lies where the callee's registers are"));
    breaks("a word behind it is gone", "fn f() regs 9 { LOADI r8, 0 LOADI r1, 1 CALL r1, one NEG r8, r8 RET }",
           WRONG(3, "NEG: r8 is empty, not a word"));
    keeps("a mut argument comes back",
          "fn f() regs 4 { NEWL r1, List[Int], r0, 0 LOADI r2, 5 CALL r1, grow NEG r2, r2 LLEN r3, r1 DROP r1 RET }");
    breaks("and must be dropped",
           "fn f() regs 4 { NEWL r1, List[Int], r0, 0 LOADI r2, 5 CALL r1, grow RET }",
           WRONG(3, "RET: r1 owns List[Int], and lies where the callee's registers are"));
    breaks("a result must be dropped", "fn f() regs 4 { CONSTT r0, \"a\" CALLN r0, dial RET }",
           WRONG(2, "RET: r0 owns net.Conn, and lies where the callee's registers are"));
    keeps("natives are called alike",
          "fn f() regs 4 { CONSTT r0, \"a\" CALLN r0, dial CALLN r0, close NEWL r1, List[Text], r0, 0 TNEW r2, 0 "
          "CALLN r1, push "
          "DROP r1 RET }");
    keeps("a closure takes what it captures",
          "fn f(t: Text) regs 5 { LOADI r1, 1 COPY r2, r0 CLOSURE r1, add, r1 LOADI r2, 2 CALLC r2, r1 DROP r1 RET }");
    breaks("which is not its function", "fn f() regs 5 { LOADI r1, 1 CALL r1, add RET }",
           WRONG(1, "CALL: add is the body of a closure, which is called by its value"));
    breaks("nor is a function a body", "fn f() regs 5 { LOADI r1, 1 CLOSURE r1, one, r1 DROP r1 RET }",
           WRONG(1, "CLOSURE: one is not the body of a closure"));
    breaks("the function value is not in the window",
           "fn f(own g: fn(Int) -> Int) regs 5 { LOADI r1, 1 MOVE r2, r0 CALLC r1, r2 DROP r2 RET }",
           WRONG(2, "CALLC: the function value r2 lies in the window"));
    breaks("nor lent from there",
           "record R { g: fn(own R) } fn f(own r: R) regs 5 { MOVE r2, r0 LENDF r1, r2, 0 CALLC r2, r1 RET }",
           WRONG(2, "CALLC: the function value r1 is lent from r2, in the window"));
    breaks("the closure's cell has a register",
           "fn f(g: fn(Int) -> Int) regs 2 { LOADI r1, 1 CALLC r1, r0 RET }",
           WRONG(1, "CALLC: 2 registers from r1: there are 2"));
    keeps("a closure copies itself",
          "fn g(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 5 { COPY r2, r1 DROP r2 RET } fn f() regs "
          "1 { RET }");
    breaks("a capture that is not there",
           "fn f(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 5 { GETW r2, r1, 1 RET }",
           WRONG(0, "GETW: slot 1 of 1"));
}

static void returns(void)
{
    keeps("a result stands at the front", "fn f() -> Text regs 2 { TNEW r0, 0 RET }");
    keeps("or is given", "fn f() -> Text regs 2 { TNEW r1, 0 RETV r1 }");
    breaks("it is owned", "fn f(t: Text) -> Text regs 2 { RET }",
           WRONG(0, "RET: r0 is lent Text, and is to give up Text"));
    breaks("it is there", "fn f() -> Int regs 2 { RET }", WRONG(0, "RET: r0 is empty, and is to give up a word"));
    breaks("it is of its type", "fn f() -> Text regs 2 { NEWL r0, List[Int], r0, 0 RET }",
           WRONG(1, "RET: r0 owns List[Int], and is to give up Text"));
    breaks("a mut parameter is whole at the end", "fn f(mut t: Text) regs 2 { DROP r0 RET }",
           WRONG(1, "RET: the frame may be left here, and r0, of a mut parameter, is empty"));
    breaks("and where a trap may come", "fn f(mut t: Text) regs 2 { MOVE r1, r0 YIELD MOVE r0, r1 RET }",
           WRONG(1, "YIELD: the frame may be left here, and r0, of a mut parameter, is null"));
    keeps("unless a pad puts it back",
          "fn f(mut t: Text) regs 3 { MOVE r1, r0 a: YIELD b: MOVE r0, r1 RET pad: MOVE r0, r1 TRAP r2 "
          ".cleanup a, b, pad, 2 }");
    breaks("a catch is no pad: who is stopped passes over it",
           "fn f(mut t: Text) regs 3 { MOVE r1, r0 a: YIELD b: MOVE r0, r1 RET pad: MOVE r0, r1 DROP r2 RET "
           ".catch a, b, pad, 2 }",
           WRONG(1, "YIELD: the frame may be left here, and r0, of a mut parameter, is null"));
    breaks("the code does not run out",
           "fn f() regs 2 { LOADI r0, 1 }", WRONG(0, "LOADI: the code goes on behind its end"));
    breaks("a result of several slots is not given by RETV", "fn f() -> (Int, Int) regs 2 { LOADI r0, 1 RETV r0 }",
           WRONG(1, "RETV: a result of 2 slots"));
}

static void handlers(void)
{
    keeps("a catch has the trap, and what it keeps",
          "fn f() regs 5 { TNEW r0, 0 a: TNEW r1, 0 DROP r1 b: DROP r0 RET pad: DROP r0 DROP r1 RET .catch a, b, "
          "pad, 1 }");
    breaks("the trap must be dropped",
           "fn f() regs 5 { TNEW r0, 0 a: YIELD b: DROP r0 RET pad: DROP r0 RET .catch a, b, pad, 1 }",
           WRONG(5, "RET: r1 owns Trap, and lies where the callee's registers are"));
    breaks("what is not kept is gone",
           "fn f() regs 5 { LOADI r3, 1 a: YIELD b: RET pad: DROP r1 NEG r3, r3 RET .catch a, b, pad, 1 }",
           WRONG(4, "NEG: r3 is empty, not a word"));
    breaks("what is kept is owned at every trap, or at none",
           "fn f() regs 5 { a: TNEW r0, 0 YIELD b: DROP r0 RET pad: DROP r0 DROP r1 RET .catch a, b, pad, 1 }",
           WRONG(1, "YIELD: goes to pc 4, where r0 is empty; here it owns Text"));
    breaks("what is kept, and may have moved",
           "fn f() regs 5 { TNEW r0, 0 a: YIELD MOVE r2, r0 YIELD b: DROP r2 RET pad: TLEN r3, r0 RET .catch a, "
           "b, pad, 1 }",
           WRONG(6, "TLEN: r0 owns Text or null, not a Text"));
    breaks("lent by what is not kept",
           "fn f() regs 5 { TNEW r3, 0 LEND r0, r3 a: YIELD b: DROP r3 RET pad: DROP r1 TLEN r2, r0 RET "
           ".catch a, b, pad, 1 }",
           WRONG(6, "TLEN: r0 is empty, not a Text"));
    breaks("a handler keeps mut parameters",
           "fn f(mut t: Text) regs 5 { a: YIELD b: RET pad: RET .catch a, b, pad, 0 }",
           "function f: handler 0 is of no known kind, or keeps what it cannot");
    keeps("what a callee took is not kept, what it was lent is",
          "fn f() regs 5 { TNEW r0, 0 TNEW r2, 0 LEND r1, r0 a: CALL r1, both b: DROP r0 RET pad: DROP r0 DROP r1 RET "
          ".catch a, b, pad, 1 }");
    keeps("what a native may have taken is kept as null, or not",
          "fn f() regs 4 { CONSTT r0, \"a\" CALLN r0, dial a: CALLN r0, close b: RET pad: DROP r0 DROP r1 RET "
          ".catch a, b, pad, 1 }");
    keeps("a mut argument is put back by a pad",
          "fn f(mut xs: List[Int]) -> Int regs 6 { MOVE r1, r0 LOADI r2, 1 a: CALL r1, grow b: MOVE r0, r1 MOVW "
          "r1, r2 RET "
          "pad: MOVE r0, r1 TRAP r2 .cleanup a, b, pad, 2 }");
}

static void fibers(void)
{
    keeps("a fiber takes its arguments",
          "fn f() regs 3 { TNEW r0, 0 SPAWN r0, takes, r0, Task[()] DROP r0 LOADI r1, 1 SPAWN r1, one, r1, "
          "Task[Int] any "
          "DROP r1 RET }");
    breaks("it is lent nothing", "fn f(t: Text) regs 3 { LEND r1, r0 SPAWN r1, lends, r1, Task[()] DROP r1 RET }",
           WRONG(1, "SPAWN: lends has a parameter that is not its own"));
    breaks("it has no mut ones",
           "fn f() regs 3 { NEWL r0, List[Int], r0, 0 LOADI r1, 1 SPAWN r1, grow, r0, Task[Int] DROP r1 RET }",
           WRONG(2, "SPAWN: grow has a parameter that is not its own"));
    breaks("its Task is of its result", "fn f() regs 3 { LOADI r0, 1 SPAWN r0, one, r0, Task[Text] DROP r0 RET }",
           "function f, pc 1, line 0: SPAWN: type 17 is not the Task of one");
    keeps("a group is waited for",
          "fn f() regs 4 { LOADI r0, 0 GROUP r1, r0 a: GROOM r1 LOADI r2, 1 GSPAWN r2, one, r2, Task[Int], r1 DROP r2 "
          "b: GWAIT r1 DROP r1 RET pad: GFAIL r1, r2 GWAIT r1 DROP r1 TRAP r2 .cleanup a, b, pad, 2 }");
    breaks("a group is dropped", "fn f() regs 4 { LOADI r0, 0 GROUP r1, r0 RET }",
           WRONG(2, "RET: r1 owns group, and lies where the callee's registers are"));
    breaks("a group is not copied", "fn f() regs 4 { LOADI r0, 0 GROUP r1, r0 COPY r2, r1 DROP r2 DROP r1 RET }",
           WRONG(2, "COPY: group has one owner, and cannot be copied"));
    breaks("nor given away", "fn f(g: group) regs 4 { RET }", "a value of type 7, which is of registers only");
    keeps("a within is closed by DROP",
          "fn f(d: Duration) regs 4 { WITHIN r1, r0 YIELD DROP r1 SHIELD r1 DROP r1 RET }");
    keeps("the arms of a select",
          "fn f(a: Chan[Text], b: Chan[Int], own t: Text, d: Duration) regs 8 { LOADI r4, 5 "
          "SELECT recv r0, r5, got send r1, r4, sent send r0, r2, moved after r3, late "
          "got: DROP r5 sent: late: DROP r2 RET moved: RET }");
    breaks("what is sent is gone on its way",
           "fn f(a: Chan[Text], own t: Text) regs 8 { SELECT send r0, r1, sent sent: DROP r1 RET }",
           WRONG(2, "DROP: r1 is empty, and is to be dropped"));
    breaks("and there on the others",
           "fn f(a: Chan[Text], own t: Text) regs 8 { SELECT else send r0, r1, sent RET sent: RET }",
           WRONG(2, "RET: r1 owns Text, and lies where the callee's registers are"));
    breaks("what was received is there on its way only",
           "fn f(a: Chan[Int]) regs 8 { SELECT else recv r0, r1, got NEG r2, r2 RET got: RET }",
           WRONG(2, "NEG: r2 is empty, not a word"));
    breaks("a select of nothing", "fn f() regs 1 { SELECT RET }", WRONG(0, "SELECT: no arms, and nothing else"));
    breaks("a trap is one", "fn f(t: Text) regs 1 { TRAP r0 }", WRONG(0, "TRAP: r0 is lent Text, not Trap"));
    keeps("a trap with a message", "fn f(t: Text) regs 1 { TRAPM r0, Assert }");
    breaks("of a code that there is", "fn f(t: Text) regs 1 { TRAPM r0, 14 }",
           "function f, pc 0, line 0: TRAPM: there is no trap of code 14");
}

static void globals(void)
{
    keeps("a global is lent", "fn f() regs 3 { GLOBAL r0, title TLEN r1, r0 GLOBAL r2, limit RET }");
    breaks("it is set by the init function", "fn f() regs 3 { LOADI r0, 1 GSET r0, limit RET }",
           WRONG(1, "GSET: globals are set in the init function only"));
    keeps("which there is once",
          "fn f() regs 3 { LOADI r0, 1 GSET r0, limit TNEW r0, 0 GSET r0, title RET } export init f");
    breaks("not twice", "fn f() regs 1 { RET } export init f export init f", "an init function: there is one already");
    breaks("a global owns no resource", "global c: net.Conn fn f() regs 1 { RET }", "global c owns a resource");
    breaks("main has no parameters but its arguments", "fn f(x: Int) regs 1 { RET } export main f",
           "f, started from outside, has parameters");
    keeps("which are texts", "fn f(args: List[Text]) -> Int regs 1 { LOADI r0, 0 RET } export main f");
    breaks("a test gives nothing", "fn f() -> Int regs 1 { LOADI r0, 0 RET } export test \"a b\" f",
           "f, started from outside, has a result");
    breaks("a map's key is a key",
           "fn f(m: Map[Float, Int]) regs 1 { RET }", "type 17: a map whose keys are of type 1");
    breaks("a closure captures no resource",
           "fn f(x: Int) -> Int of fn(Int) -> Int captures (c: net.Conn) regs 3 { RET "
           "}", "function f captures a resource");
    breaks("a body is called as its type says", "fn f(x: Int) -> Text of fn(Int) -> Int regs 3 { RET }",
           "function f is called otherwise than its function type");
}

/* The same program with the word of its first `LOADI r0, 24301` replaced: what no builder would write. */
static void patched(const char *name, const char *text, uint64_t word, const char *message)
{
    const uint64_t old = coir_instruction_wide(COIR_OP_LOADI, 0, 24301, 0);
    struct coir_load_error error;
    struct coir_program *p = NULL;
    void *bytes;
    size_t length;

    if (!OK(asm_image(text, &bytes, &length, &error) == 0, "%s: assembled", name))
        return;
    for (size_t i = 0; i + 8 <= length; i++) {
        if (memcmp((char *)bytes + i, &old, 8) == 0)
            memcpy((char *)bytes + i, &word, 8);
    }
    coir_program_load(bytes, length, NULL, &p, &error);
    STR_EQ(p ? "loaded" : error.text, message, "%s", name);
    coir_program_free(p);
    free(bytes);
}

static void operands(void)
{
    static const char plain[] = "fn f(t: Text, x: Int) regs 2 { LOADI r0, 24301 RET }";

    patched("a word that is right", plain, coir_instruction(COIR_OP_NEG, 1, 1, 0, 0), "loaded");
    patched("no such instruction", plain, 0xff, "function f, pc 0: there is no instruction 255");
    patched("operands that are not there are 0", plain, coir_instruction(COIR_OP_RET, 0, 0, 256, 0),
            WRONG(0, "RET: an operand that it has not is 256"));
    patched("D is one",
            plain, coir_instruction(COIR_OP_NEG, 1, 1, 0, 3), WRONG(0, "NEG: an operand that it has not is 3"));
    patched("no such register",
            plain, coir_instruction(COIR_OP_NEG, 1, 2, 0, 0), WRONG(0, "NEG: there is no register 2"));
    patched("no such function", plain, coir_instruction_wide(COIR_OP_CALL, 0, 1, 0),
            WRONG(0, "CALL: there is no function 1"));
    patched("no such import",
            plain, coir_instruction_wide(COIR_OP_CALLN, 0, 0, 0), WRONG(0, "CALLN: there is no import 0"));
    patched("no such constant", plain, coir_instruction_wide(COIR_OP_CONSTW, 0, 0, 0),
            WRONG(0, "CONSTW: there is no constant 0"));
    patched("no such global", plain, coir_instruction_wide(COIR_OP_GLOBAL, 0, 0, 0),
            WRONG(0, "GLOBAL: there is no slot of the globals 0"));
    patched("no such type",
            plain, coir_instruction(COIR_OP_NEW, 0, 10, 0, 0), WRONG(0, "NEW: there is no type of values 10"));
    patched("a type of registers only", plain, coir_instruction(COIR_OP_NEW, 0, COIR_INDEX_GROUP, 0, 0),
            WRONG(0, "NEW: there is no type of values 7"));
    patched("a further word by itself", plain, 0, WRONG(0, "EXT: a further word of no instruction at 0"));
    patched("a further word that is missing", plain, coir_instruction(COIR_OP_EQV, 1, 0, 0, 0),
            WRONG(0, "EQV: its further word is missing at 1"));
    patched("a further word behind the end", "fn f() regs 1 { JMP a a: LOADI r0, 24301 }",
            coir_instruction(COIR_OP_EQV, 0, 0, 0, 0), WRONG(1, "EQV: its further words are missing: 1"));
    patched("a branch into a further word", "fn f(t: Text) regs 2 { LOADI r0, 24301 EQV r1, r0, r0, Text RET }",
            coir_instruction_wide(COIR_OP_JMP, 0, 2, 0), WRONG(0, "JMP: it leads to no instruction: 2"));
    patched("a branch out of the code", plain, coir_instruction_wide(COIR_OP_JMP, 0, 2, 0),
            WRONG(0, "JMP: it leads to no instruction: 2"));
    patched("a branch before it", plain, coir_instruction_wide(COIR_OP_JMP, 0, UINT32_MAX, 0),
            WRONG(0, "JMP: it leads to no instruction: 4294967295"));
    breaks("a SWITCH without its JMPs", "fn f(x: Int) regs 2 { SWITCH r0, 2 JMP a a: RET }",
           WRONG(0, "SWITCH: JMPs that follow it are not 2"));
    keeps("a SWITCH with them", "fn f(x: Int) regs 2 { SWITCH r0, 2 JMP a JMP b a: RET b: RET }");
    breaks("whose ways must agree",
           "fn f(x: Int) regs 2 { SWITCH r0, 1 JMP a TNEW r1, 0 a: RET }",
           WRONG(2, "TNEW: goes to pc 3, where r1 is empty; here it owns Text"));
}

/* ---- natives ---- */

static const struct coir_native natives[] = {
    { "List.push", "fn push[T](mut self: List[T], own x: T)", NULL },
    { "List.get", "fn get[T](self: List[T], i: Int) -> T?", NULL },
    { "Map.insert", "fn insert[K: Key, V](mut self: Map[K, V], k: K, own v: V) -> V?", NULL },
    { "List.sort", "fn sort[T: Ord](mut self: List[T])", NULL },
    { "net.split", "fn split(own c: net.Conn) -> (net.Conn, List[(Int, Text?)])", NULL },
    { "swap", "fn swap[A, B](a: A, mut b: B) -> fn(A, own B) -> A?", NULL },
    { "odd", "gibberish", NULL },
};
static const struct coir_resource conn = { .name = "net.Conn", .size = 32 };

static const struct coir_native *find_native(const struct coir_library *l, const char *name)
{
    (void)l;
    for (size_t i = 0; i < sizeof natives / sizeof *natives; i++) {
        if (strcmp(natives[i].name, name) == 0)
            return &natives[i];
    }
    return NULL;
}

static const struct coir_resource *find_resource(const struct coir_library *l, const char *name)
{
    (void)l;
    return strcmp(name, conn.name) == 0 ? &conn : NULL;
}

static void import(const char *declarations, const char *message)
{
    static const struct coir_library library = { find_native, find_resource };
    struct coir_load_error error;
    struct coir_program *p = asm_load(declarations, &library, &error);

    STR_EQ(p ? "loaded" : error.text, message, "%s", declarations);
    coir_program_free(p);
}

#define PUSH "native List.push, fn push[T](mut self: List[T], own x: T): "

static void signatures(void)
{
    import("import f \"List.push\" (mut List[Text], own Text)", "loaded");
    import("import f \"List.push\" (mut List[(Int, Text?)], own (Int, Text?))", "loaded");
    import("import f \"List.push\" (mut List[Text], own Int)", PUSH "its parameters are others");
    import("import f \"List.push\" (mut List[Text], Text)", PUSH "its parameters are others");
    import("import f \"List.push\" (List[Text], own Text)", PUSH "its parameters are others");
    import("import f \"List.push\" (mut Map[Int, Text], own Text)", PUSH "its parameters are others");
    import("import f \"List.push\" (mut List[Text])", PUSH "its parameters are others");
    import("import f \"List.push\" (mut List[Text], own Text, Int)", PUSH "its parameters are others");
    import("import f \"List.push\" (mut List[Text], own Text) -> Int", PUSH "its result is another");
    import("import f \"List.pull\" (mut List[Text], own Text)", "there is no native List.pull");
    import("resource net.Conn import f \"List.push\" (mut List[net.Conn], own net.Conn)", "loaded");
    import("resource net.Conn import f \"List.get\" (List[net.Conn], Int) -> net.Conn?",
           "native List.get, fn get[T](self: List[T], i: Int) -> T?: it copies what has one owner");
    import("import f \"List.get\" (List[Text?], Int) -> Text??", "loaded");
    import("import f \"List.get\" (List[Text?], Int) -> Text?",
           "native List.get, fn get[T](self: List[T], i: Int) -> T?: its result is another");
    import("import f \"List.sort\" (mut List[(Float, Text)])", "loaded");
    import("record P { x: Int } import f \"List.sort\" (mut List[P])",
           "native List.sort, fn sort[T: Ord](mut self: List[T]): its parameters are others");
    import("import f \"Map.insert\" (mut Map[Text, Int], Text, own Int) -> Int?", "loaded");
    import("resource net.Conn import f \"net.split\" (own net.Conn) -> (net.Conn, List[(Int, Text?)])", "loaded");
    import("resource net.Conn import f \"net.split\" (own net.Conn) -> (net.Conn, List[(Int, Text)])",
           "native net.split, fn split(own c: net.Conn) -> (net.Conn, List[(Int, Text?)]): its result is another");
    import("import f \"swap\" (mut Int, Text) -> fn(Text, own Int) -> Text?", "loaded");
    import("import f \"swap\" (mut Int, Text) -> fn(Text, Int) -> Text?",
           "native swap, fn swap[A, B](a: A, mut b: B) -> fn(A, own B) -> A?: its result is another");
    import("import f \"odd\" ()", "native odd, gibberish: its signature cannot be read");
    import("resource net.Cat", "there is no resource net.Cat");
}

/* The drop map of a pc as text: "1 3"; "-" if there is none. */
static const char *map_of(const struct coir_function *f, uint32_t pc, bool inside)
{
    static char text[256];
    const struct coir_drop_map *m = coir_drop_map(f, pc, inside);
    size_t n = 0;

    if (!m)
        return "-";
    for (uint32_t i = 0; i < m->count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", i ? " " : "", f->drops[m->first + i]);
    return text;
}

static void maps(void)
{
    struct coir_load_error error;
    struct coir_program *p;
    const struct coir_function *g;

    breaks("mut parameters come first", "fn f(own a: Text, mut b: Text) regs 9 { RET }",
           "line 18: mut parameters come first");
    p = load("fn g(x: Int) regs 9 { TNEW r1, 0 COPY r2, r1 YIELD MOVE r3, r1 JT r0, over DROP r2 NULL r2 "  /* 0 to 6 */
        "over: YIELD MOVE r5, r3 LEND r6, r2 TNEW r4, 0 LOADI r7, 1 DROP r2 TNEW r2, 0 "                    /* to 13 */
        "NEWL r7, List[Int], r0, 0 LOADI r8, 1 CALL r7, grow DROP r7 MOVE r7, r5 CALL r7, takes "            /* to 19 */
        "DROP r4 DROP r2 RET }", &error);
    if (!OK(p != NULL, "a function with many owned registers"))
        NOTE("%s", error.text);
    g = p ? asm_function(p, "g") : NULL;
    if (!g)
        return;
    STR_EQ(map_of(g, 0, false), "-", "nothing is owned at the start");
    STR_EQ(map_of(g, 2, false), "1 2", "two texts");
    STR_EQ(map_of(g, 7, false), "2 3", "one that may have gone, and one that was moved");
    STR_EQ(map_of(g, 10, false), "2 5", "what is lent is not dropped");
    STR_EQ(map_of(g, 13, false), "4 5", "what was dropped is not, either");
    STR_EQ(map_of(g, 16, false), "2 4 5 7", "a mut argument before the call");
    STR_EQ(map_of(g, 16, true), "2 4 5 7", "and during it");
    STR_EQ(map_of(g, 19, false), "2 4 7", "an own argument before the call");
    STR_EQ(map_of(g, 19, true), "2 4", "and not during it");
    STR_EQ(map_of(g, 20, false), "-", "no trap, no map");
    coir_program_free(p);
    p = load("fn g(x: Int, own t: Text) regs 9 { MOVW r2, r0 again: TNEW r3, 0 DROP r3 ADDI r2, r2, -1 "
        "JT r2, again DROP r1 RET }", &error);
    g = p ? asm_function(p, "g") : NULL;
    if (!OK(g != NULL, "a loop"))
        return;
    STR_EQ(map_of(g, 0, false), "1", "the landing of a call has a map");
    STR_EQ(map_of(g, 1, false), "1", "and that of a back edge");
    coir_program_free(p);
    p = load("fn g(mut t: Text, own u: Text) regs 9 { TNEW r2, 0 again: JMP again }", &error);
    g = p ? asm_function(p, "g") : NULL;
    if (!OK(g != NULL, "a loop of one instruction"))
        return;
    STR_EQ(map_of(g, 0, false), "1", "a mut parameter is the caller's");
    STR_EQ(map_of(g, 1, false), "1 2", "a branch to itself lands");
    coir_program_free(p);
}

int main(void)
{
    words();
    owning();
    lending();
    nulls();
    cells();
    places();
    noted();
    lists();
    calls();
    returns();
    handlers();
    fibers();
    globals();
    operands();
    signatures();
    maps();
    return DONE();
}
