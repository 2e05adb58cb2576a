/* SPDX-License-Identifier: MIT */
/*
 * Constants of modules. The init function of shard 0 makes them, before main begins, and every shard is lent them
 * afterwards. With one shard they are cells as others. With several nobody may count them: so each is made fit to
 * cross, which leaves no cell of it held by anybody else, and then all of its cells become immortal. They are kept in
 * a list, in which they become mortal again when the program is over.
 *
 * Constants share cells, with others and inside: so a cell's count is, beside that it is immortal, how many of them
 * hold it. That is what it has when it is mortal again, and when nothing else is left that refers to it.
 */
#include "vm/globals.h"

#include <stdlib.h>

#include "vm/cross.h"
#include "vm/world.h"

/* The cells of shard 0's constants. */
struct coir_kept {
    struct coir_counted **cells;
    size_t n, room;
};

/* False: no memory. */
static bool keep(struct coir_kept *k, uint64_t slot)
{
    struct coir_counted *const c = coir_ref(slot);

    if (!c)
        return true;
    if (c->count > COIR_IMMORTAL)               /* it is one of them: here it is held once more */
        c->count++;
    if (coir_count(c) <= 0)
        return true;
    if (k->n == k->room) {
        const size_t room = k->room ? k->room * 2 : 64;
        struct coir_counted **more = realloc(k->cells, room * sizeof *more);

        if (!more)
            return false;
        k->cells = more;
        k->room = room;
    }
    k->cells[k->n++] = c;
    c->count = COIR_IMMORTAL | 1;
    return true;
}

static bool keep_slots(struct coir_kept *k, const struct coir_slot *layout, uint32_t n, const uint64_t *slots)
{
    bool all = true;

    for (uint32_t i = 0; i < n; i++)
        all &= !layout[i].ref || keep(k, slots[i]);
    return all;
}

/* What a cell refers to. */
static bool keep_inner(struct coir_kept *k, const struct coir_heap *h, const struct coir_counted *c)
{
    const struct coir_type *t = &h->types[c->type];
    const struct coir_slot *layout;
    uint32_t n;
    bool all = true;

    switch (t->kind) {
    case COIR_TYPE_TEXT:
        return true;
    case COIR_TYPE_LIST: {
        const struct coir_list *l = (const struct coir_list *)c;

        for (size_t i = 0; t->deep && i < l->len; i++)
            all &= keep_slots(k, t->cell, t->cell_slots, l->data + i * t->cell_slots);
        return all;
    }
    case COIR_TYPE_MAP: {
        const struct coir_map *m = (const struct coir_map *)c;

        for (uint32_t i = 0; t->deep && i < m->used; i++)
            all &= coir_map_is_gone(m, i) || keep_slots(k, t->cell, t->cell_slots, m->entries + i * t->cell_slots);
        return all;
    }
    default:
        layout = coir_box_layout(h, (const struct coir_box *)c, &n);
        return keep_slots(k, layout, n, ((const struct coir_box *)c)->slots);
    }
}

/* Nobody else holds a cell of it then. False: no memory. */
static bool own(struct coir_vm *vm, const struct coir_slot *layout, uint64_t *slot)
{
    const struct coir_type value = { .slots = 1, .layout = layout };
    struct coir_crossing x;
    enum coir_walked how = COIR_WALK_NO_MEMORY;

    coir_cross_init(&x, &vm->heap);
    if (coir_cross_add(&x, &value, slot)) {
        do
            how = coir_cross(&x, SIZE_MAX);
        while (how == COIR_WALK_MORE);
    }
    coir_cross_end(&x);
    return how == COIR_WALK_DONE;
}

bool coir_global_keep(struct coir_vm *vm, uint32_t i)
{
    const struct coir_slot *layout = &vm->program->global_layout[i];
    struct coir_kept *k = vm->kept;
    size_t at;
    bool all;

    if (vm->world->n == 1 || !layout->ref || !vm->globals[i])
        return true;
    if (!k)
        k = vm->kept = calloc(1, sizeof *k);
    if (!k)
        return false;
    all = own(vm, layout, &vm->globals[i]);     /* if not, the program ends, and those it holds are counted still */
    at = k->n;
    all &= keep(k, vm->globals[i]);
    for (; at < k->n; at++)
        all &= keep_inner(k, &vm->heap, k->cells[at]);
    return all;
}

void coir_globals_forget(struct coir_vm *vm)
{
    struct coir_kept *k = vm->kept;

    for (size_t i = 0; k && i < k->n; i++)
        k->cells[i]->count &= ~COIR_IMMORTAL;
    if (k)
        free(k->cells);
    free(k);
    vm->kept = NULL;
    for (uint32_t i = 0; vm->globals && vm->global_set && i < vm->program->nglobal_slots; i++) {
        if (vm->global_set[i] && vm->program->global_layout[i].ref && vm->globals[i])
            coir_drop(&vm->heap, coir_ref(vm->globals[i]));
        vm->global_set[i] = 0;
    }
    coir_heap_bury(&vm->heap, SIZE_MAX);
}
