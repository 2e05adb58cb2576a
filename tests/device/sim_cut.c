/* SPDX-License-Identifier: MIT */
/*
 * Power cuts: what is on the medium after an event, given what the history says was durable and what was not.
 *
 * Each device's base holds what is durable after the event `at`, and goes on to the one that is asked for; going back
 * begins anew from the first image. Writes are put into it in the order they ended. What may be there is put over that,
 * in the same order, sector by sector: but not over a durable write that began after it had ended.
 */
#include "sim_world.h"

#include <stdlib.h>

static const char *const names[SIM_KEEPS] = { "nothing", "everything", "the first", "the last", "all but one",
                                              "some", "torn" };

const char *sim_keep_name(enum sim_keep keep)
{
    return keep < SIM_KEEPS ? names[keep] : "?";
}

/* Ops by their end; those under way last, as they began. */
static int by_end(const void *a, const void *b)
{
    const struct sim_op *x = *(struct sim_op *const *)a, *y = *(struct sim_op *const *)b;

    if (x->ended != y->ended)
        return x->ended < y->ended ? -1 : 1;
    return x->began < y->began ? -1 : x->began > y->began;
}

/* ---- what is durable ---- */

static void put_durable(struct sim *w, const struct sim_op *o)
{
    struct sim_image *base = &w->device[o->device]->base;

    if (o->len == 0) {
        base->size = o->offset > base->size ? o->offset : base->size;
        return;
    }
    sim_image_write(base, o->offset, o->data, o->len);
    for (size_t at = 0; at < o->len; at += SIM_SECTOR)
        sim_image_set_stamp(base, o->offset + at, o->began);
}

/* The ops that became durable by the events from w->at on, to `event`. */
static size_t become_durable(struct sim *w, size_t event, struct sim_op **list)
{
    size_t n = 0;

    for (size_t i = 0; i < w->ops; i++) {
        struct sim_op *o = &w->op[i];
        if (!o->lost && o->durable > w->at && o->durable <= event)
            list[n++] = o;
    }
    qsort(list, n, sizeof *list, by_end);
    return n;
}

static void begin_anew(struct sim *w)
{
    for (unsigned i = 0; i < w->devices; i++) {
        sim_image_free(&w->device[i]->base);
        sim_image_clone(&w->device[i]->base, &w->device[i]->first);
    }
    w->at = w->origin;
}

static void advance(struct sim *w, size_t event)
{
    struct sim_op **list = sim_alloc(w->ops * sizeof *list);
    size_t n;

    if (event < w->at)
        begin_anew(w);
    n = become_durable(w, event, list);
    for (size_t i = 0; i < n; i++)
        put_durable(w, list[i]);
    w->at = event;
    free(list);
}

/* ---- what may be there ---- */

static size_t list_pending(struct sim *w, size_t event, struct sim_op **list)
{
    size_t n = 0;

    for (size_t i = 0; i < w->ops; i++) {
        struct sim_op *o = &w->op[i];
        if (!o->lost && o->began <= event && o->durable > event)
            list[n++] = o;
    }
    qsort(list, n, sizeof *list, by_end);
    return n;
}

size_t sim_pending(struct sim *w, size_t event)
{
    struct sim_op **list = sim_alloc(w->ops * sizeof *list);
    const size_t n = list_pending(w, w->origin + event, list);

    free(list);
    return n;
}

/* The sectors of a write that are kept: those from `first` to before `end`, or some of them. */
struct part {
    enum { ALL, SOME } how;
    size_t first, end;
};

static struct part tear(size_t sectors, uint64_t *random)
{
    const size_t at = sim_below(random, sectors + 1);

    switch (sim_below(random, 5)) {
    case 0:
        return (struct part){ ALL, 0, 0 };
    case 1:
        return (struct part){ ALL, 0, sectors };
    case 2:
        return (struct part){ ALL, 0, at };
    case 3:
        return (struct part){ ALL, at, sectors };
    default:
        return (struct part){ SOME, 0, sectors };
    }
}

/* What is kept of the i-th of n. */
static struct part keep_of(enum sim_keep keep, uint64_t seed, size_t i, size_t n, size_t sectors, uint64_t *random)
{
    const struct part all = { ALL, 0, sectors }, none = { ALL, 0, 0 };

    switch (keep) {
    case SIM_EVERYTHING:
        return all;
    case SIM_FIRST:
        return i < seed % (n + 1) ? all : none;
    case SIM_LAST:
        return i == n - 1 ? all : none;
    case SIM_ALL_BUT_ONE:
        return i == seed % n ? none : all;
    case SIM_WHOLE:
        return seed >> i % 64 & 1 ? all : none;
    case SIM_TORN:
        return tear(sectors, random);
    default:
        return none;
    }
}

static void put_pending(struct sim_image *image, const struct sim_op *o, struct part part, uint64_t *random)
{
    if (o->len == 0 && part.end && image->size < o->offset)
        image->size = o->offset;
    if (o->len == 0)
        return;
    for (size_t s = part.first; s < part.end; s++) {
        const uint64_t at = o->offset + s * SIM_SECTOR;
        if (part.how == SOME && sim_below(random, 2))
            continue;
        if (o->ended > sim_image_stamp(image, at))
            sim_image_write(image, at, o->data ? o->data + s * SIM_SECTOR : NULL, SIM_SECTOR);
    }
}

/* ---- lies found out later ---- */

size_t sim_writes(const struct sim *w)
{
    return w->ops;
}

struct sim_write_info sim_write_at(const struct sim *w, size_t i)
{
    return (struct sim_write_info){ w->op[i].device, w->op[i].offset, w->op[i].len };
}

void sim_lose(struct sim *w, size_t i, bool lost)
{
    w->op[i].lost = lost;
    begin_anew(w);
}

/* ---- the world it leaves ---- */

static struct sim *copy_durable(const struct sim *w, uint64_t seed)
{
    struct sim *after = sim_new(seed, w->delay);

    after->events = after->origin = after->at = w->events;
    for (unsigned i = 0; i < w->devices; i++) {
        sim_add(after, 0, w->device[i]->device.grain);
        sim_image_clone(&after->device[i]->live, &w->device[i]->base);
        after->device[i]->bad = w->device[i]->bad;
        after->device[i]->bad_len = w->device[i]->bad_len;
    }
    return after;
}

/* What is there was always there. */
static void settle(struct sim *w)
{
    for (unsigned i = 0; i < w->devices; i++) {
        sim_image_clone(&w->device[i]->first, &w->device[i]->live);
        sim_image_clone(&w->device[i]->base, &w->device[i]->live);
    }
}

struct sim *sim_cut(struct sim *w, size_t event, enum sim_keep keep, uint64_t seed)
{
    struct sim_op **list = sim_alloc(w->ops * sizeof *list);
    uint64_t random = seed;
    struct sim *after;
    size_t n;

    advance(w, w->origin + event);
    after = copy_durable(w, seed);
    n = list_pending(w, w->origin + event, list);
    for (size_t i = 0; i < n; i++) {
        const size_t sectors = list[i]->len ? list[i]->len / SIM_SECTOR : 1;
        put_pending(&after->device[list[i]->device]->live, list[i], keep_of(keep, seed, i, n, sectors, &random),
                    &random);
    }
    settle(after);
    free(list);
    return after;
}
