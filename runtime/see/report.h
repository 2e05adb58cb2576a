/* SPDX-License-Identifier: MIT */
/*
 * What is said of a step while it goes on: which task's it is, what its thread does, and its C stack. It is made in
 * lines, and written with write(2): the step may hold any lock of the C library's. On one thread at a time, which is no
 * shard's.
 */
#ifndef COIR_RUNTIME_SEE_REPORT_H
#define COIR_RUNTIME_SEE_REPORT_H

#include "runtime/see/stack.h"
#include "runtime/see/text.h"
#include "runtime/task/home.h"

void coir_report_write(const char *buf, const struct coir_text *t);

/* ": it runs", or in what function of the kernel it sleeps. */
void coir_report_state(struct coir_text *t, const struct coir_thread *thread);

/* How many steps the shard has begun. Another thread's, so whether it is still the same step is asked afterwards. */
uint64_t coir_report_steps(const struct coir_shard *s);

/* Writes the C stack of the shard's thread, while that is in step number `steps`; if it has gone on, that it has. */
void coir_report_stack(const struct coir_shard *s, const struct coir_thread *thread, uint64_t steps);

#endif
