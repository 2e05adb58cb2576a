/* SPDX-License-Identifier: MIT */
/*
 * The C stack of another thread of this process, without harm to it.
 *
 * A thread that sleeps in the kernel is not touched: the kernel says where it sleeps, and its stack stands still. One
 * that runs is interrupted, by SIGURG, whose handler notes the places and returns. SIGURG, since nobody is hurt by one
 * that comes in vain: by default it is ignored. It is taken only while the program has no use for it; SA_RESTART is
 * set, and a system call that is not restarted can be interrupted only by a thread that has just gone to sleep.
 *
 * One thread asks at a time.
 */
#ifndef COIR_RUNTIME_SEE_STACK_H
#define COIR_RUNTIME_SEE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { COIR_STACK_MOST = 48 };

/* What the kernel says of a thread. */
struct coir_thread {
    char state;                  /* R: it runs, or would; S, D: it sleeps; T, t: it is stopped; 0: not known */
    char sleeps_in[32];          /* the kernel's function; "": not known */
    uintptr_t pc, sp;            /* of one that sleeps in a system call; 0: not known */
};

void coir_thread_look(pid_t tid, struct coir_thread *out);

/* From the first to the last of a run: takes SIGURG, if it is free, and gives it back. */
void coir_stack_open(void);
void coir_stack_close(void);
/* On a thread that is to be asked. One of the program's keeps its mask: if it blocks SIGURG, that is waited for. */
void coir_stack_allow(void);
/* In a forked child: gives it back. */
void coir_stack_forget(void);

/* The places where the thread is and where its callers go on, the innermost first. Value: how many; 0: it could not be
 * asked, or did not answer within a moment. */
size_t coir_stack_interrupt(pid_t tid, uintptr_t *out, size_t most);

#endif
