/* SPDX-License-Identifier: MIT */
/*
 * Natives that ask for a function: its result comes back to them, whatever it does meanwhile; a trap in it, and a
 * cancellation wherever it stands, leave through them and give back what they hold; and natives and functions call each
 * other to any depth, until there is no stack or no memory.
 */
#include "vm/native.h"

static const struct coir_natives asking_natives;
#define MORE_NATIVES &asking_natives,
#include "make.h"

/* ---- natives ---- */

static int begun, cut;                  /* calls of `each`; those that were left before their end */

struct each {
    size_t at;
    int64_t sum;
    uint64_t *held;                     /* memory that is given back on every path */
};

static void cut_each(struct coir_fiber *f, void *scratch)
{
    struct each *const s = scratch;

    if (s->held)
        coir_heap_free(f->heap, s->held, 64);
    cut++;
}

/* The sum of what f says of each. */
static enum coir_native_result native_each(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    struct each *const s = coir_scratch(f, sizeof *s, cut_each);

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0) {
        s->held = coir_heap_alloc(f->heap, 64);
        if (!s->held)
            return coir_trap_memory(f);
        begun++;
    } else {
        s->sum += (int64_t)coir_returned(f)[0];
    }
    if (s->at < l->len) {
        const enum coir_native_result how = coir_call_back(f, r[1], &l->data[s->at++]);

        if (how == COIR_NATIVE_TRAP)
            cut_each(f, s);
        return how;
    }
    coir_heap_free(f->heap, s->held, 64);
    r[0] = (uint64_t)s->sum;
    return COIR_NATIVE_DONE;
}

/* f(f(x)), without a scratch. */
static enum coir_native_result native_twice(struct coir_fiber *f, uint64_t *r)
{
    if (f->step < 2)
        return coir_call_back(f, r[1], f->step ? coir_returned(f) : &r[0]);
    r[0] = coir_returned(f)[0];
    return COIR_NATIVE_DONE;
}

/* f(t), of a text that goes in and one that comes out. */
static enum coir_native_result native_apply(struct coir_fiber *f, uint64_t *r)
{
    if (f->step == 0)
        return coir_call_back(f, r[1], &r[0]);
    r[0] = coir_returned(f)[0];
    return COIR_NATIVE_DONE;
}

static const struct coir_native asking[] = {
    { "each", "fn each(xs: List[Int], f: fn(Int) -> Int) -> Int", native_each },
    { "twice", "fn twice(x: Int, f: fn(Int) -> Int) -> Int", native_twice },
    { "apply", "fn apply(own t: Text, f: fn(own Text) -> Text) -> Text", native_apply },
};
static const struct coir_natives asking_natives = { asking, sizeof asking / sizeof *asking, NULL, 0 };

#define IMPORTS \
    "import each \"each\" (List[Int], fn(Int) -> Int) -> Int " \
    "import twice \"twice\" (Int, fn(Int) -> Int) -> Int " \
    "import apply \"apply\" (own Text, fn(own Text) -> Text) -> Text " \
    "import new \"chan\" (Int) -> Chan[Text] import recv \"Chan.recv\" (Chan[Text]) -> Text? " \
    "import join \"Task.join\" (Task[()]) import cancel \"Task.cancel\" (Task[()]) "
/* [1, 2, 3] in r1 */
#define LIST "LOADI r5, 1 LOADI r6, 2 LOADI r7, 3 NEWL r1, List[Int], r5, 3 "
#define ADD_K "fn add(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 30 "
#define SUM_OF "LOADI r5, 10 CLOSURE r2, add, r5 LEND r10, r1 LEND r11, r2 CALLN r10, each CALLN r10, note "
#define FOREVER "LOADI r10, 2000000000 MULI r10, r10, 1000 CALLN r10, sleep "

/* ---- what comes back ---- */

static void results(void)
{
    script("a sum", IMPORTS ADD_K "{ GETW r2, r1, 0 ADD r0, r0, r2 RET } "
           "fn main() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } export main main", 0, "36 ", NULL);
    script("of nothing", IMPORTS ADD_K "{ GETW r2, r1, 0 ADD r0, r0, r2 RET } "
           "fn main() regs 40 { NEWL r1, List[Int], r5, 0 " SUM_OF "DROP r2 DROP r1 RET } export main main",
           0, "0 ", NULL);
    script("twice", IMPORTS ADD_K "{ GETW r2, r1, 0 MUL r0, r0, r2 ADDI r0, r0, 1 RET } "
           "fn main() regs 40 { LOADI r5, 10 CLOSURE r2, add, r5 LOADI r10, 7 LEND r11, r2 CALLN r10, twice "
           "CALLN r10, note DROP r2 RET } export main main", 0, "711 ", NULL);
    script("a text in and a text out",
           IMPORTS "fn more(own t: Text) -> Text of fn(own Text) -> Text captures (k: Text) regs 30 { LENDF r2, r1, 0 "
           "TCAT r3, r0, r2 DROP r0 RETV r3 } "
           "fn main() regs 40 { CONSTT r0, \"ab\" COPY r2, r0 CLOSURE r1, more, r2 CONSTT r5, \"x\" COPY r10, r5 "
           "LEND r11, r1 CALLN r10, apply MOVE r2, r10 LEND r10, r2 CALLN r10, say DROP r2 DROP r1 RET } "
           "export main main", 0, "xab ", NULL);
    script("what waits inside",
           IMPORTS ADD_K "{ LOADI r10, 1000 CALLN r10, sleep LOADI r10, 3 CALLN r10, spin YIELD ADDI r0, r0, 1 RET } "
           "fn main() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } export main main", 0, "9 ", NULL);
    script("one inside the other",
           IMPORTS "fn inner(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 30 { GETW r2, r1, 0 MUL r0, r0, "
           "r2 RET } " ADD_K "{ MOVW r6, r0 CLOSURE r2, inner, r6 LOADI r5, 1 LOADI r6, 10 NEWL r3, List[Int], r5, 2 "
           "LEND r10, r3 LEND r11, r2 CALLN r10, each MOVW r0, r10 DROP r3 DROP r2 RET } "
           "fn main() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } export main main", 0, "66 ", NULL);
}

/* Function, native, function, ... `levels` deep: each level is a call of each with one element. */
#define DEEP(levels) \
    IMPORTS ADD_K "{ CALL r0, down RET } " \
    "fn down(n: Int) -> Int regs 30 { JGTI r0, 0, more LOADI r0, 5 RET " \
    "more: ADDI r5, r0, -1 NEWL r1, List[Int], r5, 1 LOADI r5, 0 CLOSURE r2, add, r5 LEND r10, r1 LEND r11, r2 " \
    "CALLN r10, each MOVW r0, r10 DROP r2 DROP r1 RET } " \
    "fn main() regs 40 { from: LOADI r10, " levels " CALL r10, down to: CALLN r10, note RET " \
    "pad: LENDF r10, r1, 0 CALLN r10, say DROP r1 RET .catch from, to, pad, 1 } export main main"

static void deep(void)
{
    struct coir_vm_options o = { .natives = test_tables, .max_memory = 4 << 20 };
    size_t len;
    void *image;

#ifdef COIR_TORTURE                          /* where every call moves the stack */
    script("a thousand levels", DEEP("1000"), 0, "5 ", NULL);
    o.max_memory = 256 << 10;
#else
    script("thirty thousand levels", DEEP("30000"), 0, "5 ", NULL);
    script("without end", DEEP("1000000"), 0, "Stack ", NULL);
#endif
    image = assembled("without end", DEEP("1000000"), &len);
    begun = cut = 0;
    EQ(run_image(image, len, &o), 0, "without end, with little memory");
    OK(!strcmp(said, "Memory ") || !strcmp(said, "Stack "), "it traps: %s", said);
    OK(begun > 100 && cut == begun, "each native of %d was left, %d", begun, cut);
    EQ(last.lives, 0, "and leaves nothing");
    free(image);
}

/* ---- traps ---- */

static void traps(void)
{
    begun = cut = 0;
    script("a trap inside is caught outside",
           IMPORTS ADD_K "{ .line 3 LOADI r2, 2 JNE r0, r2, good LOADI r2, 0 DIV r0, r0, r2 good: RET } "
           "fn main() regs 40 { " LIST ".line 7 from: " SUM_OF "to: DROP r2 DROP r1 RET "
           "pad: LENDF r10, r2, 0 CALLN r10, say LENDF r3, r2, 5 LLEN r10, r3 CALLN r10, note LOADI r4, 0 "
           "LLEND r10, r3, r4 CALLN r10, say LOADI r4, 1 LLEND r10, r3, r4 CALLN r10, say DROP r2 DROP r1 RET "
           ".catch from, to, pad, 2 } export main main",
           0, "DivZero 2 add at test.coir:3 main at test.coir:7 ", NULL);
    EQ(begun, 4, "in each of four runs");
    EQ(cut, 4, "the native gave back what it had");
    script("and kills the fiber if nobody does",
           IMPORTS ADD_K "{ .line 3 LOADI r2, 0 DIV r0, r0, r2 RET } "
           "fn main() regs 40 { .line 6 " LIST SUM_OF "DROP r2 DROP r1 RET } export main main",
           2, "", "trap DivZero in add at test.coir:3: division by zero\n    main at test.coir:6\n");
    script("caught inside, it goes on",
           IMPORTS ADD_K "{ from: LOADI r2, 0 DIV r0, r0, r2 to: RET pad: DROP r2 LOADI r0, 4 RET "
           ".catch from, to, pad, 2 } fn main() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } export main main",
           0, "12 ", NULL);
    script("a text that went in is dropped there",
           IMPORTS "fn more(own t: Text) -> Text of fn(own Text) -> Text captures (k: Text) regs 30 { COPY r3, r0 "
           "LOADI r2, 0 DIV r2, r2, r2 DROP r0 RETV r3 } "
           "fn main() regs 40 { CONSTT r0, \"ab\" COPY r2, r0 CLOSURE r1, more, r2 TCAT r10, r0, r0 "
           "from: LEND r11, r1 CALLN r10, apply to: MOVE r2, r10 DROP r2 DROP r1 RET "
           "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "DivZero ", NULL);
}

/* ---- cut ---- */

static const struct { const char *name, *waits; } places[] = {
    { "sleep", FOREVER },
    { "recv", "LOADI r10, 1 CALLN r10, new MOVE r2, r10 LEND r10, r2 CALLN r10, recv DROP r10 DROP r2" },
    { "spin", "LOADI r10, 2000000000 CALLN r10, spin" },
    { "loop", "top: JMP top" },
    { "yield", "top: YIELD JMP top" },
};

/* The fiber that is in a function that a native has asked for is cancelled after so many turns. */
static void cut_in(const char *name, const char *waits, int yields)
{
    char text[3000], called[80];

    snprintf(called, sizeof called, "in %s, after %d", name, yields);
    snprintf(text, sizeof text, IMPORTS ADD_K "{ %s %s } "
             "fn f() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } "
             "fn main() regs 30 { SPAWN r1, f, r5, Task[()] %s LEND r10, r1 CALLN r10, cancel "
             "from: LEND r10, r1 CALLN r10, join to: DROP r1 RET "
             "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch from, to, pad, 2 } export main main",
             waits, strstr(waits, "top:") ? "" : "RET",
             yields == 0 ? "" : yields == 1 ? "YIELD" : "YIELD YIELD YIELD YIELD YIELD YIELD YIELD YIELD");
    begun = cut = 0;
    script(called, text, 0, "Cancelled ", NULL);
    EQ(cut, begun, "each native that had begun was cut");
}

static void cancelled_anywhere(void)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        for (int yields = 0; yields < 3; yields++)
            cut_in(places[i].name, places[i].waits, yields);
    }
    OK(begun > 0, "some had");
    script("in a defer, which is waited for",
           IMPORTS ADD_K "{ from: " FOREVER "to: RET pad: SHIELD r5 LOADI r10, 1000000 CALLN r10, sleep LOADI r10, 8 "
           "CALLN r10, note DROP r5 TRAP r2 .cleanup from, to, pad, 2 } "
           "fn f() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } "
           "fn main() regs 30 { SPAWN r1, f, r5, Task[()] LOADI r10, 20000000 CALLN r10, sleep LEND r10, r1 "
           "CALLN r10, cancel from: LEND r10, r1 CALLN r10, join to: DROP r1 RET "
           "pad: LENDF r10, r2, 0 CALLN r10, say DROP r2 DROP r1 RET .catch from, to, pad, 2 } export main main",
           0, "8 Cancelled ", NULL);
}

/* Main returns while another is inside. */
static void stopped(void)
{
    begun = cut = 0;
    script("the program ends",
           IMPORTS ADD_K "{ from: " FOREVER "to: RET pad: LOADI r10, 1 CALLN r10, note DROP r2 RET "
           ".catch from, to, pad, 2 } fn f() regs 40 { " LIST SUM_OF "DROP r2 DROP r1 RET } "
           "fn main() regs 30 { SPAWN r1, f, r5, Task[()] DROP r1 LOADI r10, 20000000 CALLN r10, sleep LOADI r10, 2 "
           "CALLN r10, note RET } export main main", 0, "2 ", NULL);
    EQ(begun, 4, "a native was inside in each run");
    EQ(cut, 4, "and cut");
}

/* ---- each allocation fails ---- */

#ifdef COIR_FAULTS
static void each_fails(void)
{
    const struct coir_vm_options o = { .natives = test_tables, .seed = 1 };
    size_t len;
    void *image = assembled("fails", IMPORTS
        "fn inner(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 30 { GETW r2, r1, 0 MUL r0, r0, r2 RET } "
        ADD_K "{ MOVW r6, r0 CLOSURE r2, inner, r6 LOADI r5, 1 LOADI r6, 10 NEWL r3, List[Int], r5, 2 "
        "LEND r10, r3 LEND r11, r2 CALLN r10, each MOVW r0, r10 DROP r3 DROP r2 RET } "
        "fn main() regs 40 { from: " LIST SUM_OF "DROP r2 DROP r1 to: RET "
        "pad: LENDF r10, r0, 0 CALLN r10, say DROP r0 RET .catch from, to, pad, 0 } export main main", &len);
    long n = 0;

    for (bool failed = true; failed; n++) {
        begun = cut = 0;
        coir_heap_fail_at = n + 1;
        const int code = run_image(image, len, &o);
        failed = coir_heap_fail_at == 0;
        coir_heap_fail_at = 0;
        OK(strcmp(said, "66 ") == 0 || strstr(said, "Memory") || strstr(said, "Stack") || strstr(complaint, "emory"),
           "allocation %ld fails: %d, %s", n, code, said);
        EQ(last.lives, 0, "and nothing is left");
    }
    OK(n > 20, "%ld allocations", n);
    free(image);
}
#endif

int main(void)
{
    results();
    deep();
    traps();
    cancelled_anywhere();
    stopped();
#ifdef COIR_FAULTS
    each_fails();
#endif
    return DONE();
}
