/* SPDX-License-Identifier: MIT */
/*
 * Natives of time: clocks, sleeping, and dates in UTC. The clock that only goes on is libcoir's, so that virtual time
 * is the program's time as well.
 */
#include <coir/coir.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "vm/natives/standard.h"

static enum coir_native_result time_now(struct coir_fiber *f, uint64_t *r)
{
    struct timespec now;

    (void)f;
    clock_gettime(CLOCK_REALTIME, &now);
    r[0] = (uint64_t)(now.tv_sec * COIR_S + now.tv_nsec);
    return COIR_NATIVE_DONE;
}

static enum coir_native_result time_monotonic(struct coir_fiber *f, uint64_t *r)
{
    (void)f;
    r[0] = (uint64_t)coir_now();
    return COIR_NATIVE_DONE;
}

/* ---- sleeping ---- */

struct sleep {
    struct coir_sleep_until op;
    int64_t until;
};

static enum coir_native_result time_sleep(struct coir_fiber *f, uint64_t *r)
{
    const int64_t d = (int64_t)r[0];
    struct sleep *s;
    int status;

    if (d <= 0) {
        if (f->step)
            return COIR_NATIVE_DONE;
        f->step = 1;
        return COIR_NATIVE_MORE;
    }
    s = coir_scratch(f, sizeof *s, NULL);
    if (!s)
        return coir_trap_memory(f);
    if (f->step == 0 && __builtin_add_overflow(coir_now(), d, &s->until))
        s->until = INT64_MAX;
    status = f->step ? coir_status(&s->op) : -ECANCELED;
    if (f->step == 0 || (status == -ECANCELED && coir_fiber_waits_again(f)))
        return coir_wait_for(f, &s->op, coir_sleep_until, .at = s->until);
    return status < 0 ? coir_trap_status(f, status, NULL) : COIR_NATIVE_DONE;
}

/* ---- dates ---- */

/* What `%c` writes of a time, into `to`, which has 24 bytes; its length, 0: there is no such `%`. */
static size_t write_field(char c, const struct tm *t, int64_t us, char *to)
{
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const size_t room = 24;
    int n = 0;

    switch (c) {
    case 'Y': n = snprintf(to, room, "%04d", t->tm_year + 1900); break;
    case 'm': n = snprintf(to, room, "%02d", t->tm_mon + 1); break;
    case 'd': n = snprintf(to, room, "%02d", t->tm_mday); break;
    case 'H': n = snprintf(to, room, "%02d", t->tm_hour); break;
    case 'M': n = snprintf(to, room, "%02d", t->tm_min); break;
    case 'S': n = snprintf(to, room, "%02d", t->tm_sec); break;
    case 'j': n = snprintf(to, room, "%03d", t->tm_yday + 1); break;
    case 'a': n = snprintf(to, room, "%.3s", days + t->tm_wday * 3); break;
    case 'b': n = snprintf(to, room, "%.3s", months + t->tm_mon * 3); break;
    case 'f': n = snprintf(to, room, "%06" PRId64, us); break;
    case '%': n = snprintf(to, room, "%%"); break;
    }
    return (size_t)n;
}

static enum coir_native_result time_format(struct coir_fiber *f, uint64_t *r)
{
    const struct coir_text *const pattern = coir_text_at(r[1]);
    const int64_t at = (int64_t)r[0], ns = (at % COIR_S + COIR_S) % COIR_S;
    const time_t seconds = at / COIR_S - (at % COIR_S < 0);
    struct coir_text *const made = coir_text_new(f->heap, 0);
    uint64_t place = coir_slot_of(made);
    struct tm t;
    char field[24];
    bool room = made != NULL;

    gmtime_r(&seconds, &t);
    for (size_t i = 0; room && i < pattern->len; i++) {
        size_t n;

        if (pattern->bytes[i] != '%') {
            room = coir_text_append(f->heap, &place, pattern->bytes + i, 1);
            continue;
        }
        n = ++i < pattern->len ? write_field(pattern->bytes[i], &t, ns / COIR_US, field) : 0;
        if (n == 0) {
            coir_drop(f->heap, coir_ref(place));
            return coir_trap(f, COIR_TRAP_EXPLICIT, "time.format knows no %%%.*s", i < pattern->len,
                             pattern->bytes + i);
        }
        room = coir_text_append(f->heap, &place, field, n);
    }
    if (!room) {
        if (place)
            coir_drop(f->heap, coir_ref(place));
        return coir_trap_memory(f);
    }
    coir_charge(f, pattern->len);
    r[0] = place;
    return COIR_NATIVE_DONE;
}

static const struct coir_native natives[] = {
    { "time.now", "fn now() -> Duration", time_now },
    { "time.monotonic", "fn monotonic() -> Duration", time_monotonic },
    { "time.sleep", "fn sleep(d: Duration)", time_sleep },
    { "time.format", "fn format(t: Duration, pattern: Text) -> Text", time_format },
};
const struct coir_natives coir_time_natives = { natives, sizeof natives / sizeof *natives, NULL, 0 };
