/* SPDX-License-Identifier: MIT */
/*
 * trace - two workers that sleep at their own pace, on one thread.
 *
 * It prints who runs when, in seconds since it began. The whole takes half a second: as long as the longer
 * worker, not as long as all the sleeps. With COIR_TIME=virtual it takes no time and prints the same.
 */
#include <coir/coir.h>

#include <stdio.h>
#include <string.h>

/* Takes `steps` steps and sleeps `pause` ns after each. */
struct worker {
    coir_frame_void;
    coir_args(const char *name; int64_t pause; int steps; int64_t began;);
    int i;
    struct coir_sleep sleep;
};
static coir_declare(worker);

static double seconds_since(int64_t began)
{
    return (double)(coir_now() - began) / COIR_S;
}

coir_body(worker, f) {
    for (f->i = 0; f->i < f->steps; f->i++) {
        printf("%4.2fs %s step %d\n", seconds_since(f->began), f->name, f->i);
        coir_try(f, &f->sleep, coir_sleep, .ns = f->pause);
    }
    printf("%4.2fs %s done\n", seconds_since(f->began), f->name);
} coir_end

/* Runs both workers, side by side. */
struct trace {
    coir_frame_void;
    coir_no_args;
    struct worker fast, slow;
    struct coir_task *workers[2];
    struct coir_combine all;
};
static coir_declare(trace);

coir_body(trace, f) {
    int64_t now;
    now = coir_now();
    f->workers[0] = coir_make(&f->fast, worker, .name = "fast", .pause = 100 * COIR_MS, .steps = 3, .began = now);
    f->workers[1] = coir_make(&f->slow, worker, .name = "slow", .pause = 250 * COIR_MS, .steps = 2, .began = now);
    coir_all(f, &f->all, f->workers, 2);
    coir_check(f, &f->all);
} coir_end

int main(int argc, char **argv)
{
    if (argc > 1) {
        const bool help = strcmp(argv[1], "--help") == 0;
        fprintf(help ? stdout : stderr, "usage: trace    two workers that sleep, and when each runs\n");
        return help ? 0 : 2;
    }
    return coir_main(coir_new(trace));
}
