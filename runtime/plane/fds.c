/* SPDX-License-Identifier: MIT */
/*
 * The table of descriptors: an array of pages, which are made when a descriptor in them is first used, and stay.
 * A number that is no open descriptor makes none: it may be any number.
 */
#include "runtime/plane/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/pool.h"

static bool grow(struct coir_fds *fds, size_t page)
{
    size_t n = fds->pages ? fds->pages : COIR_FDS_PAGES;
    struct coir_fd **grown;

    if (page < fds->pages)
        return true;
    while (n <= page)
        n *= 2;
    grown = coir_alloc_fails() ? NULL : realloc(fds->page, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + fds->pages, 0, (n - fds->pages) * sizeof *grown);
    fds->page = grown;
    fds->pages = n;
    return true;
}

static struct coir_fd *make(struct coir_fds *fds, int fd)
{
    const size_t page = (size_t)fd / COIR_FDS_PAGE;

    if (fcntl(fd, F_GETFD) < 0)
        return NULL;
    if (grow(fds, page) && !coir_alloc_fails())
        fds->page[page] = calloc(COIR_FDS_PAGE, sizeof *fds->page[page]);
    if (page < fds->pages && fds->page[page])
        return &fds->page[page][fd % COIR_FDS_PAGE];
    errno = ENOMEM;
    return NULL;
}

struct coir_fd *coir_fd_get(struct coir_fds *fds, int fd)
{
    struct coir_fd *e = coir_fd_find(fds, fd);

    return e ? e : make(fds, fd);
}

static bool page_leaves(struct coir_fd *page)
{
    bool all = true;

    for (size_t i = 0; page && i < COIR_FDS_PAGE; i++) {
        struct coir_fd_guest *guest = page[i].guest;
        if (guest && guest->leave(guest, NULL))
            page[i].guest = NULL;
        all &= !page[i].guest;
    }
    return all;
}

bool coir_fds_leave(struct coir_fds *fds)
{
    bool all = true;

    for (size_t i = 0; i < fds->pages; i++)
        all &= page_leaves(fds->page[i]);
    return all;
}

void coir_fds_destroy(struct coir_fds *fds)
{
    for (size_t i = 0; i < fds->pages; i++)
        free(fds->page[i]);
    free(fds->page);
    fds->page = NULL;
    fds->pages = 0;
}
