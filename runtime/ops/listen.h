/* SPDX-License-Identifier: MIT */
/*
 * More listeners on the address of one, for a server of several shards.
 */
#ifndef COIR_RUNTIME_OPS_LISTEN_H
#define COIR_RUNTIME_OPS_LISTEN_H

#include <stdbool.h>

/* True when others can listen beside it: SO_REUSEPORT is set, and it is no Unix socket. */
bool coir_listener_is_shared(int fd);
/* Another one. Its descriptor or a negative errno. */
int coir_listen_like(int fd, int backlog);

#endif
