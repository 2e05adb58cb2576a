/* SPDX-License-Identifier: MIT */
/*
 * coir volume - block volumes in a store. Here are the arguments of its verbs; what they do is in volume_ask.c and
 * volume_serve.c.
 */
#include "cli/volume.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verb.h"
#include "serve/order.h"

void volume_help(FILE *to)
{
    fprintf(to,
            "usage: coir volume init FILE... --size SIZE [--journal SIZE] [--force]\n"
            "       coir volume create FILE NAME --size SIZE [--block-size SIZE]\n"
            "       coir volume serve FILE --nbd ADDRESS... [--read-only]\n"
            "       coir volume ls FILE                 the volumes\n"
            "       coir volume info FILE [NAME]        the store and its volumes, or one of them\n"
            "       coir volume stats FILE              what the store has done since it was opened\n"
            "       coir volume check FILE              verify every structure\n"
            "       coir volume scrub FILE              read all data, and compare it with its sums\n"
            "       coir volume resize FILE NAME --size SIZE\n"
            "       coir volume rename FILE NAME NEW\n"
            "       coir volume rm FILE NAME\n\n"
            "A store is one or more files or block devices, and holds volumes: thin, checksummed arrays of blocks\n"
            "that survive a crash. FILE is any one file of it. While it is served by another process the verbs ask\n"
            "that process, through the socket FILE.sock.\n\n"
            "options:\n"
            "  -s, --size SIZE          bytes; K, M, G, T, P are powers of 1024. init: of each file\n"
            "  -b, --block-size SIZE    of a volume: 4K, unless said, to 64K\n"
            "      --journal SIZE       of a new store; a 128th of it unless said, 4M to 256M\n"
            "  -f, --force              init: also where there is something, which is lost\n"
            "  -n, --nbd ADDRESS        serve: HOST:PORT, :PORT, unix:PATH; may be said more than once\n"
            "  -r, --read-only          serve: nothing is written, not even by recovery\n"
            "      --shards N           serve: threads that serve clients; one unless said\n"
            "      --file INDEX=PATH    file INDEX of the store is at PATH now\n"
            "  -j, --json               print the answers as objects, one a line\n"
            "  -q, --quiet              serve, init: say only what is wrong\n"
            "  -h, --help               this text\n\n"
            "exit status: 0; 1 when it could not be done, after a line that says why; 2 for arguments that make no\n"
            "sense.\n");
}

bool volume_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGTP";
    char *end;
    uint64_t n;
    const char *unit;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    n = strtoull(text, &end, 10);
    if (errno || end == text)
        return false;
    if (*end) {
        unit = strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!unit || end[1])
            return false;
        if (n > UINT64_MAX >> 10 * (unit - units + 1))
            return false;
        n <<= 10 * (unit - units + 1);
    }
    *bytes = n;
    return true;
}

static int take_moved(struct volume_arguments *a, const char *text)
{
    char *end;
    const unsigned long index = strtoul(text, &end, 10);

    if (end == text || *end != '=' || !end[1] || index >= VOLUME_PATHS || a->n_moved == VOLUME_PATHS)
        return cli_misused("volume", "--file is INDEX=PATH, not '%s'", text);
    a->moved_index[a->n_moved] = (unsigned)index;
    a->moved[a->n_moved++] = end + 1;
    return 0;
}

static int take_option(struct volume_arguments *a, int option, const char *word)
{
    uint64_t *const size = option == 's' ? &a->size : option == 'b' ? &a->block : &a->journal;

    switch (option) {
    case 's':
    case 'b':
    case 'J':
        if (!volume_size(optarg, size))
            return cli_misused("volume", "'%s' is no size: 512M, 20G", optarg);
        a->has_size |= option == 's';
        return 0;
    case 'f':
        a->force = true;
        return 0;
    case 'j':
        a->json = true;
        return 0;
    case 'q':
        a->quiet = true;
        return 0;
    case 'r':
        a->read_only = true;
        return 0;
    case 'n':
        if (a->n_addresses == VOLUME_ADDRESSES)
            return cli_misused("volume", "at most %d addresses", VOLUME_ADDRESSES);
        a->address[a->n_addresses++] = optarg;
        return 0;
    case 'S':
        if (!volume_size(optarg, &a->shards) || a->shards < 1 || a->shards > 64)
            return cli_misused("volume", "--shards is a number from 1 to 64, not '%s'", optarg);
        return 0;
    case 'F':
        return take_moved(a, optarg);
    case 'h':
        volume_help(stdout);
        return -1;
    case ':':
        return cli_misused("volume", "%s wants something behind it", word);
    default:
        return cli_misused("volume", "there is no option '%s'", word);
    }
}

static const struct option options[] = {
    { "size", required_argument, NULL, 's' }, { "block-size", required_argument, NULL, 'b' },
    { "journal", required_argument, NULL, 'J' }, { "force", no_argument, NULL, 'f' },
    { "nbd", required_argument, NULL, 'n' }, { "read-only", no_argument, NULL, 'r' },
    { "shards", required_argument, NULL, 'S' }, { "file", required_argument, NULL, 'F' },
    { "json", no_argument, NULL, 'j' },
    { "quiet", no_argument, NULL, 'q' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
};

/* Notes in `given`, a bit for each of `options`, that there is this one. What has one value is not said again. */
static int note_option(unsigned *given, int option)
{
    for (size_t i = 0; options[i].name; i++) {
        if (options[i].val != option)
            continue;
        if ((*given & 1U << i) && strchr("sbJS", option))
            return cli_misused("volume", "--%s is said twice", options[i].name);
        *given |= 1U << i;
    }
    return 0;
}

/* What each verb wants: files (many for init), a name, another one; and the options that it has a use for. */
static const struct shape {
    const char *verb;
    unsigned least, most;               /* words behind the verb */
    bool size;
    const char *takes;
} shapes[] = {
    { "init", 1, VOLUME_PATHS, true, "sJfq" }, { "create", 2, 2, true, "sbFjq" }, { "serve", 1, 1, false, "nrSFq" },
    { "ls", 1, 1, false, "Fjq" }, { "info", 1, 2, false, "Fjq" }, { "stats", 1, 1, false, "Fjq" },
    { "check", 1, 1, false, "Fjq" }, { "scrub", 1, 1, false, "Fjq" }, { "resize", 2, 2, true, "sFjq" },
    { "rename", 3, 3, false, "Fjq" }, { "rm", 2, 2, false, "Fjq" },
};

static int refuse_useless(const struct shape *shape, unsigned given)
{
    for (size_t i = 0; options[i].name; i++) {
        if ((given & 1U << i) && !strchr(shape->takes, options[i].val))
            return cli_misused("volume", "'coir volume %s' has no use for --%s", shape->verb, options[i].name);
    }
    return 0;
}

static int take_words(struct volume_arguments *a, unsigned given, int n, char **words)
{
    const struct shape *shape = NULL;

    if (n == 0)
        return cli_misused("volume", "say what to do");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (!strcmp(shapes[i].verb, words[0]))
            shape = &shapes[i];
    }
    if (!shape)
        return cli_misused("volume", "there is no 'coir volume %s'", words[0]);
    a->verb = shape->verb;
    if ((unsigned)n - 1 < shape->least || (unsigned)n - 1 > shape->most)
        return cli_misused("volume", "'coir volume %s' takes %s", a->verb, shape->most == 1 ? "a file"
                           : shape->most == 3 ? "a file and two names" : shape->most == 2 ? "a file and a name"
                           : "one file or more");
    if (refuse_useless(shape, given))
        return EXIT_USAGE;
    if (shape->size && !a->has_size && strcmp(a->verb, "init"))
        return cli_misused("volume", "'coir volume %s' needs --size", a->verb);
    a->path[a->n_paths++] = words[1];
    if (!strcmp(a->verb, "init")) {
        for (int i = 2; i < n; i++)
            a->path[a->n_paths++] = words[i];
        return 0;
    }
    a->name = n > 2 ? words[2] : NULL;
    a->to = n > 3 ? words[3] : NULL;
    return 0;
}

int volume_arguments(struct volume_arguments *a, int argc, char **argv)
{
    unsigned given = 0;
    int option, err = 0;

    *a = (struct volume_arguments){ 0 };
    opterr = 0;
    while (!err && (option = getopt_long(argc, argv, ":s:b:fn:rjqh", options, NULL)) != -1) {
        err = note_option(&given, option);
        if (!err)
            err = take_option(a, option, argv[optind - 1]);
    }
    if (!err)
        err = take_words(a, given, argc - optind, argv + optind);
    if (!err && !strcmp(a->verb, "serve") && a->n_addresses == 0)
        err = cli_misused("volume", "'coir volume serve' needs an address: --nbd 127.0.0.1:10809, --nbd unix:PATH");
    return err;
}

static bool is_plain(const char *text)
{
    return !text || !text[strcspn(text, "\t\n")];
}

bool volume_order(const struct volume_arguments *a, char *line)
{
    size_t n = (size_t)snprintf(line, COIR_ORDER_MAX, "%s", a->verb);

    if (!is_plain(a->name) || !is_plain(a->to))
        return false;
    if (a->name)
        n += (size_t)snprintf(line + n, COIR_ORDER_MAX - n, "\tname=%.300s", a->name);
    if (a->to)
        n += (size_t)snprintf(line + n, COIR_ORDER_MAX - n, "\tto=%.300s", a->to);
    if (a->has_size)
        n += (size_t)snprintf(line + n, COIR_ORDER_MAX - n, "\tsize=%llu", (unsigned long long)a->size);
    if (a->block)
        n += (size_t)snprintf(line + n, COIR_ORDER_MAX - n, "\tblock=%llu", (unsigned long long)a->block);
    snprintf(line + n, COIR_ORDER_MAX - n, "\n");
    return true;
}

static int run(int argc, char **argv)
{
    struct volume_arguments a;
    const int err = volume_arguments(&a, argc, argv);

    if (err)
        return err < 0 ? 0 : err;
    if (!strcmp(a.verb, "init"))
        return volume_init(&a);
    if (!strcmp(a.verb, "serve"))
        return volume_serve(&a);
    return volume_ask(&a);
}

const struct verb cli_volume = {
    .name = "volume",
    .summary = "crash-safe block volumes: make, serve, look at them",
    .run = run,
    .help = volume_help,
};
