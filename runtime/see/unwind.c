/* SPDX-License-Identifier: MIT */
/*
 * Unwinding a stack that stands still, of a thread in a system call, from what the kernel tells of it: where it is, and
 * its stack pointer. libdw does it, by the tables that the compiler left; all other registers are unknown, and mostly
 * not needed. The one that may be is the frame pointer, which is guessed.
 *
 * Nothing is read but by look.h: the thread may go on at any moment.
 */
#include <string.h>
#include <unistd.h>

#include "runtime/see/libdw.h"
#include "runtime/see/look.h"
#include "runtime/see/symbols.h"

enum { STACK = 32768, LONGEST = 4096 };   /* bytes in which a frame pointer is looked for; and a jump */

struct unwinding {
    uintptr_t pc, sp, top;
    uintptr_t fp;                        /* the frame pointer, as it is supposed to be; 0: nothing is supposed */
    uintptr_t *out;
    size_t n, most;
};

#if defined(__x86_64__)
enum { SP = 7, FP = 6 };
#elif defined(__aarch64__)
enum { SP = 31, FP = 29 };
#endif

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = arg;
    return getpid();
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
    (void)dwfl;
    (void)tid;
    *thread = arg;
    return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
    const struct unwinding *u = arg;

    (void)dwfl;
    if (at < u->sp || at > u->top - sizeof *out)
        return false;
    return coir_look_at((const void *)at, out, sizeof *out);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    const struct unwinding *u = arg;
    const Dwarf_Word sp = u->sp, fp = u->fp;

    coir_libdw.dwfl_thread_state_register_pc(thread, u->pc);
    return (!fp || coir_libdw.dwfl_thread_state_registers(thread, FP, 1, &fp))
        && coir_libdw.dwfl_thread_state_registers(thread, SP, 1, &sp);
}

static int note_frame(Dwfl_Frame *frame, void *arg)
{
    struct unwinding *u = arg;
    Dwarf_Addr pc;
    bool exact;

    if (u->n == u->most || !coir_libdw.dwfl_frame_pc(frame, &pc, &exact))
        return 1;
    u->out[u->n++] = pc - !exact;
    return 0;
}

static size_t unwind(struct coir_symbols *s, struct unwinding *u, uintptr_t fp)
{
    u->fp = fp;
    u->n = 0;
    coir_libdw.dwfl_getthread_frames(s->dwfl, getpid(), note_frame, u);
    return u->n;
}

/* ---- the frame pointer ---- */

struct function {
    uintptr_t start, size;
};

/* Whether it lies in one. */
static bool find_function(struct coir_symbols *s, uintptr_t pc, struct function *out)
{
    Dwfl_Module *const module = coir_libdw.dwfl_addrmodule(s->dwfl, pc);
    uint64_t offset;
    Elf64_Sym symbol;

    if (!module || !coir_libdw.dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL)
        || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || offset >= symbol.st_size)
        return false;
    *out = (struct function){ pc - offset, symbol.st_size };
    return true;
}

#if defined(__x86_64__)
/* What the pointer holds that the last four bytes of an instruction tell from its end. */
static uintptr_t pointer_behind(uintptr_t end)
{
    uintptr_t value = 0;
    int32_t by;

    if (coir_look_at((const void *)(end - sizeof by), &by, sizeof by))
        coir_look_at((const void *)(end + (uintptr_t)by), &value, sizeof value);
    return value;
}

/* Which function was called, by the call in front of `back`; 0: that does not say. Calls of another library go by a
 * stub, which jumps to what a pointer holds. */
static uintptr_t called(uintptr_t back)
{
    static const unsigned char landing[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    unsigned char call[6], stub[12] = { 0 };
    size_t i;
    int32_t by;

    if (!coir_look_at((const void *)(back - sizeof call), call, sizeof call))
        return 0;
    if (call[0] == 0xff && call[1] == 0x15)
        return pointer_behind(back);
    if (call[1] != 0xe8)
        return 0;
    memcpy(&by, call + 2, sizeof by);
    coir_look_at((const void *)(back + (uintptr_t)by), stub, sizeof stub);
    i = memcmp(stub, landing, sizeof landing) ? 0 : sizeof landing;
    i += stub[i] == 0xf2;
    return stub[i] == 0xff && stub[i + 1] == 0x25 ? pointer_behind(back + (uintptr_t)by + i + 6) : back + (uintptr_t)by;
}

/* Whether the call of `start` may have led to `f`: it is that, or jumps there, as to the rest of it, or to what it
 * calls last. */
static bool leads_to(struct coir_symbols *s, uintptr_t start, const struct function *f)
{
    unsigned char code[LONGEST];
    struct function from;
    int32_t by;

    if (start == f->start)
        return true;
    if (!find_function(s, start, &from) || from.size > sizeof code
        || !coir_look_at((const void *)from.start, code, from.size))
        return false;
    for (size_t i = 1; i + 5 <= from.size; i++) {
        memcpy(&by, code + i + 1, sizeof by);
        if ((code[i] == 0xe9 || (code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80))
            && from.start + i + 5 + (uintptr_t)by - f->start < f->size)
            return true;
    }
    return false;
}
#else
static uintptr_t called(uintptr_t back)
{
    (void)back;
    return 0;
}

static bool leads_to(struct coir_symbols *s, uintptr_t start, const struct function *f)
{
    (void)s;
    return start == f->start;
}
#endif

/* Code that was compiled to keep a frame pointer cannot be unwound without its value, and the kernel does not tell.
 * But a frame pointer points at the one before it, and behind that lies where the caller goes on. Of what looks so in
 * the stack some is left from earlier calls. Value: the first behind a call of the last of the `n` frames there are;
 * or else the first behind a call of nobody knows what. 0: there is none. */
static uintptr_t find_fp(struct coir_symbols *s, struct unwinding *u, size_t n)
{
    static uintptr_t stack[STACK / sizeof(uintptr_t)];
    const uintptr_t low = (u->sp + 15) / 16 * 16;
    const size_t size = u->top - low < sizeof stack ? u->top - low : sizeof stack;
    struct function last, here;
    uintptr_t maybe = 0;

    if (!n || !find_function(s, u->out[n - 1], &last) || !coir_look_at((const void *)low, stack, size))
        return 0;
    for (size_t i = 0; (i + 2) * sizeof *stack <= size; i += 2) {
        const uintptr_t at = low + i * sizeof *stack, back = stack[i + 1];

        if (stack[i] <= at || stack[i] > u->top + STACK || !find_function(s, back - 1, &here))
            continue;
        const uintptr_t start = called(back);
        if (start && leads_to(s, start, &last))
            return at;
        if (!start && !maybe)
            maybe = at;
    }
    return maybe;
}

size_t coir_symbols_unwind(struct coir_symbols *s, uintptr_t pc, uintptr_t sp, uintptr_t top, uintptr_t *out,
                           size_t most)
{
    static const Dwfl_Thread_Callbacks how = { next_thread, get_thread, read_word, set_registers, NULL, NULL };
    struct unwinding u = { pc, sp, top, 0, out, 0, most };

    if (!s || sp >= top || !coir_libdw.dwfl_attach_state(s->dwfl, NULL, getpid(), &how, &u))
        return 0;
    const size_t n = unwind(s, &u, 0);
    const uintptr_t fp = find_fp(s, &u, n);
    return fp && unwind(s, &u, fp) > n ? u.n : unwind(s, &u, 0);
}
