/* SPDX-License-Identifier: MIT */
/*
 * Names of files in the environment: where several processes read the same variable each is to have its own.
 */
#ifndef COIR_RUNTIME_SEE_TEMPLATE_H
#define COIR_RUNTIME_SEE_TEMPLATE_H

#include <stddef.h>

/* %p is the process, %% a per cent sign. 0; -EINVAL for another %, -ENAMETOOLONG. */
int coir_template_expand(const char *template, char *path, size_t size);

/* What such an error says to who wrote the template; any other one as coir_strerror does. */
const char *coir_template_why(int err);

#endif
