/* SPDX-License-Identifier: MIT */
/* A small program whose every event is known: tests of who looks say what they saw of it, by the lines of this file. */
#ifndef COIR_TESTS_SEE_RECORDED_H
#define COIR_TESTS_SEE_RECORDED_H

#include <coir/coir.h>

struct kid {
    coir_frame_void;
    coir_args(int ms; bool fails;);
    struct coir_sleep sleep;
};
static coir_declare(kid);

coir_body(kid, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ms * COIR_MS);
    if (f->fails)
        coir_fail(f, EIO);
} coir_end

struct nested {
    coir_frame_void;
    coir_no_args;
    struct kid kid;
};
static coir_declare(nested);

coir_body(nested, f) {
    coir_try(f, &f->kid, kid, .ms = 7);
} coir_end

struct parent {
    coir_frame_void;
    coir_no_args;
    struct coir_scope scope;
    struct nested nested;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(parent);

coir_body(parent, f) {
    coir_within(f, &f->scope, coir_now() + 2 * COIR_MS, &f->nested, nested);
    coir_group_open(f, &f->group);
    coir_spawn(&f->group, coir_new(kid, .ms = 1, .fails = true));
    coir_spawn(&f->group, coir_new(kid, .ms = 5));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_detach(coir_new(kid, .ms = 9));
} coir_end

static struct coir_task *new_parent(void)
{
    return coir_new(parent);
}

#endif
