/* SPDX-License-Identifier: MIT */
/*
 * What is on a medium: pages of 4 KiB, of which only those that were written are there, shared between images until one
 * is written again. So the images of thousands of cuts cost what differs. Used by the simulator alone; not by two
 * threads at once.
 */
#ifndef COIR_TESTS_DEVICE_SIM_IMAGE_H
#define COIR_TESTS_DEVICE_SIM_IMAGE_H

#include "sim.h"

enum { SIM_PAGE_SECTORS = SIM_PAGE / SIM_SECTOR };

struct sim_page {
    unsigned refs;
    unsigned char bytes[SIM_PAGE];
    size_t stamp[SIM_PAGE_SECTORS];     /* for who builds the image: which write a sector is of */
};

struct sim_image {
    uint64_t size;
    size_t pages;
    struct sim_page **page;             /* NULL: zeros */
};

/* `to` is uninitialised. */
void sim_image_clone(struct sim_image *to, const struct sim_image *from);
void sim_image_free(struct sim_image *i);
void sim_image_read(const struct sim_image *i, uint64_t offset, void *to, size_t n);
/* data NULL: zeros. Makes it longer where it has to. */
void sim_image_write(struct sim_image *i, uint64_t offset, const void *data, size_t n);
/* Ends at `size`; what is beyond is zeros, should it grow again. */
void sim_image_shorten(struct sim_image *i, uint64_t size);
size_t sim_image_stamp(const struct sim_image *i, uint64_t offset);
void sim_image_set_stamp(struct sim_image *i, uint64_t offset, size_t stamp);

/* Memory, or the end of the program. */
void *sim_alloc(size_t n);
void *sim_realloc(void *p, size_t n);

#endif
