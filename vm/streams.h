/* SPDX-License-Identifier: MIT */
/*
 * What a program has of the process's stdin, stdout and stderr, for all of its shards.
 *
 * What is printed goes into one buffer. A task of libcoir's own writes it out: whoever puts the first bytes in queues
 * it on its shard, so it has its turn before the shard waits for anything, and it ends when the buffer is empty. So
 * what happens before something else, on whichever shards, is printed before it. Who finds no room waits in a line of
 * its shard until it has written. Nothing here keeps a shard's thread: what stdout does not take at once is waited for.
 * Only when the run is over, and no shard any more, is the rest written as any program would.
 *
 * All of it is read and written under a lock, which nobody holds longer than a write takes that does not wait; with one
 * shard there is none. Under it nothing is taken from the heap, raised or dropped: a cell that ends may print.
 */
#ifndef COIR_VM_STREAMS_H
#define COIR_VM_STREAMS_H

#include <pthread.h>

#include "vm/native.h"
#include "vm/rest.h"

enum { COIR_OUTPUT_ROOM = 65536 };

struct coir_output {
    char *buffer;                       /* made when it is first needed */
    size_t begin, end;                  /* what has not been written lies between */
    int status;                         /* what writing has failed with, for good */
    bool told;                          /* a fiber has been told of it */
    bool has_writer;                    /* the task that writes is there */
    bool under_way;                     /* the system has been given bytes of the buffer */
    const struct coir_fiber *pen;       /* whose text is larger than the buffer: nobody else puts anything in */
    const struct coir_fiber *error_pen; /* who writes to stderr */
    uint64_t waiting;                   /* the shards where somebody may wait for any of that to change, as bits */
};

struct coir_input {
    struct coir_rest rest;              /* the user's alone */
    const struct coir_fiber *user;      /* who reads */
    struct coir_vm *offered;            /* nobody does, and one of this shard is to be next; NULL: anyone */
    uint64_t waiting;                   /* the shards where somebody may wait for that, as bits */
};

struct coir_streams {
    struct coir_output out;
    struct coir_input in;
    bool shared;                        /* there are several shards: `lock` is used */
    pthread_mutex_t lock;
};

/* A shard's fibers that wait. */
struct coir_lines {
    struct coir_link out, in;
};

void coir_streams_init(struct coir_streams *s, bool shared);
/* What was read and not given out has been dropped before. */
void coir_streams_end(struct coir_streams *s);

static inline void coir_streams_lock(struct coir_streams *s)
{
    if (__builtin_expect(s->shared, 0))
        pthread_mutex_lock(&s->lock);
}

static inline void coir_streams_unlock(struct coir_streams *s)
{
    if (__builtin_expect(s->shared, 0))
        pthread_mutex_unlock(&s->lock);
}

/* Another shard has rung: what was waited for here may be there. */
void coir_streams_rung(struct coir_vm *here);

/* ---- stdout and stderr; the lock is held ---- */

/* Puts all of it in. -EAGAIN: there is no room now; or what writing has failed with, or -ENOMEM. */
int coir_output_put(struct coir_vm *here, const char *bytes, size_t len);
/* The same with as much as there is room for, which is counted in `*taken`. */
int coir_output_put_some(struct coir_vm *here, const char *bytes, size_t len, size_t *taken);

/* Whether nobody is before who comes now. */
bool coir_output_is_free(const struct coir_vm *here);

static inline bool coir_output_is_empty(const struct coir_output *o)
{
    return o->begin == o->end;
}

/* Parks until something changes; all in the line ask again then. */
enum coir_native_result coir_output_wait(struct coir_fiber *f);
void coir_output_wake(struct coir_vm *here);

/* Writes what stdout takes without waiting. */
void coir_output_now(struct coir_output *o);

/* ---- and without it ---- */

/* Writes what stdout takes without waiting: before something goes to stderr. */
void coir_output_flush(struct coir_streams *s);

/* Writes what a descriptor takes without waiting. How much, or a negative errno if nothing. */
ssize_t coir_write_now(int fd, const char *bytes, size_t len);

/* The run is over: writes the rest, and waits for that. 0, or what it failed with if nobody has been told. */
int coir_output_finish(struct coir_output *o);

/* ---- stdin ---- */

/* Whose turn it is to read: 1, the fiber's already; 0, the fiber's from now on; -EAGAIN: it is another's, and the fiber
 * waits in the line, as coir_park; -ECANCELED: it would have to wait. */
int coir_input_take(struct coir_fiber *f);
/* The user has what it wants, or goes without. */
void coir_input_leave(struct coir_vm *here);

#endif
