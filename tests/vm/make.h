/* SPDX-License-Identifier: MIT */
/*
 * Small programs, of text (asm.h) or made by vm/build.h, and run: what the tests of the machine share. A program says
 * what it sees by the natives `note` (an Int) and `say` (a Text), which append to one string, a space behind each; a
 * test says what that string is to be. Each program is run by both dispatches, in slices of 4,000 and of 1, and has to
 * give everything back. It owns stderr while a program runs. Included by files with one main; one that has natives of
 * its own says so before: #define MORE_NATIVES &its_table,
 */
#ifndef COIR_TESTS_VM_MAKE_H
#define COIR_TESTS_VM_MAKE_H

#include <coir/coir.h>

#include "tap.h"
#include "vm/asm.h"
#include "vm/build.h"
#include "vm/chan.h"
#include "vm/handle.h"
#include "vm/vm.h"

static struct coir_build *making;
static uint32_t note_import, say_import, sleep_import, spin_import;

/* ---- what programs say ---- */

static char said[65536];
static size_t said_len;

static void say_bytes(const char *bytes, size_t len)
{
    if (said_len + len + 2 > sizeof said)
        return;
    memcpy(said + said_len, bytes, len);
    said_len += len;
    said[said_len++] = ' ';
    said[said_len] = 0;
}

static enum coir_native_result native_note(struct coir_fiber *f, uint64_t *r)
{
    char out[32];

    (void)f;
    say_bytes(out, (size_t)snprintf(out, sizeof out, "%lld", (long long)r[0]));
    return COIR_NATIVE_DONE;
}

static enum coir_native_result native_say(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    say_bytes(coir_text_at(r[0])->bytes, coir_text_at(r[0])->len);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result native_sleep(struct coir_fiber *f, uint64_t *r)
{
    struct coir_sleep *s = coir_scratch(f, sizeof *s, NULL);

    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0)
        return coir_wait_for(f, s, coir_sleep, .ns = (int64_t)r[0]);
    return coir_status(s) < 0 ? coir_trap_status(f, coir_status(s), NULL) : COIR_NATIVE_DONE;
}

static int spins_cut;

static void cut_spin(struct coir_fiber *f, void *scratch)
{
    (void)f;
    (void)scratch;
    spins_cut++;
}

/* Works for r[0] slices. */
static enum coir_native_result native_spin(struct coir_fiber *f, uint64_t *r)
{
    uint64_t *done = coir_scratch(f, sizeof *done, cut_spin);

    if (!done)
        return coir_trap_memory(f);
    return (*done)++ < r[0] ? COIR_NATIVE_MORE : COIR_NATIVE_DONE;
}

/* A resource of which it is counted how many there are. */
static long pins;

static void drop_pin(struct coir_heap *h, struct coir_counted *c)
{
    (void)h;
    (void)c;
    pins--;
}

static const struct coir_resource pin_resource = { .name = "Pin", .size = 32, .drop = drop_pin };

static enum coir_native_result native_pin(struct coir_fiber *f, uint64_t *r)
{
    struct coir_counted *c = coir_resource_new(f->heap, coir_result_type(f));

    if (!c)
        return coir_trap_memory(f);
    pins++;
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result native_pins(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = (uint64_t)pins;
    return COIR_NATIVE_DONE;
}

static const struct coir_native test_natives[] = {
    { "pins", "fn pins() -> Int", native_pins },
    { "pin", "fn pin() -> Pin", native_pin },
    { "note", "fn note(n: Int)", native_note },
    { "say", "fn say(t: Text)", native_say },
    { "sleep", "fn sleep(d: Duration)", native_sleep },
    { "spin", "fn spin(n: Int)", native_spin },
};
static const struct coir_resource *const test_resources[] = { &pin_resource };
static const struct coir_natives test_table = { test_natives, sizeof test_natives / sizeof *test_natives,
                                                test_resources, 1 };
#ifndef MORE_NATIVES
#define MORE_NATIVES
#endif
static const struct coir_natives *const test_tables[] = { &test_table, MORE_NATIVES NULL };

/* ---- making ---- */

/* I(ADD, 0, 1, 2): A, B, C, D. W(LOADI, 0, 70000): A and the wide operand. J(JLT, a, b, label). */
#define I(op, ...) emit(COIR_OP_##op, (const int[4]){ __VA_ARGS__ })
#define W(op, a, x) coir_build_wide(making, COIR_OP_##op, a, (uint32_t)(x), 0)
#define J(op, a, b, label) coir_build_jump(making, COIR_OP_##op, a, (unsigned)(b), 0, label)
#define EXT(...) emit_ext((const int[4]){ __VA_ARGS__ })
#define LABEL() coir_build_label(making)
#define PLACE(label) coir_build_place(making, label)
#define LOAD(r, x) coir_build_load(making, r, (uint64_t)(x))
#define TEXT(r, s) coir_build_wide(making, COIR_OP_CONSTT, r, coir_build_text(making, s, strlen(s)), 0)
#define FN(name) coir_build_function(making, name, "t.coir")
#define LINE(n) coir_build_line(making, n)

TAP_UNUSED static void emit(enum coir_op op, const int o[4])
{
    coir_build_op(making, op, (unsigned)o[0], (unsigned)o[1], (unsigned)o[2], (unsigned)o[3]);
}

TAP_UNUSED static void emit_ext(const int o[4])
{
    coir_build_ext(making, (unsigned)o[0], (unsigned)o[1], (unsigned)o[2], (unsigned)o[3]);
}

/* The window goes where the test says: `at` is free, and what it needs is above. */
TAP_UNUSED static void note(unsigned r, unsigned at)
{
    I(MOVW, (int)at, (int)r);
    W(CALLN, at, note_import);
}

TAP_UNUSED static void note_number(int64_t n, unsigned at)
{
    LOAD(at, n);
    W(CALLN, at, note_import);
}

TAP_UNUSED static void say(unsigned r, unsigned at)
{
    I(LEND, (int)at, (int)r);
    W(CALLN, at, say_import);
}

TAP_UNUSED static void doze(int64_t ns, unsigned at)
{
    LOAD(at, ns);
    W(CALLN, at, sleep_import);
}

/* The function that runs: main() -> Int. */
TAP_UNUSED static void begin_main(void)
{
    const uint32_t f = FN("main");

    coir_build_begin(making, f, NULL, 0, COIR_TYPE_UNIT);
    coir_build_export(making, COIR_EXPORT_MAIN, "main", f);
    LINE(1);
}

TAP_UNUSED static uint32_t begin(const char *name, const struct coir_build_param *params, unsigned n, uint32_t result)
{
    const uint32_t f = FN(name);

    coir_build_begin(making, f, params, n, result);
    LINE(1);
    return f;
}

TAP_UNUSED static void end(void)
{
    coir_build_end(making, 40);
}

static uint32_t import(const char *name, uint32_t type, enum coir_mode mode, uint32_t result)
{
    const struct coir_build_param p = { type, mode };

    return coir_build_import(making, name, &p, 1, result);
}

/* ---- running ---- */

static char complaint[65536];

static int stderr_begins(void)
{
    const int kept = dup(2);
    FILE *to = tmpfile();

    fflush(stderr);
    dup2(fileno(to), 2);
    fclose(to);
    return kept;
}

static void stderr_ends(int kept)
{
    ssize_t n;

    fflush(stderr);
    lseek(2, 0, SEEK_SET);
    n = read(2, complaint, sizeof complaint - 1);
    complaint[n < 0 ? 0 : n] = 0;
    dup2(kept, 2);
    close(kept);
}

static struct coir_vm_report last;
static uint32_t mailbox;                    /* of run_each; 0: as usual */

/* One run of an image. */
TAP_UNUSED static int run_image(const void *image, size_t len, const struct coir_vm_options *o)
{
    int kept, code;

    said_len = 0;
    said[0] = 0;
    kept = stderr_begins();
    code = coir_vm_run(image, len, 0, NULL, o, &last);
    stderr_ends(kept);
    return code;
}

static void *made(void (*make)(void), size_t *len)
{
    void *image = NULL;

    making = coir_build_new();
    note_import = import("note", COIR_TYPE_INT, COIR_MODE_LEND, COIR_TYPE_UNIT);
    say_import = import("say", COIR_TYPE_TEXT, COIR_MODE_LEND, COIR_TYPE_UNIT);
    sleep_import = import("sleep", COIR_TYPE_DURATION, COIR_MODE_LEND, COIR_TYPE_UNIT);
    spin_import = import("spin", COIR_TYPE_INT, COIR_MODE_LEND, COIR_TYPE_UNIT);
    make();
    if (coir_build_finish(making, &image, len) < 0)
        OK(false, "built: %s", coir_build_error(making));
    coir_build_free(making);
    return image;
}

static void run_each(const char *name, const void *image, size_t len, int code, const char *saying,
                     const char *complaining)
{
    static const char *const dispatch[] = { "labels", "switch" };
    static const uint32_t slices[] = { 4000, 1 };

    for (int i = 0; i < 4; i++) {
        const struct coir_vm_options o = { .dispatch = dispatch[i / 2], .reductions = slices[i % 2],
                                           .natives = test_tables, .seed = 1, .mailbox = mailbox };
        const int got = run_image(image, len, &o);

        if (!EQ(got, code, "%s ends with %d (%s, %u)", name, code, o.dispatch, o.reductions))
            NOTE("it says: %s", complaint);
        STR_EQ(said, saying, "%s says so", name);
        if (complaining && *complaining) {
            if (!OK(strstr(complaint, complaining), "%s complains: %s", name, complaining))
                NOTE("it says: %s", complaint);
        } else if (complaining && !OK(!strstr(complaint, "trap "), "%s does not complain", name)) {
            NOTE("it says: %s", complaint);
        }
        EQ(last.lives, 0, "%s leaves nothing", name);
        EQ(pins, 0, "%s closes what it has", name);
    }
}

/* Runs it in every way; `saying` is what it says each time, `complaining`, if any, a part of what is on stderr, or "":
 * no trap is. */
TAP_UNUSED static void program(const char *name, void (*make)(void), int code, const char *saying,
                               const char *complaining)
{
    size_t len = 0;
    void *image = made(make, &len);

    run_each(name, image, len, code, saying, complaining);
    free(image);
}

/* What every program of text knows. */
static const char prelude[] =
    "import note \"note\" (Int)\nimport say \"say\" (Text)\nimport sleep \"sleep\" (Duration)\n"
    "import spin \"spin\" (Int)\n";

/* The image of a text. NULL: it is wrong, which fails the test. */
TAP_UNUSED static void *assembled(const char *name, const char *text, size_t *len)
{
    static char whole[65536];
    struct coir_load_error error;
    void *image = NULL;

    snprintf(whole, sizeof whole, "%s%s", prelude, text);
    if (asm_image(whole, &image, len, &error) < 0) {
        OK(false, "%s: %s", name, error.text);
        return NULL;
    }
    return image;
}

/* The same for a program of text. */
TAP_UNUSED static void script(const char *name, const char *text, int code, const char *saying,
                              const char *complaining)
{
    size_t len;
    void *image = assembled(name, text, &len);

    if (image)
        run_each(name, image, len, code, saying, complaining);
    free(image);
}

#endif
