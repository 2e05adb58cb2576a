/* SPDX-License-Identifier: MIT */
/*
 * The parts of the NBD server that are functions of bytes: errors, flags, the data of options, pieces of memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "serve/nbd_buffers.h"
#include "serve/nbd_export.h"
#include "serve/nbd_options.h"
#include "tap.h"
#include "tests/serve/bytes.h"

static void errors(void)
{
    static const struct { int ours; unsigned theirs; } table[] = {
        { 0, 0 }, { -EPERM, 1 }, { -EACCES, 1 }, { -EROFS, 1 }, { -EIO, 5 }, { -EBADMSG, 5 }, { -ESTALE, 5 },
        { -ETIMEDOUT, 5 }, { -ENOENT, 5 }, { -EPIPE, 5 }, { -ENOMEM, 12 }, { -EINVAL, 22 }, { -ENOSPC, 28 },
        { -EDQUOT, 28 }, { -EFBIG, 28 }, { -EOVERFLOW, 75 }, { -ENOTSUP, 95 }, { -EOPNOTSUPP, 95 },
        { -ESHUTDOWN, 108 }, { -ECANCELED, 108 }, { -4095, 5 },
    };
    static const unsigned words[] = { 0, 1, 5, 12, 22, 28, 75, 95, 108 };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        EQ(coir_nbd_error(table[i].ours), table[i].theirs, "errno %d", -table[i].ours);
    for (int err = 1; err < 4096; err++) {
        size_t w = 0;
        while (w < sizeof words / sizeof *words && words[w] != coir_nbd_error(-err))
            w++;
        if (w == sizeof words / sizeof *words || w == 0 || !coir_nbd_error_text(-err)[0])
            OK(false, "errno %d is an error of the protocol, and has a text", err);
    }
    STR_EQ(coir_nbd_error_text(-EBADMSG), "what was read is not what was written", "damage has a text of its own");
    STR_EQ(coir_nbd_command_name(6), "WRITE_ZEROES", "a command's name");
    STR_EQ(coir_nbd_command_name(8), "command", "and of one that is none");
}

static void flags(void)
{
    struct coir_nbd_export e = { .read_only = false };

    EQ(coir_nbd_flags(&e, false), 1 | 4 | 8 | 32 | 64 | 256 | 1024 | 2048, "of a volume that may be written");
    EQ(coir_nbd_flags(&e, true), 1 | 4 | 8 | 32 | 64 | 128 | 256 | 1024 | 2048, "with structured replies");
    e.read_only = true;
    EQ(coir_nbd_flags(&e, false), 1 | 2 | 256 | 1024, "read-only: nothing that writes");
    EQ(coir_nbd_flags(&e, true), 1 | 2 | 128 | 256 | 1024, "with structured replies");
}

/* ---- options: each is read from memory that ends where the data do, so that AddressSanitizer sees a step too far */

static unsigned char *exact(const struct bytes *b, size_t n)
{
    unsigned char *p = malloc(n ? n : 1);

    memcpy(p, b->data, n);
    return p;
}

static uint32_t asked(const struct bytes *b, size_t n, struct coir_nbd_asked *out)
{
    unsigned char *p = exact(b, n);
    const uint32_t error = coir_nbd_read_asked(p, n, out);

    free(p);
    return error;
}

static uint32_t contexts(const struct bytes *b, size_t n, struct coir_nbd_contexts *out)
{
    unsigned char *p = exact(b, n);
    const uint32_t error = coir_nbd_read_contexts(p, n, out);

    free(p);
    return error;
}

static unsigned char room[100000];

static void information(void)
{
    struct bytes b = { room, 0 };
    struct coir_nbd_asked a;

    put_text(&b, "vm0");
    put16(&b, 3);
    put16(&b, 3);
    put16(&b, 700);
    put16(&b, 1);
    EQ(asked(&b, b.len, &a), 0, "a name and three requests");
    EQ(a.name.len, 3, "its length");
    OK(a.wants_name && a.wants_block_size, "both that are known");
    for (size_t n = 0; n < b.len; n++)
        EQ(asked(&b, n, &a), NBD_REP_ERR_INVALID, "cut after %zu bytes", n);
    put16(&b, 0);
    EQ(asked(&b, b.len, &a), NBD_REP_ERR_INVALID, "more than it says");
    b.len = 0;
    put_text(&b, "");
    put16(&b, 0);
    EQ(asked(&b, b.len, &a), 0, "no name, no requests");
    OK(a.name.len == 0 && !a.wants_name && !a.wants_block_size, "nothing is asked");
    b.len = 0;
    put32(&b, 0xffffffff);
    put16(&b, 0);
    EQ(asked(&b, b.len, &a), NBD_REP_ERR_INVALID, "a name of 4 GiB");
    b.len = 0;
    put_text(&b, "a");
    put16(&b, 0xffff);
    EQ(asked(&b, b.len, &a), NBD_REP_ERR_INVALID, "65535 requests that are not there");
    for (size_t len = 4095; len <= 4097; len++) {
        b.len = 0;
        put32(&b, (uint32_t)len);
        memset(room + 4, 'x', len);
        b.len += len;
        put16(&b, 0);
        EQ(asked(&b, b.len, &a), len <= 4096 ? 0 : NBD_REP_ERR_TOO_BIG, "a name of %zu bytes", len);
    }
}

static void names(void)
{
    struct coir_nbd_string s;

    EQ(coir_nbd_read_name((const uint8_t *)"vm0", 3, &s), 0, "a name alone");
    EQ(s.len, 3, "all of it");
    EQ(coir_nbd_read_name((const uint8_t *)"", 0, &s), 0, "the empty name");
    EQ(coir_nbd_read_name((const uint8_t *)"v\0m", 3, &s), NBD_REP_ERR_INVALID, "a NUL in it");
    memset(room, 'x', 4097);
    EQ(coir_nbd_read_name(room, 4096, &s), 0, "4096 bytes");
    EQ(coir_nbd_read_name(room, 4097, &s), NBD_REP_ERR_TOO_BIG, "4097 bytes");
}

static void queries(void)
{
    struct bytes b = { room, 0 };
    struct coir_nbd_contexts c;

    put_text(&b, "vm0");
    put32(&b, 3);
    put_text(&b, "x:y");
    put_text(&b, "base:");
    put_text(&b, "base:allocation");
    EQ(contexts(&b, b.len, &c), 0, "three queries");
    OK(c.any && c.base && c.allocation && c.name.len == 3, "what they match");
    for (size_t n = 0; n < b.len; n++)
        EQ(contexts(&b, n, &c), NBD_REP_ERR_INVALID, "cut after %zu bytes", n);
    b.len = 0;
    put_text(&b, "");
    put32(&b, 0);
    EQ(contexts(&b, b.len, &c), 0, "no queries");
    OK(!c.any && !c.base && !c.allocation, "match nothing");
    b.len = 0;
    put_text(&b, "");
    put32(&b, 4);
    put_text(&b, "");
    put_text(&b, "base:allocatio");
    put_text(&b, "base:allocation2");
    put_text(&b, "Base:allocation");
    EQ(contexts(&b, b.len, &c), 0, "others");
    OK(c.any && !c.base && !c.allocation, "match nothing");
    b.len = 0;
    put_text(&b, "");
    put32(&b, 0xffffffff);
    put_text(&b, "base:");
    EQ(contexts(&b, b.len, &c), NBD_REP_ERR_INVALID, "4 G queries that are not there");
}

/* ---- pieces ---- */

static void pieces(void)
{
    static const size_t lengths[] = { 1, 512, 4096, 4097, 16384, 65536, 65537, 262144, 262145, 1 << 20, 32 << 20 };
    static const size_t sizes[] = { 4096, 4096, 4096, 16384, 16384, 65536, 262144, 262144, 266240, 1 << 20, 32 << 20 };
    struct coir_nbd_buffers b = { .keep = 1 << 20 };
    static struct iovec iov[NBD_PIECES];

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t sum = 0;
        const unsigned n = coir_nbd_pieces_take(&b, lengths[i], iov);
        bool aligned = true;

        for (unsigned k = 0; k < n; k++) {
            sum += iov[k].iov_len;
            aligned &= (uintptr_t)iov[k].iov_base % 4096 == 0;
            memset(iov[k].iov_base, 1, iov[k].iov_len);
        }
        EQ(sum, lengths[i], "%zu bytes", lengths[i]);
        OK(aligned, "aligned for direct I/O");
        EQ(n, coir_nbd_pieces(lengths[i]), "in %u pieces", n);
        EQ(coir_nbd_pieces_size(lengths[i]), sizes[i], "of so much memory");
        coir_nbd_pieces_give(&b, lengths[i], iov);
        OK(b.kept <= b.keep, "of which not too much is kept");
    }
    EQ(b.kept > 0, true, "some is");
    coir_nbd_buffers_free(&b);
    EQ(b.kept, 0, "until it is given back");
}

int main(void)
{
    errors();
    flags();
    information();
    names();
    queries();
    pieces();
    return DONE();
}
