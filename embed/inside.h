/* SPDX-License-Identifier: MIT */
/*
 * What the files of embed/ share: a host's program, its machine, the table of the values that C has names for.
 *
 * A value of C's is an entry of the machine's table, and its name says which: the place, and a stamp that is each
 * entry's own, so a name that is old is found out. Entries made while a builtin runs are linked to its call and end
 * with it. What an entry holds it has counted (OWNED), or somebody keeps it for as long as the call goes on (LENT).
 */
#ifndef COIR_EMBED_INSIDE_H
#define COIR_EMBED_INSIDE_H

#include <coir/vm.h>

#include "vm/native.h"
#include "vm/world.h"

/* ---- a program ---- */

/* A resource of a module, as the machine knows it. */
struct coir_host_resource {
    struct coir_resource inner;
    const struct coir_vm_resource *given;
    char name[];
};

/* A module, as the machine knows it: a native for each builtin, in the same order. */
struct coir_host_module {
    const struct coir_vm_module *given;
    struct coir_natives table;
    struct coir_native *natives;
    const struct coir_resource **resources;
};

struct coir_vm_program {
    struct coir_program *loaded;
    void *image;
    size_t length;
    uint32_t nmodules;
    struct coir_host_module *modules;
    const struct coir_natives **tables; /* the library's, the modules', NULL */
    struct coir_program *declared;      /* imports each builtin, as its module declares it. NULL: no module */
};

/* NULL, or which of the imports are of other types than the modules declare: in `out`, of `size` bytes. */
const char *coir_host_mismatch(const struct coir_vm_program *p, const struct coir_program *loaded, char *out,
                               size_t size);

/* The call of every builtin. */
coir_native_fn coir_host_builtin;

/* A resource's cell whose bytes nobody has been given: its `aux`. */
enum { COIR_HOST_UNSAID = 1 };
/* Whether it is one of a module's. */
bool coir_host_is_own(const struct coir_resource *r);

/* ---- a machine ---- */

enum coir_entry_state { COIR_ENTRY_FREE, COIR_ENTRY_OWNED, COIR_ENTRY_LENT, COIR_ENTRY_NIL };

struct coir_entry {
    const struct coir_type *type;
    union {
        uint64_t word;                  /* of at most one slot */
        uint64_t *slots;                /* of more: memory of the heap */
    };
    uint32_t stamp;
    uint32_t next;                      /* of its call, or of the free ones */
    uint8_t state;
    bool of_call;                       /* it belongs to a call of a builtin, else to the host */
};

/* A builtin's call: the native's scratch. */
struct coir_host_call {
    struct coir_fiber *fiber;           /* while the builtin runs */
    uint64_t *window;                   /* the same */
    const struct coir_vm_builtin *builtin;
    uint32_t first;                     /* of its entries */
    bool failed;                        /* there was no memory for a value */
    bool said;                          /* the builtin has said what comes next */
    enum coir_native_result how;
    void *scratch;
    size_t size;
    void (*end)(void *scratch);
    struct coir_asked *asked;           /* what it has asked for; NULL: nothing */
    struct coir_vm_value answer;
    struct coir_vm_value args[];
};

struct coir_host {
    struct coir_world world;            /* of one machine */
    struct coir_host *next;             /* of this thread's */
    const struct coir_vm_program *program;
    void *data;
    struct coir_entry *entries;         /* the first is not used */
    uint32_t nentries, free;
    struct coir_host_call *call;        /* the builtin that runs */
    struct coir_link waits;             /* tasks of C that wait in a channel: struct coir_host_wait */
    struct coir_task *closer;           /* waits for the keeper's end */
    bool closing;                       /* fibers are unwound, and none begins */
    bool over;                          /* the keeper has ended */
};

/* A task of C in a channel of the machine. */
struct coir_host_wait {
    struct coir_link link;
    struct coir_task *task;
};

/* Stops the process: "coir: coir_vm_at: the value is gone". */
_Noreturn void coir_host_stop(const char *who, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The machine, which must be of this thread. */
struct coir_host *coir_host_of(struct coir_vm *vm, const char *who);
void coir_host_link(struct coir_host *h);
void coir_host_unlink(struct coir_host *h);

static inline struct coir_vm *coir_host_vm(const struct coir_host *h)
{
    return h->world.vms[0];
}
static inline struct coir_heap *coir_host_heap(const struct coir_host *h)
{
    return &h->world.vms[0]->heap;
}

/* The same place, for as long as the process lives. Any thread. */
const struct coir_site *coir_host_site(const struct coir_site *s);

/* ---- values ---- */

/* The entry that `v` names; NULL: it is no value. It stays where it is until one is made. */
struct coir_entry *coir_entry_of(struct coir_vm_value v, const char *who, struct coir_host **host);

/* Whether there was no memory for it. */
static inline bool coir_value_failed(struct coir_vm_value v)
{
    return v.at == 0 && v.stamp != 0;
}
struct coir_vm_value coir_value_fails(struct coir_host *h);

static inline const uint64_t *coir_entry_slots(const struct coir_entry *e)
{
    return e->type && e->type->slots > 1 ? e->slots : &e->word;
}

/* A new entry of these slots: they are moved in (also when there is no memory: then they are dropped), held once more,
 * or lent. */
struct coir_vm_value coir_value_take(struct coir_host *h, const struct coir_type *t, const uint64_t *slots);
struct coir_vm_value coir_value_copy(struct coir_host *h, const struct coir_type *t, const uint64_t *slots);
struct coir_vm_value coir_value_lend(struct coir_host *h, const struct coir_type *t, const uint64_t *slots);
/* What is part of an entry: lent if that is, else held once more. */
struct coir_vm_value coir_value_part(struct coir_host *h, bool lent, const struct coir_type *t, const uint64_t *slots,
                                     const char *who);

void coir_entry_end(struct coir_host *h, uint32_t at);
/* All from `first` on. */
void coir_entries_end(struct coir_host *h, uint32_t first);

/* Whether a value can go where type `t` is wanted: copied, or moved if it has one owner. */
enum coir_fits { COIR_FITS, COIR_FITS_NOT, COIR_FITS_LENT, COIR_FITS_NO_MEMORY };
enum coir_fits coir_value_fits(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, const char *who);
/* Writes its slots there, as that type; it fits. */
void coir_value_give(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, uint64_t *to,
                     const char *who);
/* Both: false, there is no memory. What does not fit stops the process. */
bool coir_value_put(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, uint64_t *to,
                    const char *who);

/* The slots of an optional's inside, and whether it is nil. */
bool coir_slots_nil(const struct coir_type *optional, const uint64_t *slots);
const uint64_t *coir_slots_inside(const struct coir_type *optional, const uint64_t *slots);

/* The entry is made the only holder of its cell's reference, so that the cell may be changed. */
void coir_entry_own(struct coir_host *h, struct coir_entry *e, const char *who);

/* ---- functions of the program that are called from C ---- */

/* A call that is made ready: the function, and the slots of its arguments, of which it holds all. */
struct coir_asked {
    const struct coir_param *params;
    uint32_t nparams, slots;
    const struct coir_type *result;
    uint32_t function;
    uint64_t closure;                   /* held; 0: none */
    size_t size;                        /* of this memory, of the heap */
    uint64_t args[];
};

/* As a name: what works out the constants of the program's modules. */
extern const char coir_host_init[];
/* Prints a Trap on stderr. */
void coir_host_report(struct coir_vm_value trap);

/* By name, or else a function value. 0 and *asked; -ENOENT, -EINVAL, -ENOMEM: nothing has happened to the arguments. */
int coir_asked_new(struct coir_host *h, const char *name, struct coir_vm_value function,
                   const struct coir_vm_value *args, size_t n, const char *who, struct coir_asked **asked);
/* It runs: own arguments are its own now. */
void coir_asked_begun(struct coir_asked *a);
void coir_asked_end(struct coir_host *h, struct coir_asked *a);

#endif
