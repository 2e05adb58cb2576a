// SPDX-License-Identifier: MIT
//
// C++20 coroutines by hand, as an expert would write them for one thread: lazy task<T> with symmetric
// transfer, detached jobs, a generator, a FIFO run queue in a growing ring, a latch, an unbuffered
// channel with intrusive waiters and sleeps in a binary heap. Frames come from size-class free lists,
// which is the usual production trick. It has no cancellation, no errors, no I/O and one thread: it is a
// floor, not a competitor for features.
#pragma once
#include <coroutine>
#include <cstdlib>
#include <queue>
#include <utility>
#include <vector>

#include "../../measure.h"

namespace coro {

using handle = std::coroutine_handle<>;

class frame_pool {
    static constexpr size_t step = 16, classes = 64;
    static inline void *free_[classes];

public:
    static void *take(size_t size)
    {
        const size_t k = (size + step - 1) / step;
        if (k >= classes || !free_[k])
            return std::malloc(k * step);
        void *frame = free_[k];
        free_[k] = *static_cast<void **>(frame);
        return frame;
    }
    static void give(void *frame, size_t size)
    {
        const size_t k = (size + step - 1) / step;
        if (k >= classes)
            return std::free(frame);
        *static_cast<void **>(frame) = free_[k];
        free_[k] = frame;
    }
};

struct pooled {
    void *operator new(size_t size) { return frame_pool::take(size); }
    void operator delete(void *frame, size_t size) { frame_pool::give(frame, size); }
};

// FIFO of runnable coroutines; the capacity is a power of two.
class run_queue {
    std::vector<handle> ring_ = std::vector<handle>(1 << 12);
    size_t head_ = 0, tail_ = 0;

    void grow()
    {
        std::vector<handle> wider(ring_.size() * 2);
        for (size_t i = head_; i < tail_; i++)
            wider[i - head_] = ring_[i & (ring_.size() - 1)];
        tail_ -= head_;
        head_ = 0;
        ring_.swap(wider);
    }

public:
    bool empty() const { return head_ == tail_; }
    void push(handle h)
    {
        if (tail_ - head_ == ring_.size())
            grow();
        ring_[tail_++ & (ring_.size() - 1)] = h;
    }
    handle pop() { return ring_[head_++ & (ring_.size() - 1)]; }
};

inline run_queue ready;

template <class T> struct task {
    struct promise_type : pooled {
        T value;
        handle awaiter;
        struct resume_awaiter {
            bool await_ready() noexcept { return false; }
            handle await_suspend(std::coroutine_handle<promise_type> h) noexcept
            {
                return h.promise().awaiter;
            }
            void await_resume() noexcept {}
        };
        task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        resume_awaiter final_suspend() noexcept { return {}; }
        void return_value(T v) { value = v; }
        void unhandled_exception() { std::abort(); }
    };

    explicit task(std::coroutine_handle<promise_type> h) : h_(h) {}
    task(task &&other) : h_(std::exchange(other.h_, {})) {}
    ~task()
    {
        if (h_)
            h_.destroy();
    }
    bool await_ready() { return false; }
    handle await_suspend(handle awaiter)
    {
        h_.promise().awaiter = awaiter;
        return h_;
    }
    T await_resume() { return h_.promise().value; }

private:
    std::coroutine_handle<promise_type> h_;
};

// A coroutine nobody holds: queued when called, freed when it ends.
struct job {
    struct promise_type : pooled {
        job get_return_object()
        {
            ready.push(std::coroutine_handle<promise_type>::from_promise(*this));
            return {};
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
};

struct yield {
    bool await_ready() { return false; }
    void await_suspend(handle h) { ready.push(h); }
    void await_resume() {}
};

// Awaited by one coroutine until done() was called `left` times.
struct latch {
    long left;
    handle waiter = {};

    explicit latch(long n) : left(n) {}
    bool await_ready() { return left == 0; }
    void await_suspend(handle h) { waiter = h; }
    void await_resume() {}
    void done()
    {
        if (--left == 0 && waiter)
            ready.push(std::exchange(waiter, {}));
    }
};

template <class T> struct generator {
    struct promise_type : pooled {
        T value;
        generator get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
        std::suspend_always initial_suspend() { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(T v)
        {
            value = v;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };

    std::coroutine_handle<promise_type> h;

    ~generator() { h.destroy(); }
    bool next()
    {
        h.resume();
        return !h.done();
    }
    T value() { return h.promise().value; }
};

// Unbuffered: a send meets a receive. The waiters are the awaiters themselves, so waiting allocates nothing.
class channel {
    struct waiter {
        handle h;
        long value;
        waiter *next;
    };
    struct queue {
        waiter *head = nullptr, *tail = nullptr;
        void push(waiter *w)
        {
            w->next = nullptr;
            (head ? tail->next : head) = w;
            tail = w;
        }
        waiter *pop()
        {
            waiter *w = head;
            if (w)
                head = w->next;
            return w;
        }
    };
    queue senders_, receivers_;

    struct sender : waiter {
        channel &c;
        sender(channel &ch, long v) : c(ch) { value = v; }
        bool await_ready()
        {
            waiter *peer = c.receivers_.pop();
            if (!peer)
                return false;
            peer->value = value;
            ready.push(peer->h);
            return true;
        }
        void await_suspend(handle self)
        {
            h = self;
            c.senders_.push(this);
        }
        void await_resume() {}
    };
    struct receiver : waiter {
        channel &c;
        explicit receiver(channel &ch) : c(ch) {}
        bool await_ready()
        {
            waiter *peer = c.senders_.pop();
            if (!peer)
                return false;
            value = peer->value;
            ready.push(peer->h);
            return true;
        }
        void await_suspend(handle self)
        {
            h = self;
            c.receivers_.push(this);
        }
        long await_resume() { return value; }
    };

public:
    sender send(long v) { return sender(*this, v); }
    receiver recv() { return receiver(*this); }
};

class timers {
    struct entry {
        uint64_t at;
        handle h;
        bool operator<(const entry &other) const { return at > other.at; }
    };
    std::priority_queue<entry> heap_;

public:
    void add(uint64_t at, handle h) { heap_.push({ at, h }); }
    bool empty() const { return heap_.empty(); }
    // Makes the expired ones runnable; sleeps until the first when none is.
    void turn()
    {
        const uint64_t now = bench_now_ns();
        while (!heap_.empty() && heap_.top().at <= now) {
            ready.push(heap_.top().h);
            heap_.pop();
        }
        if (ready.empty() && !heap_.empty())
            bench_sleep_ns(heap_.top().at - now);
    }
};

inline timers clock;

struct sleep_until {
    uint64_t at;
    bool await_ready() { return false; }
    void await_suspend(handle h) { clock.add(at, h); }
    void await_resume() {}
};

// Runs until nothing is runnable and nothing sleeps.
inline void run()
{
    for (;;) {
        while (!ready.empty())
            ready.pop().resume();
        if (clock.empty())
            return;
        clock.turn();
    }
}

} // namespace coro
