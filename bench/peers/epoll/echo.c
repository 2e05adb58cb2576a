/* SPDX-License-Identifier: MIT */
/*
 * The echo row on raw epoll: level-triggered, one read and one write an event, no coroutines, no
 * timeouts, no error reports. What is left when everything is taken away but the readiness model. Usage:
 * echo echo PORT.
 */
#include "../listen.h"

#include <sys/epoll.h>

static void watch(int ep, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
}

static void accept_one(int ep, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0)
        return;
    set_nodelay(fd);
    watch(ep, fd);
}

static void echo(int fd)
{
    char buffer[4096];
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0 || write(fd, buffer, (size_t)n) != n)
        close(fd);
}

int main(int argc, char **argv)
{
    int listener = listen_on(argc, argv), ep = epoll_create1(0);
    struct epoll_event events[256];

    watch(ep, listener);
    for (;;) {
        int n = epoll_wait(ep, events, 256, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener)
                accept_one(ep, listener);
            else
                echo(events[i].data.fd);
        }
    }
}
