/* SPDX-License-Identifier: MIT */
/*
 * From answers to figures. Members that are missing count as 0, so that older and newer programs can be looked at; an
 * answer without shards is none.
 */
#include "cli/top_model.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4096 };              /* more than any window has */

static struct json_object *member(const struct json_object *o, const char *name)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(o, name, &value);
    return value;
}

int64_t top_number(const struct json_object *o, const char *name)
{
    return json_object_get_int64(member(o, name));
}

static const char *string_or_null(const struct json_object *o, const char *name)
{
    struct json_object *value = member(o, name);

    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

const char *top_string(const struct json_object *o, const char *name)
{
    const char *s = string_or_null(o, name);

    return s ? s : "";
}

/* The array of that name, or NULL. */
static const struct json_object *array(const struct json_object *o, const char *name)
{
    const struct json_object *value = member(o, name);

    return json_object_is_type(value, json_type_array) ? value : NULL;
}

/* ---- shards ---- */

static double rate(const struct json_object *before, const struct json_object *now, const char *name, double seconds)
{
    const int64_t grown = top_number(now, name) - (before ? top_number(before, name) : 0);

    return grown > 0 && seconds > 0 ? (double)grown / seconds : 0;
}

static void read_shard(struct top_shard *s, const struct json_object *before, const struct json_object *now,
                       double seconds)
{
    s->id = top_number(now, "shard");
    s->load = rate(before, now, "cpu_ns", seconds) / 1e9;
#define RATE(name) s->name = rate(before, now, #name, seconds);
    TOP_RATES(RATE)
#undef RATE
    s->live = top_number(now, "live");
    s->in_flight = top_number(now, "in_flight");
    s->queue_high = top_number(now, "queue_high");
    s->timers = top_number(now, "timers");
    s->slow_steps = member(now, "slow_steps") ? top_number(now, "slow_steps") : -1;
}

static void add_shard(struct top_shard *all, const struct top_shard *s)
{
    all->load += s->load;
#define RATE(name) all->name += s->name;
    TOP_RATES(RATE)
#undef RATE
    all->live += s->live;
    all->in_flight += s->in_flight;
    all->timers += s->timers;
    if (s->queue_high > all->queue_high)
        all->queue_high = s->queue_high;
    if (s->slow_steps >= 0)
        all->slow_steps = (all->slow_steps < 0 ? 0 : all->slow_steps) + s->slow_steps;
}

/* The same run, at another time. */
static bool is_before(const struct json_object *before, const struct json_object *now)
{
    return before && top_number(before, "pid") == top_number(now, "pid")
        && top_number(before, "start_ns") == top_number(now, "start_ns")
        && top_number(before, "now_ns") < top_number(now, "now_ns");
}

bool top_is_stats(const struct json_object *answer)
{
    const struct json_object *shards = array(answer, "shards");

    return shards && json_object_array_length(shards) > 0;
}

int top_model_stats(struct top_model *m, struct json_object *stats)
{
    const struct json_object *now = array(stats, "shards"), *then;
    const size_t n = now ? json_object_array_length(now) : 0;
    struct top_shard *shard = n ? calloc(n, sizeof *shard) : NULL;
    const bool goes_on = is_before(m->stats, stats);

    if (!shard) {
        json_object_put(stats);
        return n ? -ENOMEM : -EBADMSG;
    }
    json_object_put(m->before);
    m->before = m->stats;
    m->stats = stats;
    m->since_start = !goes_on;
    m->seconds = (double)(goes_on ? top_number(stats, "now_ns") - top_number(m->before, "now_ns")
                                  : top_number(stats, "up_ns")) / 1e9;
    then = goes_on ? array(m->before, "shards") : NULL;
    free(m->shard);
    m->shard = shard;
    m->shards = n;
    m->all = (struct top_shard){ .id = -1, .slow_steps = -1 };
    for (size_t i = 0; i < n; i++) {
        const bool had = then && i < json_object_array_length(then);
        read_shard(&shard[i], had ? json_object_array_get_idx(then, i) : NULL, json_object_array_get_idx(now, i),
                   m->seconds);
        add_shard(&m->all, &shard[i]);
    }
    return 0;
}

/* ---- tasks ---- */

static void read_row(struct top_row *row, const struct json_object *o)
{
    const struct json_object *at = member(o, "at");

    row->count = top_number(o, "count");
    row->task = string_or_null(o, "task");
    row->file = string_or_null(o, "file");
    row->line = top_number(o, "line");
    row->at_task = string_or_null(at, "task");
    row->at_file = string_or_null(at, "file");
    row->at_line = top_number(at, "line");
    row->waits = string_or_null(o, "waits");
    row->places = 1;
}

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool spawned_alike(const struct top_row *a, const struct top_row *b)
{
    return a->line == b->line && same(a->task, b->task) && same(a->file, b->file);
}

static bool alike(const struct top_row *a, const struct top_row *b)
{
    return spawned_alike(a, b) && a->at_line == b->at_line && same(a->at_task, b->at_task)
        && same(a->at_file, b->at_file) && same(a->waits, b->waits);
}

/* Adds a row to those that it is like, or to the end. Of several places the one with the most tasks is kept; `most` is
 * how many that are. */
static void put(struct top_row *rows, int64_t *most, size_t *n, const struct top_row *row,
                bool (*is_like)(const struct top_row *, const struct top_row *))
{
    size_t i = 0;

    while (i < *n && !is_like(&rows[i], row))
        i++;
    if (i == *n) {
        rows[(*n)++] = *row;
        most[i] = row->count;
        return;
    }
    const int64_t count = rows[i].count + row->count;
    const size_t places = rows[i].places + 1;
    if (row->count > most[i]) {
        rows[i] = *row;
        most[i] = row->count;
    }
    rows[i].count = count;
    rows[i].places = places;
}

int top_model_tasks(struct top_model *m, struct json_object *tasks)
{
    const struct json_object *rows = array(tasks, "rows");
    const size_t all = rows ? json_object_array_length(rows) : 0, n = all < MOST_ROWS ? all : MOST_ROWS;
    struct top_row *row = calloc(n + 1, sizeof *row), *place = calloc(n + 1, sizeof *place);
    int64_t *most = calloc(n + 1, sizeof *most);
    size_t folded = 0, unfolded = 0;

    if (!rows || !row || !place || !most) {
        free(row);
        free(place);
        free(most);
        json_object_put(tasks);
        return rows ? -ENOMEM : -EBADMSG;
    }
    for (size_t i = 0; i < n; i++) {
        struct top_row one;
        read_row(&one, json_object_array_get_idx(rows, i));
        put(place, most, &unfolded, &one, alike);
    }
    for (size_t i = 0; i < unfolded; i++)
        place[i].places = 1;
    for (size_t i = 0; i < unfolded; i++)
        put(row, most, &folded, &place[i], spawned_alike);
    free(most);
    free(m->row);
    free(m->place);
    json_object_put(m->tasks);
    m->tasks = tasks;
    m->row = row;
    m->rows = folded;
    m->place = place;
    m->places = unfolded;
    return 0;
}

/* ---- the whole ---- */

void top_model_free(struct top_model *m)
{
    json_object_put(m->stats);
    json_object_put(m->before);
    json_object_put(m->tasks);
    free(m->shard);
    free(m->row);
    free(m->place);
    memset(m, 0, sizeof *m);
}

static struct json_object *rates_of(const struct top_shard *s)
{
    struct json_object *o = json_object_new_object();

    json_object_object_add(o, "shard", json_object_new_int64(s->id));
    json_object_object_add(o, "load", json_object_new_double(s->load));
#define RATE(name) json_object_object_add(o, #name, json_object_new_double(s->name));
    TOP_RATES(RATE)
#undef RATE
    return o;
}

struct json_object *top_model_json(const struct top_model *m)
{
    struct json_object *o = json_object_new_object(), *rates = json_object_new_array();

    json_object_object_add(o, "stats", json_object_get(m->stats));
    json_object_object_add(o, "tasks", json_object_get(m->tasks));
    json_object_object_add(o, "seconds", json_object_new_double(m->seconds));
    json_object_object_add(o, "since_start", json_object_new_boolean(m->since_start));
    for (size_t i = 0; i < m->shards; i++)
        json_object_array_add(rates, rates_of(&m->shard[i]));
    json_object_object_add(o, "rates", rates);
    return o;
}
