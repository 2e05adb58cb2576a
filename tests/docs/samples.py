# SPDX-License-Identifier: MIT
"""The samples of the manual: what a fenced block is, how it is compiled, run and talked to.

What a block is, its first line says:

    ```c [TAG...]           a program: it has main, compiles without a warning, and runs
        file=NAME           it is compiled as NAME, which is what __FILE__ says; sample.c without
        virtual             with COIR_TIME=virtual; env=NAME=VALUE sets any other variable
        debug, torture      compiled with -DCOIR_DEBUG, with -O0 -DCOIR_TORTURE; not under a sanitizer, the second
        noisy               the compiler may warn
        steps               it prints its steps: not in the torture build, which has more of them
        exit=N, aborts      how it ends: with N instead of 0, by SIGABRT
        refused             it does not compile
        server, sigterm     it is given an address to listen on as its argument, and is stopped in the end: with
                            sigterm by that signal, after which it ends with 0
        libuv, tls, vm      it needs these; vm is libcoirvm
    ```diff [TAG...]        the program before it, or of=NAME, changed: lines with - go, lines with + come in their
                            place. Tags as above; `file` and `virtual` are those of that program unless it has its own
    ```c fragment           compiles; statements of a body if `<!-- frame: MEMBERS -->` stands before it, which
                            gives the frame's members, and declarations otherwise
    ```c part=FILE          stands in that file of the tree, word by word
    ```c not-compiled       is not; `<!-- not compiled: REASON -->` stands before it
    ```output [stderr]      right after a program: exactly what it prints; `...` is anything within a line
    ```output gcc           what the compiler says, line for line somewhere in it and in this order; or clang
    ```input                right after a server: what a client sends it before it shuts down its side
    ```console              right after a program or part: what is typed, behind `$ `, and what is then printed
                            (session.py)
    ```sh run               is run, in the root of the tree; other ```sh blocks are not

What was compiled is kept below the build folder.
"""
import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import session

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("COIR_EXAMPLES", ROOT / "build" / "release" / "examples")).parent
COMPILER = shlex.split(os.environ.get("COIR_CC", "gcc"))
SANITIZE = os.environ.get("COIR_SANITIZE", "none")
PLANE = os.environ.get("COIR_IO") or "uring"          # what a dump in the docs says of it is replaced
TORTURE = os.environ.get("COIR_TORTURE", "false") == "true"
KEPT = BUILD / "docs-samples"
PATIENCE = 60

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLAGS = ["-std=gnu11", "-O1", "-g", f"-I{ROOT / 'include'}"]
LINK = [f"-L{BUILD}", "-lcoir", f"-Wl,-rpath,{BUILD}", "-pthread"]
if SANITIZE != "none":
    FLAGS += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer"]
if TORTURE:
    FLAGS += ["-DCOIR_TORTURE"]
    os.environ["COIR_TORTURE_SEED"] = os.environ.get("COIR_TORTURE_SEED", "1") + ",fifo"    # output is in order

# The compilers whose messages are quoted: C, C++, and the version that says it so.
QUOTED = {"gcc": ("gcc", "g++", "12"), "clang": ("clang", "clang++", "14")}

used = set()                                        # of what is kept


# ---- reading

@dataclass
class Block:
    place: str                                      # file:line
    kind: str                                       # c, diff, sh, output, ...
    tags: list
    text: str
    note: str                                       # the comment right before it
    extra: dict = field(default_factory=dict)       # blocks that follow and belong to it: "output stderr" -> block
    page: dict = field(default_factory=dict)        # the programs of its page: file name -> block

    def tag(self, name):
        """The value of the tag name=VALUE, or None."""
        return next((tag[len(name) + 1:] for tag in self.tags if tag.startswith(name + "=")), None)


BLOCK = re.compile(r"(?:<!--\s*(?P<note>(?:(?!-->).)*?)\s*-->\n)?^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$",
                   re.DOTALL | re.MULTILINE)
BELONGS = ("output", "input", "console")


def blocks_of(path):
    text = path.read_text()
    blocks = []
    programs = {}                                   # of this page: file name -> block; None: the last one
    for match in BLOCK.finditer(text):
        words = match["info"].split() or [""]
        line = text.count("\n", 0, match.start("info")) + 1
        block = Block(f"{path.relative_to(ROOT)}:{line}", words[0], words[1:], match["text"], match["note"] or "")
        if block.kind in BELONGS:
            if blocks:
                blocks[-1].extra[" ".join([block.kind, *block.tags])] = block
            continue
        block.page = programs
        if block.kind == "diff":
            block = changed(block, programs.get(block.tag("of")))
        elif block.kind == "c" and "fragment" not in block.tags:
            programs[None] = block
        if block.kind == "c" or block.tag("of"):
            programs[block.tag("file")] = block
        blocks.append(block)
    return blocks


def changed(diff, before):
    """The program that a diff makes of the one before it; without a place for a part of it, without text."""
    text = before.text if before else ""
    kept = [tag for tag in before.tags if tag == "virtual" or tag.startswith("file=")] if before else []
    kept = [tag for tag in kept if "=" not in tag or not diff.tag("file")]
    for hunk in re.findall(r"(?:^-.*\n)*(?:^\+.*\n)+|(?:^-.*\n)+", diff.text, re.MULTILINE):
        old, new = ("".join(line[1:] + "\n" for line in hunk.splitlines() if line[0] == sign) for sign in "-+")
        if not old or text.count(old) != 1:
            return replace(diff, text="")
        text = text.replace(old, new)
    return replace(diff, text=text, tags=kept + diff.tags)


def same(got, expected):
    """Whether a text is what was expected, in which `...` is anything within a line."""
    return got == expected or re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".*"), got) is not None


def differs(got, expected, what):
    if got == expected or (isinstance(got, str) and same(got, expected)):
        return ""
    return f"{what}: expected\n{expected}\ngot\n{got}\n"


# ---- compiling

def flags_of(block):
    more = ["-DCOIR_DEBUG"] if "debug" in block.tags else ["-O0", "-DCOIR_TORTURE"] if "torture" in block.tags else []
    return [*FLAGS, *([] if "noisy" in block.tags else WARNINGS), *more]


def compiled_as(block, more):
    """The file that a block is compiled to: its name changes with everything that goes in."""
    digest = hashlib.sha256()
    for part in (block.text, block.tag("file") or "", *COMPILER, *flags_of(block), *more):
        digest.update(part.encode() + b"\0")
    for header in sorted((ROOT / "include" / "coir").glob("*.h")):
        digest.update(header.read_bytes())
    return KEPT / digest.hexdigest()[:24]


def call(command, **more):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", errors="replace", timeout=PATIENCE * 10, **more)
        return done.returncode, done.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return 999, str(error)


def build(block, link):
    """Compiles a program, or only looks at it (`link` is None). Value: its file, and what went wrong."""
    exe = compiled_as(block, ["-c"] if link is None else link)
    used.add(exe)
    if exe.exists():
        return exe, ""
    KEPT.mkdir(parents=True, exist_ok=True)
    source = block.tag("file") or "sample.c"
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        (Path(folder) / source).write_text(block.text)
        command = [*COMPILER, *flags_of(block), source, "-o", "sample.out"]
        code, said = call([*command, *LINK, *link] if link is not None else [*command, "-c"], cwd=folder)
        if code:
            return exe, said or f"the compiler failed with {code}"
        (Path(folder) / "sample.out").replace(exe)
    return exe, ""


def in_harness(block):
    """A fragment as a whole file: the statements of a body, or declarations."""
    members = re.match(r"frame:(.*)", block.note, re.DOTALL)
    more = [f"coir/{name}.h" for name in ("tls", "vm") if name in block.tags]
    headers = ["coir/coir.h", *more, "fcntl.h", "poll.h", "stdio.h", "string.h"]
    head = "#define _GNU_SOURCE\n" + "".join(f"#include <{header}>\n" for header in headers)
    if not members:
        return replace(block, text=f"{head}{block.text}")
    return replace(block, text=f"{head}struct sample {{ coir_frame(int); coir_no_args;\n{members[1]}\n}};\n"
                   f"coir_declare(sample);\ncoir_body(sample, f) {{\n{block.text}}} coir_end\n")


def has_version(compiler):
    return call([compiler, "-dumpversion"])[1].startswith(QUOTED[compiler][2])


def quoted(block, wanted):
    """What is wrong with what the compilers are said to say of a program. `wanted`: whether they refuse it."""
    source = block.tag("file") or "sample.c"
    wrong = ""
    for compiler in QUOTED:
        told = block.extra.get(f"output {compiler}")
        if not told or not has_version(compiler):
            continue
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / source).write_text(block.text)
            code, said = call([compiler, "-std=gnu11", "-O2", "-Wall", f"-I{ROOT / 'include'}", "-c", source,
                               "-o", os.devnull], cwd=folder, env={**os.environ, "LC_ALL": "C"})
        if (code != 0) != wanted:
            wrong += f"{compiler}: exit status {code}\n{said}"
        lines = iter(said.splitlines())
        missing = [line for line in told.text.splitlines()
                   if line != "..." and not any(same(got, line) for got in lines)]
        if missing:
            wrong += f"{compiler} does not say, or not in this order: {missing[0]}\n{said}"
    return wrong


# ---- running

def environment(block):
    settings = [tag[4:].split("=", 1) for tag in block.tags if tag.startswith("env=")]
    # With torture every sample is a debug program, which says more than it is about.
    quiet = {"COIR_CRASH": "0"} if TORTURE else {}
    return {**os.environ, **quiet, **dict(settings), **({"COIR_TIME": "virtual"} if "virtual" in block.tags else {})}


def run(exe, block, folder):
    """Runs a program that ends by itself. Value: what is wrong."""
    wanted = -signal.SIGABRT if "aborts" in block.tags else int(block.tag("exit") or 0)
    done = subprocess.run([exe], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
                          env=environment(block), cwd=folder, timeout=PATIENCE)
    if done.returncode != wanted:
        return f"exit status {done.returncode}, expected {wanted}\n{done.stdout}{done.stderr}"
    wrong = ""
    for kind, got in (("output", done.stdout), ("output stderr", done.stderr)):
        if kind in block.extra:
            wrong += differs(got, block.extra[kind].text.replace("(uring)", f"({PLANE})"), kind)
    return wrong


def connect(where, server):
    """A connection to the server, as soon as it listens."""
    until = time.monotonic() + PATIENCE
    while True:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        try:
            client.connect(where)
            return client
        except OSError:
            client.close()
            if server.poll() is not None or time.monotonic() > until:
                raise
        time.sleep(0.02)


def converse(client, text):
    """Sends, and receives to the end. A server may answer and close without reading: then sending fails, or the
    connection is reset behind the answer."""
    got = b""
    try:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
    except (BrokenPipeError, ConnectionResetError):
        pass
    try:
        while part := client.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got


def talk(exe, block, folder):
    """Runs a server and talks to it. Value: what is wrong."""
    where = str(Path(folder) / "socket")
    server = subprocess.Popen([exe, f"unix:{where}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=environment(block))
    try:
        with connect(where, server) as client:
            got = converse(client, block.extra["input"].text.encode())
        wrong = differs(got.decode(), block.extra["output"].text, "it answered")
        if "sigterm" in block.tags and not wrong:
            server.terminate()
            wrong = differs(server.wait(PATIENCE), 0, "exit status after SIGTERM")
        return wrong
    finally:
        server.kill()
        said = server.communicate()[0].decode(errors="replace")
        if said:
            print("# " + said.replace("\n", "\n# "), flush=True)


def type_in(exe, block, folder):
    """Types the session of a program into a shell. Value: what is wrong, and why it is skipped."""
    plain = SANITIZE == "none" and not TORTURE
    console = block.extra["console"]
    env = {**environment(block), "PATH": f"{BUILD / 'cli'}:{os.environ['PATH']}"}
    missing = session.missing_tools(console.text, env["PATH"])
    if missing:
        return None, f"there is no {missing}"
    name = block.tag("file") or "sample.c"
    (Path(folder) / name).write_text(block.text)
    programs = {Path(name).stem: exe}
    for other in set(session.programs_in(console.text)) - set(programs):
        if f"{other}.c" not in block.page:
            return f"there is no {other}.c on this page", None
        programs[other], wrong = build(block.page[f"{other}.c"], [])
        if wrong:
            return wrong, None
    wanted = console.text.replace("(uring)", f"({PLANE})")
    env.pop("COIR_TIME", None)                      # a clock that stands is said in the session
    return session.hold(wanted, programs, Path(folder), BUILD if plain else None, env, PATIENCE), None


def libraries(block):
    """What a program is linked with, or why it cannot be."""
    if "libuv" in block.tags:
        code, said = call(["pkg-config", "--cflags", "--libs", "libuv"])
        return (None, "there is no libuv") if code else (said.split(), None)
    if "tls" in block.tags:
        found = (BUILD / "libcoir-tls.so").exists()
        return (["-lcoir-tls"], None) if found else (None, "built without TLS")
    if "volumes" in block.tags:
        found = (BUILD / "libcoirvol.so").exists()
        return (["-lcoirvol"], None) if found else (None, "built without volumes")
    if "vm" in block.tags:
        return ["-lcoirvm"], None
    return [], None


def program(block):
    if "torture" in block.tags and SANITIZE != "none":
        return None, "not with a sanitizer"
    if "steps" in block.tags and TORTURE:
        return None, "every await is a step"
    if "plain" in block.tags and SANITIZE != "none":
        return None, "a sanitizer says more of it"
    link, why = libraries(block)
    if why:
        return None, why
    exe, wrong = build(block, link)
    wrong = wrong or quoted(block, False)
    if wrong:
        return wrong, None
    with tempfile.TemporaryDirectory() as folder:
        try:
            if "console" in block.extra:
                return type_in(exe, block, folder)
            return (talk if "server" in block.tags else run)(exe, block, folder), None
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error), None


def part(block):
    """A piece of a file of the tree; a session after it is held with that example."""
    source = ROOT / block.tag("part")
    if not source.exists() or block.text not in source.read_text():
        return f"it does not stand in {block.tag('part')}", None
    if "console" not in block.extra:
        return "", None
    with tempfile.TemporaryDirectory() as folder:
        return type_in(BUILD / "examples" / source.stem, replace(block, tags=[f"file={source.name}"]), folder)


def script(block):
    """What is run in the tree is the same under every tool, so it is run under none only."""
    if SANITIZE != "none" or TORTURE:
        return None, "not with this build"
    if "quickstart" in block.text and not all(shutil.which(tool) for tool in ("dpkg-query", "curl", "meson")):
        return None, "it would install something"
    code, said = call(["bash", "-euc", block.text], cwd=ROOT)
    return (f"exit status {code}\n{said}" if code else ""), None


def refused(block):
    if not any(f"output {compiler}" in block.extra for compiler in QUOTED):
        return "nobody says why it is refused", None
    return quoted(block, True), None


def check(block):
    """What is wrong with a block, empty for nothing; and why it is skipped."""
    if block.kind == "sh":
        return script(block)
    if block.kind == "diff" and not block.text:
        return "what it takes out does not stand in the program before it, exactly once", None
    if "fragment" in block.tags:
        return build(in_harness(block), None)[1], None
    if block.tag("part"):
        return part(block)
    if "not-compiled" in block.tags:
        reason = block.note.removeprefix("not compiled:").strip()
        return ("", None) if block.note.startswith("not compiled:") and reason else ("it has no reason", None)
    if "refused" in block.tags:
        return refused(block)
    if not re.search(r"^int main\(", block.text, re.MULTILINE):
        return "a block of C without main is a fragment, or not-compiled, and says so", None
    return program(block)
