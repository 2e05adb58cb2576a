/* SPDX-License-Identifier: MIT */
/*
 * The cross-shard rows on bare threads, as a floor: two pinned threads that hand a number over with a
 * futex, and an intrusive many-producer queue whose consumer spins and whose producer reuses a ring of
 * nodes, so that nothing is allocated a message. Usage: rows ROW N.
 */
#include "../../measure.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static long rounds;

/* ---- round trips: each side waits for its own word to reach the round's number ---- */

static _Alignas(64) _Atomic int ping;
static _Alignas(64) _Atomic int pong;

static void await_value(_Atomic int *word, int value)
{
    while (atomic_load(word) != value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value - 1, NULL, NULL, 0);
}

static void publish(_Atomic int *word, int value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *answer(void *unused)
{
    bench_pin(1);
    for (int i = 1; i <= rounds; i++) {
        await_value(&ping, i);
        publish(&pong, i);
    }
    return unused;
}

static void round_trip(int i)
{
    publish(&ping, i);
    await_value(&pong, i);
}

static void cross_row(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, answer, NULL);
    bench_sleep_ns(50000000);
    const uint64_t t0 = bench_now_ns();
    for (int i = 1; i <= rounds; i++)
        round_trip(i);
    bench_report("cross", (double)(bench_now_ns() - t0) / 1e3 / (double)rounds, "us");
    pthread_join(thread, NULL);
}

static void cross_idle_row(void)
{
    uint64_t *samples = calloc((size_t)rounds, sizeof *samples);
    pthread_t thread;

    pthread_create(&thread, NULL, answer, NULL);
    const uint64_t cpu = bench_cpu_ns();
    for (int i = 1; i <= rounds; i++) {
        bench_sleep_ns(BENCH_IDLE_NS);
        const uint64_t t0 = bench_now_ns();
        round_trip(i);
        samples[i - 1] = bench_now_ns() - t0;
    }
    bench_report("cross-idle-cpu", (double)(bench_cpu_ns() - cpu) / 1e3 / (double)rounds, "us");
    bench_report("cross-idle", (double)bench_median(samples, (size_t)rounds) / 1e3, "us");
    pthread_join(thread, NULL);
    free(samples);
}

/* ---- one producer: Vyukov's intrusive queue, the consumer's count is the back-pressure ---- */

enum { NODES = 4096 };

struct node {
    _Atomic(struct node *) next;
    long value;
};

static struct node first, nodes[NODES];
static _Alignas(64) _Atomic(struct node *) newest = &first;
static _Alignas(64) _Atomic long consumed;

static void push(struct node *node)
{
    atomic_store_explicit(&node->next, NULL, memory_order_relaxed);
    struct node *previous = atomic_exchange_explicit(&newest, node, memory_order_acq_rel);
    atomic_store_explicit(&previous->next, node, memory_order_release);
}

static void *produce(void *unused)
{
    bench_pin(1);
    for (long i = 0; i < rounds; i++) {
        while (i - atomic_load_explicit(&consumed, memory_order_acquire) >= NODES - 1)
            ; /* full: spin */
        nodes[i % NODES].value = i;
        push(&nodes[i % NODES]);
    }
    return unused;
}

static void stream_row(void)
{
    struct node *last = &first;
    uint64_t t0 = 0;
    long sum = 0;
    pthread_t thread;

    pthread_create(&thread, NULL, produce, NULL);
    for (long got = 0; got < rounds;) {
        struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
        if (!next)
            continue;
        if (!t0)
            t0 = bench_now_ns();
        sum += next->value;
        last = next;
        atomic_store_explicit(&consumed, ++got, memory_order_release);
    }
    bench_report("stream", (double)(bench_now_ns() - t0) / (double)rounds, "ns");
    pthread_join(thread, NULL);
    bench_check(sum == rounds * (rounds - 1) / 2, "stream");
}

int main(int argc, char **argv)
{
    const char *row = argc == 3 ? argv[1] : "";

    rounds = argc == 3 ? bench_number(argv[2]) : 0;
    bench_pin(0);
    if (!strcmp(row, "cross"))
        cross_row();
    else if (!strcmp(row, "cross-idle"))
        cross_idle_row();
    else if (!strcmp(row, "stream"))
        stream_row();
    else {
        fprintf(stderr, "usage: %s ROW N\n", argv[0]);
        return 2;
    }
    return 0;
}
