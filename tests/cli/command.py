# SPDX-License-Identifier: MIT
"""What the tests of the command share: running it, programs with a window, and windows that are none of coir's."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
from support import PATIENCE, SOURCE, Server, case, done, eq, ok, receive, receive_all, skip     # noqa: F401, E402

COIR = Path(os.environ["COIR_COMMAND"])
TEMP = tempfile.TemporaryDirectory()


def coir(*args, env=None, **more):
    """Runs the command to its end: (exit status, stdout, stderr)."""
    process = subprocess.run([COIR, *map(str, args)], encoding="utf-8", stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                             env={**os.environ, **(env or {})}, **more)
    return process.returncode, process.stdout, process.stderr


def place(name):
    return str(Path(TEMP.name) / name)


class Seen(Server):
    """An example that has a window."""

    def __init__(self, name, *args, see=None, env=None):
        self.see = see or place(f"{name}.see")
        super().__init__(name, *args, env={**(env or {}), "COIR_SEE": self.see})
        until = time.monotonic() + PATIENCE         # it says that it listens before its run begins
        while not self.is_seen() and time.monotonic() < until:
            os.sched_yield()

    def connect_to_window(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        sock.connect(self.see.replace("@", "\0") if self.see[0] == "@" else self.see)
        return sock

    def is_seen(self):
        try:
            self.connect_to_window().close()
            return True
        except OSError:
            return False

    def ask(self, request):
        with self.connect_to_window() as sock:
            sock.sendall(request.encode() + b"\n")
            return receive_all(sock).decode()


SHARD = {"shard": 0, "cpu_ns": 10**9, "steps": 1000, "completions": 0, "syscalls": 0, "messages": 0, "allocations": 0,
         "live": 3, "in_flight": 0, "queue_high": 0, "timers": 0}
STATS = {"coir": "0", "program": "fake", "plane": "epoll", "pid": 4242, "up_ns": 10 * 10**9, "now_ns": 10**10,
         "start_ns": 1, "shards": [SHARD]}
TASKS = {"shards": [{"shard": 0, "answered": True, "tasks": 3, "took_ns": 1}], "tasks": 3, "other": 0, "rows": []}


def row(count, task="t", line=1, file="f.c", at=("t", "f.c", 2), waits="coir_recv"):
    there = dict(zip(("task", "file", "line"), at)) if at else None
    return {"count": count, "task": task, "file": file, "line": line, "at": there, "waits": waits}


class Fake:
    """A window that answers what it is told to: to each request bytes, an object, or what a function returns."""

    def __init__(self, name="fake.see", **answers):
        self.path = place(name)
        self.answers = {"stats": STATS, "tasks": TASKS, **answers}
        self.asked = {"stats": 0, "tasks": 0}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def answer(self, request):
        self.asked[request] = self.asked.get(request, 0) + 1
        answer = self.answers.get(request, b"error: no such request\n")
        if callable(answer):
            answer = answer(self.asked[request])
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode() + b"\n"

    def serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with sock:
                try:
                    sock.sendall(self.answer(sock.recv(100).decode().strip()))
                except OSError:
                    pass

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        Path(self.path).unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
