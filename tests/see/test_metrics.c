/* SPDX-License-Identifier: MIT */
/*
 * coir_metrics: every counter of every shard is there, once, with the value that coir_stats gives; what there is at
 * the moment is as it was made; and what it says where no program runs, on another thread, and to a full disk.
 * That the text is OpenMetrics is for a parser to say: tests/examples/metrics.
 */
#include <pthread.h>

#include "runtime/see/counters.h"
#include "task/help.h"

enum { SLEEPERS = 3, ENDED = 5 };

static char *text;
static size_t len;

static int write_text(void)
{
    FILE *to;
    int err;

    free(text);
    text = NULL;
    to = open_memstream(&text, &len);
    err = coir_metrics(to);
    fclose(to);
    return err;
}

/* How often a line begins so; *value is what the last one goes on with. */
static int count(const char *begin, uint64_t *value)
{
    int n = 0;

    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, begin, strlen(begin)) == 0) {
            *value = strtoull(line + strlen(begin), NULL, 10);
            n++;
        }
    }
    return n;
}

static void has(unsigned shard, const char *name, const char *suffix, uint64_t expected)
{
    char begin[128];
    uint64_t value = 0;

    snprintf(begin, sizeof begin, "coir_%s%s{shard=\"%u\",plane=\"%s\"} ", name, suffix, shard, coir_plane_name());
    EQ(count(begin, &value), 1, "shard %u: %s is there once", shard, name);
    EQ(value, expected, "shard %u: %s", shard, name);
}

static void has_described(const char *name, const char *kind)
{
    char begin[128];
    uint64_t none;

    snprintf(begin, sizeof begin, "# TYPE coir_%s %s\n", name, kind);
    EQ(count(begin, &none), 1, "%s is a %s", name, kind);
    snprintf(begin, sizeof begin, "# HELP coir_%s ", name);
    EQ(count(begin, &none), 1, "%s is explained", name);
}

struct nothing {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(nothing);

coir_body(nothing, f) {
} coir_end

struct sleeper {
    coir_frame_void;
    coir_no_args;
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = 1000 * COIR_S);
} coir_end

/* The text, and what the second shard counted then: it may be on its way to sleep still, so what counts is a text
 * between two looks that are the same. */
static int write_text_at_rest(struct coir_stats *second)
{
    struct coir_stats before;
    int err;

    do {
        coir_stats(1, &before);
        err = write_text();
        coir_stats(1, second);
    } while (memcmp(&before, second, sizeof before) != 0);
    return err;
}

static void check_counters(unsigned shard, const struct coir_stats *s)
{
#define KIND_counter "_total"
#define KIND_gauge ""
#define ROW(name, kind, help) has(shard, #name, KIND_##kind, s->name);
    COIR_COUNTERS(ROW)
#undef ROW
}

static void *other_thread(void *arg)
{
    *(int *)arg = write_text();
    return NULL;
}

static void check_elsewhere(void)
{
    FILE *full = fopen("/dev/full", "w");
    pthread_t thread;
    int err = 1;

    EQ(coir_metrics(full), -EIO, "a full disk");
    fclose(full);
    pthread_create(&thread, NULL, other_thread, &err);
    pthread_join(thread, NULL);
    EQ(err, 0, "on a thread that is no shard");
    OK(len > 6 && strcmp(text + len - 6, "# EOF\n") == 0, "it comes to its end there");
}

struct program {
    coir_frame_void;
    coir_no_args;
    struct coir_group group;
    struct coir_group_wait wait;
    struct coir_pass pass;
    struct coir_stats first, second;
    int i;
};
static coir_declare(program);

coir_body(program, f) {
    coir_group_open(f, &f->group);
    for (f->i = 0; f->i < SLEEPERS; f->i++)
        coir_spawn(&f->group, coir_new(sleeper));
    for (f->i = 0; f->i < ENDED; f->i++)
        coir_spawn(&f->group, coir_new(nothing));
    for (f->i = 0; f->i < 50; f->i++)           /* they have begun: also where the dice say who is next */
        coir_try(f, &f->pass, coir_pass);

    EQ(write_text_at_rest(&f->second), 0, "on a shard");
    coir_stats(0, &f->first);
    check_counters(0, &f->first);
    check_counters(1, &f->second);
    has(0, "tasks", "_total", 1 + SLEEPERS + ENDED);
    has(0, "ended", "_total", ENDED);
    has(0, "live", "", 1 + SLEEPERS);
    has(0, "timers", "", SLEEPERS);
    has(0, "blocks", "", SLEEPERS);                   /* the main task was made before the run */
    has(0, "asleep", "", 0);
    has(1, "live", "", 0);
#define ROW(name, kind, help) has_described(#name, #kind);
    COIR_COUNTERS(ROW)
    COIR_GAUGES(ROW)
    OK(strcmp(text + len - 6, "# EOF\n") == 0, "the end is marked");
    check_elsewhere();
    coir_finally(f) {
        coir_group_cancel(&f->group);
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

int main(void)
{
    EQ(write_text(), -EINVAL, "no program runs");
    EQ(len, 0, "and nothing is written");
    EQ(coir_run(&(struct coir_options){ .shards = 2 }, coir_new(program)), 0, "the program ends well");
    EQ(write_text(), -EINVAL, "it is over");
    free(text);
    return DONE();
}
