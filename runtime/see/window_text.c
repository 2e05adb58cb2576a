/* SPDX-License-Identifier: MIT */
/*
 * The answers of a window: what a run is and counts, and what its shards have told of their tasks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/see/counters.h"
#include "runtime/see/json.h"
#include "runtime/see/look.h"
#include "runtime/see/text.h"
#include "runtime/see/window.h"

/* ---- shards that say nothing ---- */

enum { LONG = 500 };                    /* bytes of what is said of a step */

/* Which step a shard is in, as far as that can be told from outside. False: in none. */
static bool look_into(const struct coir_shard *s, char step[LONG])
{
    struct coir_text text = coir_text_in(step, LONG - 1);
    char name[64];
    const bool found = coir_look_at_step(s, &text, name, sizeof name);

    *text.at = '\0';
    return found;
}

static int64_t silence_of(const struct coir_window *w, unsigned shard, int64_t now)
{
    return now - w->asked[shard]->since;
}

/* ---- stats ---- */

static void write_shard(FILE *to, const struct coir_shard *s)
{
    struct coir_snapshot now;

    coir_snapshot_take(s, &now);
    fprintf(to, "%s{\"shard\":%u,\"cpu_ns\":%" PRIu64, s->id ? "," : "", s->id, now.cpu);
    for (unsigned i = 0; i < coir_metric_count; i++) {
        const struct coir_metric *m = &coir_metric_table[i];
        fprintf(to, ",\"%s\":%" PRIu64, m->name, coir_metric_value(m, &now));
    }
    fputc('}', to);
}

void coir_window_write_stats(FILE *to, const struct coir_window *w)
{
    const struct coir_runtime *run = w->run;
    const int64_t now = coir_clock_monotonic();

    fputc('{', to);
    coir_json_member(to, "coir", COIR_VERSION);
    coir_json_member(to, "program", program_invocation_short_name);
    coir_json_member(to, "plane", run->kind->name);
    fprintf(to, "\"pid\":%d,\"up_ns\":%" PRId64 ",\"now_ns\":%" PRId64 ",\"start_ns\":%" PRId64 ",\"shards\":[",
            (int)getpid(), now - run->began, now, run->start);
    for (unsigned i = 0; i < run->n; i++)
        write_shard(to, run->shard[i]);
    fprintf(to, "]}\n");
}

/* ---- tasks ---- */

static void write_site(FILE *to, const struct coir_site *site)
{
    coir_json_member(to, "task", site->task);
    coir_json_member(to, "file", site->file);
    fprintf(to, "\"line\":%u", site->line);
}

static void write_row(FILE *to, const struct coir_census_row *row)
{
    static const struct coir_site nowhere = { NULL, NULL, 0 };

    fprintf(to, "{\"count\":%" PRIu64 ",", row->count);
    write_site(to, row->born ? row->born : &nowhere);
    fprintf(to, ",\"at\":");
    if (row->stands) {
        fputc('{', to);
        write_site(to, row->stands);
        fputc('}', to);
    } else {
        fprintf(to, "null");
    }
    fprintf(to, ",\"waits\":");
    coir_json_string(to, row->waits);
    fputc('}', to);
}

static int in_order(const void *a, const void *b)
{
    const struct coir_census_row *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    if (x->born != y->born)
        return !y->born || (x->born && x->born->line < y->born->line) ? -1 : 1;
    return x->stands && y->stands ? (x->stands->line > y->stands->line) - (x->stands->line < y->stands->line) : 0;
}

static void write_silence(FILE *to, const struct coir_window *w, unsigned shard, int64_t now)
{
    char step[LONG];

    fprintf(to, "\"answered\":false,\"silent_ns\":%" PRId64, silence_of(w, shard, now));
    if (look_into(w->run->shard[shard], step)) {
        fprintf(to, ",\"stuck\":");
        coir_json_string(to, step);
    }
}

void coir_window_write_tasks(FILE *to, struct coir_window *w, int64_t now)
{
    struct coir_census *sum = w->sum;

    coir_census_clear(sum);
    fprintf(to, "{\"shards\":[");
    for (unsigned i = 0; i < w->run->n; i++) {
        const struct coir_asked *a = coir_window_answer_of(w, i);
        fprintf(to, "%s{\"shard\":%u,", i ? "," : "", i);
        if (a) {
            coir_census_add(sum, &a->census);
            fprintf(to, "\"answered\":true,\"tasks\":%" PRIu64 ",\"took_ns\":%" PRId64, a->census.tasks, a->took);
        } else {
            write_silence(to, w, i, now);
        }
        fputc('}', to);
    }
    qsort(sum->row, sum->rows, sizeof *sum->row, in_order);
    fprintf(to, "],\"tasks\":%" PRIu64 ",\"other\":%" PRIu64 ",\"rows\":[", sum->tasks, sum->other);
    for (unsigned i = 0; i < sum->rows; i++) {
        fputs(i ? "," : "", to);
        write_row(to, &sum->row[i]);
    }
    fprintf(to, "]}\n");
}

/* ---- dump ---- */

void coir_window_write_dump(FILE *to, const struct coir_window *w, int64_t now)
{
    char step[LONG];

    for (unsigned i = 0; i < w->run->n; i++) {
        const struct coir_asked *a = coir_window_answer_of(w, i);
        if (!a) {
            const bool stuck = look_into(w->run->shard[i], step);
            fprintf(to, "shard %u has not answered for %.1f s%s%s\n", i, (double)silence_of(w, i, now) / 1e9,
                    stuck ? ": stuck in " : "", stuck ? step : "");
            continue;
        }
        fwrite(a->text, 1, a->len, to);
        if (a->len == a->room)
            fprintf(to, "\n... and more: shard %u is cut here\n", i);
    }
}
