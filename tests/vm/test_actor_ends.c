/* SPDX-License-Identifier: MIT */
/*
 * Actors at their end: when nobody holds them, when the program stops, at whatever moment, when nothing can wake, when
 * there is no memory; and who is told of it.
 */
#include "meter.h"

/* The channel of a monitor in r2: what comes of it, or "closed" as -1. */
#define WATCH "LEND r10, r0 CALLN r10, watch MOVE r2, r10 "
#define LEARN(label) \
    "LEND r10, r2 CALLN r10, death MOVE r3, r10 JNULL r3, " #label " LENDF r10, r3, 1 CALLN r10, say JMP " #label "2 " \
    #label ": " SAYS(-1) #label "2: DROP r3 "

/* An actor with a Pin in its state. */
#define KEEPER \
    "record Holder { p: Pin } actor Keeper of Holder { keep: keep, swap: swap } " \
    "fn keep(mut s: Holder, self: Keeper) regs 9 { RET } " \
    "fn swap(mut s: Holder, self: Keeper, own p: Pin) -> Pin regs 9 { PREG r3, r0 PFLD r3, 0, 0 PTAKE r4, r3, 0 " \
    "PSTR r3, 0, r2 RETV r4 } "
#define START_KEEPER "CALLN r30, pin NEW r32, Holder, r30 SPAWN r0, 0, r32, Keeper "
#define PINS "CALLN r10, open CALLN r10, note "

static void ends(void)
{
    script("without handles it ends, and its state is closed", METER KEEPER
           MAIN(START_KEEPER PINS "DROP r0 " SETTLE PINS), 0, "1 0 ", NULL);
    script("not before its messages are handled", METER
           MAIN(START HOLD WATCH SEND1(5, 2) "DROP r0 " SETTLE SAYS(0) LET_GO LEARN(none) "DROP r2 " DROP_HELD),
           0, "0 9 5 -1 ", NULL);
    script("nor while somebody waits for room", METER
           MAIN(START HOLD SEND1(1, 2) AWAY(quiet, 2) "DROP r0 " SETTLE LET_GO SETTLE DROP_HELD), 0, "9 1 2 ", NULL);
    script("its own message may hold it", METER
           "actor Own of State { take: take, last: last } "
           "fn take(mut s: State, self: Own, own m: Own) regs 20 { LEND r10, r2 MSG r10, 0, Own, 1 DROP r2 RET } "
           "fn last(mut s: State, self: Own) regs 20 { " SAYS(7) "RET } "
           MAIN("LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Own LEND r10, r0 COPY r11, r0 "
                "MSG r10, 0, Own, 0 DROP r0 " SETTLE), 0, "7 ", "");
    script("its own state may hold it, until the program ends", METER
           "record Mine { me: Selfish?, p: Pin } actor Selfish of Mine { keep: mine } "
           "fn mine(mut s: Mine, self: Selfish) regs 20 { COPY r2, r1 SETR r0, 0, r2 RET } "
           MAIN("NULL r30 CALLN r31, pin NEW r32, Mine, r30 SPAWN r0, 0, r32, Selfish LEND r10, r0 "
                "MSG r10, 0, Selfish, 0 DROP r0 " SETTLE PINS), 0, "1 ", NULL);
    script("what it owns is given and taken", METER KEEPER
           MAIN(START_KEEPER "CALLN r11, pin LEND r10, r0 MSG r10, 1, Keeper, 1 DROP r10 " PINS
                "CALLN r11, pin LEND r10, r0 MSG r10, 0, Keeper, 1 " SETTLE PINS "DROP r0 " SETTLE PINS),
           0, "1 1 0 ", NULL);
}

static void monitors(void)
{
    script("a monitor does not keep it", METER
           MAIN(START WATCH "DROP r0 " LEARN(none) "DROP r2 "), 0, "-1 ", "");
    script("two are told the same, and each that this was all", METER
           MAIN(START WATCH "MOVE r4, r2 " WATCH SEND1(1, 3) LEARN(a) LEARN(b) "DROP r2 MOVE r2, r4 " LEARN(c) LEARN(d)
                "DROP r2 DROP r0 "), 0, "1 broken -1 broken -1 ", "");
    script("who comes late is told at once", METER
           MAIN(START WATCH SEND1(1, 3) LEARN(a) "DROP r2 " WATCH LEARN(b) LEARN(c) "DROP r2 DROP r0 "),
           0, "1 broken broken -1 ", "");
    script("one that nobody listens to does not count", METER
           MAIN(START WATCH "DROP r2 " SEND1(1, 3) SETTLE "DROP r0 "), 0, "1 ", "trap Explicit in fail");
    script("one that was closed is left alone", METER
           MAIN(START WATCH "LEND r10, r2 CALLN r10, close " SEND1(1, 3) SETTLE LEARN(a) "DROP r2 DROP r0 "),
           0, "1 -1 ", "");
    script("where the trap was, and who called there", METER
           "actor Deep of State { go: go } "
           "fn inner(n: Int) -> Int regs 9 { .line 11 DIV r0, r0, r0 RET } "
           "fn go(mut s: State, self: Deep, n: Int) -> Int regs 20 { .line 12 MOVW r10, r2 CALL r10, inner MOVW r1, "
           "r10 "
           "RET } import watch_deep \"monitor\" (Deep) -> Chan[Trap] "
           MAIN("LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Deep LEND r10, r0 CALLN r10, "
           "watch_deep "
                "MOVE r2, r10 LEND r10, r0 LOADI r11, 0 MSG r10, 0, Deep, 0 LEND r10, r2 CALLN r10, death MOVE r3, r10 "
                "NONNULL r3 LENDF r4, r3, 5 LLEN r10, r4 CALLN r10, note LOADI r5, 0 LLEND r10, r4, r5 CALLN r10, say "
                "LOADI r5, 1 LLEND r10, r4, r5 CALLN r10, say DROP r3 DROP r2 DROP r0 "),
           0, "2 inner at test.coir:11 go at test.coir:12 ", "");
}

/* Those that nobody listens to any more are forgotten. */
static void many_monitors(void)
{
    size_t len;
    void *image = assembled("monitors", METER
        "fn main() regs 40 { " START WATCH "LOADI r4, 0 LOADI r5, 100000 top: LEND r10, r0 CALLN r10, watch DROP r10 "
        "FORI r4, r5, top " SEND1(1, 3) LEARN(a) "DROP r2 DROP r0 RET } export main main", &len);
    const struct coir_vm_options o = { .natives = test_tables, .max_memory = 1 << 20 };

    EQ(run_image(image, len, &o), 0, "a hundred thousand monitors, one after the other, in a megabyte");
    STR_EQ(said, "1 broken ", "and one that is listened to");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
}

/* A fiber that waits for ever, and on its way out asks the actor in r0, and says what it is told. */
#define LASTLY \
    "fn lastly(own m: Meter) regs 40 { from: LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep to: DROP r0 " \
    "RET pad: SHIELD r3 a: LEND r10, r0 LOADI r11, 3 MSG r10, 1, Meter, 2 b: CALLN r10, note JMP c " \
    "pad2: LENDF r10, r4, 1 CALLN r10, say DROP r4 c: DROP r3 DROP r0 TRAP r2 " \
    ".cleanup from, to, pad, 2 .cleanup a, b, pad2, 4 } "

static void stopped(void)
{
    script("an idle one", METER MAIN(START "MOVE r2, r0 " START "DROP r0 DROP r2 " SAYS(1)), 0, "1 ", "");
    script("one that was never sent to, and has not begun", METER KEEPER MAIN(START_KEEPER "DROP r0 "), 0, "", "");
    script("a handler that waits: it is unwound, its catch arms are passed over", METER
           "actor Slow of State { go: go } "
           "fn go(mut s: State, self: Slow) regs 20 { c: TNEW r2, 1 a: LOADI r10, 2000000000 CALLN r10, sleep b: DROP "
           "r2 "
           "d: RET pad: " SAYS(5) "DROP r2 TRAP r3 caught: " SAYS(6) "DROP r2 RET "
           ".cleanup a, b, pad, 3 .catch c, d, caught, 2 } "
           MAIN("LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Slow LEND r10, r0 MSG r10, 0, Slow, 0 "
                SETTLE "DROP r0 " SAYS(1)), 0, "1 5 ", "");
    script("what is in its mailbox is dropped", METER
           MAIN(START HOLD "CALLN r11, pin LOADI r12, 4 LEND r10, r0 MSG r10, 0, Meter, 6 CALLN r11, pin LOADI r12, 4 "
                "LEND r10, r0 MSG r10, 0, Meter, 6 " PINS "DROP r0 " DROP_HELD), 0, "2 ", "");
    script("a newer fiber calls it on its way out", METER LASTLY
           MAIN(START "MOVE r20, r0 SPAWN r1, lastly, r20, Task[()] DROP r1 " SETTLE SAYS(1)), 0, "1 3 30 ", "");
    script("an older one cannot any more", METER
           "import take \"Chan.recv\" (Chan[Meter]) -> Meter? "
           "fn waits(own c: Chan[Meter]) regs 40 { LEND r10, r0 CALLN r10, take MOVE r1, r10 NONNULL r1 from: "
           "LOADI r10, 2000000000 CALLN r10, sleep to: DROP r1 DROP r0 RET pad: SHIELD r3 a: LEND r10, r1 LOADI r11, 3 "
           "MSG r10, 1, Meter, 2 b: JMP c pad2: LENDF r10, r4, 1 CALLN r10, say DROP r4 c: DROP r3 DROP r1 DROP r0 "
           "TRAP r2 .cleanup from, to, pad, 2 .cleanup a, b, pad2, 4 } "
           MAIN("LOADI r10, 1 CALLN r10, box MOVE r5, r10 COPY r20, r5 SPAWN r1, waits, r20, Task[()] DROP r1 " START
                "LEND r10, r5 MOVE r11, r0 CALLN r10, inbox " SETTLE "DROP r5 " SAYS(1)),
           0, "1 actor Meter is down: it was stopped ", "");
    script("who waits for its reply is stopped, too, and nothing is reported", METER
           "fn waits(own c: Chan[Meter], own d: Chan[Int]) regs 40 { LEND r10, r0 CALLN r10, unbox MOVE r2, r10 "
           "NONNULL r2 from: LEND r10, r2 COPY r11, r1 COPY r12, r1 MSG r10, 1, Meter, 4 to: LEND r10, r2 LOADI r11, 1 "
           "MSG r10, 1, Meter, 2 DROP r2 DROP r1 DROP r0 RET pad: LENDF r10, r3, 0 CALLN r10, say DROP r3 JMP to "
           ".catch from, to, pad, 3 } "
           MAIN("LOADI r10, 1 CALLN r10, box MOVE r5, r10 LOADI r10, 0 CALLN r10, new MOVE r6, r10 COPY r20, r5 "
                "COPY r21, r6 SPAWN r1, waits, r20, Task[()] DROP r1 " START
                "LEND r10, r5 MOVE r11, r0 CALLN r10, inbox " SETTLE "DROP r5 DROP r6 " SAYS(1)),
           0, "1 ", "");
    script("one that is made while the program stops", METER KEEPER
           "fn makes() regs 40 { from: LOADI r10, 2000000000 CALLN r10, sleep to: RET pad: SHIELD r3 " START_KEEPER
           "a: LEND r10, r0 MSG r10, 1, Keeper, 0 b: JMP c pad2: LENDF r10, r4, 1 CALLN r10, say DROP r4 c: DROP r0 "
           "DROP r3 TRAP r2 .cleanup from, to, pad, 2 .cleanup a, b, pad2, 4 } "
           MAIN("SPAWN r1, makes, r20, Task[()] DROP r1 " SETTLE SAYS(1)),
           0, "1 actor Keeper is down: it was stopped ", "");
}

/* The program is stopped after any number of slices. */
static void at_any_moment(void)
{
    static const char busy[] = METER LASTLY
        "fn feeds(own m: Meter) regs 40 { LOADI r1, 0 LOADI r2, 6 top: LEND r10, r0 CALLN r11, pin LOADI r12, 4 "
        "MSG r10, 0, Meter, 6 LEND r10, r0 LOADI r11, 2 MSG r10, 1, Meter, 2 FORI r1, r2, top DROP r0 RET } "
        "fn main() regs 40 { " START WATCH "COPY r20, r0 SPAWN r1, lastly, r20, Task[()] DROP r1 COPY r20, r0 "
        "SPAWN r1, feeds, r20, Task[()] DROP r1 COPY r20, r0 SPAWN r1, feeds, r20, Task[()] COPY r20, r0 "
        "SPAWN r4, feeds, r20, Task[()] DROP r4 " JOIN SEND1(1, 3) LEARN(a) "DROP r0 DROP r2 RET } export main main";
    size_t len;
    void *image = assembled("busy", busy, &len);
    int left = 0, open = 0, whole = 0;

    for (uint64_t n = 1; n < 400; n++) {
        const struct coir_vm_options o = { .natives = test_tables, .seed = 1, .slices = n, .mailbox = 1 + n % 2,
            .reductions = n % 3 ? 1 : 4000 };

        whole += run_image(image, len, &o) == 0;
        left += last.lives != 0;
        open += pins != 0;
        pins = 0;
    }
    EQ(left, 0, "stopped at any moment it leaves nothing");
    EQ(open, 0, "nor anything open");
    OK(whole > 0 && whole < 399, "and comes to its end in %d of 399 runs", whole);
    free(image);
}

static void deadlocks(void)
{
    script("an actor without a message keeps nobody awake", METER
           "fn main() regs 40 { " START "LOADI r10, 0 CALLN r10, new MOVE r2, r10 from: LEND r10, r2 CALLN r10, recv "
           "to: "
           "DROP r2 DROP r0 RET pad: LENDF r10, r3, 0 CALLN r10, say DROP r3 DROP r2 " ASK1(3, 2) "CALLN r10, note "
           "DROP r0 RET .catch from, to, pad, 3 } export main main", 0, "Deadlock 3 30 ", "Meter at test.coir:0: "
           "waits\n");
    script("a ring of calls, whose last traps, and main is told of that", METER
           "actor Ring of State { first: first, second: second } "
           "fn first(mut s: State, self: Ring, own m: Ring) regs 20 { .line 8 LEND r10, r2 COPY r11, r1 "
           "MSG r10, 1, Ring, 1 DROP r2 RET } "
           "fn second(mut s: State, self: Ring, own m: Ring) regs 20 { .line 9 LEND r10, r2 COPY r11, r1 "
           "MSG r10, 1, Ring, 1 DROP r2 RET } "
           "fn main() regs 40 { LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Ring TNEW r31, 1 "
           "NEW r32, State, r30 SPAWN r1, 0, r32, Ring from: LEND r10, r0 COPY r11, r1 .line 10 MSG r10, 1, Ring, 0 "
           "to: "
           "DROP r1 DROP r0 RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 DROP r0 RET .catch from, to, pad, "
           "2 "
           "} export main main", 0, "ActorDown ", NULL);
    script("nor is it told of a deadlock that others are in", METER
           "fn member(own c: Chan[Meter], own d: Chan[Int]) regs 40 { LEND r10, r0 CALLN r10, unbox MOVE r2, r10 "
           "NONNULL r2 LEND r10, r0 CALLN r10, unbox MOVE r3, r10 NONNULL r3 SHIELD r4 from: LEND r10, r1 CALLN r10, "
           "recv to: JMP on pad: LENDF r10, r5, 0 CALLN r10, say DROP r5 on: LEND r10, r2 MOVE r11, r3 MSG r10, 1, "
           "Meter, 7 CALLN r10, note DROP r4 DROP r2 DROP r1 DROP r0 RET .catch from, to, pad, 5 } fn main() regs 40 { "
           "LOADI r10, 2 CALLN r10, box MOVE r1, r10 LOADI r4, 0 GROUP r5, r4 LOADI r20, 0 CALLN r20, new MOVE r21, "
           "r20 COPY r20, r1 GSPAWN r6, member, r20, Task[()], r5 DROP r6 " START
           "LEND r10, r1 MOVE r11, r0 CALLN r10, inbox " START "LEND r10, r1 MOVE r11, r0 CALLN r10, inbox all: GWAIT "
           "r5 end: DROP r5 DROP r1 RET pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch all, end, pad, "
           "2 } export main main", 0, "Deadlock 4 40 Deadlock ", NULL);
    script("a caller whose actor waits for the caller's group", METER
           "fn main() regs 40 { " START "all: LOADI r4, 0 GROUP r5, r4 COPY r20, r0 LOADI r21, 1 "
           "GSPAWN r6, stuck, r20, Task[()], r5 DROP r6 GWAIT r5 DROP r5 end: DROP r0 RET pad: LENDF r10, r5, 0 "
           "CALLN r10, say DROP r5 DROP r0 RET .catch all, end, pad, 5 } "
           "fn stuck(own m: Meter, own n: Int) regs 40 { LOADI r10, 0 CALLN r10, new MOVE r5, r10 LEND r10, r0 "
           "COPY r11, r5 COPY r12, r5 MSG r10, 1, Meter, 4 DROP r5 DROP r0 RET } export main main",
           0, "Deadlock ", NULL);
}

/* ---- memory ---- */

/* Messages count: the one that there is no memory for traps in who sends it, and all others are handled. */
static void limited(void)
{
    const struct coir_vm_options o = { .natives = test_tables, .max_memory = 1 << 20, .mailbox = 1 << 30 };
    size_t len;
    void *image = assembled("messages", METER
        "fn main() regs 40 { " START HOLD "LOADI r7, 0 from: top: LEND r10, r0 LOADI r11, 1 MSG r10, 0, Meter, 0 "
        "ADDI r7, r7, 1 JMP top to: pad: LENDF r10, r8, 0 CALLN r10, say DROP r8 " LET_GO "LOADI r8, 0 LOADI r9, 500 "
        "more: YIELD FORI r8, r9, more " ASK(1)
        "EQ r10, r10, r7 CALLN r10, note DROP r0 " DROP_HELD "RET .catch from, to, pad, 8 } export main main", &len);

    EQ(run_image(image, len, &o), 0, "messages without end, in a megabyte");
    STR_EQ(said, "Memory 9 1 ", "trap in who sends, and none is lost");
    EQ(last.lives, 0, "leaving nothing");
    free(image);
}

/* A message that brings a chain of a million cells: dropped with the mailbox, with its sender's turn, with its
caller. */
static void deep(void)
{
    static const char chain[] = METER
        "record Node { next: Node? } actor Tree of State { take: take } "
        "fn take(mut s: State, self: Tree, own n: Node) regs 20 { DROP r2 CONSTT r3, \"broken\" TRAPM r3, Explicit } "
        "fn make() -> Node regs 9 { NULL r1 LOADI r3, 0 LOADI r4, 1000000 top: NEW r2, Node, r1 MOVE r1, r2 "
        "FORI r3, r4, top RETV r1 } "
        "fn main() regs 40 { LOADI r30, 0 TNEW r31, 1 NEW r32, State, r30 SPAWN r0, 0, r32, Tree CALL r12, make MOVE "
        "r1, r12 "
        "CALL r12, make MOVE r2, r12 CALL r12, make MOVE r3, r12 MOVE r11, r1 LEND r10, r0 MSG r10, 0, Tree, 0 "
        "MOVE r11, r2 LEND r10, r0 MSG r10, 0, Tree, 0 MOVE r11, r3 from: LEND r10, r0 MSG r10, 1, Tree, 0 to: DROP r0 "
        "RET pad: LENDF r20, r12, 0 CALLN r20, say DROP r11 DROP r12 DROP r0 RET .catch from, to, pad, 12 } "
        "export main main";
    const struct coir_vm_options o = { .natives = test_tables, .mailbox = 2 };
    size_t len;
    void *image = assembled("chains", chain, &len);

    EQ(run_image(image, len, &o), 0, "chains of a million cells");
    STR_EQ(said, "ActorDown ", "wait in a mailbox, and in a line");
    EQ(last.lives, 0, "and are gone with the actor");
    free(image);
}

/* It dies with more in its mailbox than is told in a slice. */
static void crowd(void)
{
    const struct coir_vm_options o = { .natives = test_tables, .mailbox = 3000 };
    size_t len;
    void *image = assembled("a crowd", METER
        "fn main() regs 40 { " START HOLD SEND1(1, 3) "LOADI r7, 0 LOADI r8, 4000 top: COPY r20, r0 MOVW r21, r7 "
        "SPAWN r24, hopes, r20, Task[()] DROP r24 FORI r7, r8, top " SETTLE LET_GO SETTLE "DROP r0 " DROP_HELD "RET } "
        "fn hopes(own m: Meter, own n: Int) regs 40 { from: LEND r10, r0 MOVW r11, r1 MSG r10, 1, Meter, 2 to: DROP r0 "
        "RET pad: DROP r2 DROP r0 RET .catch from, to, pad, 2 } export main main", &len);

    EQ(run_image(image, len, &o), 0, "four thousand callers of one that dies");
    STR_EQ(said, "9 1 ", "none is handled");
    EQ(last.lives, 0, "all are told");
    free(image);
}

#ifdef COIR_FAULTS
static void each_fails(void)
{
    static const char various[] = METER KEEPER
        "fn main() regs 40 { LOADI r33, 0 all: " START WATCH HOLD "COPY r20, r0 LOADI r21, 2 SPAWN r1, caller, r20, "
        "Task[()] COPY r20, r0 LOADI r21, 3 SPAWN r4, sender, r20, Task[()] DROP r4 CALLN r11, pin LOADI r12, 5 "
        "LEND r10, r0 MSG r10, 0, Meter, 6 " LET_GO JOIN ASK1(6, 3) "end: " SAYS(-2) "DROP r0 DROP r2 " DROP_HELD "RET "
        "pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET .catch all, end, pad, 0 } export main main";
    size_t len;
    void *image = assembled("various", various, &len);
    int left = 0, open = 0, odd = 0, n = 0;

    for (; n < 2000; n++) {
        struct coir_vm_options o = { .natives = test_tables, .seed = 1, .mailbox = 2 };

        coir_heap_fail_at = n + 1;
        const int code = run_image(image, len, &o);
        const bool failed = coir_heap_fail_at == 0;

        coir_heap_fail_at = 0;
        left += last.lives != 0 && code != 1;
        open += pins != 0;
        pins = 0;
        if (!failed)
            break;
        odd += code < 0 || code > 2;
    }
    OK(n > 30, "%d allocations fail, one after the other", n);
    EQ(left, 0, "each time everything is given back");
    EQ(open, 0, "and closed");
    EQ(odd, 0, "and main ends by itself, or is told");
#ifdef COIR_TORTURE                      /* where every await parks, who sends is back before it is handled */
    STR_EQ(said, "9 5 103 2 3 20 6 ActorDown ", "with all of them it runs to its end");
#else
    STR_EQ(said, "9 5 2 3 103 20 6 ActorDown ", "with all of them it runs to its end");
#endif
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
    ends();
    monitors();
    many_monitors();
    at_any_moment();
    deadlocks();
    limited();
    deep();
    crowd();
    WITHOUT_CHANCE("fifo");              /* who is first: of an actor and its caller, stopped; of several callers */
    stopped();
    each_fails();
    return DONE();
}
