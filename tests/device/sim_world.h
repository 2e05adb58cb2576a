/* SPDX-License-Identifier: MIT */
/*
 * The simulator's inside, shared by the operations (sim.c), the cuts (sim_cut.c) and the faults at rest (sim_rest.c).
 * All of it under the world's lock. Events are numbered upwards, through a world and those that cuts make of it, so
 * that the stamps in their images stay true; NEVER is after all of them. Outside they are counted from the origin.
 */
#ifndef COIR_TESTS_DEVICE_SIM_WORLD_H
#define COIR_TESTS_DEVICE_SIM_WORLD_H

#include <pthread.h>

#include "sim_image.h"

#define NEVER SIZE_MAX

/* A write, or a grow (len 0), or a punch (data NULL). */
struct sim_op {
    unsigned device;
    uint64_t offset;
    size_t len;
    unsigned char *data;
    size_t began, ended;                /* events; NEVER: not yet */
    size_t durable;                     /* the event that made it so */
    bool orphan;                        /* a sync failed on it, or it failed itself: it never will be */
    bool lost;                          /* a lie: it never was */
};

struct sim_fault {
    uint64_t devices;                   /* a bit each */
    unsigned calls;
    uint64_t at;                        /* counts down; 0: it is over */
    int with;
    bool forever;
};

struct sim_device {
    struct coir_device device;
    struct sim *world;
    unsigned index;
    struct sim_image live;              /* what is read */
    struct sim_image first;             /* what there was before all events */
    struct sim_image base;              /* what is durable after the event `at` */
    uint64_t bad, bad_len;              /* cannot be read */
    struct sim_counts counts;
};

struct sim {
    pthread_mutex_t lock;
    uint64_t random;
    int64_t delay;
    unsigned devices;
    struct sim_device *device[SIM_DEVICES];
    size_t events, origin;              /* the last one; the last one of worlds before it */
    size_t ops, ops_room;
    struct sim_op *op;                  /* in the order they began */
    /* the cut that was asked for last, of which base is the image */
    size_t at;
    /* faults */
    unsigned faults;
    struct sim_fault fault[SIM_FAULTS];
    uint64_t lie_at;
    bool has_failed;
    enum sim_lie lie;
};

#endif
