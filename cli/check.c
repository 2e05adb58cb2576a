/* SPDX-License-Identifier: MIT */
/*
 * coir check - says what is wrong in a program, without running it. Here arguments become a call of lang/compile.h, and
 * what it reports becomes text on stderr, or JSON on stdout.
 */
#include <errno.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "cli/verb.h"
#include "lang/compile.h"
#include "lang/emit.h"

static void help(FILE *to)
{
    fprintf(to, "usage: coir check [--json] FILE|DIR\n\n"
            "Looks for errors in a program: in a file, and the files beside it that it uses. A folder\n"
            "stands for its main.coir. Nothing is run. What is wrong is printed on stderr, the first 20 of\n"
            "it, with the line and a note of what to do; docs/errors.md has an example for every code.\n\n"
            "  --json   all of it as one JSON object on stdout: {\"errors\", \"warnings\", \"diagnostics\":\n"
            "           [{\"code\", \"severity\", \"file\", \"line\", \"column\", \"end_line\", \"end_column\",\n"
            "           \"message\", \"note\", \"related\"}]}; lines and columns from 1, columns in bytes\n\n"
            "exit status: 0, also with warnings; 1 with errors, or when the file cannot be read; 2 for\n"
            "arguments that make no sense.\n");
}

/* ---- JSON ---- */

static void add_place(struct json_object *to, const struct coir_place *p)
{
    const struct coir_position at = coir_source_position(p->source, p->start);
    const struct coir_position end = coir_source_position(p->source, p->end);

    json_object_object_add(to, "file", json_object_new_string(p->source->path));
    json_object_object_add(to, "line", json_object_new_int64(at.line));
    json_object_object_add(to, "column", json_object_new_int64(at.column));
    json_object_object_add(to, "end_line", json_object_new_int64(end.line));
    json_object_object_add(to, "end_column", json_object_new_int64(end.column));
}

static struct json_object *one(const struct coir_diagnostic *d)
{
    struct json_object *const to = json_object_new_object();
    char code[8];

    json_object_object_add(to, "code", json_object_new_string(coir_code_text(d->code, code)));
    json_object_object_add(to, "severity", json_object_new_string(d->code < COIR_WARNINGS ? "error" : "warning"));
    add_place(to, &d->at);
    json_object_object_add(to, "message", json_object_new_string(d->message ? d->message : ""));
    if (d->note)
        json_object_object_add(to, "note", json_object_new_string(d->note));
    if (d->other.source) {
        struct json_object *const other = json_object_new_object();
        add_place(other, &d->other);
        json_object_object_add(other, "message", json_object_new_string(d->other_message ? d->other_message : ""));
        json_object_object_add(to, "related", other);
    }
    return to;
}

static void print_json(struct coir_diagnostics *d)
{
    struct json_object *const all = json_object_new_object(), *const list = json_object_new_array();

    coir_diagnostics_sort(d);
    for (uint32_t i = 0; i < d->count; i++)
        json_object_array_add(list, one(&d->list[i]));
    json_object_object_add(all, "errors", json_object_new_int64(d->errors));
    json_object_object_add(all, "warnings", json_object_new_int64(d->warnings));
    json_object_object_add(all, "diagnostics", list);
    cli_print("%s\n", json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(all);
}

/* ---- the verb ---- */

/* What is too large shows only when it is made: the image of main, and of the tests. 0 or -ENOMEM. */
static int make(struct coir_compilation *c)
{
    size_t length;
    void *image = NULL;
    int status = 0;

    if (c->diagnostics.errors == 0 && c->typed.main != COIR_NO_FN) {
        status = coir_emit(&c->typed, COIR_EMIT_MAIN, &image, &length, &c->diagnostics);
        free(image);
        image = NULL;
    }
    if (status == 0 && c->diagnostics.errors == 0 && c->typed.ntests) {
        status = coir_emit(&c->typed, COIR_EMIT_TESTS, &image, &length, &c->diagnostics);
        free(image);
    }
    return status == -ENOMEM ? status : 0;
}

static int check(const char *path, bool json)
{
    struct coir_budget memory = { 0 };
    struct coir_compilation c;
    int status;

    if (cli_is_binary(path))
        return EXIT_FAILED;
    status = coir_compile_file(&c, &memory, path);
    if (status == 0)
        status = make(&c);
    if (status < 0) {
        status = cli_cannot(path, -status);
    } else {
        if (json)
            print_json(&c.diagnostics);
        else
            coir_diagnostics_print(&c.diagnostics, stderr);
        status = c.diagnostics.errors ? EXIT_FAILED : 0;
    }
    coir_compilation_free(&c);
    return status;
}

static int run(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false, words = false;

    for (int i = 1; i < argc; i++) {
        const bool option = !words && argv[i][0] == '-' && argv[i][1];
        if (option && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            help(stdout);
            return 0;
        }
        if (option && !strcmp(argv[i], "--"))
            words = true;
        else if (option && !strcmp(argv[i], "--json"))
            json = true;
        else if (option)
            return cli_misused("check", "there is no option '%s'", argv[i]);
        else if (path)
            return cli_misused("check", "one program at a time");
        else
            path = argv[i];
    }
    return path ? check(path, json) : cli_misused("check", "say which file");
}

const struct verb cli_check = {
    .name = "check",
    .summary = "look for errors in a Coir program",
    .run = run,
    .help = help,
};
