/* SPDX-License-Identifier: MIT */
/* What happens to a medium at rest, or is looked at from outside: of a world in which nothing is under way. */
#include "sim_world.h"

#include <stdlib.h>

#include "runtime/base/assert.h"

/* What is read, and what a power cut leaves: both, since the fault is the medium's. */
static void put(struct sim *w, unsigned device, uint64_t offset, const void *data, size_t n)
{
    COIR_ASSERT(device < w->devices);
    COIR_ASSERT(w->ops == 0);
    sim_image_write(&w->device[device]->live, offset, data, n);
    sim_image_write(&w->device[device]->first, offset, data, n);
    sim_image_write(&w->device[device]->base, offset, data, n);
}

uint64_t sim_size(const struct sim *w, unsigned device)
{
    return w->device[device]->live.size;
}

void sim_peek(const struct sim *w, unsigned device, uint64_t offset, void *to, size_t n)
{
    sim_image_read(&w->device[device]->live, offset, to, n);
}

void sim_poke(struct sim *w, unsigned device, uint64_t offset, const void *from, size_t n)
{
    put(w, device, offset, from, n);
}

void sim_flip(struct sim *w, unsigned device, uint64_t offset, unsigned bit)
{
    unsigned char byte;

    sim_peek(w, device, offset, &byte, 1);
    byte ^= (unsigned char)(1 << bit % 8);
    put(w, device, offset, &byte, 1);
}

void sim_copy(struct sim *w, unsigned device, uint64_t offset, uint64_t from, uint64_t len)
{
    unsigned char *bytes = sim_alloc(len);

    sim_peek(w, device, from, bytes, len);
    put(w, device, offset, bytes, len);
    free(bytes);
}

void sim_unreadable(struct sim *w, unsigned device, uint64_t offset, uint64_t len)
{
    w->device[device]->bad = offset;
    w->device[device]->bad_len = len;
}

void sim_shorten(struct sim *w, unsigned device, uint64_t size)
{
    struct sim_device *d = w->device[device];

    COIR_ASSERT(size <= d->live.size);
    COIR_ASSERT(w->ops == 0);
    sim_image_shorten(&d->live, size);
    sim_image_shorten(&d->first, size);
    sim_image_shorten(&d->base, size);
}

void sim_move(struct sim *w, unsigned device, uint32_t grain)
{
    w->device[device]->device.grain = grain;
}
