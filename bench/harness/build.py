# SPDX-License-Identifier: MIT
"""Builds libcoir in release mode and whichever peers' packages are installed, all below build-bench/.

A program is rebuilt when a file it is made of is newer. The tools are Debian's: the search path is the
system's, so that a toolchain in someone's home directory is not what gets measured.
"""
import os
import shutil
import subprocess
import sys

from . import table

OUT = table.ROOT / "build-bench"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
LOADGEN = OUT / "loadgen"
HEAP = OUT / "heap.so"


class BuildError(Exception):
    pass


def say(text):
    print(text, file=sys.stderr, flush=True)


def source_dir(peer):
    return table.BENCH if peer is table.COIR else table.PEERS_DIR / peer.name


def out_dir(peer):
    return OUT / peer.name


def fill(words, peer, cpus=1):
    """The words of a command, or the values of an environment, with their places filled in."""
    places = {"src": source_dir(peer), "out": out_dir(peer), "cpus": cpus, "root": table.ROOT}
    if isinstance(words, dict):
        return {key: value.format(**places) for key, value in words.items()}
    return [word.format(**places) for word in words]


def environment(peer=None, cpus=1):
    env = dict(os.environ, PATH=PATH)
    if peer:
        env.update(fill(peer.env, peer, cpus))
    return env


def missing_packages(peer):
    return [need.package for need in peer.needs if not need.present()]


def install(packages):
    """apt-get install, through sudo when we are not root."""
    root = [] if os.geteuid() == 0 else ["sudo"]
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        command = [*root, "apt-get", *command]
        say("+ " + " ".join(command))
        subprocess.run(command, check=True, stdout=sys.stderr)


def run_tool(command, what, cwd=None, env=None):
    done = subprocess.run(command, cwd=cwd, env=env or environment(), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise BuildError(f"{what}: {' '.join(map(str, command))}\n{done.stdout.strip()}")


def newest(paths):
    return max((path.stat().st_mtime for path in paths if path.is_file()), default=0)


def is_current(output, sources):
    return output.exists() and output.stat().st_mtime >= newest(sources)


def build_loadgen():
    sources = [table.BENCH / "loadgen.c", table.BENCH / "measure.h"]
    if not is_current(LOADGEN, sources):
        OUT.mkdir(exist_ok=True)
        run_tool([*table.C, str(sources[0]), "-o", str(LOADGEN)], "loadgen")


def build_heap():
    source = table.BENCH / "heap.c"
    if not is_current(HEAP, [source]):
        OUT.mkdir(exist_ok=True)
        run_tool([*table.C, "-shared", "-fPIC", str(source), "-o", str(HEAP)], "heap")


def build_libcoir():
    """Incremental: meson decides what is old."""
    out = out_dir(table.COIR) / "lib"
    if not (out / "build.ninja").exists():
        run_tool(["meson", "setup", str(out), "--buildtype=release", "-Doptimization=2", "-Dtests=false",
                  "-Dexamples=false"], "libcoir", cwd=table.ROOT)
    run_tool(["meson", "compile", "-C", str(out)], "libcoir")
    return out / "libcoir.a"


def build(peer):
    """Builds one column's programs when they are old. Raises BuildError with the tool's words."""
    out, src = out_dir(peer), source_dir(peer)
    out.mkdir(parents=True, exist_ok=True)
    sources = [table.BENCH / "measure.h"]
    if peer is table.COIR:
        sources += [build_libcoir(), *src.glob("coir_*.[ch]")]
    else:
        sources += [*src.rglob("*"), *table.PEERS_DIR.glob("*.h")]
    stamp = out / "built"
    if is_current(stamp, sources):
        return
    say(f"building {peer.name}")
    if peer.copy:
        shutil.copytree(src, out / "src", dirs_exist_ok=True)
    for command in peer.build:
        run_tool(fill(command, peer), peer.name, cwd=out / "src" if peer.copy else src, env=environment(peer))
    stamp.touch()
