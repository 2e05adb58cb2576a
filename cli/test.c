/* SPDX-License-Identifier: MIT */
/*
 * coir test - runs the tests of a program of the Coir language. Here arguments become those of
 * lang/prelude/testing.coir, which is in the program then, and does the rest.
 */
#include <string.h>

#include "cli/launch.h"
#include "cli/program.h"
#include "cli/verb.h"

static void help(FILE *to)
{
    fprintf(to, "usage: coir test [--only TEXT]... [--limit DURATION] [--shards N] [--max-memory BYTES] FILE|DIR\n\n"
            "Runs the tests of a program at once, each in a fiber of its own, and prints TAP in the order\n"
            "of the text; at the end how many passed and failed. A folder stands for its main.coir.\n\n"
            "  --only TEXT          those tests only that have TEXT in their name; may be said again\n"
            "  --limit DURATION     a test fails that takes longer; 60s\n"
            CLI_FLAGS_HELP "\n"
            "exit status: 0 when all pass, 1 when one does not, the program has errors, or no test has a name\n"
            "that --only wants; 2 for arguments that make no sense.\n");
}

static int run_tests(const char *path, int argc, char **argv, const struct cli_flags *flags)
{
    struct cli_image image;
    int status;

    if (cli_is_binary(path))            /* an image has none */
        return EXIT_FAILED;
    status = cli_image_of(path, COIR_EMIT_TESTS, &image);
    if (status)
        return status;
    status = cli_launch(image.bytes, image.length, argc, argv, flags);
    cli_image_free(&image);
    return status;
}

/* What testing.main takes lies in argv itself, from its beginning: the limit, and then what names must have. */
static int run(int argc, char **argv)
{
    static char usual[] = "60s";
    struct cli_flags flags = { 0 };
    const char *path = NULL, *wants;
    int n = 1;

    argv[0] = usual;
    for (int i = 1; i < argc; i++) {
        const bool option = argv[i][0] == '-' && argv[i][1];
        const char *const name = argv[i];

        if (option && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            help(stdout);
            return 0;
        }
        if (option && i + 1 < argc && !strcmp(argv[i], "--only"))
            argv[n++] = argv[++i];
        else if (option && i + 1 < argc && !strcmp(argv[i], "--limit"))
            argv[0] = argv[++i];
        else if (option && cli_take_flag(argc, argv, &i, &flags, &wants)) {
            if (wants)
                return cli_misused("test", "%s wants %s", name, wants);
        } else if (option && (!strcmp(argv[i], "--only") || !strcmp(argv[i], "--limit")))
            return cli_misused("test", "%s wants something behind it", argv[i]);
        else if (option)
            return cli_misused("test", "there is no option '%s'", argv[i]);
        else if (path)
            return cli_misused("test", "one program at a time");
        else
            path = argv[i];
    }
    return path ? run_tests(path, n, argv, &flags) : cli_misused("test", "say which program");
}

const struct verb cli_test = {
    .name = "test",
    .summary = "run the tests of a Coir program",
    .run = run,
    .help = help,
};
