/* SPDX-License-Identifier: MIT */
/*
 * Raising: makes the Trap of what went wrong, with where it was and who called. It only leaves it in the fiber; whoever
 * called this says so to the interpreter, which stops, and then the fiber unwinds (unwind.c).
 *
 * When the heap has no room for a Trap, a Memory trap made beforehand is raised in its place: so raising never fails.
 */
#include "vm/raise.h"

#include <stdlib.h>

#include "vm/ask.h"
#include "vm/region.h"

enum { SHOWN_INNER = 40, SHOWN_OUTER = 10, LONGEST = 400 };

static const char *const names[COIR_TRAP_CODES] = {
#define NAME(id, name) name,
    COIR_TRAPS(NAME)
#undef NAME
};

const char *coir_trap_name(enum coir_trap_code code)
{
    return names[code];
}

/* ---- the Trap's parts ---- */

static uint64_t text(struct coir_heap *h, const char *bytes, size_t len)
{
    return coir_slot_of(coir_text_of(h, bytes, len));
}

static uint64_t text_of(struct coir_heap *h, const char *s)
{
    return text(h, s, strlen(s));
}

static bool add(struct coir_heap *h, uint64_t *list, const char *line)
{
    const uint64_t t = text_of(h, line);
    struct coir_list *l;

    if (!t)
        return false;
    if (!coir_list_own(h, list, 1)) {
        coir_drop(h, coir_ref(t));
        return false;
    }
    l = coir_list_at(*list);
    l->data[l->len++] = t;
    return true;
}

/* What has no line was made by the compiler to call another (a fiber's first frame): nobody wrote it. It is told only
 * where the trap itself stands in it. */
static bool add_frame(struct coir_fiber *f, uint64_t *list, const uint64_t *pc)
{
    uint32_t at;
    const struct coir_function *fn = coir_function_at(f->vm, pc, &at);
    char line[LONGEST];

    if (!fn || (pc != f->pc && coir_line_of(fn, at) == 0))
        return true;
    snprintf(line, sizeof line, "%s at %s:%u", fn->name, fn->file, coir_line_of(fn, at));
    return add(f->heap, list, line);
}

/* The call that a return address is behind. Of a function that a native asked for, that is the native's. */
static const uint64_t *caller(const uint64_t *back, const struct coir_asking **asking)
{
    const struct coir_asking *const a = *asking;

    if (back != coir_end_code + 1 || !a)
        return back - 1;
    *asking = a->outer;
    return a->pc;
}

/* Who called, innermost first: of a deep one the two ends. What memory does not suffice for is left out. */
static uint64_t trace_of(struct coir_fiber *f)
{
    uint64_t list = coir_slot_of(coir_list_new(f->heap, &f->heap->types[COIR_INDEX_TEXTS], 4));
    const uint64_t **const end = (const uint64_t **)f->high;
    const size_t frames = (size_t)(end - f->fp);
    const struct coir_asking *asking = f->asking;
    size_t i = 0;
    bool more;

    if (!list)
        return 0;
    more = add_frame(f, &list, f->pc);
    for (; more && i < frames && i < SHOWN_INNER; i++)
        more = add_frame(f, &list, caller(f->fp[i], &asking));
    if (more && frames > i + SHOWN_OUTER) {
        char line[64];

        snprintf(line, sizeof line, "... %zu more ...", frames - i - SHOWN_OUTER);
        more = add(f->heap, &list, line);
        for (; i < frames - SHOWN_OUTER; i++)
            caller(f->fp[i], &asking);
    }
    for (; more && i < frames; i++)
        more = add_frame(f, &list, caller(f->fp[i], &asking));
    return list;
}

static void raise(struct coir_fiber *f, uint64_t trap)
{
    if (f->trap)
        coir_drop(f->heap, coir_ref(f->trap));
    f->trap = trap;
}

static enum coir_native_result raise_new(struct coir_fiber *f, enum coir_trap_code code, int number, const char *bytes,
                                         size_t len)
{
    struct coir_heap *h = f->heap;
    const struct coir_type *t = &h->types[COIR_INDEX_TRAP];
    struct coir_box *box = coir_box_new(h, t, 0, t->cell_slots);
    uint32_t at = 0;
    const struct coir_function *fn = coir_function_at(f->vm, f->pc, &at);

    if (box) {
        memset(box->slots, 0, t->cell_slots * sizeof(uint64_t));
        box->slots[COIR_TRAP_AT_CODE] = coir_slot_of(f->vm->trap_names[code]);
        box->slots[COIR_TRAP_AT_MESSAGE] = text(h, bytes, len);
        box->slots[COIR_TRAP_AT_FILE] = text_of(h, fn ? fn->file : "");
        box->slots[COIR_TRAP_AT_LINE] = fn ? coir_line_of(fn, at) : 0;
        box->slots[COIR_TRAP_AT_ERRNO] = (uint64_t)(int64_t)number;
        box->slots[COIR_TRAP_AT_TRACE] = trace_of(f);
        if (box->slots[COIR_TRAP_AT_MESSAGE] && box->slots[COIR_TRAP_AT_FILE] && box->slots[COIR_TRAP_AT_TRACE]) {
            raise(f, coir_slot_of(box));
            return COIR_NATIVE_TRAP;
        }
        coir_drop(h, &box->head);
    }
    return coir_trap_again(f, f->vm->out_of_memory);
}

/* ---- for others ---- */

enum coir_native_result coir_trap(struct coir_fiber *f, enum coir_trap_code code, const char *format, ...)
{
    char message[LONGEST];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return raise_new(f, code, 0, message, len < 0 ? 0 : len < LONGEST ? (size_t)len : LONGEST - 1);
}

enum coir_native_result coir_trap_text(struct coir_fiber *f, enum coir_trap_code code, const char *bytes, size_t len)
{
    return raise_new(f, code, 0, bytes, len);
}

enum coir_native_result coir_trap_memory(struct coir_fiber *f)
{
    static const char words[] = "out of memory";

    return raise_new(f, COIR_TRAP_MEMORY, 0, words, sizeof words - 1);
}

enum coir_native_result coir_trap_index(struct coir_fiber *f, int64_t index, size_t len)
{
    return coir_trap(f, COIR_TRAP_BOUNDS, "index %lld of %zu", (long long)index, len);
}

enum coir_native_result coir_trap_again(struct coir_fiber *f, uint64_t trap)
{
    coir_hold(coir_ref(trap));
    raise(f, trap);
    return COIR_NATIVE_TRAP;
}

enum coir_native_result coir_trap_cancelled(struct coir_fiber *f)
{
    static const char cancelled[] = "cancelled", timeout[] = "the time of a within is over",
        deadlock[] = "nothing in the program can wake any more";

    if (f->deadlocked) {
        f->deadlocked = false;
        return raise_new(f, COIR_TRAP_DEADLOCK, 0, deadlock, sizeof deadlock - 1);
    }
    if (coir_region_expired(f))
        return raise_new(f, COIR_TRAP_TIMEOUT, 0, timeout, sizeof timeout - 1);
    return raise_new(f, COIR_TRAP_CANCELLED, 0, cancelled, sizeof cancelled - 1);
}

/* Of a text, which may be missing: as much as there is room for. */
static const char *bytes_of(uint64_t slot)
{
    return slot ? coir_text_at(slot)->bytes : "";
}

static int shown(uint64_t slot)
{
    return !slot ? 0 : coir_text_at(slot)->len < LONGEST ? (int)coir_text_at(slot)->len : LONGEST;
}

/* That it was stopped, or died of that, is kept as the errno: so that what comes of it is known, too. */
enum coir_native_result coir_trap_down(struct coir_fiber *f, const char *name, uint64_t trap)
{
    char words[LONGEST];
    const uint64_t *s = trap ? ((struct coir_box *)coir_ref(trap))->slots : NULL;
    const struct coir_list *trace = s ? coir_list_at(s[COIR_TRAP_AT_TRACE]) : NULL;
    const uint64_t where = trace && trace->len ? trace->data[0] : 0;
    int len;

    if (!s)
        len = snprintf(words, sizeof words, "actor %s is down: it was stopped", name);
    else
        len = snprintf(words, sizeof words, "actor %s is down: trap %.*s%s%.*s: %.*s", name,
                       shown(s[COIR_TRAP_AT_CODE]), bytes_of(s[COIR_TRAP_AT_CODE]), where ? " in " : "",
                       shown(where), bytes_of(where), shown(s[COIR_TRAP_AT_MESSAGE]),
                       bytes_of(s[COIR_TRAP_AT_MESSAGE]));
    return raise_new(f, COIR_TRAP_ACTORDOWN, !trap || coir_trap_is_quiet(trap) ? ECANCELED : 0, words,
                     len < LONGEST ? (size_t)len : LONGEST - 1);
}

/* libcoir's words for an errno speak of libcoir. */
static const char *words_of(int number)
{
    const char *const words = number == ENODATA ? "The end came too soon" : strerrordesc_np(number);

    return words ? words : coir_strerror(number);
}

enum coir_native_result coir_trap_outside(struct coir_fiber *f, int status, const char *words, const char *name)
{
    char message[LONGEST];
    int len;

    if (status == -ECANCELED)
        return coir_trap_cancelled(f);
    if (status == -ENOMEM)
        return coir_trap_memory(f);
    len = snprintf(message, sizeof message, "%s%s%s", words, name ? ": " : "", !name ? "" : *name ? name : "\"\"");
    return raise_new(f, COIR_TRAP_IO, -status, message, len < LONGEST ? (size_t)len : LONGEST - 1);
}

enum coir_native_result coir_trap_status(struct coir_fiber *f, int status, const char *name)
{
    return coir_trap_outside(f, status, words_of(-status), name);
}

static void print_text(FILE *to, uint64_t slot)
{
    if (slot)
        fwrite(coir_text_at(slot)->bytes, 1, coir_text_at(slot)->len, to);
}

void coir_print_trap(FILE *to, uint64_t trap)
{
    const uint64_t *slots = ((struct coir_box *)coir_ref(trap))->slots;
    const struct coir_list *trace = coir_list_at(slots[COIR_TRAP_AT_TRACE]);

    flockfile(to);
    fputs("trap ", to);
    print_text(to, slots[COIR_TRAP_AT_CODE]);
    if (trace && trace->len) {
        fputs(" in ", to);
        print_text(to, trace->data[0]);
    }
    fputs(": ", to);
    print_text(to, slots[COIR_TRAP_AT_MESSAGE]);
    fputc('\n', to);
    for (size_t i = 1; trace && i < trace->len; i++) {
        fputs("    ", to);
        print_text(to, trace->data[i]);
        fputc('\n', to);
    }
    funlockfile(to);
}

/* In one write, since other shards and other programs write there too; without memory in parts. */
void coir_report_trap(struct coir_vm *vm, uint64_t trap)
{
    char *words = NULL;
    size_t len;
    FILE *const whole = open_memstream(&words, &len);
    bool made = whole != NULL;

    if (whole) {
        coir_print_trap(whole, trap);
        made = fflush(whole) == 0 && !ferror(whole);
        made &= fclose(whole) == 0;
    }
    coir_output_flush(vm->streams);
    if (made)
        fwrite(words, 1, len, stderr);
    else
        coir_print_trap(stderr, trap);
    free(words);
}

bool coir_trap_is(uint64_t trap, enum coir_trap_code code)
{
    const struct coir_text *t = coir_text_at(((struct coir_box *)coir_ref(trap))->slots[COIR_TRAP_AT_CODE]);

    return t && t->len == strlen(names[code]) && !memcmp(t->bytes, names[code], t->len);
}

bool coir_trap_is_quiet(uint64_t trap)
{
    return coir_trap_is(trap, COIR_TRAP_CANCELLED)
        || (coir_trap_is(trap, COIR_TRAP_ACTORDOWN)
            && ((struct coir_box *)coir_ref(trap))->slots[COIR_TRAP_AT_ERRNO] == ECANCELED);
}

/* ---- what must be there ---- */

static struct coir_text *immortal(const char *s)
{
    const size_t len = strlen(s);
    struct coir_text *t = calloc(1, sizeof *t + len);

    if (!t)
        return NULL;
    t->head = (struct coir_counted){ .count = COIR_IMMORTAL, .type = COIR_TYPE_TEXT };
    t->len = t->cap = len;
    memcpy(t->bytes, s, len);
    return t;
}

bool coir_raise_init(struct coir_vm *vm)
{
    struct coir_box *box = calloc(1, sizeof *box + COIR_TRAP_SLOTS * sizeof(uint64_t));
    struct coir_list *none = calloc(1, sizeof *none);
    struct coir_text *nowhere = immortal(""), *words = immortal("out of memory");
    bool made = true;

    for (int i = 0; i < COIR_TRAP_CODES; i++) {
        vm->trap_names[i] = immortal(names[i]);
        made &= vm->trap_names[i] != NULL;
    }
    if (!made || !box || !none || !nowhere || !words) {
        free(box);
        free(none);
        free(nowhere);
        free(words);
        return false;
    }
    none->head = (struct coir_counted){ .count = COIR_IMMORTAL, .type = COIR_INDEX_TEXTS };
    box->head = (struct coir_counted){ .count = COIR_IMMORTAL, .type = COIR_INDEX_TRAP };
    box->slots[COIR_TRAP_AT_CODE] = coir_slot_of(vm->trap_names[COIR_TRAP_MEMORY]);
    box->slots[COIR_TRAP_AT_MESSAGE] = coir_slot_of(words);
    box->slots[COIR_TRAP_AT_FILE] = coir_slot_of(nowhere);
    box->slots[COIR_TRAP_AT_TRACE] = coir_slot_of(none);
    vm->out_of_memory = coir_slot_of(box);
    return true;
}

void coir_raise_share(struct coir_vm *vm, const struct coir_vm *first)
{
    vm->out_of_memory = first->out_of_memory;
    memcpy(vm->trap_names, first->trap_names, sizeof vm->trap_names);
}

void coir_raise_end(struct coir_vm *vm)
{
    struct coir_box *box = (struct coir_box *)coir_ref(vm->out_of_memory);

    if (box) {
        free(coir_ref(box->slots[COIR_TRAP_AT_MESSAGE]));
        free(coir_ref(box->slots[COIR_TRAP_AT_FILE]));
        free(coir_ref(box->slots[COIR_TRAP_AT_TRACE]));
        free(box);
    }
    for (int i = 0; i < COIR_TRAP_CODES; i++)
        free(vm->trap_names[i]);
}
