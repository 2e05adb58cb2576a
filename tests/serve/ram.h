/* SPDX-License-Identifier: MIT */
/*
 * A store in memory, with the symbols of coir/volume.h: what a test of a server links instead of the engine. It does
 * what that header promises, and counts what it was asked for; it can end operations late and in any order, fail them,
 * or keep them until it is told. Used from any shard; everything here also from a thread that is none.
 */
#ifndef COIR_TESTS_SERVE_RAM_H
#define COIR_TESTS_SERVE_RAM_H

#include <coir/volume.h>

enum ram_op {
    RAM_LIST, RAM_OPEN, RAM_CLOSE, RAM_READ, RAM_WRITE, RAM_UNMAP, RAM_ZEROES, RAM_FLUSH, RAM_STATUS,
    RAM_OPS,
};

/* Of each sort: how many were asked for; with which flags, for those that have some; that should not have been, since
 * their range is not the volume's; that ended with an error. And the bytes moved. */
struct ram_counts {
    uint64_t asked[RAM_OPS], durable[RAM_OPS], no_hole[RAM_OPS], fast[RAM_OPS];
    uint64_t invalid, failed, read, written;
    uint64_t opened;                /* volumes, now: opens less closes */
};

struct coir_store *ram_new(void);
void ram_free(struct coir_store *s);

/* Adds a volume, before it is used; its size is not rounded. */
void ram_add(struct coir_store *s, const char *name, uint64_t size, uint32_t block, bool read_only);

/* The next `n` operations of that sort fail with `err`, negative; -1: all from now on. */
void ram_fail(struct coir_store *s, enum ram_op op, int err, int n);

/* Operations take up to `most` ns each, by a seed; 0: none. */
void ram_delay(struct coir_store *s, uint64_t seed, int64_t most);

/* Operations of that sort wait, from now on, until ram_release; how many do. */
void ram_hold(struct coir_store *s, enum ram_op op);
void ram_release(struct coir_store *s);
unsigned ram_held(struct coir_store *s);

void ram_count(struct coir_store *s, struct ram_counts *out);

/* "read", and so on; and back, RAM_OPS for no such word. */
const char *ram_op_name(enum ram_op op);
enum ram_op ram_op_of(const char *name);

#endif
