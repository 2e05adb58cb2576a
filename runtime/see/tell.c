/* SPDX-License-Identifier: MIT */
/*
 * One record after the other as events of a trace. It may take all the time it likes, but no more memory than it has.
 */
#include "runtime/see/tell.h"

#include <errno.h>
#include <unistd.h>

#include "runtime/see/json.h"

enum { LONGEST = 200 };                 /* bytes of a string that are told; escaped they may be six times as many */

bool coir_teller_init(struct coir_teller *t)
{
    coir_teller_free(t);
    memset(t, 0, sizeof *t);
    t->pid = (int)getpid();
    t->text = coir_text_in(t->room, sizeof t->room);
    return coir_pairs_init(&t->operations) && coir_pairs_init(&t->wakes) && coir_pairs_init(&t->letters);
}

void coir_teller_free(struct coir_teller *t)
{
    if (!t)
        return;
    free(t->operations.slot);
    free(t->wakes.slot);
    free(t->letters.slot);
}

/* ---- JSON ---- */

static void put(struct coir_teller *t, const char *s)
{
    while (*s)
        coir_text_char(&t->text, *s++);
}

static void put_number(struct coir_teller *t, const char *before, int64_t n)
{
    put(t, before);
    coir_text_signed(&t->text, n);
}

static void put_escaped(struct coir_teller *t, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";

    if (c == '"' || c == '\\') {
        coir_text_char(&t->text, '\\');
        coir_text_char(&t->text, (char)c);
        return;
    }
    put(t, "\\u00");
    coir_text_char(&t->text, hex[c >> 4]);
    coir_text_char(&t->text, hex[c & 15]);
}

/* What stands between the quotes of a string. */
static void put_inside(struct coir_teller *t, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    for (unsigned n, done = 0; *s && done < LONGEST; s += n, done += n) {
        n = 1;
        if (*s >= ' ' && *s < 0x7f && *s != '"' && *s != '\\') {
            coir_text_char(&t->text, (char)*s);
        } else if (*s <= 0x7f) {
            put_escaped(t, *s);
        } else if ((n = coir_json_utf8(s))) {
            for (unsigned i = 0; i < n; i++)
                coir_text_char(&t->text, (char)s[i]);
        } else {
            put(t, "\xef\xbf\xbd");
            n = 1;
        }
    }
}

static void put_string(struct coir_teller *t, const char *before, const char *s)
{
    put(t, before);
    coir_text_char(&t->text, '"');
    put_inside(t, s);
    coir_text_char(&t->text, '"');
}

/* ,"at":"file.c:12" */
static void put_place(struct coir_teller *t, const char *before, const struct coir_site *site)
{
    put(t, before);
    if (!site) {
        put(t, "\"-\"");
        return;
    }
    coir_text_char(&t->text, '"');
    put_inside(t, site->file);
    coir_text_char(&t->text, ':');
    coir_text_unsigned(&t->text, site->line);
    coir_text_char(&t->text, '"');
}

static void put_task(struct coir_teller *t, const char *before, uint32_t number)
{
    put(t, before);
    put(t, "\"#");
    coir_text_unsigned(&t->text, number);
    coir_text_char(&t->text, '"');
}

/* ---- events ---- */

/* {"ph":"B","pid":1,"tid":1,"ts":0.001 - and the caller goes on. Tracks are numbered from 1. */
static void begin(struct coir_teller *t, const char *phase, unsigned shard, int64_t at)
{
    const int64_t ns = at > t->origin ? at - t->origin : 0;

    if (ns > t->last)
        t->last = ns;
    put(t, t->any ? ",\n{\"ph\":\"" : "[\n{\"ph\":\"");
    t->any = true;
    put(t, phase);
    put_number(t, "\",\"pid\":", t->pid);
    put_number(t, ",\"tid\":", (int64_t)shard + 1);
    put_number(t, ",\"ts\":", ns / 1000);
    coir_text_char(&t->text, '.');
    coir_text_padded(&t->text, (uint64_t)ns % 1000, 3, '0');
}

static const char *name_of(const struct coir_site *site)
{
    return site ? site->task : "a task";
}

static void end_open(struct coir_teller *t, unsigned shard, int64_t at)
{
    struct coir_lane *lane = &t->lane[shard];

    if (lane->step || lane->asleep) {
        begin(t, "E", shard, at);
        put(t, "}");
    }
    lane->step = lane->asleep = false;
}

static void tell_name(struct coir_teller *t, unsigned shard)
{
    begin(t, "M", shard, t->origin);
    put_number(t, ",\"name\":\"thread_name\",\"args\":{\"name\":\"shard ", shard);
    put(t, "\"}}");
    begin(t, "M", shard, t->origin);
    put_number(t, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", shard);
    put(t, "}}");
    t->lane[shard].named = true;
}

void coir_tell_run(struct coir_teller *t, int64_t began, bool virtual_time)
{
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++)
        t->lane[i] = (struct coir_lane){ .named = t->lane[i].named };
    coir_pairs_clear(&t->operations);
    coir_pairs_clear(&t->wakes);
    coir_pairs_clear(&t->letters);
    t->crowded = false;
    /* The next run of a process goes on where the last one ended: at once, under virtual time, which is the run's. */
    if (virtual_time || t->run == 0 || began - t->origin < t->last)
        t->origin = began - t->last;
    if (t->run == 0) {
        begin(t, "M", 0, began);
        put_string(t, ",\"name\":\"process_name\",\"args\":{\"name\":", program_invocation_short_name);
        put(t, "}}");
    }
    t->run++;
    begin(t, "i", 0, began);
    put_number(t, ",\"s\":\"p\",\"cat\":\"run\",\"name\":\"run begins\",\"args\":{\"run\":", t->run);
    put_string(t, ",\"time\":", virtual_time ? "virtual" : "real");
    put(t, "}}");
}

uint64_t coir_teller_missing(const struct coir_teller *t)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++)
        missing += t->lane[i].missing;
    return missing;
}

void coir_tell_run_end(struct coir_teller *t)
{
    for (unsigned i = 0; i < COIR_MAX_SHARDS; i++)
        end_open(t, i, t->origin + t->last);
    begin(t, "i", 0, t->origin + t->last);
    put_number(t, ",\"s\":\"p\",\"cat\":\"run\",\"name\":\"run ends\",\"args\":{\"run\":", t->run);
    put_number(t, ",\"missing\":", (int64_t)coir_teller_missing(t));
    put(t, "}}");
}

void coir_tell_missing(struct coir_teller *t, unsigned shard, uint64_t n, int64_t at)
{
    t->lane[shard].missing += n;
    t->lane[shard].letter = 0;
    end_open(t, shard, at);
    coir_pairs_clear(&t->wakes);             /* what was put there may never be taken */
    coir_pairs_clear(&t->letters);
    begin(t, "i", shard, at);
    put_number(t, ",\"s\":\"t\",\"cat\":\"missing\",\"name\":\"missing\",\"args\":{\"events\":", (int64_t)n);
    put(t, "}}");
}

/* ---- tasks ---- */

static void put_task_id(struct coir_teller *t, unsigned shard, uint32_t number)
{
    put_number(t, ",\"cat\":\"task\",\"id\":\"t", t->run);
    put_number(t, ".", shard);
    put_number(t, ".", number);
    put(t, "\"");
}

static void tell_spawn(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    begin(t, "b", shard, r->at);
    put_task_id(t, shard, r->task);
    put_string(t, ",\"name\":", name_of(r->site));
    put_task(t, ",\"args\":{\"task\":", r->task);
    put_place(t, ",\"made at\":", r->site);
    if (r->value)
        put_task(t, ",\"by\":", (uint32_t)r->value);
    if (r->name)
        put_string(t, ",\"group of\":", r->name);
    put(t, "}}");
}

static void tell_end(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    begin(t, "e", shard, r->at);
    put_task_id(t, shard, r->task);
    put_string(t, ",\"name\":", name_of(r->site));
    put_number(t, ",\"args\":{\"status\":", r->value);
    put(t, "}}");
}

/* ---- steps, and what leads to them ---- */

static void tell_arrow(struct coir_teller *t, const char *phase, unsigned shard, int64_t at, uint64_t arrow)
{
    begin(t, phase, shard, at);
    put_number(t, ",\"cat\":\"wake\",\"name\":\"wake\",\"id\":", (int64_t)arrow);
    put(t, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

static void tell_step(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    uint64_t arrow;

    end_open(t, shard, r->at);
    t->lane[shard].step = true;
    begin(t, "B", shard, r->at);
    put_string(t, ",\"cat\":\"step\",\"name\":", name_of(r->site));
    put_task(t, ",\"args\":{\"task\":", r->task);
    put_place(t, ",\"at\":", r->site);
    put(t, "}}");
    arrow = coir_pairs_take(&t->wakes, r->object);
    if (arrow)
        tell_arrow(t, "f", shard, r->at, arrow);
}

static void tell_park(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    if (!t->lane[shard].step)
        return;
    t->lane[shard].step = false;
    begin(t, "E", shard, r->at);
    if (r->site)
        put_place(t, ",\"args\":{\"until\":", r->site);
    else
        put(t, ",\"args\":{\"until\":\"its end\"");
    put(t, "}}");
}

static void tell_ready(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    const struct coir_lane *lane = &t->lane[shard];
    uint64_t arrow = lane->letter;

    if (lane->step) {
        arrow = ++t->arrows;
        tell_arrow(t, "s", shard, r->at, arrow);
    }
    if (arrow)
        coir_pairs_set(&t->wakes, r->object, arrow);
}

static void tell_post(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    if (!t->lane[shard].step)
        return;
    tell_arrow(t, "s", shard, r->at, ++t->arrows);
    coir_pairs_set(&t->letters, r->object, t->arrows);
}

static void tell_letter(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    t->lane[shard].letter = coir_pairs_take(&t->letters, r->object);
    begin(t, "i", shard, r->at);
    put(t, ",\"s\":\"t\",\"cat\":\"letter\",\"name\":\"letter\"}");
}

static void tell_sleep(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    end_open(t, shard, r->at);
    t->lane[shard].asleep = true;
    begin(t, "B", shard, r->at);
    put(t, ",\"cat\":\"asleep\",\"name\":\"asleep\"}");
}

static void tell_awake(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    if (!t->lane[shard].asleep)
        return;
    t->lane[shard].asleep = false;
    begin(t, "E", shard, r->at);
    put(t, "}");
}

/* ---- operations ---- */

/* By its number; by its address where there was no room for that in the table. */
static void put_operation(struct coir_teller *t, const struct coir_record *r, uint64_t id)
{
    put(t, r->how ? ",\"cat\":\"wait\",\"id\":\"" : ",\"cat\":\"operation\",\"id\":\"");
    put(t, id == r->object ? "a" : "o");
    coir_text_unsigned(&t->text, id);
    put_string(t, "\",\"name\":", r->name);
}

static void tell_operation(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    uint64_t id = ++t->names;

    if (!coir_pairs_set(&t->operations, r->object, id)) {
        t->crowded = true;
        id = r->object;
    }
    begin(t, "b", shard, r->at);
    put_operation(t, r, id);
    put_task(t, ",\"args\":{\"task\":", r->task);
    put_place(t, ",\"at\":", r->site);
    if (r->value >= 0)
        put_number(t, ",\"fd\":", r->value);
    put(t, "}}");
}

static void tell_operation_end(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    uint64_t id = coir_pairs_take(&t->operations, r->object);

    if (!id && t->crowded)
        id = r->object;
    if (!id)                                 /* its beginning is missing */
        return;
    begin(t, "e", shard, r->at);
    put_operation(t, r, id);
    put_number(t, ",\"args\":{\"result\":", r->value);
    put(t, "}}");
}

/* ---- the rest ---- */

static void tell_cancel(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    static const char *const what[] = {
        [COIR_CANCELLED_GROUP] = "a group",
        [COIR_CANCELLED_AWAIT] = "an await",
        [COIR_CANCELLED_COMBINE] = "children",
        [COIR_CANCELLED_BY_DEADLINE] = "an await, by its deadline",
    };

    begin(t, "i", shard, r->at);
    put(t, ",\"s\":\"t\",\"cat\":\"cancel\",\"name\":\"cancel\",\"args\":{");
    put_string(t, "\"what\":", r->site ? what[r->how] : "everything detached");
    if (r->site) {
        put_string(t, ",\"of\":", r->site->task);
        put_place(t, ",\"at\":", r->site);
    }
    if (r->task)
        put_task(t, ",\"by\":", r->task);
    put(t, "}}");
}

static void tell_counts(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    begin(t, "C", shard, r->at);
    put_number(t, ",\"name\":\"shard ", shard);
    put_number(t, "\",\"args\":{\"ready\":", r->value);
    put_number(t, ",\"tasks\":", (int64_t)(r->object >> 32));
    put_number(t, ",\"operations\":", (int64_t)(r->object & UINT32_MAX));
    put(t, "}}");
}

void coir_tell(struct coir_teller *t, unsigned shard, const struct coir_record *r)
{
    static void (*const tell[])(struct coir_teller *, unsigned, const struct coir_record *) = {
        [COIR_RECORD_SPAWN] = tell_spawn,
        [COIR_RECORD_END] = tell_end,
        [COIR_RECORD_STEP] = tell_step,
        [COIR_RECORD_PARK] = tell_park,
        [COIR_RECORD_IO] = tell_operation,
        [COIR_RECORD_IO_END] = tell_operation_end,
        [COIR_RECORD_CANCEL] = tell_cancel,
        [COIR_RECORD_SLEEP] = tell_sleep,
        [COIR_RECORD_AWAKE] = tell_awake,
        [COIR_RECORD_POST] = tell_post,
        [COIR_RECORD_LETTER] = tell_letter,
        [COIR_RECORD_READY] = tell_ready,
        [COIR_RECORD_COUNTS] = tell_counts,
    };

    if (!t->lane[shard].named)
        tell_name(t, shard);
    if (r->what == COIR_RECORD_STEP || r->what == COIR_RECORD_COUNTS)
        t->lane[shard].letter = 0;           /* delivered */
    tell[r->what](t, shard, r);
}
