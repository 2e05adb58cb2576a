/* SPDX-License-Identifier: MIT */
/*
 * The ownership of a body's resources, as a program of its own: what happens to them, in the order in which it may
 * happen. own.c makes it out of the typed tree, and refuses what is wrong wherever it comes from: giving away what is
 * lent at that moment, or what a `defer` will use. own_flow.c follows it, and finds what is used after it moved.
 */
#ifndef COIR_LANG_OWN_H
#define COIR_LANG_OWN_H

#include "lang/checker.h"

enum coir_own_kind {
    COIR_OWN_PASS,              /* nothing */
    COIR_OWN_USE,
    COIR_OWN_MOVE,
    COIR_OWN_INIT,              /* the local holds something new */
    COIR_OWN_BRANCH,            /* goes on, or to the target */
    COIR_OWN_JUMP,
    COIR_OWN_STOP,
};

struct coir_own_step {
    enum coir_own_kind kind;
    coir_x_local_id local;
    uint32_t target;
    uint32_t handler;           /* the innermost `try` around it: any step may trap; 0 is none */
    uint32_t at, end;
};

struct coir_own_program {
    struct coir_own_step *steps;
    uint32_t n, room;
    uint32_t *handlers;         /* of number i + 1: the step where it begins */
    uint32_t nhandlers, handlers_room;
};

void coir_own_follow(struct coir_checker *c, const struct coir_x_fn *fn, const struct coir_own_program *p);

#endif
