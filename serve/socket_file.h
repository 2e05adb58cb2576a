/* SPDX-License-Identifier: MIT */
/*
 * The file of a Unix socket that this process listens at: to be removed when it listens no more, unless another one has
 * taken its place by then.
 */
#ifndef COIR_SERVE_SOCKET_FILE_H
#define COIR_SERVE_SOCKET_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct coir_socket_file {
    const char *path;                   /* whoever called outlives it; NULL: there is none */
    uint64_t device, number;            /* of its inode, */
    int64_t born, born_ns;              /* and since when that has been this file; 0: the filesystem does not know */
};

/* The file of an address that coir_listen has just listened at; none if it is "unix:@name", or no Unix socket. */
void coir_socket_file_note(struct coir_socket_file *file, const char *address);

/* Removes it if it is still the one that was noted. True: it was. */
bool coir_socket_file_remove(struct coir_socket_file *file);

#endif
