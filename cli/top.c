/* SPDX-License-Identifier: MIT */
/*
 * coir top - what a running program does, as it does it.
 *
 * It asks the program's window (docs/see.md) once an interval, and shows the answers on the whole screen, as lines, or
 * as JSON. It is itself a program of libcoir's: one shard, a task for whatever it waits for.
 */
#include "cli/top.h"

#include <getopt.h>
#include <json-c/json.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"
#include "cli/verb.h"

static struct top_options options;

static void help(FILE *to)
{
    fprintf(to,
            "usage: coir top [OPTION...] [PATH | @NAME | PID]\n\n"
            "Shows what a running program does: its shards, and its tasks by the line that spawned them.\n\n"
            "The program has to have a window: COIR_SEE=PATH in its environment, or options.see. It is named by the\n"
            "window's PATH, or by its PID; a file whose name is a number is ./NUMBER. Without either it is the only\n"
            "program here that has one.\n\n"
            "options:\n"
            "  -i, --interval SECONDS   ask so often; 1 unless said, 0.1 at least\n"
            "  -n, --count N            print N answers and end; not on the whole screen\n"
            "  -1, --once               the same as --count 1: rates are over all of the run\n"
            "  -j, --json               print an object a line: what the window answers, and rates\n"
            "  -w, --wait               wait until there is such a program\n"
            "  -h, --help               this text\n\n"
            "On a terminal it fills the screen, unless one of --count, --once and --json is given. Keys:\n"
            "  q                        quit\n"
            "  h, ?                     the keys\n"
            "  up, down, k, j           scroll the tasks by a line\n"
            "  PgUp, PgDn, Home, End    by a screen, to the first, to the last\n"
            "  c, t, s, w               sort by count, by task, by where it stands, by what it waits for\n"
            "  r                        the other way round\n"
            "  p                        a row for each place where tasks stand, or for each line that spawned them\n"
            "Otherwise it prints lines. NO_COLOR in the environment: without colours.\n\n"
            "load is how much of a processor the shard's thread uses; queue is the most tasks that one turn found\n"
            "ready since the program began, slow the steps that took too long. exit status: 0, also when the program\n"
            "ends; 1 when there is none; 2 when the arguments make no sense.\n");
}

/* ---- lines and JSON ---- */

static void print_lines(const struct top_model *m)
{
    const struct top_look look = { .shards = SIZE_MAX };
    struct top_lines lines = { 0 };

    top_add_head(&lines, m, &look);
    top_add_tasks(&lines, m, &look);
    for (size_t i = 0; i < lines.n; i++)
        cli_print("%s\n", lines.line[i].text);
    if (m->since_start)
        cli_print("(per second over the %.0f s that it has run)\n", m->seconds);
    top_lines_free(&lines);
}

static void print_json(const struct top_model *m)
{
    struct json_object *o = top_model_json(m);

    cli_print("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(o);
}

static void say_ended(FILE *to, const struct top_model *m)
{
    fprintf(to, "%s (%d) has ended\n", top_string(m->stats, "program"), (int)top_number(m->stats, "pid"));
}

/* Prints answer after answer, from the first, which it takes, to the last that was asked for. */
struct print {
    coir_frame_void;
    coir_args(const char *where; struct json_object *first;);
    struct top_model model;
    int status;
    long printed;
    int64_t next;
    struct top_ask ask;
    struct coir_sleep_until sleep;
};
static coir_declare(print);

/* What comes of an answer to "stats". */
static int take_stats(struct print *f)
{
    const int status = coir_status(&f->ask);

    return status < 0 ? status : top_model_stats(&f->model, f->ask.result);
}

/* False: nobody takes it. */
static bool print_model(struct print *f)
{
    if (f->printed++ > 0 && !options.json)
        cli_print("\n");
    if (options.json)
        print_json(&f->model);
    else
        print_lines(&f->model);
    return cli_flush();
}

coir_body(print, f) {
    memset(&f->model, 0, sizeof f->model);
    f->printed = 0;
    f->next = coir_now();
    f->status = top_model_stats(&f->model, f->first);
    for (;;) {
        coir_await(f, &f->ask, top_ask, .where = f->where, .request = "tasks\n");
        if (coir_status(&f->ask) == 0)
            top_model_tasks(&f->model, f->ask.result);
        if (f->status < 0)
            fprintf(stderr, "coir: no answer: %s\n", coir_strerror(f->status));
        else if (!print_model(f))
            break;
        if (options.count && f->printed >= options.count)
            break;
        f->next += options.interval;
        coir_try(f, &f->sleep, coir_sleep_until, .at = f->next);
        coir_await(f, &f->ask, top_ask, .where = f->where, .request = "stats\n");
        f->status = take_stats(f);
        if (top_is_gone(f->status)) {
            say_ended(options.json ? stderr : stdout, &f->model);
            break;
        }
    }
    coir_finally(f) {
        top_model_free(&f->model);
    }
} coir_end

/* ---- the program ---- */

static int ended_by;                    /* a signal */

struct program {
    coir_frame_void;
    coir_no_args;
    struct top_place place;
    int status;
    union {
        struct top_ask ask;
        struct coir_sleep sleep;
        struct print print;
        struct top_live live;
    };
};
static coir_declare(program);

/* What is wrong with a window that was found and does not answer as one. */
static void say_why(int status)
{
    const char *what = options.target ? options.target : "the window";

    if (top_is_gone(status))
        fprintf(stderr, "coir: %s: nobody is there\n", what);
    else if (status == -EBADMSG)
        fprintf(stderr, "coir: %s: it does not answer as the window of a program on libcoir\n", what);
    else
        fprintf(stderr, "coir: %s: %s\n", what, coir_strerror(status));
}

coir_body(program, f) {
    f->place.folder = -1;
    for (;;) {
        f->status = top_find(options.target, options.wait, &f->place);
        if (f->status == 0) {
            coir_await(f, &f->ask, top_ask, .where = f->place.where, .request = "stats\n");
            f->status = coir_status(&f->ask);
            if (f->status == 0 && top_is_stats(f->ask.result))
                break;
            if (f->status == 0) {
                json_object_put(f->ask.result);
                f->status = -EBADMSG;
            }
            top_find_end(&f->place);
            if (!options.wait || !top_is_gone(f->status))
                say_why(f->status);
        }
        if (!options.wait || !top_is_gone(f->status))
            coir_fail(f, f->status);
        coir_try(f, &f->sleep, coir_sleep, .ns = 100 * COIR_MS);
    }
    if (options.json || options.count || !terminal_is_there()) {
        coir_try(f, &f->print, print, .where = f->place.where, .first = f->ask.result);
    } else {
        coir_await(f, &f->live, top_live, .where = f->place.where, .interval = options.interval,
                   .first = f->ask.result);
        ended_by = f->live.result;
        coir_check(f, &f->live);
    }
    coir_finally(f) {
        top_find_end(&f->place);
    }
} coir_end

/* ---- the command line ---- */

static bool read_interval(const char *text)
{
    char *end;
    const double seconds = strtod(text, &end);

    if (end == text || *end || !(seconds >= 0.1 && seconds <= 86400))
        return false;
    options.interval = (int64_t)(seconds * COIR_S);
    return true;
}

static bool read_count(const char *text)
{
    char *end;

    errno = 0;
    options.count = strtol(text, &end, 10);
    return end != text && !*end && errno == 0 && options.count > 0;
}

/* 0; an exit status and 1 to leave with it. */
static int read_arguments(int argc, char **argv)
{
    static const struct option names[] = {
        { "interval", required_argument, NULL, 'i' }, { "count", required_argument, NULL, 'n' },
        { "once", no_argument, NULL, '1' }, { "json", no_argument, NULL, 'j' }, { "wait", no_argument, NULL, 'w' },
        { "help", no_argument, NULL, 'h' }, { 0 },
    };

    options = (struct top_options){ .interval = COIR_S };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":i:n:1jwh", names, NULL)) != -1;) {
        switch (c) {
        case 'i':
            if (!read_interval(optarg))
                return 1 + cli_misused("top", "--interval: '%s' is not from 0.1 to 86400 seconds", optarg);
            break;
        case 'n':
            if (!read_count(optarg))
                return 1 + cli_misused("top", "--count: '%s' is no number of answers", optarg);
            break;
        case '1': options.count = 1; break;
        case 'j': options.json = true; break;
        case 'w': options.wait = true; break;
        case 'h': help(stdout); return 1;
        case ':': return 1 + cli_misused("top", "%s needs a value", argv[optind - 1]);
        default: return 1 + cli_misused("top", "there is no option '%s'", argv[optind - 1]);
        }
    }
    if (argc - optind > 1)
        return 1 + cli_misused("top", "one program at a time");
    options.target = argv[optind];
    return 0;
}

static int run(int argc, char **argv)
{
    int status = read_arguments(argc, argv);

    if (status)
        return status - 1;
    setlocale(LC_CTYPE, "");
    /* These are for the program that is looked at. */
    unsetenv("COIR_TIME");
    unsetenv("COIR_TRACE");
    status = coir_run(&(struct coir_options){ .see = "" }, coir_new(program));
    terminal_leave();
    if (ended_by)
        raise(ended_by);
    return status < 0 ? EXIT_FAILED : 0;
}

const struct verb cli_top = {
    .name = "top",
    .summary = "what a running program does: shards, and tasks by the line that spawned them",
    .run = run,
    .help = help,
};
