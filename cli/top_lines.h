/* SPDX-License-Identifier: MIT */
/*
 * What is shown of a program, as lines of text: for a terminal, which may be narrow and low, and for a file.
 */
#ifndef COIR_CLI_TOP_LINES_H
#define COIR_CLI_TOP_LINES_H

#include "cli/top_model.h"

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADING, TOP_ALARM };

struct top_line {
    enum top_style style;
    char *text;
};

struct top_lines {
    struct top_line *line;
    size_t n, room;
};

enum top_order { TOP_BY_COUNT, TOP_BY_TASK, TOP_BY_PLACE, TOP_BY_WAIT };

struct top_look {
    enum top_order order;
    bool reversed;
    bool unfolded;                      /* a row for each place, not for each line that spawned */
    int columns;                        /* of the terminal; 0: as wide as need be */
    size_t shards;                      /* shown by themselves; the busiest, if there are more */
};

/* Adds a line, printf style. One that there is no memory for is left out. */
void top_add(struct top_lines *l, enum top_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What stands at the top: the program, its shards, and those that are stuck. */
void top_add_head(struct top_lines *l, const struct top_model *m, const struct top_look *look);
/* The table of tasks; its first line is the heading. */
void top_add_tasks(struct top_lines *l, const struct top_model *m, const struct top_look *look);

void top_lines_free(struct top_lines *l);

#endif
