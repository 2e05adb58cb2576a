/* SPDX-License-Identifier: MIT */
/*
 * The rows for coir, except the echo server's (coir_echo.c). Each row is a task that is given N, measures
 * itself and prints its lines; whatever it awaits is in its frame. Usage: rows ROW N.
 */
#include "measure.h"

#include "coir_far.h"

#include <coir/coir.h>

static double per(uint64_t from, long n)
{
    return (double)(bench_now_ns() - from) / (double)n;
}

static void start(struct coir_group *group, struct coir_task *task)
{
    bench_check(coir_spawn(group, task) == 0, "coir_spawn");
}

static void start_on(unsigned shard, struct coir_task *task)
{
    bench_check(coir_spawn_on(shard, task) == 0, "coir_spawn_on");
}

/* ---- await ---- */

struct child {
    coir_frame(long);
    coir_args(long x;);
};
static coir_declare(child);

coir_body(child, f) {
    coir_return(f, f->x + 1);
} coir_end

struct await_row {
    coir_frame_void;
    coir_args(long n;);
    long i, sum;
    uint64_t start;
    struct child child;
};
static coir_declare(await_row);

coir_body(await_row, f) {
    f->sum = 0;
    f->start = bench_now_ns();
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->child, child, .x = f->i);
        f->sum += f->child.result;
    }
    bench_report("await", per(f->start, f->n), "ns");
    bench_check(f->sum == f->n * (f->n + 1) / 2, "await");
} coir_end

struct await_far_row {
    coir_frame_void;
    coir_args(long n;);
    long i, sum;
    uint64_t start;
    struct far_child child;
};
static coir_declare(await_far_row);

coir_body(await_far_row, f) {
    f->sum = 0;
    f->start = bench_now_ns();
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->child, far_child, .x = f->i);
        f->sum += f->child.result;
    }
    bench_report("await-far", per(f->start, f->n), "ns");
    bench_check(f->sum == f->n * (f->n + 1) / 2, "await-far");
} coir_end

/* ---- switch ---- */

struct yielder {
    coir_frame_void;
    coir_args(long n;);
    long i;
    struct coir_pass pass;
};
static coir_declare(yielder);

coir_body(yielder, f) {
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->pass, coir_pass);
} coir_end

struct switch_row {
    coir_frame_void;
    coir_args(long n;);
    uint64_t start;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(switch_row);

coir_body(switch_row, f) {
    coir_group_open(f, &f->group);
    f->start = bench_now_ns();
    start(&f->group, coir_new(yielder, .n = f->n));
    start(&f->group, coir_new(yielder, .n = f->n));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    bench_report("switch", per(f->start, f->n), "ns");
} coir_end

/* ---- spawn ---- */

struct nothing {
    coir_frame_void;
    coir_no_args;
};
static coir_declare(nothing);

coir_body(nothing, f) {
} coir_end

struct spawn_row {
    coir_frame_void;
    coir_args(long n;);
    long batch;
    uint64_t start;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(spawn_row);

coir_body(spawn_row, f) {
    f->start = bench_now_ns();
    for (f->batch = 0; f->batch < f->n / 1000; f->batch++) {
        coir_group_open(f, &f->group);
        for (int i = 0; i < 1000; i++)
            start(&f->group, coir_new(nothing));
        coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    }
    bench_report("spawn", per(f->start, f->n), "ns");
} coir_end

/* ---- generator: plain C, no shard ---- */

struct count_to {
    coir_frame(long);
    coir_args(long n;);
    long i;
};
static coir_declare(count_to);

coir_body(count_to, f) {
    for (f->i = 0; f->i < f->n; f->i++)
        coir_yield(f, f->i);
} coir_end

static int generator_row(long n)
{
    struct count_to numbers;
    long sum = 0;

    coir_make(&numbers, count_to, .n = n);
    const uint64_t start = bench_now_ns();
    while (coir_next(&numbers))
        sum += numbers.result;
    bench_report("generator", per(start, n), "ns");
    bench_check(sum == n * (n - 1) / 2, "generator");
    return 0;
}

/* ---- timers ---- */

struct sleeper {
    coir_frame_void;
    coir_args(int64_t ns;);
    struct coir_sleep sleep;
};
static coir_declare(sleeper);

coir_body(sleeper, f) {
    coir_try(f, &f->sleep, coir_sleep, .ns = f->ns);
} coir_end

struct timers_row {
    coir_frame_void;
    coir_args(long n;);
    uint64_t start, cpu, random;
    struct coir_group group;
    struct coir_group_wait wait;
};
static coir_declare(timers_row);

coir_body(timers_row, f) {
    f->random = BENCH_SEED;
    f->start = bench_now_ns();
    f->cpu = bench_cpu_ns();
    coir_group_open(f, &f->group);
    for (long i = 0; i < f->n; i++)
        start(&f->group, coir_new(sleeper, .ns = (int64_t)bench_random_sleep_ns(&f->random)));
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
    bench_report("timers", (double)(bench_cpu_ns() - f->cpu) / 1e3 / (double)f->n, "us");
    bench_report("timers-wall", (double)(bench_now_ns() - f->start) / 1e6, "ms");
} coir_end

/* ---- channel ---- */

struct echo_back {
    coir_frame_void;
    coir_args(struct coir_channel *from; struct coir_channel *to; long n;);
    long i, item;
    union {
        struct coir_channel_send send;
        struct coir_channel_recv recv;
    };
};
static coir_declare(echo_back);

coir_body(echo_back, f) {
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->recv, coir_channel_recv, .channel = f->from, .item = &f->item);
        coir_try(f, &f->send, coir_channel_send, .channel = f->to, .item = &f->item);
    }
} coir_end

struct channel_row {
    coir_frame_void;
    coir_args(long n;);
    long i, answer;
    uint64_t start;
    struct coir_channel there, back;
    struct coir_group group;
    union {
        struct coir_channel_send send;
        struct coir_channel_recv recv;
        struct coir_group_wait wait;
    };
};
static coir_declare(channel_row);

coir_body(channel_row, f) {
    bench_check(coir_channel_init(&f->there, sizeof f->i, 0) == 0, "init");
    bench_check(coir_channel_init(&f->back, sizeof f->i, 0) == 0, "init");
    coir_group_open(f, &f->group);
    start(&f->group, coir_new(echo_back, .from = &f->there, .to = &f->back, .n = f->n));
    f->start = bench_now_ns();
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->send, coir_channel_send, .channel = &f->there, .item = &f->i);
        coir_try(f, &f->recv, coir_channel_recv, .channel = &f->back, .item = &f->answer);
        bench_check(f->answer == f->i, "channel");
    }
    bench_report("channel", per(f->start, f->n), "ns");
    coir_try(f, &f->wait, coir_group_wait, .group = &f->group);
} coir_end

/* ---- memory ---- */

struct parked {
    coir_frame_void;
    coir_args(struct coir_channel *never;);
    long item;
    struct coir_channel_recv recv;
};
static coir_declare(parked);

coir_body(parked, f) {
    coir_try(f, &f->recv, coir_channel_recv, .channel = f->never, .item = &f->item);
} coir_end

struct memory_row {
    coir_frame_void;
    coir_args(long n;);
    long i;
    uint64_t before;
    struct coir_channel never;
    struct coir_group group;
    struct coir_pass pass;
};
static coir_declare(memory_row);

coir_body(memory_row, f) {
    bench_check(coir_channel_init(&f->never, sizeof f->i, 0) == 0, "init");
    coir_group_open(f, &f->group);
    f->before = bench_rss_bytes();
    for (f->i = 0; f->i < f->n; f->i++) {
        start(&f->group, coir_new(parked, .never = &f->never));
        if (f->i % 1000 == 999)
            coir_try(f, &f->pass, coir_pass);
    }
    coir_try(f, &f->pass, coir_pass);
    bench_report("memory", (double)(bench_rss_bytes() - f->before) / (double)f->n, "B");
    _exit(0);                             /* they would wait for ever */
} coir_end

/* ---- across shards: this task is on shard 0, the other end on shard 1 ---- */

struct xecho_back {
    coir_frame_void;
    coir_args(struct coir_xchan *from; struct coir_xchan *to; long n;);
    long i, item;
    union {
        struct coir_xchan_send send;
        struct coir_xchan_recv recv;
    };
};
static coir_declare(xecho_back);

coir_body(xecho_back, f) {
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->recv, coir_xchan_recv, .channel = f->from, .item = &f->item);
        coir_try(f, &f->send, coir_xchan_send, .channel = f->to, .item = &f->item);
    }
} coir_end

/* One item there and back; the two ends are made and freed by the row. */
struct round_trip {
    coir_frame_void;
    coir_args(struct coir_xchan *there; struct coir_xchan *back; long i;);
    long answer;
    union {
        struct coir_xchan_send send;
        struct coir_xchan_recv recv;
    };
};
static coir_declare(round_trip);

coir_body(round_trip, f) {
    coir_try(f, &f->send, coir_xchan_send, .channel = f->there, .item = &f->i);
    coir_try(f, &f->recv, coir_xchan_recv, .channel = f->back, .item = &f->answer);
    bench_check(f->answer == f->i, "cross");
} coir_end

static struct coir_xchan *new_xchan(size_t capacity)
{
    struct coir_xchan *x = coir_xchan_new(sizeof(long), capacity);
    bench_check(x != NULL, "coir_xchan_new");
    return x;
}

struct cross_row {
    coir_frame_void;
    coir_args(long n;);
    long i;
    uint64_t start;
    struct coir_xchan *there, *back;
    union {
        struct coir_sleep sleep;
        struct round_trip trip;
    };
};
static coir_declare(cross_row);

coir_body(cross_row, f) {
    f->there = new_xchan(1);
    f->back = new_xchan(1);
    start_on(1, coir_new(xecho_back, .from = f->there, .to = f->back, .n = f->n));
    coir_try(f, &f->sleep, coir_sleep, .ns = 50 * COIR_MS);
    f->start = bench_now_ns();
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->trip, round_trip, .there = f->there, .back = f->back, .i = f->i);
    bench_report("cross", per(f->start, f->n) / 1e3, "us");
    coir_xchan_free(f->there);
    coir_xchan_free(f->back);
} coir_end

struct cross_idle_row {
    coir_frame_void;
    coir_args(long n;);
    long i;
    uint64_t start, cpu;
    uint64_t *samples;
    struct coir_xchan *there, *back;
    union {
        struct coir_sleep sleep;
        struct round_trip trip;
    };
};
static coir_declare(cross_idle_row);

coir_body(cross_idle_row, f) {
    f->there = new_xchan(1);
    f->back = new_xchan(1);
    f->samples = calloc((size_t)f->n, sizeof *f->samples);
    start_on(1, coir_new(xecho_back, .from = f->there, .to = f->back, .n = f->n));
    f->cpu = bench_cpu_ns();
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->sleep, coir_sleep, .ns = BENCH_IDLE_NS);
        f->start = bench_now_ns();
        coir_try(f, &f->trip, round_trip, .there = f->there, .back = f->back, .i = f->i);
        f->samples[f->i] = bench_now_ns() - f->start;
    }
    bench_report("cross-idle-cpu", (double)(bench_cpu_ns() - f->cpu) / 1e3 / (double)f->n, "us");
    bench_report("cross-idle", (double)bench_median(f->samples, (size_t)f->n) / 1e3, "us");
    free(f->samples);
    coir_xchan_free(f->there);
    coir_xchan_free(f->back);
} coir_end

struct producer {
    coir_frame_void;
    coir_args(struct coir_xchan *to; long n;);
    long i;
    struct coir_xchan_send send;
};
static coir_declare(producer);

coir_body(producer, f) {
    for (f->i = 0; f->i < f->n; f->i++)
        coir_try(f, &f->send, coir_xchan_send, .channel = f->to, .item = &f->i);
} coir_end

struct stream_row {
    coir_frame_void;
    coir_args(long n;);
    long i, item, sum;
    uint64_t start;
    struct coir_xchan *from;
    struct coir_xchan_recv recv;
};
static coir_declare(stream_row);

coir_body(stream_row, f) {
    f->sum = 0;
    f->from = new_xchan(1024);
    start_on(1, coir_new(producer, .to = f->from, .n = f->n));
    for (f->i = 0; f->i < f->n; f->i++) {
        coir_try(f, &f->recv, coir_xchan_recv, .channel = f->from, .item = &f->item);
        if (f->i == 0)
            f->start = bench_now_ns();
        f->sum += f->item;
    }
    bench_report("stream", per(f->start, f->n), "ns");
    bench_check(f->sum == f->n * (f->n - 1) / 2, "stream");
    coir_xchan_free(f->from);
} coir_end

/* ---- the command ---- */

#define ROW(name) static struct coir_task *new_##name(long n) { return coir_new(name, .n = n); }
ROW(await_row)
ROW(await_far_row)
ROW(switch_row)
ROW(spawn_row)
ROW(channel_row)
ROW(memory_row)
ROW(cross_row)
ROW(cross_idle_row)
ROW(stream_row)
ROW(timers_row)

static const struct {
    const char *name;
    struct coir_task *(*make)(long n);
    unsigned shards;
} rows[] = {
    { "await", new_await_row, 1 },           { "await-far", new_await_far_row, 1 },
    { "switch", new_switch_row, 1 },         { "spawn", new_spawn_row, 1 },
    { "channel", new_channel_row, 1 },       { "memory", new_memory_row, 1 },
    { "cross", new_cross_row, 2 },           { "cross-idle", new_cross_idle_row, 2 },
    { "stream", new_stream_row, 2 },         { "timers", new_timers_row, 1 },
};

static int run(const char *row, long n)
{
    if (!strcmp(row, "generator"))
        return generator_row(n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(row, rows[i].name)) {
            const struct coir_options options = { .shards = rows[i].shards };
            return coir_run(&options, rows[i].make(n));
        }
    return -ENOENT;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s ROW N\n", argv[0]);
        return 2;
    }
    const int status = run(argv[1], bench_number(argv[2]));
    if (status < 0)
        fprintf(stderr, "%s: %s\n", argv[1], coir_strerror(status));
    return status < 0;
}
