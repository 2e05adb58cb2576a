/* SPDX-License-Identifier: MIT */
/* See rest.h. It owns its text, and never reads anything itself. */
#include "vm/rest.h"

void coir_rest_drop(struct coir_heap *h, struct coir_rest *s)
{
    if (s->text)
        coir_drop(h, coir_ref(s->text));
    *s = (struct coir_rest){ 0 };
}

/* What has been given out makes room for what comes. */
static void move_down(struct coir_rest *s)
{
    struct coir_text *const t = coir_text_at(s->text);

    memmove(t->bytes, t->bytes + s->at, t->len - s->at);
    t->len -= s->at;
    s->at = 0;
}

char *coir_rest_room(struct coir_heap *h, struct coir_rest *s, size_t least, size_t *room)
{
    struct coir_text *t;

    if (!s->text) {
        t = coir_text_new(h, least);
        if (!t)
            return NULL;
        t->len = 0;
        *s = (struct coir_rest){ coir_slot_of(t), 0 };
    }
    t = coir_text_at(s->text);
    if (t->cap - t->len < least) {
        move_down(s);
        if (t->cap - t->len < least && !coir_text_reserve(h, &s->text, least))
            return NULL;
        t = coir_text_at(s->text);
    }
    *room = t->cap - t->len;
    return t->bytes + t->len;
}

void coir_rest_came(struct coir_rest *s, size_t n)
{
    coir_text_at(s->text)->len += n;
}

bool coir_rest_add(struct coir_heap *h, struct coir_rest *s, const char *bytes, size_t n)
{
    size_t room;
    char *const to = n ? coir_rest_room(h, s, n, &room) : NULL;

    if (!to)
        return n == 0;
    memcpy(to, bytes, n);
    coir_rest_came(s, n);
    return true;
}

struct coir_text *coir_rest_take(struct coir_heap *h, struct coir_rest *s, size_t n, size_t skip)
{
    struct coir_text *t = coir_text_at(s->text);

    if (s->at == 0 && n + skip == coir_rest_len(s) && t && t->cap / 2 <= n) {
        t->len = n;
        *s = (struct coir_rest){ 0 };
        return t;
    }
    t = coir_text_of(h, s->text ? coir_rest_bytes(s) : "", n);
    if (!t)
        return NULL;
    s->at += n + skip;
    if (s->text && coir_rest_len(s) == 0)
        coir_rest_drop(h, s);
    return t;
}

bool coir_rest_line(const struct coir_rest *s, size_t *searched, size_t *len, size_t *skip)
{
    const size_t have = coir_rest_len(s);
    const char *const bytes = have ? coir_rest_bytes(s) : NULL;
    const char *const end = have > *searched ? memchr(bytes + *searched, '\n', have - *searched) : NULL;

    if (!end) {
        *searched = have;
        return false;
    }
    *len = (size_t)(end - bytes);
    *skip = 1;
    if (*len && bytes[*len - 1] == '\r') {
        --*len;
        *skip = 2;
    }
    return true;
}
