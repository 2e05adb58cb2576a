/* SPDX-License-Identifier: MIT */
/*
 * The table of values that C has names for: see inside.h. Entries are made and ended here, and nowhere else; what is
 * wrong with a name is found here. An entry's place may move when another is made.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "embed/inside.h"
#include "vm/program.h"

/* Of the machines that were opened on this thread: a name of another thread's, or of one that is closed, is not here.
 * */
static _Thread_local struct coir_host *machines;
static _Thread_local uint32_t stamps;

void coir_host_stop(const char *who, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "coir: %s: %s\n", who, text);
    abort();
}

void coir_host_link(struct coir_host *h)
{
    h->next = machines;
    machines = h;
}

void coir_host_unlink(struct coir_host *h)
{
    struct coir_host **at = &machines;

    while (*at && *at != h)
        at = &(*at)->next;
    if (*at)
        *at = h->next;
}

/* The one that is asked for comes to the front. */
static struct coir_host *find(struct coir_vm *vm)
{
    for (struct coir_host **at = &machines; *at; at = &(*at)->next) {
        struct coir_host *const h = *at;

        if (coir_host_vm(h) != vm)
            continue;
        *at = h->next;
        coir_host_link(h);
        return h;
    }
    return NULL;
}

struct coir_host *coir_host_of(struct coir_vm *vm, const char *who)
{
    struct coir_host *const h = machines && coir_host_vm(machines) == vm ? machines : vm ? find(vm) : NULL;

    if (!h)
        coir_host_stop(who, vm ? "the machine is closed, or another thread's" : "there is no machine");
    return h;
}

/* ---- entries ---- */

struct coir_entry *coir_entry_of(struct coir_vm_value v, const char *who, struct coir_host **host)
{
    struct coir_host *h;
    struct coir_entry *e;

    *host = NULL;
    if (!v.vm)
        return NULL;
    h = *host = coir_host_of(v.vm, who);
    if (!v.at)
        return NULL;
    e = v.at < h->nentries ? &h->entries[v.at] : NULL;
    if (!e || e->state == COIR_ENTRY_FREE || e->stamp != v.stamp)
        coir_host_stop(who, "the value is gone");
    return e;
}

struct coir_vm_value coir_value_fails(struct coir_host *h)
{
    if (h->call)
        h->call->failed = true;
    return (struct coir_vm_value){ coir_host_vm(h), 0, 1 };
}

static bool more_entries(struct coir_host *h)
{
    const uint32_t n = h->nentries ? h->nentries * 2 : 16;
    struct coir_entry *grown;

    if (n < h->nentries)
        return false;
    grown = h->entries ? coir_heap_resize(coir_host_heap(h), h->entries, h->nentries * sizeof *grown, n * sizeof *grown)
                       : coir_heap_alloc(coir_host_heap(h), n * sizeof *grown);
    if (!grown)
        return false;
    for (uint32_t i = n; i-- > (h->nentries ? h->nentries : 1);) {
        grown[i] = (struct coir_entry){ .next = h->free };
        h->free = i;
    }
    h->entries = grown;
    h->nentries = n;
    return true;
}

/* 0: no memory. */
static uint32_t entry_new(struct coir_host *h, const struct coir_type *t, const uint64_t *slots,
                          enum coir_entry_state state)
{
    const size_t size = t ? t->slots * sizeof(uint64_t) : 0;
    uint64_t *apart = NULL;
    struct coir_entry *e;
    uint32_t at;

    if (!h->free && !more_entries(h))
        return 0;
    if (size > sizeof(uint64_t)) {
        apart = coir_heap_alloc(coir_host_heap(h), size);
        if (!apart)
            return 0;
        memcpy(apart, slots, size);
    }
    at = h->free;
    e = &h->entries[at];
    h->free = e->next;
    *e = (struct coir_entry){ .type = t, .stamp = ++stamps ? stamps : ++stamps, .state = (uint8_t)state };
    if (apart)
        e->slots = apart;
    else if (size)
        e->word = slots[0];
    if (h->call) {
        e->of_call = true;
        e->next = h->call->first;
        h->call->first = at;
    }
    return at;
}

static struct coir_vm_value name_of(struct coir_host *h, uint32_t at)
{
    return at ? (struct coir_vm_value){ coir_host_vm(h), at, h->entries[at].stamp } : coir_value_fails(h);
}

struct coir_vm_value coir_value_take(struct coir_host *h, const struct coir_type *t, const uint64_t *slots)
{
    const uint32_t at = entry_new(h, t, slots, t ? COIR_ENTRY_OWNED : COIR_ENTRY_NIL);

    if (!at && t)
        coir_drop_value(coir_host_heap(h), t, slots);
    return name_of(h, at);
}

struct coir_vm_value coir_value_copy(struct coir_host *h, const struct coir_type *t, const uint64_t *slots)
{
    coir_hold_value(t, slots);
    return coir_value_take(h, t, slots);
}

struct coir_vm_value coir_value_lend(struct coir_host *h, const struct coir_type *t, const uint64_t *slots)
{
    return name_of(h, entry_new(h, t, slots, COIR_ENTRY_LENT));
}

struct coir_vm_value coir_value_part(struct coir_host *h, bool lent, const struct coir_type *t, const uint64_t *slots,
                                     const char *who)
{
    if (lent)
        return coir_value_lend(h, t, slots);
    if (t->owns)
        coir_host_stop(who, "what has one owner is looked at only where it is lent");
    return coir_value_copy(h, t, slots);
}

static void forget(struct coir_host *h, struct coir_entry *e, uint32_t at)
{
    if (e->type && e->type->slots > 1)
        coir_heap_free(coir_host_heap(h), e->slots, e->type->slots * sizeof(uint64_t));
    *e = (struct coir_entry){ .next = h->free };
    h->free = at;
}

void coir_entry_end(struct coir_host *h, uint32_t at)
{
    struct coir_entry *const e = &h->entries[at];

    if (e->state == COIR_ENTRY_OWNED)
        coir_drop_value(coir_host_heap(h), e->type, coir_entry_slots(e));
    forget(h, e, at);
}

void coir_entries_end(struct coir_host *h, uint32_t first)
{
    while (first) {
        const uint32_t next = h->entries[first].next;

        coir_entry_end(h, first);
        first = next;
    }
}

/* The link of the running call that leads to an entry. NULL: it is none of that. */
static uint32_t *link_to(struct coir_host *h, uint32_t at)
{
    uint32_t *link = h->call && h->entries[at].of_call ? &h->call->first : NULL;

    while (link && *link && *link != at)
        link = &h->entries[*link].next;
    return link && *link ? link : NULL;
}

void coir_vm_release(struct coir_vm_value v)
{
    struct coir_host *h;
    struct coir_entry *const e = coir_entry_of(v, "coir_vm_release", &h);
    uint32_t *link;

    if (!e)
        return;
    link = link_to(h, v.at);
    if (link)
        *link = e->next;
    else if (e->of_call)
        coir_host_stop("coir_vm_release", "the value belongs to a call of a builtin that waits");
    coir_entry_end(h, v.at);
    if (coir_host_heap(h)->dead)
        coir_keeper_wake(coir_host_vm(h));
}

struct coir_vm_value coir_vm_keep(struct coir_vm_value v)
{
    struct coir_host *h;
    const struct coir_entry *const e = coir_entry_of(v, "coir_vm_keep", &h);
    struct coir_host_call *call;
    struct coir_vm_value kept;

    if (!e)
        return v;
    if (e->type && e->type->owns)
        coir_host_stop("coir_vm_keep", "what has one owner cannot be kept");
    call = h->call;
    h->call = NULL;
    kept = e->type ? coir_value_copy(h, e->type, coir_entry_slots(e)) : coir_value_take(h, NULL, NULL);
    h->call = call;
    return coir_value_failed(kept) ? coir_value_fails(h) : kept;
}

/* ---- going somewhere ---- */

/* How many optionals are wanted around the value; -1: it does not fit. */
static int wrapped(const struct coir_type *t, const struct coir_type *value)
{
    int n = 0;

    for (; t != value; n++) {
        if (t->kind != COIR_TYPE_OPTIONAL)
            return -1;
        t = t->element;
    }
    return n;
}

enum coir_fits coir_value_fits(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, const char *who)
{
    struct coir_host *of;
    const struct coir_entry *const e = coir_entry_of(v, who, &of);

    if (of && of != h)
        coir_host_stop(who, "the value is another machine's");
    if (!e && coir_value_failed(v))
        return COIR_FITS_NO_MEMORY;
    if (!e || e->state == COIR_ENTRY_NIL)
        return t->kind == COIR_TYPE_OPTIONAL ? COIR_FITS : COIR_FITS_NOT;
    if (wrapped(t, e->type) < 0)
        return COIR_FITS_NOT;
    return e->type->owns && e->state == COIR_ENTRY_LENT ? COIR_FITS_LENT : COIR_FITS;
}

/* The value's slots stand at the end of those of the optionals around it: each but a bare one has a tag before them. */
void coir_value_give(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, uint64_t *to,
                     const char *who)
{
    struct coir_host *of;
    struct coir_entry *const e = coir_entry_of(v, who, &of);

    memset(to, 0, t->slots * sizeof *to);
    if (!e || e->state == COIR_ENTRY_NIL)
        return;
    for (; t != e->type; t = t->element) {
        if (!coir_type_is_ref(t->element))
            *to++ = 1;
    }
    memcpy(to, coir_entry_slots(e), t->slots * sizeof *to);
    if (!t->owns) {
        coir_hold_value(t, to);
        return;
    }
    if (e->of_call) {
        e->state = COIR_ENTRY_LENT;         /* moved: the name is gone, the entry ends with the call */
        e->stamp = 0;
    } else {
        forget(h, e, v.at);
    }
}

bool coir_value_put(struct coir_host *h, struct coir_vm_value v, const struct coir_type *t, uint64_t *to,
                    const char *who)
{
    char wanted[80], is[80];
    struct coir_host *of;

    switch (coir_value_fits(h, v, t, who)) {
    case COIR_FITS:
        coir_value_give(h, v, t, to, who);
        return true;
    case COIR_FITS_NO_MEMORY:
        return false;
    case COIR_FITS_LENT:
        coir_host_stop(who, "what is lent cannot be given away: %s", coir_write_type(t, wanted, sizeof wanted));
    default: {
        const struct coir_entry *const e = coir_entry_of(v, who, &of);

        coir_host_stop(who, "%s is wanted, and the value is %s", coir_write_type(t, wanted, sizeof wanted),
                       !e ? "none" : e->type ? coir_write_type(e->type, is, sizeof is) : "nil");
    }
    }
}

void coir_entry_own(struct coir_host *h, struct coir_entry *e, const char *who)
{
    (void)h;
    if (e->state != COIR_ENTRY_LENT)
        return;
    if (e->type->owns)
        coir_host_stop(who, "what is lent cannot be changed");
    coir_hold_value(e->type, coir_entry_slots(e));
    e->state = COIR_ENTRY_OWNED;
}

bool coir_slots_nil(const struct coir_type *optional, const uint64_t *slots)
{
    (void)optional;
    return slots[0] == 0;
}

const uint64_t *coir_slots_inside(const struct coir_type *optional, const uint64_t *slots)
{
    return coir_type_is_ref(optional->element) ? slots : slots + 1;
}
