/* SPDX-License-Identifier: MIT */
/*
 * The listening socket of the raw echo servers: 127.0.0.1, the port from `echo PORT`, a backlog of 256.
 */
#ifndef COIR_BENCH_LISTEN_H
#define COIR_BENCH_LISTEN_H

#include "../measure.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static inline void set_nodelay(int fd)
{
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline int listen_on(int argc, char **argv)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (argc != 3 || strcmp(argv[1], "echo") != 0) {
        fprintf(stderr, "usage: %s echo PORT\n", argv[0]);
        exit(2);
    }
    address.sin_port = htons((uint16_t)bench_number(argv[2]));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 256)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

#endif
