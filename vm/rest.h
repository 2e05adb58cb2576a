/* SPDX-License-Identifier: MIT */
/*
 * What has been read from a stream and not been given out yet: the end of a text that nobody else holds. All that reads
 * lines, or an exact number of bytes, reads into one: what has come is kept there when the wait is cut short.
 */
#ifndef COIR_VM_REST_H
#define COIR_VM_REST_H

#include "vm/text.h"

/* Zeroed: empty. */
struct coir_rest {
    uint64_t text;                      /* 0: none */
    size_t at;                          /* bytes before that have been given out */
};

static inline size_t coir_rest_len(const struct coir_rest *s)
{
    return s->text ? coir_text_at(s->text)->len - s->at : 0;
}

static inline const char *coir_rest_bytes(const struct coir_rest *s)
{
    return coir_text_at(s->text)->bytes + s->at;
}

/* Gives the memory back, and what is in it is forgotten. */
void coir_rest_drop(struct coir_heap *h, struct coir_rest *s);

/* Room for `least` > 0 bytes more behind what is there, to be read into; *room says how many fit. NULL: no memory. */
char *coir_rest_room(struct coir_heap *h, struct coir_rest *s, size_t least, size_t *room);
/* So many bytes have come there. */
void coir_rest_came(struct coir_rest *s, size_t n);

/* Bytes behind what is there. False: no memory, and nothing has changed. */
bool coir_rest_add(struct coir_heap *h, struct coir_rest *s, const char *bytes, size_t n);

/* The first `n` <= len bytes, as a text, and `skip` after them that nobody wants. NULL: no memory, nothing is taken. */
struct coir_text *coir_rest_take(struct coir_heap *h, struct coir_rest *s, size_t n, size_t skip);

/* Whether a line is there: its length, and what its end takes. *searched: bytes that are known to have no end. */
bool coir_rest_line(const struct coir_rest *s, size_t *searched, size_t *len, size_t *skip);

#endif
