/* SPDX-License-Identifier: MIT */
/*
 * Running an image: what the command uses. One program at a time; main runs on the calling thread.
 */
#ifndef COIR_VM_VM_H
#define COIR_VM_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/load.h"

enum { COIR_SHARDS_MOST = 64 };

/* What is not named is 0, and means what is said first. */
struct coir_vm_options {
    uint32_t shards;                    /* threads that run its fibers, at most COIR_SHARDS_MOST: 1 */
    uint32_t reductions;                /* a slice: COIR_REDUCTIONS, else 4000 */
    uint32_t mailbox;                   /* messages in an actor's mailbox: COIR_MAILBOX, else 1024 */
    size_t max_memory;                  /* bytes of cells and stacks; any number */
    const char *dispatch;               /* "switch" or "labels"; COIR_DISPATCH, else labels */
    uint64_t seed;                      /* of maps' hashes: the kernel's randomness */
    uint64_t slices;                    /* after so many on a shard the program is stopped, as by SIGTERM; any number */
    bool signals;                       /* SIGINT and SIGTERM stop the program */
    const struct coir_natives *const *natives;      /* beside the machine's own, up to a NULL; none */
    const char *io;                     /* as coir_options.io */
};

/* How a run has ended, beyond its exit code: for tests. */
struct coir_vm_report {
    uint64_t allocations, copies;       /* of the heap */
    int64_t lives;                      /* cells that are left: 0 */
    uint64_t resumed;                   /* times that a fiber was */
};

/*
 * Loads the image and runs its main with the arguments. The exit code: 0, or what main returned (its low 8 bits); 2:
 * main has trapped, which was printed on stderr; 128 and the number of the signal that stopped it; 1: it could not
 * begin, and stderr says why. The report may be NULL.
 */
int coir_vm_run(const void *image, size_t length, int argc, char *const *argv, const struct coir_vm_options *options,
                struct coir_vm_report *report);

#endif
