/* SPDX-License-Identifier: MIT */
/*
 * The table of descriptors: grows by doubling, never shrinks; an entry is 32 bytes.
 */
#include "runtime/plane/fds.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"

struct coir_fd *coir_fd_get(struct coir_fds *fds, int fd)
{
    size_t n = fds->n ? fds->n : 64;
    struct coir_fd *grown;

    if ((size_t)fd < fds->n)
        return &fds->at[fd];
    while (n <= (size_t)fd)
        n *= 2;
    grown = coir_alloc_fails() ? NULL : realloc(fds->at, n * sizeof *grown);
    if (!grown)
        return NULL;
    memset(grown + fds->n, 0, (n - fds->n) * sizeof *grown);
    fds->at = grown;
    fds->n = n;
    return &fds->at[fd];
}

void coir_fds_destroy(struct coir_fds *fds)
{
    free(fds->at);
    fds->at = NULL;
    fds->n = 0;
}
