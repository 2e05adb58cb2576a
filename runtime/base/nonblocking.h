/* SPDX-License-Identifier: MIT */
/*
 * Some system calls (accept4, connect, sendfile, splice) cannot be told for once not to wait: the descriptor has to be
 * O_NONBLOCK meanwhile. Such calls are made on a shard and on threads of a pool, also two at a time on one descriptor;
 * each holds the mode, and the last to let go gives back what the first one found.
 *
 * Any thread. What is held is a number: its owner does not close it meanwhile.
 */
#ifndef COIR_RUNTIME_BASE_NONBLOCKING_H
#define COIR_RUNTIME_BASE_NONBLOCKING_H

#include <stdbool.h>

/* Lives as long as the call, on the caller's stack. Private. */
struct coir_nonblocking {
    struct coir_nonblocking *next;
    int fd;
    bool blocking;                       /* it is to be made so again */
};

/* Makes it O_NONBLOCK. 0: `coir_nonblocking_end` follows; or a negative errno. */
int coir_nonblocking_begin(struct coir_nonblocking *hold, int fd);
void coir_nonblocking_end(struct coir_nonblocking *hold);

/* Whether it is O_NONBLOCK by itself, and will be when others have let go. */
bool coir_is_nonblocking(int fd);

#endif
