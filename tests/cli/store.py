# SPDX-License-Identifier: MIT
"""What the tests of `coir volume` share: its verbs, a store that is served, other people's clients."""
import signal
import subprocess
from pathlib import Path

from command import COIR, PATIENCE, coir, ok

BLOCK = 4096


def volume(*args, code=0, name=None):
    got, out, err = coir("volume", *map(str, args))
    ok(got == code, name or f"coir volume {' '.join(str(arg) for arg in args if '/' not in str(arg))}: {code}",
       f"exit status {got}\n{out}{err}")
    return out if code == 0 else err


class Served:
    """`coir volume serve` until it is stopped, or killed."""

    def __init__(self, store, folder, *more):
        self.socket = Path(folder) / "nbd"
        self.process = subprocess.Popen([COIR, "volume", "serve", store, "--nbd", f"unix:{self.socket}", *more],
                                        encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.first = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def uri(self, name):
        return f"nbd+unix:///{name}?socket={self.socket}"

    def stop(self, sign=signal.SIGTERM):
        self.process.send_signal(sign)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out, err


def tool(*args):
    done_ = subprocess.run(args, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    return done_.returncode, done_.stdout
