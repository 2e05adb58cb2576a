# SPDX-License-Identifier: MIT
"""Programs in Coir that say what they must do: their expectations are read here, and held against what happened.

README.md, beside this file, has the directives. Nothing is run here, and no expectation is ever made from what a
program printed.
"""
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

DIRECTIVE = re.compile(r"//! ?(\w+)(?:: ?(.*))?$")
FIBERS = re.compile(r"^[^/\n]*\b(spawn|chan|group|select|actor)\b", re.M)
DIAGNOSTIC = re.compile(r"^(\S*?):(\d+):(\d+): (error|warning)(?:\[(\w+)\])?: ")
TRAP = re.compile(r"^trap (\w+) in (\S+) at (\S*?):(\d+)(?:: (.*))?$")


@dataclass
class Said:
    """An error, a warning or a trap, and where: the file's name, the line and column if they are known."""
    what: str
    file: str
    line: int = 0
    column: int = 0
    code: str = ""
    function: str = ""
    message: str = ""

    def __str__(self):
        place = f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")
        more = (f" in {self.function}" if self.function else "") + (f": {self.message}" if self.message else "")
        return f"{self.what} {self.code} at {place}{more}"


@dataclass
class Program:
    name: str
    path: Path                                      # what the command is given
    mode: str = "run"                               # or test
    out: str = ""
    err: list = field(default_factory=list)
    never: list = field(default_factory=list)       # what stderr does not have
    said: list = field(default_factory=list)
    exit: int = None
    args: list = field(default_factory=list)
    flags: list = field(default_factory=list)       # of the command
    stdin: str = ""
    env: dict = field(default_factory=dict)
    reductions: int = None                          # the only budget it is run with
    tests: list = field(default_factory=list)       # (passes, name)
    missing: list = field(default_factory=list)     # variants it is not run in
    whole: bool = False                             # reads are not cut short where a build would do that
    fibers: bool = False                            # it has, or makes, others than main

    def refused(self):
        return any(said.what == "error" for said in self.said)

    def on_shards(self):
        """Whether it says something about shards: not of what has one fiber, nor under virtual time, which is one's."""
        return (self.fibers or self.tests) and "COIR_TIME" not in self.env and "--shards" not in self.flags

    def status(self):
        if self.exit is not None:
            return self.exit
        if self.refused() or any(not passes for passes, _ in self.tests):
            return 1
        return 2 if any(said.what == "trap" for said in self.said) else 0


class Mistake(Exception):
    """A directive that says nothing."""


def pattern(text):
    """`...` is anything."""
    return ".*".join(re.escape(part) for part in text.split("..."))


def said_of(name, value, file, line):
    if name == "trap":
        match = re.fullmatch(r"(\w+)(?: in (\S+?))?(?:: (.*))?", value)
        if not match:
            raise Mistake(f"{file}: trap: {value}")
        return Said("trap", file, line, 0, match[1], match[2] or "", match[3] or "")
    match = re.fullmatch(r"(?:(?:(\d+):)?(\d+) )?([\w-]+)", value)
    if not match or not (match[1] or line):
        raise Mistake(f"{file}: {name}: {value}")
    what = "warning" if name == "warn" else "error"
    return Said(what, file, int(match[1] or line), int(match[2] or 0), match[3])


def take(program, name, value, file, line):
    if name == "out":
        program.out += value + "\n"
    elif name == "unended":
        program.out += value
    elif name == "err":
        program.err.append(value)
    elif name == "never":
        program.never.append(value)
    elif name in ("trap", "error", "warn"):
        program.said.append(said_of(name, value, file, line))
    elif name in ("passes", "fails"):
        program.tests.append((name == "passes", value))
        program.mode = "test"
    elif name == "exit":
        program.exit = int(value)
    elif name == "args":
        program.args = shlex.split(value)
    elif name == "flags":
        program.flags = shlex.split(value)
    elif name == "stdin":
        program.stdin += value + "\n"
    elif name == "env":
        program.env.update([value.split("=", 1)])
    elif name == "virtual":
        program.env["COIR_TIME"] = "virtual"
    elif name == "whole":
        program.whole = True
    elif name == "reductions":
        program.reductions = int(value)
    elif name == "no":
        program.missing.append(re.match(r"\w+", value)[0])
    elif name == "run":
        program.mode = {"folder": "run"}.get(value, value)
        program.path = program.path.parent if value == "folder" else program.path
    else:
        raise Mistake(f"{file}: there is no directive {name}")


def read(text, program, file):
    """What a source says, added to the program's expectations."""
    for number, line in enumerate(text.splitlines(), 1):
        match = DIRECTIVE.search(line)
        if match:
            alone = not line[:match.start()].strip()
            take(program, match[1], match[2] or "", file, 0 if alone else number)


def load(root):
    """Every program below a folder: a file each, or a folder that has a main.coir."""
    found = []
    mains = {path.parent: path for path in root.rglob("main.coir")}
    for path in sorted(root.rglob("*.coir")):
        if path.parent in mains and path.name != "main.coir":
            continue
        whole = path.name == "main.coir"
        name = (path.parent if whole else path.with_suffix("")).relative_to(root)
        program = Program(str(name), path)
        for source in [path, *(sorted(set(path.parent.rglob("*.coir")) - {path}) if whole else ())]:
            text = source.read_text()
            read(text, program, source.name)
            program.fibers |= bool(FIBERS.search(text))
        if program.refused() and (program.out or program.tests or program.exit is not None):
            raise Mistake(f"{name}: what does not compile prints nothing")
        found.append(program)
    return found


# ---- what happened

@dataclass
class Result:
    status: int
    out: str
    err: str


def heard(result):
    """The diagnostics and traps that stderr has."""
    found = []
    for line in result.err.splitlines():
        if match := DIAGNOSTIC.match(line):
            found.append(Said(match[4], Path(match[1]).name, int(match[2]), int(match[3]), match[5] or ""))
        elif match := TRAP.match(line):
            found.append(Said("trap", Path(match[3]).name, int(match[4]), 0, match[1], match[2], match[5] or ""))
        elif line.startswith("trap "):
            found.append(Said("trap", "?", 0, 0, line.split()[1].rstrip(":"), "", line))
    return found


def is_code(code):
    return re.fullmatch(r"[EW]\d+", code)


def fits(expected, got):
    return (expected.what == got.what
            and (expected.what == "trap" or expected.file == got.file)
            and expected.line in (0, got.line) and expected.column in (0, got.column)
            and (expected.code == got.code or expected.what != "trap" and not is_code(expected.code))
            and (not expected.function or re.fullmatch(pattern(expected.function), got.function))
            and (not expected.message or re.fullmatch(pattern(expected.message), got.message)) is not None)


def differences(expected, got):
    """What was said and not expected, and the other way round; traps of fibers may come in any order."""
    left, wrong = list(got), []
    for one in expected:
        match = next((other for other in left if fits(one, other)), None)
        if match:
            left.remove(match)
        else:
            wrong.append(f"not said: {one}")
    return wrong + [f"not expected: {one}" for one in left]


def first_difference(got, expected):
    got, expected = got.splitlines(True), expected.splitlines(True)
    for i in range(max(len(got), len(expected))):
        pair = [lines[i] if i < len(lines) else None for lines in (got, expected)]
        if pair[0] != pair[1]:
            return [f"line {i + 1} of the output: got {pair[0]!r}, expected {pair[1]!r}"]
    return []


def judge(program, result, checking=False):
    """What is wrong with what happened, in words; an empty list if nothing is. `checking`: it was not run."""
    said = [one for one in program.said if not checking or one.what != "trap"]
    wrong = differences(said, heard(result))
    status = (1 if program.refused() else 0) if checking else program.status()
    if result.status != status:
        wrong.append(f"exit status {result.status}, expected {status}")
    if checking:
        return wrong
    if program.mode == "test" and not program.refused():
        got = [(not match[1], match[2]) for match in
               re.finditer(r"^(not )?ok\b[ \d]*(?:- )?(.*?)(?: # .*)?$", result.out, re.MULTILINE)]
        if got != program.tests:
            wrong.append(f"tests: got {got}, expected {program.tests}")
    else:
        wrong += first_difference(result.out, program.out)
    rest = result.err
    for text in program.err:
        match = re.search(pattern(text), rest)
        if not match:
            wrong.append(f"not in stderr: {text}")
            break
        rest = rest[match.end():]
    wrong += [f"in stderr: {text}" for text in program.never if re.search(pattern(text), result.err)]
    return wrong
