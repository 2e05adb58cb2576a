/* SPDX-License-Identifier: MIT */
/*
 * The front end for a host: from sources and modules of the host's to an image. By itself, since the front end and
 * libcoir's headers each have names of their own.
 */
#ifndef COIR_EMBED_COMPILE_H
#define COIR_EMBED_COMPILE_H

#include <stddef.h>
#include <stdio.h>

#include "lang/prelude.h"

enum coir_host_wants { COIR_HOST_EXPORTS, COIR_HOST_NATIVES };

/* A file, or a text if that is not NULL: its exports, or only the natives of the modules it uses. 0, and bytes of
 * malloc; or a negative errno. `why` is told all that is wrong, and what is only to be warned of in exports. */
int coir_host_compile(const struct coir_prelude *hosts, uint32_t nhosts, const char *path, const char *text, size_t n,
                      enum coir_host_wants wants, FILE *why, void **image, size_t *length);

#endif
