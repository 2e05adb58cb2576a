/* SPDX-License-Identifier: MIT */
/*
 * The N-th allocation fails, for every N until none is left to fail: a program of spawns, combinators, cells,
 * children on other shards and thread pools ends with -ENOMEM or as if nothing had happened; never otherwise, and
 * nothing is left over. Needs a build with faults.
 */
#include "help.h"

#include "runtime/base/pool.h"

#ifdef COIR_FAULTS

struct leaf {
    coir_frame(int);
    coir_args(int n;);
    char big[300];
    struct coir_pass pass;
};
static coir_declare(leaf);

static int entered, finished;

coir_body(leaf, f) {
    entered++;
    coir_try(f, &f->pass, coir_pass);
    coir_return(f, f->n);
    coir_finally(f) {
        finished++;
    }
} coir_end

struct program {
    coir_frame_void;
    coir_args(long at;);
    int i, err;
    struct coir_cell *cell;
    struct coir_task *kids[3];
    struct coir_group group;
    struct leaf leaf;
    union {
        struct coir_combine combine;
        struct coir_group_spawn spawn;
        struct coir_group_wait wait;
        struct coir_cell_wait cell_wait;
    };
};
static coir_declare(program);

coir_body(program, f) {
    f->cell = NULL;
    coir_group_open(f, &f->group, .limit = 2);
    if (f->at)
        coir_fail_alloc_at = f->at;
    for (f->i = 0; f->i < 6; f->i++)
        coir_try(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(leaf, .n = 1));
    for (f->i = 0; f->i < 3; f->i++)
        f->kids[f->i] = coir_new(leaf, .n = f->i);
    coir_all(f, &f->combine, f->kids, 3);
    coir_check(f, &f->combine);
    coir_await_on(f, 1, &f->leaf, leaf, .n = 5);
    coir_check(f, &f->leaf);
    f->cell = coir_cell_new();
    if (!f->cell)
        coir_fail(f, ENOMEM);
    coir_cell_complete(f->cell, 0, 1);
    coir_try(f, &f->cell_wait, coir_cell_wait, .cell = f->cell);
    f->err = coir_spawn_on(1, coir_new(leaf));
    if (f->err)
        coir_fail(f, f->err);
    f->err = coir_detach(coir_new(leaf));
    if (f->err)
        coir_fail(f, f->err);
    coir_finally(f) {
        coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
        if (f->cell) {
            coir_cell_drop(f->cell);
            coir_cell_drop(f->cell);
        }
    }
} coir_end

/* Of the whole of coir_run, its beginning included; silent, since each failure says a line. */
static int begins(long at)
{
    const struct coir_options two = { .shards = 2 };
    struct coir_task *const t = coir_new(program, .at = 0);

    coir_fail_alloc_at = at;
    return coir_run(&two, t);
}

int main(void)
{
    const struct coir_options two = { .shards = 2 };
    const int null = open("/dev/null", O_WRONLY), said = dup(STDERR_FILENO);
    long at, failed = 0, odd = 0;
    int err = -ENOMEM;

    unsetenv("COIR_TIME");
    for (at = 1; at < 1000 && err; at++) {
        entered = finished = 0;
        err = coir_run(&two, coir_new(program, .at = at));
        failed += err == -ENOMEM;
        odd += (err != -ENOMEM && err != 0) || entered != finished;
        if (coir_fail_alloc_at > 0 && err == 0)
            break;
        coir_fail_alloc_at = 0;
    }
    coir_fail_alloc_at = 0;
    OK(at > 8 && at < 1000, "the program makes %ld allocations", at - 1);
    EQ(odd, 0, "each of them failing is -ENOMEM, and whoever was entered was left");
    OK(failed >= 8, "%ld runs failed", failed);
    dup2(null, STDERR_FILENO);
    err = -ENOMEM;
    for (at = 1, odd = 0; at < 1000; at++) {
        err = begins(at);
        odd += err != -ENOMEM && err != -EAGAIN && err != 0;
        if (coir_fail_alloc_at > 0)
            break;
        coir_fail_alloc_at = 0;
    }
    coir_fail_alloc_at = 0;
    dup2(said, STDERR_FILENO);
    OK(at > 3 && at < 1000, "a run makes %ld allocations on the first thread", at - 1);
    EQ(odd, 0, "each of them failing has an ordinary answer");
    EQ(coir_run(&two, coir_new(program)), 0, "and afterwards all is well");
    close(null);
    close(said);
    return DONE();
}

#else

int main(void)
{
    SKIP_ALL("a build without faults");
}

#endif
