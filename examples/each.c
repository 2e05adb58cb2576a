/* SPDX-License-Identifier: MIT */
/*
 * each - runs a command for each line of its standard input, some at a time, each in its time or not at all.
 *
 *     $ ls *.wav | each -n 2 -t 60 flac -s
 *
 * The line is the command's last argument. What a command says comes in one piece, so that lines of several never mix.
 * A group with a limit is the crowd, a scope with a deadline the patience; coir_process_run stops what is late.
 */
#include <coir/coir.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, SAYS = 256 * 1024, ARGS = 64 };

static struct {
    char *argv[ARGS + 2];           /* the command; its last argument is a line's */
    int argc;
    int64_t time;
} command;
static int failed;

struct one {
    coir_frame_void;
    coir_no_args;
    char line[LINE], said[SAYS], *argv[ARGS + 2];
    struct coir_scope scope;
    struct coir_process_run run;
};
static coir_declare(one);

static void report(const struct one *f)
{
    const struct coir_exit *exit = &f->run.result.exit;
    fwrite(f->said, 1, f->run.result.out_len, stdout);
    fflush(stdout);
    if (coir_status(&f->run) == 0 && exit->code == 0)
        return;
    failed++;
    if (coir_status(&f->run) < 0)
        fprintf(stderr, "each: %s: %s\n", f->line, coir_strerror(coir_status(&f->run)));
    else if (exit->signal)
        fprintf(stderr, "each: %s: ended by signal %d (%s)\n", f->line, exit->signal, strsignal(exit->signal));
    else
        fprintf(stderr, "each: %s: exit code %d\n", f->line, exit->code);
}

coir_body(one, f) {
    memcpy(f->argv, command.argv, sizeof f->argv);
    f->argv[command.argc] = f->line;
    coir_within(f, &f->scope, coir_now() + command.time, &f->run, coir_process_run, .argv = f->argv, .out = f->said,
                .out_len = sizeof f->said, .options = { .group = true });
    report(f);
} coir_end

static struct coir_task *make_one(const char *line, size_t n)
{
    struct coir_task *t = coir_new(one);

    if (t) {
        memcpy(((struct one *)t)->line, line, n);
        ((struct one *)t)->line[n] = '\0';
    }
    return t;
}

/* Reads lines, and spawns a command for each. */
struct each {
    coir_frame_void;
    coir_args(uint32_t limit;);
    char buf[LINE];
    size_t n, length;
    bool ended;
    struct coir_group group;
    union {
        struct coir_read read;
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
    };
};
static coir_declare(each);

/* The length of the first line in the buffer, the last one may lack its end; or -1. */
static ssize_t first_line(const struct each *f)
{
    const char *end = memchr(f->buf, '\n', f->n);

    return end ? end - f->buf : f->ended && f->n ? (ssize_t)f->n : -1;
}

static void drop_line(struct each *f)
{
    f->n -= f->length < f->n ? f->length + 1 : f->n;
    memmove(f->buf, f->buf + f->length + 1, f->n);
}

coir_body(each, f) {
    f->n = 0;
    f->ended = false;
    coir_group_open(f, &f->group, .limit = f->limit);
    while (!f->ended) {
        if (f->n == sizeof f->buf)
            coir_fail(f, EMSGSIZE);                     /* a line longer than that */
        coir_try(f, &f->read, coir_read, .fd = 0, .buf = f->buf + f->n, .len = sizeof f->buf - f->n);
        f->n += f->read.result;
        f->ended = f->read.result == 0;
        for (; first_line(f) >= 0; drop_line(f)) {
            f->length = (size_t)first_line(f);
            if (f->length)
                coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = make_one(f->buf, f->length));
        }
    }
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    }
} coir_end

static int usage(FILE *to, int code)
{
    fprintf(to, "usage: each [-n LIMIT] [-t SECONDS] COMMAND [ARGUMENT]...\n\n"
            "Runs COMMAND with each line of the standard input as its last argument, LIMIT (4 unless said) at a time,\n"
            "each for at most SECONDS (60). Exits with 1 if one failed.\n");
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    long limit = 4;
    double seconds = 60;

    for (int c; (c = getopt_long(argc, argv, "+n:t:h", options, NULL)) != -1;) {
        if (c == 'n')
            limit = strtol(optarg, NULL, 10);
        else if (c == 't')
            seconds = strtod(optarg, NULL);
        else
            return usage(c == 'h' ? stdout : stderr, c == 'h' ? 0 : 2);
    }
    command.argc = argc - optind;
    if (command.argc < 1 || command.argc > ARGS || limit < 1 || limit > 10000 || !(seconds > 0 && seconds < 1e9))
        return usage(stderr, 2);
    memcpy(command.argv, argv + optind, (size_t)command.argc * sizeof *argv);
    command.time = (int64_t)(seconds * COIR_S);
    return coir_main(coir_new(each, .limit = (uint32_t)limit)) || failed ? 1 : 0;
}
