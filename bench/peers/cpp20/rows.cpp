// SPDX-License-Identifier: MIT
//
// The rows for hand-written C++20 coroutines. Usage: rows ROW N.
#include "coro.hpp"

#include "far.hpp"

using namespace coro;

static double per(uint64_t from, long n)
{
    return double(bench_now_ns() - from) / double(n);
}

static task<long> child(long x)
{
    co_return x + 1;
}

static job await_row(long n)
{
    long sum = 0;
    const uint64_t t0 = bench_now_ns();
    for (long i = 0; i < n; i++)
        sum += co_await child(i);
    bench_report("await", per(t0, n), "ns");
    bench_check(sum == n * (n + 1) / 2, "await");
}

static job await_far_row(long n)
{
    long sum = 0;
    const uint64_t t0 = bench_now_ns();
    for (long i = 0; i < n; i++)
        sum += co_await far_child(i);
    bench_report("await-far", per(t0, n), "ns");
    bench_check(sum == n * (n + 1) / 2, "await-far");
}

static job yielder(long n, latch &l)
{
    for (long i = 0; i < n; i++)
        co_await yield{};
    l.done();
}

static job switch_row(long n)
{
    latch l(2);
    const uint64_t t0 = bench_now_ns();
    yielder(n, l);
    yielder(n, l);
    co_await l;
    bench_report("switch", per(t0, n), "ns");
}

static job nothing(latch &l)
{
    l.done();
    co_return;
}

static job spawn_row(long n)
{
    const uint64_t t0 = bench_now_ns();
    for (long batch = 0; batch < n / 1000; batch++) {
        latch l(1000);
        for (int i = 0; i < 1000; i++)
            nothing(l);
        co_await l;
    }
    bench_report("spawn", per(t0, n), "ns");
}

static job echo_back(long n, channel &in, channel &out)
{
    for (long i = 0; i < n; i++)
        co_await out.send(co_await in.recv());
}

static job channel_row(long n)
{
    channel there, back;
    echo_back(n, there, back);
    const uint64_t t0 = bench_now_ns();
    for (long i = 0; i < n; i++) {
        co_await there.send(i);
        bench_check(co_await back.recv() == i, "channel");
    }
    bench_report("channel", per(t0, n), "ns");
}

static generator<long> count_to(long n)
{
    for (long i = 0; i < n; i++)
        co_yield i;
}

static job generator_row(long n)
{
    long sum = 0;
    const uint64_t t0 = bench_now_ns();
    auto numbers = count_to(n);
    while (numbers.next())
        sum += numbers.value();
    bench_report("generator", per(t0, n), "ns");
    bench_check(sum == n * (n - 1) / 2, "generator");
    co_return;
}

static job parked(channel &c)
{
    co_await c.recv();
}

static job memory_row(long n)
{
    static channel never;
    const uint64_t before = bench_rss_bytes();
    for (long i = 0; i < n; i++) {
        parked(never);
        if (i % 1000 == 999)
            co_await yield{}; // they park; the run queue stays small and out of the figure
    }
    co_await yield{};
    bench_report("memory", double(bench_rss_bytes() - before) / double(n), "B");
    _exit(0);
}

static job sleeper(uint64_t ns, latch &l)
{
    co_await sleep_until{ bench_now_ns() + ns };
    l.done();
}

static job timers_row(long n)
{
    latch l(n);
    uint64_t random = BENCH_SEED;
    const uint64_t t0 = bench_now_ns(), cpu = bench_cpu_ns();
    for (long i = 0; i < n; i++)
        sleeper(bench_random_sleep_ns(&random), l);
    co_await l;
    bench_report("timers", double(bench_cpu_ns() - cpu) / 1e3 / double(n), "us");
    bench_report("timers-wall", double(bench_now_ns() - t0) / 1e6, "ms");
}

static const struct {
    const char *name;
    job (*start)(long n);
} rows[] = {
    { "await", await_row },         { "await-far", await_far_row }, { "switch", switch_row },
    { "spawn", spawn_row },         { "channel", channel_row },     { "generator", generator_row },
    { "memory", memory_row },       { "timers", timers_row },
};

int main(int argc, char **argv)
{
    if (argc == 3)
        for (const auto &row : rows)
            if (!strcmp(row.name, argv[1])) {
                row.start(bench_number(argv[2]));
                run();
                return 0;
            }
    fprintf(stderr, "usage: %s ROW N\n", argv[0]);
    return 2;
}
