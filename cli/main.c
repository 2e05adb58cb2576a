/* SPDX-License-Identifier: MIT */
/*
 * coir - the command. Here is only the table of verbs, and what is done before there is one: help, the version, and a
 * word for who has misspelt it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/launch.h"
#include "cli/verb.h"

static const struct verb *const verbs[] = {
    &cli_build,
    &cli_check,
    &cli_dis,
    &cli_run,
    &cli_test,
    &cli_top,
#ifdef COIR_VOLUMES
    &cli_volume,
#endif
};

enum { VERBS = sizeof verbs / sizeof *verbs, LONGEST = 32 };

static int output_error;                /* the first that standard output had: stdio forgets it */

void cli_print(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    if (vprintf(format, ap) < 0 && !output_error)
        output_error = errno;
    va_end(ap);
}

bool cli_flush(void)
{
    errno = EIO;                        /* for one of an earlier printf */
    if ((fflush(stdout) == EOF || ferror(stdout)) && !output_error)
        output_error = errno;
    return !output_error;
}

int cli_misused(const char *verb, const char *format, ...)
{
    va_list ap;

    fprintf(stderr, "coir: ");
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, "; try 'coir %s%s--help'\n", verb, *verb ? " " : "");
    return EXIT_USAGE;
}

static const struct verb *find(const char *name)
{
    for (size_t i = 0; i < VERBS; i++) {
        if (!strcmp(verbs[i]->name, name))
            return verbs[i];
    }
    return NULL;
}

/* ---- the misspelt verb ---- */

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    const unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* How many letters have to be changed, put in, taken out, or swapped with their neighbour to make one of the other. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[3][LONGEST + 1];
    const size_t la = strlen(a), lb = strlen(b);

    if (la > LONGEST || lb > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= lb; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *const now = row[i % 3], *const last = row[(i + 2) % 3], *const before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return row[la % 3][lb];
}

/* Takes `candidate` for the best guess at `name` if it is nearer than the last. */
static void consider(const char *name, const char *candidate, const char **best, unsigned *nearest)
{
    const unsigned d = distance(name, candidate);

    if (d < *nearest && 2 * d <= strlen(candidate)) {
        *nearest = d;
        *best = candidate;
    }
}

static int unknown(const char *name)
{
    const char *best = NULL;
    unsigned nearest = 3;               /* more letters than that are another word */

    for (size_t i = 0; i < VERBS; i++)
        consider(name, verbs[i]->name, &best, &nearest);
    consider(name, "help", &best, &nearest);
    if (!best)
        return cli_misused("", "there is no verb '%s'", name);
    fprintf(stderr, "coir: there is no verb '%s'; did you mean '%s'?\n", name, best);
    return EXIT_USAGE;
}

/* ---- help ---- */

static void help(FILE *to)
{
    fprintf(to, "usage: coir VERB [ARGUMENT...]\n"
            "       coir help VERB, coir VERB --help\n"
            "       coir --help, coir --version\n\n"
            "Runs, checks, tests and builds programs in Coir, looks at programs that are written with\n"
            "libcoir, and keeps block volumes.\n\nverbs:\n");
    for (size_t i = 0; i < VERBS; i++)
        fprintf(to, "  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(to, "\nexit status: 0; 1 when it failed; 2 when the arguments make no sense.\n");
}

static int help_on(int argc, char **argv)
{
    const struct verb *verb;

    if (argc > 2)
        return cli_misused("", "help is for one verb at a time");
    if (argc < 2) {
        help(stdout);
        return 0;
    }
    verb = find(argv[1]);
    if (!verb)
        return unknown(argv[1]);
    verb->help(stdout);
    return 0;
}

static int run(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    const struct verb *verb;

    if (!word) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(word, "help"))
        return help_on(argc - 1, argv + 1);
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        help(stdout);
        return 0;
    }
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        printf("coir " COIR_VERSION "\n");
        return 0;
    }
    if (word[0] == '-')
        return cli_misused("", "there is no option '%s'", word);
    verb = find(word);
    return verb ? verb->run(argc - 1, argv + 1) : unknown(word);
}

int main(int argc, char **argv)
{
    int status;

    cli_hold_places();
    status = run(argc, argv);

    if (cli_flush())
        return status;
    if (output_error != EPIPE)          /* who reads has gone, and knows that */
        fprintf(stderr, "coir: standard output: %s\n", strerror(output_error));
    return EXIT_FAILED;
}
