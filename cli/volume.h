/* SPDX-License-Identifier: MIT */
/*
 * The parts of `coir volume`: what its arguments say, and how answers are printed. Nothing here knows how a store
 * works: orders go to it in lines (serve/order.h).
 */
#ifndef COIR_CLI_VOLUME_H
#define COIR_CLI_VOLUME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { VOLUME_PATHS = 64, VOLUME_ADDRESSES = 16 };

/* What the arguments said. Strings are argv's. */
struct volume_arguments {
    const char *verb;
    const char *path[VOLUME_PATHS];     /* the store's file, of init all of them */
    unsigned n_paths;
    const char *name, *to;
    uint64_t size, block, journal;
    uint64_t shards;                    /* of the server; 0: one */
    bool has_size, force, json, read_only, quiet;
    const char *address[VOLUME_ADDRESSES];
    unsigned n_addresses;
    const char *moved[VOLUME_PATHS];
    unsigned moved_index[VOLUME_PATHS], n_moved;
};

/* 0, or the exit status after a line on stderr. -1: help was asked for, and printed. */
int volume_arguments(struct volume_arguments *a, int argc, char **argv);
void volume_help(FILE *to);

/* "20G" as bytes: K, M, G, T, P are powers of 1024. False: that is no size. */
bool volume_size(const char *text, uint64_t *bytes);

/* The order that the arguments make, with its newline, into `line` of COIR_ORDER_MAX bytes. False: it is too long, or a
 * name has a tab or a line's end. */
bool volume_order(const struct volume_arguments *a, char *line);

/* Prints one line of an answer for a person, or as it is; and remembers what the last line, with the status, says. */
struct volume_printer {
    const struct volume_arguments *arguments;
    unsigned rows;
    int status;                         /* 1: there was none yet */
    bool heard;                         /* an answer, or a part of it */
    char error[512];
};
void volume_print(struct volume_printer *p, const char *line);

/* Carries out the order: 0 or EXIT_FAILED, after a line on stderr. (volume_ask.c) */
int volume_ask(const struct volume_arguments *a);
int volume_init(const struct volume_arguments *a);
/* Serves the store until a signal ends it. (volume_serve.c) */
int volume_serve(const struct volume_arguments *a);

#endif
