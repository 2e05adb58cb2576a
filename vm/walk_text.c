/* SPDX-License-Identifier: MIT */
/*
 * How values are written, as print and "${}" do and as their literals are. See walk.h.
 *
 * A step writes what stands before its next part, then becomes a step of the part; when no part is left it writes what
 * closes it. Here the last part does not take its step's place, except in an optional, since something follows it.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm/walk_inside.h"

static bool put(struct coir_walk *w, uint64_t *place, const char *bytes, size_t len)
{
    if (coir_text_append(w->heap, place, bytes, len))
        return true;
    w->failed = true;
    return false;
}

static void put_string(struct coir_walk *w, uint64_t *place, const char *s)
{
    put(w, place, s, strlen(s));
}

/* ---- scalars ---- */

/* The fewest digits that read back as the same: decimal up to 1e16, with an exponent beyond. */
static void put_float(struct coir_walk *w, uint64_t *place, double x)
{
    char digits[40], out[64];
    int precision = 1, exponent, n;
    const char *mantissa;

    if (!isfinite(x)) {
        put_string(w, place, x != x ? "nan" : x > 0 ? "inf" : "-inf");
        return;
    }
    /* Of what is normal, 15 digits say the fewest that suffice, padded; or 16 or 17 are needed. */
    for (int fits = fabs(x) < DBL_MIN ? 1 : 15; fits <= 17; fits++) {
        snprintf(digits, sizeof digits, "%.*e", fits - 1, x);
        precision = fits;
        if (strtod(digits, NULL) == x)
            break;
    }
    exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (x != 0 && (exponent >= 16 || exponent < -4)) {
        char *e = strchr(digits, 'e');

        *e = 0;
        if (strchr(digits, '.')) {
            for (char *end = e; end[-1] == '0' || end[-1] == '.'; *--end = 0) {
                if (end[-1] == '.') {
                    *--end = 0;
                    break;
                }
            }
        }
        mantissa = digits;
        n = snprintf(out, sizeof out, "%se%d", mantissa, exponent);
        put(w, place, out, (size_t)n);
        return;
    }
    n = snprintf(out, sizeof out, "%.*f", precision - 1 - exponent > 0 ? precision - 1 - exponent : 0, x);
    if (!strchr(out, '.')) {
        put(w, place, out, (size_t)n);
        put(w, place, ".0", 2);
        return;
    }
    while (out[n - 1] == '0' && out[n - 2] != '.')
        n--;
    put(w, place, out, (size_t)n);
}

static void put_duration(struct coir_walk *w, uint64_t *place, int64_t ns)
{
    static const struct { int64_t ns; const char *unit; } units[] = {
        { INT64_C(3600000000000), "h" }, { INT64_C(60000000000), "m" }, { INT64_C(1000000000), "s" },
        { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" },
    };
    char out[40];

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns % units[i].ns == 0 && (ns || units[i].unit[0] == 's')) {
            put(w, place, out, (size_t)snprintf(out, sizeof out, "%" PRId64 "%s", ns / units[i].ns, units[i].unit));
            return;
        }
    }
}

/* The bytes of a well-formed character of UTF-8 that is no control character; 0: it is none. */
static size_t character(const unsigned char *p, size_t left)
{
    const size_t n = *p < 0x80                 ? 1
                   : *p >= 0xc2 && *p < 0xe0    ? 2
                   : (*p & 0xf0) == 0xe0        ? 3
                   : *p >= 0xf0 && *p < 0xf5    ? 4
                                                : 0;

    if (!n || n > left || (n == 1 && (*p < 0x20 || *p == 0x7f)))
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90)
        || (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static void put_byte(struct coir_walk *w, uint64_t *place, unsigned char byte)
{
    char out[8];

    switch (byte) {
    case '\n':
        put(w, place, "\\n", 2);
        return;
    case '\r':
        put(w, place, "\\r", 2);
        return;
    case '\t':
        put(w, place, "\\t", 2);
        return;
    case 0:
        put(w, place, "\\0", 2);
        return;
    default:
        put(w, place, out, (size_t)snprintf(out, sizeof out, "\\x%02x", byte));
    }
}

/* A slice of it; `*at` is how far it has come. True: to its end. */
static bool put_quoted(struct coir_walk *w, uint64_t *place, const struct coir_text *t, uint64_t *at)
{
    const unsigned char *p = (const unsigned char *)t->bytes;
    size_t i = *at, clean = i;
    const size_t stop = t->len - i > 4096 ? i + 4096 : t->len;

    if (!i)
        put(w, place, "\"", 1);
    while (i < stop) {
        const size_t n = character(p + i, t->len - i);
        const bool plain = n && p[i] != '"' && p[i] != '\\' && !(p[i] == '$' && i + 1 < t->len && p[i + 1] == '{');

        if (plain) {
            i += n;
            continue;
        }
        put(w, place, t->bytes + clean, i - clean);
        if (n) {
            put(w, place, "\\", 1);
            put(w, place, t->bytes + i, 1);
        } else {
            put_byte(w, place, p[i]);
        }
        clean = ++i;
    }
    put(w, place, t->bytes + clean, i - clean);
    *at = i;
    if (i < t->len)
        return false;
    put(w, place, "\"", 1);
    return true;
}

/* ---- what has parts ---- */

/* Written already: nothing more of this step but what closes it. */
static void close_step(struct coir_walk *w, uint64_t *place, const char *s)
{
    put_string(w, place, s);
    w->depth--;
}

static void write_list(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    const struct coir_list *l = coir_list_at(s->a[0]);
    const uint64_t at = s->at++;

    if (at >= l->len) {
        close_step(w, place, at ? "]" : "[]");
        return;
    }
    put_string(w, place, at ? ", " : "[");
    coir_walk_push(w, s->type->element, coir_list_slot(l, at, s->type->cell_slots), NULL);
}

static void write_map(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    const struct coir_map *m = coir_map_at(s->a[0]);
    const struct coir_type *t = s->type;

    if (s->b) {                              /* the value of the key that has just been written */
        const uint64_t *value = s->b;

        s->b = NULL;
        put_string(w, place, ": ");
        coir_walk_push(w, t->element, value, NULL);
        return;
    }
    const uint64_t *entry = coir_map_next(w->heap, m, &s->position);
    if (!entry) {
        close_step(w, place, s->at ? "]" : "[:]");
        return;
    }
    put_string(w, place, s->at++ ? ", " : "[");
    s->b = entry + t->key->slots;
    coir_walk_push(w, t->key, entry, NULL);
}

/* Fields in brackets; `named`: with their names. What has none writes `none`. */
static void write_fields(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place,
                         const struct coir_field *field, uint32_t n, const uint64_t *slots, const char *brackets[3],
                         bool named)
{
    const uint64_t at = s->at++;

    if (at >= n) {
        close_step(w, place, n ? brackets[1] : brackets[2]);
        return;
    }
    put_string(w, place, at ? ", " : brackets[0]);
    if (named) {
        put_string(w, place, field[at].name);
        put_string(w, place, ": ");
    }
    coir_walk_push(w, field[at].type, slots + field[at].slot, NULL);
}

static void write_tuple(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    static const char *brackets[3] = { "(", ")", "()" };

    write_fields(w, s, place, s->type->fields, s->type->nfields, s->a, brackets, false);
}

static void write_record(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    static const char *brackets[3] = { "{ ", " }", "{}" };

    if (!s->at)
        put_string(w, place, s->type->name);
    write_fields(w, s, place, s->type->fields, s->type->nfields, ((struct coir_box *)coir_ref(s->a[0]))->slots,
                 brackets, true);
}

static void write_sum(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    static const char *brackets[3] = { "(", ")", "" };
    const struct coir_box *box = (struct coir_box *)coir_ref(s->a[0]);
    const struct coir_variant *v = &s->type->variants[box->head.aux];

    if (!s->at)
        put_string(w, place, v->name);
    write_fields(w, s, place, v->fields, v->nfields, box->slots, brackets, false);
}

static void write_enum(struct coir_walk *w, const struct coir_type *t, uint64_t word, uint64_t *place)
{
    if (word < t->nvariants)
        put_string(w, place, t->variants[word].name);
    else
        put_string(w, place, "?");
}

static void write_optional(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place)
{
    const bool tagged = !coir_type_is_ref(s->type->element);

    if (!s->a[0]) {
        close_step(w, place, "nil");
        return;
    }
    *s = (struct coir_walk_step){ .type = s->type->element, .a = s->a + tagged };
}

static void write_text(struct coir_walk *w, struct coir_walk_step *s, uint64_t *place, bool bare)
{
    const struct coir_text *t = coir_text_at(s->a[0]);

    if (bare)
        put(w, place, t->bytes, t->len);
    else if (!put_quoted(w, place, t, &s->at))
        return;
    w->depth--;
}

static void write_scalar(struct coir_walk *w, const struct coir_type *t, uint64_t word, uint64_t *place)
{
    char out[256];
    double x;

    switch (t->kind) {
    case COIR_TYPE_INT:
        put(w, place, out, coir_int_digits((int64_t)word, out));
        return;
    case COIR_TYPE_FLOAT:
        memcpy(&x, &word, sizeof x);
        put_float(w, place, x);
        return;
    case COIR_TYPE_BOOL:
        put_string(w, place, word ? "true" : "false");
        return;
    case COIR_TYPE_DURATION:
        put_duration(w, place, (int64_t)word);
        return;
    case COIR_TYPE_UNIT:
        put_string(w, place, "()");
        return;
    case COIR_TYPE_ENUM:
        write_enum(w, t, word, place);
        return;
    default:
        coir_write_type(t, out, sizeof out);
        put_string(w, place, out);
    }
}

static void write_step(struct coir_walk *w, uint64_t *place, bool bare)
{
    struct coir_walk_step *s = &w->steps[w->depth - 1];
    const struct coir_type *t = s->type;

    if (t->slots == 1 && t->layout[0].ref && t->kind != COIR_TYPE_OPTIONAL && t->kind != COIR_TYPE_TUPLE && !s->a[0]) {
        close_step(w, place, "?");           /* it has been taken out */
        return;
    }
    switch (t->kind) {
    case COIR_TYPE_TEXT:
        write_text(w, s, place, bare);
        return;
    case COIR_TYPE_LIST:
        write_list(w, s, place);
        return;
    case COIR_TYPE_MAP:
        write_map(w, s, place);
        return;
    case COIR_TYPE_TUPLE:
        write_tuple(w, s, place);
        return;
    case COIR_TYPE_OPTIONAL:
        write_optional(w, s, place);
        return;
    case COIR_TYPE_RECORD:
        write_record(w, s, place);
        return;
    case COIR_TYPE_SUM:
        write_sum(w, s, place);
        return;
    default:
        write_scalar(w, t, t->slots ? s->a[0] : 0, place);
        w->depth--;
    }
}

enum coir_walked coir_walk_text(struct coir_walk *w, size_t most, bool literal, uint64_t *place)
{
    while (w->depth && most--) {
        write_step(w, place, w->depth == 1 && !literal);
        if (w->failed)
            return COIR_WALK_NO_MEMORY;
    }
    return w->depth ? COIR_WALK_MORE : COIR_WALK_DONE;
}
