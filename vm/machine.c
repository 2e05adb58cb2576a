/* SPDX-License-Identifier: MIT */
/*
 * A machine, made and ended; and linking: the code is copied, all functions one after the other, and what only the
 * function or the distance tells is written into instructions.
 *
 *     branches back       the BACK_ form of their instruction, which costs a reduction
 *     RETV                B: the register behind the `mut` parameters
 *     frequent pairs      one instruction for both, or three, of which the others stay beside
 */
#include "vm/machine.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/base/queue.h"
#include "vm/probe.h"
#include "vm/raise.h"

static unsigned back_form(unsigned op)
{
    switch (op) {
#define BACK(name) case COIR_OP_##name: return COIR_OP_BACK_##name;
    COIR_BRANCH_OPS(BACK)
#undef BACK
    default:
        return op;
    }
}

static bool goes_back(uint64_t w)
{
    const char *format = coir_ops[COIR_I_OP(w)].format;

    return format[1] == 'J' ? COIR_I_SX(w) <= 0 : format[2] == 'j' && COIR_I_SC(w) <= 0;
}

static uint64_t linked(const struct coir_function *fn, uint64_t w)
{
    const unsigned op = COIR_I_OP(w);

    if ((coir_ops[op].flags & COIR_BRANCHES) && goes_back(w))
        return (w & ~UINT64_C(0xff)) | back_form(op);
    if (op == COIR_OP_RETV)
        return (w & UINT64_C(0xffffffff)) | (uint64_t)fn->mut_slots << 32;
    return w;
}

enum { FBUS = 256 };                        /* an FSUB that takes its second operand from the first */

static bool is_chain(unsigned op)
{
    return op > COIR_OP_CHAINS_ && op < COIR_OP_CHAINS_END_;
}

/* The pair's number; or the first's, if the two make none. Both are linked already. */
static unsigned pair_of(unsigned first, unsigned second)
{
    static const struct { uint8_t first, second, pair; } pairs[] = {
#define PAIR(a, b) { COIR_OP_##a, COIR_OP_##b, COIR_OP_PAIR_##a##_##b },
        COIR_PAIRS(PAIR)
#undef PAIR
#define PAIR(a) { COIR_OP_##a, COIR_OP_BACK_FORI, COIR_OP_PAIR_##a##_FORI },
        COIR_FORI_PAIRS(PAIR)
#undef PAIR
#define PAIR(a) { COIR_OP_##a, COIR_OP_CALL, COIR_OP_PAIR_##a##_CALL },
        COIR_CALL_PAIRS(PAIR)
#undef PAIR
#define PAIR(a, b) { COIR_OP_##a, COIR_OP_##b, COIR_OP_PAIR_##a##_##b }, \
        { COIR_OP_##a, COIR_OP_BACK_##b, COIR_OP_PAIR_##a##_BACK_##b },
        COIR_BRANCH_PAIRS(PAIR)
#undef PAIR
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].first == first && pairs[i].second == second)
            return pairs[i].pair;
    }
    return first;
}

/* How the second works on what the first makes; 0: it does not. What commutes is turned round for that. */
static unsigned use_of(uint64_t first, uint64_t *second)
{
    const unsigned made = COIR_I_A(first), op = COIR_I_OP(*second), b = COIR_I_B(*second), c = COIR_I_C(*second);

    if (op != COIR_OP_FADD && op != COIR_OP_FSUB && op != COIR_OP_FMUL)
        return 0;
    if (b == made)
        return op;
    if (c != made)
        return 0;
    if (op == COIR_OP_FSUB)
        return FBUS;
    *second = coir_instruction(op, COIR_I_A(*second), c, b, 0);
    return op;
}

static unsigned chain_of(unsigned first, unsigned use)
{
    static const struct { uint8_t first; uint16_t use; uint8_t chain; } chains[] = {
#define COIR_OP_FBUS FBUS
#define CHAIN(a, b) { COIR_OP_##a, COIR_OP_##b, COIR_OP_CHAIN_##a##_##b },
        COIR_CHAINS(CHAIN)
#undef CHAIN
#define CHAIN(b) { COIR_OP_LFLDW, COIR_OP_##b, COIR_OP_CHAIN_LFLDW_##b },
        COIR_LOADED_CHAINS(CHAIN)
#undef CHAIN
#undef COIR_OP_FBUS
    };

    for (size_t i = 0; use && i < sizeof chains / sizeof *chains; i++) {
        if (chains[i].first == first && chains[i].use == use)
            return chains[i].chain;
    }
    return first;
}

static bool merge(uint64_t *first, unsigned op)
{
    if (op == COIR_I_OP(*first))
        return false;
    *first = (*first & ~UINT64_C(0xff)) | op;
    return true;
}

static bool is_change(unsigned op)
{
    return op > COIR_OP_CHANGES_ && op < COIR_OP_CHANGES_END_;
}

/* Three words that load from a list, work on that, and store the outcome to where it came from. What they read for
 * that, the list and the index, is not what the first two write. */
static unsigned change_of(const uint64_t *code)
{
    static const struct { uint8_t load, work, change; } changes[] = {
#define CHANGE(a, b) { COIR_OP_##a, COIR_OP_##b, COIR_OP_CHANGE_##a##_##b },
        COIR_CHANGES(CHANGE)
#undef CHANGE
    };
    const uint64_t load = code[0], work = code[1], store = code[2];
    const unsigned list = COIR_I_B(load), index = COIR_I_C(load), op = COIR_I_OP(load);
    const unsigned stores = op == COIR_OP_LFLDW ? COIR_OP_LPUTW : op == COIR_OP_LGETW ? COIR_OP_LSETW : COIR_OP_EXT;

    if (stores == COIR_OP_EXT || COIR_I_OP(store) != stores || COIR_I_A(store) != list || COIR_I_B(store) != index
        || COIR_I_D(store) != COIR_I_D(load) || COIR_I_C(store) != COIR_I_A(work) || COIR_I_B(work) != COIR_I_A(load)
        || COIR_I_A(load) == list || COIR_I_A(load) == index || COIR_I_A(work) == list || COIR_I_A(work) == index)
        return op;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        if (changes[i].load == op && changes[i].work == COIR_I_OP(work))
            return changes[i].change;
    }
    return op;
}

/* What is worth most first: changes, chains, pairs; each instruction in one of them at most. Further words are
 * of no instruction: they have the number of EXT, which makes none. */
static void link_pairs(uint64_t *code, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        i += merge(&code[i], change_of(&code[i])) ? 2 : 0;
    for (size_t i = 0; i + 1 < n; i++) {
        if (is_change(COIR_I_OP(code[i])))
            i += 2;
        else
            i += merge(&code[i], chain_of(COIR_I_OP(code[i]), use_of(code[i], &code[i + 1])));
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (is_change(COIR_I_OP(code[i])))
            i += 2;
        else if (is_chain(COIR_I_OP(code[i])))
            i++;
        else if (i + 2 < n && COIR_I_OP(code[i]) == COIR_OP_ADDI && COIR_I_OP(code[i + 1]) == COIR_OP_LGETW
                 && COIR_I_OP(code[i + 2]) == COIR_OP_BACK_JLT)
            i += 1 + merge(&code[i], COIR_OP_PAIR_ADDI_LGETW_BACK_JLT);
        else
            i += merge(&code[i], pair_of(COIR_I_OP(code[i]), COIR_I_OP(code[i + 1])));
    }
}

/* What main's fiber begins with: of no function, so that whoever unwinds ends here. */
enum { MAIN_WORDS = 4 };

static void link_main(const struct coir_program *p, uint64_t *code)
{
    if (p->init >= 0)
        *code++ = coir_instruction_wide(COIR_OP_CALL, 1, (uint32_t)p->init, 0);
    *code++ = coir_instruction(COIR_OP_LEND, 1, 0, 0, 0);
    if (p->main >= 0)
        *code++ = coir_instruction_wide(COIR_OP_CALL, 1, (uint32_t)p->main, 0);
    *code = COIR_OP_END;
}

static void link_actor(struct coir_vm *vm, const struct coir_type *t)
{
    const struct coir_function *fn = t->nmessages ? &vm->program->functions[t->messages[0].function] : NULL;
    struct coir_acted *a = &vm->acted[t->index];

    *a = (struct coir_acted){ { t->name, fn ? fn->file : "", fn && fn->nlines ? fn->lines[0].line : 0 }, 2 };
    for (uint32_t i = 0; i < t->nmessages; i++) {
        const uint32_t nregs = vm->callees[t->messages[i].function].nregs;

        a->nregs = nregs > a->nregs ? nregs : a->nregs;
    }
}

static bool link_actors(struct coir_vm *vm)
{
    const struct coir_types *ts = &vm->program->types;

    for (uint32_t i = 0; i < ts->n; i++) {
        if (ts->all[i].kind != COIR_TYPE_ACTOR)
            continue;
        if (!vm->acted)
            vm->acted = calloc(ts->n, sizeof *vm->acted);
        if (!vm->acted)
            return false;
        link_actor(vm, &ts->all[i]);
    }
    return true;
}

static bool link_code(struct coir_vm *vm)
{
    const struct coir_program *p = vm->program;
    struct coir_callee *callees = calloc(p->nfunctions + 1, sizeof *callees);
    struct coir_site *sites = calloc(p->nfunctions + 1, sizeof *sites);
    const struct coir_site **names = calloc(p->nfunctions + 1, sizeof *names);
    size_t n = 0;

    for (uint32_t i = 0; i < p->nfunctions; i++)
        n += p->functions[i].ncode;
    vm->callees = callees;
    vm->own_sites = sites;
    vm->sites = names;
    vm->code = calloc(n + MAIN_WORDS, sizeof *vm->code);
    if (!callees || !sites || !names || !vm->code)
        return false;
    n = 0;
    for (uint32_t i = 0; i < p->nfunctions; i++) {
        const struct coir_function *fn = &p->functions[i];

        sites[i] = (struct coir_site){ fn->name, fn->file, fn->nlines ? fn->lines[0].line : 0 };
        callees[i] = (struct coir_callee){ vm->code + n, fn->nregs + (fn->closure != NULL), fn->slots };
        for (uint32_t at = 0; at < fn->ncode; at++)
            vm->code[n + at] = linked(fn, fn->code[at]);
        link_pairs(vm->code + n, fn->ncode);
        n += fn->ncode;
    }
    sites[p->nfunctions] = (struct coir_site){ "main", "", 0 };
    for (uint32_t i = 0; i <= p->nfunctions; i++)
        names[i] = &sites[i];
    callees[p->nfunctions].code = vm->code + n;
    vm->main_code = vm->code + n;
    link_main(p, vm->code + n);
    return true;
}

const struct coir_function *coir_function_at(const struct coir_vm *vm, const uint64_t *pc, uint32_t *at)
{
    uint32_t low = 0, high = vm->program->nfunctions;

    if (pc < vm->code || pc >= vm->callees[high].code)
        return NULL;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (vm->callees[middle].code <= pc)
            low = middle;
        else
            high = middle;
    }
    *at = (uint32_t)(pc - vm->callees[low].code);
    return &vm->program->functions[low];
}

struct coir_site coir_fiber_site(const struct coir_fiber *f)
{
    uint32_t at;
    const struct coir_function *fn = coir_function_at(f->vm, f->pc, &at);

    return fn ? (struct coir_site){ fn->name, fn->file, coir_line_of(fn, at) } : *f->task.site;
}

static void init(struct coir_vm *vm, const struct coir_program *p, size_t limit, uint64_t seed)
{
    memset(vm, 0, sizeof *vm);
    vm->program = p;
    vm->reductions = 4000;
    vm->seen.top = UINT64_MAX;
    coir_list_init(&vm->visitors);
    for (int i = 0; i < COIR_SEATS; i++)
        coir_list_init(&vm->seats[i]);
    coir_list_init(&vm->asking);
    vm->mailbox = 1024;
    coir_list_init(&vm->lines.out);
    coir_list_init(&vm->lines.in);
    coir_heap_init(&vm->heap, p->types.all, p->functions, limit, seed);
}

int coir_vm_init(struct coir_vm *vm, const struct coir_program *p, size_t limit, uint64_t seed)
{
    init(vm, p, limit, seed);
    vm->globals = calloc(p->nglobal_slots + 1, sizeof *vm->globals);
    vm->global_set = calloc(p->nglobal_slots + 1, 1);
    return link_code(vm) && link_actors(vm) && vm->globals && vm->global_set && coir_raise_init(vm) ? 0 : -ENOMEM;
}

/* The hashes of all are made alike: what has one may be looked for on any shard. */
void coir_vm_init_beside(struct coir_vm *vm, const struct coir_vm *first, uint32_t shard, size_t limit)
{
    init(vm, first->program, limit, 1);
    memcpy(vm->heap.seed, first->heap.seed, sizeof vm->heap.seed);
    vm->shard = shard;
    vm->code = first->code;
    vm->main_code = first->main_code;
    vm->callees = first->callees;
    vm->sites = first->sites;
    vm->acted = first->acted;
    vm->globals = first->globals;
    vm->global_set = first->global_set;
    coir_raise_share(vm, first);
}

void coir_vm_end(struct coir_vm *vm)
{
    coir_probe_end(vm);
    coir_heap_end(&vm->heap);
    free(vm->bulk);
    if (vm->shard == 0) {
        coir_raise_end(vm);
        free((void *)(uintptr_t)vm->callees);
        free((void *)(uintptr_t)vm->sites);
        free(vm->own_sites);
        free(vm->acted);
        free(vm->code);
        free(vm->globals);
        free(vm->global_set);
    }
    memset(vm, 0, sizeof *vm);
}
