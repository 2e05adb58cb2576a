/* SPDX-License-Identifier: MIT */
/*
 * Every counter and gauge as OpenMetrics 1.0, from the tables of counters.h.
 *
 * The shards are read first, and only then is anything printed: `to` may be slow, and the run is not held open for
 * that.
 */
#include <coir/see.h>
#include <inttypes.h>
#include <stdlib.h>

#include "runtime/see/counters.h"

const struct coir_metric coir_metric_table[] = {
#define STATS_ROW(name, kind, help) { #name, help, GROWS_##kind, offsetof(struct coir_snapshot, stats.name) },
#define GAUGE_ROW(name, kind, help) { #name, help, GROWS_##kind, offsetof(struct coir_snapshot, name) },
#define GROWS_counter true
#define GROWS_gauge false
    COIR_COUNTERS(STATS_ROW)
    COIR_GAUGES(GAUGE_ROW)
};
const unsigned coir_metric_count = sizeof coir_metric_table / sizeof *coir_metric_table;

/* What is printed, taken from a run. */
struct taken {
    unsigned n;
    const char *plane;
    int64_t start;                           /* of the run: ns since 1970 */
    struct coir_snapshot shard[];
};

static struct taken *take(const struct coir_runtime *run)
{
    struct taken *t = malloc(sizeof *t + run->n * sizeof *t->shard);

    if (!t)
        return NULL;
    t->n = run->n;
    t->plane = run->kind->name;
    t->start = run->start;
    for (unsigned i = 0; i < run->n; i++)
        coir_snapshot_take(run->shard[i], &t->shard[i]);
    return t;
}

static void print_head(FILE *to, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(to, "# TYPE coir_%s %s\n", name, type);
    if (unit)
        fprintf(to, "# UNIT coir_%s %s\n", name, unit);
    fprintf(to, "# HELP coir_%s %s.\n", name, help);
}

static void print_seconds(FILE *to, uint64_t ns)
{
    fprintf(to, "%" PRIu64 ".%09" PRIu64 "\n", ns / COIR_S, ns % COIR_S);
}

static void print_label(FILE *to, const char *name, const char *suffix, const struct taken *t, unsigned shard)
{
    fprintf(to, "coir_%s%s{shard=\"%u\",plane=\"%s\"} ", name, suffix, shard, t->plane);
}

static void print_metric(FILE *to, const struct coir_metric *m, const struct taken *t)
{
    print_head(to, m->name, m->grows ? "counter" : "gauge", NULL, m->help);
    for (unsigned i = 0; i < t->n; i++) {
        print_label(to, m->name, m->grows ? "_total" : "", t, i);
        fprintf(to, "%" PRIu64 "\n", coir_metric_value(m, &t->shard[i]));
    }
}

static int print(FILE *to, const struct taken *t)
{
    print_head(to, "runtime_info", "gauge", NULL, "The version of libcoir, as a label");
    fprintf(to, "coir_runtime_info{version=\"" COIR_VERSION "\"} 1\n");
    print_head(to, "start_time_seconds", "gauge", "seconds", "When the run began, since 1970");
    fprintf(to, "coir_start_time_seconds ");
    print_seconds(to, (uint64_t)t->start);
    print_head(to, "cpu_seconds", "counter", "seconds", "Time that the thread of the shard has run");
    for (unsigned i = 0; i < t->n; i++) {
        print_label(to, "cpu_seconds", "_total", t, i);
        print_seconds(to, t->shard[i].cpu);
    }
    for (unsigned i = 0; i < coir_metric_count; i++)
        print_metric(to, &coir_metric_table[i], t);
    fprintf(to, "# EOF\n");
    return fflush(to) == EOF || ferror(to) ? -EIO : 0;
}

static int print_and_free(FILE *to, struct taken *t)
{
    const int err = t ? print(to, t) : -ENOMEM;

    free(t);
    return err;
}

int coir_metrics_of(const struct coir_runtime *run, FILE *to)
{
    return print_and_free(to, take(run));
}

int coir_metrics(FILE *to)
{
    const bool foreign = !coir_shard_here();
    const struct coir_runtime *run = foreign ? coir_run_enter() : coir_shard_here()->run;
    struct taken *t;

    if (!run)
        return -EINVAL;
    t = take(run);
    if (foreign)
        coir_run_leave();
    return print_and_free(to, t);
}
