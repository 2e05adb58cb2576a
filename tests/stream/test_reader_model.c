/* SPDX-License-Identifier: MIT */
/*
 * The buffered reader against a model: a position in an array. The input is random text full of delimiters, the buffer
 * of 2 to 70 bytes, the operations random, the pieces in which the stream gives its bytes random, and at random places
 * it gives nothing until the operation has been given up, and then made again. A byte that is lost, doubled or out of
 * place, or a wrong end, shows at once.
 */
#include "memory.h"

enum { INPUT = 4000, ROUNDS = 300, LARGEST = 70 };

static const char *const delimiters[] = { "\n", "--", "aba", "\r\n\r\n" };

/* What an operation has to do, by the model. */
struct wanted {
    int how;
    uint64_t n;                          /* bytes it was asked for */
    const char *delimiter;
    bool rest;
    int status;
    size_t len;                          /* of what it gives, or counts */
    size_t moves;                        /* how far the position goes */
    bool at_end;                         /* gives NULL */
};

enum { LINE, UNTIL, EXACT, SOME, PEEK, SKIP, SKIP_UNTIL, DROP, HOWS };

struct model {
    char in[INPUT];
    size_t at;
    size_t size;                         /* the reader's, less one */
    uint64_t random;
};

static void model_make(struct model *m, uint64_t seed)
{
    static const char letters[] = "ab-\n\r\n\0\n";

    m->random = seed;
    m->at = 0;
    m->size = 1 + draw(&m->random) % (LARGEST - 1);
    for (size_t i = 0; i < INPUT; i++) {
        const uint64_t r = draw(&m->random) % 12;
        m->in[i] = r < 8 ? letters[r] : (char)('a' + r % 2);
    }
}

/* A delimiter of `n` bytes in what is left; -1: none. */
static ssize_t model_find(const struct model *m, const char *delimiter, size_t n)
{
    for (size_t i = m->at; i + n <= INPUT; i++) {
        if (!memcmp(m->in + i, delimiter, n))
            return (ssize_t)(i - m->at);
    }
    return -1;
}

static void model_piece(const struct model *m, struct wanted *w)
{
    const size_t n = strlen(w->delimiter), left = INPUT - m->at;
    const ssize_t found = model_find(m, w->delimiter, n);

    if (n > m->size || (found >= 0 ? (size_t)found + n > m->size : left >= m->size)) {
        w->status = -EMSGSIZE;
    } else if (found >= 0) {
        w->len = (size_t)found;
        w->moves = w->len + n;
        if (w->how == LINE && w->len && m->in[m->at + w->len - 1] == '\r')
            w->len--;
    } else if (left == 0) {
        w->at_end = true;
    } else if (w->rest) {
        w->len = w->moves = left;
        if (w->how == LINE && m->in[INPUT - 1] == '\r')
            w->len--;
    } else {
        w->status = -ENODATA;
    }
}

static void model_draws(struct model *m, struct wanted *w)
{
    const size_t left = INPUT - m->at;

    *w = (struct wanted){ .how = (int)(draw(&m->random) % HOWS), .delimiter = "\n" };
    if (w->how == UNTIL || w->how == SKIP_UNTIL)
        w->delimiter = delimiters[draw(&m->random) % 4];
    w->rest = draw(&m->random) % 4 == 0;
    w->n = draw(&m->random) % (draw(&m->random) % 8 ? 20 : 200);
    if (w->how == LINE || w->how == UNTIL) {
        model_piece(m, w);
    } else if (w->how == EXACT || w->how == SKIP) {
        w->status = w->n > left ? -ENODATA : 0;
        w->moves = w->n > left ? left : w->n;
    } else if (w->how == PEEK) {
        w->status = w->n > m->size ? -EMSGSIZE : w->n > left ? -ENODATA : 0;
    } else if (w->how == SKIP_UNTIL) {
        const ssize_t found = model_find(m, w->delimiter, strlen(w->delimiter));
        w->status = strlen(w->delimiter) > m->size ? -EMSGSIZE : found < 0 ? -ENODATA : 0;
        w->moves = w->status == -EMSGSIZE ? 0 : found < 0 ? left : (size_t)found + strlen(w->delimiter);
    }
}

struct round {
    coir_frame(int);
    coir_args(uint64_t seed;);
    struct model model;
    struct memory m;
    struct coir_reader r;
    struct wanted w;
    char to[256];
    size_t had;                          /* of the operation, before it was given up */
    int status, given_up, operations;
    struct coir_bytes bytes;
    struct coir_scope scope;
    union {
        struct coir_read_line line;
        struct coir_read_until until;
        struct coir_read_some some;
        struct coir_read_exact exact;
        struct coir_peek peek;
        struct coir_skip skip;
        struct coir_skip_until skip_until;
    } u;
};
static coir_declare(round);

/* What was moved or counted before the operation was given up is in order, and need not come again. */
static bool goes_on(struct round *f, size_t n)
{
    const bool right = f->w.moves >= n && (f->w.how != EXACT || !memcmp(f->to + f->had, f->model.in + f->model.at, n));

    f->had += n;
    f->model.at += n;
    f->w.moves -= n;
    return right;
}

static bool is_view_right(const struct round *f)
{
    const struct coir_bytes has = coir_reader_buffered(&f->r);

    return has.len <= INPUT - f->model.at && !memcmp(has.data, f->model.in + f->model.at, has.len);
}

/* The operation has ended by itself. */
static bool is_right(struct round *f)
{
    const char *const in = f->model.in + f->model.at;
    bool right = f->status == f->w.status;

    if (f->w.how == LINE || f->w.how == UNTIL) {
        if (f->w.status == 0)
            right &= f->w.at_end ? !f->bytes.data : f->bytes.data && f->bytes.len == f->w.len
                && !memcmp(f->bytes.data, in, f->w.len) && f->bytes.data[f->w.len] == '\0';
        else
            right &= !memcmp(f->bytes.data, in, f->bytes.len);
    } else if (f->w.how == PEEK) {
        right &= !memcmp(f->bytes.data, in, f->bytes.len) && (f->status || f->bytes.len >= f->w.n);
    } else if (f->w.how == SOME) {
        right &= f->bytes.len <= f->w.n && !memcmp(f->to, in, f->bytes.len)
            && (f->bytes.len > 0 || f->w.n == 0 || f->model.at == INPUT);
        f->w.moves = f->bytes.len;
    } else if (f->w.how != DROP) {
        right &= f->bytes.len == f->w.moves && (f->w.how != EXACT || !memcmp(f->to + f->had, in, f->w.moves));
    }
    f->model.at += f->w.moves;
    return right && is_view_right(f);
}

/* Drops some of what is there, or too much. */
static void drops(struct round *f)
{
    const size_t has = coir_reader_buffered(&f->r).len;

    f->status = coir_reader_drop(&f->r, (size_t)f->w.n);
    f->w.status = f->w.n > has ? -EINVAL : 0;
    f->w.moves = f->w.n > has ? 0 : (size_t)f->w.n;
}

#define ONE(slot, op, ...) do { \
    coir_within(f, &f->scope, coir_now() + COIR_MS, slot, op, .reader = &f->r, __VA_ARGS__); \
    f->status = coir_status(slot); \
    } while (0)

coir_body(round, f) {
    model_make(&f->model, f->seed | 1);
    memory_make(&f->m, f->model.in, INPUT);
    f->m.random = f->model.random | 1;
    f->m.passes = f->model.random % 3 == 0;
    f->given_up = 0;
    if (coir_reader_init(&f->r, &f->m.stream, f->model.size + 1) < 0)
        coir_fail(f, ENOMEM);
    for (f->operations = 0; f->operations < 4000 && !f->result; f->operations++) {
        model_draws(&f->model, &f->w);
        f->had = 0;
        do {
            f->m.stall = f->m.in_at < INPUT && draw(&f->model.random) % 3 == 0
                ? f->m.in_at + draw(&f->model.random) % 6 : SIZE_MAX;
            f->bytes = (struct coir_bytes){ NULL, 0 };
            if (f->w.how == LINE) {
                ONE(&f->u.line, coir_read_line, .rest = f->w.rest);
                f->bytes = f->u.line.result;
            } else if (f->w.how == UNTIL) {
                ONE(&f->u.until, coir_read_until, .delimiter = f->w.delimiter, .rest = f->w.rest);
                f->bytes = f->u.until.result;
            } else if (f->w.how == EXACT) {
                ONE(&f->u.exact, coir_read_exact, .buf = f->to + f->had, .len = (size_t)f->w.n - f->had);
                f->bytes.len = f->u.exact.result;
            } else if (f->w.how == SOME) {
                ONE(&f->u.some, coir_read_some, .buf = f->to, .len = (size_t)f->w.n);
                f->bytes.len = f->u.some.result;
            } else if (f->w.how == PEEK) {
                ONE(&f->u.peek, coir_peek, .n = (size_t)f->w.n);
                f->bytes = f->u.peek.result;
            } else if (f->w.how == SKIP) {
                ONE(&f->u.skip, coir_skip, .n = f->w.n - f->had);
                f->bytes.len = (size_t)f->u.skip.result;
            } else if (f->w.how == SKIP_UNTIL) {
                ONE(&f->u.skip_until, coir_skip_until, .delimiter = f->w.delimiter);
                f->bytes.len = (size_t)f->u.skip_until.result;
            } else {
                drops(f);
            }
            if (f->status == -ETIMEDOUT) {
                f->given_up++;
                if (f->bytes.data)
                    f->result |= !is_view_right(f) || memcmp(f->bytes.data, f->model.in + f->model.at, f->bytes.len);
                else
                    f->result |= !goes_on(f, f->bytes.len);
            }
        } while (f->status == -ETIMEDOUT && !f->result);
        if (!f->result && !is_right(f))
            f->result = 1;
        if (f->result)
            NOTE("seed %#" PRIx64 ", operation %d: kind %d, status %d, not %d, at %zu", f->seed, f->operations,
                 f->w.how, f->status, f->w.status, f->model.at);
    }
    coir_reader_destroy(&f->r);
} coir_end

struct rounds {
    coir_frame_void;
    coir_args(uint64_t seed;);
    int i, wrong, given_up, ended;
    struct round round;
};
static coir_declare(rounds);
coir_body(rounds, f) {
    f->wrong = f->given_up = f->ended = 0;
    for (f->i = 0; f->i < ROUNDS; f->i++) {
        coir_try(f, &f->round, round, .seed = f->seed + (uint64_t)f->i * 0x9E3779B97F4A7C15u);
        f->wrong += f->round.result;
        f->given_up += f->round.given_up;
        f->ended += f->round.model.at == INPUT;
    }
    EQ(f->wrong, 0, "%d readers agree with the model", ROUNDS);
    OK(f->given_up > ROUNDS, "operations were given up: %d", f->given_up);
    OK(f->ended > ROUNDS / 2, "and ends were reached: %d", f->ended);
} coir_end

int main(void)
{
    run_one("the model", coir_new(rounds, .seed = seed()));
    return DONE();
}
