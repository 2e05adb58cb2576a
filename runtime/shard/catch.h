/* SPDX-License-Identifier: MIT */
/*
 * Catching signals for shards. Who wants to know adds a catcher to its shard, says which numbers the shard is to
 * catch, and is told on the shard's thread that something may have come; how often each number came is asked.
 */
#ifndef COIR_RUNTIME_SHARD_CATCH_H
#define COIR_RUNTIME_SHARD_CATCH_H

#include <semaphore.h>
#include <signal.h>

#include "runtime/base/queue.h"
#include "runtime/task/home.h"

/* What is known of a number since the program began. All but the count is of the last one. */
struct coir_caught {
    uint64_t order;                      /* grows with every signal, of whichever number */
    uint32_t count;                      /* wraps */
    int code;
    pid_t pid;
    uid_t uid;
    union sigval value;
};

/* Lies in whoever wants to know. The calls are made on its shard's thread. */
struct coir_catcher {
    struct coir_link link;
    void (*caught)(struct coir_catcher *c);      /* something may have come; neither adds nor removes catchers */
    void (*left)(struct coir_catcher *c);        /* its shard ends: it removes itself */
};

void coir_catch_add(struct coir_catcher *c);
void coir_catch_remove(struct coir_catcher *c);

/* From now on, and until coir_catch_end was called as often, this shard catches the number. 0 or a negative
 * errno. */
int coir_catch(int number);
void coir_catch_end(int number);

/* False: it cannot be caught, or coir does not. */
bool coir_catch_allowed(int number);

/* How often it came; and all that is known. Any thread. */
uint32_t coir_caught_count(int number);
void coir_caught(int number, struct coir_caught *out);

/* From now on `to`, which is never freed, is posted when the number comes to a process with a shard that catches it; 0:
 * nothing is. One asks at a time. */
void coir_catch_tell(int number, sem_t *to);

/* The shard ends: nobody catches here any more, and no handler will touch it. */
void coir_catch_shard_ends(struct coir_shard *s);

/* Over a fork. The child catches nothing. */
void coir_catch_hold(void);
void coir_catch_let_go(void);
void coir_catch_forget(void);

#endif
