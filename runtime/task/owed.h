/* SPDX-License-Identifier: MIT */
/*
 * What a task owes before it ends: to unlock a mutex, to say that what it does once is done. A body that ends and owes
 * stops the program with the place, since others would wait for ever.
 *
 * One table a thread. It holds addresses to compare with, and looks into nothing. It must never keep a program from
 * running: when it is full, what it cannot remember is not found.
 */
#ifndef COIR_RUNTIME_TASK_OWED_H
#define COIR_RUNTIME_TASK_OWED_H

#include <coir/task.h>

/* `t` owes, since that place, something of `thing`; `does` says what, as in "holds a mutex". */
void coir_owes(struct coir_task *t, const void *thing, const struct coir_site *since, const char *does);

/* Nobody owes anything of `thing` any more. */
void coir_owes_not(const void *thing);

/* Nobody on this shard owes anything: its tasks are given up. */
void coir_owes_nothing(void);

/* `t` ends. Stops the program if it owes something. */
void coir_must_not_owe(const struct coir_task *t, const char *name);

#endif
