/* SPDX-License-Identifier: MIT */
/*
 * What a host does wrong stops the process, with a line that says which call it was; each in a child. And no memory:
 * every allocation of a machine fails in its turn, and each time all is given back.
 */
#include <signal.h>
#include <sys/wait.h>

#include "embed.h"

#define USE "use host\n"

static struct coir_vm_program *program;

/* ---- wrong in a task ---- */

enum wrong { KIND, GONE, TWICE, FIELD, VARIANT, NIL, LEFT_OVER, OTHER_MACHINE, NO_TYPE, LIST_OF, CLOSED, NO_BUILTIN,
             KEEPS_RESOURCE, STATE, WRONGS };

struct wrongs {
    coir_frame_void;
    coir_args(enum wrong what;);
    struct coir_vm *vm, *second;
    struct coir_vm_value v, w;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};
static coir_declare(wrongs);

static void do_wrong(struct wrongs *f)
{
    void *state;

    f->v = coir_vm_text(f->vm, "x", 1);
    switch (f->what) {
    case KIND: coir_vm_as_int(f->v); break;
    case GONE: coir_vm_release(f->v); coir_vm_as_text(f->v, NULL); break;
    case TWICE: coir_vm_release(f->v); coir_vm_release(f->v); break;
    case FIELD: coir_vm_field(f->call.result, "c"); break;
    case VARIANT: coir_vm_variant(f->vm, coir_vm_type(f->vm, "Shape"), "Square", NULL, 0); break;
    case NIL: coir_vm_push(coir_vm_list(f->vm, coir_vm_type(f->vm, "List[Int]")), coir_vm_nil(f->vm)); break;
    case LEFT_OVER: coir_vm_at(f->v, 0); break;
    case OTHER_MACHINE:
        coir_vm_push(coir_vm_list(f->second, coir_vm_type(f->second, "List[Text]")), f->v);
        break;
    case NO_TYPE: coir_vm_list(f->vm, (const struct coir_type *)(const void *)f); break;
    case LIST_OF: coir_vm_list(f->vm, coir_vm_type(f->vm, "Int")); break;
    case NO_BUILTIN: coir_vm_arg(f->vm, 0); break;
    case KEEPS_RESOURCE: coir_vm_keep(coir_vm_new(f->vm, "host.Table", &state)); break;
    case STATE: coir_vm_state(coir_vm_new(f->vm, "host.Table", &state), "host.Chair"); break;
    default: break;
    }
}

coir_body(wrongs, f) {
    coir_get(f, f->second, &f->open, coir_vm_open, .program = program);
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = program);
    coir_try(f, &f->call, coir_vm_call, .vm = f->vm, .name = "pair");
    do_wrong(f);
    f->v = coir_vm_text(f->vm, "x", 1);
    coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    if (f->what == CLOSED)
        coir_vm_as_text(f->v, NULL);
    coir_await(f, &f->close, coir_vm_close, .vm = f->second);
} coir_end

static void run_wrong(int what)
{
    coir_run(NULL, coir_new(wrongs, .what = (enum wrong)what));
}

/* In a child, which is to be stopped by abort() after these words on stderr; NULL: it is to end well. */
static void dies(const char *name, void (*breaks)(int), int arg, const char *words)
{
    char heard[4096] = "";
    size_t n = 0;
    int pipes[2], status;
    pid_t child;

    OK(pipe(pipes) == 0, "%s: a pipe", name);
    child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        breaks(arg);
        _exit(0);
    }
    close(pipes[1]);
    for (ssize_t got; n < sizeof heard - 1 && (got = read(pipes[0], heard + n, sizeof heard - 1 - n)) > 0;)
        n += (size_t)got;
    heard[n] = 0;
    close(pipes[0]);
    waitpid(child, &status, 0);
    if (!words) {
        OK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: ends well: %s", name, heard);
        return;
    }
    if (!OK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: the process is stopped", name))
        NOTE("status %#x", (unsigned)status);
    if (!OK(strstr(heard, words), "%s: it says \"%s\"", name, words))
        NOTE("it says: %s", heard);
}

static void in_a_task(void)
{
    static const struct { const char *name, *words; } cases[WRONGS] = {
        [KIND] = { "another kind", "coir: coir_vm_as_int: the value is Text" },
        [GONE] = { "a value that is gone", "coir: coir_vm_as_text: the value is gone" },
        [TWICE] = { "released twice", "coir: coir_vm_release: the value is gone" },
        [FIELD] = { "no such field", "coir: coir_vm_field: Pair has no field `c`" },
        [VARIANT] = { "no such variant", "coir: coir_vm_variant: Shape has no variant `Square`" },
        [NIL] = { "nil for an Int", "coir: coir_vm_push: Int is wanted, and the value is nil" },
        [LEFT_OVER] = { "a part of a Text", "coir: coir_vm_at: a map and a Text have no parts" },
        [OTHER_MACHINE] = { "another machine's", "coir: coir_vm_push: the value is another machine's" },
        [NO_TYPE] = { "what is no type", "coir: coir_vm_list: it is no type of this program" },
        [LIST_OF] = { "a list that is an Int", "coir: coir_vm_list: the type is Int" },
        [CLOSED] = { "a closed machine", "coir: coir_vm_as_text: the machine is closed" },
        [NO_BUILTIN] = { "no builtin", "coir: coir_vm_arg: no builtin runs" },
        [KEEPS_RESOURCE] = { "a resource kept", "coir: coir_vm_keep: what has one owner cannot be kept" },
        [STATE] = { "another resource", "coir: coir_vm_state: the value is host.Table, not host.Chair" },
    };

    for (int i = 0; i < WRONGS; i++)
        dies(cases[i].name, run_wrong, i, cases[i].words);
    dies("nothing wrong", run_wrong, WRONGS, NULL);
}

/* ---- wrong in a builtin ---- */

enum { SAYS_TWICE, SAYS_NOTHING, OTHER_RESULT, NO_RESULT, SLOT, GIVES_LENT, KEEPS_NAME, PARAMETER, BUILTIN_WRONGS };
static int wrong_builtin;
static struct coir_vm_value kept_name;

static coir_vm_said bad(struct coir_vm *vm)
{
    static struct coir_sleep apart;
    struct coir_vm_value v = coir_vm_int(vm, 1);

    switch (wrong_builtin) {
    case SAYS_TWICE: coir_vm_more(vm); return coir_vm_return(vm, v);
    case SAYS_NOTHING: return (coir_vm_said){ 0 };
    case OTHER_RESULT: return coir_vm_return(vm, coir_vm_text(vm, "x", 1));
    case NO_RESULT: return coir_vm_done(vm);
    case SLOT: return coir_vm_await(vm, &apart, coir_sleep, .ns = 1);
    case GIVES_LENT:
        coir_vm_push(coir_vm_list(vm, coir_vm_type(vm, "List[host.Table]")), coir_vm_arg(vm, 0));
        break;
    case KEEPS_NAME:
        if (kept_name.vm)
            coir_vm_as_int(kept_name);
        kept_name = v;
        break;
    case PARAMETER: coir_vm_arg(vm, 1); break;
    default: break;
    }
    return coir_vm_return(vm, v);
}

static void run_bad(int what)
{
    static const char text[] = "use host\npub fn run() -> Int { let t = host.open(1)\n let a = [host.open(2)]\n"
                               "return host.bad(t) + host.bad(a[0]) }";
    static const struct coir_vm_builtin list[] = { { "bad", bad }, { "open", table_open } };
    const struct coir_vm_module module = {
        .name = "host",
        .text = "pub type Table { }\npub fn open(n: Int) -> Table\npub fn bad(t: Table) -> Int\n",
        .builtins = list, .nbuiltins = 2, .resources = resources, .nresources = 1 };
    const struct coir_vm_module *const all[] = { &module, NULL };
    struct coir_vm_program *p;
    char *why;

    wrong_builtin = what;
    if (coir_vm_compile_text("a.coir", text, sizeof text - 1, all, &p, &why) == 0)
        coir_run(NULL, coir_new(once, .program = p, .name = "run"));
    else
        fprintf(stderr, "%s", why);
    free(why);
    coir_vm_program_free(p);
}

static void in_a_builtin(void)
{
    static const struct { const char *name, *words; } cases[BUILTIN_WRONGS] = {
        [SAYS_TWICE] = { "said twice", "coir: coir_vm_return: bad has said already" },
        [SAYS_NOTHING] = { "said nothing", "coir: bad: the builtin has returned what is not of coir_vm_return" },
        [OTHER_RESULT] = { "another result", "coir: coir_vm_return: Int is wanted, and the value is Text" },
        [NO_RESULT] = { "no result", "coir: coir_vm_done: bad has a result" },
        [SLOT] = { "a slot elsewhere", "coir: coir_vm_await: the slot is not in the scratch of bad" },
        [GIVES_LENT] = { "what is lent", "coir: coir_vm_push: what is lent cannot be given away" },
        [KEEPS_NAME] = { "a name of another call", "coir: coir_vm_as_int: the value is gone" },
        [PARAMETER] = { "a parameter too many", "coir: coir_vm_arg: bad has 1 parameters" },
    };

    for (int i = 0; i < BUILTIN_WRONGS; i++)
        dies(cases[i].name, run_bad, i, cases[i].words);
}

/* ---- no memory ---- */

#ifdef COIR_FAULTS
extern _Thread_local long coir_heap_fail_at;

static const char everything[] = USE
    "let words = [\"a\", \"b\"]\n"
    "fn use_all() -> Text {\n"
    "    let (m, l) = host.people(3)\n"
    "    let t = host.open(4)\n"
    "    let n = host.sum([1, 2, 3], x => host.sum([x], y => y * 2 + (t_get(x))))\n"
    "    host.nap(1us)\n"
    "    return \"${m.len()} ${l.len()} ${n} ${t.with(u => u.get(1) ?" "? 0)} ${host.same_list(words)} "
    "${host.by_name(\"twice\", 2)} ${host.turned(host.Rect(1.0, 2.0))}\"\n"
    "}\n"
    "fn t_get(x: Int) -> Int { return x }\n"
    "pub fn twice(n: Int) -> Int { return n * 2 }\n"
    "pub fn run() -> Text { return use_all() }\n";

static void each_fails(void)
{
    struct coir_vm_program *const p = program_of("everything", everything);
    long n = 0;

    for (bool failed = true; failed && p; n++) {
        opened = dropped = 0;
        snprintf(out, sizeof out, "nothing");
        coir_heap_fail_at = n + 1;
        const int status = coir_run(NULL, coir_new(once, .program = p, .name = "run"));
        failed = coir_heap_fail_at == 0;
        coir_heap_fail_at = 0;
        OK(failed ? status == -ENOMEM || strstr(out, "trap Memory") || strstr(out, "trap Stack")
                        || !strcmp(out, "status -12") || status == -EREMOTEIO
                  : !strcmp(out, "3 3 18 1 [\"a\", \"b\"] 4 Rect(2.0, 1.0)"),
           "allocation %ld fails: %d, %s", n, status, out);
        EQ(opened, dropped, "and what was opened is dropped");
    }
    OK(n > 60, "%ld allocations", n);
    coir_vm_program_free(p);
}
#endif

static void limited(void)
{
    struct coir_vm_program *const p = program_of("a list without end",
        "pub fn run() -> Int { var xs = [1]\n loop { xs.push(2) } }");

    coir_run(NULL, coir_new(once, .program = p, .name = "run", .max_memory = 1 << 20));
    STR_EQ(out, "trap Memory: out of memory", "a machine has its limit");
    coir_vm_program_free(p);
}

int main(void)
{
    setenv("COIR_RECORD", "64", 1);         /* what is told of fibers is read when the process is stopped, too */
    program = program_of("the program", USE "pub type Pair { a: Int, b: Text }\n"
                         "pub fn pair() -> Pair { return Pair{ a: 1, b: \"x\" } }\n"
                         "pub fn lists(a: List[Int], b: List[Text], s: host.Shape, own t: host.Table) -> Int {\n"
                         "    return a.len() + b.len() + (t.get(0) ?" "? 0) + \"${s}\".len() }\n");
    in_a_task();
    in_a_builtin();
    coir_vm_program_free(program);
#ifdef COIR_FAULTS
    each_fails();
#endif
    limited();
    return DONE();
}
