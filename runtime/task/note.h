/* SPDX-License-Identifier: MIT */
/*
 * The one hook of all who look at what happens on a shard: the flight recorder, the trace. Where something happens
 * that they want to know of stands COIR_NOTE(shard, call): a load and a branch while nobody looks, and no more. The
 * calls are defined in runtime/see/notes.c. Each runs on the shard's own thread, where it happens; it reads what it is
 * given, and must change nothing and never block.
 *
 * Memory of tasks is used again: who looks keeps sites and names, which are static, and numbers; never a pointer that
 * is followed later.
 */
#ifndef COIR_RUNTIME_TASK_NOTE_H
#define COIR_RUNTIME_TASK_NOTE_H

#include <coir/group.h>

struct coir_birth;
struct coir_io;
struct coir_letter;
struct coir_runtime;
struct coir_shard;

/* Somebody looks or does not: that changes between two turns of the loop, never within one. */
#define COIR_NOTE(s, call) do { \
    if (COIR_UNLIKELY((s)->notes)) \
        call; \
    } while (0)

/* `t` is a new member of its group: it is given its number. */
void coir_noted_spawn(struct coir_shard *s, struct coir_task *t);
/* A member has ended, and is still there. */
void coir_noted_end(struct coir_shard *s, const struct coir_birth *b);

/* The loop is about to run what is ready. */
void coir_noted_turn(struct coir_shard *s);
/* It is about to start `leaf`, or to resume it. */
void coir_noted_step(struct coir_shard *s, const struct coir_task *leaf);
/* Then: `t`, the last body that it called, has parked, or what that awaits; or (NULL) all up to the spawned task have
 * ended, and are gone. */
void coir_noted_step_end(struct coir_shard *s, const struct coir_task *t);

/* `t` is queued. */
void coir_noted_ready(struct coir_shard *s, const struct coir_task *t);

/* An operation begins. */
void coir_noted_io(struct coir_shard *s, const struct coir_io *io);
/* One that has begun has ended with io->res, and has not been woken yet. */
void coir_noted_io_end(struct coir_shard *s, const struct coir_io *io);
/* The same of a coir_offload. */
void coir_noted_offload(struct coir_shard *s, const struct coir_task *t);
void coir_noted_offload_end(struct coir_shard *s, const struct coir_task *t);

/* Scope `c` is cancelled. */
void coir_noted_cancel(struct coir_shard *s, const struct coir_scope *c);

/* The shard is about to wait in the kernel, leaves for the other loop, or its virtual time jumps; it is back. */
void coir_noted_sleep(struct coir_shard *s);
void coir_noted_awake(struct coir_shard *s);

/* `letter` is posted from `s` to `to`; it has come to `s` and is about to be delivered. */
void coir_noted_post(struct coir_shard *s, const struct coir_shard *to, const struct coir_letter *letter);
void coir_noted_letter(struct coir_shard *s, const struct coir_letter *letter);

/* A run begins: finds out who wants to look; what cannot be done is said on stderr, and the run goes on. It ends. */
void coir_notes_open(struct coir_runtime *run);
void coir_notes_close(void);
/* The shard begins, its plane is there: sets s->notes. It ends. */
void coir_notes_begin(struct coir_shard *s);
void coir_notes_end(struct coir_shard *s);

/* Over a fork: nobody looks at the child. */
void coir_notes_hold(void);
void coir_notes_let_go(void);
void coir_notes_forget(void);

#endif
