/* SPDX-License-Identifier: MIT */
/* Whole files: read into memory, and written so that they are there as a whole or not at all. */
#ifndef COIR_CLI_OUTPUT_H
#define COIR_CLI_OUTPUT_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/uio.h>

/* Reads a file. 0, *bytes is malloc's, and *file says which file it was; or -errno. */
int cli_read_file(const char *path, void **bytes, size_t *length, struct stat *file);

/* Writes the parts, one behind the other, to a new file, which then gets the name `path`. What had that name before
 * stays whole until then, and whoever has it open keeps it; a link is replaced, not followed. `mode` is as of open(2).
 * 0, or -errno: then nothing has changed. */
int cli_write_file(const char *path, mode_t mode, const struct iovec *parts, size_t n);

#endif
