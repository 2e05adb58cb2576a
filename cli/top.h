/* SPDX-License-Identifier: MIT */
/*
 * What the files of `coir top` share: what was asked for on the command line, and the two ways to show it.
 */
#ifndef COIR_CLI_TOP_H
#define COIR_CLI_TOP_H

#include <coir/coir.h>

#include "cli/top_ask.h"
#include "cli/top_find.h"
#include "cli/top_lines.h"

struct top_options {
    const char *target;                 /* a path, @NAME, a process; NULL: the only one there is */
    int64_t interval;                   /* ns */
    long count;                         /* of answers that are printed; 0: until the program ends */
    bool json, wait;
};

/* Nobody is there any more, or not yet. */
static inline bool top_is_gone(int status)
{
    return status == -ECONNREFUSED || status == -ENOENT;
}

/* Fills the screen until the program ends or somebody has seen enough. `where` and the first answer, which it takes,
 * are of a window that is there. The result is the signal that ended it, or 0. */
struct top_live {
    coir_frame(int);
    coir_args(const char *where; int64_t interval; struct json_object *first;);
    struct live *state;
    int err;
    bool begun, more;
    struct coir_group_wait wait;
    struct coir_channel_recv recv;
    struct coir_write_all write;
};
coir_declare(top_live);

#endif
