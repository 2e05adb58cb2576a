/* SPDX-License-Identifier: MIT */
/*
 * Saying what a program did when it is killed by a signal of its own making.
 */
#ifndef COIR_RUNTIME_SEE_CRASH_H
#define COIR_RUNTIME_SEE_CRASH_H

#include <stdbool.h>

struct coir_runtime;
struct coir_shard;

/* Whether it is asked for: COIR_CRASH, or a debug program, or one that records. */
bool coir_crash_asked(const struct coir_runtime *run);
/* From the first to the last of a run: takes the signals that nobody has. `named`: a watchdog is there. */
void coir_crash_open(bool named);
void coir_crash_close(void);
/* From the first to the last turn of a shard, on its thread: a stack for the handlers, if it has none. */
void coir_crash_begin(const struct coir_shard *s);
void coir_crash_end(const struct coir_shard *s);

/* On the watchdog's thread, which is well: if a thread has crashed and waits for it, writes that thread's C stack by
 * names and lines. */
void coir_crash_look(void);

#endif
