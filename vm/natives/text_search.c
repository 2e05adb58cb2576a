/* SPDX-License-Identifier: MIT */
/*
 * Natives that look for one text in another, and what is made of the parts between: split, replace, join. Nothing here
 * waits; it is paid for by the bytes that are looked at or copied.
 */
#include "vm/natives/standard.h"
#include "vm/natives/utf8.h"

enum { BYTES_A_STEP = 32 };

static void pay(struct coir_fiber *f, size_t bytes)
{
    coir_charge(f, bytes / BYTES_A_STEP);
}

/* Where `part` is first, from `at` on; SIZE_MAX: nowhere. */
static size_t find(const struct coir_text *t, size_t at, const struct coir_text *part)
{
    const char *const found = memmem(t->bytes + at, t->len - at, part->bytes, part->len);

    return found ? (size_t)(found - t->bytes) : SIZE_MAX;
}

/* ---- looking ---- */

static enum coir_native_result text_contains(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);

    pay(f, t->len);
    r[0] = find(t, 0, coir_text_at(r[1])) != SIZE_MAX;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_index_of(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    const size_t at = find(t, 0, coir_text_at(r[1]));

    pay(f, t->len);
    r[0] = at != SIZE_MAX;
    r[1] = at != SIZE_MAX ? at : 0;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_starts_with(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]), *const part = coir_text_at(r[1]);

    (void)f;
    r[0] = part->len <= t->len && !memcmp(t->bytes, part->bytes, part->len);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_ends_with(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const t = coir_text_at(r[0]), *const part = coir_text_at(r[1]);

    (void)f;
    r[0] = part->len <= t->len && !memcmp(t->bytes + t->len - part->len, part->bytes, part->len);
    return COIR_NATIVE_DONE;
}

/* ---- taking apart ---- */

/* Another text at the end of the list. False: no memory. */
static bool add(struct coir_fiber *f, uint64_t *list, const char *bytes, size_t len)
{
    struct coir_text *const t = coir_text_of(f->heap, bytes, len);

    if (!t)
        return false;
    if (!coir_list_own(f->heap, list, 1)) {
        coir_drop(f->heap, &t->head);
        return false;
    }
    coir_list_at(*list)->data[coir_list_at(*list)->len++] = coir_slot_of(t);
    return true;
}

static bool split_chars(struct coir_fiber *f, uint64_t *list, const struct coir_text *t)
{
    uint32_t code;

    for (size_t i = 0, n; i < t->len; i += n) {
        n = coir_utf8_read(t->bytes + i, t->len - i, &code);
        if (!add(f, list, t->bytes + i, n))
            return false;
    }
    return true;
}

static bool split_at(struct coir_fiber *f, uint64_t *list, const struct coir_text *t, const struct coir_text *sep)
{
    size_t at = 0, next;

    if (sep->len == 0)
        return split_chars(f, list, t);
    for (; (next = find(t, at, sep)) != SIZE_MAX; at = next + sep->len)
        if (!add(f, list, t->bytes + at, next - at))
            return false;
    return add(f, list, t->bytes + at, t->len - at);
}

static bool split_lines(struct coir_fiber *f, uint64_t *list, const struct coir_text *t)
{
    for (size_t at = 0; at < t->len;) {
        const char *const end = memchr(t->bytes + at, '\n', t->len - at);
        const size_t stop = end ? (size_t)(end - t->bytes) : t->len;
        const bool cr = end && stop > at && t->bytes[stop - 1] == '\r';

        if (!add(f, list, t->bytes + at, stop - at - cr))
            return false;
        at = stop + 1;
    }
    return true;
}

static enum coir_native_result give_parts(struct coir_fiber *f, uint64_t *r, bool lines)
{
    const struct coir_text *const t = coir_text_at(r[0]);
    struct coir_list *const made = coir_list_new(f->heap, coir_result_type(f), 0);
    uint64_t list = coir_slot_of(made);

    if (!made)
        return coir_trap_memory(f);
    if (!(lines ? split_lines(f, &list, t) : split_at(f, &list, t, coir_text_at(r[1])))) {
        coir_drop(f->heap, coir_ref(list));
        return coir_trap_memory(f);
    }
    pay(f, t->len + coir_list_at(list)->len * BYTES_A_STEP);
    r[0] = list;
    return COIR_NATIVE_DONE;
}

static enum coir_native_result text_split(struct coir_fiber *f, uint64_t *r)
{
    return give_parts(f, r, false);
}

static enum coir_native_result text_lines(struct coir_fiber *f, uint64_t *r)
{
    return give_parts(f, r, true);
}

/* ---- putting together ---- */

/* The size of what t is when every `old` has become `new`; how many there are. False: too large for any memory. */
static bool replaced_size(const struct coir_text *t, const struct coir_text *old, const struct coir_text *new,
                          size_t *size, size_t *n)
{
    size_t more;

    *n = 0;
    for (size_t at = 0; old->len && (at = find(t, at, old)) != SIZE_MAX; at += old->len)
        ++*n;
    *size = t->len - *n * old->len;
    return !__builtin_mul_overflow(*n, new->len, &more) && !__builtin_add_overflow(*size, more, size)
        && *size < SIZE_MAX / 4;
}

static enum coir_native_result text_replace(struct coir_fiber *f, uint64_t *r)
{
    struct coir_text *const t = coir_text_at(r[0]), *to;
    const struct coir_text *const old = coir_text_at(r[1]), *const new = coir_text_at(r[2]);
    size_t size, n, at = 0, next;
    char *end;

    if (!replaced_size(t, old, new, &size, &n))
        return coir_trap_memory(f);
    if (n == 0) {
        coir_hold(&t->head);
        pay(f, t->len);
        return COIR_NATIVE_DONE;
    }
    to = coir_text_new(f->heap, size);
    if (!to)
        return coir_trap_memory(f);
    for (end = to->bytes; n; n--) {
        next = find(t, at, old);
        end = (char *)mempcpy(end, t->bytes + at, next - at);
        end = (char *)mempcpy(end, new->bytes, new->len);
        at = next + old->len;
    }
    memcpy(end, t->bytes + at, t->len - at);
    pay(f, 2 * t->len + size);
    r[0] = coir_slot_of(to);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result list_join(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_list *const l = coir_list_at(r[0]);
    const struct coir_text *const sep = coir_text_at(r[1]);
    struct coir_text *to;
    size_t size = 0;
    char *end;

    for (size_t i = 0; i < l->len; i++)
        if (__builtin_add_overflow(size, coir_text_at(l->data[i])->len + (i ? sep->len : 0), &size)
            || size > SIZE_MAX / 4)
            return coir_trap_memory(f);
    to = coir_text_new(f->heap, size);
    if (!to)
        return coir_trap_memory(f);
    end = to->bytes;
    for (size_t i = 0; i < l->len; i++) {
        const struct coir_text *const t = coir_text_at(l->data[i]);

        if (i)
            end = (char *)mempcpy(end, sep->bytes, sep->len);
        end = (char *)mempcpy(end, t->bytes, t->len);
    }
    pay(f, size + l->len * BYTES_A_STEP / 4);
    r[0] = coir_slot_of(to);
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "Text.contains", "fn contains(self: Text, part: Text) -> Bool", text_contains },
    { "Text.index_of", "fn index_of(self: Text, part: Text) -> Int?", text_index_of },
    { "Text.starts_with", "fn starts_with(self: Text, part: Text) -> Bool", text_starts_with },
    { "Text.ends_with", "fn ends_with(self: Text, part: Text) -> Bool", text_ends_with },
    { "Text.split", "fn split(self: Text, sep: Text) -> List[Text]", text_split },
    { "Text.lines", "fn lines(self: Text) -> List[Text]", text_lines },
    { "Text.replace", "fn replace(self: Text, old: Text, new: Text) -> Text", text_replace },
    { "List.join", "fn join(self: List[Text], sep: Text) -> Text", list_join },
};
const struct coir_natives coir_text_search_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
