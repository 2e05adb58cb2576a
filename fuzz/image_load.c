/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the loader, and then the interpreter: whatever the bytes of an image are, they are refused with a reason, or a
 * program that runs without harm: nothing is touched that is not its, and no cell is left when it has ended.
 *
 * Most mutations are of the code, an instruction at a time, so that many images pass the proof. What is accepted is
 * disassembled, and run for some slices, in virtual time. A program is not run if it could go on when it is stopped:
 * with handlers, and with a way to come to one of them again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/assert.h"
#include "vm/dis.h"
#include "vm/image.h"
#include "vm/natives/standard.h"
#include "vm/vm.h"

static const struct coir_natives *const natives[] = {
    &coir_list_natives, &coir_map_natives, &coir_number_natives, &coir_sort_natives, &coir_text_natives,
    &coir_text_search_natives, NULL,
};

/* ---- which programs end ---- */

static bool goes_back(const struct coir_program *p, const struct coir_function *f, uint32_t pc)
{
    const uint64_t w = f->code[pc];
    const struct coir_op_info *op = &coir_ops[COIR_I_OP(w)];

    if (COIR_I_OP(w) == COIR_OP_CALLC)
        return true;
    if (COIR_I_OP(w) == COIR_OP_CALL)
        return COIR_I_X(w) <= f->index;
    if (COIR_I_OP(w) == COIR_OP_MSG)
        return p->types.all[COIR_I_A(f->code[pc + 1])].messages[COIR_I_B(f->code[pc + 1])].function <= f->index;
    if (COIR_I_OP(w) == COIR_OP_SPAWN || COIR_I_OP(w) == COIR_OP_GSPAWN)
        return p->types.all[COIR_I_A(f->code[pc + 1])].kind == COIR_TYPE_TASK && COIR_I_B(w) <= f->index;
    for (uint32_t i = 1; COIR_I_OP(w) == COIR_OP_SELECT && i <= COIR_I_C(w); i++) {
        if (COIR_I_SC(f->code[pc + i]) <= 0)
            return true;
    }
    return COIR_I_OP(w) != COIR_OP_SELECT && (op->flags & COIR_BRANCHES)
        && (op->format[1] == 'J' ? COIR_I_SX(w) : COIR_I_SC(w)) <= 0;
}

static bool ends(const struct coir_program *p)
{
    bool back = false, handlers = false;

    for (uint32_t i = 0; i < p->nfunctions; i++) {
        const struct coir_function *f = &p->functions[i];

        for (uint32_t pc = 0; pc < f->ncode; pc++)
            back |= goes_back(p, f, pc);
        for (uint32_t h = 0; h < f->nhandlers; h++) {
            handlers = true;
            back |= f->handlers[h].at < f->handlers[h].to;
        }
    }
    return !(back && handlers);
}

/* ---- one input ---- */

static void disassemble(const struct coir_program *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);

    COIR_ASSERT(to != NULL);
    COIR_ASSERT(coir_dis(p, COIR_DIS_STATES | COIR_DIS_MAPS, to) == 0);
    fclose(to);
    for (size_t i = 0; i < size; i++)
        COIR_ASSERT((unsigned char)text[i] >= ' ' || text[i] == '\n');
    free(text);
}

static void run(const uint8_t *data, size_t n)
{
    static FILE *nothing;
    const struct coir_vm_options options = { .reductions = 20, .max_memory = 8 << 20, .seed = 1, .natives = natives,
        .io = "epoll", .slices = 200, .dispatch = n & 1 ? "switch" : "labels" };
    struct coir_vm_report report = { 0 };
    char *argv[] = { (char[]){ "one" }, (char[]){ "two" } };
    FILE *const kept = stderr;

    if (!nothing)
        nothing = fopen("/dev/null", "w");
    COIR_ASSERT(nothing != NULL);
    stderr = nothing;                   /* what programs die of is not to be read */
    coir_vm_run(data, n, 2, argv, &options, &report);
    stderr = kept;
    COIR_ASSERT(report.lives == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct coir_load_error error;
    struct coir_program *p = NULL;
    const int bad = coir_program_load(data, n, NULL, &p, &error);
    bool to_run;

    COIR_ASSERT(bad == 0 ? p && !error.text[0] : bad == -EINVAL && !p && error.text[0]);
    if (bad)
        return 0;
    COIR_ASSERT(p->memory <= n * 512 + (1 << 20));
    disassemble(p);
    to_run = p->main >= 0 && ends(p);
    coir_program_free(p);
    if (to_run)
        run(data, n);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    setenv("COIR_TIME", "virtual", 1);
    return 0;
}

/* ---- mutations ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

static uint32_t random_below(unsigned *state, uint32_t n)
{
    *state = *state * 1103515245u + 12345u;
    return (uint32_t)((uint64_t)(*state >> 8) * n >> 24);
}

static uint32_t get(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(x >> 8 * i);
}

/* Where the code of some function of an image lies: the place of its count. 0: this is no image. */
static size_t some_code(const uint8_t *data, size_t size, unsigned *state)
{
    struct coir_load_error error;
    struct coir_program *p = NULL;
    const struct coir_function *f;
    size_t at = 0;

    if (coir_program_load(data, size, NULL, &p, &error) < 0 || !p->nfunctions) {
        coir_program_free(p);
        return 0;
    }
    f = &p->functions[random_below(state, p->nfunctions)];
    for (size_t i = COIR_IMAGE_HEAD; !at && i + 4 + f->ncode * 8ul <= size; i++) {
        if (get(data + i) == f->ncode && memcmp(data + i + 4, f->code, f->ncode * 8ul) == 0)
            at = i;
    }
    coir_program_free(p);
    return at;
}

/* An operand a little different; another instruction with the same letters; anything. */
static void change(uint8_t *word, unsigned *state)
{
    const unsigned op = *word % COIR_OP_COUNT;

    switch (random_below(state, 4)) {
    case 0:
        for (unsigned other = random_below(state, COIR_OP_COUNT), i = 0; i < COIR_OP_COUNT; i++) {
            other = (other + 1) % COIR_OP_COUNT;
            if (strcmp(coir_ops[other].format, coir_ops[op].format) == 0) {
                *word = (uint8_t)other;
                break;
            }
        }
        break;
    case 1:
        *word = (uint8_t)random_below(state, COIR_OP_COUNT);
        break;
    default:
        word[2 + 2 * random_below(state, 3)] ^= (uint8_t)(1 << random_below(state, 4));
    }
}

/* A word more, a copy of another, or less, the lengths before it told so. */
static size_t resize(uint8_t *data, size_t size, size_t max, size_t code, unsigned *state)
{
    const uint32_t n = get(data + code), at = random_below(state, n);
    uint8_t *word = data + code + 4 + at * 8ul, copy[8];
    const bool grow = random_below(state, 2) == 0;
    const int64_t more = grow ? 8 : -8;
    uint8_t *section = data + COIR_IMAGE_HEAD + COIR_SECTION_FUNCTIONS * COIR_IMAGE_ENTRY + 4;

    if ((grow && size + 8 > max) || (!grow && n < 2))
        return size;
    memcpy(copy, data + code + 4 + random_below(state, n) * 8ul, 8);
    if (grow) {
        memmove(word + 8, word, size - (size_t)(word - data));
        memcpy(word, copy, 8);
    } else {
        memmove(word, word + 8, size - (size_t)(word - data) - 8);
    }
    put(data + code, n + (grow ? 1 : -1));
    put(section, (uint32_t)(get(section) + more));
    put(data + 16, (uint32_t)(get(data + 16) + more));
    return (size_t)((int64_t)size + more);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    unsigned state = seed;
    const size_t code = random_below(&state, 8) ? some_code(data, size, &state) : 0;

    if (!code)
        return LLVMFuzzerMutate(data, size, max);
    for (uint32_t i = random_below(&state, 3) + 1; i > 0; i--)
        change(data + code + 4 + random_below(&state, get(data + code)) * 8ul, &state);
    if (random_below(&state, 3) == 0)
        size = resize(data, size, max, code, &state);
    return size;
}
