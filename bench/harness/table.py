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
    asked: bool = False     # only when its rows are asked for: it takes long


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

# ---- NBD: fio's jobs, and four rows for each

NBD_JOBS = {
    "nbd-randread-1": ("--rw=randread", "--bs=4k", "--iodepth=1"),
    "nbd-randread-32": ("--rw=randread", "--bs=4k", "--iodepth=32"),
    "nbd-randwrite-1": ("--rw=randwrite", "--bs=4k", "--iodepth=1"),
    "nbd-randwrite-32": ("--rw=randwrite", "--bs=4k", "--iodepth=32"),
    "nbd-durable-1": ("--rw=randwrite", "--bs=4k", "--iodepth=1", "--fsync=1"),
    "nbd-durable-32": ("--rw=randwrite", "--bs=4k", "--iodepth=32", "--fsync=1"),
    "nbd-clients": ("--rw=randwrite", "--bs=4k", "--iodepth=2", "--numjobs=16", "--thread"),
    "nbd-seqread": ("--rw=read", "--bs=1M", "--iodepth=4"),
    "nbd-seqwrite": ("--rw=write", "--bs=1M", "--iodepth=4"),
    "nbd-seqdurable": ("--rw=write", "--bs=1M", "--iodepth=4", "--fsync=1"),
    "nbd-aged-seqread": ("--rw=read", "--bs=1M", "--iodepth=4"),
    "nbd-aged-seqwrite": ("--rw=write", "--bs=1M", "--iodepth=4"),
    "nbd-heap": ("--rw=randrw", "--bs=4k", "--iodepth=32"),
}


# What is done first, on the same server: so that it does not matter which rows were measured before.
NBD_IN_ORDER = ("--rw=write", "--bs=1M", "--iodepth=4")
NBD_AT_RANDOM = ("--rw=randwrite", "--bs=4k", "--iodepth=32", "--io_size=25%")


def nbd_before(name):
    """The jobs before that of a row: all was written in order last, or then a quarter at random."""
    if name.startswith("nbd-aged-"):
        return (NBD_IN_ORDER, NBD_AT_RANDOM)
    return (NBD_IN_ORDER,) if name.startswith("nbd-seq") else ()


def nbd_rows(name, job):
    words = dict(word[2:].split("=") for word in job if "=" in word)
    what = f"NBD: {words['bs']} {words['rw']}, depth {words['iodepth']}"
    if "fsync" in words:
        what += ", a flush behind each write"
    if name.startswith("nbd-aged-"):
        what += ", where a quarter was written at random"
    if "numjobs" in words:
        what += f", {words['numjobs']} clients"
    if name == "nbd-heap":
        yield Row(name, "calls", what + ": heap allocations of the server a request")
        return
    yield Row(name, "1/s", what + ": requests a second", higher_is_better=True)
    latency = "latency of the flushes" if "fsync" in words else "latency"
    for row, share in (("p50", "median"), ("p99", "99th percentile"), ("p999", "99.9th percentile")):
        yield Row(f"{name}-{row}", "us", f"{latency}: {share}")
    if "fsync" in words:
        yield Row(f"{name}-flushes", "calls", "flushes of the device a write, as coir counts them")
        yield Row(f"{name}-commit", "%", "of a core, that committing took")


for name_, job_ in NBD_JOBS.items():
    rows_ = tuple(nbd_rows(name_, job_))
    ROWS.update((row.name, row) for row in rows_)
    MEASUREMENTS += (Measurement(name_, tuple(row.name for row in rows_), asked=True),)

# ---- the language: a program each, and one row


@dataclass(frozen=True)
class Program:
    name: str               # of the script
    what: str
    unit: str = "ms"
    times: int = 1_000_000  # the figure is of one of so many; of ms: of the whole
    counts: str = "cpu"     # or "memory", or "wall"
    whole: bool = False     # nothing is taken off: the start is what counts
    row: str = ""           # of peers that are no interpreters: the row of their program
    asked: int = 0          # and the N that it is run with, over the peer's slowness there; `times` if 0
    script: str = ""        # the name of the script, if another
    cpus: int = 1           # 2: both cores, and two shards
    alone: str = ""         # the row of the same on one core, whose figure over this one is LANG_GAIN

    def count(self, peer):
        """What the row of a peer's program is asked for."""
        return (self.asked or self.times) // peer.slowness.get(f"lang-{self.name}", 1)


LEAST_FIBERS = 1000
LANG_GAIN = "lang-busy-gain"
LOAD = "8 fibers that compute and send what parts came to, 150M turns in all"
LANG_PROGRAMS = {f"lang-{program.name.replace('_', '-')}": program for program in (
    Program("start", "a line is printed: the whole run", whole=True),
    Program("fib", "fib(35): calls"),
    Program("loop", "30M turns of a loop of integers"),
    Program("mandelbrot", "400 x 400 points of the Mandelbrot set, 100 turns: floats"),
    Program("nbody", "1M steps of five bodies: floats in records in a list"),
    Program("texts", "1M pieces made and joined, 1M short texts made"),
    Program("sort_library", "the library sorts 1M numbers"),
    Program("sort_by", "the same by a function of the program"),
    Program("sort", "quicksort of 1M numbers, written in the language"),
    Program("map_int", "a map of numbers: 1M written, 1M read"),
    Program("map_text", "a map by texts: the same"),
    Program("spawn", "start a fiber that does nothing, and wait for it, a thousand at a time", "ns", row="spawn"),
    Program("parked", "resident memory of a fiber that waits on a channel, of 200,000", "B", 200_000, "memory",
            row="memory"),
    Program("ring", "a number handed on in a ring of 1,000 fibers, 5M times: a hop", "ns", 5_000_000, row="ring"),
    Program("actor", "100 fibers call an actor: a call with its reply", "ns", 4_000_000, row="actor"),
    Program("send", "100 fibers send to an actor, which replies to one call at the end: a message", "ns", 6_000_000,
            row="send"),
    Program("cross", "a round trip by two channels between two shards", "ns", 20_000, "wall", row="ping-pong",
            asked=1_000_000, cpus=2),
    Program("cross-bound", "the same, Go's and Erlang's two ends bound to a core each", "ns", 20_000, "wall",
            row="cross", asked=10_000, script="cross", cpus=2),
    Program("busy-1", LOAD + "; one shard on one core", counts="wall", row="busy", asked=150_000_000, script="busy"),
    Program("busy-2", "the same, two shards on two cores", counts="wall", row="busy", asked=150_000_000, script="busy",
            cpus=2, alone="lang-busy-1"),
)}
LANG_KINDS = {"cpu": "language, CPU time: ", "memory": "language: ", "wall": "language, wall: "}
ROWS.update((name, Row(name, program.unit, LANG_KINDS[program.counts] + program.what))
            for name, program in LANG_PROGRAMS.items())
ROWS[LANG_GAIN] = Row(LANG_GAIN, "x", "language: lang-busy-1 over lang-busy-2: 2 is both cores kept busy all the time",
                      higher_is_better=True)
MEASUREMENTS += tuple(      # who asks for the gain needs both rows that it is made of
    Measurement(name, (name, LANG_GAIN) if program.script == "busy" else (name,), cpus=program.cpus, asked=True)
    for name, program in LANG_PROGRAMS.items())
FIBERS = tuple(name for name, program in LANG_PROGRAMS.items() if program.row)
SCRIPTS = tuple(name for name in LANG_PROGRAMS if name not in FIBERS)

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
LUAJIT = Need("/usr/bin/luajit", "luajit")
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
    make: tuple = ()        # of an NBD server: the commands that make an image; {image}, {size}, {store}, {coir}
    aside: bool = False     # shown, but the best peer is another: it does something else
    script: tuple = ()      # what runs a script of the language's rows; NAME is the script's
    serve: tuple = ()       # and what serves it, in the foreground, at the Unix socket {socket}

    def count(self, measurement, quick):
        count = measurement.quick if quick else measurement.count
        if measurement.fixed:
            return count
        return max(1000, count // self.slowness.get(measurement.name, self.slowness.get("", 1)))


def c_peer(name, title, needs, measures, source, *libraries, **more):
    build = (C + ("{src}/" + source, "-o", "{out}/rows") + libraries,)
    return Peer(name, title, (GCC,) + needs, measures, build, **more)


def nbd_peer(name, title, package, make, *serve):
    return Peer(name, title, (FIO, Need(f"/usr/bin/{serve[0]}", package)), tuple(NBD_JOBS), (), package=package,
                make=make, serve=serve)


FIO = Need("/usr/bin/fio", "fio")
QEMU_NBD = ("qemu-nbd", "--persistent", "--shared=0", "--socket={socket}")
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
         TASKS + CROSS + ECHO + FIBERS,
         (("go", "build", "-o", "{out}/rows", "."),),
         env={"GOCACHE": "{out}/cache", "GOPATH": "{out}/path", "GOPROXY": "off", "GOMAXPROCS": "{cpus}"},
         slowness={"": 10, "cross": 5, "lang-actor": 4}, package="golang-go"),
    Peer("erlang", "Erlang processes", (Need("/usr/bin/erlc", "erlang-base"),),
         TASKS + CROSS + ECHO + FIBERS,
         (("erlc", "-o", "{out}", "{src}/rows.erl"),),
         command=("erl", "-noshell", "+S", "{cpus}", "+P", "2000000", "-pa", "{out}", "-s", "rows", "main"),
         slowness={"": 20, "cross": 5, "lang-actor": 4, "lang-send": 6}, package="erlang-base"),
    c_peer("libuv", "libuv callbacks", (Need("/usr/include/uv.h", "libuv1-dev"),), ECHO,
           "echo.c", "-luv", package="libuv1-dev"),
    c_peer("epoll", "epoll by hand, no coroutines", (), ECHO, "echo.c", package="gcc"),
    c_peer("uring", "io_uring by hand, no coroutines", (LIBURING,), ECHO,
           "echo.c", "-luring", package="liburing-dev"),
    c_peer("threads", "futex round trips, a spinning queue", (), CROSS,
           "rows.c", "-pthread", slowness={"cross": 5}, package="gcc"),
    Peer("lua", "Lua 5.4", (Need("/usr/bin/lua5.4", "lua5.4"),), SCRIPTS, (),
         script=("lua5.4", "{src}/NAME.lua"), package="lua5.4"),
    Peer("luajit-off", "LuaJIT, interpreting only", (LUAJIT,), SCRIPTS, (),
         script=("luajit", "-joff", "{root}/bench/peers/lua/NAME.lua"), package="luajit"),
    Peer("luajit", "LuaJIT, which compiles: no best peer", (LUAJIT,), SCRIPTS, (), aside=True,
         script=("luajit", "{root}/bench/peers/lua/NAME.lua"), package="luajit"),
    Peer("python", "CPython", (Need("/usr/bin/python3", "python3"),), SCRIPTS, (),
         script=("python3", "{src}/NAME.py"), package="python3"),
    nbd_peer("qemu-raw", "qemu-nbd over a file", "qemu-utils", (("fallocate", "-l", "{size}", "{image}"),),
             *QEMU_NBD, "--format=raw", "{image}"),
    nbd_peer("qemu-qcow2", "qemu-nbd over qcow2", "qemu-utils",
             (("qemu-img", "create", "-q", "-f", "qcow2", "{image}", "{size}"),),
             *QEMU_NBD, "--format=qcow2", "{image}"),
    nbd_peer("nbdkit", "nbdkit, its plugin `file`", "nbdkit", (("fallocate", "-l", "{size}", "{image}"),),
             "nbdkit", "--foreground", "--unix={socket}", "file", "{image}"),
)

COIR = Peer(
    "coir", "libcoir of this tree", (GCC, Need("/usr/bin/meson", "meson"), LIBURING),
    tuple(m.name for m in MEASUREMENTS),
    (C + ("-I", "{root}/include", "{src}/coir_rows.c", "{src}/coir_far.c", "{out}/lib/libcoir.a", "-luring",
          "-pthread", "-o", "{out}/rows"),
     C + ("-I", "{root}/include", "{src}/coir_echo.c", "{out}/lib/libcoir.a", "-luring", "-pthread",
          "-o", "{out}/echo")),
    script=("{out}/lib/cli/coir", "run", "--shards", "{cpus}", "{src}/lang/NAME.coir"),
    make=(("{coir}", "volume", "init", "{image}", "--size", "{store}"),
          ("{coir}", "volume", "create", "{image}", "v", "--size", "{size}")),
    serve=("{coir}", "volume", "serve", "{image}", "--nbd", "unix:{socket}"))
