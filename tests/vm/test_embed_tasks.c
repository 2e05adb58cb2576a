/* SPDX-License-Identifier: MIT */
/*
 * A machine and tasks in C on one shard: calls and what they end with, fibers that run by themselves, channels of both
 * sides, cancelling, closing while somebody waits; several machines at once; and images that are saved and loaded.
 */
#include "embed.h"

#define USE "use host\n"

static const char program_text[] = USE
    "pub type Pair { a: Int, b: Text }\n"
    "pub fn add(a: Int, b: Int) -> Int { return a + b }\n"
    "pub fn greet(name: Text?) -> Text { return \"hello ${name ?" "? \"nobody\"}\" }\n"
    "pub fn pair(a: Int) -> Pair { return Pair{ a: a, b: \"${a}\" } }\n"
    "pub fn divide(a: Int, b: Int) -> Int { return a / b }\n"
    "pub fn adder(k: Int) -> fn(Int) -> Int { return x => x + k }\n"
    "pub fn sleep() { host.nap(60s) }\n"
    "pub fn stubborn() -> Int { var n = 0\n loop { try { host.nap(60s) } catch _ { n += 1 }\n"
    " if n == 3 { return n } } }\n"
    "pub fn forever() { loop { try { host.nap(60s) } catch _ { host.same_int(1) } } }\n"
    "pub fn relay(in_: Chan[Int], out: Chan[Int]) { for v in in_ { out.send(v * 2) }\n out.close() }\n"
    "pub fn wait_on(c: Chan[Int]) -> Int? { return c.recv() }\n"
    "pub fn take(own t: host.Table) -> Int { return t.get(2) ?" "? 0 }\n"
    "pub fn look(t: host.Table) -> Int { return t.get(2) ?" "? 0 }\n"
    "pub fn change(mut xs: List[Int]) { xs.push(1) }\n"
    "pub fn made() -> host.Table { return host.open(5) }\n"
    "pub fn texts(xs: List[Text]) -> Int { return xs.len() }\n"
    "fn private() -> Int { return 1 }\n"
    "pub fn uses() -> Int { return private() }\n";

/* ---- calls ---- */

struct calls {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_vm *vm;
    struct coir_vm_value args[3], function, held;
    struct coir_scope scope;
    size_t i;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};
static coir_declare(calls);

#define CALL(function_name, count) \
    coir_await(f, &f->call, coir_vm_call, .vm = f->vm, .name = function_name, .args = f->args, .n = count); \
    say_value(coir_status(&f->call), f->call.result)

coir_body(calls, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    f->args[0] = coir_vm_int(f->vm, 40);
    f->args[1] = coir_vm_int(f->vm, 2);
    CALL("add", 2);
    STR_EQ(out, "42", "a sum");
    CALL("add", 1);
    STR_EQ(out, "status -22", "an argument is missing");
    CALL("nothing", 0);
    STR_EQ(out, "status -2", "no such function");
    CALL("private", 0);
    STR_EQ(out, "status -2", "one that is not pub is none");
    f->args[1] = coir_vm_text(f->vm, "2", 1);
    CALL("add", 2);
    STR_EQ(out, "status -22", "a Text for an Int");
    CALL("greet", 1);
    STR_EQ(out, "status -22", "an Int for a Text?");
    f->args[0] = f->args[1];
    CALL("greet", 1);
    STR_EQ(out, "hello 2", "a Text for a Text?");
    f->args[0] = coir_vm_nil(f->vm);
    CALL("greet", 1);
    STR_EQ(out, "hello nobody", "nil for it");
    f->args[0] = coir_vm_int(f->vm, 1);
    f->args[1] = coir_vm_int(f->vm, 0);
    CALL("divide", 2);
    STR_EQ(out, "trap DivZero: division by zero", "a trap");
    EQ(coir_status(&f->call), -EREMOTEIO, "it says so");
    f->held = coir_vm_field(f->call.result, "line");
    EQ(coir_vm_as_int(f->held), 6, "with its line");
    CALL("change", 1);
    STR_EQ(out, "status -22", "a mut parameter is not for C");
    CALL("pair", 1);
    f->held = coir_vm_field(f->call.result, "b");
    EQ(coir_vm_kind_of(f->call.result), COIR_VM_RECORD, "a record");
    EQ(coir_vm_count(f->call.result), 2, "of two fields");
    say_value(0, f->held);
    STR_EQ(out, "1", "its field");
    f->args[0] = coir_vm_int(f->vm, 5);
    CALL("adder", 1);
    f->function = f->call.result;
    EQ(coir_vm_kind_of(f->function), COIR_VM_FUNCTION, "a function");
    for (f->i = 0; f->i < 3; f->i++) {
        f->args[0] = coir_vm_int(f->vm, (int64_t)f->i);
        coir_await(f, &f->call, coir_vm_call, .vm = f->vm, .function = f->function, .args = f->args, .n = 1);
        EQ(coir_vm_as_int(f->call.result), f->i + 5, "is called");
    }
    coir_within(f, &f->scope, coir_now() + 3000000, &f->call, coir_vm_call, .vm = f->vm, .name = "sleep");
    EQ(coir_status(&f->call), -ETIMEDOUT, "a call under a time");
    coir_within(f, &f->scope, coir_now() + 3000000, &f->call, coir_vm_call, .vm = f->vm, .name = "stubborn");
    say_value(coir_status(&f->call), f->call.result);
    STR_EQ(out, "3", "one that does not mind has its result");
    EQ(coir_vm_fibers(f->vm), 0, "no fiber is left");
    f->args[0] = coir_vm_list(f->vm, coir_vm_type(f->vm, "List[Text]"));
    coir_vm_push(f->args[0], coir_vm_text(f->vm, "x", 1));
    CALL("texts", 1);
    STR_EQ(out, "1", "a list");
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

/* ---- resources in C's hands ---- */

coir_declare(owner);
struct owner {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_vm *vm;
    struct coir_vm_value args[2];
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};

coir_body(owner, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    dropped = opened = 0;
    CALL("made", 0);
    f->args[0] = f->call.result;
    EQ(coir_vm_kind_of(f->args[0]), COIR_VM_RESOURCE, "a resource");
    CALL("look", 1);
    STR_EQ(out, "status -22", "what C owns is not lent");
    CALL("take", 1);
    STR_EQ(out, "4", "but given away");
    EQ(dropped, 1, "and dropped there");
    CALL("made", 0);
    coir_vm_release(f->call.result);
    EQ(dropped, 2, "or by C");
    CALL("made", 0);
    CALL("made", 0);
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
        EQ(dropped, opened, "or by the end");
    }
} coir_end

/* ---- channels ---- */

struct chans {
    coir_frame(int64_t);
    coir_args(const struct coir_vm_program *program; int n;);
    struct coir_vm *vm;
    struct coir_vm_value args[2];
    int i;
    struct coir_vm_open open;
    struct coir_vm_send send;
    struct coir_vm_recv recv;
    struct coir_vm_close close;
};
static coir_declare(chans);

coir_body(chans, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    f->args[0] = coir_vm_chan(f->vm, coir_vm_type(f->vm, "Chan[Int]"), 2);
    f->args[1] = coir_vm_chan(f->vm, coir_vm_type(f->vm, "Chan[Int]"), 0);
    EQ(coir_vm_start(f->vm, "relay", (struct coir_vm_value){ 0 }, f->args, 2), 0, "a fiber runs");
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->send, coir_vm_send, .chan = f->args[0], .value = coir_vm_int(f->vm, f->i));
        coir_try(f, &f->recv, coir_vm_recv, .chan = f->args[1]);
        f->result += coir_vm_as_int(f->recv.result);
        coir_vm_release(f->recv.result);
    }
    coir_await(f, &f->send, coir_vm_send, .chan = f->args[0], .value = coir_vm_bool(f->vm, true));
    EQ(coir_status(&f->send), -EINVAL, "a Bool for an Int");
    coir_vm_chan_close(f->args[0]);
    coir_await(f, &f->send, coir_vm_send, .chan = f->args[0], .value = coir_vm_int(f->vm, 1));
    EQ(coir_status(&f->send), -EPIPE, "a closed channel");
    coir_try(f, &f->recv, coir_vm_recv, .chan = f->args[1]);
    EQ(coir_vm_kind_of(f->recv.result), COIR_VM_NONE, "which the fiber has seen, and closed the other");
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

/* ---- two machines, and more ---- */

struct both {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_combine all;
    struct coir_task *kids[3];
    struct chans first, second, third;
};
static coir_declare(both);

coir_body(both, f) {
    f->kids[0] = coir_make(&f->first, chans, .program = f->program, .n = 100);
    f->kids[1] = coir_make(&f->second, chans, .program = f->program, .n = 50);
    f->kids[2] = coir_make(&f->third, chans, .program = f->program, .n = 10);
    coir_all(f, &f->all, f->kids, 3);
    EQ(f->first.result, 9900, "three machines of one program at once");
    EQ(f->second.result, 2450, "each");
    EQ(f->third.result, 90, "by itself");
} coir_end

/* ---- closed while somebody waits ---- */

struct waiter {
    coir_frame_void;
    coir_args(struct coir_vm_value chan; int *status;);
    struct coir_vm_recv recv;
};
static coir_declare(waiter);

coir_body(waiter, f) {
    coir_await(f, &f->recv, coir_vm_recv, .chan = f->chan);
    *f->status = coir_status(&f->recv);
} coir_end

struct caller {
    coir_frame_void;
    coir_args(struct coir_vm *vm; const char *name; int *status;);
    struct coir_vm_call call;
};
static coir_declare(caller);

coir_body(caller, f) {
    coir_await(f, &f->call, coir_vm_call, .vm = f->vm, .name = f->name);
    *f->status = coir_status(&f->call);
} coir_end

struct closes {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_vm *vm;
    struct coir_vm_value chan;
    int received, slept, looped;
    struct coir_group group;
    struct coir_vm_open open;
    struct coir_sleep sleep;
    struct coir_vm_close close;
    struct coir_group_wait wait;
};
static coir_declare(closes);

coir_body(closes, f) {
    coir_group_open(f, &f->group, .keep_going = true);
    f->received = f->slept = f->looped = 1;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    f->chan = coir_vm_chan(f->vm, coir_vm_type(f->vm, "Chan[Int]"), 0);
    coir_spawn(&f->group, coir_new(waiter, .chan = f->chan, .status = &f->received));
    coir_spawn(&f->group, coir_new(caller, .vm = f->vm, .name = "sleep", .status = &f->slept));
    coir_spawn(&f->group, coir_new(caller, .vm = f->vm, .name = "forever", .status = &f->looped));
    coir_vm_start(f->vm, "wait_on", (struct coir_vm_value){ 0 }, &f->chan, 1);
    do
        coir_try(f, &f->sleep, coir_sleep, .ns = 2000000);
    while (coir_vm_fibers(f->vm) < 3);
    EQ(coir_vm_fibers(f->vm), 3, "three fibers");
    coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    EQ(f->received, -ESHUTDOWN, "who waits in a channel is told");
    EQ(f->slept, -ECANCELED, "a call is cut");
    EQ(f->looped, -ECANCELED, "also one that catches all there is");
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

/* The run ends, with fibers that catch everything, and the one who closes is told late. */
struct abandoned {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_vm *vm;
    struct coir_vm_open open;
    struct coir_sleep sleep;
    struct coir_vm_close close;
};
static coir_declare(abandoned);

coir_body(abandoned, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    coir_vm_start(f->vm, "forever", (struct coir_vm_value){ 0 }, NULL, 0);
    coir_vm_start(f->vm, "sleep", (struct coir_vm_value){ 0 }, NULL, 0);
    coir_await(f, &f->sleep, coir_sleep, .ns = COIR_NEVER / 2);
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

struct starts {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program;);
    struct coir_sleep sleep;
};
static coir_declare(starts);

coir_body(starts, f) {
    coir_detach(coir_new(abandoned, .program = f->program));
    coir_try(f, &f->sleep, coir_sleep, .ns = 2000000);
} coir_end

/* ---- images ---- */

static coir_vm_said other(struct coir_vm *vm)
{
    return coir_vm_return(vm, coir_vm_arg(vm, 0));
}

static int load_with(const struct coir_vm_program *p, const char *text, const struct coir_vm_builtin *builtin,
                     const char *saying)
{
    const struct coir_vm_module changed = { .name = "host", .text = text, .builtins = builtin, .nbuiltins = 1 };
    const struct coir_vm_module *const list[] = { &changed, NULL };
    struct coir_vm_program *loaded;
    char *why;
    size_t n;
    const void *const image = coir_vm_image(p, &n);
    const int status = coir_vm_load(image, n, list, &loaded, &why);

    OK(saying ? why && strstr(why, saying) : !why, "%s", why ? why : "loaded");
    free(why);
    coir_vm_program_free(loaded);
    return status;
}

static void images(void)
{
    static const char text[] = USE "pub fn run() -> Int { return host.f(host.P{ a: 1, b: [2] }).a }";
    static const char declares[] = "pub type P { a: Int, b: List[Int] }\npub fn f(x: P) -> P\n";
    const struct coir_vm_builtin f = { "f", other };
    const struct coir_vm_module module = { .name = "host", .text = declares, .builtins = &f, .nbuiltins = 1 };
    const struct coir_vm_module *const list[] = { &module, NULL };
    struct coir_vm_program *p, *loaded;
    const void *image;
    char *why, *bytes;
    size_t n;

    EQ(coir_vm_compile_text("a.coir", text, sizeof text - 1, list, &p, &why), 0, "compiled");
    image = coir_vm_image(p, &n);
    EQ(coir_vm_load(image, n, list, &loaded, &why), 0, "and loaded again");
    EQ(coir_run(NULL, coir_new(once, .program = loaded, .name = "run")), 0, "run");
    STR_EQ(out, "1", "as it was");
    coir_vm_program_free(loaded);
    EQ(load_with(p, "pub type P { a: Int, b: List[Text] }\npub fn f(x: P) -> P\n", &f, "host.f"), -EINVAL, "a list");
    EQ(load_with(p, "pub type P { a: Int, c: List[Int] }\npub fn f(x: P) -> P\n", &f, "host.f"), -EINVAL, "a name");
    EQ(load_with(p, "pub type P { a: Int, b: List[Int] }\npub fn f(own x: P) -> P\n", &f, "host.f"), -EINVAL, "own");
    EQ(load_with(p, "pub type P { a: Int, b: List[Int] }\npub fn f(x: P) -> P?\n", &f, "host.f"), -EINVAL, "a result");
    EQ(load_with(p, "pub type Q { x: P }\npub type P { a: Int, b: List[Int] }\npub fn f(x: P) -> P\n", &f, NULL), 0,
       "what else is there does not matter");
    bytes = malloc(n);
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes, image, n);
        bytes[i] ^= 0x41;
        if (coir_vm_load(bytes, n, list, &loaded, &why) == 0) {
            coir_run(NULL, coir_new(once, .program = loaded, .name = "run", .max_memory = 1 << 22,
                                    .cut_after = 20000000));
            coir_vm_program_free(loaded);
        }
        free(why);
    }
    free(bytes);
    OK(true, "any byte of an image may be another");
    coir_vm_program_free(p);
}

/* ---- modules that are wrong ---- */

static void wrong_module(const char *text, const struct coir_vm_builtin *b, size_t n, const char *name,
                         const char *saying)
{
    const struct coir_vm_module module = { .name = name, .text = text, .builtins = b, .nbuiltins = n };
    const struct coir_vm_module *const list[] = { &module, NULL };
    struct coir_vm_program *p;
    char *why;

    EQ(coir_vm_compile_text("a.coir", "", 0, list, &p, &why), -EINVAL, "a module: %s", saying);
    if (!OK(why && strstr(why, saying), "it says so"))
        NOTE("it says: %s", why ? why : "nothing");
    OK(!p, "there is no program");
    free(why);
}

static void wrong_modules(void)
{
    static const struct coir_vm_builtin f = { "f", other }, method = { "Table.f", other };

    wrong_module("pub fn f(x: Int) -> Int\n", NULL, 0, "m", "nothing in C is given for m.f");
    wrong_module("pub fn g(x: Int) -> Int { return x }\n", &f, 1, "m", "m.f is not declared");
    wrong_module("pub fn f[T](x: T) -> T\n", &f, 1, "m", "m.f is not declared");
    wrong_module("pub fn f(mut x: Int)\n", &f, 1, "m", "m.f has a `mut` parameter");
    wrong_module("pub fn f(x: Nothing)\n", &f, 1, "m", "<m>:1:13: error");
    wrong_module("pub fn f(x: Int) -> Int\n", &f, 1, "net", "cannot be called `net`");
    wrong_module("pub fn f(x: Int) -> Int\n", &f, 1, "a b", "cannot be called `a b`");
    wrong_module("pub type Table {\n fn f(self)\n}\n", &method, 1, "m", "m.Table");
    wrong_module("pub fn f(self: Text) -> Int\n", &f, 1, "m", "Text.f");
}

int main(void)
{
    struct coir_vm_program *const p = program_of("the program", program_text);

    EQ(coir_run(NULL, coir_new(calls, .program = p)), 0, "calls");
    EQ(coir_run(NULL, coir_new(owner, .program = p)), 0, "resources");
    EQ(coir_run(NULL, coir_new(chans, .program = p, .n = 20)), 0, "channels");
    EQ(coir_run(NULL, coir_new(both, .program = p)), 0, "machines");
    EQ(coir_run(NULL, coir_new(closes, .program = p)), 0, "closing");
    EQ(coir_run(NULL, coir_new(starts, .program = p)), 0, "a run that ends before");
    coir_vm_program_free(p);
    images();
    wrong_modules();
    return DONE();
}
