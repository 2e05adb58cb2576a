/* SPDX-License-Identifier: MIT */
/*
 * A signal that asks what the tasks are doing. Every shard catches it as it does for a program's own subscriptions, and
 * prints its tasks when it hears of it: between two turns, so that all is as it should be. A shard that does not come
 * to that is named by the watchdog, with the step it hangs in.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/see/look.h"
#include "runtime/see/report.h"
#include "runtime/see/watchdog.h"
#include "runtime/shard/catch.h"
#include "runtime/shard/run.h"

#define GRACE (200 * COIR_MS)            /* a turn takes that long at most, unless a step of it hangs */

struct asks {
    struct coir_catcher catcher;
    int number;
    uint32_t told;                       /* atomic, the shard's: of those that came, printed for */
};

static struct asks slots[COIR_MAX_SHARDS];

/* ---- what is asked for ---- */

static int number_of(const char *name)
{
    char *end;
    const long n = strtol(name, &end, 10);

    if (!*end)
        return coir_catch_allowed((int)n) ? (int)n : 0;
    if (!strncmp(name, "SIG", 3))
        name += 3;
    for (int i = 1; i < 32; i++) {
        if (coir_catch_allowed(i) && sigabbrev_np(i) && !strcmp(name, sigabbrev_np(i)))
            return i;
    }
    return 0;
}

int coir_asked_signal(const struct coir_options *o, int *out)
{
    const char *const given = getenv("COIR_DUMP");

    *out = o->dump_signal;
    if (o->dump_signal && !coir_catch_allowed(o->dump_signal)) {
        fprintf(stderr, "coir: coir_run: options.dump_signal: %d is no signal that can be caught\n", o->dump_signal);
        return -EINVAL;
    }
    if (o->dump_signal || !given || !*given)
        return 0;
    *out = number_of(given);
    if (*out)
        return 0;
    fprintf(stderr, "coir: COIR_DUMP: \"%s\" is no signal that can be caught; SIGUSR1 is one\n", given);
    return -EINVAL;
}

/* ---- a shard ---- */

/* In one write, so that shards do not print into each other's lines; not by stderr, which a step may have locked. */
void coir_dump_at_once(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (!to) {
        coir_dump(stderr);
        return;
    }
    coir_dump(to);
    if (fclose(to) == 0)
        coir_report_write(text, &(struct coir_text){ text + size, text + size });
    free(text);
}

static void caught(struct coir_catcher *c)
{
    struct asks *a = coir_container_of(c, struct asks, catcher);
    const uint32_t now = coir_caught_count(a->number);

    if (now == a->told)
        return;
    __atomic_store_n(&a->told, now, __ATOMIC_RELEASE);
    coir_dump_at_once();
}

static void left(struct coir_catcher *c)
{
    struct asks *a = coir_container_of(c, struct asks, catcher);

    coir_catch_remove(c);
    coir_catch_end(a->number);
}

int coir_asked_begin(struct coir_shard *s, int number)
{
    struct asks *a = &slots[s->id];
    int err;

    *a = (struct asks){ .catcher = { .caught = caught, .left = left }, .number = number };
    a->told = coir_caught_count(number);
    err = coir_catch(number);
    if (!err)
        coir_catch_add(&a->catcher);
    return err;
}

/* ---- the watchdog ---- */

static void report(const struct coir_shard *s, uint64_t steps)
{
    struct coir_thread thread;
    char buf[1024], name[80];
    struct coir_text t = coir_text_in(buf, sizeof buf);

    coir_thread_look(s->watch.thread, &thread);
    coir_text_str(&t, "coir: shard ");
    coir_text_unsigned(&t, s->id);
    coir_text_str(&t, " hangs, and prints its tasks when that is over: in ");
    if (!coir_look_at_step(s, &t, name, sizeof name)) {
        t = coir_text_in(buf, sizeof buf);
        coir_text_str(&t, "coir: shard ");
        coir_text_unsigned(&t, s->id);
        coir_text_str(&t, " prints its tasks when its loop comes to it");
    }
    coir_report_state(&t, &thread);
    coir_text_char(&t, '\n');
    coir_report_write(buf, &t);
    coir_report_stack(s, &thread, steps);
}

int64_t coir_asked_look(struct coir_watchdog *d, int64_t now)
{
    const uint32_t count = d->signal ? coir_caught_count(d->signal) : d->told;
    int64_t next = COIR_NEVER;

    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++) {
        struct coir_asked *const asked = &d->asked[i];

        if (!d->shard[i])
            continue;
        if (count != d->told)
            *asked = (struct coir_asked){ now + GRACE, coir_report_steps(d->shard[i]) };
        if (!asked->due || __atomic_load_n(&slots[i].told, __ATOMIC_ACQUIRE) == count) {
            asked->due = 0;
        } else if (now >= asked->due) {
            const uint64_t steps = coir_report_steps(d->shard[i]);
            asked->due = 0;
            if (steps == asked->steps)
                report(d->shard[i], steps);
            else                         /* it is in a turn, and goes on */
                *asked = (struct coir_asked){ now + GRACE, steps };
        }
        next = asked->due && asked->due < next ? asked->due : next;
    }
    d->told = count;
    return next;
}
