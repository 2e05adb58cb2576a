/* SPDX-License-Identifier: MIT */
/*
 * The dice of torture.h, and which descriptors may move a part. It knows no task. Without COIR_TORTURE this file is
 * empty.
 */
#include "runtime/base/torture.h"

#ifdef COIR_TORTURE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "runtime/base/assert.h"

static _Thread_local uint64_t order, dice;   /* 0: nothing is thrown */
static _Thread_local bool prompt;
static bool whole;                           /* atomic: the run's, as the seed */
static uint64_t seed;                        /* atomic: the run's */
static uint64_t drawn;                       /* atomic: the process's, where none was given */

static uint64_t mix(uint64_t x)              /* splitmix64: never 0 for what is told apart by few bits */
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return x ? x : 1;
}

static uint64_t draw(void)
{
    uint64_t mine = 0, old = 0;
    uint32_t random;

    if (__atomic_load_n(&drawn, __ATOMIC_RELAXED))
        return __atomic_load_n(&drawn, __ATOMIC_RELAXED);
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random)
        mine = random;
    mine |= 1;
    if (!__atomic_compare_exchange_n(&drawn, &old, mine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return old;
    fprintf(stderr, "coir: torture: COIR_TORTURE_SEED=%llu\n", (unsigned long long)mine);
    return mine;
}

void coir_torture_begin(unsigned id)
{
    const char *const given = getenv("COIR_TORTURE_SEED");
    const uint64_t s = given && *given ? strtoull(given, NULL, 0) : draw();

    __atomic_store_n(&seed, s, __ATOMIC_RELAXED);
    __atomic_store_n(&whole, given && strstr(given, "whole"), __ATOMIC_RELAXED);
    prompt = given && strstr(given, "prompt");
    order = s && !(given && strstr(given, "fifo")) ? mix(s + id) : 0;
    dice = s ? mix(~s + id) : 0;
}

static unsigned throw(uint64_t *state, unsigned n)
{
    if (!*state || n < 2)
        return 0;
    *state ^= *state << 13;                  /* xorshift64 */
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)((*state >> 32) % n);
}

unsigned coir_torture_order(unsigned n)
{
    return throw(&order, n);
}

unsigned coir_torture_plays(unsigned n)
{
    return prompt ? 0 : throw(&dice, n);
}

/* ---- parts ---- */

/* TCP that has not been told to hurry: after a short write the next waits for the answer to it, for 40 ms. */
static bool is_slow(int fd)
{
    int hurries = 0;
    socklen_t size = sizeof hurries;

    return getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &hurries, &size) == 0 && !hurries;
}

/* A byte stream, or a file that is read and written as it comes: what may move less than it was asked for. Messages
 * would be cut, counters refuse it, direct I/O has its own sizes, and POSIX has small writes to a pipe in one piece. */
static bool moves_parts(int fd, size_t len, bool writes)
{
    struct stat st;
    int type = 0;
    socklen_t size = sizeof type;

    if (fstat(fd, &st) < 0)
        return false;
    if (S_ISSOCK(st.st_mode))
        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM
            && !(writes && is_slow(fd));
    if (S_ISFIFO(st.st_mode) && writes && len <= PIPE_BUF)
        return false;
    return (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) && !(fcntl(fd, F_GETFL) & O_DIRECT);
}

/* Often one byte; of much, mostly the better half, so that it ends. */
static size_t part(size_t len, uint64_t random)
{
    const uint64_t most = len - 1, more = random / 16;

    if (len < 64)
        return (size_t)(random % 2 ? 1 : 1 + more % most);
    return (size_t)(random % 16 == 0 ? 1 : random % 16 == 1 ? 1 + more % 16 : len / 2 + more % (len - len / 2));
}

size_t coir_torture_part(int fd, size_t len, bool writes)
{
    static _Thread_local uint64_t own;       /* of a thread that is no shard, whose order is nobody's */
    const int before = errno;
    const uint64_t s = __atomic_load_n(&seed, __ATOMIC_RELAXED);
    size_t n = len;

    if (s && !__atomic_load_n(&whole, __ATOMIC_RELAXED) && len > 1 && moves_parts(fd, len, writes))
        n = part(len, dice ? throw(&dice, ~0u) : mix(s + ++own));
    errno = before;
    return n;
}

/* The kernel copies what it is given when that is submitted, and no more is prepared before than a ring has entries. */
enum { ROOMS = 8192, ROOM = 256, MOST = ROOM / sizeof(struct iovec) };

void *coir_torture_room(size_t size)
{
    static _Alignas(16) char room[ROOMS][ROOM];
    static unsigned next;

    COIR_ASSERT(size <= ROOM);
    return room[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % ROOMS];
}

const struct iovec *coir_torture_pieces(int fd, const struct iovec *iov, int *n, bool writes)
{
    struct iovec *cut;
    size_t sum = 0, left;
    int k = 0;

    for (int i = 0; i < *n; i++)
        sum += iov[i].iov_len;
    left = coir_torture_part(fd, sum, writes);
    if (left == sum)
        return iov;
    while (iov[k].iov_len <= left)
        left -= iov[k++].iov_len;
    *n = k;
    if (left == 0 || k >= MOST)
        return iov;
    cut = coir_torture_room((size_t)(k + 1) * sizeof *cut);
    for (int i = 0; i <= k; i++)
        cut[i] = iov[i];
    cut[k].iov_len = left;
    *n = k + 1;
    return cut;
}
#else
typedef int coir_no_torture;
#endif
