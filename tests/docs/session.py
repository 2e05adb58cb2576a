# SPDX-License-Identifier: MIT
"""Sessions of the manual: what a reader types behind `$ `, and what is then printed.

A session is typed into one bash, line for line, in a folder that has the program under its name and its source. What
ends in `&` is a server as a rule: the next line is typed when that listens. The address 127.0.0.1:8080 is replaced by
one that is free. In a line of output `...` is anything; a line that is only `...` is any number of lines.
"""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import tty

PORT = "8080"
MARK = "--- typed so far: "

# The next line is typed when the port is listened on, or the server has gone. Nobody connects to see it.
WAIT = r"""
coir_until_it_listens() {
    local port=$(printf ':%04X 00000000:0000 0A' "$1") six=$(printf ':%04X %032d:0000 0A' "$1" 0)
    until grep -q -e "$port" -e "$six" /proc/net/tcp /proc/net/tcp6; do
        kill -0 "$2" 2>/dev/null || return 0
        sleep 0.02
    done
}
"""


def missing_tools(text, path):
    """What the session needs and is not there: an empty string for nothing."""
    tools = {word for word in ("curl", "gdb", "coir") if re.search(rf"^\$(?:.*[|;&])? *{word} ", text, re.MULTILINE)}
    return " ".join(sorted(tool for tool in tools if not shutil.which(tool, path=path)))


def parse(text):
    """[(command, what it prints)]; a command that ends in a backslash goes on in the next line."""
    pairs = []
    for line in text.splitlines(True):
        if pairs and pairs[-1][0].endswith("\\\n"):
            pairs[-1][0] += line
        elif line.startswith("$ "):
            pairs.append([line[2:], ""])
        elif pairs:
            pairs[-1][1] += line
    return pairs


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def script_of(pairs, port):
    """The session as a script that says after each line that it has been typed."""
    lines = [WAIT]
    for number, (command, _) in enumerate(pairs):
        lines.append(command)
        if command.rstrip().endswith("&"):
            lines.append(f"coir_until_it_listens {port} $!\n")
        lines.append(f"printf '%s\\n' '{MARK}{number}'\n")
    return "".join(lines)


def same(got, expected):
    pattern = re.escape(expected).replace(r"\.\.\.", ".*")
    pattern = re.sub(r"^\.\*\\\n|^\.\*\n", r"(?:.*\n)*?", pattern, flags=re.MULTILINE)
    return got == expected or re.fullmatch(pattern, got) is not None


def programs_in(text):
    """The names of the programs that it runs."""
    return re.findall(r"^\$.*?(?<![\w/])\./(\w+)", text, re.MULTILINE)


def hold(text, programs, folder, build, env, patience):
    """Holds a session with some programs: name -> file. `build`: where what it compiles finds the library; None: it
    gets what is there. Value: what is wrong."""
    port = free_port()
    text = re.sub(rf"(127\.0\.0\.1|localhost):{PORT}\b", rf"\1:{port}", text)
    pairs = parse(text)
    made = re.findall(r"^\$ gcc .*-o (\w+)", text, re.MULTILINE) if build else []
    for name in set(programs) - set(made):
        (folder / name).symlink_to(programs[name])
    if build:
        env = {**env, "PKG_CONFIG_PATH": str(build / "meson-uninstalled"), "LD_LIBRARY_PATH": str(build)}
    else:
        pairs = [(":\n" if command.startswith("gcc ") else command, said) for command, said in pairs]
    screen, slave = os.openpty()                            # programs print line for line, curl without its meter
    tty.setraw(slave)
    shell = subprocess.Popen(["bash", "-c", script_of(pairs, port)], stdin=subprocess.DEVNULL, stdout=slave,
                             stderr=slave, cwd=folder, env=env, start_new_session=True)
    os.close(slave)
    try:
        got = read_to_mark(screen, f"{MARK}{len(pairs) - 1}\n".encode(), time.monotonic() + patience)
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)            # also a server that the session left behind
        except ProcessLookupError:
            pass
        shell.wait()
        os.close(screen)
    return compare(pairs, got.decode(errors="replace").replace("\r", ""))        # it moves the cursor


def read_to_mark(screen, mark, until):
    """What is on the screen when the last line has been typed, or nothing more comes."""
    got = b""
    while mark not in got:
        if not select.select([screen], [], [], max(0, until - time.monotonic()))[0]:
            break
        try:
            part = os.read(screen, 65536)
        except OSError:                                     # nobody has it open any more
            part = b""
        if not part:
            break
        got += part
    return got


def compare(pairs, got):
    wrong = ""
    for number, (command, expected) in enumerate(pairs):
        said, mark, got = got.partition(f"{MARK}{number}\n")
        if not mark:
            return f"{wrong}$ {command}it did not come to its end:\n{said}"
        if not same(said, expected):
            wrong += f"$ {command}expected\n{expected}got\n{said}"
    return wrong
