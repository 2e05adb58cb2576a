/* SPDX-License-Identifier: MIT */
/* coir dis - shows what the machine would run. Here arguments become a call of vm/load.h and vm/dis.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "cli/verb.h"
#include "vm/dis.h"

static void help(FILE *to)
{
    fprintf(to, "usage: coir dis [--states] [--maps] [--tests] FILE|DIR|IMAGE\n\n"
            "Prints a program as the machine has it: types, constants, and functions, an instruction a\n"
            "line. docs/image.md describes each.\n\n"
            "  --states   what each register holds, wherever code is come to by a branch\n"
            "  --maps     which registers a trap drops, at each place where one can come\n"
            "  --tests    the program's tests instead of its main\n\n"
            "exit status: 0; 1 when the program has errors or cannot be read; 2 for arguments that make no\n"
            "sense.\n");
}

/* All of it at once: of a stream that had an error it is not known which. */
static int print(const struct coir_program *program, unsigned with)
{
    char *text = NULL;
    size_t length;
    FILE *const to = open_memstream(&text, &length);
    int status = to ? coir_dis(program, with, to) : -ENOMEM;

    if (to && fclose(to) == EOF)
        status = -ENOMEM;
    if (status == 0)
        cli_print("%s", text);
    free(text);
    return status;
}

static int dis(const char *path, enum coir_emit_what what, unsigned with)
{
    struct coir_load_error error;
    struct coir_program *program;
    struct cli_image image;
    int status = cli_image_of(path, what, &image);

    if (status)
        return status;
    status = coir_program_load(image.bytes, image.length, NULL, &program, &error);
    cli_image_free(&image);
    if (status < 0) {
        fprintf(stderr, "coir: %s: %s\n", path, status == -ENOMEM ? strerror(ENOMEM) : error.text);
        return EXIT_FAILED;
    }
    status = print(program, with);
    coir_program_free(program);
    return status < 0 || !cli_flush() ? EXIT_FAILED : 0;
}

static int run(int argc, char **argv)
{
    enum coir_emit_what what = COIR_EMIT_MAIN;
    const char *path = NULL;
    bool words = false;
    unsigned with = 0;

    for (int i = 1; i < argc; i++) {
        const bool option = !words && argv[i][0] == '-' && argv[i][1];

        if (option && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            help(stdout);
            return 0;
        }
        if (option && !strcmp(argv[i], "--"))
            words = true;
        else if (option && !strcmp(argv[i], "--states"))
            with |= COIR_DIS_STATES;
        else if (option && !strcmp(argv[i], "--maps"))
            with |= COIR_DIS_MAPS;
        else if (option && !strcmp(argv[i], "--tests"))
            what = COIR_EMIT_TESTS;
        else if (option)
            return cli_misused("dis", "there is no option '%s'", argv[i]);
        else if (path)
            return cli_misused("dis", "one program at a time");
        else
            path = argv[i];
    }
    return path ? dis(path, what, with) : cli_misused("dis", "say which program");
}

const struct verb cli_dis = {
    .name = "dis",
    .summary = "show a Coir program as the machine has it",
    .run = run,
    .help = help,
};
