/* SPDX-License-Identifier: MIT */
/*
 * How a program begins. See launch.h. The table of flags is here, and nowhere else.
 */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/native.h"
#include "vm/vm.h"

/* ---- flags ---- */

/* "64M" */
static bool max_memory(const char *text, struct cli_flags *flags)
{
    static const char units[] = "KMGT";
    unsigned long long value;
    const char *unit;
    char *end;
    int shift = 0;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (end == text || errno || text[0] == '-')
        return false;
    if (*end) {
        unit = strchr(units, *end);
        if (!unit || end[1])
            return false;
        shift = 10 * (int)(unit - units + 1);
    }
    if (value == 0 || value > SIZE_MAX >> shift)
        return false;
    flags->max_memory = (size_t)value << shift;
    return true;
}

static bool shards(const char *text, struct cli_flags *flags)
{
    char *end;
    const long n = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;

    if (n < 1 || n > COIR_SHARDS_MOST || *end)
        return false;
    flags->shards = (uint32_t)n;
    return true;
}

static const struct flag {
    const char *name, *variable, *wants;
    bool (*parse)(const char *text, struct cli_flags *flags);   /* false: it is not what the flag wants */
} known[] = {
    { "--shards", "COIR_SHARDS", "a number from 1 to 64", shards },
    { "--max-memory", "COIR_MAX_MEMORY", "a size, as 64M", max_memory },
};

enum { KNOWN = sizeof known / sizeof *known };

bool cli_take_flag(int argc, char *const *argv, int *i, struct cli_flags *flags, const char **wants)
{
    for (size_t k = 0; k < KNOWN; k++) {
        if (strcmp(argv[*i], known[k].name) != 0)
            continue;
        *wants = ++*i < argc && known[k].parse(argv[*i], flags) ? NULL : known[k].wants;
        return true;
    }
    return false;
}

bool cli_ask_environment(struct cli_flags *flags)
{
    for (size_t k = 0; k < KNOWN; k++) {
        const char *const text = getenv(known[k].variable);

        if (!text || !*text || known[k].parse(text, flags))
            continue;
        fprintf(stderr, "coir: %s wants %s, not \"%s\"\n", known[k].variable, known[k].wants, text);
        return false;
    }
    return true;
}

/* ---- what the machine heeds ---- */

static bool is_count(const char *text)
{
    char *end;
    const long n = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;

    return n >= 1 && n <= INT32_MAX && !*end;
}

static bool is_dispatch(const char *text)
{
    return !strcmp(text, "labels") || !strcmp(text, "switch");
}

/* Whether the variables that the machine reads by itself make sense to it: it would pass over what does not. */
static bool environment_is_sound(void)
{
    static const struct {
        const char *name, *wants;
        bool (*fits)(const char *text);
    } heeded[] = {
        { "COIR_REDUCTIONS", "a number, 1 or more", is_count },
        { "COIR_MAILBOX", "a number, 1 or more", is_count },
        { "COIR_DISPATCH", "labels or switch", is_dispatch },
    };

    for (size_t i = 0; i < sizeof heeded / sizeof *heeded; i++) {
        const char *const text = getenv(heeded[i].name);
        if (!text || !*text || heeded[i].fits(text))
            continue;
        fprintf(stderr, "coir: %s wants %s, not \"%s\"\n", heeded[i].name, heeded[i].wants, text);
        return false;
    }
    return true;
}

/* ---- the start ---- */

/* One of the three that is missing would be the next file that is opened, which what is said would go into. Here it is
 * one that says -EBADF. */
static void hold_the_place(int fd)
{
    if (fcntl(fd, F_GETFD) < 0)
        open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void cli_hold_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        hold_the_place(fd);
}

int cli_launch(const void *image, size_t length, int argc, char *const *argv, const struct cli_flags *flags)
{
    const struct coir_vm_options options = {
        .shards = flags->shards,
        .max_memory = flags->max_memory,
        .signals = true,
        .natives = coir_standard_natives,
    };

    return !environment_is_sound() ? EXIT_FAILURE : coir_vm_run(image, length, argc, argv, &options, NULL);
}
