#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the sources of the standard library as a C file: embed.py OUTPUT CORE... -- MODULE...

What stands before `--` is there without `use`.
"""
import sys
from pathlib import Path


def main():
    output, *names = sys.argv[1:]
    lines = ["/* Made by lang/prelude/embed.py. */", '#include "lang/prelude.h"', ""]
    table = []
    core = "true"
    for name in names:
        if name == "--":
            core = "false"
            continue
        path = Path(name)
        data = path.read_bytes()
        lines.append(f"static const char {path.stem}_text[] = {{")
        for at in range(0, len(data), 20):
            lines.append("    " + " ".join(f"{byte}," for byte in data[at:at + 20]))
        lines.append("    0 };")
        table.append(f'    {{ "{path.stem}", {path.stem}_text, {len(data)}, {core} }},')
    lines += ["", "const struct coir_prelude coir_preludes[] = {", *table, "};",
              f"const uint32_t coir_preludes_count = {len(table)};", ""]
    Path(output).write_text("\n".join(lines))


main()
