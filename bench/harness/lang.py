# SPDX-License-Identifier: MIT
"""Runs the rows of the language: a program of each column in a fresh process, pinned, by the CPU time it took.

Nothing is timed inside a program. Each is run twice in a row, once only to prepare (it is given a word for that, or the
least number of fibers), and what is counted is the difference: the user's and the system's time as the kernel has them,
which leaves out the start of the interpreter and the making of what is sorted or looked up. Memory is the difference
of the greatest resident sets. Columns that run scripts must print the same.
"""
import os
import resource
import subprocess
import tempfile

from . import build, table

PATIENCE = 300          # seconds of CPU
PREPARE = "prepare"


class LangError(Exception):
    pass


class Lang:
    def __init__(self, cpu):
        self.cpu = cpu
        self.printed = {}       # measurement: what the first column printed

    def run(self, peer, measurement):
        """{row: value}, or LangError."""
        program = table.LANG_PROGRAMS[measurement.name]
        if peer.script:
            name = program.name
            whole = self.spend([*build.fill(peer.script, peer), name], peer)
            base = None if program.whole else self.spend([*build.fill(peer.script, peer), name, PREPARE], peer)
            self.compare(peer, measurement, whole["printed"])
            times = program.times
        else:
            row, least = program.row, table.LEAST_FIBERS
            whole = self.spend([*build.fill(peer.command, peer), row, str(program.times)], peer)
            base = self.spend([*build.fill(peer.command, peer), row, str(least)], peer)
            times = program.times - least
        spent = whole[program.counts] - (base[program.counts] if base else 0)
        return {measurement.name: spent / times}

    def compare(self, peer, measurement, printed):
        if self.printed.setdefault(measurement.name, printed) != printed:
            raise LangError(f"prints {printed.strip()!r}, another {self.printed[measurement.name].strip()!r}")

    def spend(self, words, peer):
        """What a run took, in ns and bytes."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            usage, process = self.run_pinned(place_program(words), build.environment(peer), out, err)
            out.seek(0)
            err.seek(0)
            if process.returncode:
                raise LangError(f"exit {process.returncode}: {err.read().strip()}")
            return {"cpu": (usage.ru_utime + usage.ru_stime) * 1e9, "memory": usage.ru_maxrss * 1024,
                    "printed": out.read()}

    def run_pinned(self, command, env, out, err):
        """The child has our CPU from us: what pins it would be counted if it did so itself."""
        ours = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.cpu})
        try:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        finally:
            os.sched_setaffinity(0, ours)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            process.kill()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage, process


def place_program(words):
    """The program's name goes where the command has room for it."""
    for i, word in enumerate(words):
        if "NAME" in word:
            rest = words[i + 1:]
            return [*words[:i], word.replace("NAME", rest[0]), *rest[1:]]
    return words
