/* SPDX-License-Identifier: MIT */
/*
 * What coir_dump asks: which signals a leaf waits for.
 */
#ifndef COIR_RUNTIME_OPS_SIGNAL_H
#define COIR_RUNTIME_OPS_SIGNAL_H

#include <coir/task.h>
#include <stdbool.h>
#include <stdio.h>

/* Says what a coir_signal_next waits for ("waits for SIGHUP SIGTERM"). False: it is none. */
bool coir_dump_signals(FILE *to, const struct coir_task *t);

#endif
