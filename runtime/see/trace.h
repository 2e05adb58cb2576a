/* SPDX-License-Identifier: MIT */
/*
 * The trace of COIR_TRACE: each shard puts records on a track of its own, of a fixed length; a thread takes them off,
 * tells them as JSON (tell.h) and writes the file. A shard never waits for it: what finds no room is counted, and the
 * trace says where so many are missing.
 *
 *      shard 0 --put--> track 0 --+
 *                                 +--> the writer, by time ----> file
 *      shard 1 --put--> track 1 --+
 *
 * There is one trace in a process, and it has one file: a run that comes later goes on in it.
 */
#ifndef COIR_RUNTIME_SEE_TRACE_H
#define COIR_RUNTIME_SEE_TRACE_H

#include "runtime/see/record.h"

struct coir_track;

/* Events of a shard that may wait to be written: a power of two. For tests. */
extern size_t coir_trace_events;

/* Begins the trace of a run. False: none is wanted, or it cannot be had, which is said on stderr. */
bool coir_trace_open(void);
/* The first shard has begun, at `began` of its clock. On its thread, before anything is put. */
void coir_trace_epoch(int64_t began, bool virtual_time);
/* The track of shard `id`, to be put on by this thread. NULL: no memory. */
struct coir_track *coir_trace_track(unsigned id);
/* The shard's thread. */
void coir_track_put(struct coir_track *k, const struct coir_record *record);
/* Every shard has ended: writes what is left. */
void coir_trace_close(void);

/* From a handler of a signal that ends the process: gives the writer a moment to write what has been put. */
void coir_trace_hurry(void);

/* Over a fork: the child has no trace of its parent's. */
void coir_trace_hold(void);
void coir_trace_let_go(void);
void coir_trace_forget(void);

#endif
