# SPDX-License-Identifier: MIT
"""What the tests of the examples share: TAP, the built programs, servers that are started and ended.

A check is ok(), eq() or skip(); a case is a function with @case, whose exception is one failed check and not the
end of the script. Nothing here waits for a time: what must happen is awaited, PATIENCE seconds at most, and then
it is a failure.
"""
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

EXAMPLES = Path(os.environ["COIR_EXAMPLES"])
SOURCE = Path(os.environ["COIR_SOURCE"])
PATIENCE = 60

count = failed = 0


def ok(good, name, said=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    for line in str(said).splitlines()[-25:] if not good else ():
        print("# " + line, flush=True)
    return good


def eq(got, expected, name):
    return ok(got == expected, name, f"got      {clip(got)}\nexpected {clip(expected)}")


def clip(value):
    text = repr(value)
    return text if len(text) < 2000 else text[:1000] + " ... " + text[-1000:]


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def case(function):
    """Runs a function at once; an exception in it is a failed check."""
    try:
        function()
    except Exception:
        ok(False, f"{function.__name__} comes to its end", traceback.format_exc())
    return function


def done():
    print(f"1..{count}", flush=True)
    sys.exit(1 if failed else 0)


def many_files():
    """As many descriptors as are allowed, here and in what is started from here. The number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def few_files(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


def run(name, *args, **more):
    """Runs an example to its end: (exit status, stdout, stderr)."""
    settings = {"encoding": "utf-8", "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": PATIENCE}
    process = subprocess.run([EXAMPLES / name, *map(str, args)], **{**settings, **more})
    return process.returncode, process.stdout, process.stderr


def usage_cases(name, *bad):
    """--help is printed and is no error; each list of arguments in `bad` is one, and says so."""
    code, out, err = run(name, "--help")
    eq((code, out[:6], err), (0, "usage:", ""), f"{name} --help")
    for args in bad:
        code, out, err = run(name, *args)
        eq((code, out), (2, ""), f"{name} {' '.join(args)}: refused")
        ok(err != "", f"{name} {' '.join(args)}: with a reason")


def begin(files):
    """In the child: who is started in the background by a shell has SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if files:
        few_files(files)


class Server:
    """An example that serves, on a free port of 127.0.0.1 as a rule; with no more than `files` descriptors."""

    def __init__(self, name, *args, env=None, files=None):
        self.name = name
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([EXAMPLES / name, *map(str, args)], stdout=subprocess.PIPE, stderr=self.errors,
                                        encoding="utf-8", env={**os.environ, **(env or {})},
                                        preexec_fn=lambda: begin(files))
        self.line = self.process.stdout.readline()
        match = re.search(r" on (?:http://)?(\S+?)/?$", self.line)
        if not match:
            self.process.kill()
            raise RuntimeError(f"{name} said {self.line!r}, {self.said()!r}")
        self.where = match.group(1)
        port = re.search(r":(\d+)$", self.where)
        self.port = int(port.group(1)) if port else 0

    def said(self):
        """What it has said on stderr so far. The file's position is the server's: it is not moved."""
        return os.pread(self.errors.fileno(), 1 << 24, 0).decode(errors="replace")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        ok(alive, f"{self.name} still runs when it is killed", f"exit {self.process.returncode}\n{self.said()}")
        self.errors.close()


def receive_all(sock):
    """What comes until the other side closes."""
    parts = []
    while part := sock.recv(65536):
        parts.append(part)
    return b"".join(parts)


def receive(sock, n):
    """n bytes, or what came before the end."""
    parts, have = [], 0
    while have < n and (part := sock.recv(min(n - have, 65536))):
        parts.append(part)
        have += len(part)
    return b"".join(parts)


def reset(sock):
    """Closes rudely: the other side sees ECONNRESET."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
