/* SPDX-License-Identifier: MIT */
/*
 * The verbs of the command: one a file, each with its own arguments and its own help, in the one table of main.c.
 */
#ifndef COIR_CLI_VERB_H
#define COIR_CLI_VERB_H

#include <stdbool.h>
#include <stdio.h>

struct verb {
    const char *name;
    const char *summary;                /* one line, for `coir --help` */
    /* With argv[0] the verb itself. The exit status: 0, 1 for a failure, 2 for arguments that make no sense; the last
     * two after a line on stderr that begins with "coir: ". */
    int (*run)(int argc, char **argv);
    void (*help)(FILE *to);
};

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

extern const struct verb cli_build, cli_check, cli_dis, cli_run, cli_test, cli_top, cli_volume;

/* printf to standard output. That it does not take it main says, and why, which stdio forgets. */
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes out what has been printed so far. False: standard output does not take it, and main says so: the verb ends. */
bool cli_flush(void);

/* Says on stderr what makes no sense, printf style, and where help is. EXIT_USAGE. */
int cli_misused(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
