/* SPDX-License-Identifier: MIT */
/*
 * An actor in the assembler's words, for its tests. It notes what it does, so that a test can say what came after what.
 *
 *     0 add(n)                adds n to its sum
 *     1 read() -> Int         the sum
 *     2 tell(n) -> Int        notes n; 10 * n
 *     3 fail(n)               notes n, then traps
 *     4 hold(c, d)            says 1 to c, waits for a word from d, notes 9
 *     5 echo(t) -> (Int, Text)
 *     6 pinned(p, n)          notes n, drops p
 *     7 ring(m) -> Int        m's reply to tell(4)
 *     8 self(c)               gives itself to c
 */
#ifndef COIR_TESTS_VM_METER_H
#define COIR_TESTS_VM_METER_H

#include "make.h"

#define METER \
    "resource Pin record State { sum: Int, log: Text } " \
    "actor Meter of State { add: add, read: read, tell: tell, fail: fail, hold: hold, echo: echo, pinned: pinned, " \
    "ring: ring, self: self_to } " \
    "import pin \"pin\" () -> Pin import open \"pins\" () -> Int import close \"Chan.close\" (Chan[Trap]) " \
    "import new \"chan\" (Int) -> Chan[Int] import recv \"Chan.recv\" (Chan[Int]) -> Int? " \
    "import put \"Chan.send\" (Chan[Int], own Int) import join \"Task.join\" (Task[()]) " \
    "import cancel \"Task.cancel\" (Task[()]) " \
    "import box \"chan\" (Int) -> Chan[Meter] import unbox \"Chan.recv\" (Chan[Meter]) -> Meter? " \
    "import inbox \"Chan.send\" (Chan[Meter], own Meter) " \
    "import watch \"monitor\" (Meter) -> Chan[Trap] import death \"Chan.recv\" (Chan[Trap]) -> Trap? " \
    "fn add(mut s: State, self: Meter, n: Int) regs 5 { GETW r3, r0, 0 ADD r3, r3, r2 SETW r0, 0, r3 RET } " \
    "fn read(mut s: State, self: Meter) -> Int regs 3 { GETW r1, r0, 0 RET } " \
    "fn tell(mut s: State, self: Meter, own n: Int) -> Int regs 12 { .line 2 MOVW r10, r2 CALLN r10, note " \
    "MULI r1, r2, 10 RET } " \
    "fn fail(mut s: State, self: Meter, n: Int) regs 12 { MOVW r10, r2 CALLN r10, note CONSTT r3, \"broken\" .line 3 " \
    "TRAPM r3, Explicit } " \
    "fn hold(mut s: State, self: Meter, own c: Chan[Int], own d: Chan[Int]) regs 12 { LEND r10, r2 LOADI r11, 1 " \
    "CALLN r10, put LEND r10, r3 .line 4 CALLN r10, recv LOADI r10, 9 CALLN r10, note DROP r2 DROP r3 RET } " \
    "fn echo(mut s: State, self: Meter, own t: Text) -> (Int, Text) regs 5 { GETW r1, r0, 0 RET } " \
    "fn pinned(mut s: State, self: Meter, own p: Pin, own n: Int) regs 12 { MOVW r10, r3 CALLN r10, note DROP r2 RET " \
    "} " \
    "fn ring(mut s: State, self: Meter, own m: Meter) -> Int regs 12 { LEND r10, r2 LOADI r11, 4 .line 7 MSG r10, 1, " \
    "Meter, 2 MOVW r1, r10 DROP r2 RET } " \
    "fn self_to(mut s: State, self: Meter, own c: Chan[Meter]) regs 12 { LEND r10, r2 COPY r11, r1 CALLN r10, inbox " \
    "DROP r2 RET } " \
    "fn caller(own m: Meter, own n: Int) regs 40 { from: LEND r10, r0 MOVW r11, r1 .line 20 MSG r10, 1, Meter, 2 to: " \
    "CALLN r10, note DROP r0 RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r0 RET .catch from, to, pad, 2 } " \
    "fn sender(own m: Meter, own n: Int) regs 40 { from: LEND r10, r0 MOVW r11, r1 .line 30 MSG r10, 0, Meter, 2 " \
    "ADDI r10, r1, 100 CALLN r10, note to: DROP r0 RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r0 RET " \
    ".catch from, to, pad, 2 } " \
    "fn quiet(own m: Meter, own n: Int) regs 40 { LEND r10, r0 MOVW r11, r1 MSG r10, 0, Meter, 2 DROP r0 RET } " \
    "fn asker(own m: Meter, own n: Int) regs 40 { LEND r10, r0 MOVW r11, r1 MSG r10, 1, Meter, 2 DROP r0 RET } "

/* r0 is a Meter. */
#define START "LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Meter "
/* Of r0; the reply lies in r10. */
#define ASK(message) "LEND r10, r0 MSG r10, 1, Meter, " #message " "
#define ASK1(n, message) "LEND r10, r0 LOADI r11, " #n " MSG r10, 1, Meter, " #message " "
#define SEND1(n, message) "LEND r10, r0 LOADI r11, " #n " MSG r10, 0, Meter, " #message " "
/* It is in `hold` when this is over, until LET_GO. r5 and r6 are the channels. */
#define HOLD \
    "LOADI r10, 1 CALLN r10, new MOVE r5, r10 LOADI r10, 1 CALLN r10, new MOVE r6, r10 LEND r10, r0 COPY r11, r5 " \
    "COPY r12, r6 MSG r10, 0, Meter, 4 LEND r10, r5 CALLN r10, recv "
#define LET_GO "LEND r10, r6 LOADI r11, 1 CALLN r10, put "
#define DROP_HELD "DROP r5 DROP r6 "
/* A fiber that calls or sends n, its Task in r1. */
#define FIBER(what, n) "COPY r20, r0 LOADI r21, " #n " SPAWN r1, " #what ", r20, Task[()] "
#define AWAY(what, n) "COPY r20, r0 LOADI r21, " #n " SPAWN r24, " #what ", r20, Task[()] DROP r24 "
/* Whoever is ready has had a turn, in slices of any length. */
#define SETTLE "LOADI r10, 1000000 CALLN r10, sleep "
#define JOIN "LEND r10, r1 CALLN r10, join DROP r1 "
#define CANCEL "LEND r10, r1 CALLN r10, cancel "
#define SAYS(n) "LOADI r10, " #n " CALLN r10, note "
#define MAIN(code) "fn main() regs 40 { " code "RET } export main main"
/* What traps in `code` is said: its code and message; r0 is dropped in both cases. */
#define MAIN_TRAPS(begins, code) \
    "fn main() regs 40 { " begins "from: " code "to: DROP r0 RET pad: LENDF r10, r1, 0 CALLN r10, say " \
    "LENDF r10, r1, 1 CALLN r10, say DROP r1 DROP r0 RET .catch from, to, pad, 1 } export main main"

#endif
