/* SPDX-License-Identifier: MIT */
/*
 * A chunk: the volume blocks of an operation that are dealt with at once, where they are on the devices, and where
 * in the caller's memory. An operation has one chunk, and goes through it again for each piece of its range. What
 * the caller does not want of the first and last volume block goes to `edges`, so that all I/O, and all sums, are of
 * whole volume blocks without copying.
 *
 *       edges    caller's iovecs                              edges
 *      | skip |........|.....................|...............| rest |
 *      |  volume block  |  volume block  |  ...  |  volume block    |      count of them
 *      |   run / piece        |      run / piece                    |      on the devices
 *
 * The frames of what an operation awaits lie in it too, so that those of the operations are small, of which a program
 * has many in unions; so operations have one that deal with no data.
 *
 * Owned by the operation; free ones are kept by the store, a list for each shard, so in the steady state nothing is
 * allocated.
 */
#ifndef COIR_VOLUME_CHUNK_H
#define COIR_VOLUME_CHUNK_H

#include "volume/manage.h"

enum {
    COIR_CHUNK_PIECES = 32,             /* of one chunk, on the devices */
    COIR_CHUNK_RUNS = 8,                /* of one that is written: what it reserves grows with them */
    COIR_CHUNK_BLOCKS = COIR_EXTENT_MAX,
    COIR_CHUNK_BYTES = 4 << 20,
};

/* The caller's memory, from where the next byte is. `iov` NULL: zeros, as many as are wanted. */
struct coir_memory {
    const struct iovec *iov;
    unsigned n;                         /* iovecs left, the first included */
    size_t at;                          /* bytes of the first that are used up */
};

/* The I/O of the pieces that are no holes, all at once; -EIO and so on, -ENOMEM. Any shard. */
struct coir_chunk_io {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk; bool write; int flags;);
    int i;
};
coir_declare(coir_chunk_io);

/* Reads the chunk, which has been cut, into memory; it may become shorter. Verified, or all zeros and -EBADMSG. With
 * `keep` it stays in the operation, and what it read is not given out again, until coir_chunk_leave. */
struct coir_chunk_read {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk; struct coir_memory *memory; bool keep; int flags;);
    int n, err;
    void *room_[160];
};
coir_declare(coir_chunk_read);

/* Writes the chunk, which has been cut, from memory; it may become shorter. chunk->lsn is its record; with
 * `holes_stay`, an unaligned write of zeros into a hole writes nothing, and that is 0. */
struct coir_chunk_write {
    coir_frame_void;
    coir_args(struct coir_chunk *chunk; struct coir_memory *memory; bool holes_stay;);
    struct coir_memory before, old;
    struct iovec block;
    unsigned tries, skip, rest;
    int err;
    struct coir_chunk_read read;
    void *room_[256];
};
coir_declare(coir_chunk_write);

/* Home: what is mapped of a range. (status.c) */
struct coir_status_home {
    coir_frame(unsigned);
    coir_args(struct coir_volume *volume; uint64_t offset; uint64_t length; struct coir_volume_piece *pieces;
              unsigned n;);
    void *room_[160];
};
coir_declare(coir_status_home);

/* The I/O of a chunk that has several pieces. */
struct coir_chunk_many {
    struct coir_task *kids[COIR_CHUNK_PIECES];
    struct coir_combine all;
    union {
        struct coir_device_read read[COIR_CHUNK_PIECES];
        struct coir_device_write write[COIR_CHUNK_PIECES];
    };
};

struct coir_chunk {
    struct coir_chunk *next;            /* free */
    struct coir_volume *volume;
    uint64_t lba;
    unsigned count, skip, rest;
    /* home: what the index and the journal need of it */
    struct coir_pin pin;
    struct coir_credit credit;
    struct coir_journal_room room;
    struct coir_space_reads *ticket;    /* NULL: none */
    uint64_t expected;                  /* an unaligned write: where the block was when it was read */
    bool entered, reserved, locks;
    uint64_t lsn;
    /* on the devices */
    struct coir_mapped pieces[COIR_CHUNK_PIECES];
    unsigned n_pieces;
    uint32_t crcs[COIR_CHUNK_BLOCKS];
    /* in memory: the entries of piece i are those from first[i] up to first[i + 1] */
    struct iovec *vec;
    unsigned n_vec, room_vec, first[COIR_CHUNK_PIECES + 1];
    unsigned char *edges;               /* two volume blocks; NULL until they are needed */
    unsigned edges_shift;
    /* I/O */
    struct coir_chunk_io io;
    struct coir_chunk_many *many;       /* NULL until it is needed: most chunks have one piece all their life */
    union {
        struct coir_device_read read;
        struct coir_device_write write;
    };
    union {                             /* what the operation awaits, so that its own frame is small */
        struct coir_chunk_read reading;
        struct coir_chunk_write writing;
        struct coir_unmap_home unmapping;
        struct coir_status_home asking;
    };
};

/* One for an operation on this shard, or NULL. Given back on the same shard. */
struct coir_chunk *coir_chunk_take(struct coir_volume *v);
void coir_chunk_give(struct coir_chunk *c);
/* Frees all: nobody has one. */
void coir_chunks_free(struct coir_store *s);

/* Bytes of n iovecs; UINT64_MAX when they are too many to count, or one is NULL. */
uint64_t coir_memory_bytes(const struct iovec *iov, unsigned n);

/* Sets the chunk to the beginning of the range: as much as one takes. */
void coir_chunk_cut(struct coir_chunk *c, uint64_t offset, uint64_t length);
/* Makes it shorter: `count` volume blocks. */
void coir_chunk_shorten(struct coir_chunk *c, uint64_t count);
/* Bytes of the caller's that the chunk covers. */
static inline uint64_t coir_chunk_bytes(const struct coir_chunk *c)
{
    return ((uint64_t)c->count << c->volume->shift) - c->skip - c->rest;
}

/* Fills `vec` with where each byte of the pieces is in memory; `memory` moves on. 0 or -ENOMEM. */
int coir_chunk_lay(struct coir_chunk *c, struct coir_memory *memory);

/* The sum of each volume block as it is in memory, for where it is to be. */
void coir_chunk_sum(struct coir_chunk *c);

/* Compares the volume blocks in memory with their sums; a hole's memory is filled with zeros. NULL, or the first that
 * is not what it should be: its number in the chunk. -1: all are. All is zeros when not. */
int coir_chunk_verify(struct coir_chunk *c);

/* Of a chunk whose reading has failed with `status`: its first volume block that was not read. */
unsigned coir_chunk_failed(const struct coir_chunk *c, int status);

/* Home: lets go of everything that the chunk has there: operation, ticket, pins, credit, journal room, blocks. */
void coir_chunk_leave(struct coir_chunk *c);
/* Home: lets others into the range that the chunk has locked, if it has. */
void coir_chunk_unlock(struct coir_chunk *c);

/* Memory for the edges: 0 or -ENOMEM. */
int coir_chunk_need_edges(struct coir_chunk *c);

/* A frame of a public operation, whose name is `outer`: it begins as that, and lies in it. */
#define coir_public(inner, outer) \
    static coir_declare(inner); \
    _Static_assert(sizeof(struct inner) <= sizeof(struct outer) \
                   && offsetof(struct inner, coir_args_) == offsetof(struct outer, coir_args_) \
                   && sizeof(((struct inner *)0)->coir_args_) == sizeof(((struct outer *)0)->coir_args_), \
                   "struct " #inner " begins as struct " #outer ", and is no larger"); \
    coir_step outer##_resume(struct coir_task *t) \
    { \
        return inner##_resume(t); \
    } \
    _Static_assert(1, "")

/* Whether a range lies in the volume: 0 or -EINVAL; -EFAULT for NULL. */
int coir_volume_range(const struct coir_volume *v, uint64_t offset, uint64_t length);

/* Awaits a task at the store's home. */
#define COIR_AT_HOME(f, store, slot, name, ...) do { \
    if ((unsigned)coir_shard_id() == (store)->home) \
        coir_await(f, slot, name, __VA_ARGS__); \
    else \
        coir_await_on(f, (store)->home, slot, name, __VA_ARGS__); \
    } while (0)

#endif
