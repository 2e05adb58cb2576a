/* SPDX-License-Identifier: MIT */
/*
 * For tests of streams: two of them that are each other's peer, over whatever carries bytes.
 */
#ifndef COIR_TESTS_STREAM_CARRY_H
#define COIR_TESTS_STREAM_CARRY_H

#include <stdlib.h>
#include <termios.h>

#include "ops/net.h"
#include "ops/scratch.h"

/* The first KINDS are those of net.h. */
enum { PIPES = KINDS, TERMINAL, CARRIERS };

static TAP_UNUSED const char *carrier_name(int carrier)
{
    return carrier == PIPES ? "pipes" : carrier == TERMINAL ? "terminal" : kind_names[carrier];
}

/* A terminal, its other end in fds[1], that passes bytes on as they are. */
static TAP_UNUSED void make_terminal(int fds[2])
{
    struct termios raw;
    const char *name;

    fds[0] = MUST(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    MUST(grantpt(fds[0]));
    MUST(unlockpt(fds[0]));
    name = ptsname(fds[0]);
    fds[1] = MUST(open(name ? name : "", O_RDWR | O_NOCTTY | O_CLOEXEC));
    MUST(tcgetattr(fds[1], &raw));
    cfmakeraw(&raw);
    MUST(tcsetattr(fds[1], TCSANOW, &raw));
}

static TAP_UNUSED void make_streams(int carrier, struct coir_fd_stream s[2])
{
    int a[2], b[2];

    if (carrier == PIPES) {
        MUST(pipe2(a, O_CLOEXEC));
        MUST(pipe2(b, O_CLOEXEC));
        EQ(coir_fd_stream_init(&s[0], a[0], b[1]), 0, "a stream of two pipes");
        EQ(coir_fd_stream_init(&s[1], b[0], a[1]), 0, "and its peer");
        return;
    }
    if (carrier == TERMINAL)
        make_terminal(a);
    else
        make_pair((enum kind)carrier, a);
    EQ(coir_fd_stream_init(&s[0], a[0], a[0]), 0, "a stream: %s", carrier_name(carrier));
    EQ(coir_fd_stream_init(&s[1], a[1], a[1]), 0, "and its peer");
}

#endif
