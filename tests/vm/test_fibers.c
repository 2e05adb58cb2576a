/* SPDX-License-Identifier: MIT */
/*
 * Traps caught and not, cleaning up, and fibers: spawned, joined, cancelled wherever they wait, in groups, under a
 * time; channels, select; who runs after whom; how a program ends, and what it says when nothing can wake.
 */
#include <signal.h>

#include "make.h"

/* ---- traps ---- */

static void caught(void)
{
    script("a catch",
           "fn bad(x: Int) -> Int regs 20 { LOADI r1, 0 .line 3 DIV r1, r0, r1 RET } "
           "fn main() regs 30 { .line 7 CONSTT r0, \"kept\" COPY r1, r0 from: CONSTT r0, \"gone\" COPY r5, r0 "
           "LOADI r10, 1 CALL r10, bad DROP r5 JMP out to: "
           "pad: LENDF r10, r2, 0 CALLN r10, say LENDF r10, r2, 1 CALLN r10, say LENDF r10, r2, 2 CALLN r10, say "
           "GETW r10, r2, 3 CALLN r10, note LENDF r3, r2, 5 LOADI r4, 1 LLEND r10, r3, r4 CALLN r10, say DROP r2 "
           "out: LEND r10, r1 CALLN r10, say DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "DivZero division by zero test.coir 3 main at test.coir:7 kept ", NULL);
    script("a cleanup",
           "fn f() regs 30 { CONSTT r0, \"c\" COPY r1, r0 from: LOADI r2, 0 DIV r2, r2, r2 to: DROP r1 RET "
           "pad: LEND r10, r1 CALLN r10, say DROP r1 TRAP r2 .cleanup from, to, pad, 2 } "
           "fn main() regs 30 { from: CALL r5, f to: RET pad: LENDF r10, r1, 0 CALLN r10, say DROP r1 RET "
           ".catch from, to, pad, 1 } export main main",
           0, "c DivZero ", NULL);
    script("raised again, unchanged",
           "fn f() regs 30 { from: CONSTT r2, \"x\" .line 4 TRAPM r2, Explicit to: pad: .line 9 TRAP r0 "
           ".catch from, to, pad, 0 } "
           "fn main() regs 30 { .line 1 CALL r5, f RET } export main main",
           2, "", "trap Explicit in f at test.coir:4: x\n    main at ");
    script("a trap in a catch goes to the outer",
           "fn main() regs 30 { outer: inner: CONSTT r2, \"x\" TRAPM r2, Explicit end: pad: LOADI r5, 0 MOD r5, r5, "
           "r5 "
           "outerend: DROP r3 RET last: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
           ".catch inner, end, pad, 3 .catch outer, outerend, last, 0 } export main main",
           0, "DivZero ", NULL);
    script("a report",
           "fn main() regs 30 { from: CONSTT r2, \"x\" .line 4 TRAPM r2, Explicit to: pad: REPORT r0 DROP r0 RET "
           ".catch from, to, pad, 0 } export main main",
           0, "", "trap Explicit in main at test.coir:4: x\n");
    script("what was done to a mut argument stays",
           "fn f(mut t: Text) regs 30 { CONSTT r1, \"b\" APPEND r0, r1 LOADI r2, 0 DIV r2, r2, r2 RET } "
           "fn main() regs 30 { CONSTT r0, \"a\" COPY r1, r0 MOVE r5, r1 from: CALL r5, f to: MOVE r1, r5 JMP out "
           "pad: DROP r6 MOVE r1, r5 out: LEND r10, r1 CALLN r10, say DROP r1 RET .catch from, to, pad, 6 } "
           "export main main",
           0, "ab ", NULL);
}

static void deep_calls(void)
{
    script("a recursion without end",
           "fn f(x: Int) -> Int regs 6 { .line 2 ADDI r1, r0, 1 CALL r1, f RETV r1 } "
           "fn main() regs 30 { .line 1 from: LOADI r1, 0 CALL r1, f to: RET pad: LENDF r10, r0, 0 CALLN r10, say "
           "LENDF r10, r0, 1 CALLN r10, say LENDF r1, r0, 5 LLEN r10, r1 CALLN r10, note DROP r0 RET "
           ".catch from, to, pad, 0 } export main main",
           0, "Stack more than 100000 calls inside each other 50 ", NULL);
    script("ninety thousand calls",
           "fn f(x: Int) -> Int regs 6 { JGTI r0, 0, more LOADI r1, 7 RETV r1 more: ADDI r1, r0, -1 CALL r1, f RETV "
           "r1 } "
           "fn main() regs 30 { LOADI r10, 90000 CALL r10, f CALLN r10, note RET } export main main",
           0, "7 ", NULL);
}

/* ---- tasks ---- */

static void tasks(void)
{
    script("joined",
           "import join \"Task.join\" (Task[Int]) -> Int "
           "fn f(own t: Text, own n: Int) -> Int regs 20 { LEND r10, r0 CALLN r10, say DROP r0 ADDI r0, r1, 1 RET } "
           "fn main() regs 30 { CONSTT r0, \"a\" COPY r1, r0 LOADI r2, 5 SPAWN r3, f, r1, Task[Int] LOADI r10, 0 "
           "CALLN r10, note LEND r10, r3 CALLN r10, join CALLN r10, note LEND r10, r3 CALLN r10, join CALLN r10, "
           "note "
           "DROP r3 RET } export main main",
           0, "0 a 6 6 ", NULL);
    script("joined for its trap",
           "import join \"Task.join\" (Task[()]) "
           "fn f() regs 20 { .line 4 CONSTT r0, \"x\" TRAPM r0, Explicit } "
           "fn main() regs 30 { SPAWN r1, f, r20, Task[()] from: LEND r10, r1 CALLN r10, join to: JMP out "
           "pad: LENDF r10, r2, 1 CALLN r10, say LENDF r3, r2, 5 LOADI r4, 0 LLEND r10, r3, r4 CALLN r10, say DROP "
           "r2 "
           "out: DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "x f at test.coir:4 ", NULL);
    script("nobody can join",
           "fn f() regs 20 { .line 4 CONSTT r0, \"x\" TRAPM r0, Explicit } "
           "fn main() regs 30 { SPAWN r1, f, r20, Task[()] DROP r1 LOADI r10, 1000000 CALLN r10, sleep LOADI r10, 1 "
           "CALLN r10, note RET } export main main",
           0, "1 ", "trap Explicit in f at test.coir:4: x\n");
    script("cancelled",
           "import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
           "fn f() regs 20 { from: LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep to: RET "
           "pad: LENDF r10, r0, 0 CALLN r10, say from2: LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep "
           "to2: DROP r0 RET "
           "pad2: LENDF r10, r1, 0 CALLN r10, say DROP r1 DROP r0 RET "
           ".catch from, to, pad, 0 .catch from2, to2, pad2, 1 } "
           "fn main() regs 30 { SPAWN r1, f, r20, Task[()] YIELD LEND r10, r1 CALLN r10, cancel LEND r10, r1 "
           "CALLN r10, join DROP r1 LOADI r10, 7 CALLN r10, note RET } export main main",
           0, "Cancelled Cancelled 7 ", NULL);
}

/* Cancelled at every place where a fiber can wait, new and running too. */
static void cancelled_anywhere(void)
{
    static const struct { const char *name, *waits; } places[] = {
        { "sleep", "LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep" },
        { "recv", "LEND r10, r0 CALLN r10, recv DROP r10" },
        { "send", "CONSTT r3, \"s\" again: LEND r10, r0 COPY r11, r3 CALLN r10, send JMP again" },
        { "select", "SELECT recv r0, r4, got after r9, late got: DROP r4 late: NULL r4" },
        { "join", "SPAWN r4, forever, r20, Task[()] LEND r10, r4 CALLN r10, join DROP r4" },
        { "group", "LOADI r4, 0 GROUP r5, r4 GSPAWN r6, forever, r20, Task[()], r5 DROP r6 gf: GWAIT r5 gt: DROP r5" },
        { "room", "LOADI r4, 1 GROUP r5, r4 GSPAWN r6, forever, r20, Task[()], r5 DROP r6 GROOM r5 GWAIT r5 DROP r5" },
        { "spin", "LOADI r10, 2000000000 CALLN r10, spin" },
        { "loop", "top: JMP top" },
        { "yield", "top: YIELD JMP top" },
    };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (int yields = 0; yields < 3; yields++) {
            char text[3000], name[40];

            snprintf(name, sizeof name, "%s, after %d", places[i].name, yields);
            snprintf(text, sizeof text,
                     "import new \"chan\" (Int) -> Chan[Text] import recv \"Chan.recv\" (Chan[Text]) -> Text? "
                     "import send \"Chan.send\" (Chan[Text], own Text) "
                     "import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
                     "fn forever() regs 20 { LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep RET } "
                     "fn f(own c: Chan[Text]) regs 30 { LOADI r9, 2000000000 MULI r9, r9, 1000 CONSTT r2, \"held\" "
                     "COPY r1, r2 %s %s } "
                     "fn main() regs 30 { LOADI r10, 1 CALLN r10, new MOVE r0, r10 COPY r5, r0 "
                     "SPAWN r1, f, r5, Task[()] %s LEND r10, r1 CALLN r10, cancel "
                     "from: LEND r10, r1 CALLN r10, join to: DROP r0 DROP r1 RET "
                     "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 DROP r0 RET .catch from, to, pad, 2 } "
                     "export main main",
                     places[i].waits, strstr(places[i].waits, "JMP") ? "" : "DROP r1 DROP r0 RET",
                     yields == 0 ? "" : yields == 1 ? "YIELD" : "YIELD YIELD YIELD");
            script(name, text, 0, "Cancelled ", NULL);
        }
    }
}

/* ---- groups ---- */

#define CHANNELS \
    "import new \"chan\" (Int) -> Chan[Int] import recv \"Chan.recv\" (Chan[Int]) -> Int? " \
    "import put \"Chan.send\" (Chan[Int], own Int) import close \"Chan.close\" (Chan[Int]) " \
    "import queued \"Chan.len\" (Chan[Int]) -> Int import join \"Task.join\" (Task[()]) " \
    "import cancel \"Task.cancel\" (Task[()]) "
#define FOREVER "LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep "

static void groups(void)
{
    script("a group waits for its members",
           "fn f(own n: Int) regs 20 { YIELD YIELD MOVW r10, r0 CALLN r10, note RET } "
           "fn main() regs 30 { LOADI r0, 0 GROUP r1, r0 LOADI r3, 1 GSPAWN r2, f, r3, Task[()], r1 DROP r2 LOADI "
           "r3, 2 "
           "GSPAWN r2, f, r3, Task[()], r1 DROP r2 GWAIT r1 DROP r1 LOADI r10, 3 CALLN r10, note RET } export main "
           "main",
           0, "1 2 3 ", NULL);
    script("a member that fails cancels the others and the body",
           "fn bad() regs 20 { YIELD CONSTT r0, \"bad\" .line 4 TRAPM r0, Explicit } "
           "fn good() regs 20 { from: " FOREVER "to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
           ".catch from, to, pad, 0 } "
           "fn main() regs 30 { all: LOADI r0, 0 GROUP r1, r0 GSPAWN r2, good, r9, Task[()], r1 DROP r2 "
           "GSPAWN r2, bad, r9, Task[()], r1 DROP r2 from: LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, "
           "sleep to: JMP out "
           "pad: LENDF r10, r2, 0 CALLN r10, say GFAIL r1, r2 DROP r2 out: GWAIT r1 DROP r1 end: RET "
           "last: LENDF r10, r0, 1 CALLN r10, say DROP r0 RET .catch from, to, pad, 2 .catch all, end, last, 0 } "
           "export main main",
           0, "Cancelled Cancelled bad ", NULL);
    script("a limit",
           "fn f(own n: Int) regs 20 { MOVW r10, r0 CALLN r10, note LOADI r10, 1000000 CALLN r10, sleep MOVW r10, r0 "
           "CALLN r10, note RET } "
           "fn main() regs 30 { LOADI r0, 2 GROUP r1, r0 LOADI r3, 0 LOADI r4, 4 top: GROOM r1 ADDI r5, r3, 1 "
           "GSPAWN r2, f, r5, Task[()], r1 DROP r2 FORI r3, r4, top GWAIT r1 DROP r1 RET } export main main",
           0, "1 2 1 2 3 4 3 4 ", NULL);
    script("a group inside a time",
           "fn f() regs 20 { from: " FOREVER "to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
           ".catch from, to, pad, 0 } "
           "fn main() regs 30 { all: LOADI r0, 1000000 WITHIN r1, r0 LOADI r0, 0 GROUP r2, r0 "
           "GSPAWN r3, f, r9, Task[()], r2 DROP r3 GWAIT r2 DROP r2 DROP r1 end: RET "
           "last: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET .catch all, end, last, 0 } export main main",
           0, "Cancelled Timeout ", NULL);
    script("a group that is left in a trap cancels its members",
           "fn f() regs 20 { from: " FOREVER "to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET "
           ".catch from, to, pad, 0 } "
           "fn main() regs 30 { all: LOADI r0, 0 GROUP r2, r0 GSPAWN r3, f, r9, Task[()], r2 DROP r3 YIELD LOADI "
           "r4, 0 "
           "DIV r4, r4, r4 DROP r2 end: RET "
           "last: LENDF r10, r0, 0 CALLN r10, say DROP r0 LOADI r10, 1000000 CALLN r10, sleep RET "
           ".catch all, end, last, 0 } export main main",
           0, "DivZero Cancelled ", NULL);
}

static void times(void)
{
    script("raised again and again, and over with the within",
           "fn main() regs 30 { LOADI r0, 1000000 WITHIN r1, r0 from: " FOREVER "to: JMP out "
           "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 from2: " FOREVER "to2: JMP out "
           "pad2: LENDF r10, r2, 0 CALLN r10, say DROP r2 out: DROP r1 LOADI r10, 1000000 CALLN r10, sleep LOADI "
           "r10, 5 "
           "CALLN r10, note RET .catch from, to, pad, 2 .catch from2, to2, pad2, 2 } export main main",
           0, "Timeout Timeout 5 ", NULL);
    script("a loop that never parks",
           "fn main() regs 30 { LOADI r0, 1000000 WITHIN r1, r0 from: top: JMP top to: "
           "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "Timeout ", NULL);
    script("the outer first",
           "fn main() regs 30 { LOADI r0, 1000000 WITHIN r1, r0 all: LOADI r0, 2000000000 WITHIN r2, r0 from: "
           FOREVER
           "to: JMP out pad: LENDF r10, r3, 0 CALLN r10, say DROP r3 out: DROP r2 end: DROP r1 RET "
           ".catch from, to, pad, 3 } export main main",
           0, "Timeout ", NULL);
    script("none at all",
           "fn main() regs 30 { LOADI r0, 0 WITHIN r1, r0 LOADI r10, 1 CALLN r10, note from: " FOREVER "to: JMP out "
           "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 out: DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "1 Timeout ", NULL);
    script("a shield",
           "import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
           "fn f() regs 20 { SHIELD r1 LOADI r10, 1000000 CALLN r10, sleep LOADI r10, 1 CALLN r10, note DROP r1 "
           "from: " FOREVER "to: RET pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET .catch from, to, pad, 0 } "
           "fn main() regs 30 { SPAWN r1, f, r9, Task[()] YIELD LEND r10, r1 CALLN r10, cancel LEND r10, r1 "
           "CALLN r10, join DROP r1 RET } export main main",
           0, "1 Cancelled ", NULL);
    script("a time inside a shield",
           "import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
           "fn f() regs 20 { SHIELD r1 LOADI r0, 1000000 WITHIN r2, r0 from: " FOREVER "to: JMP out "
           "pad: LENDF r10, r3, 0 CALLN r10, say DROP r3 out: DROP r2 DROP r1 RET .catch from, to, pad, 3 } "
           "fn main() regs 30 { SPAWN r1, f, r9, Task[()] YIELD LEND r10, r1 CALLN r10, cancel LEND r10, r1 "
           "CALLN r10, join DROP r1 RET } export main main",
           0, "Timeout ", NULL);
    script("two times inside a shield, cancelled from outside", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { SHIELD r1 LOADI r9, 1000000000 MULI r9, r9, 1000 WITHIN r2, r9 WITHIN "
           "r3, r9 "
           "LEND r10, r0 CALLN r10, recv MOVW r10, r11 CALLN r10, note DROP r3 DROP r2 DROP r1 DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] YIELD "
           "YIELD YIELD LEND r10, r2 CALLN r10, cancel LOADI r10, 1000000 CALLN r10, sleep LEND r10, r0 LOADI r11, 8 "
           "CALLN r10, put LEND r10, r2 CALLN r10, join DROP r2 DROP r0 RET } export main main",
           0, "8 ", NULL);
}

/* ---- channels ---- */

static void channels(void)
{
    script("of two", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { LOADI r1, 0 LOADI r2, 5 top: LEND r10, r0 MOVW r11, r1 CALLN r10, put "
           "FORI r1, r2, top LEND r10, r0 CALLN r10, close DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 2 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] DROP "
           "r2 "
           "YIELD YIELD YIELD YIELD YIELD YIELD LEND r10, r0 CALLN r10, queued CALLN r10, note "
           "top: LEND r10, r0 CALLN r10, recv JF r10, out MOVW r10, r11 CALLN r10, note JMP top out: DROP r0 RET } "
           "export main main",
           0, "2 0 1 2 3 4 ", NULL);
    script("of none", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { LOADI r10, 1 CALLN r10, note LEND r10, r0 LOADI r11, 7 CALLN r10, put "
           "LOADI r10, 3 CALLN r10, note DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] "
           "YIELD YIELD "
           "YIELD LOADI r10, 2 CALLN r10, note LEND r10, r0 CALLN r10, recv MOVW r10, r11 CALLN r10, note LEND r10, "
           "r2 "
           "CALLN r10, join DROP r2 DROP r0 RET } export main main",
           0, "1 2 7 3 ", NULL);
    script("closed", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { from: LEND r10, r0 LOADI r11, 7 CALLN r10, put to: DROP r0 RET "
           "pad: LENDF r10, r1, 0 CALLN r10, say DROP r1 DROP r0 RET .catch from, to, pad, 1 } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] "
           "YIELD YIELD "
           "YIELD LEND r10, r0 CALLN r10, close LEND r10, r0 CALLN r10, close LEND r10, r2 CALLN r10, join DROP r2 "
           "LEND r10, r0 CALLN r10, recv CALLN r10, note .line 9 LEND r10, r0 LOADI r11, 1 CALLN r10, put DROP r0 "
           "RET } "
           "export main main",
           2, "Closed 0 ", "trap Closed in main at test.coir:9: the channel is closed\n");
    script("of less than none", CHANNELS
           "fn main() regs 30 { LOADI r10, -1 .line 3 CALLN r10, new DROP r10 RET } export main main",
           2, "", "trap Bounds in main at test.coir:3: a channel with room for -1\n");
    script("what is left in it is dropped",
           "import new \"chan\" (Int) -> Chan[Text] import put \"Chan.send\" (Chan[Text], own Text) "
           "fn main() regs 30 { LOADI r10, 4 CALLN r10, new MOVE r0, r10 CONSTT r1, \"a\" TCAT r2, r1, r1 LEND r10, "
           "r0 "
           "MOVE r11, r2 CALLN r10, put TCAT r2, r1, r1 LEND r10, r0 MOVE r11, r2 CALLN r10, put DROP r0 RET } "
           "export main main",
           0, "", NULL);
    script("texts come through",
           "import new \"chan\" (Int) -> Chan[Text] import put \"Chan.send\" (Chan[Text], own Text) "
           "import recv \"Chan.recv\" (Chan[Text]) -> Text? "
           "fn f(own c: Chan[Text]) regs 30 { CONSTT r1, \"a\" TCAT r2, r1, r1 LEND r10, r0 MOVE r11, r2 CALLN r10, "
           "put "
           "DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] DROP "
           "r2 "
           "LEND r10, r0 CALLN r10, recv MOVE r3, r10 JNULL r3, out LEND r10, r3 CALLN r10, say out: DROP r3 DROP "
           "r0 RET } "
           "export main main",
           0, "aa ", NULL);
}

static void selects(void)
{
    script("the first in the text", CHANNELS
           "fn main() regs 30 { LOADI r10, 1 CALLN r10, new MOVE r0, r10 LOADI r10, 1 CALLN r10, new MOVE r1, r10 "
           "LEND r10, r0 LOADI r11, 1 CALLN r10, put LEND r10, r1 LOADI r11, 2 CALLN r10, put "
           "SELECT recv r1, r4, b recv r0, r6, a a: LOADI r10, -1 CALLN r10, note JMP out "
           "b: MOVW r10, r4 CALLN r10, note MOVW r10, r5 CALLN r10, note out: DROP r0 DROP r1 RET } export main main",
           0, "1 2 ", NULL);
    script("else", CHANNELS
           "fn main() regs 30 { LOADI r10, 1 CALLN r10, new MOVE r0, r10 SELECT else recv r0, r4, a "
           "LOADI r10, 1 CALLN r10, note JMP out a: LOADI r10, -1 CALLN r10, note out: "
           "LOADI r6, 5 SELECT else send r0, r6, b LOADI r10, -2 CALLN r10, note b: LEND r10, r0 CALLN r10, queued "
           "CALLN r10, note DROP r0 RET } export main main",
           0, "1 1 ", NULL);
    script("after", CHANNELS
           "fn main() regs 30 { LOADI r10, 1 CALLN r10, new MOVE r0, r10 LOADI r7, 1000000 SELECT recv r0, r4, a "
           "after r7, late a: LOADI r10, -1 CALLN r10, note JMP out late: LOADI r10, 1 CALLN r10, note out: DROP r0 "
           "RET } "
           "export main main",
           0, "1 ", NULL);
    script("waits, and receives", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { LEND r10, r0 LOADI r11, 7 CALLN r10, put LEND r10, r0 CALLN r10, close "
           "DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] DROP "
           "r2 "
           "LOADI r3, 0 again: SELECT recv r0, r4, a a: MOVW r10, r4 CALLN r10, note JF r4, out MOVW r10, r5 "
           "CALLN r10, note JMP again out: DROP r0 RET } export main main",
           0, "1 7 0 ", NULL);
    script("sends to a closed one", CHANNELS
           "fn main() regs 30 { LOADI r10, 1 CALLN r10, new MOVE r0, r10 LEND r10, r0 CALLN r10, close LOADI r6, 5 "
           ".line 3 SELECT send r0, r6, b b: DROP r0 RET } export main main",
           2, "", "trap Closed in main at test.coir:3: the channel is closed\n");
}

/* ---- who runs after whom ---- */

static void turns(void)
{
    static const char text[] =
        "fn f(own n: Int) regs 20 { LOADI r1, 0 LOADI r2, 4 top: MOVW r10, r0 CALLN r10, note FORI r1, r2, top RET } "
        "fn main() regs 30 { LOADI r5, 1 SPAWN r1, f, r5, Task[()] LOADI r5, 2 SPAWN r2, f, r5, Task[()] LOADI r5, 3 "
        "SPAWN r3, f, r5, Task[()] DROP r1 DROP r2 DROP r3 LOADI r10, 10000000 CALLN r10, sleep RET } export main "
        "main";
    size_t len;
    void *image = assembled("turns", text, &len);
    struct coir_vm_options o = { .natives = test_tables, .reductions = 1 };

    EQ(run_image(image, len, &o), 0, "three loops in slices of one back edge");
    STR_EQ(said, "1 2 3 1 2 3 1 2 3 1 2 3 ", "take turns exactly");
    o.reductions = 2;
    run_image(image, len, &o);
    STR_EQ(said, "1 1 2 2 3 3 1 1 2 2 3 3 ", "in slices of two, twice each");
    o.reductions = 4000;
    run_image(image, len, &o);
    STR_EQ(said, "1 1 1 1 2 2 2 2 3 3 3 3 ", "and in long ones one after the other");
    free(image);
}

/* ---- how it ends ---- */

static void endings(void)
{
    script("the newest first, when main returns",
           "fn f(own n: Int) regs 20 { from: " FOREVER "to: RET pad: MOVW r10, r0 CALLN r10, note TRAP r1 "
           ".cleanup from, to, pad, 1 } "
           "fn main() regs 30 { LOADI r5, 1 SPAWN r1, f, r5, Task[()] LOADI r5, 2 SPAWN r2, f, r5, Task[()] LOADI "
           "r5, 3 "
           "SPAWN r3, f, r5, Task[()] DROP r1 DROP r2 DROP r3 LOADI r10, 1000000 CALLN r10, sleep RET } export main "
           "main",
           0, "3 2 1 ", NULL);
    script("catch arms do not run, cleaning up may park",
           "fn f() regs 20 { all: from: " FOREVER "to: RET pad: SHIELD r1 LOADI r10, 1000000 CALLN r10, sleep LOADI "
           "r10, 1 "
           "CALLN r10, note DROP r1 TRAP r0 end: catch: LOADI r10, 2 CALLN r10, note DROP r0 RET "
           ".cleanup from, to, pad, 0 .catch all, end, catch, 0 } "
           "fn main() regs 30 { SPAWN r1, f, r5, Task[()] DROP r1 LOADI r10, 1000000 CALLN r10, sleep RET } "
           "export main main",
           0, "1 ", NULL);
    script("main's number", "fn main() -> Int regs 20 { LOADI r0, 300 RET } export main main", 44, "", NULL);
    script("one that is ready when main returns",
           "fn f() regs 20 { LOADI r10, 1 CALLN r10, note RET } "
           "fn main() regs 30 { SPAWN r1, f, r5, Task[()] DROP r1 RET } export main main", 0, "1 ", NULL);
}

static void deadlocks(void)
{
    script("a channel that nobody sends to", CHANNELS
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 .line 6 LEND r10, r0 CALLN r10, recv DROP "
           "r0 RET } "
           "export main main",
           2, "", "trap Deadlock in main at test.coir:6: nothing in the program can wake any more\n");
    script("two that wait for each other", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { LEND r10, r0 CALLN r10, recv LOADI r10, 1 CALLN r10, note DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] "
           "from: LEND r10, r2 CALLN r10, join to: DROP r2 DROP r0 RET "
           "pad: LENDF r10, r3, 0 CALLN r10, say DROP r3 DROP r2 LEND r10, r0 LOADI r11, 5 CALLN r10, put DROP r0 "
           "LOADI r10, 1000000 CALLN r10, sleep RET .catch from, to, pad, 3 } export main main",
           0, "Deadlock 1 ", NULL);
    script("who sleeps is no deadlock", CHANNELS
           "fn f(own c: Chan[Int]) regs 20 { LOADI r10, 3000000 CALLN r10, sleep LEND r10, r0 LOADI r11, 5 CALLN "
           "r10, put "
           "DROP r0 RET } "
           "fn main() regs 30 { LOADI r10, 0 CALLN r10, new MOVE r0, r10 COPY r1, r0 SPAWN r2, f, r1, Task[()] DROP "
           "r2 "
           "LEND r10, r0 CALLN r10, recv MOVW r10, r11 CALLN r10, note DROP r0 RET } export main main",
           0, "5 ", NULL);
}

static enum coir_native_result raise_signal(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    (void)r;
    kill(getpid(), SIGTERM);
    return COIR_NATIVE_DONE;
}

static void signals(void)
{
    static const struct coir_native kills[] = { { "kill", "fn kill()", raise_signal } };
    static const struct coir_natives table = { kills, 1, NULL, 0 };
    static const struct coir_natives *const tables[] = { &test_table, &table, NULL };
    const struct coir_vm_options o = { .natives = tables, .signals = true };
    size_t len;
    void *image = assembled("signals",
        "import kill \"kill\" () "
        "fn f(own n: Int) regs 20 { from: " FOREVER "to: RET pad: MOVW r10, r0 CALLN r10, note TRAP r1 "
        ".cleanup from, to, pad, 1 } "
        "fn main() regs 30 { LOADI r5, 1 SPAWN r1, f, r5, Task[()] YIELD CALLN r10, kill LOADI r5, 2 CALL r5, f "
        "DROP r1 "
        "RET } export main main", &len);

    EQ(run_image(image, len, &o), 128 + SIGTERM, "a signal ends the program");
    STR_EQ(said, "1 2 ", "and unwinds it, the newest first");
    STR_EQ(complaint, "", "without a word");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
}

int main(void)
{
    WITHOUT_CHANCE("fifo");
    caught();
    deep_calls();
    tasks();
    cancelled_anywhere();
    groups();
    times();
    channels();
    selects();
    turns();
    endings();
    deadlocks();
    signals();
    return DONE();
}
