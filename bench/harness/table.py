# SPDX-License-Identifier: MIT
"""What is measured and by whom: the rows, the peers, and how each peer's program is built and called.

A measurement is one run of a program; it prints one or more rows. A peer is one column. Nothing here runs
anything.
"""
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
PEERS_DIR = BENCH / "peers"


@dataclass(frozen=True)
class Row:
    name: str
    unit: str
    what: str
    higher_is_better: bool = False


@dataclass(frozen=True)
class Measurement:
    name: str               # what the program is asked for
    rows: tuple             # the names of what it prints
    count: int = 0          # iterations of a fast peer; a slow one runs count // Peer.slowness
    quick: int = 0          # the same for --quick
    fixed: bool = False     # the count is the same for all: it is the definition, not the length
    cpus: int = 1           # 2: the program pins its own threads to both


ROWS = {row.name: row for row in (
    Row("await", "ns", "await a child that does not suspend, visible to the compiler"),
    Row("await-far", "ns", "the same, the child is in another file"),
    Row("switch", "ns", "two tasks yielding to each other: A to B to A"),
    Row("spawn", "ns", "spawn, run and join a task, in batches of 1,000"),
    Row("channel", "ns", "same-shard channel: send, and the reply"),
    Row("generator", "ns", "one next of a generator"),
    Row("memory", "B", "resident memory of a task parked on a channel or semaphore"),
    Row("cross", "us", "cross-shard round trip, back to back"),
    Row("cross-idle", "us", "cross-shard round trip 5 ms after the last: both cores are halted"),
    Row("cross-idle-cpu", "us", "CPU time of both sides for such a pause and round trip"),
    Row("stream", "ns", "cross-shard, one producer, per message"),
    Row("timers", "us", "CPU time of each of 1,000,000 sleeps that end within a second (quick: 100,000)"),
    Row("timers-wall", "ms", "until the last of them woke"),
    Row("echo-cpu", "us", "TCP echo, 64 connections x 64 B: server CPU a request"),
    Row("echo-p50", "us", "median latency (the generator saturates)"),
    Row("echo-p99", "us", "99th percentile"),
    Row("echo-rate", "k/s", "thousand requests a second", higher_is_better=True),
    Row("echo-syscalls", "calls", "system calls of the server a request, in a short run of its own"),
)}

MEASUREMENTS = (
    Measurement("await", ("await",), 20_000_000, 2_000_000),
    Measurement("await-far", ("await-far",), 20_000_000, 2_000_000),
    Measurement("switch", ("switch",), 10_000_000, 1_000_000),
    Measurement("spawn", ("spawn",), 10_000_000, 1_000_000),
    Measurement("channel", ("channel",), 10_000_000, 1_000_000),
    Measurement("generator", ("generator",), 40_000_000, 4_000_000),
    Measurement("memory", ("memory",), 200_000, 50_000, fixed=True),
    Measurement("cross", ("cross",), 100_000, 5_000, cpus=2),
    Measurement("cross-idle", ("cross-idle", "cross-idle-cpu"), 200, 50, fixed=True, cpus=2),
    Measurement("stream", ("stream",), 10_000_000, 1_000_000, cpus=2),
    Measurement("timers", ("timers", "timers-wall"), 1_000_000, 100_000, fixed=True),
    Measurement("echo", ("echo-cpu", "echo-p50", "echo-p99", "echo-rate"), cpus=2),
    Measurement("echo-syscalls", ("echo-syscalls",), cpus=2),
)

SERVERS = ("echo", "echo-syscalls")     # measured from outside, by the load generator


@dataclass(frozen=True)
class Need:
    """A file that a Debian package brings; `path` may be a glob."""
    path: str
    package: str

    def present(self):
        return any(Path("/").glob(self.path.lstrip("/")))


C = ("gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra")
CXX = ("g++", "-std=c++20", "-O2", "-Wall", "-Wextra")
GCC = Need("/usr/bin/gcc", "gcc")
GXX = Need("/usr/bin/g++", "g++")
LIBURING = Need("/usr/include/liburing.h", "liburing-dev")


@dataclass(frozen=True, eq=False)        # compared and hashed by identity
class Peer:
    """`build` and `command` are argument lists in which {src}, {out}, {cpus} and {root} are filled in."""
    name: str
    title: str
    needs: tuple
    measures: tuple
    build: tuple
    command: tuple = ("{out}/rows",)
    env: dict = field(default_factory=dict)         # of the build and of the run
    copy: bool = False                              # build in a copy: the tool writes beside the sources
    slowness: dict = field(default_factory=dict)    # measurement, or "" for the others: how many times fewer
    package: str = ""                               # whose version is quoted

    def count(self, measurement, quick):
        count = measurement.quick if quick else measurement.count
        if measurement.fixed:
            return count
        return max(1000, count // self.slowness.get(measurement.name, self.slowness.get("", 1)))


def c_peer(name, title, needs, measures, source, *libraries, **more):
    build = (C + ("{src}/" + source, "-o", "{out}/rows") + libraries,)
    return Peer(name, title, (GCC,) + needs, measures, build, **more)


ECHO = ("echo", "echo-syscalls")
TASKS = ("switch", "spawn", "channel", "memory", "timers")
CROSS = ("cross", "cross-idle", "stream")

PEERS = (
    Peer("cpp20", "C++20 coroutines by hand, pooled frames", (GXX,),
         ("await", "await-far", "generator") + TASKS,
         (CXX + ("{src}/rows.cpp", "{src}/far.cpp", "-o", "{out}/rows"),),
         package="g++"),
    Peer("asio", "asio coroutines, one io_context", (GXX, Need("/usr/include/asio.hpp", "libasio-dev")),
         ("await", "await-far") + TASKS + ECHO,
         (CXX + ("{src}/rows.cpp", "-o", "{out}/rows"),),
         slowness={"": 10, "await": 4, "await-far": 4}, package="libasio-dev"),
    Peer("tokio", "Rust: futures, and tokio current_thread",
         (Need("/usr/bin/cargo", "cargo"), Need("/usr/bin/rustc", "rustc"),
          Need("/usr/share/cargo/registry/tokio-1*", "librust-tokio-dev")),
         ("await", "await-far", "generator") + TASKS + CROSS + ECHO,
         (("cargo", "build", "--release", "--offline", "--quiet"),),
         command=("{out}/src/target/release/tokio-rows",), env={"CARGO_HOME": "{out}/cargo"}, copy=True,
         slowness={"": 10, "await": 1, "await-far": 1, "generator": 1, "cross": 5},
         package="librust-tokio-dev"),
    Peer("go", "Go goroutines", (Need("/usr/bin/go", "golang-go"),),
         TASKS + CROSS + ECHO,
         (("go", "build", "-o", "{out}/rows", "."),),
         env={"GOCACHE": "{out}/cache", "GOPATH": "{out}/path", "GOPROXY": "off", "GOMAXPROCS": "{cpus}"},
         slowness={"": 10, "cross": 5}, package="golang-go"),
    Peer("erlang", "Erlang processes", (Need("/usr/bin/erlc", "erlang-base"),),
         TASKS + CROSS + ECHO,
         (("erlc", "-o", "{out}", "{src}/rows.erl"),),
         command=("erl", "-noshell", "+S", "{cpus}", "+P", "2000000", "-pa", "{out}", "-s", "rows", "main"),
         slowness={"": 20, "cross": 5}, package="erlang-base"),
    c_peer("libuv", "libuv callbacks", (Need("/usr/include/uv.h", "libuv1-dev"),), ECHO,
           "echo.c", "-luv", package="libuv1-dev"),
    c_peer("epoll", "epoll by hand, no coroutines", (), ECHO, "echo.c", package="gcc"),
    c_peer("uring", "io_uring by hand, no coroutines", (LIBURING,), ECHO,
           "echo.c", "-luring", package="liburing-dev"),
    c_peer("threads", "futex round trips, a spinning queue", (), CROSS,
           "rows.c", "-pthread", slowness={"cross": 5}, package="gcc"),
)

COIR = Peer(
    "coir", "libcoir of this tree", (GCC, Need("/usr/bin/meson", "meson"), LIBURING),
    tuple(m.name for m in MEASUREMENTS),
    (C + ("-I", "{root}/include", "{src}/coir_rows.c", "{src}/coir_far.c", "{out}/lib/libcoir.a", "-luring",
          "-pthread", "-o", "{out}/rows"),
     C + ("-I", "{root}/include", "{src}/coir_echo.c", "{out}/lib/libcoir.a", "-luring", "-pthread",
          "-o", "{out}/echo")))
