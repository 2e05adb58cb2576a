/* SPDX-License-Identifier: MIT */
/*
 * The torture build: what makes the rare ordinary. It owns every constant of runtime/ that is a size or a count chosen
 * for speed, with the value it has there, and the dice that shuffle the run queue, shorten transfers, and make the
 * kernel's answers late. Elsewhere the constants are the usual ones, and the dice always say 0 and cost nothing.
 *
 * The dice are a function of COIR_TORTURE_SEED alone: the same seed, the same throws, on each shard and in each run of
 * a process. Those for the order of tasks are others than those for the kernel, which is not the same each time. Seed 0
 * throws nothing: FIFO, whole transfers, and still the constants. Without a seed one is drawn, and said on stderr.
 *
 * What is thrown must never change what an operation promises. A new constant of the kind comes into this table.
 */
#ifndef COIR_RUNTIME_BASE_TORTURE_H
#define COIR_RUNTIME_BASE_TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef COIR_TORTURE
#define COIR_TORTURED 1
#define COIR_USUAL_(usual, torture) (torture)
#else
#define COIR_TORTURED 0
#define COIR_USUAL_(usual, torture) (usual)
#endif

enum {
    /* the loop */
    COIR_TURN_STEPS = COIR_USUAL_(256, 2),          /* steps before the kernel is asked again */
    COIR_TURN_LOOK = COIR_USUAL_(8, 2),             /* steps before the inbox is, by which the other can be divided */
    COIR_STEP_AWAITS = COIR_USUAL_(128, 1),         /* awaits a step may do before it goes to the tail */
    COIR_SPIN_FIRST = COIR_USUAL_(20000, 1),        /* ns a shard looks for letters before it sleeps, adapted ... */
    COIR_SPIN_MIN = COIR_USUAL_(1000, 1),           /* ... from here ... */
    COIR_SPIN_MAX = COIR_USUAL_(50000, 1),          /* ... to here */
    /* the timer wheel: 64 bits of time, so bits times levels is at least that */
    COIR_WHEEL_BITS = COIR_USUAL_(8, 2),
    COIR_WHEEL_LEVELS = COIR_USUAL_(8, 32),         /* one bit each in an unsigned */
    COIR_WHEEL_SCAN = COIR_USUAL_(32, 1),           /* pairs looked at for an exact answer before a bound has to do */
    /* memory: the largest has to be a whole class, 128 bytes apart beyond the small ones */
    COIR_POOL_SMALL = COIR_USUAL_(1024, 256),       /* up to here a class every 16 bytes */
    COIR_POOL_MAX = COIR_USUAL_(8192, 1024),        /* up to here a class every 128 bytes, beyond it none */
    COIR_POOL_CHUNK_FIRST = COIR_USUAL_(4096, 256), /* a pool's first chunk; each is twice the last one ... */
    COIR_POOL_CHUNK_MAX = COIR_USUAL_(65536, 512),  /* ... up to here, or what one block needs */
    COIR_POOL_BATCH_BYTES = COIR_USUAL_(16384, 64), /* of a batch of free blocks ... */
    COIR_POOL_BATCH_LEAST = COIR_USUAL_(8, 2),      /* ... and that many blocks at least; with 1 there is no list */
    /* descriptors */
    COIR_FDS_PAGE = COIR_USUAL_(256, 2),
    COIR_FDS_PAGES = COIR_USUAL_(16, 1),            /* at first; doubled */
    /* the ring */
    COIR_RING_ENTRIES = COIR_USUAL_(256, 2),        /* of the submission queue, unless coir_options says it */
    COIR_RING_CQ_FACTOR = COIR_USUAL_(4, 1),        /* completions may come in bursts: multishot, cancels */
    COIR_RING_SMALLEST = COIR_USUAL_(4, 1),         /* for want of memory */
    COIR_RING_SLOTS = COIR_USUAL_(64, 1),           /* at first; doubled */
    COIR_PROMPT_CANCELS = COIR_USUAL_(3, 1),        /* sent at once; what they miss is asked again every millisecond */
    COIR_IO_TRIES = COIR_USUAL_(16, 1),             /* -EAGAIN from a file, before it goes to the pool */
    COIR_ACCEPT_AHEAD = COIR_USUAL_(64, 1),         /* at most what listen.h says */
    COIR_ACCEPT_ROOM = COIR_USUAL_(16, 1),          /* at first; doubled: a power of two */
    /* the kernel's threads and ours: two, since two calls may wait for each other, as the two ends of a FIFO do */
    COIR_RING_WORKERS_BOUNDED = COIR_USUAL_(16, 2),
    COIR_RING_WORKERS_UNBOUNDED = COIR_USUAL_(64, 2),
    COIR_FILE_THREADS = COIR_USUAL_(8, 2),
    COIR_NAME_THREADS = COIR_USUAL_(8, 1),
    /* epoll */
    COIR_EPOLL_EVENTS = COIR_USUAL_(256, 1),        /* taken at once */
    /* a trace */
    COIR_TRACE_EVENTS = COIR_USUAL_(65536, 64),     /* of a shard, that wait to be written: a power of two */
    COIR_TRACE_PAIRS = COIR_USUAL_(32768, 16),      /* addresses it remembers: a power of two */
    /* moving bytes */
    COIR_LENDS_SLAB = COIR_USUAL_(256, 1),          /* lent buffers made at once */
    COIR_SENDFILE_PIECE = COIR_USUAL_(4 << 20, 1 << 16), /* at once: a cancelled one waits for no more than that */
    /* seeing */
    COIR_CENSUS_SLICE = COIR_USUAL_(512, 2),        /* tasks that a turn looks at */
};

/*
 * What has its usual value in the torture build too, and why:
 *
 *   the inbox                        a linked list through its letters: it has no size
 *   cells, semaphores, lines         lists through the frames of who waits
 *   channels                         their capacity is the program's
 *   COIR_MAX_SHARDS, COIR_LENT_BUFFERS, COIR_LENT_MAX, COIR_POOL_THREADS, COIR_ADDRESS_TEXT, ...
 *                                    public: programs are compiled with them, and rely on them
 *   BACKLOG of a listener            a connection that it refuses is tried again after a second
 *   PIPE_BUF                         what is no longer than that goes into a pipe in one piece
 *   addresses that coir_dial tries   fewer would be another answer, not another way to it
 *   the table of coir_make           what does not fit is not reported
 *   what coir_dump prints            likewise; and the rows of a census, the clients of a window
 *   pauses, delays, patience         times are promises; virtual time makes them short
 */

#ifdef COIR_TORTURE
/* This thread is shard `id`: its dice begin anew. */
void coir_torture_begin(unsigned id);
/* A throw of 0 to n - 1, on a shard's thread; elsewhere 0. For the order of tasks, and for what the kernel says. */
unsigned coir_torture_order(unsigned n);
unsigned coir_torture_plays(unsigned n);
/* How many of `len` bytes are to be read from `fd` at once, or written: fewer, but not none, where it may be a part.
 * Any thread; errno stays. */
size_t coir_torture_part(int fd, size_t len, bool writes);
/* The same of pieces: those to be given to the kernel, *n of them. Good for a call that is made now, or submitted with
 * the next few thousand. */
const struct iovec *coir_torture_pieces(int fd, const struct iovec *iov, int *n, bool writes);
/* Memory that is good as long as that, for up to 256 bytes. */
void *coir_torture_room(size_t size);
#else
static inline void coir_torture_begin(unsigned id)
{
    (void)id;
}

static inline unsigned coir_torture_order(unsigned n)
{
    return n * 0;
}

static inline unsigned coir_torture_plays(unsigned n)
{
    return n * 0;
}

static inline size_t coir_torture_part(int fd, size_t len, bool writes)
{
    (void)fd;
    (void)writes;
    return len;
}

static inline const struct iovec *coir_torture_pieces(int fd, const struct iovec *iov, int *n, bool writes)
{
    (void)fd;
    (void)n;
    (void)writes;
    return iov;
}

static inline void *coir_torture_room(size_t size)
{
    (void)size;
    return NULL;
}
#endif

#endif
