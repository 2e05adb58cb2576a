// SPDX-License-Identifier: MIT

//! The rows for Rust: plain futures for `await` and `generator`, tokio's current_thread runtime for the
//! others (two of them, on two pinned threads, across cores). Usage: tokio-rows ROW N, or tokio-rows echo
//! PORT, which serves until it is killed. Compiles with Debian 12's rustc 1.63.

use std::arch::asm;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::null;
use std::rc::Rc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, Semaphore};

const SEED: u64 = 88172645463325252;
const IDLE: Duration = Duration::from_millis(5);

fn report(row: &str, value: f64, unit: &str) {
    println!("{} {:.3} {}", row, value, unit);
}

fn per_ns(d: Duration, n: u64) -> f64 {
    d.as_nanos() as f64 / n as f64
}

/// std::hint::black_box, which rustc 1.63 does not have yet: the value's address escapes.
fn black_box<T>(value: T) -> T {
    unsafe { asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}

fn cpu_time() -> Duration {
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t);
        Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
    }
}

fn rss_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

fn pin(env: &str, fallback: usize) {
    let cpu = std::env::var(env).ok().and_then(|v| v.parse().ok()).unwrap_or(fallback);
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

/// xorshift64, the same sequence as in the other peers.
fn random_sleep(state: &mut u64) -> Duration {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    Duration::from_micros(u64::from((*state >> 32) as u32 % 1_000_000))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Runs `main` as a spawned task, which is how tokio schedules fastest.
fn run<F: Future<Output = ()> + Send + 'static>(main: F) {
    let runtime = runtime();
    let handle = runtime.spawn(main);
    runtime.block_on(handle).unwrap();
}

// ---- plain futures, polled by hand, without a runtime ----

static NOOP: RawWakerVTable = RawWakerVTable::new(|_| RawWaker::new(null(), &NOOP), |_| {}, |_| {}, |_| {});

fn noop_waker() -> Waker {
    unsafe { Waker::from_raw(RawWaker::new(null(), &NOOP)) }
}

async fn child(x: u64) -> u64 {
    black_box(x) + 1
}

/// What a child in another crate costs: its poll is a call.
struct NotInlined<F>(F);

impl<F: Future> Future for NotInlined<F> {
    type Output = F::Output;
    #[inline(never)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        unsafe { self.map_unchecked_mut(|s| &mut s.0) }.poll(context)
    }
}

fn poll_to_end(row: &str, n: u64, mut parent: Pin<Box<dyn Future<Output = u64>>>) {
    let waker = noop_waker();
    let t0 = Instant::now();
    let result = parent.as_mut().poll(&mut Context::from_waker(&waker));
    report(row, per_ns(t0.elapsed(), n), "ns");
    assert_eq!(result, Poll::Ready(n * (n + 1) / 2));
}

fn await_row(n: u64) {
    poll_to_end("await", n, Box::pin(async move {
        let mut sum = 0;
        for i in 0..n {
            sum += child(i).await
        }
        sum
    }));
}

fn await_far_row(n: u64) {
    poll_to_end("await-far", n, Box::pin(async move {
        let mut sum = 0;
        for i in 0..n {
            sum += NotInlined(child(i)).await
        }
        sum
    }));
}

/// Pending once: what a yield of a generator built on async is.
struct Yield(bool);

impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

async fn count_to(n: u64, current: Rc<Cell<u64>>) {
    for i in 0..n {
        current.set(i);
        Yield(false).await
    }
}

fn generator_row(n: u64) {
    let current = Rc::new(Cell::new(0));
    let mut numbers: Pin<Box<dyn Future<Output = ()>>> = black_box(Box::pin(count_to(n, current.clone())));
    let waker = noop_waker();
    let mut context = Context::from_waker(&waker);
    let mut sum = 0;
    let t0 = Instant::now();
    while numbers.as_mut().poll(&mut context).is_pending() {
        sum += current.get();
    }
    report("generator", per_ns(t0.elapsed(), n), "ns");
    assert_eq!(sum, n * (n - 1) / 2);
}

// ---- tokio ----

async fn yielder(n: u64) {
    for _ in 0..n {
        tokio::task::yield_now().await
    }
}

fn switch_row(n: u64) {
    runtime().block_on(async move {
        let t0 = Instant::now();
        let (a, b) = (tokio::spawn(yielder(n)), tokio::spawn(yielder(n)));
        a.await.unwrap();
        b.await.unwrap();
        report("switch", per_ns(t0.elapsed(), n), "ns");
    });
}

fn spawn_row(n: u64) {
    run(async move {
        let t0 = Instant::now();
        let mut batch = Vec::with_capacity(1000);
        for _ in 0..n / 1000 {
            batch.extend((0..1000).map(|_| tokio::spawn(async {})));
            for task in batch.drain(..) {
                task.await.unwrap()
            }
        }
        report("spawn", per_ns(t0.elapsed(), n), "ns");
    });
}

async fn echo_back(mut receiver: mpsc::Receiver<u64>, sender: mpsc::Sender<u64>) {
    while let Some(x) = receiver.recv().await {
        sender.send(x).await.unwrap()
    }
}

/// tokio has no rendezvous channel; a capacity of one is its nearest.
fn channel_row(n: u64) {
    run(async move {
        let (there, far_receiver) = mpsc::channel(1);
        let (far_sender, mut back) = mpsc::channel(1);
        tokio::spawn(echo_back(far_receiver, far_sender));
        let t0 = Instant::now();
        for i in 0..n {
            there.send(i).await.unwrap();
            assert_eq!(back.recv().await, Some(i));
        }
        report("channel", per_ns(t0.elapsed(), n), "ns");
    });
}

async fn parked(never: &'static Semaphore) {
    drop(never.acquire().await);
}

fn memory_row(n: u64) {
    let never: &'static Semaphore = Box::leak(Box::new(Semaphore::new(0)));
    runtime().block_on(async move {
        let before = rss_bytes();
        for i in 0..n {
            tokio::spawn(parked(never));
            if i % 1000 == 999 {
                tokio::task::yield_now().await
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        report("memory", (rss_bytes() - before) / n as f64, "B");
        std::process::exit(0)
    });
}

/// Two current_thread runtimes on two pinned threads; `near` is given this side's channel ends.
fn across<F, N>(near: N)
where
    F: Future<Output = ()>,
    N: FnOnce(mpsc::Sender<u64>, mpsc::Receiver<u64>) -> F,
{
    let (there, far_receiver) = mpsc::channel(1);
    let (far_sender, back) = mpsc::channel(1);
    let far = std::thread::spawn(move || {
        pin("BENCH_CPU_B", 1);
        runtime().block_on(echo_back(far_receiver, far_sender))
    });
    pin("BENCH_CPU_A", 0);
    runtime().block_on(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        near(there, back).await
    });
    far.join().unwrap();
}

fn cross_row(n: u64) {
    across(|there, mut back| async move {
        let t0 = Instant::now();
        for i in 0..n {
            there.send(i).await.unwrap();
            back.recv().await.unwrap();
        }
        report("cross", per_ns(t0.elapsed(), n) / 1e3, "us");
    });
}

fn cross_idle_row(n: u64) {
    across(|there, mut back| async move {
        let mut samples = Vec::with_capacity(n as usize);
        let cpu = cpu_time();
        for i in 0..n {
            tokio::time::sleep(IDLE).await;
            let t0 = Instant::now();
            there.send(i).await.unwrap();
            back.recv().await.unwrap();
            samples.push(t0.elapsed());
        }
        report("cross-idle-cpu", per_ns(cpu_time() - cpu, n) / 1e3, "us");
        samples.sort();
        report("cross-idle", per_ns(samples[samples.len() / 2], 1) / 1e3, "us");
    });
}

fn stream_row(n: u64) {
    let (sender, mut receiver) = mpsc::channel(1024);
    let producer = std::thread::spawn(move || {
        pin("BENCH_CPU_B", 1);
        runtime().block_on(async move {
            for i in 0..n {
                sender.send(i).await.unwrap()
            }
        })
    });
    pin("BENCH_CPU_A", 0);
    runtime().block_on(async move {
        let mut sum = receiver.recv().await.unwrap();
        let t0 = Instant::now();
        for _ in 1..n {
            sum += receiver.recv().await.unwrap()
        }
        report("stream", per_ns(t0.elapsed(), n), "ns");
        assert_eq!(sum, n * (n - 1) / 2);
    });
    producer.join().unwrap();
}

fn timers_row(n: u64) {
    runtime().block_on(async move {
        let mut random = SEED;
        let mut sleepers = Vec::with_capacity(n as usize);
        let (t0, cpu) = (Instant::now(), cpu_time());
        for _ in 0..n {
            sleepers.push(tokio::spawn(tokio::time::sleep(random_sleep(&mut random))));
        }
        for sleeper in sleepers {
            sleeper.await.unwrap()
        }
        report("timers", per_ns(cpu_time() - cpu, n) / 1e3, "us");
        report("timers-wall", t0.elapsed().as_secs_f64() * 1e3, "ms");
    });
}

async fn connection(mut socket: tokio::net::TcpStream) {
    let mut buffer = [0u8; 4096];
    loop {
        match socket.read(&mut buffer).await {
            Ok(n) if n > 0 => {
                if socket.write_all(&buffer[..n]).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

fn serve(port: u64) {
    runtime().block_on(async move {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port as u16)).await.unwrap();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            tokio::spawn(connection(socket));
        }
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let n = arguments.get(2).and_then(|n| n.parse().ok()).unwrap_or(0);
    match arguments.get(1).map(String::as_str) {
        Some("await") => await_row(n),
        Some("await-far") => await_far_row(n),
        Some("generator") => generator_row(n),
        Some("switch") => switch_row(n),
        Some("spawn") => spawn_row(n),
        Some("channel") => channel_row(n),
        Some("memory") => memory_row(n),
        Some("cross") => cross_row(n),
        Some("cross-idle") => cross_idle_row(n),
        Some("stream") => stream_row(n),
        Some("timers") => timers_row(n),
        Some("echo") => serve(n),
        _ => {
            eprintln!("usage: tokio-rows ROW N | echo PORT");
            std::process::exit(2)
        }
    }
}
