/* SPDX-License-Identifier: MIT */
/*
 * Natives of texts that look at bytes one by one: parts, letters, code points. Nothing here waits; what takes long for
 * a long text is paid for by its length.
 */
#include <inttypes.h>

#include "vm/natives/standard.h"
#include "vm/natives/utf8.h"

enum { BYTES_A_STEP = 32 };

static enum coir_native_result give(struct coir_fiber *f, uint64_t *r, struct coir_text *t)
{
    if (!t)
        return coir_trap_memory(f);
    coir_charge(f, t->len / BYTES_A_STEP);
    r[0] = coir_slot_of(t);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result give_part(struct coir_fiber *f, uint64_t *r, const struct coir_text *t, size_t a,
                                         size_t b)
{
    return give(f, r, coir_text_of(f->heap, t->bytes + a, b - a));
}

/* ---- parts ---- */

static enum coir_native_result text_len(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = coir_text_at(r[0])->len;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_byte(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);

    if (r[1] >= t->len)
        return coir_trap_index(f, (int64_t)r[1], t->len);
    r[0] = (unsigned char)t->bytes[r[1]];
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_get(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const bool there = r[1] < t->len;
    const uint64_t byte = there ? (unsigned char)t->bytes[r[1]] : 0;

    (void)f;
    r[0] = there;
    r[1] = byte;
    return COIR_NATIVE_DONE;
}

/* t[a..b], or with `b` included. */
static enum coir_native_result part(struct coir_fiber *f, uint64_t *r, bool inclusive)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const int64_t a = (int64_t)r[1], b = (int64_t)r[2];
    size_t from, to;

    if (!coir_part_of(a, b, inclusive, t->len, &from, &to))
        return coir_trap_part(f, a, b, inclusive, t->len);
    return give_part(f, r, t, from, to);
}

static enum coir_native_result text_part(struct coir_fiber *f, uint64_t *r)
{
    return part(f, r, false);
}

static enum coir_native_result text_part_to(struct coir_fiber *f, uint64_t *r)
{
    return part(f, r, true);
}

static enum coir_native_result text_slice(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t a = coir_clamp((int64_t)r[1], t->len), b = coir_clamp((int64_t)r[2], t->len);

    return give_part(f, r, t, a, a < b ? b : a);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static enum coir_native_result text_trim(struct coir_fiber *f, uint64_t *r)
{
    struct coir_text *const t = coir_text_at(r[0]);
    size_t a = 0, b = t->len;

    while (a < b && is_blank(t->bytes[a]))
        a++;
    while (b > a && is_blank(t->bytes[b - 1]))
        b--;
    if (b - a == t->len) {
        coir_hold(&t->head);
        return COIR_NATIVE_DONE;
    }
    return give_part(f, r, t, a, b);
}

/* ---- letters ---- */

static enum coir_native_result change_case(struct coir_fiber *f, uint64_t *r, char first, char last)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct coir_text *const to = coir_text_new(f->heap, t->len);

    for (size_t i = 0; to && i < t->len; i++) {
        const char c = t->bytes[i];

        to->bytes[i] = c >= first && c <= last ? (char)(c ^ 0x20) : c;
    }
    return give(f, r, to);
}

static enum coir_native_result text_upper(struct coir_fiber *f, uint64_t *r)
{
    return change_case(f, r, 'a', 'z');
}

static enum coir_native_result text_lower(struct coir_fiber *f, uint64_t *r)
{
    return change_case(f, r, 'A', 'Z');
}

static enum coir_native_result text_repeat(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t n = (int64_t)r[1] > 0 ? r[1] : 0;
    struct coir_text *to;
    size_t size;

    if (__builtin_mul_overflow(t->len, n, &size) || size > SIZE_MAX / 4)
        return coir_trap_memory(f);
    to = coir_text_new(f->heap, size);
    for (size_t at = 0; to && at < size; at += t->len)
        memcpy(to->bytes + at, t->bytes, t->len);
    return give(f, r, to);
}

static enum coir_native_result pad(struct coir_fiber *f, uint64_t *r, bool left)
{
    struct coir_text *const t = coir_text_at(r[0]), *to;
    const size_t have = coir_utf8_count(t->bytes, t->len);
    const size_t more = (int64_t)r[1] > 0 && r[1] > have ? r[1] - have : 0;

    if (more == 0) {
        coir_hold(&t->head);
        return COIR_NATIVE_DONE;
    }
    if (more > SIZE_MAX / 4)
        return coir_trap_memory(f);
    to = coir_text_new(f->heap, t->len + more);
    if (to) {
        memset(to->bytes + (left ? 0 : t->len), ' ', more);
        memcpy(to->bytes + (left ? more : 0), t->bytes, t->len);
    }
    return give(f, r, to);
}

static enum coir_native_result text_pad_left(struct coir_fiber *f, uint64_t *r)
{
    return pad(f, r, true);
}

static enum coir_native_result text_pad_right(struct coir_fiber *f, uint64_t *r)
{
    return pad(f, r, false);
}

/* ---- bytes and code points ---- */

static enum coir_native_result give_list(struct coir_fiber *f, uint64_t *r, struct coir_list *l)
{
    coir_charge(f, l->len / 4);
    r[0] = coir_slot_of(l);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_bytes(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct coir_list *const l = coir_list_new(f->heap, coir_result_type(f), t->len);

    if (!l)
        return coir_trap_memory(f);
    for (size_t i = 0; i < t->len; i++)
        l->data[i] = (unsigned char)t->bytes[i];
    l->len = t->len;
    return give_list(f, r, l);
}

static enum coir_native_result text_codes(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct coir_list *const l = coir_list_new(f->heap, coir_result_type(f), coir_utf8_count(t->bytes, t->len));
    uint32_t code;

    if (!l)
        return coir_trap_memory(f);
    for (size_t i = 0; i < t->len; l->len++) {
        i += coir_utf8_read(t->bytes + i, t->len - i, &code);
        l->data[l->len] = code;
    }
    return give_list(f, r, l);
}

/* A text each; what there is goes when there is no memory for the next. */
static enum coir_native_result text_chars(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct coir_list *const l = coir_list_new(f->heap, coir_result_type(f), coir_utf8_count(t->bytes, t->len));
    uint32_t code;

    if (!l)
        return coir_trap_memory(f);
    for (size_t i = 0, n; i < t->len; i += n) {
        struct coir_text *c;

        n = coir_utf8_read(t->bytes + i, t->len - i, &code);
        c = coir_text_of(f->heap, t->bytes + i, n);
        if (!c) {
            coir_drop(f->heap, &l->head);
            return coir_trap_memory(f);
        }
        l->data[l->len++] = coir_slot_of(c);
    }
    return give_list(f, r, l);
}

static enum coir_native_result text_is_utf8(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    bool all = true;
    uint32_t code;

    for (size_t i = 0; i < t->len && all;) {
        i += coir_utf8_read(t->bytes + i, t->len - i, &code);
        all = code != COIR_NOT_UTF8 || (i >= 3 && !memcmp(t->bytes + i - 3, "\xef\xbf\xbd", 3));
    }
    coir_charge(f, t->len / BYTES_A_STEP);
    r[0] = all;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result from_bytes(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    struct coir_text *t;

    for (size_t i = 0; i < l->len; i++)
        if (l->data[i] > 255)
            return coir_trap(f, COIR_TRAP_BOUNDS, "%" PRId64 " is no byte: 0 to 255 are", (int64_t)l->data[i]);
    t = coir_text_new(f->heap, l->len);
    for (size_t i = 0; t && i < l->len; i++)
        t->bytes[i] = (char)l->data[i];
    return give(f, r, t);
}

static enum coir_native_result from_codes(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    struct coir_text *t;
    size_t size = 0;

    for (size_t i = 0; i < l->len; i++) {
        if (l->data[i] > 0x10ffff || (l->data[i] >= 0xd800 && l->data[i] <= 0xdfff))
            return coir_trap(f, COIR_TRAP_BOUNDS, "%" PRId64 " is no code point", (int64_t)l->data[i]);
        size += coir_utf8_size((uint32_t)l->data[i]);
    }
    t = coir_text_new(f->heap, size);
    size = 0;
    for (size_t i = 0; t && i < l->len; i++)
        size += coir_utf8_write((uint32_t)l->data[i], t->bytes + size);
    return give(f, r, t);
}

static const struct coir_native natives[] = {
    { "Text.len", "fn len(self: Text) -> Int", text_len },
    { "Text.byte", "fn byte(self: Text, i: Int) -> Int", text_byte },
    { "Text.get", "fn get(self: Text, i: Int) -> Int?", text_get },
    { "Text.part", "fn part(self: Text, a: Int, b: Int) -> Text", text_part },
    { "Text.part_to", "fn part_to(self: Text, a: Int, b: Int) -> Text", text_part_to },
    { "Text.slice", "fn slice(self: Text, a: Int, b: Int) -> Text", text_slice },
    { "Text.trim", "fn trim(self: Text) -> Text", text_trim },
    { "Text.upper", "fn upper(self: Text) -> Text", text_upper },
    { "Text.lower", "fn lower(self: Text) -> Text", text_lower },
    { "Text.repeat", "fn repeat(self: Text, n: Int) -> Text", text_repeat },
    { "Text.pad_left", "fn pad_left(self: Text, n: Int) -> Text", text_pad_left },
    { "Text.pad_right", "fn pad_right(self: Text, n: Int) -> Text", text_pad_right },
    { "Text.bytes", "fn bytes(self: Text) -> List[Int]", text_bytes },
    { "Text.chars", "fn chars(self: Text) -> List[Text]", text_chars },
    { "Text.codes", "fn codes(self: Text) -> List[Int]", text_codes },
    { "Text.is_utf8", "fn is_utf8(self: Text) -> Bool", text_is_utf8 },
    { "text.from_bytes", "fn from_bytes(bytes: List[Int]) -> Text", from_bytes },
    { "text.from_codes", "fn from_codes(codes: List[Int]) -> Text", from_codes },
};
const struct coir_natives coir_text_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
