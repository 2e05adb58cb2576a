# SPDX-License-Identifier: MIT
"""Text of comments, and C, as mdoc(7): paragraphs, lists, tables of errors, code."""
import re
import textwrap

WIDTH = 74                                      # of code, which is not filled


def escaped(text):
    """Words of a comment: `name` is an argument or a literal; what begins with a minus begins with one."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![\w`-])-(?=[A-Za-z0-9])", r"\\-", text)
    return re.sub(r"`([^`]+)`", r"\\fI\1\\fP", text)


def filled(text):
    """A paragraph as lines, each sentence begun on one of its own; a formatter takes none of them for a request."""
    text = re.sub(r"\b(\w+)\(\)", r"\1", re.sub(r"\s+", " ", text).strip())
    lines = [line for sentence in re.split(r"(?<=[.?!)]) (?=\S)", text)
             for line in textwrap.wrap(sentence, 68, break_long_words=False, break_on_hyphens=False)]
    return [("\\&" if line[0] in ".'" else "") + line for line in map(escaped, lines)]


def literal(text):
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return [".Bd -literal -offset 2n", *(("\\&" if line[:1] in (".", "'") else "") + line for line in lines), ".Ed"]


def heading(text):
    """Text on the line of a macro, where short words could be other macros, and single marks are set apart."""
    text = re.sub(r"(?<!\\)\b([A-Z][a-z]{1,2})\b", r"\\&\1", escaped(text))
    return re.sub(r"(^| )([][.,:;()?!|])(?= |$)", r"\1\\&\2", text)


TERM = re.compile(r"(  \S.*?  +)(\S.*)")


def table(lines):
    """Lines such as `  -EINVAL   why`, of a list of errors or arguments: [(term, text)], or None. A term may be as long
    as the column is wide: then the others say where the text begins."""
    columns = [len(match[1]) for line in lines if re.match(r"  \S", line) and (match := TERM.fullmatch(line))]
    rows = []
    for line in lines:
        if rows and line.startswith("    "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}".strip())
        elif match := TERM.fullmatch(line):
            rows.append((match[1].strip(), match[2]))
        elif columns and re.match(r"  \S", line) and line[columns[0] - 1:columns[0]] == " ":
            rows.append((line[:columns[0]].strip(), line[columns[0]:]))
        elif columns and re.match(r"  [^-(\s]|  -E", line):
            rows.append((line.strip(), ""))             # nothing to say of it, or its text is below it
        else:
            return None
    return rows or None


def bullets(lines):
    """A list of `  - text`, or of `  (a) text`: [("-" or "(a)", text)], or None."""
    items = []
    for line in lines:
        if match := re.match(r"  (-|\([a-z]\)) (.*)", line):
            items.append(match.groups())
        elif items and line.startswith("    "):
            items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip()}")
        else:
            return None
    return items


def block(lines):
    """One block of lines of a comment, without empty ones."""
    if all(line.startswith("    ") for line in lines):
        return literal(textwrap.dedent("\n".join(lines)))
    if rows := table(lines):
        out = [".Bl -tag -width 10n -offset 2n"]
        for term, text in rows:
            out += [".It " + heading(term), *(filled(text) if text else [])]
        return [*out, ".El"]
    if items := bullets(lines):
        dashes = items[0][0] == "-"
        out = [".Bl -dash -offset 2n" if dashes else ".Bl -tag -width 3n -offset 2n"]
        for mark, text in items:
            out += [".It" if dashes else f".It {mark}", *filled(text)]
        return [*out, ".El"]
    return filled(" ".join(lines))


def blocks(comment):
    """The blocks of a comment: paragraphs, lists, tables, code. What is indented is one of its own."""
    current = []
    for line in comment.split("\n"):
        if not line.strip():
            if current:
                yield current
            current = []
            continue
        indented = line.startswith("  ")
        if current and indented != current[-1].startswith("  "):
            yield current
            current = []
        elif current and indented and line.startswith("    ") != current[0].startswith("    ") and \
                not re.match(r"  \S", current[0]):
            yield current
            current = []
        current.append(line)
    if current:
        yield current


def prose(comment):
    out = []
    for lines in blocks(comment):
        made = block(lines)
        if out and not made[0].startswith(".B"):
            out.append(".Pp")
        out += made
    return out


# ---- code

def commas(text, width):
    """A prototype, folded behind a comma where it is too long."""
    if len(text) <= width:
        return text
    indent = " " * 4
    lines, line = [], ""
    for part in re.split(r"(?<=,) ", text):
        if line and len(line) + 1 + len(part) > width:
            lines.append(line)
            line = indent + part
        else:
            line = f"{line} {part}" if line else part
    return "\n".join([*lines, line])


def narrow(line):
    """A line of a struct: its comment goes above it where it is too long; arguments one below the other."""
    if len(line) <= WIDTH:
        return [line]
    indent = re.match(r" *", line).group()
    args = re.match(r" *coir_args\((.*)\);$", line)
    if args:
        parts = [part.strip() + ";" for part in args[1].split(";") if part.strip()]
        lines = [f"{indent}coir_args({parts[0]}", *(f"{indent}          {part}" for part in parts[1:])]
        return [*lines[:-1], lines[-1] + ");"]
    comment = re.match(r"(.*?\S) *(/\* .*\*/)$", line)
    if comment and comment[1].strip():
        return [*narrow(indent + comment[2]), comment[1]]
    if line.strip().startswith("/*") and line.strip().endswith("*/"):
        words = textwrap.wrap(line.strip()[3:-3], WIDTH - len(indent) - 6)
        return [f"{indent}{'/*' if i == 0 else ' *'} {text}" for i, text in enumerate(words)][:-1] + \
            [f"{indent}{' *' if len(words) > 1 else '/*'} {words[-1]} */"]
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent + "    ", break_long_words=False,
                         break_on_hyphens=False)


def folded(declared):
    if declared.kind in ("function", "macro"):
        return commas(declared.code, WIDTH)
    text = re.sub(r" *\n +\* ", " ", declared.code)                # comments of more than one line, as one
    text = text.replace(" \\\n", "\n") if declared.kind == "constant" else text
    return "\n".join(part for line in text.split("\n") for part in narrow(line))


def tidied(lines):
    """Without a paragraph before a list or at the beginning of a section: mandoc minds."""
    out = []
    for line in lines:
        if line == ".Pp" and out[-1].startswith((".Sh", ".Ss", ".Pp")):
            continue
        if line.startswith((".Bd", ".Bl", ".Ss", ".Sh")) and out and out[-1] == ".Pp":
            out.pop()
        out.append(line)
    return out
