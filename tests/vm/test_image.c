/* SPDX-License-Identifier: MIT */
/*
 * Images as bytes: what the builder writes the loader reads, and the disassembler says; what is cut, changed or made up
 * is read or refused, and never more than that. What makes a type or an instruction right is test_loader's.
 */
#include "tap.h"
#include "vm/asm.h"
#include "vm/build.h"
#include "vm/dis.h"

#include <errno.h>

/* A program with one of everything that an image can hold. */
static const char everything[] =
    "record Node { name: Text, next: Node?, at: (Int, Float) }\n"
    "sum Shape { Circle(r: Float), Named(name: Text, at: Int), Empty }\n"
    "enum Color { Red, Green }\n"
    "resource net.Conn\n"
    "global limit: Int\n"
    "global names: List[Text]\n"
    "import print \"io.print\" (Text)\n"
    "import accept \"net.accept\" (mut net.Conn, own Text?) -> (net.Conn, Int)\n"
    "fn add(x: Int) -> Int of fn(Int) -> Int captures (k: Int) regs 3 { GETW r2, r1, 0 ADD r0, r0, r2 RET }\n"
    "fn walk(m: Map[Text, Int], own s: Shape, c: Chan[Int], f: fn(mut List[Int], own Text) -> Shape?) regs 12 {\n"
    "    .line 3\n"
    "    LEND r4, r0  LOADI r5, 0\n"
    "loop:\n"
    "    .line 4\n"
    "    MNEXTL r6, r4, turn\n"
    "    JIS r1, round, Circle\n"
    "    SELECT else recv r2, r6, got after r5, loop\n"
    "got:\n"
    "    DROP r1  RET\n"
    "round:\n"
    "    LOADI r6, 3  SPAWN r6, start, r6, Task[Int] any  DROP r6\n"
    "    JMP got\n"
    "turn:\n"
    "    .line 9\n"
    "    SWITCH r7, 2  JMP loop  JMP loop\n"
    "    EQV r8, r6, r6, Text  JT r8, loop\n"
    "    CONSTW r8, -2.5  CONSTT r9, \"a \\\"b\\\" \\n\\x01\"  TNEW r10, 8  FORMAT r10, r9, Text, 1  DROP r10\n"
    "a:  LEND r11, r9  CALLN r11, print\n"
    "b:  JMP loop\n"
    "pad:\n"
    "    REPORT r8  DROP r8  JMP loop\n"
    "    .catch a, b, pad, 8\n"
    "    .cleanup loop, pad, out, 3\n"
    "out: DROP r1 TRAP r3\n"
    "}\n"
    "fn start(own n: Int) -> Int regs 2 { LOADI r1, -7  GLOBAL r1, limit  RET }\n"
    "fn init() regs 2 { LOADI r0, 100  GSET r0, limit  NEWL r0, List[Text], r0, 0  GSET r0, names  RET }\n"
    "fn main(args: List[Text]) -> Int regs 3 { LOADI r0, 2  RET }\n"
    "export main main  export init init  export function \"walk\" walk\n";

static struct coir_program *load(const void *bytes, size_t length, struct coir_load_error *error)
{
    struct coir_program *p = NULL;
    const int bad = coir_program_load(bytes, length, NULL, &p, error);

    /* whatever the bytes are, the answer is one of two */
    if (!(bad == 0 && p && !error->text[0]) && !(bad == -EINVAL && !p && error->text[0]))
        OK(false, "a load that answered %d", bad);
    return p;
}

static char *dis(const struct coir_program *p, unsigned what)
{
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    EQ(coir_dis(p, what, to), 0, "a program is disassembled");
    fclose(to);
    return text;
}

static void *image(const char *text, size_t *length)
{
    struct coir_load_error error;
    void *bytes = NULL;

    if (!OK(asm_image(text, &bytes, length, &error) == 0, "assembled"))
        NOTE("%s", error.text);
    return bytes;
}

/* What was disassembled, assembled, is the same program. */
static void round_trip(void)
{
    struct coir_load_error error;
    struct coir_program *p = asm_load(everything, NULL, &error), *again;
    char *first, *second;

    if (!OK(p != NULL, "everything is loaded")) {
        NOTE("%s", error.text);
        return;
    }
    first = dis(p, 0);
    again = asm_load(first, NULL, &error);
    if (OK(again != NULL, "what the disassembler says can be assembled")) {
        second = dis(again, 0);
        STR_EQ(second, first, "and is the same program");
        free(second);
    } else {
        NOTE("%s", error.text);
    }
    coir_program_free(again);
    free(first);
    first = dis(p, COIR_DIS_STATES | COIR_DIS_MAPS);
    again = asm_load(first, NULL, &error);
    OK(again != NULL, "with states and maps beside it, too");
    coir_program_free(again);
    free(first);
    coir_program_free(p);
}

static void said(void)
{
    static const char text[] =
        "record P { x: Int, name: Text }\n"
        "fn f(own r0: P?, r1: Int) -> Int regs 4 {\n"
        "    .line 2\n JNULL r0, none\n GETW r2, r0, 0\n .line 3\n DROP r0\n RETV r2\n"
        "none:\n DROP r0\n YIELD\n RETV r1\n}\n";
    static const char wanted[] =
        "record P { x: Int, name: Text }\n"
        "\n"
        "fn f(own r0: P?, r1: Int) -> Int regs 4 {    # test.coir\n"
        "             # r0 owns P or null, r1 is a word\n"
        "    .line 2\n"
        "    JNULL    r0, L4                              # 0\n"
        "             # drops: r0\n"
        "    GETW     r2, r0, 0                           # 1\n"
        "    .line 3\n"
        "    DROP     r0                                  # 2\n"
        "    RETV     r2                                  # 3\n"
        "L4:\n"
        "             # r0 is null, r1 is a word\n"
        "    DROP     r0                                  # 4\n"
        "    YIELD                                        # 5\n"
        "    RETV     r1                                  # 6\n"
        "}\n";
    struct coir_load_error error;
    struct coir_program *p = asm_load(text, NULL, &error);
    char *got;

    if (!OK(p != NULL, "a small program"))
        return;
    got = dis(p, COIR_DIS_STATES | COIR_DIS_MAPS);
    STR_EQ(got, wanted, "is said in full");
    EQ(coir_line_of(&p->functions[0], 1), 2, "the line of a pc in a line");
    EQ(coir_line_of(&p->functions[0], 2), 3, "of the first of one");
    EQ(coir_line_of(&p->functions[0], 6), 3, "of the last");
    free(got);
    coir_program_free(p);
}

/* Every byte missing, every byte another: read or refused. */
static void damage(void)
{
    struct coir_load_error error;
    size_t length, accepted = 0, refused = 0;
    uint8_t *bytes = image(everything, &length), *copy;
    struct coir_program *p;

    for (size_t n = 0; n < length; n++) {
        copy = malloc(n ? n : 1);                   /* of its size: a byte too far is seen by a sanitizer */
        memcpy(copy, bytes, n);
        p = load(copy, n, &error);
        accepted += p != NULL;
        coir_program_free(p);
        free(copy);
    }
    EQ(accepted, 0, "an image that is cut is refused, at each length");
    for (size_t i = 0; i < length; i++) {
        static const uint8_t flips[] = { 0x01, 0x80, 0xff, 0x04 };

        for (unsigned k = 0; k < sizeof flips; k++) {
            bytes[i] ^= flips[k];
            p = load(bytes, length, &error);
            accepted += p != NULL;
            refused += p == NULL;
            coir_program_free(p);
            bytes[i] ^= flips[k];
        }
    }
    OK(accepted > 0 && refused > 0, "with one byte changed it is read, or refused");
    p = load(bytes, length, &error);
    OK(p != NULL, "and unchanged it is read still");
    coir_program_free(p);
    free(bytes);
}

static void put32(uint8_t *at, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(x >> 8 * i);
}

static void refused(const char *name, const uint8_t *bytes, size_t length, const char *message)
{
    struct coir_load_error error;
    struct coir_program *p = load(bytes, length, &error);

    STR_EQ(p ? "loaded" : error.text, message, "%s", name);
    coir_program_free(p);
}

/* The head, byte by byte: docs/image.md. */
static void heads(void)
{
    size_t length;
    uint8_t *bytes = image("fn f() regs 1 { RET }", &length), *b = malloc(length + 1);

    MEM_EQ(bytes, "\x7f" "COIRB\r\n\1\0\7\0\0\0\0\0", 16, "magic, version 1, 7 sections, no features");
    EQ(bytes[16], length, "its length");
    EQ(bytes[28], 4 + 4 + 4 + 4 + 1 + 4 + 9, "the strings: a count, \"Trap\", \"f\", \"test.coir\"");
    memcpy(b, bytes, length);
    refused("nothing", b, 0, "this is no image");
    b[0] = 'x';
    refused("another magic", b, length, "this is no image");
    memcpy(b, bytes, length);
    b[8] = 2;
    refused("another version", b, length, "an image of version 2: this program reads 1");
    b[8] = 1;
    b[12] = 1;
    refused("a feature", b, length, "an image with features 0x1, which this program does not know");
    b[12] = 0;
    b[length] = 0;
    OK(load(b, length + 1, &(struct coir_load_error){ "" }) == NULL, "a byte more than it says");
    put32(b + 16, (uint32_t)length + 1);
    refused("a byte behind the last section", b, length + 1, "bytes behind the last section");
    memcpy(b, bytes, length);
    put32(b + 28, 0xffffffff);
    refused("a section longer than the image", b, length, "section 0 is not where it should be, or too long");
    memcpy(b, bytes, length);
    put32(b + 24, 1);
    refused("sections in another order", b, length, "section 0 is not where it should be, or too long");
    memcpy(b, bytes, length);
    put32(b + 80, 0x7fffffff);
    refused("more strings than there are bytes for", b, length, "more strings than there are bytes for");
    free(b);
    free(bytes);
}

/* A tuple of itself, by way of a later type. */
static void circles(void)
{
    size_t length, at = 0;
    uint8_t *bytes = image("fn f(x: Int? ?) regs 3 { RET }", &length);

    for (size_t i = 0; i + 10 <= length; i++) {
        if (memcmp(bytes + i, "\x09\0\0\0\0\x09\x0a\0\0\0", 10) == 0)
            at = i;
    }
    if (OK(at > 0, "an optional Int is type 10, an optional one of that 11")) {
        bytes[at + 1] = 11;
        refused("an optional of a later one", bytes, length, "type 10 is made of a later one");
        bytes[at + 1] = 10;
        refused("of itself", bytes, length, "type 10 is made of a later one");
        bytes[at + 1] = 12;
        refused("of none", bytes, length, "there is no type 12");
    }
    free(bytes);
}

/* ---- the builder ---- */

static void begin(struct coir_build *b, unsigned n)
{
    const struct coir_build_param x = { COIR_TYPE_INT, COIR_MODE_LEND };

    coir_build_begin(b, coir_build_function(b, "f", "t"), &x, n, COIR_TYPE_UNIT);
}

static struct coir_program *built(struct coir_build *b, struct coir_load_error *error)
{
    struct coir_program *p = NULL;
    void *bytes;
    size_t length;

    error->text[0] = 0;
    if (coir_build_finish(b, &bytes, &length) < 0) {
        snprintf(error->text, sizeof error->text, "%s", coir_build_error(b));
    } else {
        p = load(bytes, length, error);
        free(bytes);
    }
    coir_build_free(b);
    return p;
}

/* A branch over 40,000 words does not fit 16 bits: it goes by an island, forwards and back. */
static void far_branches(void)
{
    struct coir_build *b = coir_build_new();
    struct coir_load_error error;
    uint32_t top, end, near, nearest;

    begin(b, 1);
    top = coir_build_label(b);
    end = coir_build_label(b);
    near = coir_build_label(b);
    nearest = coir_build_label(b);
    coir_build_place(b, top);
    coir_build_jump(b, COIR_OP_JLTI, 0, 7, 0, end);         /* 0: to the island at 2 */
    coir_build_op(b, COIR_OP_SELECT, 0, 0, 0, 1);           /* 3: its arms to 7 and 8 */
    coir_build_arm(b, COIR_ARM_AFTER, 0, 0, end);
    coir_build_arm(b, COIR_ARM_AFTER, 0, 0, near);
    coir_build_arm(b, COIR_ARM_AFTER, 0, 0, end);
    coir_build_place(b, near);
    for (unsigned i = 0; i < 40000; i++)
        coir_build_op(b, COIR_OP_NEG, 0, 0, 0, 0);
    coir_build_place(b, nearest);
    coir_build_jump(b, COIR_OP_JGTI, 0, 7, 0, nearest);     /* does fit */
    coir_build_jump(b, COIR_OP_JGTI, 0, 7, 0, top);
    coir_build_place(b, end);
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    coir_build_end(b, 1);
    struct coir_program *p = built(b, &error);
    if (!OK(p != NULL, "a function with far branches")) {
        NOTE("%s", error.text);
        return;
    }
    const uint64_t *code = p->functions[0].code;
    EQ(p->functions[0].ncode, 3 + 4 + 3 + 40000 + 1 + 3 + 1, "three islands for one branch, three for the select's");
    EQ(code[0], coir_instruction(COIR_OP_JLTI, 0, 7, 2, 0), "a branch to its island");
    EQ(code[1], coir_instruction_wide(COIR_OP_JMP, 0, 2, 0), "over which goes who does not take it");
    EQ(code[2], coir_instruction_wide(COIR_OP_JMP, 0, 40014 - 2, 0), "and from there to the end");
    EQ(code[3], coir_instruction(COIR_OP_SELECT, 0, 0, 3, 1), "a select with three arms");
    EQ(code[4], coir_instruction(COIR_OP_EXT, 0, 0, 8 - 3, 2), "the first far");
    EQ(code[5], coir_instruction(COIR_OP_EXT, 0, 0, 10 - 3, 2), "the second near");
    EQ(code[6], coir_instruction(COIR_OP_EXT, 0, 0, 9 - 3, 2), "the third far");
    EQ(code[7], coir_instruction_wide(COIR_OP_JMP, 0, 3, 0), "over two islands");
    EQ(code[8], coir_instruction_wide(COIR_OP_JMP, 0, 40014 - 8, 0), "the first's");
    EQ(code[9], coir_instruction_wide(COIR_OP_JMP, 0, 40014 - 9, 0), "the third's");
    EQ(code[40010], coir_instruction(COIR_OP_JGTI, 0, 7, 0, 0), "a branch to itself");
    EQ(code[40013], coir_instruction_wide(COIR_OP_JMP, 0, (uint32_t)-40013, 0), "an island back to the top");
    coir_program_free(p);
}

static void fails(const char *name, struct coir_build *b, const char *message)
{
    struct coir_load_error error;
    struct coir_program *p = built(b, &error);

    STR_EQ(p ? "loaded" : error.text, message, "%s", name);
    coir_program_free(p);
}

static void builder(void)
{
    struct coir_build *b = coir_build_new();
    uint32_t record, label;

    coir_build_function(b, "f", "t");
    fails("a function that is not defined", b, "function 0 is declared, and not defined");
    b = coir_build_new();
    begin(b, 0);
    fails("one without an end", b, "a function without an end");
    b = coir_build_new();
    begin(b, 0);
    label = coir_build_label(b);
    coir_build_jump(b, COIR_OP_JMP, 0, 0, 0, label);
    coir_build_end(b, 1);
    fails("a label that is nowhere", b, "label 0 is nowhere");
    b = coir_build_new();
    begin(b, 0);
    coir_build_op(b, COIR_OP_ADD, 0, 0, 70000, 0);
    coir_build_op(b, COIR_OP_ADD, 0, 0, 0, 300);
    coir_build_end(b, 1);
    fails("the first failure is told", b, "ADD 0 0 70000 0: an operand is too large");
    b = coir_build_new();
    coir_build_list(b, 99);
    fails("a list of no type", b, "there is no type 99");
    b = coir_build_new();
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    fails("code outside", b, "outside of a function");
    b = coir_build_new();
    record = coir_build_record(b, "P");
    EQ(coir_build_record(b, "P"), record, "the same name is the same record");
    EQ(coir_build_list(b, record), coir_build_list(b, record), "the same list is made once");
    OK(coir_build_list(b, record) != coir_build_list(b, COIR_TYPE_INT), "another is another");
    EQ(coir_build_list(b, COIR_TYPE_TEXT), COIR_INDEX_TEXTS, "a list of texts is there already");
    EQ(coir_build_text(b, "a", 1), coir_build_text(b, "a", 1), "the same constant is made once");
    OK(coir_build_text(b, "a", 1) != coir_build_text(b, "a\0", 2), "with a zero behind it, it is another");
    EQ(coir_build_word(b, 5), coir_build_word(b, 5), "the same word, too");
    coir_build_free(b);
}

/* Loads: LOADI where the word fits, CONSTW where not. */
static void loads(void)
{
    static const int64_t words[] = { 0, -1, INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1 };
    struct coir_build *b = coir_build_new();
    struct coir_load_error error;

    begin(b, 0);
    for (unsigned i = 0; i < 6; i++)
        coir_build_load(b, 0, (uint64_t)words[i]);
    OK(coir_build_falls(b), "the code goes on");
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    OK(!coir_build_falls(b), "and behind a RET not");
    coir_build_place(b, coir_build_label(b));
    OK(coir_build_falls(b), "but at a label");
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    coir_build_end(b, 1);
    struct coir_program *p = built(b, &error);
    if (!OK(p != NULL, "words of all sizes"))
        return;
    for (unsigned i = 0; i < 6; i++) {
        const uint64_t w = p->functions[0].code[i];

        EQ(COIR_I_OP(w), i < 4 ? COIR_OP_LOADI : COIR_OP_CONSTW, "word %u", i);
        EQ(i < 4 ? COIR_I_SX(w) : (int64_t)p->constants[COIR_I_X(w)], words[i], "its value");
    }
    coir_program_free(p);
}

/* The builder counts slots as the loaded types have them. */
static void layouts(void)
{
    struct coir_build *b = coir_build_new(), *copy;
    struct coir_load_error error;
    uint32_t types[16], n = 0;
    void *bytes;
    size_t length;
    struct coir_program *p = NULL;

    types[n++] = COIR_TYPE_UNIT;
    types[n++] = COIR_TYPE_INT;
    types[n++] = coir_build_optional(b, COIR_TYPE_TEXT);
    types[n++] = coir_build_optional(b, types[2]);                      /* Text??: a tag, then a Text or null */
    types[n++] = coir_build_optional(b, COIR_TYPE_FLOAT);
    types[n++] = coir_build_tuple(b, (uint32_t[]){ COIR_TYPE_INT, COIR_TYPE_TEXT, types[4] }, 3);
    types[n++] = coir_build_optional(b, types[5]);
    types[n++] = coir_build_optional(b, COIR_TYPE_UNIT);
    types[n++] = coir_build_map(b, COIR_TYPE_INT, types[6]);
    types[n++] = coir_build_tuple(b, NULL, 0);
    copy = b;
    EQ(coir_build_slots(b, types[3]), 2, "Text?? has two slots");
    EQ(coir_build_slots(b, types[6]), 5, "(Int, Text, Float?)? has five");
    if (OK(coir_build_finish(b, &bytes, &length) == 0, "types alone are an image"))
        p = load(bytes, length, &error);
    for (uint32_t i = 0; p && i < n; i++) {
        const struct coir_type *t = &p->types.all[types[i]];

        EQ(coir_build_slots(copy, types[i]), t->slots, "the slots of type %u", types[i]);
        for (uint32_t k = 0; k < t->slots; k++) {
            const struct coir_build_slot s = coir_build_slot(copy, types[i], k);

            OK(s.is_ref == (t->layout[k].ref != NULL) && s.nullable == t->layout[k].nullable
                && (!s.is_ref || s.type == t->layout[k].ref->index), "slot %u of type %u", k, types[i]);
        }
    }
    coir_program_free(p);
    free(bytes);
    coir_build_free(b);
}

/* Functions that are small, and large to prove: refused, or not, but soon, and with little memory. */
static struct coir_program *many(unsigned n, enum coir_op write, bool owned, bool back, struct coir_load_error *error)
{
    struct coir_build *b = coir_build_new();
    uint32_t label;

    begin(b, 1);
    for (unsigned i = 1; i < n; i++) {
        if (write == COIR_OP_LOADI || write == COIR_OP_NULL)
            coir_build_op(b, write, i, 0, 0, 0);
        else
            coir_build_op(b, write, i, i - 1, 0, 0);
        if (owned)
            coir_build_op(b, COIR_OP_YIELD, 0, 0, 0, 0);
    }
    label = coir_build_label(b);
    coir_build_place(b, label);
    for (unsigned i = 0; i < n; i++) {
        const uint32_t next = coir_build_label(b);

        coir_build_jump(b, COIR_OP_JT, 0, 0, 0, back ? label : next);
        coir_build_place(b, next);
    }
    for (unsigned i = 1; owned && i < n; i++)
        coir_build_op(b, COIR_OP_DROP, i, 0, 0, 0);
    coir_build_op(b, COIR_OP_RET, 0, 0, 0, 0);
    coir_build_end(b, n);
    return built(b, error);
}

static void bounds(void)
{
    static const char too_much[] = "function f: too much to prove";
    struct coir_load_error error;
    struct coir_program *p;

    p = many(3000, COIR_OP_LOADI, false, false, &error);
    OK(p != NULL, "3,000 words, and as many places where ways meet");
    coir_program_free(p);
    p = many(60000, COIR_OP_LOADI, false, false, &error);
    STR_EQ(p ? "loaded" : error.text, too_much, "60,000 of both");
    coir_program_free(p);
    p = many(60000, COIR_OP_NULL, false, false, &error);
    STR_EQ(p ? "loaded" : error.text, too_much, "60,000 nulls where 60,000 ways meet");
    coir_program_free(p);
    p = many(60000, COIR_OP_TNEW, true, true, &error);
    STR_EQ(p ? "loaded" : error.text, too_much, "60,000 texts, each with a drop map of its own");
    coir_program_free(p);
    p = many(300, COIR_OP_TNEW, true, false, &error);
    if (!OK(p != NULL, "300 texts are nothing"))
        NOTE("%s", error.text);
    OK(!p || p->memory < 1 << 20, "and take little memory");
    coir_program_free(p);
}

/* Types whose values would be large: 2 to the power of 30 slots. */
static void large_types(void)
{
    struct coir_build *b = coir_build_new();
    uint32_t t = COIR_TYPE_TEXT;

    for (int i = 0; i < 30; i++)
        t = coir_build_tuple(b, (uint32_t[]){ t, t }, 2);
    fails("a value of too many slots", b, "a value of 256 slots: at most 255");
    b = coir_build_new();
    t = COIR_TYPE_TEXT;
    for (int i = 0; i < 60000; i++)
        t = coir_build_optional(b, t);
    fails("optionals in each other are a tag each", b, "a value of 256 slots: at most 255");
    b = coir_build_new();
    t = COIR_TYPE_TEXT;
    for (int i = 0; i < 60000; i++)
        t = coir_build_list(b, t);
    struct coir_load_error error;
    struct coir_program *p = built(b, &error);
    char text[64];
    if (OK(p != NULL, "lists in each other are not"))
        STR_EQ(coir_write_type(&p->types.all[t], text, sizeof text),
               "List[List[List[List[List[List[List[List[...]]]]]]]]", "and are named in short");
    coir_program_free(p);
}

int main(void)
{
    bounds();
    large_types();
    round_trip();
    said();
    damage();
    heads();
    circles();
    far_branches();
    builder();
    loads();
    layouts();
    return DONE();
}
