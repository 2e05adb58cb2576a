/* SPDX-License-Identifier: MIT */
/* coir run - runs a program of the Coir language. Here arguments become a call of cli/launch.h. */
#include <string.h>

#include "cli/launch.h"
#include "cli/program.h"
#include "cli/verb.h"

static void help(FILE *to)
{
    fprintf(to, "usage: coir run [--shards N] [--max-memory BYTES] FILE|DIR|IMAGE [--] [ARG...]\n\n"
            "Runs a program: its function main, which may take what stands behind the program, as a\n"
            "List[Text]. A folder stands for its main.coir. Errors in it are printed, and nothing runs.\n\n"
            CLI_FLAGS_HELP "\n"
            "SIGINT and SIGTERM stop a program: every fiber unwinds, its defers run. The second time it\n"
            "ends at once.\n\n"
            "environment: COIR_REDUCTIONS  calls and turns of loops before others have their turn (4000)\n"
            "             COIR_MAILBOX     messages that wait at an actor before who sends waits, too (1024)\n"
            "             COIR_DISPATCH    labels or switch: how instructions are found\n"
            "             COIR_IO          uring or epoll, as in every program of libcoir\n\n"
            "exit status: what main returned, or 0; 2 when main ended by a trap, and for arguments that\n"
            "make no sense; 1 when the program has errors or cannot be read; 128 and the signal's number\n"
            "when a signal has stopped it.\n");
}

static int run_image(const char *path, const struct cli_flags *flags, int argc, char **argv)
{
    struct cli_image image;
    int status = cli_image_of(path, COIR_EMIT_MAIN, &image);

    if (status)
        return status;
    status = cli_launch(image.bytes, image.length, argc, argv, flags);
    cli_image_free(&image);
    return status;
}

static int run(int argc, char **argv)
{
    struct cli_flags flags = { 0 };
    const char *path, *option, *wants;
    int i = 1;

    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            help(stdout);
            return 0;
        }
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        option = argv[i];
        if (!cli_take_flag(argc, argv, &i, &flags, &wants))
            return cli_misused("run", "there is no option '%s'; what is for the program stands behind it", option);
        if (wants)
            return cli_misused("run", "%s wants %s", option, wants);
    }
    if (i == argc)
        return cli_misused("run", "say which program");
    path = argv[i++];
    if (i < argc && !strcmp(argv[i], "--"))
        i++;
    return run_image(path, &flags, argc - i, argv + i);
}

const struct verb cli_run = {
    .name = "run",
    .summary = "run a Coir program",
    .run = run,
    .help = help,
};
