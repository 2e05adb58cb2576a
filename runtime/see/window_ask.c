/* SPDX-License-Identifier: MIT */
/*
 * Asking shards. A letter goes to each; the shard works at its answer a slice a turn, posting the letter to itself,
 * and tells the window by its eventfd. A shard that does not get on is answered without, and keeps its letter: when
 * it comes to itself it finishes, and nobody asks it twice at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/see/window.h"

/* ---- on the shard ---- */

static ssize_t take_text(void *cookie, const char *text, size_t len)
{
    struct coir_asked *a = cookie;
    const size_t fits = len < a->room - a->len ? len : a->room - a->len;

    memcpy(a->text + a->len, text, fits);
    a->len += fits;
    return fits == len ? (ssize_t)len : 0;           /* 0: the stream fails, and the dump ends */
}

static void dump(struct coir_asked *a)
{
    FILE *to = fopencookie(a, "w", (cookie_io_functions_t){ .write = take_text });

    if (!to)
        return;
    coir_dump(to);
    fclose(to);
}

static void deliver(struct coir_shard *s, struct coir_letter *letter)
{
    struct coir_asked *a = coir_container_of(letter, struct coir_asked, letter);
    const int64_t began = coir_clock_monotonic();
    const uint64_t one = 1;
    bool done = true;

    if (a->question == COIR_ASK_DUMP) {
        dump(a);
    } else {
        if (!a->begun)
            coir_census_begin(&a->census, s);
        a->begun = true;
        done = coir_census_slice(&a->census);
    }
    a->took += coir_clock_monotonic() - began;
    __atomic_add_fetch(&a->progress, 1, __ATOMIC_RELAXED);
    if (!done) {
        coir_post(s, letter);
        return;
    }
    __atomic_store_n(&a->state, COIR_ASKED_ANSWERED, __ATOMIC_RELEASE);
    if (write(a->window->wake, &one, sizeof one) < 0)
        return;                                      /* it is full: then the window is awake */
}

/* ---- on the window's thread ---- */

static int state_of(const struct coir_asked *a)
{
    return __atomic_load_n(&a->state, __ATOMIC_ACQUIRE);
}

/* Asks a shard that has nothing else to answer. Without memory for a dump it is not asked, and so has no answer. */
static void post(struct coir_window *w, unsigned shard, enum coir_question q, int64_t now)
{
    struct coir_asked *a = w->asked[shard];

    if (q == COIR_ASK_DUMP && !a->text) {
        a->room = COIR_WINDOW_DUMP / w->run->n;
        a->text = malloc(a->room);
        if (!a->text)
            return;
    }
    a->question = q;
    a->begun = false;
    a->took = 0;
    a->len = 0;
    a->since = now;
    coir_census_clear(&a->census);
    __atomic_store_n(&a->state, COIR_ASKED_ASKED, __ATOMIC_RELEASE);
    coir_post(w->run->shard[shard], &a->letter);
}

static struct coir_asked *make_asked(struct coir_window *w)
{
    struct coir_asked *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->window = w;
    a->letter.deliver = deliver;
    return a;
}

static int make(struct coir_window *w)
{
    if (!w->sum)
        w->sum = malloc(sizeof *w->sum);
    for (unsigned i = 0; i < w->run->n; i++) {
        if (!w->asked[i])
            w->asked[i] = make_asked(w);
        if (!w->sum || !w->asked[i])
            return -ENOMEM;
    }
    return 0;
}

int coir_window_ask(struct coir_window *w, enum coir_question q, int64_t now)
{
    const int err = make(w);

    if (err)
        return err;
    w->question = q;
    for (unsigned i = 0; i < w->run->n; i++) {
        if (state_of(w->asked[i]) != COIR_ASKED_ASKED)
            post(w, i, q, now);
    }
    return 0;
}

bool coir_window_answered(struct coir_window *w, int64_t now, int64_t *next)
{
    bool all = true;

    for (unsigned i = 0; i < w->run->n; i++) {
        struct coir_asked *a = w->asked[i];
        const unsigned progress = __atomic_load_n(&a->progress, __ATOMIC_RELAXED);
        const bool answered = state_of(a) == COIR_ASKED_ANSWERED;
        if (answered && a->question == w->question)
            continue;
        if (answered)                                /* what was asked before */
            post(w, i, w->question, now);
        if (progress != a->seen)
            a->since = now;
        a->seen = progress;
        if (now - a->since >= COIR_WINDOW_SILENCE)
            continue;
        all = false;
        *next = *next < a->since + COIR_WINDOW_SILENCE ? *next : a->since + COIR_WINDOW_SILENCE;
    }
    return all;
}

const struct coir_asked *coir_window_answer_of(const struct coir_window *w, unsigned shard)
{
    const struct coir_asked *a = w->asked[shard];

    return state_of(a) == COIR_ASKED_ANSWERED && a->question == w->question ? a : NULL;
}
