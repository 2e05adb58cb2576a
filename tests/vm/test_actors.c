/* SPDX-License-Identifier: MIT */
/*
 * Actors, run: in which order what comes, what a full mailbox does, who is told what when one dies or ends, callers cut
 * wherever they wait.
 */
#include "meter.h"

/* In slices of one length only, as what comes after what depends on it. */
static void sliced(const char *name, uint32_t reductions, const char *text, const char *saying)
{
    const struct coir_vm_options o = { .reductions = reductions, .natives = test_tables, .seed = 1,
        .mailbox = mailbox };
    size_t len;
    void *image = assembled(name, text, &len);

    EQ(run_image(image, len, &o), 0, "%s ends (%u)", name, reductions);
    STR_EQ(said, saying, "%s says so", name);
    EQ(last.lives, 0, "%s leaves nothing", name);
    free(image);
}

static void life(void)
{
    script("messages in order, and a reply", METER
           MAIN(START SEND1(1, 0) SEND1(2, 0) ASK1(7, 2) "CALLN r10, note " SEND1(3, 0) ASK(1) "CALLN r10, note DROP "
           "r0 "),
           0, "7 70 6 ", NULL);
    script("a reply of two slots", METER
           MAIN(START SEND1(5, 0) "LEND r10, r0 TNEW r11, 1 CONSTT r12, \"hey\" APPEND r11, r12 MSG r10, 1, Meter, 5 "
                "MOVW r1, r10 MOVE r2, r11 LEND r10, r2 CALLN r10, say MOVW r10, r1 CALLN r10, note DROP r2 DROP r0 "),
           0, "hey 5 ", NULL);
    script("a reply that nobody wants is dropped", METER
           MAIN(START "LEND r10, r0 TNEW r11, 99 MSG r10, 0, Meter, 5 " ASK(1) "CALLN r10, note DROP r0 "),
           0, "0 ", NULL);
    script("of several callers the first comes first", METER
           MAIN(START AWAY(asker, 1) AWAY(asker, 2) AWAY(quiet, 3) AWAY(asker, 4) SETTLE "DROP r0 "),
           0, "1 2 3 4 ", NULL);
    script("what is sent is handled when the last handle is gone", METER
           MAIN(START SEND1(1, 2) SEND1(2, 2) SEND1(3, 2) "DROP r0 " SETTLE), 0, "1 2 3 ", NULL);
    script("a handle that the actor gives away", METER
           MAIN(START "LOADI r10, 1 CALLN r10, box MOVE r2, r10 LEND r10, r0 COPY r11, r2 MSG r10, 0, Meter, 8 DROP r0 "
                "LEND r10, r2 CALLN r10, unbox MOVE r0, r10 NONNULL r0 " ASK1(8, 2) "CALLN r10, note DROP r0 DROP r2 "),
           0, "8 80 ", NULL);
    script("an actor calls another", METER
           MAIN(START "MOVE r2, r0 " START "LEND r10, r0 COPY r11, r2 MSG r10, 1, Meter, 7 CALLN r10, note DROP r2 "
                "DROP r0 "), 0, "4 40 ", NULL);
    script("handles are the same or not, and are written as their type", METER
           MAIN(START "MOVE r2, r0 " START "COPY r3, r0 EQV r10, r0, r3, Meter CALLN r10, note EQV r10, r0, r2, Meter "
                "CALLN r10, note TNEW r4, 1 FORMAT r4, r0, Meter, 0 LEND r10, r4 CALLN r10, say DROP r4 DROP r3 DROP "
                "r2 "
                "DROP r0 "), 0, "1 0 Meter ", NULL);
    script("a thousand of them", METER
           "fn main() regs 40 { LOADI r1, 0 LOADI r2, 1000 NEWL r3, List[Meter], r4, 0 top: " START
           SEND1(1, 0) "LPUSH r3, r0 FORI r1, r2, top LOADI r1, 0 LOADI r5, 0 more: LLEND r10, r3, r1 MSG r10, 1, "
           "Meter, "
           "1 ADD r5, r5, r10 FORI r1, r2, more MOVW r10, r5 CALLN r10, note DROP r3 RET } export main main",
           0, "1000 ", NULL);
}

/* The mailbox has room for one, then for two. */
static void room(void)
{
    mailbox = 1;
    script("a sender waits for room", METER
           MAIN(START HOLD SEND1(1, 2) AWAY(quiet, 2) FIBER(quiet, 3) SETTLE SAYS(0) LET_GO JOIN SETTLE "DROP r0 "
                DROP_HELD), 0, "0 9 1 2 3 ", NULL);
    script("a caller too, each in its turn", METER
           MAIN(START HOLD SEND1(1, 2) AWAY(asker, 2) AWAY(quiet, 3) FIBER(caller, 4) SETTLE SAYS(0) LET_GO JOIN
                "DROP r0 " DROP_HELD),
           0, "0 9 1 2 3 4 40 ", NULL);
    script("a thousand through one place", METER
           "fn main() regs 40 { " START "LOADI r1, 0 LOADI r2, 1000 top: LEND r10, r0 LOADI r11, 1 MSG r10, 0, Meter, "
           "0 "
           "FORI r1, r2, top " ASK(1) "CALLN r10, note DROP r0 RET } export main main",
           0, "1000 ", NULL);
    script("a call to itself", METER
           "actor Self of State { go: go } fn go(mut s: State, self: Self) regs 9 { LEND r3, r1 .line 5 "
           "MSG r3, 1, Self, 0 RET } "
           "fn main() regs 40 { LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Self from: LEND r10, r0 "
           ".line 6 MSG r10, 1, Self, 0 to: DROP r0 RET pad: LENDF r10, r1, 1 CALLN r10, say DROP r1 DROP r0 RET "
           ".catch from, to, pad, 1 } export main main",
           0, "actor Self is down: trap Deadlock in go at test.coir:5: actor Self calls itself ", NULL);
    script("sent to itself, while there is room", METER
           "actor Self of State { go: go, done: done } "
           "fn done(mut s: State, self: Self) regs 12 { LOADI r10, 1 CALLN r10, note RET } "
           "fn go(mut s: State, self: Self) regs 9 { LEND r3, r1 MSG r3, 0, Self, 1 LEND r3, r1 MSG r3, 0, Self, 1 RET "
           "} "
           "fn main() regs 40 { LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Self from: LEND r10, r0 "
           ".line 6 MSG r10, 1, Self, 0 to: DROP r0 RET pad: LENDF r10, r1, 1 CALLN r10, say DROP r1 DROP r0 RET "
           ".catch from, to, pad, 1 } export main main",
           0, "actor Self is down: trap Deadlock in go at test.coir:0: actor Self sends to itself, and its mailbox is "
           "full ",
           NULL);
    mailbox = 2;
    script("room for two", METER
           MAIN(START HOLD SEND1(1, 2) SEND1(2, 2) AWAY(quiet, 3) AWAY(quiet, 4) SETTLE SAYS(0) LET_GO SETTLE "DROP r0 "
                DROP_HELD), 0, "0 9 1 2 3 4 ", NULL);
    mailbox = 0;
    script("the usual room", METER
           "fn main() regs 40 { " START HOLD "LOADI r1, 0 LOADI r2, 1024 top: LEND r10, r0 LOADI r11, 1 "
           "MSG r10, 0, Meter, 0 FORI r1, r2, top " SAYS(5) AWAY(quiet, 7) SETTLE SAYS(6) LET_GO ASK(1)
           "CALLN r10, note DROP r0 " DROP_HELD "RET } export main main", 0, "5 6 9 7 1024 ", NULL);
}

/* To have come into a handler is a landing: it costs a reduction, and the slice may be over there. */
static void slices(void)
{
    static const char three[] = METER
        MAIN(START HOLD SEND1(1, 2) AWAY(sender, 2) AWAY(sender, 3) SETTLE SAYS(0) LET_GO SETTLE "DROP r0 " DROP_HELD),
        two[] = METER
        "actor Twin of State { go: go } fn go(mut s: State, self: Twin, n: Int) regs 12 { MOVW r10, r2 CALLN r10, note "
        "RET } "
        MAIN("LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Twin TNEW r31, 1 NEW r32, State, r30 "
        "SPAWN "
             "r1, 0, r32, Twin LEND r10, r0 LOADI r11, 1 MSG r10, 0, Twin, 0 LEND r10, r0 LOADI r11, 2 MSG r10, 0, "
             "Twin, 0 LEND r10, r1 LOADI r11, 3 MSG r10, 0, Twin, 0 LEND r10, r1 LOADI r11, 4 MSG r10, 0, Twin, 0 "
             SETTLE "DROP r1 DROP r0 ");

    mailbox = 1;
    sliced("who waits for room, in long slices", 4000, three, "0 9 1 2 3 102 103 ");
    sliced("in short ones", 1, three, "0 9 102 1 103 2 3 ");
    mailbox = 0;
    sliced("two actors, in long slices", 4000, two, "1 2 3 4 ");
    sliced("message about message", 1, two, "1 3 2 4 ");
}

/* Callers and senders that are cancelled, at each place where they can wait. */
static void cut(void)
{
    script("in the mailbox: its message stays", METER
           MAIN(START HOLD FIBER(caller, 1) SETTLE CANCEL JOIN SAYS(0) LET_GO SETTLE "DROP r0 " DROP_HELD),
           0, "Cancelled 0 9 1 ", NULL);
    script("while it is handled", METER
           "fn holder(own m: Meter, own c: Chan[Int], own d: Chan[Int]) regs 40 { from: LEND r10, r0 COPY r11, r1 "
           "COPY r12, r2 MSG r10, 1, Meter, 4 to: DROP r0 DROP r1 DROP r2 RET pad: LENDF r10, r3, 0 CALLN r10, say "
           "DROP r3 DROP r0 DROP r1 DROP r2 RET .catch from, to, pad, 3 } "
           MAIN(START "LOADI r10, 1 CALLN r10, new MOVE r5, r10 LOADI r10, 1 CALLN r10, new MOVE r6, r10 COPY r20, r0 "
                "COPY r21, r5 COPY r22, r6 SPAWN r1, holder, r20, Task[()] LEND r10, r5 CALLN r10, recv " CANCEL JOIN
                SAYS(0) LET_GO ASK1(3, 2) "CALLN r10, note DROP r0 " DROP_HELD),
           0, "Cancelled 0 9 3 30 ", NULL);
    script("who has been handed the reply takes it", METER
           "actor Quick of State { answer: answer } "
           "fn answer(mut s: State, self: Quick, own c: Chan[Int]) -> Int regs 20 { LEND r10, r2 LOADI r11, 1 "
           "CALLN r10, put DROP r2 LOADI r1, 42 RET } "
           "fn asks(own m: Quick, own c: Chan[Int]) regs 40 { from: LEND r10, r0 COPY r11, r1 MSG r10, 1, Quick, 0 "
           "CALLN r10, note " SETTLE "to: DROP r0 DROP r1 RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r0 "
           "DROP r1 RET .catch from, to, pad, 2 } "
           MAIN("LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Quick LOADI r10, 1 CALLN r10, new "
                "MOVE r5, r10 COPY r20, r0 COPY r21, r5 SPAWN r1, asks, r20, Task[()] LEND r10, r5 CALLN r10, recv "
                CANCEL JOIN "DROP r0 DROP r5 "), 0, "42 Cancelled ", NULL);
    mailbox = 1;
    script("waiting for room it takes its message back", METER
           MAIN(START HOLD SEND1(1, 2) FIBER(sender, 2) AWAY(quiet, 3) SETTLE CANCEL JOIN SAYS(0) LET_GO SETTLE
                "DROP r0 " DROP_HELD), 0, "Cancelled 0 9 1 3 ", NULL);
    script("a caller too", METER
           MAIN(START HOLD SEND1(1, 2) FIBER(caller, 2) AWAY(asker, 3) SETTLE CANCEL JOIN SAYS(0) LET_GO SETTLE
                "DROP r0 " DROP_HELD), 0, "Cancelled 0 9 1 3 ", NULL);
    script("what it has given up is closed once", METER
           "fn pins(own m: Meter) regs 40 { CALLN r12, pin MOVE r11, r12 LOADI r12, 5 from: LEND r10, r0 "
           "MSG r10, 0, Meter, 6 to: DROP r0 RET pad: LENDF r20, r13, 0 CALLN r20, say DROP r11 DROP r13 DROP r0 RET "
           ".catch from, to, pad, 13 } "
           MAIN(START HOLD SEND1(1, 2) "COPY r20, r0 SPAWN r1, pins, r20, Task[()] " SETTLE CANCEL JOIN LET_GO SETTLE
                "COPY r20, r0 SPAWN r1, pins, r20, Task[()] " JOIN SETTLE "DROP r0 " DROP_HELD),
           0, "Cancelled 9 1 5 ", NULL);
    mailbox = 0;
    script("cancelled before it calls: nothing is sent", METER
           "fn late(own m: Meter) regs 40 { a: LOADI r10, 2000000000 CALLN r10, sleep b: DROP r0 RET pad: DROP r2 "
           "from: LEND r10, r0 "
           "LOADI r11, 1 MSG r10, 1, Meter, 2 to: DROP r0 RET pad2: LENDF r10, r3, 0 CALLN r10, say DROP r3 "
           "LEND r10, r0 LOADI r11, 2 MSG r10, 0, Meter, 2 DROP r0 RET "
           ".catch a, b, pad, 2 .catch from, to, pad2, 3 } "
           MAIN(START "COPY r20, r0 SPAWN r1, late, r20, Task[()] " SETTLE CANCEL JOIN SETTLE "DROP r0 "),
           0, "Cancelled 2 ", NULL);
    script("a time that is over", METER
           "fn main() regs 40 { " START HOLD "LOADI r1, 1000000 WITHIN r7, r1 from: LEND r10, r0 LOADI r11, 1 "
           "MSG r10, 1, Meter, 2 to: JMP out pad: LENDF r10, r8, 0 CALLN r10, say DROP r8 out: DROP r7 " LET_GO
           ASK1(2, 2) "CALLN r10, note DROP r0 " DROP_HELD "RET .catch from, to, pad, 8 } export main main",
           0, "Timeout 9 1 2 20 ", NULL);
}

static void death(void)
{
    script("the caller of the message it dies of", METER
           MAIN_TRAPS(START, ASK1(1, 3)),
           0, "1 ActorDown actor Meter is down: trap Explicit in fail at test.coir:3: broken ", NULL);
    script("who calls afterwards, and who sends", METER
           "fn main() regs 40 { " START "a: " ASK1(1, 3) "b: DROP r0 RET pad: DROP r1 c: " ASK1(2, 2) "d: DROP r0 RET "
           "pad2: "
           "LENDF r10, r1, 1 CALLN r10, say DROP r1 e: " SEND1(2, 2) "f: DROP r0 RET pad3: LENDF r10, r1, 0 CALLN r10, "
           "say DROP r1 "
           "DROP r0 RET .catch a, b, pad, 1 .catch c, d, pad2, 1 .catch e, f, pad3, 1 } export main main",
           0, "1 actor Meter is down: trap Explicit in fail at test.coir:3: broken ActorDown ", NULL);
    script("those in the mailbox", METER
           MAIN(START HOLD SEND1(1, 3) AWAY(caller, 2) AWAY(sender, 3) AWAY(caller, 4) SETTLE LET_GO SETTLE "DROP r0 "
                DROP_HELD),
           0, "103 9 1 ActorDown ActorDown ", "trap Explicit in fail at test.coir:3: broken\n");
    mailbox = 1;
    script("those that wait for room", METER
           MAIN(START HOLD SEND1(1, 3) AWAY(caller, 2) AWAY(sender, 3) AWAY(sender, 4) SETTLE LET_GO SETTLE "DROP r0 "
                DROP_HELD),
           0, "9 1 ActorDown ActorDown ActorDown ", "trap Explicit in fail at test.coir:3: broken\n");
    mailbox = 0;
    script("of a message that nobody waits for it is told on stderr", METER
           MAIN(START SEND1(1, 3) "DROP r0 " SETTLE), 0, "1 ", "trap Explicit in fail at test.coir:3: broken\n");
    script("or whose caller was cut", METER
           MAIN(START HOLD AWAY(caller, 5) "LOADI r1, 1000000 WITHIN r7, r1 from: " ASK1(1, 3) "to: JMP out pad: DROP "
           "r8 "
                "out: DROP r7 " LET_GO SETTLE "DROP r0 " DROP_HELD "RET .catch from, to, pad, 8 "),
           0, "9 1 ActorDown ", "trap Explicit in fail at test.coir:3: broken\n");
    script("not if it is monitored", METER
           MAIN(START "LEND r10, r0 CALLN r10, watch MOVE r2, r10 " SEND1(1, 3) "LEND r10, r2 CALLN r10, death MOVE "
           "r3, "
                "r10 NONNULL r3 LENDF r10, r3, 1 CALLN r10, say DROP r3 LEND r10, r2 CALLN r10, death MOVE r3, r10 "
                "JNULL r3, none " SAYS(-1) "none: DROP r3 DROP r2 DROP r0 "), 0, "1 broken ", "");
    script("what it owned is closed", METER
           "record Holder { p: Pin } actor Keeper of Holder { fail: kfail, keep: keep } "
           "fn kfail(mut s: Holder, self: Keeper) regs 9 { CONSTT r3, \"x\" TRAPM r3, Explicit } "
           "fn keep(mut s: Holder, self: Keeper, own p: Pin) -> Pin regs 9 { RETV r2 } "
           "fn main() regs 40 { CALLN r1, pin NEW r2, Holder, r1 SPAWN r0, 0, r2, Keeper CALLN r12, pin MOVE r11, r12 "
           "LEND r10, r0 MSG r10, 1, Keeper, 1 MOVE r5, r10 LEND r10, r0 MSG r10, 0, Keeper, 0 CALLN r12, pin "
           "MOVE r11, r12 a: LEND r10, r0 MSG r10, 0, Keeper, 1 b: CALLN r12, pin MOVE r11, r12 c: LEND r10, r0 "
           "MSG r10, 1, Keeper, 1 d: DROP r10 DROP r5 DROP r0 RET pad: LENDF r20, r12, 0 CALLN r20, say DROP r11 "
           "DROP r12 DROP r5 DROP r0 RET .catch c, d, pad, 12 } export main main",
           0, "ActorDown ", "trap Explicit in kfail");
}

int main(void)
{
    WITHOUT_CHANCE("fifo");              /* what comes first is who was spawned first */
    life();
    room();
    slices();
    cut();
    death();
    return DONE();
}
