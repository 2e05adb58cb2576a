# SPDX-License-Identifier: MIT
"""Runs one measurement of one column, in a fresh process on the chosen CPUs, and returns what it printed.

Rows on one core run on CPU B. Rows across two get both and pin their threads themselves. An echo server runs
on B and the load generator on A.
"""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

from . import build, lang, nbd, table

TIMEOUT = 180           # seconds; a program that takes longer has failed
NO_COUNTING = 3         # loadgen: this machine does not let us count system calls


class RunError(Exception):
    pass


def parse(text):
    """Every `row value unit` line of a program's output."""
    lines = (line.split() for line in text.splitlines())
    return {words[0]: float(words[1]) for words in lines if len(words) == 3 and re.match(r"-?\d", words[1])}


class Runner:
    def __init__(self, cpu_a, cpu_b, quick):
        self.cpu_a, self.cpu_b, self.quick = cpu_a, cpu_b, quick
        self.nbd = nbd.Nbd(quick)
        self.lang = lang.Lang(cpu_a, cpu_b)
        self.use_strace = False     # set when the kernel's counters turned out to be closed to us

    def environment(self, peer, cpus):
        env = build.environment(peer, cpus)
        env.update(BENCH_CPU_A=str(self.cpu_a), BENCH_CPU_B=str(self.cpu_b))
        return env

    def run(self, peer, measurement):
        """{row: value}, or RunError."""
        try:
            if measurement.name in table.SERVERS:
                return self.serve(peer, measurement)
            if measurement.name in table.NBD_JOBS:
                return self.nbd.run(peer, measurement)
            if measurement.name in table.LANG_PROGRAMS:
                return self.lang.run(peer, measurement)
            return self.run_program(peer, measurement)
        except subprocess.TimeoutExpired:
            raise RunError(f"took longer than {TIMEOUT} s") from None
        except (nbd.NbdError, lang.LangError) as error:
            raise RunError(str(error)) from None

    def close(self):
        self.nbd.close()

    def run_program(self, peer, measurement):
        cpus = str(self.cpu_b) if measurement.cpus == 1 else f"{self.cpu_a},{self.cpu_b}"
        command = ["taskset", "-c", cpus, *build.fill(peer.command, peer, measurement.cpus), measurement.name,
                   str(peer.count(measurement, self.quick))]
        return self.output(command, self.environment(peer, measurement.cpus))

    def output(self, command, env):
        done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=TIMEOUT)
        if done.returncode:
            error = RunError(f"exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
            error.code = done.returncode
            raise error
        return parse(done.stdout)

    # ---- servers ----

    def serve(self, peer, measurement):
        counting = measurement.name == "echo-syscalls"
        if counting and not self.use_strace:
            try:
                return self.load(peer, [], 0.5, ["count-syscalls"])
            except RunError as error:
                if getattr(error, "code", 0) != NO_COUNTING:
                    raise
                self.use_strace = True
        if counting:
            return self.count_with_strace(peer)
        return self.load(peer, [], 1 if self.quick else 3)

    def load(self, peer, wrapper, seconds, more=()):
        """Starts the server, drives it, kills it; what the generator printed."""
        port = free_port()
        program = [f"{build.out_dir(peer)}/echo"] if peer is table.COIR else build.fill(peer.command, peer)
        command = [*wrapper, "taskset", "-c", str(self.cpu_b), *program, "echo", str(port)]
        server = subprocess.Popen(command, env=self.environment(peer, 1), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            return self.output(["taskset", "-c", str(self.cpu_a), str(build.LOADGEN), str(port), "64", "64",
                                str(seconds), str(server.pid), *more], None)
        except RunError as error:
            if server.poll() is not None:
                words = server.stderr.read().strip()
                raise RunError(f"the server ended ({server.returncode}): {words}") from error
            raise
        finally:
            server.send_signal(signal.SIGKILL)
            server.communicate()

    def count_with_strace(self, peer):
        """Calls a request over a whole run. The tracer slows the server, so it batches more than it would."""
        with tempfile.TemporaryDirectory() as directory:
            summary = os.path.join(directory, "strace")
            try:
                # -D: the server is our child and the tracer a grandchild, so the pid is the server's.
                result = self.load(peer, ["strace", "-D", "-f", "-c", "-o", summary], 1)
            except FileNotFoundError:
                raise RunError("needs root and a mounted tracefs, or the package strace") from None
            calls = wait_for_total(summary)
        return {"echo-syscalls": calls / result["echo-requests"]}


def wait_for_total(path):
    """The calls column of strace's last line, which appears some time after the server's death."""
    for _ in range(100):
        try:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    words = line.split()
                    if words and words[-1] == "total":
                        return int(words[3])
        except FileNotFoundError:
            pass
        time.sleep(0.05)
    raise RunError("strace wrote no summary")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
