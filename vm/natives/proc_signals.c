/* SPDX-License-Identifier: MIT */
/*
 * Signals by name, and as a channel: a subscription of libcoir's, and a task that puts what it is told of into the
 * channel. What comes while that is full waits in the subscription, one of each number. The task and the channel know
 * of each other until the channel is closed or nobody holds it; then the subscription is closed at once, and the task
 * ends when it is resumed.
 */
#include <coir/coir.h>
#include <coir/signal.h>
#include <errno.h>
#include <stdio.h>

#include "runtime/base/queue.h"
#include "vm/chan.h"
#include "vm/far.h"
#include "vm/keeper.h"
#include "vm/natives/proc.h"
#include "vm/world.h"

enum { NAMED = 32, ROOM = 16, LIST = 300, SHOWN = 20 };

/* What a program can receive; the others kill it, or happen to it. */
static const int received[] = { SIGALRM, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU,
                                SIGURG, SIGUSR1, SIGUSR2, SIGWINCH };
enum { RECEIVED = sizeof received / sizeof *received };

/* ---- names ---- */

int coir_signal_number(const struct coir_text *name)
{
    for (int number = 1; number < NAMED; number++) {
        const char *const known = sigabbrev_np(number);

        if (known && strlen(known) == name->len && !memcmp(known, name->bytes, name->len))
            return number;
    }
    return 0;
}

struct coir_text *coir_signal_name(struct coir_heap *h, int number)
{
    const char *const known = number < NAMED ? sigabbrev_np(number) : NULL;
    char digits[16];

    if (known)
        return coir_text_of(h, known, strlen(known));
    return coir_text_of(h, digits, (size_t)snprintf(digits, sizeof digits, "%d", number));
}

/* Adds " NAME" to a list. */
static void add_name(char list[LIST], int number)
{
    const size_t len = strlen(list);

    if (sigabbrev_np(number))
        snprintf(list + len, LIST - len, " %s", sigabbrev_np(number));
}

/* How much of a name that is wrong is said. */
static int shown(const struct coir_text *name)
{
    return name->len < SHOWN ? (int)name->len : SHOWN;
}

enum coir_native_result coir_trap_no_signal(struct coir_fiber *f, const struct coir_text *name)
{
    char list[LIST] = "";

    for (int number = 1; number < NAMED; number++)
        add_name(list, number);
    return coir_trap(f, COIR_TRAP_EXPLICIT, "no signal \"%.*s\"; there are%s", shown(name), name->bytes, list);
}

static enum coir_native_result trap_not_received(struct coir_fiber *f, const struct coir_text *name)
{
    char list[LIST] = "";

    for (int i = 0; i < RECEIVED; i++)
        add_name(list, received[i]);
    return coir_trap(f, COIR_TRAP_EXPLICIT, "no signal that can be received \"%.*s\"; there are%s", shown(name),
                     name->bytes, list);
}

/* ---- the task that feeds the channel ---- */

struct feeder {
    coir_frame_void;
    coir_args(struct coir_vm *vm;);
    struct coir_source source;
    struct coir_chan *chan;             /* NULL: it has ended */
    struct coir_signals *signals;       /* NULL then */
    uint32_t stopping;                  /* of SIGINT and SIGTERM, bits: those that do not stop the program meanwhile */
    uint64_t names[NAMED];              /* texts, held; 0: not subscribed to */
    uint64_t item;
    union {
        struct coir_signal_next next;
        struct coir_channel_send send;
    };
};
static coir_declare(feeder);

static uint32_t bit(int number)
{
    return UINT32_C(1) << number;
}

/* Of those of `which`. `by` is 1 or -1. */
static void take_stopping(struct coir_vm *vm, uint32_t which, int by)
{
    for (int number = 1; number < NAMED; number++) {
        if (which & bit(number))
            coir_keeper_takes(vm, number, by);
    }
}

/* On shard 0, which is where it is known what has come before (keeper.c). */
struct gives_back {
    coir_frame_void;
    coir_args(struct coir_vm *vm; uint32_t which;);
};
static coir_declare(gives_back);

coir_body(gives_back, f) {
    take_stopping(f->vm, f->which, -1);
} coir_end

/* From another shard; without memory at once. */
static void give_stopping_back(const struct feeder *f)
{
    if (f->vm->shard == 0 || !f->stopping
        || coir_spawn_on(0, coir_new(gives_back, .vm = f->vm->world->vms[0], .which = f->stopping)) < 0)
        take_stopping(f->vm, f->stopping, -1);
}

static void drop_names(struct feeder *f)
{
    for (int number = 1; number < NAMED; number++) {
        if (f->names[number])
            coir_drop(&f->vm->heap, coir_ref(f->names[number]));
    }
}

/* One that comes right now stops the program as well as none. */
static void ends(struct coir_source *s)
{
    struct feeder *const f = coir_container_of(s, struct feeder, source);

    f->chan = NULL;
    give_stopping_back(f);
    coir_signals_close(f->signals);
    f->signals = NULL;
}

/* Its last await may have ended before the channel did. */
coir_body(feeder, f) {
    while (f->chan) {
        coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
        if (!f->chan)
            break;
        f->item = f->names[f->next.result.number];
        coir_hold(coir_ref(f->item));
        coir_await(f, &f->send, coir_channel_send, .channel = &f->chan->channel, .item = &f->item);
        if (coir_status(&f->send) < 0)
            coir_drop(&f->vm->heap, coir_ref(f->item));
        coir_check(f, &f->send);
    }
    coir_finally(f) {
        if (f->chan) {                  /* the run ends, and it holds itself */
            f->chan->source = NULL;
            ends(&f->source);
        }
        drop_names(f);
    }
} coir_end

/* ---- subscribing ---- */

/* The numbers and names of what is wanted. 0; -EINVAL: *wrong is none that can be received; -ENOMEM. */
static int name_all(struct feeder *f, const struct coir_list *names, sigset_t *set, const struct coir_text **wrong)
{
    for (size_t i = 0; i < names->len; i++) {
        const int number = coir_signal_number(coir_text_at(names->data[i]));
        bool good = false;

        for (int k = 0; k < RECEIVED; k++)
            good |= received[k] == number;
        *wrong = coir_text_at(names->data[i]);
        if (!good)
            return -EINVAL;
        if (f->names[number])
            continue;
        f->names[number] = coir_slot_of(coir_signal_name(&f->vm->heap, number));
        if (!f->names[number])
            return -ENOMEM;
        sigaddset(set, number);
        if (number == SIGINT || number == SIGTERM)
            f->stopping |= bit(number);
    }
    return 0;
}

/* Of what is not begun: the task does nothing but go. */
static enum coir_native_result give_up(struct coir_fiber *f, struct feeder *s, int status,
                                       const struct coir_text *wrong)
{
    coir_detach(&s->task);
    if (status == -EINVAL)
        return trap_not_received(f, wrong);
    return coir_trap_status(f, status, "signals");
}

/* All is made, and SIGINT and SIGTERM are taken. */
static enum coir_native_result begin(uint64_t *r, struct feeder *s, struct coir_chan *c)
{
    s->chan = c;
    c->source = &s->source;
    coir_detach(&s->task);
    r[0] = coir_slot_of(c);
    return COIR_NATIVE_DONE;
}

/* From another shard: that they are taken is said on shard 0, behind what has come before. */
struct taking {
    struct coir_far far;
    struct feeder *feeder;
    struct coir_chan *chan;
};

static int take_begins(struct coir_visit *v)
{
    take_stopping(v->far->there, v->far->number, 1);
    return 0;
}

static const struct coir_errand take_there = { take_begins, NULL };

/* It has been there, or had no memory to go. */
static enum coir_native_result taken(struct coir_fiber *f, uint64_t *r, struct taking *t)
{
    struct feeder *const s = t->feeder;
    const int status = t->far.said;

    if (status == 0)
        return begin(r, s, t->chan);
    coir_signals_close(s->signals);
    s->signals = NULL;
    coir_drop(f->heap, &t->chan->head);
    return give_up(f, s, status, NULL);
}

static enum coir_native_result take(struct coir_fiber *f, uint64_t *r, struct taking *t, struct feeder *s,
                                    struct coir_chan *c)
{
    if (f->vm->shard == 0 || !s->stopping) {
        take_stopping(f->vm, s->stopping, 1);
        return begin(r, s, c);
    }
    t->feeder = s;
    t->chan = c;
    t->far.number = s->stopping;
    return coir_far_go(f, &t->far, &take_there, 0);
}

static enum coir_native_result proc_signals(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const names = coir_list_at(r[0]);
    const struct coir_text *wrong = NULL;
    struct taking *const t = coir_scratch(f, sizeof *t, NULL);
    struct feeder *s;
    struct coir_chan *c;
    sigset_t set;
    int status;

    if (!t)
        return coir_trap_memory(f);
    if (!coir_far_goes(f, &t->far))
        return taken(f, r, t);
    if (t->feeder)                      /* cut short for nothing, before it was there */
        return coir_far_go(f, &t->far, &take_there, 0);
    if (!names->len)
        return coir_trap(f, COIR_TRAP_EXPLICIT, "no signals are named");
    s = (struct feeder *)coir_new(feeder, .vm = f->vm);
    if (!s)
        return coir_trap_memory(f);
    s->source.ends = ends;
    s->chan = NULL;
    s->signals = NULL;
    s->stopping = 0;
    memset(s->names, 0, sizeof s->names);
    sigemptyset(&set);
    status = name_all(s, names, &set, &wrong);
    if (status < 0)
        return give_up(f, s, status, wrong);
    c = coir_chan_new(f->heap, coir_result_type(f), ROOM);
    if (!c)
        return give_up(f, s, -ENOMEM, NULL);
    s->signals = coir_signals_open_set(&set);
    if (!s->signals) {
        status = -errno;
        coir_drop(f->heap, &c->head);
        return give_up(f, s, status, NULL);
    }
    return take(f, r, t, s, c);
}

static const struct coir_native natives[] = {
    { "proc.signals", "fn signals(names: List[Text]) -> Chan[Text]", proc_signals },
};
const struct coir_natives coir_proc_signals_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
