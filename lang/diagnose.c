/* SPDX-License-Identifier: MIT */
/*
 * Collecting reports: see lang/diagnose.h. Their texts lie in an arena. No report may be made of one that is already
 * there, and nothing here may fail in a way that its caller must look at: without memory a report is only counted.
 */
#include "lang/diagnose.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void coir_diagnostics_init(struct coir_diagnostics *d, struct coir_budget *m)
{
    *d = (struct coir_diagnostics){ .arena = { .memory = m }, .dropped = true };
}

void coir_diagnostics_free(struct coir_diagnostics *d)
{
    coir_budget_resize(d->arena.memory, d->list, d->room * sizeof *d->list, 0);
    coir_arena_free(&d->arena);
    coir_diagnostics_init(d, d->arena.memory);
}

static const char *formatted(struct coir_diagnostics *d, const char *format, va_list more)
{
    char text[1024];
    const int n = vsnprintf(text, sizeof text, format, more);

    return n < 0 ? NULL : coir_arena_copy(&d->arena, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/*
 * More than anybody reads, and few enough that looking through them for a report costs little. However many warnings
 * there are, some errors find room.
 */
enum { KEPT = 1000, KEPT_WARNINGS = KEPT - COIR_DIAGNOSTICS_SHOWN };

static bool is_known(const struct coir_diagnostics *d, enum coir_code code, const struct coir_source *source,
                     uint32_t start)
{
    for (uint32_t i = d->count; i-- > 0;)
        if (d->list[i].code == code && d->list[i].at.source == source && d->list[i].at.start == start)
            return true;
    return false;
}

void coir_diagnose(struct coir_diagnostics *d, enum coir_code code, const struct coir_source *source, uint32_t start,
                   uint32_t end, const char *format, ...)
{
    va_list more;

    d->dropped = true;
    if (d->count < KEPT && is_known(d, code, source, start))
        return;
    if (code < COIR_WARNINGS)
        d->errors++;
    else
        d->warnings++;
    if (d->count >= (code < COIR_WARNINGS ? KEPT : KEPT_WARNINGS)
        || !coir_budget_grow(d->arena.memory, &d->list, &d->room, d->count, sizeof *d->list))
        return;
    va_start(more, format);
    const char *const message = formatted(d, format, more);
    va_end(more);
    if (!message)
        return;
    d->list[d->count] = (struct coir_diagnostic){
        .code = code, .at = { source, start, end }, .message = message, .order = d->count,
    };
    d->count++;
    d->dropped = false;
}

void coir_diagnose_note(struct coir_diagnostics *d, const char *format, ...)
{
    va_list more;

    if (d->dropped)
        return;
    va_start(more, format);
    d->list[d->count - 1].note = formatted(d, format, more);
    va_end(more);
}

void coir_diagnose_see(struct coir_diagnostics *d, const struct coir_source *source, uint32_t start, uint32_t end,
                       const char *format, ...)
{
    va_list more;

    if (d->dropped)
        return;
    va_start(more, format);
    const char *const message = formatted(d, format, more);
    va_end(more);
    if (message) {
        d->list[d->count - 1].other = (struct coir_place){ source, start, end };
        d->list[d->count - 1].other_message = message;
    }
}

void coir_diagnose_memory(struct coir_diagnostics *d, const struct coir_source *source)
{
    d->starved = source;
    d->dropped = true;
}

static int compare(const void *left, const void *right)
{
    const struct coir_diagnostic *const a = left, *const b = right;
    const int paths = a->at.source == b->at.source ? 0 : strcmp(a->at.source->path, b->at.source->path);

    if (paths != 0)
        return paths;
    if (a->at.start != b->at.start)
        return a->at.start < b->at.start ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

void coir_diagnostics_sort(struct coir_diagnostics *d)
{
    if (d->count > 1)
        qsort(d->list, d->count, sizeof *d->list, compare);
    d->dropped = true;              /* the last of them is another now */
}

const char *coir_code_text(enum coir_code code, char to[8])
{
    const bool warns = code >= COIR_WARNINGS;

    snprintf(to, 8, "%c%u", warns ? 'W' : 'E', (unsigned)(code - (warns ? COIR_WARNINGS : 0)) % 100000);
    return to;
}

const char *coir_code_title(enum coir_code code)
{
    switch (code) {
#define COIR_ERROR(number, name, title) case COIR_E_##name: return title;
#define COIR_WARNING(number, name, title) case COIR_W_##name: return title;
#include "lang/errors.h"
#undef COIR_ERROR
#undef COIR_WARNING
    }
    return NULL;
}
