/* SPDX-License-Identifier: MIT */
/*
 * From an image to an exit code. See vm.h.
 */
#include "vm/vm.h"

#include <coir/coir.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm/begin.h"
#include "vm/keeper.h"
#include "vm/raise.h"
#include "vm/world.h"

enum { COULD_NOT_BEGIN = 1, TRAPPED = 2, BY_SIGNAL = 128 };

static int refuse(const char *why)
{
    fprintf(stderr, "coir: %s\n", why);
    return COULD_NOT_BEGIN;
}

/* ---- a run ---- */

static uint64_t arguments(struct coir_vm *vm, int argc, char *const *argv)
{
    struct coir_list *list = coir_list_new(&vm->heap, &vm->heap.types[COIR_INDEX_TEXTS], (size_t)argc);

    for (int i = 0; list && i < argc; i++) {
        struct coir_text *t = coir_text_of(&vm->heap, argv[i], strlen(argv[i]));

        if (!t) {
            coir_drop(&vm->heap, &list->head);
            return 0;
        }
        list->data[list->len++] = coir_slot_of(t);
    }
    return coir_slot_of(list);
}

static int exit_code(struct coir_vm *vm)
{
    const int signal = coir_world_signal(vm->world);
    int code = (uint8_t)vm->main_result;

    if (vm->main_trap) {
        code = signal ? BY_SIGNAL + signal : TRAPPED;
        coir_drop(&vm->heap, coir_ref(vm->main_trap));
        vm->main_trap = 0;
    }
    return code;
}

static int run(struct coir_vm *vm, int argc, char *const *argv, const struct coir_vm_options *o)
{
    /* programs run beside each other, and would all be pinned to the first CPUs */
    const struct coir_options options = { .io = o->io, .shards = vm->world->n, .unpinned = true };
    const uint64_t args = arguments(vm, argc, argv);
    struct coir_task *keeper = args ? coir_keeper_new(vm, args, o->signals) : NULL;
    int status;

    if (!keeper) {
        if (args)
            coir_drop(&vm->heap, coir_ref(args));
        return refuse("no memory to begin");
    }
    status = coir_run(&options, keeper);
    if (!vm->main_began)
        coir_drop(&vm->heap, coir_ref(args));
    if (status == -ENOMEM && !vm->main_ended)
        return refuse("no memory to begin");
    if (!vm->main_ended)
        return COULD_NOT_BEGIN;              /* coir_run has said why */
    return exit_code(vm);
}

/* Writes the rest of what was printed; that it failed counts as a trap that main was not told of. */
static int finish(struct coir_vm *vm, int code)
{
    const int status = coir_output_finish(&vm->streams->out);

    if (status == 0)
        return code;
    fprintf(stderr, "trap Io: %s: stdout\n", strerrordesc_np(-status));
    return code ? code : TRAPPED;
}

static void sum_up(const struct coir_world *w, struct coir_vm_report *report)
{
    *report = (struct coir_vm_report){ 0 };
    for (uint32_t i = 0; i < w->n; i++) {
        report->allocations += w->vms[i]->heap.allocations;
        report->copies += w->vms[i]->heap.copies;
        report->lives += w->vms[i]->heap.lives;
        report->resumed += w->vms[i]->progress;
    }
}

static int run_program(struct coir_program *p, int argc, char *const *argv, const struct coir_vm_options *o,
                       struct coir_vm_report *report)
{
    struct coir_world world;
    int code;

    if (p->main < 0)
        return refuse("the image has no main");
    if (!coir_make_constants(p) || coir_world_init(&world, p, o->shards ? o->shards : 1, o->max_memory, o->seed) < 0)
        return refuse("no memory for the program");
    for (uint32_t i = 0; i < world.n; i++) {
        struct coir_vm *vm = world.vms[i];

        vm->reductions = coir_reductions(o->reductions);
        vm->mailbox = coir_mailbox(o->mailbox);
        vm->slices = o->slices;
        vm->by_switch = coir_by_switch(o->dispatch);
        vm->argc = argc;
        vm->argv = argv;
    }
    fflush(stdout);                          /* what the process has printed so far comes first */
    code = finish(world.vms[0], run(world.vms[0], argc, argv, o));
    coir_world_bury(&world);
    if (report)
        sum_up(&world, report);
    coir_world_end(&world);
    return code;
}

int coir_vm_run(const void *image, size_t length, int argc, char *const *argv, const struct coir_vm_options *options,
                struct coir_vm_report *report)
{
    static const struct coir_vm_options usual;
    const struct coir_vm_options *o = options ? options : &usual;
    const struct coir_standard_library library = coir_library_of(o->natives);
    struct coir_program *p;
    struct coir_load_error error;
    int code;

    if (o->shards > COIR_SHARDS_MOST)
        return refuse("a program has at most 64 shards");
    code = coir_program_load(image, length, &library.library, &p, &error);
    if (code < 0)
        return refuse(code == -ENOMEM ? "no memory to load the image" : error.text);
    code = run_program(p, argc, argv, o, report);
    coir_program_free(p);
    return code;
}
