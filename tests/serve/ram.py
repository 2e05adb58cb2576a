# SPDX-License-Identifier: MIT
"""A server of volumes in memory (nbd_ram.c), and a client of it that speaks raw bytes.

The client knows the protocol from its document and shares nothing with the server. It does what it is told, also
what no client may do. Whatever comes is waited for at most PATIENCE seconds.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "examples"))
from support import PATIENCE, clip, eq, ok  # noqa: E402

PROGRAM = Path(os.environ["COIR_TESTS"]) / "nbd_ram"

MAGIC, OPTION_MAGIC, REPLY_MAGIC = 0x4e42444d41474943, 0x49484156454f5054, 0x3e889045565a9
REQUEST_MAGIC, SIMPLE_MAGIC, CHUNK_MAGIC = 0x25609513, 0x67446698, 0x668e33ef

EXPORT_NAME, ABORT, LIST, STARTTLS, INFO, GO, STRUCTURED, LIST_META, SET_META = 1, 2, 3, 5, 6, 7, 8, 9, 10
ACK, SERVER, REP_INFO, META_CONTEXT = 1, 2, 3, 4
ERR = 1 << 31
UNSUP, POLICY, INVALID, UNKNOWN, SHUTDOWN, TOO_BIG = ERR + 1, ERR + 2, ERR + 3, ERR + 6, ERR + 7, ERR + 9

READ, WRITE, DISC, FLUSH, TRIM, CACHE, ZEROES, STATUS = range(8)
FUA, NO_HOLE, DF, REQ_ONE, FAST = 1, 2, 4, 8, 16
DONE = 1
NONE, DATA, HOLE, EXTENTS, ERROR = 0, 1, 2, 5, 0x8001
EPERM, EIO, ENOMEM, EINVAL, ENOSPC, EOVERFLOW, ENOTSUP, ESHUTDOWN = 1, 5, 12, 22, 28, 75, 95, 108

HAS_FLAGS, READ_ONLY, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_ZEROES = 1, 2, 4, 8, 32, 64
SEND_DF, MULTI_CONN, SEND_CACHE, SEND_FAST = 128, 256, 1024, 2048

MIB = 1 << 20
READ_FLAGS = HAS_FLAGS | MULTI_CONN | SEND_CACHE
WRITE_FLAGS = READ_FLAGS | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_ZEROES | SEND_FAST


class Ram:
    """A server. Leaving it stops it, and checks that nothing of it is left, and nothing unexpected was said."""

    def __init__(self, *args, env=None, quiet=True):
        self.errors = tempfile.TemporaryFile()
        self.quiet = quiet
        self.process = subprocess.Popen([PROGRAM, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, encoding="utf-8",
                                        env={**os.environ, "COIR_SLOW_MS": "0", **(env or {})})      # a busy machine
        self.addresses = []
        for _ in range(max(1, list(args).count("-w"))):
            line = self.process.stdout.readline()
            match = re.match(r"listening (\S+)$", line)
            if not match:
                self.process.kill()
                raise RuntimeError(f"nbd_ram said {line!r}, {self.said()!r}")
            self.addresses.append(match.group(1))
        self.last = self.stopped = None

    @property
    def address(self):
        return self.addresses[0]

    def uri(self, export=""):
        if self.address.startswith("unix:"):
            return f"nbd+unix:///{export}?socket={self.address[5:]}"
        return f"nbd://{self.address}/{export}"

    def said(self):
        """What it has said on stderr so far."""
        return os.pread(self.errors.fileno(), 1 << 24, 0).decode(errors="replace")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self):
        """A line that it prints, but for the one that it prints when the server ends."""
        line = self.process.stdout.readline().strip()
        if line.startswith("stopped"):
            self.stopped = line
            return self.hear()
        return line

    def count(self):
        return json.loads(self.tell("count"))

    def until(self, condition, what):
        """Asks for the counters until they are as they should be. That they are is a check."""
        for _ in range(PATIENCE * 200):
            count = self.count()
            if condition(count):
                return ok(True, what)
            select_nothing(0.005)
        return ok(False, what, count)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX if self.address.startswith("unix:") else socket.AF_INET)
        sock.settimeout(PATIENCE)
        if self.address.startswith("unix:"):
            sock.connect(self.address[5:])
        else:
            host, port = self.address.rsplit(":", 1)
            sock.connect((host, int(port)))
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)      # what was sent is there
        return sock

    def client(self, *args, **more):
        return Client(self.connect(), *args, **more)

    def stop(self):
        """Its last counters, with the status of the server as "status"."""
        if self.last is None:
            self.process.stdin.close()
            self.last = json.loads(self.hear() or "{}")
            self.last["status"] = self.stopped
            self.process.wait(timeout=PATIENCE)
        return self.last

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            ok(self.process.poll() is None, "the server runs", f"exit status {self.process.returncode}\n{self.said()}")
            self.process.kill()
            self.process.wait()
            return
        last = self.stop()
        left = {key: last.get(key) for key in ("status", "live", "ram_opened", "ram_invalid")}
        eq((self.process.returncode, left),
           (0, {"status": "stopped -125", "live": 0, "ram_opened": 0, "ram_invalid": 0}),
           "the server ends well, and nothing is left open")
        said = self.said()
        ok(not self.quiet or said == "", "and has nothing to say", said)
        ok("Sanitizer" not in said and "assertion failed" not in said and "runtime error" not in said,
           "no sanitizer has anything to say", said)


def select_nothing(seconds):
    """Lets others run between two looks."""
    import select
    select.select([], [], [], seconds)


class Closed(Exception):
    """The server has closed the connection."""


class Client:
    """One connection. Without more it has not said anything yet; with an export it is in the transmission phase."""

    def __init__(self, sock, export=None, structured=False, contexts=(), flags=3, greet=True):
        self.sock = sock
        self.structured = False
        self.handle = 0
        if not greet:
            return
        self.greeting = struct.unpack(">QQH", self.receive(18))
        if flags is not None:
            self.sock.sendall(struct.pack(">I", flags))
        if structured:
            self.expect_ack(STRUCTURED)
            self.structured = True
        if contexts:
            self.contexts = self.set_contexts(export, contexts)
        if export is not None:
            self.size, self.flags = self.go(export)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def close(self):
        self.sock.close()

    def receive(self, n):
        parts, have = [], 0
        while have < n:
            try:
                part = self.sock.recv(min(n - have, 1 << 20))
            except ConnectionResetError:
                raise Closed("reset")
            if not part:
                raise Closed(f"after {have} of {n} bytes")
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def rest(self):
        """What comes until the server closes."""
        parts = []
        try:
            while part := self.sock.recv(1 << 20):
                parts.append(part)
        except ConnectionResetError:
            parts.append(b"<reset>")
        return b"".join(parts)

    # ---- the handshake

    def option(self, option, data=b"", length=None, magic=OPTION_MAGIC):
        length = len(data) if length is None else length
        self.sock.sendall(struct.pack(">QII", magic, option, length) + data)

    def reply(self, option):
        """One reply: (type, data)."""
        magic, to, kind, length = struct.unpack(">QIII", self.receive(20))
        if (magic, to) != (REPLY_MAGIC, option):
            raise AssertionError(f"a reply of {magic:x} to option {to}")
        return kind, self.receive(length)

    def replies(self, option):
        """All up to the last one: a list of (type, data)."""
        out = []
        while True:
            out.append(self.reply(option))
            if out[-1][0] == ACK or out[-1][0] & ERR:
                return out

    def ask(self, option, data=b"", **more):
        self.option(option, data, **more)
        return self.replies(option)

    def kinds(self, option, data=b"", **more):
        return [kind for kind, _ in self.ask(option, data, **more)]

    def expect_ack(self, option, data=b""):
        got = self.ask(option, data)
        if got[-1][0] != ACK:
            raise AssertionError(f"option {option}: {got}")
        return got[:-1]

    def set_contexts(self, export, queries, option=SET_META):
        got = self.expect_ack(option, meta(export, queries))
        return [(struct.unpack(">I", data[:4])[0], data[4:].decode()) for _, data in got]

    def go(self, export, infos=(), option=GO):
        """(size, flags); other information in self.infos."""
        self.infos = {}
        for _, data in self.expect_ack(option, asked(export, infos)):
            self.infos[struct.unpack(">H", data[:2])[0]] = data[2:]
        return struct.unpack(">QH", self.infos[0])

    # ---- requests

    def send(self, kind, offset=0, length=0, data=b"", flags=0, handle=None, magic=REQUEST_MAGIC):
        """Sends a request; its handle."""
        if handle is None:
            self.handle += 1
            handle = self.handle
        self.sock.sendall(request(kind, offset, length, flags, handle, magic) + data)
        return handle

    def message(self):
        """One message: ("simple", handle, error) or ("chunk", handle, flags, type, payload). Data of a simple reply to
        a READ are left to whoever knows their length."""
        magic, = struct.unpack(">I", self.receive(4))
        if magic == SIMPLE_MAGIC:
            error, handle = struct.unpack(">IQ", self.receive(12))
            return "simple", handle, error
        if magic == CHUNK_MAGIC:
            flags, kind, handle, length = struct.unpack(">HHQI", self.receive(16))
            return "chunk", handle, flags, kind, self.receive(length)
        raise AssertionError(f"a message of {magic:x}")

    def answer(self, handle, length=0):
        """The whole answer to a request, which must be the next: (error, what)."""
        chunks = []
        while True:
            got = self.message()
            if got[1] != handle:
                raise AssertionError(f"an answer to {got[1]}, not {handle}")
            if got[0] == "simple":
                return got[2], b"" if got[2] else self.receive(length)
            chunks.append(got[3:])
            if got[2] & DONE:
                return join(chunks)

    def answer_any(self, length=0):
        """The next answer, to whatever request: its handle. It must be a success; a simple READ's has `length`."""
        kind, handle, error = self.message()[:3]
        if kind != "simple" or error:
            raise AssertionError(f"an answer {kind}, {error}")
        self.receive(length)
        return handle

    def read(self, offset, length, flags=0):
        """(error, data or message)."""
        return self.answer(self.send(READ, offset, length, flags=flags), 0 if self.structured else length)

    def write(self, offset, data, flags=0, length=None):
        return self.answer(self.send(WRITE, offset, len(data) if length is None else length, data, flags))[0]

    def do(self, kind, offset=0, length=0, flags=0):
        return self.answer(self.send(kind, offset, length, flags=flags))[0]

    def status(self, offset, length, flags=0):
        """(error, [(length, flags)]) of context 1."""
        error, extents = self.answer(self.send(STATUS, offset, length, flags=flags))
        return error, extents


def request(kind, offset=0, length=0, flags=0, handle=0, magic=REQUEST_MAGIC):
    return struct.pack(">IHHQQI", magic, flags, kind, handle, offset, length)


def join(chunks):
    """What the chunks of one reply say: (0, data or extents), (error, message)."""
    content, extents, base = {}, None, None
    for kind, payload in chunks:
        if kind == ERROR:
            error, length = struct.unpack(">IH", payload[:6])
            if len(payload) != 6 + length or error == 0:
                raise AssertionError(f"an error chunk {payload!r}")
            return error, payload[6:].decode()
        if kind == DATA:
            content[struct.unpack(">Q", payload[:8])[0]] = payload[8:]
        elif kind == HOLE:
            offset, length = struct.unpack(">QI", payload)
            content[offset] = bytes(length)
        elif kind == EXTENTS:
            if extents is not None or payload[:4] != b"\0\0\0\1":
                raise AssertionError("extents twice, or of another context")
            extents = list(struct.iter_unpack(">II", payload[4:]))
        elif kind != NONE:
            raise AssertionError(f"a chunk of type {kind}")
    if extents is not None:
        return 0, extents
    data = b""
    for offset in sorted(content):
        base = offset if base is None else base
        if offset != base + len(data):
            raise AssertionError("the chunks have a gap, or overlap")
        data += content[offset]
    return 0, data


def text(string):
    string = string.encode() if isinstance(string, str) else string
    return struct.pack(">I", len(string)) + string


def asked(export, infos=()):
    return text(export) + struct.pack(f">H{len(infos)}H", len(infos), *infos)


def meta(export, queries):
    return text(export) + struct.pack(">I", len(queries)) + b"".join(map(text, queries))


__all__ = [name for name in dir() if not name.startswith("_")]
