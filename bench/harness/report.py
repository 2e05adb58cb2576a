# SPDX-License-Identifier: MIT
"""Turns samples into the table, in three dresses: for a terminal, for docs/benchmarks.md, for a program.

`samples` is {row: {column: [value, ...]}}. A column's figure is its median; the best peer is the best median
that is not coir's, or the one peer that was asked for; the ratio is coir's cost over that, so below 1 coir is ahead, in
every row.
"""
import json
import platform
import statistics
import subprocess

from . import table


def number(value):
    """Three significant digits, or whole numbers with thousands separators."""
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def spread(values):
    return f"{number(statistics.median(values))} ({number(min(values))}-{number(max(values))})"


def best_peer(row, columns, against=None):
    """(name, median) of the best peer, or of the one that is asked for, or None."""
    aside = {peer.name for peer in table.PEERS if peer.aside}
    medians = {name: statistics.median(v) for name, v in columns.items()
               if name != "coir" and v and (name == against or (not against and name not in aside))}
    if not medians:
        return None
    pick = max if row.higher_is_better else min
    name = pick(medians, key=medians.get)
    return name, medians[name]


def ratio(row, columns, against=None):
    best, mine = best_peer(row, columns, against), columns.get("coir")
    if not best or not mine:
        return None
    cost, other = statistics.median(mine), best[1]
    if row.higher_is_better:
        cost, other = other, cost
    return cost / other if other else None


def lines(samples, peers, against):
    """The cells of the table, header first."""
    yield ["row", "unit", "coir", "against" if against else "best peer", "ratio", *peers]
    for name, row in table.ROWS.items():
        columns = samples.get(name)
        if not columns:
            continue
        best, times = best_peer(row, columns, against), ratio(row, columns, against)
        yield [name, row.unit, spread(columns["coir"]) if columns.get("coir") else "-",
               f"{best[0]} {number(best[1])}" if best else "-", f"{times:.2f}x" if times else "-",
               *(number(statistics.median(columns[p])) if columns.get(p) else "" for p in peers)]


def as_text(samples, peers, against=None):
    rows = list(lines(samples, peers, against))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = {0, 1, 3}
    return "\n".join("  ".join(cell.ljust(w) if i in left else cell.rjust(w)
                               for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows)


def as_markdown(samples, peers, about, against=None):
    rows = list(lines(samples, peers, against))
    out = [f"{about['cpu']}, {about['cpus']} CPUs, Linux {about['kernel']}; {about['rounds']} rounds"
           + (", quick" if about["quick"] else "") + (f", COIR_IO={about['plane']}" if about["plane"] else "")
           + f"; system calls counted by {about['counter']}.", ""]
    out += ["| " + " | ".join(rows[0]) + " |", "| --- | --- |" + " ---: |" * (len(rows[0]) - 2)]
    out += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    out += ["", "| row | what |", "| --- | --- |"]
    out += [f"| {name} | {row.what} |" for name, row in table.ROWS.items() if name in samples]
    out += ["", "| column | what | package |", "| --- | --- | --- |"]
    out += [f"| {p.name} | {p.title} | {p.package} {about['versions'].get(p.name, '')} |"
            for p in table.PEERS if p.name in peers]
    return "\n".join(out)


def as_json(samples, about, failures):
    return json.dumps({"about": about, "failures": failures, "samples": samples}, indent=1)


def describe(options, peers, use_strace):
    """The machine and the versions: what a figure means nothing without."""
    return {
        "cpu": cpu_model(), "cpus": len(options.online), "kernel": platform.release(),
        "rounds": options.rounds, "quick": options.quick, "plane": options.plane,
        "counter": "strace" if use_strace else "perf events",
        "versions": {p.name: package_version(p.package) for p in table.PEERS if p.name in peers},
    }


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def package_version(package):
    try:
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package],
                              capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
