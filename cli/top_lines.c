/* SPDX-License-Identifier: MIT */
/*
 * The tables of `coir top`. Names come from the other program: what they hold is made printable where it is shown.
 */
#include "cli/top_lines.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void top_add(struct top_lines *l, enum top_style style, const char *format, ...)
{
    char *text;
    va_list ap;
    int n;

    if (l->n == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        struct top_line *line = realloc(l->line, room * sizeof *line);
        if (!line)
            return;
        l->line = line;
        l->room = room;
    }
    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    if (n >= 0)
        l->line[l->n++] = (struct top_line){ style, text };
}

void top_lines_free(struct top_lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i].text);
    free(l->line);
    *l = (struct top_lines){ 0 };
}

/* ---- numbers ---- */

struct figure { char text[16]; };

/* In at most five characters: 0, 999, 1.23k, 12.3k, 123k, 1.23M. */
static struct figure short_of(double value)
{
    static const char units[] = " kMGTPE";
    struct figure f;
    size_t unit = 0;

    for (; value >= 999.5 && unit + 2 < sizeof units; unit++)
        value /= 1000;
    if (unit == 0)
        snprintf(f.text, sizeof f.text, "%.0f", value);
    else
        snprintf(f.text, sizeof f.text, "%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
    return f;
}

#define SHORT(value) short_of((double)(value)).text

static struct figure slow_of(int64_t steps)
{
    return steps < 0 ? (struct figure){ "-" } : short_of((double)steps);
}

/* ---- the head ---- */

static void add_title(struct top_lines *l, const struct top_model *m)
{
    const int64_t up = top_number(m->stats, "up_ns") / 1000000000;

    top_add(l, TOP_TITLE, "%s (%" PRId64 ")  up %" PRId64 ":%02d:%02d  %s  %zu %s  %" PRId64 " tasks  load %.2f",
            top_string(m->stats, "program"), top_number(m->stats, "pid"), up / 3600, (int)(up / 60 % 60),
            (int)(up % 60), top_string(m->stats, "plane"), m->shards, m->shards == 1 ? "shard" : "shards",
            m->all.live, m->all.load);
}

static void add_shard(struct top_lines *l, const char *name, const struct top_shard *s)
{
    top_add(l, TOP_PLAIN, "%5s %5.1f%% %7s %7s %7s %7s %7s %7s %5s %5s %5s", name, 100 * s->load, SHORT(s->steps),
            SHORT(s->completions), SHORT(s->syscalls), SHORT(s->messages), SHORT(s->allocations), SHORT(s->live),
            SHORT(s->in_flight), SHORT(s->queue_high), slow_of(s->slow_steps).text);
}

/* Whether a shard is among the `n` busiest; of equal ones the first. */
static bool is_busy(const struct top_model *m, size_t shard, size_t n)
{
    size_t busier = 0;

    for (size_t i = 0; i < m->shards; i++)
        busier += m->shard[i].load > m->shard[shard].load || (m->shard[i].load == m->shard[shard].load && i < shard);
    return busier < n;
}

static void add_shards(struct top_lines *l, const struct top_model *m, size_t n)
{
    char name[24];

    top_add(l, TOP_HEADING, "shard   load steps/s compl/s   sys/s  msgs/s alloc/s   tasks in-fl queue  slow");
    if (m->shards > 1)
        add_shard(l, "all", &m->all);
    for (size_t i = 0; i < m->shards; i++) {
        if (!is_busy(m, i, n))
            continue;
        snprintf(name, sizeof name, "%" PRId64, m->shard[i].id);
        add_shard(l, name, &m->shard[i]);
    }
    if (n < m->shards)
        top_add(l, TOP_PLAIN, "  ... and %zu more, less busy", m->shards - n);
}

static const struct json_object *member(const struct json_object *o, const char *name)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(o, name, &value);
    return value;
}

static void add_silence(struct top_lines *l, const struct json_object *shard)
{
    const char *stuck = top_string(shard, "stuck");

    if (json_object_get_boolean(member(shard, "answered")))
        return;
    top_add(l, TOP_ALARM, "shard %" PRId64 " has not answered for %.1f s%s%s", top_number(shard, "shard"),
            (double)top_number(shard, "silent_ns") / 1e9, *stuck ? ": stuck in " : "", stuck);
}

void top_add_head(struct top_lines *l, const struct top_model *m, const struct top_look *look)
{
    const struct json_object *shards = m->tasks ? member(m->tasks, "shards") : NULL;
    const bool is_array = json_object_is_type(shards, json_type_array);

    add_title(l, m);
    add_shards(l, m, look->shards);
    for (size_t i = 0; is_array && i < json_object_array_length(shards); i++)
        add_silence(l, json_object_array_get_idx(shards, i));
}

/* ---- the tasks ---- */

struct cells {
    char *spawned, *stands;
    const char *waits;
};

/* Without the way from the build folder to the source. */
static const char *shorter(const char *file)
{
    while (!strncmp(file, "../", 3))
        file += 3;
    return file;
}

static char *site(const char *task, const char *file, int64_t line, const char *more)
{
    char *text;

    return asprintf(&text, "%s %s:%" PRId64 "%s", task ? task : "?", file ? shorter(file) : "?", line, more) < 0 ? NULL
        : text;
}

static struct cells cells_of(const struct top_row *row)
{
    char more[32] = "";
    struct cells c;

    if (row->places > 1)
        snprintf(more, sizeof more, " +%zu", row->places - 1);
    c.spawned = row->task ? site(row->task, row->file, row->line, "") : strdup("(for another shard)");
    c.stands = row->at_task ? site(row->at_task, row->at_file, row->at_line, more) : strdup("-");
    c.waits = row->waits ? row->waits : row->at_task ? "(ready)" : "(begins)";
    return c;
}

/* Fits a place into so many columns: first without its folders, then with less of the task's name, which stands first,
 * then cut. */
static void fit(char *text, size_t width)
{
    char *const gap = strchr(text, ' '), *slash;
    size_t len = strlen(text);

    if (len <= width || !gap)
        return;
    slash = strrchr(gap, '/');
    if (slash) {
        memmove(gap + 1, slash + 1, strlen(slash + 1) + 1);
        len = strlen(text);
    }
    const size_t name = (size_t)(gap - text), rest = len - name;
    if (len > width && width > rest + 4) {
        const size_t keep = width - rest - 1;        /* and a mark that something is missing */
        text[keep] = '~';
        memmove(text + keep + 1, gap, rest + 1);
        len = width;
    }
    if (len > width)
        text[width] = '\0';
}

static int compare_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : (b != NULL) - (a != NULL);
}

static int compare(const void *a, const void *b, void *arg)
{
    const struct top_look *look = arg;
    const struct top_row *x = a, *y = b;
    int order = 0;

    if (look->order == TOP_BY_TASK)
        order = compare_text(x->task, y->task);
    else if (look->order == TOP_BY_PLACE)
        order = compare_text(x->at_file, y->at_file) ? compare_text(x->at_file, y->at_file)
            : (x->at_line > y->at_line) - (x->at_line < y->at_line);
    else if (look->order == TOP_BY_WAIT)
        order = compare_text(x->waits, y->waits);
    if (order == 0)
        order = (x->count < y->count) - (x->count > y->count);
    if (order == 0)
        order = compare_text(x->file, y->file);
    if (order == 0)
        order = (x->line > y->line) - (x->line < y->line);
    if (order == 0)
        order = (x->at_line > y->at_line) - (x->at_line < y->at_line);
    return look->reversed ? -order : order;
}

enum { COUNT = 8, LEAST = 12 };

/* How wide the two columns of places may be: as the longest, or what the terminal has. */
static void measure(const struct cells *cell, size_t n, int columns, size_t *spawned, size_t *stands)
{
    size_t waits = strlen("waits for"), room;

    *spawned = strlen("spawned at");
    *stands = strlen("stands at");
    for (size_t i = 0; i < n; i++) {
        *spawned = strlen(cell[i].spawned) > *spawned ? strlen(cell[i].spawned) : *spawned;
        *stands = strlen(cell[i].stands) > *stands ? strlen(cell[i].stands) : *stands;
        waits = strlen(cell[i].waits) > waits ? strlen(cell[i].waits) : waits;
    }
    if (!columns)
        return;
    room = (size_t)columns > COUNT + 3 + waits + 2 * LEAST ? (size_t)columns - COUNT - 3 - waits : 2 * LEAST;
    if (*spawned + *stands <= room)
        return;
    if (*spawned < room / 2)
        *stands = room - *spawned;
    else if (*stands < room / 2)
        *spawned = room - *stands;
    else
        *spawned = *stands = room / 2;
}

static void add_rows(struct top_lines *l, const struct cells *cell, const struct top_row *row, size_t n, int columns)
{
    size_t spawned, stands;

    measure(cell, n, columns, &spawned, &stands);
    top_add(l, TOP_HEADING, "%*s %-*s %-*s %s", COUNT, "tasks", (int)spawned, "spawned at", (int)stands, "stands at",
            "waits for");
    for (size_t i = 0; i < n; i++) {
        fit(cell[i].spawned, spawned);
        fit(cell[i].stands, stands);
        top_add(l, TOP_PLAIN, "%*" PRId64 " %-*s %-*s %s", COUNT, row[i].count, (int)spawned, cell[i].spawned,
                (int)stands, cell[i].stands, cell[i].waits);
    }
}

void top_add_tasks(struct top_lines *l, const struct top_model *m, const struct top_look *look)
{
    const size_t n = look->unfolded ? m->places : m->rows;
    struct top_row *row = calloc(n + 1, sizeof *row);
    struct cells *cell = calloc(n + 1, sizeof *cell);
    bool all = row && cell;
    int64_t other;

    if (all && n)
        memcpy(row, look->unfolded ? m->place : m->row, n * sizeof *row);
    if (all)
        qsort_r(row, n, sizeof *row, compare, (void *)(uintptr_t)look);
    for (size_t i = 0; all && i < n; i++) {
        cell[i] = cells_of(&row[i]);
        all = cell[i].spawned && cell[i].stands;
    }
    if (all)
        add_rows(l, cell, row, n, look->columns);
    for (size_t i = 0; cell && i < n; i++) {
        free(cell[i].spawned);
        free(cell[i].stands);
    }
    free(cell);
    free(row);
    other = m->tasks ? top_number(m->tasks, "other") : 0;
    if (other)
        top_add(l, TOP_PLAIN, "%*" PRId64 " of other kinds", COUNT, other);
}
