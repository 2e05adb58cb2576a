/* SPDX-License-Identifier: MIT */
/* Sparse images, copied when written. Invariant: a page with one reference is this image's alone. */
#include "sim_image.h"

#include <stdlib.h>
#include <string.h>

void *sim_realloc(void *p, size_t n)
{
    void *const grown = realloc(p, n ? n : 1);

    if (!grown)
        abort();
    return grown;
}

void *sim_alloc(size_t n)
{
    return memset(sim_realloc(NULL, n), 0, n);
}

void sim_image_clone(struct sim_image *to, const struct sim_image *from)
{
    *to = *from;
    to->page = sim_alloc(from->pages * sizeof *to->page);
    for (size_t i = 0; i < from->pages; i++) {
        to->page[i] = from->page[i];
        if (to->page[i])
            to->page[i]->refs++;
    }
}

static void drop(struct sim_page *p)
{
    if (p && --p->refs == 0)
        free(p);
}

void sim_image_free(struct sim_image *i)
{
    for (size_t n = 0; n < i->pages; n++)
        drop(i->page[n]);
    free(i->page);
    *i = (struct sim_image){ .pages = 0 };
}

/* A page that only this image has. */
static struct sim_page *own(struct sim_image *i, size_t n)
{
    struct sim_page *p;

    if (n >= i->pages) {
        const size_t pages = n + 1 > 2 * i->pages ? n + 1 : 2 * i->pages;
        i->page = sim_realloc(i->page, pages * sizeof *i->page);
        memset(i->page + i->pages, 0, (pages - i->pages) * sizeof *i->page);
        i->pages = pages;
    }
    if (i->page[n] && i->page[n]->refs == 1)
        return i->page[n];
    p = sim_alloc(sizeof *p);
    if (i->page[n]) {
        *p = *i->page[n];
        i->page[n]->refs--;
    }
    p->refs = 1;
    return i->page[n] = p;
}

/* Bytes from `offset` to the end of its page, or n. */
static size_t within(uint64_t offset, size_t n)
{
    const size_t room = SIM_PAGE - offset % SIM_PAGE;

    return n < room ? n : room;
}

void sim_image_read(const struct sim_image *i, uint64_t offset, void *to, size_t n)
{
    for (size_t done = 0, some; done < n; done += some) {
        const uint64_t at = offset + done;
        some = within(at, n - done);
        if (at / SIM_PAGE < i->pages && i->page[at / SIM_PAGE])
            memcpy((char *)to + done, i->page[at / SIM_PAGE]->bytes + at % SIM_PAGE, some);
        else
            memset((char *)to + done, 0, some);
    }
}

void sim_image_write(struct sim_image *i, uint64_t offset, const void *data, size_t n)
{
    for (size_t done = 0, some; done < n; done += some) {
        const uint64_t at = offset + done;
        some = within(at, n - done);
        if (data)
            memcpy(own(i, at / SIM_PAGE)->bytes + at % SIM_PAGE, (const char *)data + done, some);
        else
            memset(own(i, at / SIM_PAGE)->bytes + at % SIM_PAGE, 0, some);
    }
    if (i->size < offset + n)
        i->size = offset + n;
}

void sim_image_shorten(struct sim_image *i, uint64_t size)
{
    const size_t whole = (size + SIM_PAGE - 1) / SIM_PAGE;

    for (size_t n = whole; n < i->pages; n++) {
        drop(i->page[n]);
        i->page[n] = NULL;
    }
    if (size % SIM_PAGE && whole <= i->pages && i->page[whole - 1])
        memset(own(i, whole - 1)->bytes + size % SIM_PAGE, 0, SIM_PAGE - size % SIM_PAGE);
    i->size = size;
}

size_t sim_image_stamp(const struct sim_image *i, uint64_t offset)
{
    const size_t n = offset / SIM_PAGE;

    return n < i->pages && i->page[n] ? i->page[n]->stamp[offset % SIM_PAGE / SIM_SECTOR] : 0;
}

void sim_image_set_stamp(struct sim_image *i, uint64_t offset, size_t stamp)
{
    own(i, offset / SIM_PAGE)->stamp[offset % SIM_PAGE / SIM_SECTOR] = stamp;
}
