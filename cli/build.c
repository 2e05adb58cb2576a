/* SPDX-License-Identifier: MIT */
/*
 * coir build - makes a program of the Coir language one file: the runtime, the program's image, and the trailer that
 * says how it is run; or the image alone. Nothing is written before the program is known to be good, and never over
 * what it is made of.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/program.h"
#include "cli/trailer.h"
#include "cli/verb.h"
#include "vm/load.h"

#define RUNTIME "coir-runtime"

static void help(FILE *to)
{
    fprintf(to, "usage: coir build [-o APP] [--shards N] [--max-memory BYTES] FILE|DIR|IMAGE\n"
            "       coir build --image [-o APP.coirb] FILE|DIR\n\n"
            "Makes a program one file that runs by itself: it needs the C library, and nothing of coir. A\n"
            "folder stands for its main.coir. Errors in the program are printed, and nothing is written.\n"
            "All arguments of what was built go to the program's main.\n\n"
            "  -o APP               what is written. Without it: the name of the file or folder, here\n"
            "  --image              write the image alone, which coir run takes; to NAME.coirb\n"
            CLI_FLAGS_HELP "\n"
            "environment: COIR_RUNTIME     the runtime that stands before the program; without it: the one\n"
            "                              that was installed with this command\n\n"
            "What was built heeds the variables that coir run does, and COIR_SHARDS and COIR_MAX_MEMORY,\n"
            "which go before the flags. docs/build.md says more.\n\n"
            "exit status: 0; 1 when the program has errors, or cannot be read or written; 2 for arguments\n"
            "that make no sense.\n");
}

struct order {
    const char *path, *output;          /* output: what was asked for, or NULL */
    bool image, flagged;
    struct cli_flags flags;
};

static int cannot(const char *path, const char *why)
{
    fprintf(stderr, "coir: %s: %s\n", path, why);
    return EXIT_FAILED;
}

/* ---- the runtime ---- */

struct runtime {
    void *bytes;
    size_t length;
    struct stat file;
};

static bool is_there(char path[PATH_MAX], const char *folder, size_t n, const char *below)
{
    const int length = snprintf(path, PATH_MAX, "%.*s/%s%s" RUNTIME, (int)n, folder, below, *below ? "/" : "");

    return length < PATH_MAX && access(path, F_OK) == 0;
}

/* Beside this command, as where it was built; or where it was installed, whatever has become of the prefix since. */
static bool find_runtime(char path[PATH_MAX])
{
    static const char bin[] = "/" COIR_BINDIR, libexec[] = COIR_LIBEXECDIR;
    const char *const said = getenv("COIR_RUNTIME");
    char own[PATH_MAX];
    size_t folder;

    if (said && *said)
        return snprintf(path, PATH_MAX, "%s", said) < PATH_MAX;
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) {
        cannot("/proc/self/exe", "that says where this command is, and so where " RUNTIME " is; or COIR_RUNTIME does");
        return false;
    }
    own[n] = '\0';
    folder = (size_t)(strrchr(own, '/') - own);
    if (is_there(path, own, folder, ""))
        return true;
    if (libexec[0] == '/' && is_there(path, "", 0, libexec + 1))
        return true;
    if (folder >= sizeof bin - 1 && !strncmp(own + folder - (sizeof bin - 1), bin, sizeof bin - 1)
        && is_there(path, own, folder - (sizeof bin - 1), libexec))
        return true;
    cannot(path, "the runtime is missing; it is installed with this command, or COIR_RUNTIME says where it is");
    return false;
}

/* Why it is not the runtime of this version; NULL: it is. */
static const char *unfit(const struct runtime *r)
{
    static const char stamp[] = CLI_RUNTIME_STAMP "\n";
    const char *const end = (const char *)r->bytes + r->length;
    struct cli_trailer t;

    if (r->length >= CLI_TRAILER
        && cli_trailer_read((const uint8_t *)end - CLI_TRAILER, r->length, &t) != CLI_TRAILER_NONE)
        return "it has a program in it already";
    for (const char *at = r->bytes; at; at = at ? at + 1 : NULL) {
        at = memmem(at, (size_t)(end - at), stamp, sizeof stamp - 1);
        if (at && at > (const char *)r->bytes && at[-1] == '\x7f')
            return NULL;
    }
    return "it is not the runtime of coir " COIR_VERSION;
}

/* 0, or the exit status. */
static int read_runtime(struct runtime *r)
{
    char path[PATH_MAX];
    const char *why;
    int status;

    if (!find_runtime(path))
        return EXIT_FAILED;
    status = cli_read_file(path, &r->bytes, &r->length, &r->file);
    why = status < 0 ? strerror(-status) : unfit(r);
    return why ? cannot(path, why) : 0;
}

/* ---- the name ---- */

/* "hello" of hello.coir, hello.coirb, or a folder hello; false if it has none. */
static bool name_of(const struct order *o, char name[PATH_MAX])
{
    char whole[PATH_MAX];
    const char *const path = realpath(o->path, whole), *const base = path ? strrchr(path, '/') + 1 : "";
    const char *const point = strrchr(base, '.');
    const bool suffix = point && point > base && (!strcmp(point, ".coir") || !strcmp(point, ".coirb"));
    const int length = suffix ? (int)(point - base) : (int)strlen(base);

    return length > 0 && snprintf(name, PATH_MAX, "%.*s%s", length, base, o->image ? ".coirb" : "") < PATH_MAX;
}

static bool same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Why nothing is written there; NULL: it may be tried. */
static const char *forbidden(const char *output, const struct cli_image *image, const struct runtime *r)
{
    struct stat st, own;

    if (stat(output, &st) < 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return "it is a folder; -o names the file";
    if (!S_ISREG(st.st_mode))
        return "it is no file";
    if (cli_made_of(image, &st))
        return "the program is made of it; -o names another file";
    if ((r->bytes && same(&st, &r->file)) || (stat("/proc/self/exe", &own) == 0 && same(&st, &own)))
        return "it is coir itself; -o names another file";
    return NULL;
}

/* ---- building ---- */

/* An image that was there already has been looked at by nobody. */
static int prove(const char *path, const struct cli_image *image)
{
    struct coir_load_error error;
    struct coir_program *program;
    int status = coir_program_load(image->bytes, image->length, NULL, &program, &error);

    if (status < 0)
        return cannot(path, status == -ENOMEM ? strerror(ENOMEM) : error.text);
    status = program->main < 0 ? cannot(path, "the image has no main") : 0;
    coir_program_free(program);
    return status;
}

static int write_it(const struct order *o, const char *output, const struct cli_image *image, const struct runtime *r)
{
    const struct cli_trailer trailer = {
        r->length, image->length, cli_checksum(image->bytes, image->length), o->flags,
    };
    uint8_t end[CLI_TRAILER];
    const struct iovec parts[] = { { r->bytes, r->length }, { image->bytes, image->length }, { end, sizeof end } };
    const char *const why = forbidden(output, image, r);
    int status;

    if (why)
        return cannot(output, why);
    cli_trailer_write(end, &trailer);
    if (o->image)
        status = cli_write_file(output, 0666, &parts[1], 1);
    else
        status = cli_write_file(output, 0777, parts, sizeof parts / sizeof *parts);
    return status < 0 ? cannot(output, strerror(-status)) : 0;
}

static int build(const struct order *o)
{
    struct runtime r = { 0 };
    struct cli_image image;
    char name[PATH_MAX];
    int status = cli_image_of(o->path, COIR_EMIT_MAIN, &image);

    if (status == 0)
        status = prove(o->path, &image);
    if (status == 0 && !o->image)
        status = read_runtime(&r);
    if (status == 0 && !o->output && !name_of(o, name))
        status = cannot(o->path, "that gives no name; -o names the file");
    if (status == 0)
        status = write_it(o, o->output ? o->output : name, &image, &r);
    free(r.bytes);
    cli_image_free(&image);
    return status;
}

/* ---- the verb ---- */

/* Takes one argument, and what stands behind it. 0, or the exit status, after what is to be said. */
static int take(int argc, char **argv, int *i, struct order *o)
{
    const char *const option = argv[*i], *wants = NULL;

    if (!strcmp(option, "-o")) {
        if (++*i == argc || !*argv[*i])
            return cli_misused("build", "-o wants the name of a file");
        o->output = argv[*i];
    } else if (!strcmp(option, "--image")) {
        o->image = true;
    } else if (cli_take_flag(argc, argv, i, &o->flags, &wants)) {
        o->flagged = true;
    } else {
        return cli_misused("build", "there is no option '%s'", option);
    }
    return wants ? cli_misused("build", "%s wants %s", option, wants) : 0;
}

static int run(int argc, char **argv)
{
    struct order o = { 0 };
    bool words = false;

    for (int i = 1; i < argc; i++) {
        const bool option = !words && argv[i][0] == '-' && argv[i][1];
        int status;

        if (option && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            help(stdout);
            return 0;
        }
        if (option && !strcmp(argv[i], "--")) {
            words = true;
        } else if (option) {
            status = take(argc, argv, &i, &o);
            if (status)
                return status;
        } else if (o.path) {
            return cli_misused("build", "one program at a time");
        } else {
            o.path = argv[i];
        }
    }
    if (!o.path)
        return cli_misused("build", "say which program");
    if (o.image && o.flagged)
        return cli_misused("build", "an image has no flags: say them when it is run");
    return build(&o);
}

const struct verb cli_build = {
    .name = "build",
    .summary = "make a Coir program one file that runs by itself",
    .run = run,
    .help = help,
};
