/* SPDX-License-Identifier: MIT */
/*
 * A cursor over the data, that fails once and for all.
 */
#include "serve/nbd_options.h"

#include <string.h>

struct cursor {
    const uint8_t *at;
    size_t left;
    uint32_t error;                 /* 0, or what to say; then nothing is left */
};

static void fails(struct cursor *c, uint32_t error)
{
    if (!c->error)
        c->error = error;
    c->left = 0;
}

static const uint8_t *take(struct cursor *c, size_t n)
{
    const uint8_t *p = c->at;

    if (n > c->left) {
        fails(c, NBD_REP_ERR_INVALID);
        return NULL;
    }
    c->at += n;
    c->left -= n;
    return p;
}

static uint32_t take32(struct cursor *c)
{
    const uint8_t *p = take(c, 4);
    uint32_t v = 0;

    if (p)
        memcpy(&v, p, 4);
    return be32toh(v);
}

static uint16_t take16(struct cursor *c)
{
    const uint8_t *p = take(c, 2);
    uint16_t v = 0;

    if (p)
        memcpy(&v, p, 2);
    return be16toh(v);
}

static struct coir_nbd_string take_string(struct cursor *c, size_t len)
{
    struct coir_nbd_string s = { (const char *)take(c, len), len };

    if (!s.data)
        return (struct coir_nbd_string){ "", 0 };
    if (len > NBD_STRING_MAX)
        fails(c, NBD_REP_ERR_TOO_BIG);
    else if (memchr(s.data, 0, len))
        fails(c, NBD_REP_ERR_INVALID);
    return s;
}

static uint32_t ends(struct cursor *c)
{
    if (c->left > 0)
        fails(c, NBD_REP_ERR_INVALID);
    return c->error;
}

uint32_t coir_nbd_read_name(const uint8_t *data, size_t len, struct coir_nbd_string *out)
{
    struct cursor c = { data, len, 0 };

    *out = take_string(&c, len);
    return ends(&c);
}

uint32_t coir_nbd_read_asked(const uint8_t *data, size_t len, struct coir_nbd_asked *out)
{
    struct cursor c = { data, len, 0 };

    *out = (struct coir_nbd_asked){ .name = take_string(&c, take32(&c)) };
    for (uint32_t n = take16(&c); n > 0 && !c.error; n--) {
        const uint16_t info = take16(&c);
        out->wants_name |= info == NBD_INFO_NAME;
        out->wants_block_size |= info == NBD_INFO_BLOCK_SIZE;
    }
    return ends(&c);
}

static bool is(struct coir_nbd_string s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

/* Queries of other namespaces, and for leaves that there are not, match nothing. */
uint32_t coir_nbd_read_contexts(const uint8_t *data, size_t len, struct coir_nbd_contexts *out)
{
    struct cursor c = { data, len, 0 };

    *out = (struct coir_nbd_contexts){ .name = take_string(&c, take32(&c)) };
    for (uint32_t n = take32(&c); n > 0 && !c.error; n--) {
        const struct coir_nbd_string query = take_string(&c, take32(&c));
        out->any = true;
        out->allocation |= is(query, "base:allocation");
        out->base |= is(query, "base:");
    }
    return ends(&c);
}
