/* SPDX-License-Identifier: MIT */
/*
 * What is wrong in sources: collected while the stages run, in any order, and printed once, sorted by place. Who
 * reports says once what went wrong at one place; who meets an error node in a tree says nothing, for it has been said.
 * Nothing here fails: without memory a report is counted, and its text is lost.
 *
 *     coir_diagnose(d, COIR_E_NAME, source, at, end, "`%.*s` is not known here", size, name);
 *     coir_diagnose_see(d, source, other, other_end, "it was moved here");
 *     coir_diagnose_note(d, "declare it with `let`");
 *
 * prints
 *
 *     echo.coir:3:9: error[E201]: `x` is not known here
 *       3 |     print(x)
 *         |           ^
 *     echo.coir:1:5: note: it was moved here
 *     note: declare it with `let`
 */
#ifndef COIR_LANG_DIAGNOSE_H
#define COIR_LANG_DIAGNOSE_H

#include <stdio.h>

#include "lang/source.h"

/* COIR_E_NAME for an error; COIR_W_NAME for a warning, whose values are numbers + COIR_WARNINGS. */
#define COIR_WARNINGS 10000
enum coir_code {
#define COIR_ERROR(number, name, title) COIR_E_##name = number,
#define COIR_WARNING(number, name, title) COIR_W_##name = COIR_WARNINGS + number,
#include "lang/errors.h"
#undef COIR_ERROR
#undef COIR_WARNING
};

/* How many are printed in full: the rest is "…and N more". */
#define COIR_DIAGNOSTICS_SHOWN 20

struct coir_place {
    const struct coir_source *source;
    uint32_t start, end;        /* bytes; end is behind the last; start == end is a place between two */
};

struct coir_diagnostic {
    enum coir_code code;
    struct coir_place at;
    const char *message;        /* without a full stop and without a line end */
    struct coir_place other;    /* a second place that has to do with it; source NULL if there is none */
    const char *other_message;
    const char *note;           /* what to do; NULL if nobody said */
    uint32_t order;             /* as it was reported, among those of one place */
};

/* Begins with coir_diagnostics_init. */
struct coir_diagnostics {
    struct coir_arena arena;
    struct coir_diagnostic *list;
    uint32_t count, room;
    uint32_t errors, warnings;  /* reported, also those whose text was lost */
    const struct coir_source *starved;  /* there was no memory for this one; NULL if there was for all */
    bool dropped;               /* the last report was not kept: what is added to it is not either */
};

void coir_diagnostics_init(struct coir_diagnostics *d, struct coir_budget *m);
void coir_diagnostics_free(struct coir_diagnostics *d);

/* Reports `code` at the bytes [start, end) of the source. The same code at the same place is reported once. */
__attribute__((format(printf, 6, 7)))
void coir_diagnose(struct coir_diagnostics *d, enum coir_code code, const struct coir_source *source, uint32_t start,
                   uint32_t end, const char *format, ...);

/* Adds to the last report what to do. */
__attribute__((format(printf, 2, 3)))
void coir_diagnose_note(struct coir_diagnostics *d, const char *format, ...);

/* Adds to the last report a second place, and what it has to do with it. */
__attribute__((format(printf, 5, 6)))
void coir_diagnose_see(struct coir_diagnostics *d, const struct coir_source *source, uint32_t start, uint32_t end,
                       const char *format, ...);

/* Reports that there was no memory for a source (E902); one of them is remembered. */
void coir_diagnose_memory(struct coir_diagnostics *d, const struct coir_source *source);

/* Sorts them: by path, then by place, then as they were reported. */
void coir_diagnostics_sort(struct coir_diagnostics *d);

/* Sorts and prints: errors and warnings as they stand in the source, the first COIR_DIAGNOSTICS_SHOWN of them. Bytes
 * that are not printable are escaped, long lines cut to a window around the place. */
void coir_diagnostics_print(struct coir_diagnostics *d, FILE *to);

/* "E101", "W201": into eight bytes. Value: `to`. */
const char *coir_code_text(enum coir_code code, char to[8]);

/* The title in lang/errors.h; NULL for what is no code. */
const char *coir_code_title(enum coir_code code);

#endif
