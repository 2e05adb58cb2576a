/* SPDX-License-Identifier: MIT */
/*
 * A host for tests: a module `host` with a builtin of each kind, and a task that opens a machine of a program, calls
 * one of its functions, and closes it. What came out stands in `out`: "42", a Text bare, "trap Key: no key 3", "status
 * -2". Included by files with one main; it sees of the libraries what a stranger's program sees.
 */
#ifndef COIR_TESTS_VM_EMBED_H
#define COIR_TESTS_VM_EMBED_H

#include <coir/coir.h>
#include <coir/vm.h>

#include "tap.h"

static int opened, dropped, ended;      /* tables, and scratches with an end */

/* ---- builtins ---- */

static coir_vm_said same(struct coir_vm *vm)
{
    return coir_vm_return(vm, coir_vm_arg(vm, 0));
}

static coir_vm_said nap(struct coir_vm *vm)
{
    struct coir_sleep *s = coir_vm_scratch(vm, sizeof *s, NULL);

    if (!s)
        return coir_vm_trap_status(vm, -ENOMEM, NULL);
    if (coir_vm_step(vm) == 0)
        return coir_vm_await(vm, s, coir_sleep, .ns = coir_vm_as_duration(coir_vm_arg(vm, 0)));
    return coir_status(s) < 0 ? coir_vm_trap_status(vm, coir_status(s), NULL) : coir_vm_done(vm);
}

struct loop {
    size_t at;
    int64_t sum;
    struct coir_vm_value each;
};

static void loop_end(void *scratch)
{
    (void)scratch;
    ended++;
}

/* The sum of what `do` says of each. */
static coir_vm_said sum(struct coir_vm *vm)
{
    struct loop *const s = coir_vm_scratch(vm, sizeof *s, loop_end);

    if (!s)
        return coir_vm_trap_status(vm, -ENOMEM, NULL);
    if (coir_vm_step(vm) > 0)
        s->sum += coir_vm_as_int(coir_vm_answer(vm));
    if (coir_vm_next(coir_vm_arg(vm, 0), &s->at, NULL, &s->each))
        return coir_vm_ask(vm, coir_vm_arg(vm, 1), &s->each, 1);
    return coir_vm_return(vm, coir_vm_int(vm, s->sum));
}

/* What the program's function `name` says of n. */
static coir_vm_said by_name(struct coir_vm *vm)
{
    struct coir_vm_value args[] = { coir_vm_arg(vm, 1) };
    char name[100];
    size_t n;
    const char *const bytes = coir_vm_as_text(coir_vm_arg(vm, 0), &n);

    snprintf(name, sizeof name, "%.*s", (int)n, bytes);
    if (coir_vm_step(vm) == 0)
        return coir_vm_ask_for(vm, name, args, 1);
    return coir_vm_return(vm, coir_vm_answer(vm));
}

/* Slices of nothing, without end. */
static coir_vm_said spin(struct coir_vm *vm)
{
    return coir_vm_scratch(vm, 16, loop_end) ? coir_vm_more(vm) : coir_vm_trap_status(vm, -ENOMEM, NULL);
}

static coir_vm_said fail(struct coir_vm *vm)
{
    size_t n;
    const char *const bytes = coir_vm_as_text(coir_vm_arg(vm, 0), &n);

    if (coir_vm_count(coir_vm_arg(vm, 0)) == 0)
        return coir_vm_trap_status(vm, -ENOENT, "here");
    return coir_vm_trap(vm, "Key", "no %.*s", (int)n, bytes);
}

/* [Person{ name: "a", age: 1 }, ...], by their names in a map, with the one that was asked for. */
static coir_vm_said people(struct coir_vm *vm)
{
    const struct coir_type *const both = coir_vm_result_type(vm), *const list_type = coir_vm_type_part(both, 1),
        *const person = coir_vm_type_part(list_type, 0);
    const int64_t n = coir_vm_as_int(coir_vm_arg(vm, 0));
    struct coir_vm_value map = coir_vm_map(vm, coir_vm_type_part(both, 0)), list = coir_vm_list(vm, list_type);
    struct coir_vm_value fields[3], result[2];

    for (int64_t i = 0; i < n; i++) {
        char name[24];

        fields[0] = coir_vm_text(vm, name, (size_t)snprintf(name, sizeof name, "p%lld", (long long)i));
        fields[1] = coir_vm_int(vm, i);
        fields[2] = i ? coir_vm_text(vm, "x", 1) : coir_vm_nil(vm);
        result[0] = coir_vm_make(vm, person, fields, 3);
        coir_vm_put(map, fields[0], result[0]);
        coir_vm_push(list, result[0]);
    }
    result[0] = map;
    result[1] = list;
    return coir_vm_return(vm, coir_vm_make(vm, both, result, 2));
}

/* What a shape is, told by C; and its turn by a right angle, made by C. */
static coir_vm_said turned(struct coir_vm *vm)
{
    const struct coir_vm_value shape = coir_vm_arg(vm, 0);
    const char *const name = coir_vm_variant_of(shape);
    struct coir_vm_value sides[2] = { { 0 } };

    const size_t n = coir_vm_count(shape);

    for (size_t i = 0; i < n; i++)
        sides[i] = coir_vm_at(shape, n - 1 - i);
    return coir_vm_return(vm, coir_vm_variant(vm, coir_vm_type_of(shape), name, sides, n));
}

/* ---- a resource ---- */

struct table {
    int64_t n;
};

static void table_drop(void *state)
{
    (void)state;
    dropped++;
}

static coir_vm_said table_open(struct coir_vm *vm)
{
    void *state;
    const struct coir_vm_value v = coir_vm_new(vm, "host.Table", &state);

    if (state) {
        ((struct table *)state)->n = coir_vm_as_int(coir_vm_arg(vm, 0));
        opened++;
    }
    return coir_vm_return(vm, v);
}

static coir_vm_said table_get(struct coir_vm *vm)
{
    const struct table *const t = coir_vm_state(coir_vm_arg(vm, 0), "host.Table");
    const int64_t i = coir_vm_as_int(coir_vm_arg(vm, 1));

    return coir_vm_return(vm, i < t->n ? coir_vm_int(vm, i * i) : coir_vm_nil(vm));
}

static coir_vm_said table_close(struct coir_vm *vm)
{
    return coir_vm_done(vm);
}

/* Lends the table on to the function. */
static coir_vm_said table_with(struct coir_vm *vm)
{
    const struct coir_vm_value args[] = { coir_vm_arg(vm, 0) };

    if (coir_vm_step(vm) == 0)
        return coir_vm_ask(vm, coir_vm_arg(vm, 1), args, 1);
    return coir_vm_return(vm, coir_vm_answer(vm));
}

static const struct coir_vm_builtin builtins[] = {
    { "same_int", same }, { "same_list", same }, { "same_option", same }, { "same_pair", same }, { "same_own", same },
    { "nap", nap }, { "sum", sum }, { "by_name", by_name }, { "spin", spin }, { "fail", fail }, { "people", people },
    { "turned", turned }, { "open", table_open }, { "Table.get", table_get }, { "Table.close", table_close },
    { "Table.with", table_with },
};
static const struct coir_vm_resource resources[] = { { "Table", sizeof(struct table), table_drop } };
static const struct coir_vm_module host = {
    .name = "host",
    .text = "pub type Person { name: Text, age: Int, title: Text? }\n"
            "pub type Shape = Circle(r: Float) | Rect(w: Float, h: Float) | Empty\n"
            "pub type Table {\n"
            "    fn get(self, i: Int) -> Int?\n"
            "    fn close(own self)\n"
            "    fn with(self, do: fn(Table) -> Int) -> Int\n"
            "}\n"
            "pub fn open(n: Int) -> Table\n"
            "pub fn same_int(x: Int) -> Int\n"
            "pub fn same_list(x: List[Text]) -> List[Text]\n"
            "pub fn same_option(x: Int?" "?) -> Int?" "?\n"
            "pub fn same_pair(x: (Text, Float?)) -> (Text, Float?)\n"
            "pub fn same_own(own x: Map[Int, List[Text]]) -> Map[Int, List[Text]]\n"
            "pub fn nap(d: Duration)\n"
            "pub fn sum(xs: List[Int], do: fn(Int) -> Int) -> Int\n"
            "pub fn by_name(name: Text, n: Int) -> Int\n"
            "pub fn spin()\n"
            "pub fn fail(why: Text)\n"
            "pub fn people(n: Int) -> (Map[Text, Person], List[Person])\n"
            "pub fn turned(s: Shape) -> Shape\n"
            "pub fn doubled(x: Int) -> Int { return same_int(x) * 2 }\n",
    .builtins = builtins, .nbuiltins = sizeof builtins / sizeof *builtins,
    .resources = resources, .nresources = 1,
};
static const struct coir_vm_module *const modules[] = { &host, NULL };

/* ---- a machine for one call ---- */

static char out[400];

static void say_value(int status, struct coir_vm_value v)
{
    size_t n = 0, m = 0;
    const char *text;

    if (status == -EREMOTEIO) {
        const struct coir_vm_value code = coir_vm_field(v, "code"), message = coir_vm_field(v, "message");

        text = coir_vm_as_text(code, &n);
        snprintf(out, sizeof out, "trap %.*s: %.*s", (int)n, text, (int)coir_vm_count(message),
                 coir_vm_as_text(message, &m));
        coir_vm_release(code);
        coir_vm_release(message);
        return;
    }
    if (status < 0) {
        snprintf(out, sizeof out, "status %d", status);
        return;
    }
    switch (coir_vm_kind_of(v)) {
    case COIR_VM_INT: snprintf(out, sizeof out, "%lld", (long long)coir_vm_as_int(v)); break;
    case COIR_VM_BOOL: snprintf(out, sizeof out, "%s", coir_vm_as_bool(v) ? "true" : "false"); break;
    case COIR_VM_NOTHING: snprintf(out, sizeof out, "()"); break;
    case COIR_VM_TEXT:
        text = coir_vm_as_text(v, &n);
        snprintf(out, sizeof out, "%.*s", (int)n, text);
        break;
    default: snprintf(out, sizeof out, "a value of kind %d", (int)coir_vm_kind_of(v)); break;
    }
}

struct once {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program; const char *name; size_t max_memory; int64_t cut_after;);
    struct coir_vm_settings settings;
    struct coir_vm *vm;
    struct coir_scope scope;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};
static coir_declare(once);

coir_body(once, f) {
    f->vm = NULL;
    f->settings = (struct coir_vm_settings){ .max_memory = f->max_memory };
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program, .settings = &f->settings);
    if (f->cut_after)
        coir_within(f, &f->scope, coir_now() + f->cut_after, &f->call, coir_vm_call, .vm = f->vm, .name = f->name);
    else
        coir_await(f, &f->call, coir_vm_call, .vm = f->vm, .name = f->name);
    say_value(coir_status(&f->call), f->call.result);
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

/* The program of a text; a test fails if it is wrong. */
static struct coir_vm_program *program_of(const char *name, const char *text)
{
    struct coir_vm_program *p;
    char *why;
    const int status = coir_vm_compile_text("test.coir", text, strlen(text), modules, &p, &why);

    if (!OK(status == 0 && !why, "%s compiles", name))
        NOTE("%d: %s", status, why ? why : "");
    free(why);
    return p;
}

/* Calls `run` of it; `cut_after` nanoseconds it is cancelled. */
TAP_UNUSED static void says(const char *name, const char *text, int64_t cut_after, const char *saying)
{
    struct coir_vm_program *const p = program_of(name, text);

    snprintf(out, sizeof out, "nothing");
    if (p)
        EQ(coir_run(NULL, coir_new(once, .program = p, .name = "run", .cut_after = cut_after)), 0, "%s runs", name);
    STR_EQ(out, saying, "%s", name);
    coir_vm_program_free(p);
}

#endif
