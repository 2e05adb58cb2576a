/* SPDX-License-Identifier: MIT */
/*
 * What the loader asks of actors: the form of their handlers, the state that SPAWN takes, the window of MSG. A text
 * that is right and one that breaks a rule, side by side; and how an actor is printed.
 */
#include "tap.h"
#include "vm/asm.h"
#include "vm/dis.h"

static const char head[] =
    "resource net.Conn\n"
    "record State { sum: Int, name: Text }\n"
    "record Other { x: Int }\n"
    "actor Meter of State { add: add, read: read, named: named, take: take, pair: pair }\n"
    "actor Idle of Other { }\n"
    "fn add(mut s: State, self: Meter, n: Int) regs 4 { RET }\n"
    "fn read(mut s: State, self: Meter) -> Int regs 4 { LOADI r1, 1 RET }\n"
    "fn named(mut s: State, self: Meter, own t: Text) -> Text regs 4 { RETV r2 }\n"
    "fn take(mut s: State, self: Meter, own c: net.Conn, own t: Text) regs 4 { DROP r2 DROP r3 RET }\n"
    "fn pair(mut s: State, self: Meter, own n: Int) -> (Int, Text) regs 4 { TNEW r2, 1 LOADI r1, 1 RET }\n";

static struct coir_program *load(const char *text, struct coir_load_error *error)
{
    static char whole[8192];

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

#define WRONG(pc, what) "function f, pc " #pc ", line 0: " what

static void handlers(void)
{
    static const char *const forms[] = {
        "fn h(s: State, self: A) regs 4 { RET }",
        "fn h(mut s: Other, self: A) regs 4 { RET }",
        "fn h(mut s: State) regs 4 { RET }",
        "fn h(mut s: State, own self: A) regs 4 { DROP r1 RET }",
        "fn h(mut s: State, self: Meter) regs 4 { RET }",
        "fn h(mut s: State, self: A, t: Text) regs 4 { RET }",
        "fn h(mut s: State, mut t: Int, self: A) regs 4 { RET }",
        "fn h() regs 4 { RET }",
        "fn h(mut s: State, self: A) -> Int of fn(mut State, A) -> Int regs 4 { LOADI r1, 1 RET }",
    };

    keeps("handlers of every form",
          "actor A of State { h: h } fn h(mut s: State, self: A, n: Int, own t: Text, own c: net.Conn, "
          "x: (Int, Float)) -> net.Conn regs 9 { DROP r3 RETV r4 }");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[300];

        snprintf(text, sizeof text, "actor A of State { h: h } %s", forms[i]);
        breaks(forms[i], text, "actor A: message h is no handler's");
    }
    breaks("a handler that gives its state away",
           "actor A of State { h: h } fn h(mut s: State, self: A) -> State regs 4 { MOVE r1, r0 RET }",
           "function h, pc 1, line 0: RET: the frame may be left here, and r0, of a mut parameter, is null");
    breaks("a handler that drops the actor",
           "actor A of State { h: h } fn h(mut s: State, self: A) regs 4 { DROP r1 RET }",
           "function h, pc 0, line 0: DROP: r1 is lent A, and is to be dropped");
}

static void spawned(void)
{
    keeps("an actor is spawned with its state", "fn f(own s: State) regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }");
    keeps("into the register of its state", "fn f(own s: State) regs 3 { SPAWN r0, 0, r0, Meter DROP r0 RET }");
    breaks("with no state", "fn f() regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }",
           WRONG(0, "SPAWN: r0 is empty, and is to give up State"));
    breaks("with another's", "fn f(own s: Other) regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }",
           WRONG(0, "SPAWN: r0 owns Other, and is to give up State"));
    breaks("with a state that is lent", "fn f(s: State) regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }",
           WRONG(0, "SPAWN: r0 is lent State, and is to give up State"));
    breaks("with a state that may be missing", "fn f(own s: State?) regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }",
           WRONG(0, "SPAWN: r0 owns State or null, and is to give up State"));
    breaks("running a function", "fn f(own s: State) regs 3 { SPAWN r1, f, r0, Meter DROP r1 RET }",
           WRONG(0, "SPAWN: an actor runs no function, and B is 5"));
    breaks("into a group",
           "fn f(own s: State) regs 5 { LOADI r1, 0 GROUP r2, r1 GSPAWN r3, f, r0, Meter, r2 DROP r3 GWAIT r2 DROP r2 "
           "RET }",
           WRONG(2, "GSPAWN: type 11 is not the Task of f"));
    keeps("a handle is copied, stored, compared",
          "fn f(m: Meter) regs 6 { COPY r1, r0 EQV r2, r0, r1, Meter LOADI r3, 0 NEWL r4, List[Meter], r1, 1 DROP r4 "
          "RET }");
    breaks("it has no order", "fn f(m: Meter) regs 6 { CMPV r2, r0, r0, Meter RET }",
           WRONG(0, "CMPV: Meter cannot be compared"));
    breaks("it is no key", "fn f() regs 2 { NEWM r0, Map[Meter, Int] DROP r0 RET }",
           "type 16: a map whose keys are of type 11");
}

static void messages(void)
{
    keeps("a message with words, sent", "fn f(m: Meter) regs 9 { LEND r3, r0 LOADI r4, 5 MSG r3, 0, Meter, 0 RET }");
    keeps("a reply", "fn f(m: Meter) -> Int regs 9 { LEND r3, r0 MSG r3, 1, Meter, 1 RETV r3 }");
    keeps("to itself, lent from the caller",
          "actor A of State { h: f } fn f(mut s: State, self: A) regs 9 { LEND r3, r1 MSG r3, 0, A, 0 RET }");
    breaks("who does not wait gets nothing", "fn f(m: Meter) -> Int regs 9 { LEND r3, r0 MSG r3, 0, Meter, 1 RETV r3 }",
           WRONG(3, "RETV: r3 is empty, and is to give up a word"));
    breaks("nor is the actor there afterwards",
           "fn f(m: Meter) regs 9 { LEND r3, r0 LOADI r4, 5 MSG r3, 0, Meter, 0 LOADI r4, 5 MSG r3, 0, Meter, 0 RET }",
           WRONG(5, "MSG: r3 is empty, not Meter"));
    keeps("a reply of several slots",
          "fn f(m: Meter) regs 9 { LEND r3, r0 LOADI r4, 5 MSG r3, 1, Meter, 4 NEG r5, r3 DROP r4 RET }");
    breaks("which must be dropped",
           "fn f(m: Meter) regs 9 { LEND r3, r0 LOADI r4, 5 MSG r3, 1, Meter, 4 RET }",
           WRONG(4, "RET: r4 owns Text, and lies where the callee's registers are"));
    breaks("a reply that the registers do not suffice for",
           "fn f(m: Meter) regs 4 { LEND r3, r0 MSG r3, 1, Meter, 4 RET }",
           WRONG(1, "MSG: 2 registers from r3: there are 4"));
    breaks("an argument is missing", "fn f(m: Meter) regs 9 { LEND r3, r0 MSG r3, 0, Meter, 0 RET }",
           WRONG(1, "MSG: r4 is empty, not a word"));
    breaks("an argument that is lent",
           "fn f(m: Meter, t: Text) regs 9 { LEND r3, r0 LEND r4, r1 MSG r3, 0, Meter, 2 RET }",
           WRONG(2, "MSG: r4 is lent Text, and is to give up Text"));
    keeps("arguments are given up",
          "fn f(m: Meter, own c: net.Conn) regs 9 { LEND r3, r0 MOVE r4, r1 TNEW r5, 1 MSG r3, 1, Meter, 3 RET }");
    breaks("and are the actor's then",
           "fn f(m: Meter) regs 9 { LEND r3, r0 TNEW r4, 1 MSG r3, 0, Meter, 2 DROP r4 RET }",
           WRONG(4, "DROP: r4 is empty, and is to be dropped"));
    breaks("what is given twice",
           "fn f(m: Meter, own c: net.Conn) regs 9 { LEND r3, r0 MSG r3, 1, Meter, 3 RET }",
           WRONG(1, "MSG: r4 is empty, and is to give up net.Conn"));
    breaks("another actor", "fn f(m: Idle) regs 9 { LEND r3, r0 MSG r3, 1, Meter, 1 RET }",
           WRONG(1, "MSG: r3 is lent Idle, not Meter"));
    breaks("an actor that is owned in the window", "fn f(own m: Meter) regs 9 { MSG r0, 1, Meter, 1 RET }",
           WRONG(0, "MSG: r0 owns Meter, and the parameter is lent: LEND it into the window"));
    breaks("an actor that the window lends",
           "fn f(own m: Meter) regs 9 { MOVE r5, r0 LEND r3, r5 MSG r3, 1, Meter, 1 DROP r5 RET }",
           WRONG(2, "MSG: r3 is lent from r5, which the callee may drop"));
    breaks("something else that is owned there",
           "fn f(m: Meter) regs 9 { LEND r3, r0 TNEW r7, 1 MSG r3, 1, Meter, 1 DROP r7 RET }",
           WRONG(2, "MSG: r7 owns Text, and lies where the callee's registers are"));
    breaks("a message that there is not", "fn f(m: Meter) regs 9 { LEND r3, r0 MSG r3, 1, Meter, 5 RET }",
           WRONG(1, "MSG: there is no message 5"));
    breaks("a type that is no actor", "fn f(m: Meter) regs 9 { LEND r3, r0 MSG r3, 1, Text, 0 RET }",
           WRONG(1, "MSG: there is no message 0"));
    breaks("neither waiting nor not", "fn f(m: Meter) regs 9 { LEND r3, r0 MSG r3, 2, Meter, 1 RET }",
           WRONG(1, "MSG: D is 2"));
    breaks("in a catch what was given may be gone",
           "fn f(m: Meter) regs 9 { LEND r3, r0 TNEW r4, 1 a: MSG r3, 0, Meter, 2 b: RET pad: TLEN r5, r4 DROP r4 "
           "DROP r6 RET .catch a, b, pad, 6 }",
           WRONG(5, "TLEN: r4 owns Text or null, not a Text"));
    keeps("and is dropped there",
          "fn f(m: Meter) regs 9 { LEND r3, r0 TNEW r4, 1 a: MSG r3, 0, Meter, 2 b: RET pad: DROP r4 DROP r6 RET "
          ".catch a, b, pad, 6 }");
    breaks("a state that is not there while it sends",
           "actor A of State { h: f } fn f(mut s: State, self: A) regs 9 { MOVE r2, r0 LEND r3, r1 MSG r3, 0, A, 0 "
           "MOVE r0, r2 RET }",
           WRONG(2, "MSG: the frame may be left here, and r0, of a mut parameter, is null"));
}

static void printed(void)
{
    struct coir_load_error error;
    struct coir_program *p = load("fn f(own m: Meter) regs 9 { LEND r3, r0 MSG r3, 1, Meter, 1 DROP r0 RET } "
                                  "fn g(own s: State) regs 3 { SPAWN r1, 0, r0, Meter DROP r1 RET }", &error);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!OK(p && to && coir_dis(p, 0, to) == 0, "disassembled"))
        return;
    fclose(to);
    OK(strstr(text, "actor Meter of State { add: add, read: read, named: named, take: take, pair: pair }\n"),
       "the declaration of an actor");
    OK(strstr(text, "actor Idle of Other {  }\n"), "of one without messages");
    OK(strstr(text, "    MSG      r3, 1, Meter, 1    # read "), "a message");
    OK(strstr(text, "    SPAWN    r1, 0, r0, Meter "), "an actor that is spawned");
    free(text);
    coir_program_free(p);
}

int main(void)
{
    handlers();
    spawned();
    messages();
    printed();
    return DONE();
}
