/* SPDX-License-Identifier: MIT */
/*
 * udping - asks a UDP echo server, again and again, and counts what is lost; or is such a server.
 *
 * A question carries a number. Its answer has a time to come; one that comes later, or twice, is told from the others
 * by the number, and counted. Only when all is over it says how many were lost.
 */
#include <coir/coir.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct echo {                           /* the server */
    coir_frame_void;
    coir_args(int fd;);
    char buf[65536];
    struct sockaddr_storage from;
    socklen_t fromlen;
    struct coir_recvfrom recv;
    struct coir_sendto send;
};
static coir_declare(echo);

coir_body(echo, f) {
    for (;;) {
        coir_try(f, &f->recv, coir_recvfrom, .fd = f->fd, .buf = f->buf, .len = sizeof f->buf, .addr = &f->from,
                 .addrlen = &f->fromlen);
        /* What cannot be sent back is lost, as anything may be: one client is no reason to end. */
        coir_await(f, &f->send, coir_sendto, .fd = f->fd, .buf = f->buf, .len = f->recv.result,
                   .addr = (struct sockaddr *)&f->from, .addrlen = f->fromlen);
        if (coir_status(&f->send) == -ECANCELED)
            coir_fail(f, ECANCELED);
    }
} coir_end

/* Asks once. Result: whether the answer came. Others that come meanwhile are counted in `late`. */
struct ask {
    coir_frame(bool);
    coir_args(int fd; uint64_t number; int64_t until; unsigned *late;);
    uint64_t answer;
    struct coir_scope scope;
    struct coir_send send;
    struct coir_recv recv;
};
static coir_declare(ask);

coir_body(ask, f) {
    coir_await(f, &f->send, coir_send, .fd = f->fd, .buf = &f->number, .len = sizeof f->number);
    for (;;) {
        f->answer = 0;
        coir_within(f, &f->scope, f->until, &f->recv, coir_recv, .fd = f->fd, .buf = &f->answer,
                    .len = sizeof f->answer);
        if (coir_status(&f->recv) == -ETIMEDOUT)
            coir_return(f, false);
        if (coir_status(&f->recv) == -ECONNREFUSED)      /* nobody is there, now: that, too, is lost */
            continue;
        coir_check(f, &f->recv);
        if (f->answer == f->number)
            coir_return(f, true);
        ++*f->late;
    }
} coir_end

struct pings {
    coir_frame(unsigned);               /* answers */
    coir_args(int fd; unsigned times;);
    unsigned i, late;
    int64_t next;
    struct ask ask;
    struct coir_sleep_until rest;
};
static coir_declare(pings);

coir_body(pings, f) {
    f->late = 0;
    f->next = coir_now();
    for (f->i = 1; f->i <= f->times; f->i++) {
        coir_try(f, &f->ask, ask, .fd = f->fd, .number = f->i, .until = coir_now() + COIR_S, .late = &f->late);
        f->result += f->ask.result;
        f->next = f->ask.result ? f->next + 100 * COIR_MS : coir_now();
        if (f->i < f->times && f->ask.result)
            coir_try(f, &f->rest, coir_sleep_until, .at = f->next);
    }
    printf("udping: %u asked, %u answered, %u lost, %u late\n", f->times, f->result, f->times - f->result, f->late);
    coir_return(f, f->result);
} coir_end

static int serve(const char *where)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char text[COIR_ADDRESS_TEXT];
    const int fd = coir_bind(where, NULL);

    if (fd < 0 || getsockname(fd, (struct sockaddr *)&addr, &len) < 0) {
        fprintf(stderr, "udping: %s: %s\n", where, coir_strerror(fd));
        return 1;
    }
    printf("udping: answering on %s\n", coir_address_text(&addr, len, text, sizeof text));
    fflush(stdout);
    return coir_main(coir_new(echo, .fd = fd));
}

static int ping(const char *where, unsigned times)
{
    struct sockaddr_storage addr;
    const int len = coir_address(where, &addr);
    const int fd = len < 0 ? -1 : socket(addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, (socklen_t)len) < 0) {      /* of UDP that asks nobody */
        fprintf(stderr, "udping: %s: %s\n", where, coir_strerror(len < 0 ? len : -errno));
        return 1;
    }
    return coir_main(coir_new(pings, .fd = fd, .times = times));
}

int main(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    if (argc >= 2 && argc <= 3 && strcmp(argv[1], "-s") == 0)
        return serve(argc == 3 ? argv[2] : "127.0.0.1:7780");
    if (argc < 2 || argc > 3 || argv[1][0] == '-' || (argc == 3 && strtoul(argv[2], NULL, 10) == 0)) {
        fprintf(help ? stdout : stderr, "usage: udping ADDRESS [TIMES]    asks 10 times unless said, 10 a second\n"
                "       udping -s [ADDRESS]       answers, on 127.0.0.1:7780 unless said\n");
        return help ? 0 : 2;
    }
    return ping(argv[1], argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 10);
}
