/* SPDX-License-Identifier: MIT */
/* What the verbs of the language share: from a path to the bytes of an image. */
#ifndef COIR_CLI_PROGRAM_H
#define COIR_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lang/emit.h"

struct cli_file;

struct cli_image {
    void *bytes;
    size_t length;
    struct cli_file *files;             /* that it was made of */
    size_t nfiles;
};

/* The image at `path`: compiled from source, with all that is wrong said on stderr; or read, if it is one already. 0,
 * and the bytes are the caller's to give to cli_image_free; else the exit status. */
int cli_image_of(const char *path, enum coir_emit_what what, struct cli_image *image);
void cli_image_free(struct cli_image *image);

/* Whether the file is one that the image was made of. */
bool cli_made_of(const struct cli_image *image, const struct stat *file);

/* Whether the file is of bytes, an image too, and so no source; then it is said on stderr what it is. */
bool cli_is_binary(const char *path);

/* Says that the program at `path` cannot be read, for a folder of which file. Value: the exit status. */
int cli_cannot(const char *path, int err);

#endif
