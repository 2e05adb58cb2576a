/* SPDX-License-Identifier: MIT */
/*
 * Natives of numbers: Int, Float, Duration, and the module math. Nothing here waits, and only what says so traps.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm/native.h"
#include "vm/natives/standard.h"

static double to_double(uint64_t slot)
{
    double d;

    memcpy(&d, &slot, sizeof d);
    return d;
}

static uint64_t of_double(double d)
{
    uint64_t slot;

    memcpy(&slot, &d, sizeof slot);
    return slot;
}

static enum coir_native_result give_text(struct coir_fiber *f, uint64_t *r, const char *bytes, size_t len)
{
    struct coir_text *const t = coir_text_of(f->heap, bytes, len);

    if (!t)
        return coir_trap_memory(f);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

/* An optional of one word: its tag and the word. */
static enum coir_native_result give_optional(uint64_t *r, bool some, uint64_t word)
{
    r[0] = some;
    r[1] = some ? word : 0;
    return COIR_NATIVE_DONE;
}

/* ---- Int ---- */

static enum coir_native_result int_to_float(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = of_double((double)(int64_t)r[0]);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result int_abs(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    if ((int64_t)r[0] < 0)
        r[0] = 0 - r[0];
    return COIR_NATIVE_DONE;
}

static enum coir_native_result int_hex(struct coir_fiber *f, uint64_t *r)
{
    char text[24];
    const int n = snprintf(text, sizeof text, "%" PRIx64, r[0]);

    return give_text(f, r, text, (size_t)n);
}

/* A sign, if there is one, and digits, up to the first byte that is neither. */
struct digits {
    uint64_t value;
    size_t end;
    bool minus;
    bool fine;                              /* there is a digit, and the value fits */
};

static struct digits read_digits(const struct coir_text *t)
{
    struct digits d = { .minus = t->len && t->bytes[0] == '-' };
    const size_t first = t->len && (d.minus || t->bytes[0] == '+');

    d.fine = true;
    for (d.end = first; d.end < t->len; d.end++) {
        const unsigned digit = (unsigned char)t->bytes[d.end] - '0';

        if (digit > 9)
            break;
        d.fine = d.fine && !__builtin_mul_overflow(d.value, 10, &d.value)
            && !__builtin_add_overflow(d.value, digit, &d.value);
    }
    d.fine = d.fine && d.end > first;
    return d;
}

/* With its sign: false if that does not fit. */
static bool sign(struct digits *d)
{
    const bool fits = d->value <= (uint64_t)INT64_MAX + d->minus;

    if (d->minus)
        d->value = 0 - d->value;
    return fits;
}

static enum coir_native_result int_parse(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct digits d = read_digits(t);
    const bool fine = d.fine && d.end == t->len && sign(&d);

    (void)f;
    return give_optional(r, fine, d.value);
}

/* ---- Float ---- */

static enum coir_native_result float_to_int(struct coir_fiber *f, uint64_t *r)
{
    const double d = to_double(r[0]);

    if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0))
        return coir_trap(f, COIR_TRAP_BOUNDS, isnan(d) ? "nan is no Int" : "%g is no Int", d);
    r[0] = (uint64_t)(int64_t)d;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result float_abs(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = of_double(fabs(to_double(r[0])));
    return COIR_NATIVE_DONE;
}

enum { DIGITS_MOST = 100, WHOLE_MOST = 310 };        /* of the largest Float: 309 digits and a sign */

static enum coir_native_result float_fixed(struct coir_fiber *f, uint64_t *r)
{
    const double d = to_double(r[0]);
    char text[WHOLE_MOST + DIGITS_MOST + 8];
    int n;

    if (r[1] > DIGITS_MOST)
        return coir_trap(f, COIR_TRAP_BOUNDS, "%" PRId64 " digits: 0 to %d can be written", (int64_t)r[1],
                         DIGITS_MOST);
    n = isnan(d) ? snprintf(text, sizeof text, "nan") : snprintf(text, sizeof text, "%.*f", (int)r[1], d);
    return give_text(f, r, text, (size_t)n);
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

/* Whether each point has a digit on both sides, as in a program. */
static bool points_are_inside(const struct coir_text *t)
{
    for (size_t i = 0; i < t->len; i++)
        if (t->bytes[i] == '.' && (i == 0 || i + 1 == t->len || t->bytes[i - 1] < '0' || t->bytes[i - 1] > '9'
                                   || t->bytes[i + 1] < '0' || t->bytes[i + 1] > '9'))
            return false;
    return true;
}

/* As a literal is written, a sign before it; inf and nan. The text ends in a NUL for strtod. */
static enum coir_native_result float_parse(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t sign = t->len && (t->bytes[0] == '-' || t->bytes[0] == '+');
    char text[512], *end;
    bool fine = t->len > sign && t->len < sizeof text;
    double d;

    (void)f;
    if (!fine)
        return give_optional(r, false, 0);
    memcpy(text, t->bytes, t->len);
    text[t->len] = '\0';
    if (strcmp(text + sign, "inf") && strcmp(text, "nan"))
        for (size_t i = 0; i < t->len; i++)
            fine = fine && is_number_char(text[i]);
    d = strtod(text, &end);
    return give_optional(r, fine && points_are_inside(t) && end == text + t->len, of_double(d));
}

/* ---- Duration ---- */

/* As in a program: digits and a unit, nothing between. */
static enum coir_native_result duration_parse(struct coir_fiber *f, uint64_t *r)
{
    static const struct { const char *name; uint64_t ns; } units[] = {
        { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 },
        { "h", 3600000000000 },
    };
    const struct coir_text *const t = coir_text_at(r[0]);
    struct digits d = read_digits(t);
    bool fine = false;

    (void)f;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == t->len - d.end && !memcmp(units[i].name, t->bytes + d.end, t->len - d.end))
            fine = d.fine && !__builtin_mul_overflow(d.value, units[i].ns, &d.value) && sign(&d);
    return give_optional(r, fine, d.value);
}

static enum coir_native_result duration_to_seconds(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = of_double((double)(int64_t)r[0] / 1e9);
    return COIR_NATIVE_DONE;
}

/* ---- math ---- */

#define MATH1(name, call) \
    static enum coir_native_result math_##name(struct coir_fiber *f, uint64_t *r) \
    { \
        (void)f; \
        r[0] = of_double(call(to_double(r[0]))); \
        return COIR_NATIVE_DONE; \
    }
#define MATH2(name, call) \
    static enum coir_native_result math_##name(struct coir_fiber *f, uint64_t *r) \
    { \
        (void)f; \
        r[0] = of_double(call(to_double(r[0]), to_double(r[1]))); \
        return COIR_NATIVE_DONE; \
    }
MATH1(floor, floor) MATH1(ceil, ceil) MATH1(trunc, trunc) MATH1(round, round)
MATH1(sqrt, sqrt) MATH1(exp, exp) MATH1(log, log) MATH1(log2, log2) MATH1(log10, log10)
MATH1(sin, sin) MATH1(cos, cos) MATH1(tan, tan) MATH1(asin, asin) MATH1(acos, acos) MATH1(atan, atan)
MATH2(atan2, atan2) MATH2(pow, pow) MATH2(hypot, hypot)

static enum coir_native_result math_is_nan(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = isnan(to_double(r[0])) != 0;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result math_is_finite(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = isfinite(to_double(r[0])) != 0;
    return COIR_NATIVE_DONE;
}

#define ROW1(name) { "math." #name, "fn " #name "(x: Float) -> Float", math_##name }
#define ROW2(name) { "math." #name, "fn " #name "(x: Float, y: Float) -> Float", math_##name }

static const struct coir_native natives[] = {
    { "Int.to_float", "fn to_float(self: Int) -> Float", int_to_float },
    { "Int.abs", "fn abs(self: Int) -> Int", int_abs },
    { "Int.hex", "fn hex(self: Int) -> Text", int_hex },
    { "Int.parse", "fn parse(t: Text) -> Int?", int_parse },
    { "Float.to_int", "fn to_int(self: Float) -> Int", float_to_int },
    { "Float.abs", "fn abs(self: Float) -> Float", float_abs },
    { "Float.fixed", "fn fixed(self: Float, n: Int) -> Text", float_fixed },
    { "Float.parse", "fn parse(t: Text) -> Float?", float_parse },
    { "Duration.parse", "fn parse(t: Text) -> Duration?", duration_parse },
    { "Duration.to_seconds", "fn to_seconds(self: Duration) -> Float", duration_to_seconds },
    ROW1(floor), ROW1(ceil), ROW1(trunc), ROW1(round), ROW1(sqrt), ROW1(exp), ROW1(log), ROW1(log2), ROW1(log10),
    ROW1(sin), ROW1(cos), ROW1(tan), ROW1(asin), ROW1(acos), ROW1(atan), ROW2(atan2), ROW2(pow), ROW2(hypot),
    { "math.is_nan", "fn is_nan(x: Float) -> Bool", math_is_nan },
    { "math.is_finite", "fn is_finite(x: Float) -> Bool", math_is_finite },
};
const struct coir_natives coir_number_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
