/* SPDX-License-Identifier: MIT */
/*
 * Reports of steps. What is read of a shard is a guess until its step turns out to be the same afterwards. Looking for
 * names allocates and may load a library, so that comes last, and each line that is known is out by then.
 */
#include "runtime/see/report.h"

#include <errno.h>
#include <unistd.h>

#include "runtime/see/look.h"
#include "runtime/see/symbols.h"

void coir_report_write(const char *buf, const struct coir_text *t)
{
    while (buf < t->at) {
        const ssize_t n = write(STDERR_FILENO, buf, (size_t)(t->at - buf));
        if (n < 0 && errno != EINTR)
            return;
        buf += n > 0 ? n : 0;
    }
}

static bool sleeps(const struct coir_thread *thread)
{
    return thread->state == 'S' || thread->state == 'D';
}

void coir_report_state(struct coir_text *t, const struct coir_thread *thread)
{
    if (!sleeps(thread)) {
        coir_text_str(t, ": it runs");
        return;
    }
    coir_text_str(t, ": it sleeps in the kernel");
    if (thread->sleeps_in[0]) {
        coir_text_str(t, " (");
        coir_text_str(t, thread->sleeps_in);
        coir_text_char(t, ')');
    }
}

uint64_t coir_report_steps(const struct coir_shard *s)
{
    uint64_t steps = 0;

    coir_look_at(&s->stats.steps, &steps, sizeof steps);
    return steps;
}

static size_t stack_of(const struct coir_shard *s, const struct coir_thread *thread, struct coir_symbols *symbols,
                       uintptr_t *places)
{
    const uintptr_t top = __atomic_load_n(&s->stack_top, __ATOMIC_RELAXED);

    if (!sleeps(thread))
        return coir_stack_interrupt(s->watch.thread, places, COIR_STACK_MOST);
    return thread->sp ? coir_symbols_unwind(symbols, thread->pc, thread->sp, top, places, COIR_STACK_MOST) : 0;
}

void coir_report_stack(const struct coir_shard *s, const struct coir_thread *thread, uint64_t steps)
{
    struct coir_symbols *const symbols = coir_symbols_open();
    const bool goes_on = __atomic_load_n(&s->stepping, __ATOMIC_ACQUIRE) && coir_report_steps(s) == steps;
    uintptr_t places[COIR_STACK_MOST];
    static char buf[16384];
    struct coir_text t = coir_text_in(buf, sizeof buf);
    const size_t n = goes_on ? stack_of(s, thread, symbols, places) : 0;
    unsigned number = 0;

    if (coir_report_steps(s) != steps)
        coir_text_str(&t, "    meanwhile it has ended");
    else if (n == 0)
        coir_text_str(&t, "    its C stack cannot be told");
    if (t.at > buf)
        coir_text_char(&t, '\n');
    else
        for (size_t i = 0; i < n && coir_symbols_frame(symbols, &t, places[i], &number); i++)
            ;
    coir_report_write(buf, &t);
    coir_symbols_close(symbols);
}
