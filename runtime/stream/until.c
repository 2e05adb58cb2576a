/* SPDX-License-Identifier: MIT */
/*
 * Reading up to a delimiter. Bytes are looked at once: what has been searched and cannot be the beginning of the
 * delimiter is not searched again when more has come. A whole piece is taken out only when its end is there, so that a
 * failure leaves everything as it was.
 */
#include "runtime/stream/buffered.h"

/* The length of a delimiter, or why it is none. */
static int check_delimiter(struct coir_task *t, const char *delimiter, size_t *len, const char *name)
{
    if (!delimiter || coir_arguments_live(t, delimiter, name))
        return -EFAULT;
    if (*len == 0)
        *len = strlen(delimiter);
    return *len ? 0 : -EINVAL;
}

/* Where the delimiter is, looking behind the first *searched bytes; NULL: nowhere yet, and *searched has grown. */
static char *find(const struct coir_reader *r, const char *delimiter, size_t n, size_t *searched)
{
    char *const from = r->buffer + r->begin + *searched;
    const size_t left = coir_reader_has(r) - *searched;
    char *const at = n == 1 ? memchr(from, *delimiter, left) : memmem(from, left, delimiter, n);

    if (!at && left >= n)
        *searched += left - (n - 1);
    return at;
}

/* Takes the `len` bytes before a delimiter, and `n` of that. */
static struct coir_bytes take(struct coir_reader *r, size_t len, size_t n)
{
    char *const data = r->buffer + r->begin;

    data[len] = '\0';
    r->begin += len + n;
    return (struct coir_bytes){ data, len };
}

/* 1: a piece has been taken, into *piece. Else that is what there is: 0: read on; -EMSGSIZE: there is no room to. */
static int next_piece(struct coir_reader *r, const char *delimiter, size_t n, size_t *searched,
                      struct coir_bytes *piece)
{
    char *const at = find(r, delimiter, n, searched);

    if (at) {
        *piece = take(r, (size_t)(at - (r->buffer + r->begin)), n);
        return 1;
    }
    *piece = coir_reader_view(r);
    return piece->len == r->size ? -EMSGSIZE : 0;
}

/* The stream has ended where no delimiter was. */
static int last_piece(struct coir_reader *r, bool rest, struct coir_bytes *piece)
{
    if (piece->len == 0) {
        piece->data = NULL;
        return 0;
    }
    if (!rest)
        return -ENODATA;
    *piece = take(r, piece->len, 0);
    return 0;
}

/* ---- read_until ---- */

static int until_begins(struct coir_read_until *f)
{
    int bad = coir_reader_check(&f->task, f->reader, f->delimiter, "coir_read_until");

    f->n = f->len;
    f->searched = 0;
    if (!bad)
        bad = check_delimiter(&f->task, f->delimiter, &f->n, "coir_read_until");
    if (bad)
        return bad;
    f->result = coir_reader_view(f->reader);
    return f->n > f->reader->size ? -EMSGSIZE : 0;
}

coir_body(coir_read_until, f) {
    f->found = until_begins(f);
    while (f->found == 0) {
        f->found = next_piece(f->reader, f->delimiter, f->n, &f->searched, &f->result);
        if (f->found)
            break;
        coir_await(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1);
        f->result = coir_reader_view(f->reader);
        coir_check(f, &f->fill);
        if (f->fill.result == 0)
            coir_fail(f, last_piece(f->reader, f->rest, &f->result));
    }
    coir_fail(f, f->found < 0 ? f->found : 0);
} coir_end

/* ---- read_line ---- */

static void without_cr(struct coir_bytes *line)
{
    if (line->len && line->data[line->len - 1] == '\r')
        line->data[--line->len] = '\0';
}

coir_body(coir_read_line, f) {
    f->found = coir_reader_check(&f->task, f->reader, NULL, "coir_read_line");
    f->searched = 0;
    while (f->found == 0) {
        f->found = next_piece(f->reader, "\n", 1, &f->searched, &f->result);
        if (f->found)
            break;
        coir_await(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1);
        f->result = coir_reader_view(f->reader);
        coir_check(f, &f->fill);
        if (f->fill.result == 0) {
            f->found = last_piece(f->reader, f->rest, &f->result);
            break;
        }
    }
    if (f->found < 0)
        coir_fail(f, f->found);
    without_cr(&f->result);
} coir_end

/* ---- skip_until ---- */

static int skip_begins(struct coir_skip_until *f)
{
    int bad = coir_reader_check(&f->task, f->reader, f->delimiter, "coir_skip_until");

    f->n = f->len;
    if (!bad)
        bad = check_delimiter(&f->task, f->delimiter, &f->n, "coir_skip_until");
    return bad ? bad : f->n > f->reader->size ? -EMSGSIZE : 0;
}

/* Skips what is there. True: it ended with the delimiter. Else what may be the beginning of one is left. */
static bool skips(struct coir_skip_until *f)
{
    struct coir_reader *r = f->reader;
    size_t n = 0;
    char *const at = find(r, f->delimiter, f->n, &n);

    if (at)
        n = (size_t)(at - (r->buffer + r->begin)) + f->n;
    r->begin += n;
    f->result += n;
    return at != NULL;
}

coir_body(coir_skip_until, f) {
    {
        const int bad = skip_begins(f);
        if (bad)
            coir_fail(f, bad);
    }
    while (!skips(f)) {
        coir_try(f, &f->fill, coir_reader_fill, .reader = f->reader, .need = 1);
        if (f->fill.result == 0) {
            f->result += coir_reader_has(f->reader);
            f->reader->begin = f->reader->end;
            coir_fail(f, ENODATA);
        }
    }
} coir_end
