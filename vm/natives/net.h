/* SPDX-License-Identifier: MIT */
/*
 * Connections, as net.c makes them and conn.c uses them. A net.Conn, net.Reader and net.Writer are the same cell: a
 * socket, which the two halves of a connection share, and what has been read of it and not given out. One that nobody
 * reads from has no buffer.
 */
#ifndef COIR_VM_NATIVES_NET_H
#define COIR_VM_NATIVES_NET_H

#include <sys/socket.h>

#include "vm/natives/standard.h"
#include "vm/rest.h"

enum { COIR_PEER_SIZE = 28 };           /* of an IPv6 address; a Unix socket's is asked for when it is wanted */

struct coir_endpoint {
    int fd;
    uint32_t holders;
    uint32_t peer_len;                  /* 0: ask */
    char peer[COIR_PEER_SIZE];          /* kept, since a socket that was reset does not know it any more */
};

struct coir_conn {
    struct coir_counted head;
    struct coir_endpoint *socket;         /* NULL: closed, or split */
    struct coir_rest rest;
    int error;                          /* what reading has failed with, for good */
};

extern const struct coir_resource coir_conn_resource, coir_reader_resource, coir_writer_resource;

/* Gives a connection of result type, whose descriptor it takes in every case. `peer` may be NULL. */
enum coir_native_result coir_give_conn(struct coir_fiber *f, uint64_t *r, int fd, const struct sockaddr_storage *peer,
                                       socklen_t peer_len);

/* Closes a descriptor that nobody waits on, without waiting for that. */
void coir_close_later(int fd);

#endif
