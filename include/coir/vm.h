/* SPDX-License-Identifier: MIT */
/*
 * coir/vm.h - programs of the Coir language inside a program in C, in a library of its own, coirvm.
 *
 *     coir_vm_compile("rules.coir", modules, &program, &why);           before the run
 *     coir_get(f, f->vm, &f->open, coir_vm_open, .program = program);   in a task
 *     f->arg = coir_vm_text(f->vm, "x", 1);
 *     coir_get(f, f->answer, &f->call, coir_vm_call, .vm = f->vm, .name = "decide", .args = &f->arg, .n = 1);
 *     coir_await(f, &f->close, coir_vm_close, .vm = f->vm);             in coir_finally
 *
 * A machine runs a program on the shard on which it was opened: its fibers are tasks of that shard as any others, take
 * turns with those in C, and wait on the same plane. It has a heap of its own, with a limit of its own; any number of
 * machines may be in a process, on one shard or on several, also of one program.
 *
 * The program calls C by modules of the host's: functions and resources that are declared in Coir and written in C. C
 * calls the program's `pub` functions, and whatever function values it is given.
 *
 * Unless it says otherwise a function here is called on the shard's thread of the machine it is given, or of the one
 * that its value belongs to. What makes no sense stops the process, with a line on stderr that says which call it was:
 * a value of another type than is asked for, one that is gone, a call from another thread. It is a mistake of the host,
 * and no input of the program's brings it about.
 */
#ifndef COIR_VM_H
#define COIR_VM_H

#include <coir/task.h>

#ifdef __cplusplus
extern "C" {
#endif
# 32 "coir/vm.h"

struct coir_vm;
struct coir_vm_program;

/* ---- values ------------------------------------------------------------------------------------------ */

/*
 * A value of a machine, as C has it: a name for it, of which copies mean the same. The members are private; all zeros
 * is no value.
 *
 * A value that comes up while a builtin runs belongs to that call, and is gone when the call has ended; it need not be
 * given back. Any other, and what coir_vm_keep gives, is the host's: it lives until coir_vm_release, or until the
 * machine is closed.
 *
 * Where a value goes in (an argument, a result, an element) it is copied, as everywhere in Coir, and stays what it is.
 * A resource, and what contains one, has one owner: it goes, and the name for it is gone. What is only lent, as is a
 * parameter without `own`, cannot go.
 *
 * Without memory what should make a value makes none, and what is made of no value is none: so it is enough to look at
 * the end. A builtin need not even look: a call that had no memory for a value traps Memory, whatever it returns.
 */
struct coir_vm_value {
    struct coir_vm *vm;
    uint32_t at, stamp;
};

/* No value, where one is an argument. */
#ifdef __cplusplus
#define COIR_VM_NO_VALUE (coir_vm_value{})
#else
#define COIR_VM_NO_VALUE ((struct coir_vm_value){ 0 })
#endif

/* What a value is. */
enum coir_vm_kind {
    COIR_VM_NONE,                       /* no value: there was no memory for it, or it is all zeros */
    COIR_VM_NOTHING,                    /* () */
    COIR_VM_INT,
    COIR_VM_FLOAT,
    COIR_VM_BOOL,
    COIR_VM_DURATION,
    COIR_VM_TEXT,
    COIR_VM_LIST,
    COIR_VM_MAP,
    COIR_VM_TUPLE,
    COIR_VM_OPTIONAL,
    COIR_VM_RECORD,
    COIR_VM_SUM,
    COIR_VM_FUNCTION,
    COIR_VM_CHAN,
    COIR_VM_RESOURCE,
    COIR_VM_OTHER,                      /* a Task, the handle of an actor: to be passed on */
};

/* A type of a program. It lives as long as that. */
struct coir_type;

/* What a value is: any value. Machine's thread. */
COIR_API enum coir_vm_kind coir_vm_kind_of(struct coir_vm_value v);

/* The type of a value, NULL of none; and what a type is written as in Coir, cut to `size`: returns `to`. Machine's
 * thread. */
COIR_API const struct coir_type *coir_vm_type_of(struct coir_vm_value v);
COIR_API const char *coir_vm_type_text(const struct coir_type *t, char *to, size_t size);

/* The program's type that is written so: "List[Int]", "Point?", "host.Table"; of several types of one name any. NULL:
 * nothing in the program has it. Machine's thread. */
COIR_API const struct coir_type *coir_vm_type(struct coir_vm *vm, const char *text);

/* The type of a part: of a list, an optional, a channel part 0; of a map the keys 0, the values 1; of a record or tuple
 * its field `i`; of a function its parameter `i`, and behind them its result. NULL: there is none. Any thread. */
COIR_API const struct coir_type *coir_vm_type_part(const struct coir_type *t, size_t i);

/* The same value, of the host: for one that is to outlive the call of a builtin. Not a resource. */
COIR_API struct coir_vm_value coir_vm_keep(struct coir_vm_value v);

/* The name for it is gone, and so is the value if nobody else has it. No value is allowed. */
COIR_API void coir_vm_release(struct coir_vm_value v);

/* ---- reading values ---------------------------------------------------------------------------------- */

/* Of an Int, a Float, a Bool, a Duration in nanoseconds. Of no value 0. Machine's thread. */
COIR_API int64_t coir_vm_as_int(struct coir_vm_value v);
COIR_API double coir_vm_as_float(struct coir_vm_value v);
COIR_API bool coir_vm_as_bool(struct coir_vm_value v);
COIR_API int64_t coir_vm_as_duration(struct coir_vm_value v);

/* The bytes of a Text, without a NUL behind them, and how many: *length, if that is not NULL. They stay as long as `v`
 * is not gone. Of no value "" and 0. Machine's thread. */
COIR_API const char *coir_vm_as_text(struct coir_vm_value v, size_t *length);

/* Of an optional: whether it is nil; and what is inside, no value for nil. Machine's thread. */
COIR_API bool coir_vm_is_nil(struct coir_vm_value v);
COIR_API struct coir_vm_value coir_vm_inside(struct coir_vm_value v);

/* How many: elements of a list, entries of a map, parts of a tuple, fields of a record, of a sum's payload, bytes of a
 * Text. Machine's thread. */
COIR_API size_t coir_vm_count(struct coir_vm_value v);

/* Element or part `i` of a list, a tuple, a record, a sum's payload; no value beyond the last. Machine's thread. */
COIR_API struct coir_vm_value coir_vm_at(struct coir_vm_value v, size_t i);

/* A record's field of that name; what the map has under the key, no value if nothing. Machine's thread. */
COIR_API struct coir_vm_value coir_vm_field(struct coir_vm_value v, const char *name);
COIR_API struct coir_vm_value coir_vm_get(struct coir_vm_value map, struct coir_vm_value key);

/* The name of a sum's variant, static for the program. Machine's thread. */
COIR_API const char *coir_vm_variant_of(struct coir_vm_value v);

/*
 * One element of a list after the other, one entry of a map after the other. `*at` begins with 0; `*key` and `*value`
 * begin as no value, and are given back by the next call. True: there is one. Of a list `key` is NULL. With no memory
 * it ends early, as no value does. Machine's thread.
 *
 *     size_t at = 0;
 *     struct coir_vm_value each = { 0 };
 *     while (coir_vm_next(list, &at, NULL, &each))
 *         sum += coir_vm_as_int(each);
 */
COIR_API bool coir_vm_next(struct coir_vm_value v, size_t *at, struct coir_vm_value *key, struct coir_vm_value *value);

/* ---- making values ----------------------------------------------------------------------------------- */

/* An Int, a Float, a Bool, a Duration, a Text of these bytes, (). No value: no memory. Machine's thread. */
COIR_API struct coir_vm_value coir_vm_int(struct coir_vm *vm, int64_t n);
COIR_API struct coir_vm_value coir_vm_float(struct coir_vm *vm, double x);
COIR_API struct coir_vm_value coir_vm_bool(struct coir_vm *vm, bool b);
COIR_API struct coir_vm_value coir_vm_duration(struct coir_vm *vm, int64_t ns);
COIR_API struct coir_vm_value coir_vm_text(struct coir_vm *vm, const char *bytes, size_t length);
COIR_API struct coir_vm_value coir_vm_nothing(struct coir_vm *vm);

/* nil, of whichever optional type is wanted where it goes. A T goes where a T? is wanted. Machine's thread. */
COIR_API struct coir_vm_value coir_vm_nil(struct coir_vm *vm);

/* Of a type of the program: an empty list or map; a record or tuple of its `n` fields in their order; the variant of
 * that name of a sum or enum; a channel with room for `n`. No value: no memory. Machine's thread. */
COIR_API struct coir_vm_value coir_vm_list(struct coir_vm *vm, const struct coir_type *type);
COIR_API struct coir_vm_value coir_vm_map(struct coir_vm *vm, const struct coir_type *type);
COIR_API struct coir_vm_value coir_vm_make(struct coir_vm *vm, const struct coir_type *type,
                                           const struct coir_vm_value *fields, size_t n);
COIR_API struct coir_vm_value coir_vm_variant(struct coir_vm *vm, const struct coir_type *type, const char *name,
                                              const struct coir_vm_value *fields, size_t n);
COIR_API struct coir_vm_value coir_vm_chan(struct coir_vm *vm, const struct coir_type *type, size_t n);

/* Adds an element at the end of the list that `list` names; puts a value under a key of the map. Other names for the
 * list that it was see nothing of it. False: no memory, and it is as it was. Machine's thread. */
COIR_API bool coir_vm_push(struct coir_vm_value list, struct coir_vm_value element);
COIR_API bool coir_vm_put(struct coir_vm_value map, struct coir_vm_value key, struct coir_vm_value value);

/* ---- builtins ---------------------------------------------------------------------------------------- */

/* What a builtin says when it returns: made by the functions below, and by nothing else. The member is private. */
typedef struct coir_vm_said {
    unsigned char how;
} coir_vm_said;

/*
 * A builtin: called on the machine's shard when the program calls it. It may neither block nor call coir_run; what it
 * waits for it says, and is called again.
 *
 *     static coir_vm_said nap(struct coir_vm *vm)
 *     {
 *         struct coir_sleep *s = coir_vm_scratch(vm, sizeof *s, NULL);
 *         if (!s)
 *             return coir_vm_trap_status(vm, -ENOMEM, NULL);
 *         if (coir_vm_step(vm) == 0)
 *             return coir_vm_await(vm, s, coir_sleep, .ns = coir_vm_as_duration(coir_vm_arg(vm, 0)));
 *         if (coir_status(s) < 0)
 *             return coir_vm_trap_status(vm, coir_status(s), NULL);
 *         return coir_vm_done(vm);
 *     }
 */
typedef coir_vm_said coir_vm_builtin_fn(struct coir_vm *vm);

/* A function of a module in C: "lookup", or "Table.get" of a method. */
struct coir_vm_builtin {
    const char *name;
    coir_vm_builtin_fn *call;
};

/*
 * A resource of a module: a type without fields, "Table", of which each value has `size` bytes of the host's. `drop` is
 * called on the machine's thread when a value has no owner any more, with these bytes; it may call nothing of this
 * header, and gives back what is in them, but not the bytes. NULL: nothing is to be done.
 */
struct coir_vm_resource {
    const char *name;
    size_t size;
    void (*drop)(void *state);
};

/*
 * A module of the host's: what a program gets by `use name`. `text` is Coir, and declares: functions without a body,
 * which are builtins; types without fields, which are resources; and whatever else a module may have, types, functions
 * with a body.
 *
 *     pub type Table {
 *         fn get(self, key: Text) -> Text?
 *         fn close(own self)
 *     }
 *     pub fn open(path: Text) -> Table
 *     pub fn each(table: Table, do: fn(Text) -> Bool) -> Int
 *
 * Builtins have no type parameters and no `mut` parameters. All of it is the caller's, and must live as long as any
 * program that was made with it.
 */
struct coir_vm_module {
    const char *name;
    const char *text;
    const struct coir_vm_builtin *builtins;
    size_t nbuiltins;
    const struct coir_vm_resource *resources;
    size_t nresources;
};

/* The parameter `i` of this call, from 0, `self` being the first; and how many there are. In a builtin, on its
 * thread. */
COIR_API struct coir_vm_value coir_vm_arg(struct coir_vm *vm, size_t i);
COIR_API size_t coir_vm_args(struct coir_vm *vm);

/* The type of this call's result. In a builtin, on its thread. */
COIR_API const struct coir_type *coir_vm_result_type(struct coir_vm *vm);

/* How often this call has been called again after an await or for an answer: 0 at first. In a builtin, on its
 * thread. */
COIR_API unsigned coir_vm_step(struct coir_vm *vm);

/* Memory of this call: `size` bytes, zeros at first, at the same place until it ends. `end`, if not NULL, is called
 * with it once, however the call ends: it has returned, it has trapped, its fiber was cancelled. The first call decides
 * about size and end. NULL: no memory. In a builtin, on its thread. */
COIR_API void *coir_vm_scratch(struct coir_vm *vm, size_t size, void (*end)(void *scratch));

/* A new value of the resource "host.Table", owned, and its bytes, zeros, in *state. No value, and NULL: no memory. */
COIR_API struct coir_vm_value coir_vm_new(struct coir_vm *vm, const char *name, void **state);

/* The bytes of a resource of that type. On the machine's thread. */
COIR_API void *coir_vm_state(struct coir_vm_value v, const char *name);

/* return coir_vm_return(vm, value); the result. return coir_vm_done(vm); there is none: (). In a builtin, on its
 * thread. */
COIR_API coir_vm_said coir_vm_return(struct coir_vm *vm, struct coir_vm_value v);
COIR_API coir_vm_said coir_vm_done(struct coir_vm *vm);

/* return coir_vm_more(vm); there is more to do, and enough for this turn: it is called again when everybody else has
 * had theirs, unless the fiber is cancelled. After a few microseconds of work. In a builtin, on its thread. */
COIR_API coir_vm_said coir_vm_more(struct coir_vm *vm);

/* return coir_vm_trap(vm, "Explicit", "no such rule: %s", name); raises a trap of that code of the language; another is
 * Explicit. In a builtin, on its thread. */
COIR_API coir_vm_said coir_vm_trap(struct coir_vm *vm, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* return coir_vm_trap_status(vm, status, name); of a negative errno: Io, "No such file or directory: NAME", without the
 * name if that is NULL; Memory for -ENOMEM; Cancelled, or Timeout, for -ECANCELED, as an await says it. In a builtin,
 * on its thread. */
COIR_API coir_vm_said coir_vm_trap_status(struct coir_vm *vm, int status, const char *name);

/* return coir_vm_await(vm, slot, name, .arg = ...); waits for a task of libcoir, as coir_await does. The slot lies in
 * the scratch; the builtin is called again when it has ended. Cancelling the fiber cancels the task. */
#ifndef __cplusplus
#define coir_vm_await(vm, slot, name, ...) __extension__({ \
    COIR_ARGS_(slot, name, __VA_ARGS__); \
    coir_vm_await_(vm, &(slot)->task, name##_resume); })
#endif
COIR_API coir_vm_said coir_vm_await_(struct coir_vm *vm, struct coir_task *slot,
                                     coir_step (*resume)(struct coir_task *));

/*
 * return coir_vm_ask(vm, function, args, n); has a function of the program called, one that it was given, and is called
 * again with what that returned in coir_vm_answer(vm), up to the next one; no value if it returns (). coir_vm_ask_for
 * names a `pub` function of the program; if there is none, or it wants other arguments, that traps. The function may
 * park, call builtins that ask for functions, to any depth; a trap that it does not catch ends this call too. In a
 * builtin, on its thread.
 */
COIR_API coir_vm_said coir_vm_ask(struct coir_vm *vm, struct coir_vm_value function, const struct coir_vm_value *args,
                                  size_t n);
COIR_API coir_vm_said coir_vm_ask_for(struct coir_vm *vm, const char *name, const struct coir_vm_value *args, size_t n);
COIR_API struct coir_vm_value coir_vm_answer(struct coir_vm *vm);

/* ---- programs ---------------------------------------------------------------------------------------- */

/*
 * Makes a program of a source file, or of a folder's main.coir, and of the files beside it that it uses: `modules`, up
 * to a NULL, are the host's, and may be NULL. A program needs no `main`. It blocks: files are read. Any thread. `why`,
 * if not NULL, gets a text of malloc, for the caller to free: all errors and warnings, as the command prints them, or
 * NULL if there are none. 0, and a program for coir_vm_program_free; or
 *   -EINVAL   it has errors, or a module has
 *   -ENOMEM, -ENOENT, -EACCES, ...   the file cannot be read
 */
COIR_API int coir_vm_compile(const char *path, const struct coir_vm_module *const *modules,
                             struct coir_vm_program **program, char **why);

/* The same of a text, as if it were a file of that name, without others beside it. Any thread. -EINVAL, -ENOMEM;
 * -EFBIG: it is too long. */
COIR_API int coir_vm_compile_text(const char *name, const char *text, size_t length,
                                  const struct coir_vm_module *const *modules, struct coir_vm_program **program,
                                  char **why);

/* The same of an image, of coir_vm_image: any bytes may be given. -EINVAL: it is none, or was made with modules that
 * differ from these in what it uses of them. -ENOMEM. The bytes are not kept. Any thread. */
COIR_API int coir_vm_load(const void *bytes, size_t length, const struct coir_vm_module *const *modules,
                          struct coir_vm_program **program, char **why);

/* The image of a program, to be kept in a file and loaded again; it is the program's. Any thread. */
COIR_API const void *coir_vm_image(const struct coir_vm_program *program, size_t *length);

/* Gives a program back. No machine of it is open any more. NULL is allowed. Any thread. */
COIR_API void coir_vm_program_free(struct coir_vm_program *program);

/* ---- machines ---------------------------------------------------------------------------------------- */

/* What a machine may be told; what is not named is 0 or NULL, and means what is said first. */
struct coir_vm_settings {
    size_t max_memory;                  /* bytes of values and fibers; more traps Memory. 0: any number */
    uint32_t reductions;                /* calls and turns of loops before others have their turn. 0: 4000 */
    void *data;                         /* the host's: coir_vm_data */
};

/* `settings.data`. The machine's thread. */
COIR_API void *coir_vm_data(struct coir_vm *vm);

/* Fibers that have not ended; bytes of values and fibers. The machine's thread. */
COIR_API size_t coir_vm_fibers(struct coir_vm *vm);
COIR_API size_t coir_vm_memory(struct coir_vm *vm);

/* Whether the program has a `pub` function of that name: "decide" of its first file, "rules.decide" of others that it
 * uses. The machine's thread. */
COIR_API bool coir_vm_has(struct coir_vm *vm, const char *name);

/*
 * Calls a function of the program, in a fiber of its own, and waits for its end: one of that name, or else the value
 * `function`. Arguments lie in the frame or on the heap and are looked at when the call begins; results are the host's,
 * to be released. Cancelling the await cancels the fiber, and returns when it has unwound.
 *   0             the result; () is COIR_VM_NOTHING
 *   -EREMOTEIO    it trapped: the result is the Trap, a record with the fields code, message, file, line, errno, trace
 *   -ECANCELED    it was cancelled, and ended of that
 *   -ENOENT       there is no function of that name
 *   -EINVAL       other arguments are wanted, or a `mut` one
 *   -ENOMEM, -ESHUTDOWN (the machine is being closed), -EFAULT
 */
struct coir_vm_call {
    coir_frame(struct coir_vm_value);
    coir_args(struct coir_vm *vm; const char *name; struct coir_vm_value function; const struct coir_vm_value *args;
              size_t n;);
    void *room_[4];
};
coir_export(coir_vm_call);

/* The same without waiting: the fiber runs by itself, and a trap that it ends with is printed on stderr. Machine's
 * thread. 0, or -ENOENT, -EINVAL, -ENOMEM, -ESHUTDOWN. */
COIR_API int coir_vm_start(struct coir_vm *vm, const char *name, struct coir_vm_value function,
                           const struct coir_vm_value *args, size_t n);

/*
 * Stops a machine: no call begins any more, its fibers are unwound, the newest first, what was printed is written, and
 * all that it has is given back. Values of it are gone, also those that the host kept. `vm` may be NULL. Not
 * cancellable. No task waits in coir_vm_call, coir_vm_send or coir_vm_recv on it when it ends: it waits for calls.
 */
struct coir_vm_close {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    void *room_[2];
};
coir_export(coir_vm_close);

/*
 * Makes a machine of a program on this shard. The module's constants are worked out first. The result is the host's,
 * who closes it. A run that ends without that unwinds the fibers, but leaves the machine's memory.
 *   -EREMOTEIO    a constant trapped, which was printed on stderr
 *   -ENOMEM, -ECANCELED, -EFAULT
 */
struct coir_vm_open {
    coir_frame(struct coir_vm *);
    coir_args(const struct coir_vm_program *program; const struct coir_vm_settings *settings;);
    struct coir_vm_call call_;
    struct coir_vm_close close_;
    struct coir_vm *vm_;
    int failed_;
};
coir_export(coir_vm_open);

/* ---- channels ---------------------------------------------------------------------------------------- */

/*
 * Sends a value into a channel of a machine, made by either side: as Chan.send, from a task in C.
 *   0             a receiver has it, or the channel's room
 *   -EPIPE        it is closed: nobody gets it
 *   -ECANCELED    cancelled before there was a place: nobody gets it
 *   -EINVAL       the value is of another type
 *   -ENOMEM       also: `value` or `chan` is no value
 */
struct coir_vm_send {
    coir_frame_void;
    coir_args(struct coir_vm_value chan; struct coir_vm_value value;);
    void *room_[20];
};
coir_export(coir_vm_send);

/* Receives the oldest: the result is the host's, to be released. It is no value, with status 0, when the channel is
 * closed and nothing is left in it. -ECANCELED, -ENOMEM. */
struct coir_vm_recv {
    coir_frame(struct coir_vm_value);
    coir_args(struct coir_vm_value chan;);
    void *room_[20];
};
coir_export(coir_vm_recv);

/* Closes a channel, as Chan.close. The machine's thread. */
COIR_API void coir_vm_chan_close(struct coir_vm_value chan);

#ifdef __cplusplus
}
#endif
#endif
