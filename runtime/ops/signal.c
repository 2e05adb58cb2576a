/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions to signals, and waiting for the next one. A subscription keeps for each of its numbers the count up to
 * which it was told; what came since is the difference to the process's count (runtime/shard/catch.c). So nothing has
 * to be handed out to subscriptions when a signal comes, and nothing can overflow.
 *
 * Everything here is done on the subscription's shard. A waiter is in the line exactly as long as it can be
 * cancelled; who is told of a signal is taken out first.
 */
#include <coir/shard.h>
#include <coir/signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "runtime/ops/signal.h"
#include "runtime/shard/catch.h"
#include "runtime/sync/wait.h"

enum { MOST = 64 };

struct subscribed {
    int number;
    uint32_t told;                       /* of the process's count */
    uint64_t since;                      /* the order of the first that was seen and is not told yet; 0: none was */
};

struct coir_signals {
    struct coir_catcher catcher;
    struct coir_link waiters;            /* oldest first */
    struct coir_shard *home;
    const struct coir_site *site;        /* the coir_signals_open */
    unsigned n;
    struct subscribed to[];
};

static struct coir_signal_next *waiter_of(struct coir_link *link)
{
    return coir_container_of(link, struct coir_signal_next, link);
}

/* Notes what came since the last look. The process knows of a number's last signal only when it came: so it is looked
 * at with every letter, whether somebody waits or not. */
static void look(struct coir_signals *s)
{
    struct coir_caught now;

    for (unsigned i = 0; i < s->n; i++) {
        if (s->to[i].since || coir_caught_count(s->to[i].number) == s->to[i].told)
            continue;
        coir_caught(s->to[i].number, &now);
        s->to[i].since = now.order;
    }
}

/* Tells of what came first: false, nothing did. */
static bool take(struct coir_signals *s, struct coir_signal *out)
{
    struct subscribed *of = NULL;
    struct coir_caught now;

    look(s);
    for (unsigned i = 0; i < s->n; i++) {
        if (s->to[i].since && (!of || s->to[i].since < of->since))
            of = &s->to[i];
    }
    if (!of)
        return false;
    coir_caught(of->number, &now);
    *out = (struct coir_signal){ of->number, now.count - of->told, now.code, now.pid, now.uid, now.value };
    of->told = now.count;
    of->since = 0;
    return true;
}

/* ---- waiting ---- */

static void goes_on(struct coir_signal_next *op, int status)
{
    coir_list_remove(&op->link);
    coir_external(coir_shard_here(), -1);
    op->task.status = status;
    coir_leaf_goes_on(&op->task);
}

static void caught(struct coir_catcher *c)
{
    struct coir_signals *s = coir_container_of(c, struct coir_signals, catcher);
    struct coir_link *link;

    look(s);
    while ((link = coir_list_first(&s->waiters)) && take(s, &waiter_of(link)->result))
        goes_on(waiter_of(link), 0);
}

/* A signal may have come whose letter has not. */
static void next_abort(struct coir_task *t)
{
    struct coir_signal_next *op = (struct coir_signal_next *)t;

    caught(&op->signals->catcher);
    if (coir_link_in_list(&op->link))
        goes_on(op, -ECANCELED);
}

static int check(const struct coir_signals *s)
{
    return !s ? -EFAULT : s->home != coir_shard_here() ? -EINVAL : 0;
}

coir_step coir_signal_next_resume(struct coir_task *t)
{
    struct coir_signal_next *op = (struct coir_signal_next *)t;
    struct coir_signals *s = op->signals;
    int err;

    if (t->state)
        return coir_leaf_ends(t, t->status);
    err = coir_arguments_live(t, s, "coir_signal_next") ? -EFAULT : check(s);
    if (err)
        return coir_leaf_ends(t, err);
    caught(&s->catcher);                 /* who waits already is first */
    if (coir_list_empty(&s->waiters) && take(s, &op->result))
        return coir_leaf_ends(t, 0);
    if (coir_is_cancelled(t))
        return coir_leaf_ends(t, -ECANCELED);
    coir_list_push_back(&s->waiters, &op->link);
    coir_external(s->home, 1);
    return coir_leaf_parks(t, next_abort, s);
}

int coir_signals_try_next(struct coir_signals *s, struct coir_signal *out)
{
    const int err = out ? check(s) : -EFAULT;

    if (err)
        return err;
    caught(&s->catcher);
    return coir_list_empty(&s->waiters) && take(s, out) ? 0 : -EAGAIN;
}

/* ---- subscribing ---- */

static unsigned end(struct coir_signals *s)
{
    struct coir_link *link;
    unsigned untold = 0;

    while ((link = coir_list_first(&s->waiters)))
        goes_on(waiter_of(link), -ECANCELED);
    coir_catch_remove(&s->catcher);
    for (unsigned i = 0; i < s->n; i++) {
        coir_catch_end(s->to[i].number);
        untold += coir_caught_count(s->to[i].number) - s->to[i].told;
    }
    free(s);
    return untold;
}

static void left(struct coir_catcher *c)
{
    struct coir_signals *s = coir_container_of(c, struct coir_signals, catcher);

    fprintf(stderr, "coir: shard %u: a subscription to signals, of %s at %s:%u, was never closed\n", s->home->id,
            s->site->task, s->site->file, s->site->line);
    end(s);
}

unsigned coir_signals_close(struct coir_signals *s)
{
    if (!s)
        return 0;
    if (s->home != coir_shard_here()) {
        fprintf(stderr, "coir: a subscription to signals, of %s at %s:%u, is closed on another thread than its "
                "shard's\n", s->site->task, s->site->file, s->site->line);
        abort();
    }
    return end(s);
}

/* The numbers listed, each once; how many, or -1: one of them cannot be had. */
static int list(va_list numbers, int *out)
{
    int n = 0, number;

    while ((number = va_arg(numbers, int)) != COIR_SIGNALS_END_) {
        bool is_new = true;

        if (!coir_catch_allowed(number))
            return -1;
        for (int i = 0; i < n; i++)
            is_new &= out[i] != number;
        if (is_new)
            out[n++] = number;
    }
    return n;
}

/* The count first: a signal that comes in the middle has come to us. */
static int subscribe(struct coir_signals *s, const int *numbers, unsigned n)
{
    int err = 0;

    for (s->n = 0; s->n < n; s->n++) {
        s->to[s->n] = (struct subscribed){ numbers[s->n], coir_caught_count(numbers[s->n]), 0 };
        err = coir_catch(numbers[s->n]);
        if (err)
            break;
    }
    return err;
}

static struct coir_signals *open_numbers(const struct coir_site *site, const int *numbers, int n)
{
    struct coir_signals *s;
    int err;

    if (n <= 0 || !coir_shard_here()) {
        errno = EINVAL;
        return NULL;
    }
    s = coir_alloc_fails() ? NULL : malloc(sizeof *s + (size_t)n * sizeof *s->to);
    if (!s) {
        errno = ENOMEM;
        return NULL;
    }
    s->catcher = (struct coir_catcher){ .caught = caught, .left = left };
    s->home = coir_shard_here();
    s->site = site;
    coir_list_init(&s->waiters);
    coir_catch_add(&s->catcher);
    err = subscribe(s, numbers, (unsigned)n);
    if (err) {
        end(s);
        errno = -err;
        return NULL;
    }
    return s;
}

struct coir_signals *coir_signals_open_(const struct coir_site *site, ...)
{
    int numbers[MOST], n;
    va_list listed;

    va_start(listed, site);
    n = list(listed, numbers);
    va_end(listed);
    return open_numbers(site, numbers, n);
}

struct coir_signals *coir_signals_open_set_(const struct coir_site *site, const sigset_t *set)
{
    int numbers[MOST], n = 0;

    for (int number = 1; set && number <= MOST; number++) {
        if (sigismember(set, number) != 1)
            continue;
        if (!coir_catch_allowed(number)) {
            errno = EINVAL;
            return NULL;
        }
        numbers[n++] = number;
    }
    return open_numbers(site, numbers, n);
}

/* ---- stopping ---- */

/* With the second one on its way already: the system's disposition has it. */
static void give_back(struct coir_signals *s, int number)
{
    if (coir_signals_close(s) && number)
        kill(getpid(), number);
}

coir_body(coir_stop_on_signal, f) {
    f->signals = coir_signals_open(SIGINT, SIGTERM);
    if (!f->signals)
        coir_fail(f, errno);
    coir_try(f, &f->next, coir_signal_next, .signals = f->signals);
    f->result = f->next.result.number;
    coir_stop();
    coir_finally(f) {
        give_back(f->signals, f->result);
    }
} coir_end

/* ---- seeing ---- */

static void print_number(FILE *to, int number)
{
    const char *const name = number < 32 ? sigabbrev_np(number) : NULL;

    if (name)
        fprintf(to, " SIG%s", name);
    else
        fprintf(to, " signal %d", number);
}

bool coir_dump_signals(FILE *to, const struct coir_task *t)
{
    const struct coir_signals *s = t->waits_for;

    if (t->body != coir_signal_next_resume || t->abort != next_abort)
        return false;
    fprintf(to, "waits for");
    for (unsigned i = 0; i < s->n; i++)
        print_number(to, s->to[i].number);
    return true;
}
