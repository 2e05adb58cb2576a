/* SPDX-License-Identifier: MIT */
/*
 * What a client of the NBD server says, as bytes in a buffer: for tests that send them themselves. Written from the
 * protocol's document, not from the server's headers. The buffer is large enough; nobody checks.
 */
#ifndef COIR_TESTS_SERVE_BYTES_H
#define COIR_TESTS_SERVE_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    unsigned char *data;
    size_t len;
};

static inline void put(struct bytes *b, const void *p, size_t n)
{
    memcpy(b->data + b->len, p, n);
    b->len += n;
}

static inline void put16(struct bytes *b, uint16_t v)
{
    v = htobe16(v);
    put(b, &v, 2);
}

static inline void put32(struct bytes *b, uint32_t v)
{
    v = htobe32(v);
    put(b, &v, 4);
}

static inline void put64(struct bytes *b, uint64_t v)
{
    v = htobe64(v);
    put(b, &v, 8);
}

static inline void put_text(struct bytes *b, const char *s)
{
    put32(b, (uint32_t)strlen(s));
    put(b, s, strlen(s));
}

static inline void put_option(struct bytes *b, uint32_t option, size_t len)
{
    put64(b, UINT64_C(0x49484156454f5054));
    put32(b, option);
    put32(b, (uint32_t)len);
}

/* The client's flags, and then a GO for an export, without information requests. With structured replies, and with
 * base:allocation, if that is wanted. How many bytes the server says to all of it: *answer. */
static inline void put_handshake(struct bytes *b, const char *export, int structured, size_t *answer)
{
    const size_t name = strlen(export);

    put32(b, 3);
    *answer = 18;
    if (structured) {
        put_option(b, 8, 0);
        *answer += 20;
        put_option(b, 10, 4 + name + 4 + 4 + 15);
        put_text(b, export);
        put32(b, 1);
        put_text(b, "base:allocation");
        *answer += 20 + 4 + 15 + 20;
    }
    put_option(b, 7, 4 + name + 2);
    put_text(b, export);
    put16(b, 0);
    *answer += 20 + 12 + 20;
}

static inline void put_request(struct bytes *b, uint16_t type, uint16_t flags, uint64_t handle, uint64_t offset,
                               uint32_t length)
{
    put32(b, 0x25609513);
    put16(b, flags);
    put16(b, type);
    put64(b, handle);
    put64(b, offset);
    put32(b, length);
}

enum { READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS };

#endif
