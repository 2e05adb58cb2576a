// SPDX-License-Identifier: MIT
//
// The rows for asio's C++20 coroutines on one io_context with the concurrency hint 1. Usage: rows ROW N, or
// rows echo PORT, which serves until it is killed.
#include <asio.hpp>
#include <asio/experimental/channel.hpp>
#include <string>

#include "../../measure.h"

using asio::awaitable;
using asio::co_spawn;
using asio::detached;
using asio::use_awaitable;
using channel = asio::experimental::channel<void(asio::error_code, long)>;

static asio::io_context io(1);

static double per(uint64_t from, long n)
{
    return double(bench_now_ns() - from) / double(n);
}

[[gnu::noinline]] static awaitable<long> child(long x)
{
    co_return x + 1;
}

static awaitable<void> await_row(long n)
{
    long sum = 0;
    const uint64_t t0 = bench_now_ns();
    for (long i = 0; i < n; i++)
        sum += co_await child(i);
    const double ns = per(t0, n);
    bench_report("await", ns, "ns");
    bench_report("await-far", ns, "ns"); // asio's frames are never inlined: the two rows are one
    bench_check(sum == n * (n + 1) / 2, "await");
}

static awaitable<void> yielder(long n)
{
    for (long i = 0; i < n; i++)
        co_await asio::post(use_awaitable);
}

static void switch_row(long n)
{
    co_spawn(io, yielder(n), detached);
    co_spawn(io, yielder(n), detached);
    const uint64_t t0 = bench_now_ns();
    io.run();
    bench_report("switch", per(t0, n), "ns");
}

static awaitable<void> nothing(long &left)
{
    --left;
    co_return;
}

static void spawn_row(long n)
{
    const uint64_t t0 = bench_now_ns();
    for (long batch = 0; batch < n / 1000; batch++) {
        long left = 1000;
        for (int i = 0; i < 1000; i++)
            co_spawn(io, nothing(left), detached);
        io.restart();
        io.run();
        bench_check(left == 0, "spawn");
    }
    bench_report("spawn", per(t0, n), "ns");
}

static awaitable<void> echo_back(long n, channel &in, channel &out)
{
    for (long i = 0; i < n; i++) {
        const long x = co_await in.async_receive(use_awaitable);
        co_await out.async_send({}, x, use_awaitable);
    }
}

static awaitable<void> channel_row(long n)
{
    channel there(io, 0), back(io, 0);
    co_spawn(io, echo_back(n, there, back), detached);
    const uint64_t t0 = bench_now_ns();
    for (long i = 0; i < n; i++) {
        co_await there.async_send({}, i, use_awaitable);
        bench_check(co_await back.async_receive(use_awaitable) == i, "channel");
    }
    bench_report("channel", per(t0, n), "ns");
}

static awaitable<void> parked(channel &c)
{
    co_await c.async_receive(use_awaitable);
}

static void memory_row(long n)
{
    static channel never(io, 0);
    const uint64_t before = bench_rss_bytes();
    for (long i = 0; i < n; i++) {
        co_spawn(io, parked(never), detached);
        io.poll();
    }
    bench_report("memory", double(bench_rss_bytes() - before) / double(n), "B");
    _exit(0);
}

static awaitable<void> sleeper(uint64_t ns)
{
    asio::steady_timer timer(io, std::chrono::nanoseconds(ns));
    co_await timer.async_wait(use_awaitable);
}

static void timers_row(long n)
{
    uint64_t random = BENCH_SEED;
    const uint64_t t0 = bench_now_ns(), cpu = bench_cpu_ns();
    for (long i = 0; i < n; i++)
        co_spawn(io, sleeper(bench_random_sleep_ns(&random)), detached);
    io.run();
    bench_report("timers", double(bench_cpu_ns() - cpu) / 1e3 / double(n), "us");
    bench_report("timers-wall", double(bench_now_ns() - t0) / 1e6, "ms");
}

static awaitable<void> connection(asio::ip::tcp::socket socket)
{
    char buffer[4096];
    try {
        for (;;) {
            const size_t n = co_await socket.async_read_some(asio::buffer(buffer), use_awaitable);
            co_await asio::async_write(socket, asio::buffer(buffer, n), use_awaitable);
        }
    } catch (const std::system_error &) {
        // the peer closed
    }
}

static awaitable<void> serve(unsigned short port)
{
    asio::ip::tcp::acceptor acceptor(io, { asio::ip::address_v4::loopback(), port });
    for (;;) {
        auto socket = co_await acceptor.async_accept(use_awaitable);
        socket.set_option(asio::ip::tcp::no_delay(true));
        co_spawn(io, connection(std::move(socket)), detached);
    }
}

static void run(awaitable<void> main)
{
    co_spawn(io, std::move(main), detached);
    io.run();
}

int main(int argc, char **argv)
{
    const std::string row = argc == 3 ? argv[1] : "";
    const long n = argc == 3 ? bench_number(argv[2]) : 0;

    if (row == "await" || row == "await-far")
        run(await_row(n));
    else if (row == "switch")
        switch_row(n);
    else if (row == "spawn")
        spawn_row(n);
    else if (row == "channel")
        run(channel_row(n));
    else if (row == "memory")
        memory_row(n);
    else if (row == "timers")
        timers_row(n);
    else if (row == "echo")
        run(serve(static_cast<unsigned short>(n)));
    else {
        fprintf(stderr, "usage: %s ROW N | echo PORT\n", argv[0]);
        return 2;
    }
    return 0;
}
