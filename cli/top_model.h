/* SPDX-License-Identifier: MIT */
/*
 * What is known of a program: its last answers, and the rates that two of them make. It knows no terminal.
 */
#ifndef COIR_CLI_TOP_MODEL_H
#define COIR_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/* What is counted per second. */
#define TOP_RATES(X) X(steps) X(completions) X(syscalls) X(messages) X(allocations)

struct top_shard {
    int64_t id;
    double load;                        /* of its thread: 1 is a whole processor */
#define TOP_MEMBER_(name) double name;
    TOP_RATES(TOP_MEMBER_)
#undef TOP_MEMBER_
    int64_t live, in_flight, queue_high, timers;
    int64_t slow_steps;                 /* -1: it does not tell */
};

/* Tasks that were spawned by one line; or those of them that stand at one line. The strings are the answer's. */
struct top_row {
    int64_t count;
    const char *task, *file;            /* NULL: it is a child of another shard's task */
    int64_t line;
    const char *at_task, *at_file;      /* NULL: nowhere yet */
    int64_t at_line;
    const char *waits;                  /* NULL: it runs, or is ready to */
    size_t places;                      /* that were put together in this row */
};

struct top_model {
    struct json_object *stats, *before, *tasks;      /* the last answers; `before`: the stats before those */
    double seconds;                     /* that the rates are over */
    bool since_start;                   /* they are over the whole run: there was only one answer */
    size_t shards;
    struct top_shard *shard, all;       /* all: their sum; queue_high the largest */
    size_t rows, places;
    struct top_row *row;                /* by the line that spawned */
    struct top_row *place;              /* each by itself */
};

/* Whether it is an answer to "stats". */
bool top_is_stats(const struct json_object *answer);

/* Both take the answer, and compute anew what follows from it. -EBADMSG: it is not what a window says, -ENOMEM; then
 * the model is as it was. */
int top_model_stats(struct top_model *m, struct json_object *stats);
int top_model_tasks(struct top_model *m, struct json_object *tasks);

void top_model_free(struct top_model *m);

/* A member of an answer; 0, or "", where there is none. */
int64_t top_number(const struct json_object *o, const char *name);
const char *top_string(const struct json_object *o, const char *name);

/* For --json: one object with the answers and the rates. The caller's. */
struct json_object *top_model_json(const struct top_model *m);

#endif
