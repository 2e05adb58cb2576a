/* SPDX-License-Identifier: MIT */
/*
 * What the files of walks share (walk.c, walk_text.c); nobody else includes it.
 */
#ifndef COIR_VM_WALK_INSIDE_H
#define COIR_VM_WALK_INSIDE_H

#include "vm/list.h"
#include "vm/program.h"
#include "vm/map.h"
#include "vm/text.h"
#include "vm/walk.h"

/* One more step; false, and w->failed: no memory. The steps may have moved. */
bool coir_walk_push(struct coir_walk *w, const struct coir_type *t, const uint64_t *a, const uint64_t *b);

#endif
