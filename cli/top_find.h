/* SPDX-License-Identifier: MIT */
/*
 * Where the window of a program is: by its path, by its process, or, when nothing is said, by looking at every process
 * that this one may look at.
 */
#ifndef COIR_CLI_TOP_FIND_H
#define COIR_CLI_TOP_FIND_H

#include <limits.h>
#include <stdbool.h>

/* For coir_dial. */
struct top_place {
    char where[128];                    /* "unix:..." */
    int folder;                         /* open while `where` leads through it; -1: it does not */
};

/* `target`: a path, @NAME, a process, or NULL for the only program there is. 0; or a negative errno, after a line on
 * stderr unless `quiet`:
 *   -ENOENT     there is no such file, process or program, or it has no window: there may be one later
 *   -EINVAL     there are several, and which one has not been said */
int top_find(const char *target, bool quiet, struct top_place *out);

void top_find_end(struct top_place *place);

#endif
