/* SPDX-License-Identifier: MIT */
/*
 * Files that grow: in which steps, where the filesystem below is full, what heals it, who waits for whom.
 */
#include "store.h"

#define MIB ((uint64_t)256)                     /* in blocks */

static const uint64_t two[] = { 400 * MIB, 300 * MIB };

struct grow {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    unsigned i;
    uint64_t size[2];
    struct coir_space_grow grow;
    struct store_make make;
    struct store_close close;
};

#define GROW(expected, grown0, grown1) do { \
    f->size[0] = sim_size(f->s->w, 0) / 4096 / MIB; \
    f->size[1] = sim_size(f->s->w, 1) / 4096 / MIB; \
    f->s->complaint.status = 0; \
    coir_await(f, &f->grow, coir_space_grow, .grower = &f->s->grower, .complaint = &f->s->complaint); \
    EQ(coir_status(&f->grow), expected, "growing at line %d", __LINE__); \
    EQ(sim_size(f->s->w, 0) / 4096 / MIB - f->size[0], grown0, "file 0 grew by %d MiB", grown0); \
    EQ(sim_size(f->s->w, 1) / 4096 / MIB - f->size[1], grown1, "file 1 grew by %d MiB", grown1); \
    } while (0)

#define ROOM(expected, mib) \
    EQ(coir_space_check(f->s->space, COIR_SPACE_CHECKPOINT, (mib) * MIB), expected, "%d MiB at line %d", mib, __LINE__)

static struct store *begin(void)
{
    struct store *const s = calloc(1, sizeof *s);

    s->w = sim_new(1, 1000000);
    sim_add(s->w, 0, 4096);
    sim_add(s->w, 0, 4096);
    return s;
}

/* Of 700 MiB: the journal has a 128th, 5 MiB in whole ones, behind 1 of head and 1 of map: 393 of file 0 are data, and
 * 298 of file 1. Dirty nodes: a 64th of 691 MiB; the reserve is twice that and two pages, 5,530 blocks, so 22 MiB. */
static coir_declare(grow);
coir_body(grow, f) {
    f->s = begin();
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = two);
    EQ(f->s->files->file[0].layout.data, 7 * MIB, "the data of file 0");
    EQ(f->s->files->file[0].grown, 29 * MIB, "the reserve is there");
    EQ(f->s->files->file[1].grown, 2 * MIB, "and the other file is as short as it can be");
    ROOM(0, 22);
    ROOM(-EFBIG, 23);
    GROW(0, 64, 0);                             /* 371 lack of file 0, 298 of file 1 */
    ROOM(0, 86);
    GROW(0, 64, 0);                             /* 307, 298 */
    GROW(0, 0, 64);                             /* 243, 298 */
    EQ(coir_space_grown_to(f->s->space, 1), 66 * MIB, "the space knows it");

    sim_fail(f->s->w, SIM_GROW, 1, -ENOSPC, false);
    GROW(0, 32, 0);                             /* 243, 234 */
    for (f->i = 0; f->i < 2; f->i++) {          /* 211, 234 */
        sim_fail(f->s->w, SIM_GROW, 1, f->i ? -EDQUOT : -EFBIG, true);
        GROW(-ENOSPC, 0, 0);
        ROOM(-ENOSPC, 247);
        ROOM(0, 246);
        EQ(coir_space_is_short(f->s->space, 10000 * MIB), false, "nobody asks them to grow");
    }
    EQ(sim_counts(f->s->w, 0).grows, 1 + 2 + 2 + 7 + 7, "file 0 was asked for 64, 32, 16, 8, 4, 2 and 1 MiB, twice");
    EQ(sim_counts(f->s->w, 1).grows, 1 + 1 + 7 + 7, "and so was file 1");
    sim_fail(f->s->w, 0, 0, 0, false);
    GROW(0, 0, 64);                             /* 211, 234 */
    ROOM(-EFBIG, 400);
    sim_fail(f->s->w, SIM_GROW, 1, -EIO, false);
    GROW(-EIO, 0, 0);
    OK(strstr(f->s->complaint.text, "sim1: cannot grow: "), "it says so: %s", f->s->complaint.text);
    GROW(0, 0, 64);                             /* 211 and stuck, 170 */
    GROW(0, 0, 64);
    GROW(0, 0, 42);
    ROOM(-ENOSPC, 481);
    GROW(0, 64, 0);                             /* it is tried again, as there is no other */
    ROOM(-EFBIG, 600);
    GROW(0, 64, 0);
    GROW(0, 64, 0);
    GROW(0, 19, 0);
    GROW(-ENOSPC, 0, 0);
    ROOM(0, 691);
    STR_EQ(coir_space_verify(f->s->space), NULL, "all sums are right");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    sim_free(f->s->w);
    free(f->s);
} coir_end

/* Five at once; one that is cancelled while it waits; a flush that fails. */
struct crowd {
    coir_frame_void;
    coir_no_args;
    struct store *s;
    unsigned i;
    uint64_t size;
    struct coir_task *kids[5];
    struct coir_combine all;
    struct coir_space_grow kid[5];
    struct coir_space_grow grow;
    struct store_make make;
    struct store_close close;
};
static coir_declare(crowd);
coir_body(crowd, f) {
    f->s = begin();
    coir_try(f, &f->make, store_make, .s = f->s, .n = 2, .blocks = two);
    for (f->i = 0; f->i < 5; f->i++)
        f->kids[f->i] = coir_make(&f->kid[f->i], coir_space_grow, .grower = &f->s->grower);
    coir_all(f, &f->all, f->kids, 5);
    EQ(coir_status(&f->all), 0, "five at once");
    EQ(sim_size(f->s->w, 0), (29 + 64) * MIB * 4096, "make it grow by one step");

    for (f->i = 0; f->i < 2; f->i++)
        f->kids[f->i] = coir_make(&f->kid[f->i], coir_space_grow, .grower = &f->s->grower);
    coir_await(f, &f->all, coir_combine, .kids = f->kids, .n = 2, .how = COIR_RACE);
    EQ(coir_status(&f->all), 0, "the first of two");
    EQ(f->s->grower.busy, false, "nobody grows any more");

    f->size = coir_space_grown_to(f->s->space, 1);
    sim_fail(f->s->w, SIM_SYNC, 1, -EIO, false);
    coir_await(f, &f->grow, coir_space_grow, .grower = &f->s->grower, .complaint = &f->s->complaint);
    EQ(coir_status(&f->grow), -EIO, "a length that is not made durable");
    OK(strstr(f->s->complaint.text, "cannot make its length durable"), "it says so: %s", f->s->complaint.text);
    EQ(coir_space_grown_to(f->s->space, 1), f->size, "is not given out");
    coir_await(f, &f->close, store_close, .s = f->s, .n = 2);
    sim_free(f->s->w);
    free(f->s);
} coir_end

int main(void)
{
    setenv("COIR_TIME", "virtual", 1);
    EQ(coir_run(NULL, coir_new(grow)), 0, "all of it");
    EQ(coir_run(NULL, coir_new(crowd)), 0, "all of it");
    return DONE();
}
