/* SPDX-License-Identifier: MIT */
/*
 * A program for a verb: read, compiled, made into an image. What goes wrong is said here, so that the verbs only pass
 * on the exit status.
 */
#include "cli/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verb.h"
#include "lang/compile.h"
#include "vm/image.h"

int cli_cannot(const char *path, int err)
{
    struct stat st;
    const bool folder = err == ENOENT && stat(path, &st) == 0 && S_ISDIR(st.st_mode);

    fprintf(stderr, "coir: %s%s: %s\n", path, folder ? "/main.coir" : "", strerror(err));
    return EXIT_FAILED;
}

/* ---- what it is made of ---- */

struct cli_file {
    dev_t device;
    ino_t number;
};

/* One that has gone since it was read is none that could be written over. */
static void made_of(struct cli_image *image, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        image->files[image->nfiles++] = (struct cli_file){ st.st_dev, st.st_ino };
}

static bool room_for_files(struct cli_image *image, size_t n)
{
    image->files = calloc(n, sizeof *image->files);
    return image->files;
}

bool cli_made_of(const struct cli_image *image, const struct stat *file)
{
    for (size_t i = 0; i < image->nfiles; i++) {
        if (image->files[i].device == file->st_dev && image->files[i].number == file->st_ino)
            return true;
    }
    return false;
}

/* ---- what a file is ---- */

enum { HEAD = 256 };

/* How a file begins. 0: it is empty, or none; nor is a folder one, or a pipe, whose beginning is read only once. */
static size_t read_head(const char *path, char head[HEAD])
{
    struct stat st;
    FILE *const file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    const size_t n = file ? fread(head, 1, HEAD, file) : 0;

    if (file)
        fclose(file);
    return n;
}

static bool begins_as(const char *head, size_t n, const char *magic)
{
    const size_t length = strlen(magic);

    return n >= length && !memcmp(head, magic, length);
}

static bool is_image(const char *path)
{
    char head[HEAD];

    return begins_as(head, read_head(path, head), COIR_IMAGE_MAGIC);
}

bool cli_is_binary(const char *path)
{
    char head[HEAD];
    const size_t n = read_head(path, head);

    if (begins_as(head, n, "\x7f" "ELF"))
        fprintf(stderr, "coir: %s: this is an executable, not a program in Coir; run it directly\n", path);
    else if (begins_as(head, n, COIR_IMAGE_MAGIC))
        fprintf(stderr, "coir: %s: this is an image, and no source; 'coir run' and 'coir dis' take it\n", path);
    else if (memchr(head, 0, n))
        fprintf(stderr, "coir: %s: this is no text, and so no program in Coir\n", path);
    else
        return false;
    return true;
}

/* ---- an image that is there ---- */

static int read_image(const char *path, struct cli_image *image)
{
    FILE *const file = fopen(path, "rb");
    struct stat st;
    int err = 0;

    if (!file || fstat(fileno(file), &st) < 0) {
        err = errno;
    } else {
        image->length = (size_t)st.st_size;
        image->bytes = malloc(image->length + 1);
        if (!image->bytes || !room_for_files(image, 1))
            err = ENOMEM;
        else if (fread(image->bytes, 1, image->length, file) != image->length)
            err = EIO;
        else
            made_of(image, path);
    }
    if (file)
        fclose(file);
    return err ? cli_cannot(path, err) : 0;
}

/* ---- from source ---- */

static int emit(struct coir_compilation *c, const char *path, enum coir_emit_what what, struct cli_image *image)
{
    int status;

    if (what == COIR_EMIT_MAIN && c->typed.main == COIR_NO_FN) {
        fprintf(stderr, "coir: %s: there is no `fn main()`\n", path);
        return EXIT_FAILED;
    }
    if (!room_for_files(image, c->nfiles))
        return cli_cannot(path, ENOMEM);
    for (uint32_t i = 0; i < c->nfiles; i++) {
        if (!c->files[i]->library)
            made_of(image, c->files[i]->source.path);
    }
    status = coir_emit(&c->typed, what, &image->bytes, &image->length, &c->diagnostics);
    return status == -ENOMEM ? cli_cannot(path, ENOMEM) : status ? EXIT_FAILED : 0;
}

static int compile(const char *path, enum coir_emit_what what, struct cli_image *image)
{
    struct coir_budget memory = { 0 };
    struct coir_compilation c;
    int status = coir_compile_file(&c, &memory, path);

    if (status < 0) {
        status = cli_cannot(path, -status);
    } else {
        status = c.diagnostics.errors ? EXIT_FAILED : emit(&c, path, what, image);
        coir_diagnostics_print(&c.diagnostics, stderr);
    }
    coir_compilation_free(&c);
    return status;
}

int cli_image_of(const char *path, enum coir_emit_what what, struct cli_image *image)
{
    int status;

    *image = (struct cli_image){ 0 };
    if (is_image(path))
        status = read_image(path, image);
    else
        status = cli_is_binary(path) ? EXIT_FAILED : compile(path, what, image);
    if (status)
        cli_image_free(image);
    return status;
}

void cli_image_free(struct cli_image *image)
{
    free(image->bytes);
    free(image->files);
    *image = (struct cli_image){ 0 };
}
