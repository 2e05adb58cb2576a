/* SPDX-License-Identifier: MIT */
/*
 * A machine in a host's program: opened, looked after, closed. Its world is of one shard, whichever that is. Who looks
 * after it is a task of the shard's root group, which unwinds the fibers when the machine is closed or the run ends,
 * and buries the dead while no fiber does; a deadlock is the run's affair, since anybody in C may wake a fiber.
 */
#include <errno.h>
#include <stdlib.h>

#include <coir/group.h>
#include <coir/scope.h>

#include "embed/inside.h"
#include "runtime/base/assert.h"
#include "runtime/base/queue.h"
#include "vm/begin.h"
#include "vm/region.h"

enum { BURIED_A_TURN = 2000 };

/* ---- who looks after it ---- */

struct caretaker {
    coir_frame_void;
    coir_args(struct coir_host *host;);
};
static coir_declare(caretaker);

static const struct coir_site caretaker_site = { "coir_vm", __FILE__, __LINE__ };

/* The run ends, or its root group is cancelled. */
static void run_ends(struct coir_task *t)
{
    struct coir_host *const h = ((struct caretaker *)t)->host;

    h->closing = true;
    coir_keeper_wake(coir_host_vm(h));
}

static coir_step parks(struct caretaker *k)
{
    k->task.state = 1;
    k->task.abort = k->host->closing ? NULL : run_ends;
    k->task.site = &caretaker_site;
    coir_host_vm(k->host)->keeper = &k->task;
    return COIR_PARK_;
}

static coir_step goes_on(struct caretaker *k)
{
    k->task.state = 1;
    coir_ready_(&k->task);
    return COIR_PARK_;
}

static void stop_newest(struct coir_vm *vm)
{
    struct coir_fiber *f = vm->newest;

    vm->stopping = true;
    while (f && coir_group_is_shielded(f->member_of))
        f = f->older;
    if (!f || f->stopping)
        return;
    f->stopping = true;
    coir_fiber_cancel(f);
}

static struct coir_task *leaf_of(struct coir_task *t)
{
    while (t->awaiting)
        t = t->awaiting;
    return t;
}

/* Tasks of C that wait in channels: nobody is left who would wake them. */
static void end_waits(struct coir_host *h)
{
    for (struct coir_link *at = h->waits.next; at != &h->waits; at = at->next) {
        struct coir_task *const leaf = leaf_of(coir_container_of(at, struct coir_host_wait, link)->task);

        if (leaf->abort)
            leaf->abort(leaf);
    }
}

static coir_step is_over(struct caretaker *k)
{
    struct coir_host *const h = k->host;

    coir_heap_bury(coir_host_heap(h), SIZE_MAX);
    h->over = true;
    if (h->closer)
        coir_ready_(h->closer);
    k->task.state = COIR_LEFT_;
    return COIR_DONE_;
}

coir_step caretaker_resume(struct coir_task *t)
{
    struct caretaker *const k = (struct caretaker *)t;
    struct coir_host *const h = k->host;
    struct coir_vm *const vm = coir_host_vm(h);

    if (vm->heap.dead) {
        coir_heap_bury(&vm->heap, BURIED_A_TURN);
        return goes_on(k);
    }
    if (!h->closing && coir_here.cancelled && coir_cancelled_(t))
        h->closing = true;
    if (!h->closing)
        return parks(k);
    stop_newest(vm);
    if (vm->live)
        return parks(k);
    end_waits(h);
    if (!coir_list_empty(&h->waits) || vm->streams->out.has_writer)
        return parks(k);
    return is_over(k);
}

/* ---- made and given back ---- */

static void host_free(struct coir_host *h)
{
    struct coir_vm *const vm = coir_host_vm(h);

    for (uint32_t i = 1; i < h->nentries; i++) {
        if (h->entries[i].state != COIR_ENTRY_FREE)
            coir_entry_end(h, i);
    }
    if (h->entries)
        coir_heap_free(&vm->heap, h->entries, h->nentries * sizeof *h->entries);
    coir_output_finish(&vm->streams->out);
    coir_world_bury(&h->world);
#if defined(COIR_FAULTS) || defined(COIR_DEBUG)
    COIR_ASSERT(vm->heap.lives == 0);
#endif
    coir_host_unlink(h);
    coir_world_end(&h->world);
    free(h);
}

/* NULL: no memory. */
static struct coir_host *host_new(const struct coir_vm_program *p, const struct coir_vm_settings *s)
{
    struct coir_host *const h = aligned_alloc(_Alignof(struct coir_host), sizeof *h);
    struct coir_vm *vm;

    if (!h)
        return NULL;
    memset(h, 0, sizeof *h);
    if (coir_world_init(&h->world, p->loaded, 1, s ? s->max_memory : 0, 0) < 0) {
        free(h);
        return NULL;
    }
    vm = coir_host_vm(h);
    vm->host = h;
    vm->reductions = coir_reductions(s ? s->reductions : 0);
    vm->by_switch = coir_by_switch(NULL);
    for (uint32_t i = 0; i <= p->loaded->nfunctions; i++)
        vm->sites[i] = coir_host_site(vm->sites[i]);
    h->program = p;
    h->data = s ? s->data : NULL;
    coir_list_init(&h->waits);
    coir_host_link(h);
    if (coir_detach(coir_new(caretaker, .host = h)) == 0)
        return h;
    host_free(h);
    return NULL;
}

void *coir_vm_data(struct coir_vm *vm)
{
    return coir_host_of(vm, "coir_vm_data")->data;
}

size_t coir_vm_fibers(struct coir_vm *vm)
{
    return coir_host_vm(coir_host_of(vm, "coir_vm_fibers"))->live;
}

size_t coir_vm_memory(struct coir_vm *vm)
{
    const int64_t used = coir_host_heap(coir_host_of(vm, "coir_vm_memory"))->used;

    return used > 0 ? (size_t)used : 0;
}

/* ---- closing ---- */

coir_step coir_vm_close_resume(struct coir_task *t)
{
    struct coir_vm_close *const f = (struct coir_vm_close *)t;
    struct coir_host *const h = f->vm ? coir_host_of(f->vm, "coir_vm_close") : NULL;

    if (h && h->call)
        coir_host_stop("coir_vm_close", "a builtin of the machine runs");
    if (h && !h->over) {
        if (h->closer)
            coir_host_stop("coir_vm_close", "the machine is being closed already");
        h->closer = t;
        h->closing = true;
        coir_keeper_wake(coir_host_vm(h));
        t->state = 1;
        return COIR_PARK_;
    }
    if (h)
        host_free(h);
    t->state = COIR_LEFT_;
    return COIR_DONE_;
}

/* ---- opening ---- */

/* The module's constants; nobody else calls the init function. */
static bool has_init(const struct coir_vm_program *p)
{
    return p->loaded->init >= 0;
}

static struct coir_vm *machine_new(const struct coir_vm_program *p, const struct coir_vm_settings *s)
{
    const struct coir_host *const h = host_new(p, s);

    return h ? coir_host_vm(h) : NULL;
}

coir_body(coir_vm_open, f) {
    f->vm_ = NULL;
    if (!f->program)
        coir_fail(f, EFAULT);
    f->vm_ = machine_new(f->program, f->settings);
    if (!f->vm_)
        coir_fail(f, ENOMEM);
    if (has_init(f->program)) {
        coir_await(f, &f->call_, coir_vm_call, .vm = f->vm_, .name = coir_host_init);
        if (coir_status(&f->call_) == -EREMOTEIO)
            coir_host_report(f->call_.result);
        coir_vm_release(f->call_.result);
        coir_check(f, &f->call_);
    }
    f->result = f->vm_;
    coir_finally(f) {
        if (!f->result && f->vm_)
            coir_await(f, &f->close_, coir_vm_close, .vm = f->vm_);
    }
} coir_end
