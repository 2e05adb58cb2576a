# SPDX-License-Identifier: MIT
"""Runs the rows of the language: a program of each column in a fresh process, pinned, by the CPU time it took.

Nothing is timed inside a program. Each is run twice in a row, once only to prepare (it is given a word for that, or the
least number of fibers), and what is counted is the difference: the user's and the system's time as the kernel has them,
which leaves out the start of the interpreter and the making of what is sorted or looked up. Memory is the difference
of the greatest resident sets. On two cores CPU time does not say who waits: there it is the time between the start and
the end of the process. Columns that run scripts must print the same.
"""
import os
import resource
import subprocess
import tempfile
import threading
import time

from . import build, table

PATIENCE = 300          # seconds of CPU, and of a program that waits for ever
PREPARE = "prepare"


class LangError(Exception):
    pass


class Lang:
    def __init__(self, cpu_a, cpu_b):
        self.cpu_a, self.cpu_b = cpu_a, cpu_b
        self.printed = {}       # measurement: what the first column printed
        self.latest = {}        # (column, row): its figure

    def run(self, peer, measurement):
        """{row: value}, or LangError."""
        program = table.LANG_PROGRAMS[measurement.name]
        if peer.script:
            name = program.script or program.name
            words = [*build.fill(peer.script, peer, program.cpus), name]
            whole = self.spend(words, peer, program.cpus)
            base = None if program.whole else self.spend([*words, PREPARE], peer, program.cpus)
            self.compare(peer, measurement, whole["printed"])
            times = program.times
        else:
            count, least = program.count(peer), table.LEAST_FIBERS
            words = [*build.fill(peer.command, peer, program.cpus), program.row]
            whole = self.spend([*words, str(count)], peer, program.cpus)
            base = self.spend([*words, str(least)], peer, program.cpus)
            times = program.times if program.unit == "ms" else count - least
        spent = whole[program.counts] - (base[program.counts] if base else 0)
        return self.figures(peer, measurement, spent / times)

    def figures(self, peer, measurement, figure):
        """With how many times as fast it is as on one core, if that has been measured."""
        self.latest[peer, measurement.name] = figure
        alone = self.latest.get((peer, table.LANG_PROGRAMS[measurement.name].alone))
        return {measurement.name: figure} | ({table.LANG_GAIN: alone / figure} if alone else {})

    def compare(self, peer, measurement, printed):
        if self.printed.setdefault(measurement.name, printed) != printed:
            raise LangError(f"prints {printed.strip()!r}, another {self.printed[measurement.name].strip()!r}")

    def spend(self, words, peer, cpus):
        """What a run took, in ns and bytes."""
        env = build.environment(peer, cpus) | {"BENCH_CPU_A": str(self.cpu_a), "BENCH_CPU_B": str(self.cpu_b)}
        pinned = {self.cpu_b} if cpus == 1 else {self.cpu_a, self.cpu_b}
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            begun = time.monotonic_ns()
            usage, process = self.run_pinned(place_program(words), pinned, env, out, err)
            wall = time.monotonic_ns() - begun
            out.seek(0)
            err.seek(0)
            if process.returncode:
                raise LangError(f"exit {process.returncode}: {err.read().strip()}")
            return {"cpu": (usage.ru_utime + usage.ru_stime) * 1e9, "memory": usage.ru_maxrss * 1024,
                    "wall": wall, "printed": out.read()}

    def run_pinned(self, command, cpus, env, out, err):
        """The child has its CPUs from us: what pins it would be counted if it did so itself."""
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, cpus)
        try:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        finally:
            os.sched_setaffinity(0, ours)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            process.kill()
            raise
        finally:
            alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage, process


def place_program(words):
    """The program's name goes where the command has room for it."""
    for i, word in enumerate(words):
        if "NAME" in word:
            rest = words[i + 1:]
            return [*words[:i], word.replace("NAME", rest[0]), *rest[1:]]
    return words
