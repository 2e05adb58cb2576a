/* SPDX-License-Identifier: MIT */
/*
 * What the files of child processes share: the record of a child that has not been left, and the plan by which one is
 * made. The record is the shard's, so that a program is not forgotten when the frame that started it is.
 */
#ifndef COIR_RUNTIME_OPS_PROCESS_H
#define COIR_RUNTIME_OPS_PROCESS_H

#include <coir/process.h>

#include <stdio.h>

#include "runtime/task/home.h"

/* On its shard only. In the list from when it has been made to when it is reaped and its pidfd closed. */
struct coir_child {
    struct coir_child *next, **link;
    struct coir_shard *home;
    const struct coir_site *site;       /* who awaited its start; NULL: nobody */
    pid_t pid;
    int pidfd;
    bool group;                         /* leads one: not reaped before it is closed, since its number is the group's */
    bool reaped;                        /* or somebody else has: the number may be another's */
    bool leaving;                       /* coir_process_close is closing its pidfd */
    char name[24];
};

/* What a standard stream is made from, where it is not a descriptor. */
enum { COIR_STREAM_AS_IT_IS = -1, COIR_STREAM_NULL = -2, COIR_STREAM_STDOUT = -3 };

/* All that is needed to make a child, laid out for a thread of the pool; nothing is allocated there. */
struct coir_plan {
    const char *file;
    const char *path;                   /* the folders to look for it, as in PATH; NULL: nowhere */
    char *const *argv, *const *env;
    const char *cwd;
    int stream[3];                      /* what becomes 0, 1 and 2: a descriptor, or COIR_STREAM_... */
    bool session, group, keep_fds;
    int error;                          /* out: a positive errno of the child's */
    enum coir_process_part failed;      /* out */
};

/* Makes the child, and returns when it is the program, or is not: 0, *pid and *pidfd; or a negative errno, and
 * plan->failed, and no child. Blocks. On a thread with every signal blocked. */
int coir_process_make(struct coir_plan *plan, pid_t *pid, int *pidfd);

/* A line for each program of the shard that nobody has left. */
void coir_children_dump(FILE *to, const struct coir_shard *s);

#endif
