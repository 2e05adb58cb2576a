/* SPDX-License-Identifier: MIT */
/*
 * Natives: functions of the language that are written in C. This header is all that one includes.
 *
 *     static enum coir_native_result text_upper(struct coir_fiber *f, uint64_t *r)
 *     {
 *         struct coir_text *old = coir_text_at(r[0]), *t = coir_text_new(f->heap, old->len);
 *         if (!t)
 *             return coir_trap_memory(f);
 *         ...
 *         coir_charge(f, old->len / 16);
 *         r[0] = coir_slot_of(t);
 *         return COIR_NATIVE_DONE;
 *     }
 *     { "Text.upper", "fn upper(self: Text) -> Text", text_upper },
 *
 * r is the window: the slots of the parameters, `mut` ones first, then the others in order. The results go behind
 * the `mut` parameters' slots, over what lies there. A parameter of several slots has its own after one another, and so
 * has a result.
 *
 *   lend   look at it, hold it (coir_hold) to keep it; never drop it, and never change it
 *   own    it is yours: store it, or drop it, and then, if you may still trap or park, set the register to 0. When you
 *          trap, or are cut, what lies in owned registers is dropped; when you are done you have taken care of all
 *   mut    the register is the place: coir_list_own(f->heap, &r[0], 1), then change it. At every return a whole value
 *
 * A native that waits is called again, at the same registers; f->step counts: 0 at the first call, 1 after the first
 * await, and so on (a switch over it is the usual shape; it may be assigned). What must live until then lies in
 * coir_scratch, which begins with zeroes and is freed at the end, whichever that is.
 *
 *     struct read { struct coir_recv op; int fd; };
 *     struct read *s = coir_scratch(f, sizeof *s, NULL);
 *     if (!s)
 *         return coir_trap_memory(f);
 *     if (f->step == 0)
 *         return coir_wait_for(f, &s->op, coir_recv, .fd = fd, .buf = buf, .len = n);
 *     if (coir_status(&s->op) < 0)
 *         return coir_trap_status(f, coir_status(&s->op), address);
 *
 * An await that was cancelled says -ECANCELED as in any C task; the native gives back what it has and returns
 * coir_trap_status, which knows whether Cancelled or Timeout is meant. A native never calls the interpreter, never
 * blocks, and never recurses over a value: walk.h has walks in slices. What works for long returns COIR_NATIVE_MORE
 * after a few thousand steps, and is called again when everybody else has had a turn; if the fiber is cancelled
 * meanwhile it is not called again, and its scratch is given to `cut` first. Work is paid for by coir_charge: one
 * for what an instruction costs, about 32 bytes copied or 4 cells.
 *
 * One that is given a function has it called by coir_call_back: the interpreter runs it over the native's window, and
 * calls the native again, the step counted on, when it has returned. What it has returned is the native's then, to be
 * taken at once.
 *
 *     if (f->step == 0)
 *         return coir_call_back(f, r[1], &s->list->data[s->i]);
 *     s->sum += (int64_t)coir_returned(f)[0];
 *
 * A trap that the function does not catch leaves the native, too, which is not called again: as when it is cut.
 */
#ifndef COIR_VM_NATIVE_H
#define COIR_VM_NATIVE_H

#include "vm/cell.h"
#include "vm/fiber.h"
#include "vm/list.h"
#include "vm/map.h"
#include "vm/text.h"
#include "vm/trap.h"

/* One native. The signature is Coir; `self` first makes it a method of that type. Type parameters stand for any value:
 * the slots differ with the type, and f->import says which it is called with. */
struct coir_native {
    const char *name;                   /* "Text.upper", "List.push", "fs.open" */
    const char *signature;              /* "fn push[T](mut self: List[T], own x: T)" */
    coir_native_fn *call;
};

/* What one file of natives registers. */
struct coir_natives {
    const struct coir_native *natives;
    size_t n;
    const struct coir_resource *const *resources;
    size_t nresources;
};

/* All of the standard library, up to a NULL. */
extern const struct coir_natives *const coir_standard_natives[];

/* As an image imports it: of the concrete types of this use. Lies in the program (program.h). */
struct coir_import {
    const struct coir_native *native;
    uint32_t nparams;
    const struct coir_param *params;    /* `mut` ones first, as their slots are */
    const struct coir_type *result;
    uint32_t mut_slots;                 /* of the `mut` parameters: where the result begins */
    uint32_t slots;                     /* of all parameters */
};

/* The types of this call: of parameter i (`mut` ones first), of the result. */
static inline const struct coir_type *coir_param_type(const struct coir_fiber *f, uint32_t i)
{
    return f->import->params[i].type;
}
static inline const struct coir_type *coir_result_type(const struct coir_fiber *f)
{
    return f->import->result;
}

/* Pays for work: the slice ends at the next landing when the budget is spent. No debt is kept. */
static inline void coir_charge(struct coir_fiber *f, size_t cost)
{
    f->budget = (size_t)f->budget > cost ? f->budget - (int64_t)cost : 1;
}

/* Memory of this call, zero at first, 16-byte aligned, at the same address until it is done. `cut`, if any, is called
 * before it is freed when the native is not called again: the fiber is cut while it has said COIR_NATIVE_MORE, or a
 * function that it asked for has trapped. A native that asks for one has a `cut`, or no scratch. NULL: no memory. */
void *coir_scratch(struct coir_fiber *f, size_t size, void (*cut)(struct coir_fiber *f, void *scratch));

/* return coir_wait_for(f, slot, name, .arg = ...): awaits a task of libcoir in `slot`, which lies in the scratch. */
#define coir_wait_for(f, slot, name, ...) __extension__({ \
    COIR_ARGS_(slot, name, __VA_ARGS__); \
    coir_prepare_wait_(f, &(slot)->task, name##_resume); })
static inline enum coir_native_result coir_prepare_wait_(struct coir_fiber *f, struct coir_task *slot,
                                                         coir_step (*resume)(struct coir_task *))
{
    f->wait = slot;
    slot->body = resume;
    return COIR_NATIVE_AWAIT;
}

/*
 * return coir_call_back(f, closure, args): has the function value called that `closure` is. `args` are its parameters'
 * slots: own ones are moved, unless it traps here, for want of memory or of stack; if they lie in the native's window
 * they are set to 0 there. Lent ones the native keeps until the function has returned, as it does the closure. It has
 * no `mut` parameters. The stack may move: `r` is not to be used after this.
 *
 * return coir_call_function(f, function, args): the same with a function of the program, by its index; no closure's.
 */
enum coir_native_result coir_call_back(struct coir_fiber *f, uint64_t closure, const uint64_t *args);
enum coir_native_result coir_call_function(struct coir_fiber *f, uint32_t function, const uint64_t *args);
/* The slots of what it returned, when the native is called again. What they own is the native's: it moves it out. */
uint64_t *coir_returned(const struct coir_fiber *f);

/* return coir_trap...: raises. The first takes a message as printf does. */
enum coir_native_result coir_trap(struct coir_fiber *f, enum coir_trap_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
enum coir_native_result coir_trap_memory(struct coir_fiber *f) __attribute__((cold));
/* Of a negative errno: Cancelled or Timeout for -ECANCELED, Memory for -ENOMEM; else Io, with the errno, and as message
 * "No such file or directory: NAME"; without the name if that is NULL. */
enum coir_native_result coir_trap_status(struct coir_fiber *f, int status, const char *name) __attribute__((cold));
/* The same, with other words than errno's. */
enum coir_native_result coir_trap_outside(struct coir_fiber *f, int status, const char *words, const char *name)
    __attribute__((cold));
/* Bounds: "index 9 of 3". */
enum coir_native_result coir_trap_index(struct coir_fiber *f, int64_t index, size_t len) __attribute__((cold));

#endif
