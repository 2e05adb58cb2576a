/* SPDX-License-Identifier: MIT */
/*
 * A crowd: many tasks side by side in a dump, of which most say the same. Those that were spawned by one line and stand
 * at one line, in the same operation, are of one kind; a kind is shown by its first and a number. Small crowds are not
 * sorted at all.
 *
 * It is filled with every task of the crowd, then asked of each, in the same order, whether that is to be shown. No
 * memory is allocated: what comes after the 64th kind is only counted. No task is written to.
 */
#ifndef COIR_RUNTIME_SEE_CROWD_H
#define COIR_RUNTIME_SEE_CROWD_H

#include <coir/task.h>
#include <stdbool.h>
#include <stdio.h>

enum { COIR_CROWD = 20, COIR_CROWD_KINDS = 64 };

struct coir_crowd_kind {
    const struct coir_site *spawned, *stands;    /* spawned: NULL, by nobody */
    coir_step (*leaf)(struct coir_task *);
    size_t n;
    bool shown;
};

struct coir_crowd {
    size_t n, others;                            /* tasks; of those, after the last kind */
    size_t kinds;
    struct coir_crowd_kind kind[COIR_CROWD_KINDS];
};

void coir_crowd_add(struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t);

/* Whether `t` is shown. If so, and it stands for others, coir_crowd_more then says how many, in a line of its own. */
bool coir_crowd_shows(struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t);
void coir_crowd_more(FILE *to, const struct coir_crowd *c, const struct coir_site *spawned, const struct coir_task *t,
                     int indent);

/* At the end: how many there were of other kinds. */
void coir_crowd_rest(FILE *to, const struct coir_crowd *c, int indent);

#endif
