# SPDX-License-Identifier: MIT
"""A terminal for tests: a pseudo-terminal with a program in it, and the screen as that program has drawn it.

It knows the sequences that the command uses, and fails on any other: what a real terminal would make of that nobody
has looked at.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")
PATIENCE = 60


class Screen:
    """What is on it, by the bytes written so far."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.other = False                      # the one that full-screen programs use
        self.cursor = True                      # it can be seen
        self.styles = set()                     # all that were used
        self.rest = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def put(self, character):
        if self.column < self.columns and self.row < self.rows:
            self.cells[self.row][self.column] = character
        self.column += 1

    def erase(self, how):
        """From the cursor to the end of the line, or of the screen."""
        rows = range(self.row, self.row + 1) if how == "K" else range(self.row, self.rows)
        for row in rows:
            if row < self.rows:
                begin = self.column if row == self.row else 0
                self.cells[row][begin:] = [" "] * (self.columns - min(begin, self.columns))

    def obey(self, private, number, letter):
        if private and number == "1049":
            self.other = letter == "h"
            self.resize(self.rows, self.columns)
        elif private and number == "25":
            self.cursor = letter == "h"
        elif letter == "m":
            self.styles.add(number)
        elif letter == "H" and not number:
            self.row = self.column = 0
        elif letter == "J" and number == "2":
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif letter in "JK" and not number:
            self.erase(letter)
        else:
            raise ValueError(f"an unknown sequence: {private}{number}{letter}")

    def feed(self, data):
        text = self.rest + data
        self.rest = ""
        while text:
            match = SEQUENCE.match(text)
            if match:
                self.obey(*match.groups())
                text = text[match.end():]
                continue
            if text[0] == "\x1b":
                if len(text) > 20:
                    raise ValueError(f"an unknown sequence: {text[:20]!r}")
                self.rest = text
                return
            if text[0] == "\r":
                self.column = 0
            elif text[0] == "\n":
                self.row += 1
            elif text[0] < " ":
                raise ValueError(f"a control character: {text[0]!r}")
            else:
                self.put(text[0])
            text = text[1:]


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, command, rows=24, columns=80, env=None):
        self.screen = Screen(rows, columns)
        self.master, self.slave = pty.openpty()     # both stay open, so that the settings can be read at the end
        self.set_size(self.master, rows, columns)
        self.usual = termios.tcgetattr(self.slave)
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            self.become(command, {**os.environ, "TERM": "xterm", **(env or {})})

    def become(self, command, env):
        """In the child: the program, or the end."""
        try:
            os.close(self.master)
            os.login_tty(self.slave)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execve(command[0], [str(word) for word in command], env)
        finally:
            os._exit(127)

    @staticmethod
    def set_size(fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.set_size(self.master, rows, columns)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        self.screen.feed(os.read(self.master, 65536).decode())
        return True

    def becomes(self, condition):
        """Waits until it is true of the screen. Whether it is."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if condition():
                return True
            self.read(1)
        return False

    def shows(self, pattern):
        """Waits until a line of the screen matches. Whether one does."""
        return self.becomes(lambda: any(re.search(pattern, line) for line in self.screen.lines()))

    def read_all(self):
        """Reads what has been written so far: up to a mark behind it, since the kernel takes its time."""
        self.screen.styles.discard("99")
        os.write(self.slave, b"\x1b[99m")
        while "99" not in self.screen.styles and self.read(PATIENCE):
            pass
        self.screen.styles.discard("99")

    def gone(self):
        """Waits for the end of the program, and reads what it has written. Its status: negative for a signal."""
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            self.read_all()
        return self.status

    def stopped(self):
        """Waits until it is stopped. By which signal; None if it has ended instead."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        self.read_all()
        return os.WSTOPSIG(status) if os.WIFSTOPPED(status) else None

    def is_usual(self):
        """Everything is as it was: settings, screen, cursor."""
        return termios.tcgetattr(self.slave) == self.usual and not self.screen.other and self.screen.cursor

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.slave)
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":
    sys.exit("this is for tests to import")
