/* SPDX-License-Identifier: MIT */
/*
 * Every macro that stands in a body or makes a task, under -Wshadow and the rest; awaits that share a line, and
 * ones that a macro of the program's own makes; a generator; main's own buffer, which is no dead stack.
 */
#include <coir/coir.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct numbers {
    coir_frame(int);
    coir_args(int to;);
    int i;
};
static coir_declare(numbers);

coir_body(numbers, f) {
    for (f->i = 0; f->i < f->to; f->i++)
        coir_yield(f, f->i);
    coir_finally(f) {
        f->to = -1;
    }
} coir_end

struct child {
    coir_frame(long);
    coir_args(int n; int fails;);
    struct coir_pass pass;
};
static coir_declare(child);

coir_body(child, f) {
    coir_await(f, &f->pass, coir_pass);
    if (f->fails)
        coir_fail(f, f->fails);
    coir_return(f, f->n * 2);
} coir_end

/* Twice, from one line of a body. */
#define TWICE(f, slot) do { coir_try(f, slot, coir_pass); coir_try(f, slot, coir_pass); } while (0)

struct good {
    coir_frame_void;
    coir_args(char *buf; size_t len;);
    int fds[2];
    size_t n;
    long twice;
    struct coir_task *kids[2];
    struct coir_group group;
    struct coir_scope scope;
    struct coir_cell cell;
    struct child a, b;
    struct numbers numbers;
    union {
        struct coir_combine combine;
        struct coir_pass pass;
        struct coir_read read;
        struct coir_write write;
        struct coir_close close;
        struct coir_group_wait wait;
        struct coir_group_spawn spawn;
        struct coir_cell_wait cell_wait;
        struct coir_sleep sleep;
    };
};
static coir_declare(good);

coir_body(good, f) {
    int err;
    err = coir_pipe(f->fds);
    if (err)
        coir_fail(f, err);
    TWICE(f, &f->pass); TWICE(f, &f->pass);
    coir_get(f, f->twice, &f->a, child, .n = 21);
    if (f->twice != 42)
        coir_fail(f, EIO);
    coir_get(f, f->n, &f->write, coir_write, .fd = f->fds[1], .buf = f->buf, .len = f->len);
    coir_within(f, &f->scope, coir_now() + COIR_S, &f->read, coir_read, .fd = f->fds[0], .buf = f->buf, .len = f->len);
    coir_check(f, &f->read);
    coir_shield(f, &f->scope, &f->sleep, coir_sleep, .ns = 1000);
    coir_await_on(f, 0, &f->b, child, .n = 4);
    coir_check(f, &f->b);
    f->kids[0] = coir_make(&f->a, child, .n = 1);
    f->kids[1] = coir_new(child, .n = 2);
    coir_all(f, &f->combine, f->kids, 2);
    f->kids[0] = coir_make(&f->a, child, .n = 1, .fails = EIO);
    f->kids[1] = coir_make(&f->b, child, .n = 2);
    coir_any(f, &f->combine, f->kids, 2);
    f->kids[0] = coir_make(&f->a, child, .n = 1);
    f->kids[1] = coir_make(&f->b, child, .n = 2);
    coir_race(f, &f->combine, f->kids, 2);
    coir_group_open(f, &f->group, .limit = 1);
    coir_await(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(child, .n = 1));
    coir_await(f, &f->spawn, coir_group_spawn, .group = &f->group, .spawn = coir_new(child, .n = 1));
    coir_await(f, &f->wait, coir_group_wait, .group = &f->group);
    coir_cell_init(&f->cell);
    coir_cell_complete(&f->cell, 0, 7);
    coir_try(f, &f->cell_wait, coir_cell_wait, .cell = &f->cell);
    f->twice = 0;
    for (coir_make(&f->numbers, numbers, .to = 4); coir_next(&f->numbers); )
        f->twice += f->numbers.result;
    coir_make(&f->numbers, numbers, .to = 4);
    coir_next(&f->numbers);
    coir_next_stop(&f->numbers);
    coir_background(f, true);
    if (coir_cancelled(f) || f->twice != 6 || f->numbers.to != -1)
        coir_fail(f, EIO);
    coir_finally(f) {
        coir_await(f, &f->close, coir_close, .fd = f->fds[0]);
        coir_await(f, &f->close, coir_close, .fd = f->fds[1]);
    }
} coir_end

int main(void)
{
    char buf[16] = "of main's";

    return coir_main(coir_new(good, .buf = buf, .len = sizeof buf)) || strcmp(buf, "of main's") != 0;
}
