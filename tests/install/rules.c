/* SPDX-License-Identifier: MIT */
/*
 * A stranger's program: rules in Coir, which call a function of it. It prints what they say of its argument.
 */
#include <coir/coir.h>
#include <coir/vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "use host\n"
                           "pub fn rule(t: Text) -> Text { return \"${host.length(t)} ${t.upper()}\" }\n";

static coir_vm_said length(struct coir_vm *vm)
{
    return coir_vm_return(vm, coir_vm_int(vm, (int64_t)coir_vm_count(coir_vm_arg(vm, 0))));
}

static const struct coir_vm_builtin builtins[] = { { "length", length } };
static const struct coir_vm_module host = {
    .name = "host", .text = "pub fn length(t: Text) -> Int\n", .builtins = builtins, .nbuiltins = 1,
};
static const struct coir_vm_module *const modules[] = { &host, NULL };

struct rules {
    coir_frame_void;
    coir_args(const struct coir_vm_program *program; const char *argument;);
    struct coir_vm *vm;
    struct coir_vm_value arg;
    struct coir_vm_open open;
    struct coir_vm_call call;
    struct coir_vm_close close;
};
static coir_declare(rules);

static void print(struct coir_vm_value v)
{
    size_t n;
    const char *bytes = coir_vm_as_text(v, &n);

    printf("%.*s\n", (int)n, bytes);
}

coir_body(rules, f) {
    f->vm = NULL;
    coir_get(f, f->vm, &f->open, coir_vm_open, .program = f->program);
    f->arg = coir_vm_text(f->vm, f->argument, strlen(f->argument));
    coir_try(f, &f->call, coir_vm_call, .vm = f->vm, .name = "rule", .args = &f->arg, .n = 1);
    print(f->call.result);
    coir_finally(f) {
        coir_await(f, &f->close, coir_vm_close, .vm = f->vm);
    }
} coir_end

int main(int argc, char **argv)
{
    struct coir_vm_program *program;
    char *why;
    int status;

    if (argc != 2)
        return 2;
    if (coir_vm_compile_text("rules.coir", text, sizeof text - 1, modules, &program, &why) < 0) {
        fprintf(stderr, "%s", why ? why : "no memory\n");
        free(why);
        return 1;
    }
    free(why);
    status = coir_main(coir_new(rules, .program = program, .argument = argv[1]));
    coir_vm_program_free(program);
    return status;
}
