#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the manual pages. Those of section 3 are made of the public headers, which stay the only source.

    tools/manual.py FOLDER          makes them in FOLDER/man1, man3, man7
    tools/manual.py --install DIR   the same below $DESTDIR, for meson: DIR is its mandir
    --without NAME.h                leaves out a header that is not installed
    --command FILE                  the built command; without it there is no section 1

Each header NAME.h becomes coir-NAME.3, in the order of the header; for each function, macro, operation and type in it
there is a page of that name that leads there, so that `man coir_spawn` finds it. coir.7 is docs/man/coir.7.in, with the
list of these pages, the environment of docs/shards.md and the first program of docs/guide.md. Those of section 1 are
what the command says itself: `coir --help`, and `coir VERB --help` for each verb in it. What the pages are dated is
SOURCE_DATE_EPOCH, or when their source was changed last.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import headers
from mdoc import commas, filled, folded, heading, literal, prose, tidied, WIDTH

ROOT = Path(__file__).resolve().parent.parent
WITHOUT = {"abi.h", "coir.h"}                   # headers that have no page
# the pkg-config names of those that are not of coir
LIBRARIES = {"tls.h": "coir-tls", "vm.h": "coirvm", "volume.h": "coirvol"}


# ---- a page

def page_name(header):
    return "coir-" + Path(header.name).stem


def names_of(header):
    """What leads to the page of a header."""
    kinds = ("function", "macro", "task", "struct", "opaque", "type")
    found = [declared.name for declared in header.declared()
             if declared.kind in kinds or (declared.kind == "enum" and declared.name.startswith("coir_"))
             or (declared.kind == "constant" and declared.name.startswith("coir_"))]
    return list(dict.fromkeys(found))


def synopsis(header):
    """Prototypes of what is called; operations as awaits."""
    lines = []
    for declared in header.declared():
        if declared.kind in ("function", "macro"):
            lines.append(commas(declared.code, WIDTH))
        elif declared.kind == "task":
            args = re.search(r"coir_args\((.*)\);\n    \.\.\.", declared.code, re.DOTALL)
            names = [re.search(r"\(\*(\w+)\)|(\w+)\s*$", arg) for arg in (args[1] if args else "").split(";")
                     if arg.strip()]
            given = "".join(f", .{match[1] or match[2]}" for match in names)
            lines.append(commas(f"coir_await(f, slot, {declared.name}{given});", WIDTH))
    return lines


def date_of(path):
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or path.stat().st_mtime)
    when = time.gmtime(seconds)
    return time.strftime("%B ", when) + f"{when.tm_mday}, {when.tm_year}"


def referred(header, where):
    """The other pages that a page speaks of."""
    text = "\n".join([header.head, *(item.comment for item in header.items())])
    own = page_name(header)
    pages = {where[name] for name in re.findall(r"\bcoir_\w+", text) if name in where}
    pages |= {f"coir-{name}" for name in re.findall(r"\bcoir/(\w+)\.h", text) if f"{name}.h" not in WITHOUT}
    return sorted(page for page in pages if page != own)


def signed(item):
    """An item whose comment begins with the signature of its macro, `coir_all(f, slot) - waits`: that is its code."""
    for declared in item.declared:
        if declared.kind != "macro":
            continue
        signature = rf"((?:\w+ (?:\w+ )?\*?)?{declared.name}\([^()]*(?:\([^()]*\)[^()]*)?\))"
        found = re.search(rf"(?:^|\n\n){signature}(?: - |;\n\n)", item.comment)
        if not found:
            continue
        declared.code = re.sub(r"\s+", " ", found[1])
        if len(item.declared) == 1:
            rest = (item.comment[:found.start()] + "\n\n" + item.comment[found.end():]).strip("\n")
            item.comment = rest[0].upper() + rest[1:]


def head_of(name, section, path):
    return [f'.\\" Made by tools/manual.py from {path.relative_to(ROOT)}: change that.', f".Dd {date_of(path)}",
            f".Dt {name.upper()} {section}", f".Os coir {version()}"]


def page(header, path, where):
    name = page_name(header)
    library = LIBRARIES.get(path.name, "coir")
    names = [name, *(other for other in names_of(header) if other != name)]
    out = [*head_of(name, 3, path), ".Sh NAME", *(f".Nm {other} ," for other in names[:-1]), f".Nm {names[-1]}",
           ".Nd " + heading(header.brief), ".Sh LIBRARY", f"lib{library} (pkg-config {library})", ".Sh SYNOPSIS",
           f".In {header.name}"]
    if lines := synopsis(header):
        out += literal("\n".join(lines))
    out += [".Sh DESCRIPTION", *(prose(header.head) or filled(header.brief[0].upper() + header.brief[1:] + "."))]
    for section in header.sections:
        if section.title:
            title = section.title.replace("`", "")
            out.append(".Ss " + heading(title[0].upper() + title[1:]))
        for item in section.items:
            if item.declared:
                out += literal("\n".join(folded(declared) for declared in item.declared))
            out += [".Pp", *prose(item.comment)] if item.comment else []
    pages = [*(f"{other} 3" for other in referred(header, where)), "coir 7"]
    out += [".Sh SEE ALSO", *(f".Xr {other} ," for other in pages[:-1]), f".Xr {pages[-1]}"]
    return "\n".join(tidied(out)) + "\n"


# ---- the overview

def environment():
    """The table in docs/shards.md, as a list."""
    text = (ROOT / "docs" / "shards.md").read_text()
    section = text[text.index("## The environment"):].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \| (.*) \|$", section, re.MULTILINE)
    plain = [[re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell) for cell in row] for row in rows]
    out = [".Bl -tag -width 10n"]
    for names, text in plain:
        out += [".It " + heading(names.replace("`", "")), *filled(text[0].upper() + text[1:] + ".")]
    return [*out, ".El"]


def overview(found):
    """coir.7."""
    source = ROOT / "docs" / "man" / "coir.7.in"
    guide = (ROOT / "docs" / "guide.md").read_text()
    hello = re.search(r"^```c file=hello.c\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)[1]
    listed = [".Bl -tag -width coir-offload(3) -compact"]
    for header in found.values():
        listed += [f".It Xr {page_name(header)} 3", *filled(header.brief)]
    parts = {"@HEAD@": head_of("coir", 7, source), "@PAGES@": [*listed, ".El"], "@ENVIRONMENT@": environment(),
             "@HELLO@": literal(hello.rstrip("\n"))}
    lines = [line for line in source.read_text().split("\n") if not line.startswith('.\\" SPDX')]
    return "\n".join(tidied([made for line in lines for made in parts.get(line, [line])]))


# ---- the command

def indented(lines):
    """A table or code of a help text."""
    return all(line.startswith("  ") for line in lines)


def help_page(name, brief, text, others, path):
    """A page of what a command says of itself: usage, then paragraphs; `word:` alone is the title of what follows."""
    usage, _, rest = text.partition("\n\n")
    synopsis = [line.removeprefix("usage:").strip() for line in usage.split("\n")]
    rest, _, status = rest.rstrip("\n").partition("exit status: ")
    out = [*head_of(name, 1, path), ".Sh NAME", f".Nm {name}", ".Nd " + heading(brief), ".Sh SYNOPSIS",
           *literal("\n".join(synopsis)), ".Sh DESCRIPTION"]
    for paragraph in rest.split("\n\n"):
        run = []
        for line in [*paragraph.split("\n"), None]:
            if line is not None and (not run or line.startswith("  ") == run[-1].startswith("  ")):
                run.append(line)
                continue
            if len(run) == 1 and re.fullmatch(r"\w+:", run[0]):
                out.append(f".Ss {run[0][:-1].capitalize()}")
            elif run:
                out += [".Pp", *(prose("\n".join(run)) if indented(run) else filled(" ".join(run)))]
            run = [line]
    if status:
        out += [".Sh EXIT STATUS", *filled(status[0].upper() + status[1:])]
    return "\n".join(tidied([*out, ".Sh SEE ALSO", *(f".Xr {other} ," for other in others), ".Xr coir 7"])) + "\n"


def command_pages(command):
    def said(*args):
        return subprocess.run([command, *args], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                              check=True).stdout

    text = said("--help")
    verbs = re.findall(r"^  (\w+) +(\S.*)$", text[text.index("\nverbs:"):], re.MULTILINE)
    path = ROOT / "cli" / "main.c"
    made = {"man1/coir.1": help_page("coir", "the command for programs in Coir or with libcoir", text,
                                     [f"coir-{verb} 1" for verb, _ in verbs], path)}
    for verb, brief in verbs:
        made[f"man1/coir-{verb}.1"] = help_page(f"coir-{verb}", brief, said(verb, "--help"), ["coir 1"],
                                                ROOT / "cli" / f"{verb}.c")
    return made


# ---- all of them

def version():
    return re.search(r"^\s*version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


def pages(without=(), command=None):
    """{"man3/coir-task.3": text}: all of them."""
    found = {path: headers.read(path.read_text(), path.name)
             for path in sorted((ROOT / "include" / "coir").glob("*.h")) if path.name not in {*WITHOUT, *without}}
    where = {}                                              # name: its page
    for header in found.values():
        for item in header.items():
            signed(item)
        for name in names_of(header):
            where.setdefault(name, page_name(header))
    made = {f"man3/{page_name(header)}.3": page(header, path, where) for path, header in found.items()}
    for name, target in where.items():
        made[f"man3/{name}.3"] = f".so man3/{target}.3\n"
    made["man7/coir.7"] = overview(found)
    return {**made, **(command_pages(command) if command else {})}


def main():
    parser = argparse.ArgumentParser(description="Make the manual pages.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--install", action="store_true", help="the folder is meson's mandir, below $DESTDIR")
    parser.add_argument("--without", action="append", default=[], metavar="NAME.h", help="this header is not installed")
    parser.add_argument("--command", metavar="FILE", help="the built command, for section 1")
    args = parser.parse_args()
    folder = args.folder
    if args.install and folder.is_absolute():               # then DESTDIR goes before it
        folder = Path(os.environ.get("DESTDIR", "") + str(folder))
    elif args.install:
        folder = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / folder
    for name, text in pages(args.without, args.command).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
