# SPDX-License-Identifier: MIT
"""Runs the NBD rows: one server at a time on a Unix socket, fio's nbd engine beside it, neither pinned.

Each column has an image of its own, filled once from the first to the last byte by the client that measures, so that
no column reads holes or writes to new space. Every run is a fresh server on that image, and before what is measured all
that is in the page cache is written back, so that nobody pays for what others have left there. What is counted is what
fio says of the time after a second of warming up.
"""
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from . import build, table

PATIENCE = 120          # seconds for anything
STORE = 6               # a store for coir: so many times the volume
PERCENTILES = {"p50": "50.000000", "p99": "99.000000", "p999": "99.900000"}


class NbdError(Exception):
    pass


def output(command, **more):
    done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE, **more)
    if done.returncode:
        raise NbdError(f"{command[0]}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def figures(name, job, quick_counts):
    """The rows of one job, from fio's words about it."""
    side = job["read"] if job["read"]["total_ios"] > job["write"]["total_ios"] else job["write"]
    # Of a durable write what counts is when it is durable: the flush behind it.
    latency = job["sync"]["lat_ns"] if job["sync"]["total_ios"] else side["clat_ns"]
    rows = {name: side["iops"]}
    for row, key in PERCENTILES.items():
        rows[f"{name}-{row}"] = latency["percentile"][key] / 1000
    rows.update(quick_counts)
    return rows


class Server:
    """A column's server on its image, until the end of a `with`."""

    def __init__(self, nbd, peer, environment=None):
        self.nbd, self.peer = nbd, peer
        self.socket = nbd.folder / f"{peer.name}.nbd"
        self.image = nbd.folder / peer.name
        self.command = [str(word).format(socket=self.socket, image=self.image, coir=nbd.coir) for word in peer.serve]
        self.environment = dict(build.environment(), **(environment or {}))

    def __enter__(self):
        self.socket.unlink(missing_ok=True)
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(PATIENCE * 50):
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(str(self.socket))
                return self
            except OSError:
                if self.process.poll() is not None:
                    raise NbdError(f"the server ended: {self.process.stderr.read().strip()}") from None
                time.sleep(0.02)
        raise NbdError("the server does not listen")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()

    def fio(self, job, seconds=None):
        """fio's words about a job, which is done once, or for some seconds."""
        command = ["fio", "--name=job", "--ioengine=nbd", f"--size={self.nbd.size}", "--group_reporting",
                   f"--uri=nbd+unix:///{'v' if self.peer is table.COIR else ''}?socket={self.socket}",
                   "--output-format=json", "--randrepeat=0", *job]
        if seconds:
            command += ["--time_based", f"--runtime={seconds}", "--ramp_time=1"]
        text = output(command, env=build.environment())
        return json.loads(text[text.index("{"):])["jobs"][0]

    def stats(self):
        """What coir says of the store that it serves."""
        return json.loads(output([str(self.nbd.coir), "volume", "stats", str(self.image), "--json"]))


class Nbd:
    def __init__(self, quick):
        self.seconds, self.size = (1, "256M") if quick else (3, "1G")
        self.coir = build.out_dir(table.COIR) / "lib/cli/coir"
        self.folder = None

    def close(self):
        if self.folder:
            shutil.rmtree(self.folder)
        self.folder = None

    def make_image(self, peer):
        """Once for each column: an image, full."""
        image = self.folder / peer.name
        if image.exists():
            return
        for command in peer.make:
            output([str(word).format(image=image, size=self.size, store=self.store(), coir=self.coir)
                    for word in command], env=build.environment())
        with Server(self, peer) as server:
            server.fio(["--rw=write", "--bs=1M", "--iodepth=4"])

    def store(self):
        return f"{STORE * int(self.size[:-1])}{self.size[-1]}"

    def run(self, peer, measurement):
        """{row: value}, or NbdError."""
        if not shutil.which("fio", path=build.PATH):
            raise NbdError("needs fio (apt install fio)")
        if peer is table.COIR and not self.coir.exists():
            raise NbdError("this build has no command `coir` (apt install libisal-dev libblkid-dev libjson-c-dev)")
        if not self.folder:
            self.folder = Path(tempfile.mkdtemp(prefix="nbd.", dir=build.OUT))
        self.make_image(peer)
        job = table.NBD_JOBS[measurement.name]
        if measurement.name == "nbd-heap":
            return self.count_heap(peer, job)
        with Server(self, peer) as server:
            for before in table.nbd_before(measurement.name):
                server.fio(before)
            os.sync()
            if peer is not table.COIR or "--fsync=1" not in job:
                return figures(measurement.name, server.fio(job, self.seconds), {})
            return self.durable(server, measurement.name, job)

    def durable(self, server, name, job):
        """The same, and what the store counts meanwhile, the warming up included: flushes a write, and the share of a
        core that committing takes."""
        before, begun = server.stats(), time.monotonic()
        result = server.fio(job, self.seconds)
        after, ended = server.stats(), time.monotonic()
        writes = after["records"] - before["records"]
        return figures(name, result, {
            f"{name}-flushes": (after["flushes"] - before["flushes"]) / writes,
            f"{name}-commit": (after["busy"] - before["busy"]) / 1e7 / (ended - begun),
        })

    def count_heap(self, peer, job):
        """Heap allocations a request of a server that has warmed up: a long job's less a short one's, which leaves out
        what a connection costs."""
        counter = self.folder / "heap"
        counter.write_bytes(bytes(8))
        requests = 50_000
        with Server(self, peer, {"LD_PRELOAD": str(build.HEAP), "BENCH_HEAP": str(counter)}) as server:
            counts = []
            for n in (requests, requests, 2 * requests):
                before = struct.unpack("Q", counter.read_bytes())[0]
                server.fio([*job, f"--io_size={4 * n}k"])
                counts.append(struct.unpack("Q", counter.read_bytes())[0] - before)
        return {"nbd-heap": max(0, counts[2] - counts[1]) / requests}
