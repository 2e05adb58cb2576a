/* SPDX-License-Identifier: MIT */
/*
 * What the servers do first: listen, and say where, or why not.
 */
#ifndef LISTENING_H
#define LISTENING_H

#include <coir/coir.h>

#include <stdio.h>

/* The listener; or a negative errno, after a line on stderr. `what` is put before the address that is printed. */
static inline int listening(const char *program, const char *what, const char *where)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char text[COIR_ADDRESS_TEXT];
    const int fd = coir_listen(where, NULL);

    if (fd < 0) {
        fprintf(stderr, "%s: %s: %s\n", program, where, coir_strerror(fd));
        return fd;
    }
    if (getsockname(fd, (struct sockaddr *)&addr, &len) == 0)
        printf("%s: listening on %s%s\n", program, what, coir_address_text(&addr, len, text, sizeof text));
    fflush(stdout);
    return fd;
}

#endif
