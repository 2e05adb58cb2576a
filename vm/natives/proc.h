/* SPDX-License-Identifier: MIT */
/*
 * What the natives of proc share: how a program is to be started (proc.c), the ends of its pipes (pipe.c), signals by
 * name (proc_signals.c). A proc.Child has all three ends; a proc.Reader and a proc.Writer have one that was its.
 */
#ifndef COIR_VM_NATIVES_PROC_H
#define COIR_VM_NATIVES_PROC_H

#include <coir/process.h>

#include "vm/natives/standard.h"
#include "vm/rest.h"

/* ---- how a program is started ---- */

/* As libcoir wants it. */
struct coir_command {
    char *const *argv;
    struct coir_process_options options;
};

/* The window of a native that starts one: argv, env, dir, how. How much memory what is in these texts takes. */
size_t coir_command_size(const uint64_t *r);
/* Lays it out there, and writes what was printed so far: it comes before what the program writes to the same place.
 * 0; -EINVAL: there is a NUL in one of the texts, or no program. */
int coir_command_fill(struct coir_fiber *f, struct coir_command *c, char **memory, const uint64_t *r);
/* What has gone wrong, of a program that could not be started or run. */
enum coir_native_result coir_command_trap(struct coir_fiber *f, const struct coir_command *c, int status,
                                          enum coir_process_part failed);

/* Gives (code, signal) at r[0] and r[1]. False: no memory. */
bool coir_give_exit(struct coir_fiber *f, uint64_t *r, const struct coir_exit *exit);

/* ---- the ends of pipes ---- */

enum { COIR_PIPE_NAME = 32 };
enum coir_pipe_gone { COIR_PIPE_NONE, COIR_PIPE_TAKEN, COIR_PIPE_ENDED };

struct coir_pipe {
    int fd;                             /* -1: none */
    uint8_t gone;                       /* enum coir_pipe_gone: why there is none */
    bool full;                          /* the last read got all that it asked for */
    struct coir_rest rest;
    char program[COIR_PIPE_NAME];       /* argv[0], or the beginning of it, for traps: of nobody else's memory */
};

enum coir_native_result coir_pipe_read(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p);
enum coir_native_result coir_pipe_read_line(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p);
enum coir_native_result coir_pipe_write(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p);
/* Gives a Reader or Writer with this end, which is gone then. */
enum coir_native_result coir_pipe_take(struct coir_fiber *f, uint64_t *r, struct coir_pipe *p);
/* Closes it without waiting; nothing if it is gone. */
void coir_pipe_close(struct coir_heap *h, struct coir_pipe *p);

/* ---- signals ---- */

/* The number of "TERM"; 0: of none. */
int coir_signal_number(const struct coir_text *name);
/* "TERM", or a number without a name. NULL: no memory. */
struct coir_text *coir_signal_name(struct coir_heap *h, int number);
/* Explicit: of a name that is none. */
enum coir_native_result coir_trap_no_signal(struct coir_fiber *f, const struct coir_text *name);

#endif
