/* SPDX-License-Identifier: MIT */
/*
 * Looking at a shard from outside, while it goes on or when it is broken: what it reads may change or vanish under its
 * eyes, or point nowhere. Whatever is behind a pointer is fetched by the kernel, which says no instead of crashing.
 * Async-signal-safe.
 */
#ifndef COIR_RUNTIME_SEE_LOOK_H
#define COIR_RUNTIME_SEE_LOOK_H

#include <stdbool.h>
#include <stddef.h>

struct coir_shard;
struct coir_text;

/* Copies n bytes. False: they cannot be read. */
bool coir_look_at(const void *from, void *to, size_t n);

/* Which task's body the shard's loop has called: "task NAME, last await at FILE:LINE, awaited by NAME at FILE:LINE,
 * spawned at FILE:LINE", as far as it can be told. `name`, of `size` bytes: the task's name alone. False: it is in no
 * step. */
bool coir_look_at_step(const struct coir_shard *s, struct coir_text *t, char *name, size_t size);

#endif
