/* SPDX-License-Identifier: MIT */
/*
 * coir/combine.h - several children at once.
 *
 *     f->kids[0] = coir_make(&f->a, fetch, .url = f->one);
 *     f->kids[1] = coir_make(&f->b, fetch, .url = f->two);
 *     coir_all(f, &f->all, f->kids, 2);
 *     coir_check(f, &f->all);
 *
 * Children are frames of coir_make or coir_new, listed in an array that lives in the parent's frame; they
 * start, in order, when the combinator is awaited. All of them have ended when it returns, the losers
 * cancelled. Frames of coir_new are freed.
 */
#ifndef COIR_COMBINE_H
#define COIR_COMBINE_H

#include <coir/scope.h>

#ifdef __cplusplus
extern "C" {
#endif
# 23 "coir/combine.h"

/* Private state of the three. `result` is the index of the child that decided: for all, the lowest that
 * failed (or n); for any, the first to succeed (or n); for race, the first to end. */
struct coir_combine {
    coir_frame(size_t);
    coir_args(struct coir_task **kids; size_t n; int how;);
    struct coir_scope scope;
    size_t live;
    int decided;
};
coir_export(coir_combine);

/* .how; for a combinator that does not stand alone: coir_within(f, scope, deadline, slot, coir_combine,
 * .kids = ..., .n = ..., .how = COIR_RACE). */
enum { COIR_ALL, COIR_ANY, COIR_RACE };

#ifndef __cplusplus

/* Waits for all; the first failure cancels the rest. Status: of the lowest index that failed by itself;
 * 0 for no children. */
#define coir_all(f, slot, kids_, n_) coir_await(f, slot, coir_combine, .kids = (kids_), .n = (n_), .how = COIR_ALL)

/* Waits for the first success, which cancels the rest. Status: 0, or when all failed the status of the
 * lowest index; -EINVAL for no children. */
#define coir_any(f, slot, kids_, n_) coir_await(f, slot, coir_combine, .kids = (kids_), .n = (n_), .how = COIR_ANY)

/* Waits for the first to end, in whichever way, which cancels the rest. Status: that child's; -EINVAL
 * for no children. */
#define coir_race(f, slot, kids_, n_) coir_await(f, slot, coir_combine, .kids = (kids_), .n = (n_), .how = COIR_RACE)

#endif

#ifdef __cplusplus
}
#endif
#endif
