# SPDX-License-Identifier: MIT
"""The public headers as data: what each declares, and the comment that says what it is.

A header is read top down, by its layout. After the opening comment come comments at the left margin, and below each
what it is about, up to the next empty line: functions, macros, types. A comment that nothing follows is about all that
comes. `/* ---- title ---- */` begins a section.

Private is what ends in an underscore, a section or comment that says so ("Private."), and bodies (`NAME_resume`). Of a
type whose members are private, and of an operation's frame, only what a program may touch is kept.
"""
import re
from dataclasses import dataclass, field

OPENING = re.compile(r"/\* SPDX[^\n]*\n/\*\n \* (?P<name>coir/\w+\.h) - (?P<text>.*?)\*/\n", re.DOTALL)
SECTION = re.compile(r"/\* -{4} (.*?) -+ \*/")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINE = re.compile(r"#define (?P<name>\w+)(?P<args>\([^)]*\))?[ \t]*(?P<body>(?:[^\n]*\\\n)*[^\n]*)\n")
DIRECTIVE = re.compile(r"#(?:[^\n]*\\\n)*[^\n]*\n")


@dataclass
class Declared:
    kind: str           # function, macro, constant, task, struct, opaque, enum, type
    name: str           # of an enum without one: its first constant
    code: str           # what a program needs to see of it, laid out
    text: str = ""      # as it stands in the header
    names: list = field(default_factory=list)   # of an enum: its public constants


@dataclass
class Item:
    comment: str        # without its marks; empty: there is none
    declared: list
    line: int


@dataclass
class Section:
    title: str          # empty: what comes before the first
    items: list = field(default_factory=list)


@dataclass
class Header:
    name: str           # "coir/task.h"
    brief: str          # the first sentence of the opening comment
    head: str           # the rest of it
    sections: list

    def items(self):
        return [item for section in self.sections for item in section.items]

    def declared(self):
        return [declared for item in self.items() for declared in item.declared]


def bare(comment):
    """A comment without its marks, the indentation of its lines kept."""
    lines = comment.removeprefix("/*").removesuffix("*/").split("\n")
    lines = [re.sub(r"^ \* ?", "", line).rstrip() for line in lines]
    lines[0] = lines[0].strip()
    return "\n".join(lines).strip("\n")


def is_private_name(name):
    return name.endswith("_") or name.endswith("_resume") or name.startswith("COIR_") and name.endswith("_H")


def is_private(comment):
    """Of all that it is about, not of the members only."""
    return re.search(r"(?:^|\. |\n)Private(?:\.|;|:(?! |\n))", comment) is not None


def hides_members(comment):
    return re.search(r"members are private|^Private, but for|Private to coir", re.sub(r"\s+", " ", comment)) is not None


# ---- declarations

def end_of(text, at):
    """Where the declaration that begins at `at` ends: behind its `;`, or its body."""
    depth = 0
    for match in re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|[{}();]', re.DOTALL).finditer(text, at):
        token = match.group()
        if token in "{(":
            depth += 1
        elif token in "})":
            depth -= 1
            if token == "}" and depth == 0 and re.match(r"static inline", text[at:]) and "\n}" in text[at:match.end()]:
                return match.end()
        elif token == ";" and depth == 0:
            return match.end()
    raise ValueError("a declaration without an end: " + text[at:at + 80])


ATTRIBUTE = re.compile(r"\s*__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


def function(text):
    text = ATTRIBUTE.sub("", re.sub(r"^(?:COIR_API|static inline)\s+", "", text))
    head = re.sub(r"\s+", " ", re.split(r"\n\{|;", text)[0]).strip()
    name = re.search(r"(\w+)\s*\(", head)
    return Declared("function", name[1], head + ";") if name else None


def members(body):
    """The members of a struct, each with its comments: before it or behind it."""
    found, at, kept = [], 0, ""
    while match := re.compile(r"\s*(/\*.*?\*/)", re.DOTALL).match(body, at):
        kept, at = kept + match.group(), match.end()
    while body[at:].strip():
        end = end_of(body, at)
        behind = re.compile(r"[ \t]*/\*.*?\*/", re.DOTALL).match(body, end)
        if behind and "\n" not in body[end:behind.start()]:
            end = behind.end()
        found.append(kept + body[at:end])
        kept, at = "", end
        while match := re.compile(r"\s*/\*.*?\*/", re.DOTALL).match(body, at):
            kept, at = kept + match.group(), match.end()
    return found


def structure(text, comment):
    name = re.match(r"(?:struct|union|enum) (\w+)", text)[1]
    body = text[text.index("{") + 1:text.rindex("}")]
    if "coir_frame" in body and "coir_args(" in body or "coir_no_args" in body:
        shown = [re.sub(r"\s+", " ", part).strip() for part in members(body)[:2]]
        return Declared("task", name, "struct %s {\n    %s\n    ...\n};" % (name, "\n    ".join(shown)))
    if hides_members(comment):
        return Declared("opaque", name, f"struct {name};")
    return Declared("struct", name, text)


def enumeration(text):
    names = re.findall(r"(\w+)\s*(?:=[^,}]*)?(?=,|\s*\})", COMMENT.sub("", text[text.index("{") + 1:]))
    names = [name for name in names if not is_private_name(name)]
    tag = re.match(r"enum (\w+)", text)
    lines = [line for line in text.split("\n")
             if not (word := re.match(r"\s*(\w+_)\b[^,]*,", line)) or not is_private_name(word[1])]
    return Declared("enum", tag[1] if tag else names[0], "\n".join(lines), names=names) if names else None


def declaration(text, comment):
    if re.match(r"struct \w+;", text):
        return Declared("opaque", re.match(r"struct (\w+)", text)[1], text)
    if re.match(r"enum\b", text):
        return enumeration(text)
    if re.match(r"struct \w+ \{", text):
        return structure(text, comment)
    if re.match(r"typedef", text):
        name = re.search(r"(\w+)(?:\([^;]*\))?;$", text)
        return Declared("type", name[1], text)
    if re.match(r"COIR_API|static inline", text) and not re.search(r"__thread", text):
        return function(text)
    return None


def macro(match):
    name, args = match["name"], match["args"]
    if args:
        return Declared("macro", name, name + re.sub(r"(\w)_\b", r"\1", args))
    body = match["body"].strip()
    if name.islower():
        return Declared("macro", name, name)
    return Declared("constant", name, f"#define {name} {body}") if body else None


# ---- a header

def read(text, place="a header"):
    """A header's text as a Header."""
    opening = OPENING.match(text)
    if not opening:
        raise ValueError(f"{place}: it does not open with `coir/NAME.h - what it is about`")
    whole = bare(opening["text"])
    brief = re.match(r"(.*?)\.(?:\s|$)", whole, re.DOTALL)
    header = Header(opening["name"], re.sub(r"\s+", " ", brief[1]), whole[brief.end():].strip("\n"), [Section("")])
    at = opening.end()
    while at < len(text):
        at = step(text, at, header)
    for section in header.sections:
        section.items = joined(section.items)
    header.sections = [s for s in header.sections if s.items and "private" not in s.title.split("; ")[1:]]
    return header


def joined(items):
    """Without the types that are only named, and with what has no comment where one before speaks of it: of
    `open(2) and openat(2)`, coir_openat."""
    kept = []
    for item in items:
        if len(item.declared) > 1 or not item.comment:
            item.declared = [declared for declared in item.declared if declared.kind != "opaque"]
        names = [declared.name.removeprefix("coir_") for declared in item.declared]
        if not item.comment and kept and names and all(f"{name}(2)" in kept[-1].comment for name in names):
            kept[-1].declared += item.declared
        elif item.declared or item.comment:
            kept.append(item)
    return kept


def step(text, at, header):
    """Reads one paragraph: a comment and what is below it, up to an empty line. Value: where the next begins."""
    blank = re.compile(r"\n+").match(text, at)
    if blank:
        return blank.end()
    section = SECTION.match(text, at)
    if section:
        header.sections.append(Section(section[1]))
        return section.end()
    item = Item("", [], text.count("\n", 0, at) + 1)
    seen = False                                        # anything that the comment may be about
    comment = COMMENT.match(text, at)
    if comment:
        item.comment, at = bare(comment.group()), comment.end() + 1
    while at < len(text) and text[at] != "\n" and not text.startswith("/*", at):
        seen = True
        at = take(text, at, item)
    if is_private(item.comment) or (seen and not item.declared):
        return at
    header.sections[-1].items.append(item)
    return at


def take(text, at, item):
    """Reads one declaration, or passes over a line that is none."""
    match = DEFINE.match(text, at)
    if match:
        found = macro(match)
    elif match := DIRECTIVE.match(text, at):
        found = None
    elif text.startswith("}", at) or text.startswith('extern "C"', at):
        return text.index("\n", at) + 1
    elif match := re.compile(r"(?:static )?coir_(?:export|declare)\(\w+\);\n").match(text, at):
        found = None
    else:
        end = end_of(text, at)
        found = declaration(text[at:end], item.comment)
        behind = re.compile(r"[ \t]*(?:/\*[^\n]*\*/)?\n?").match(text, end)
        at = behind.end()
        match = None
    if found and not is_private_name(found.name) and found.name not in [d.name for d in item.declared]:
        item.declared.append(found)
    return match.end() if match else at
