# SPDX-License-Identifier: MIT
"""A Linux guest for tests: Debian's kernel, an initramfs of this machine's own programs, qemu's software emulation.

Nothing of it needs root: the kernel's package is not installed, but unpacked under build/guest. The guest sees this
machine's loopback as 10.0.2.2, and nothing else. It must never outlive who made it.
"""
import lzma
import os
import re
import shutil
import stat
import subprocess
import threading
import time
from pathlib import Path

SOURCE = Path(os.environ["COIR_SOURCE"])
CACHE = SOURCE / "build" / "guest"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
KERNELS = ("linux-image-6.12-amd64", "linux-image-amd64")       # the first one that there is
MODULES = ("virtio_pci", "virtio_net", "nbd", "ext4", "crc32c_generic")
PROGRAMS = ("busybox", "nbd-client", "mke2fs", "e2fsck", "fstrim", "blkdiscard", "fallocate", "blockdev")
PACKAGES = "qemu-system-x86 busybox-static nbd-client e2fsprogs"
PATIENCE = 300                      # seconds; the emulated processor may share ours with many


def program(name):
    return shutil.which(name, path=PATH)


def missing():
    """The programs that are not here."""
    return [name for name in ("setpriv", "qemu-system-x86_64", *PROGRAMS) if not program(name)]


# ---- the kernel

def call(*command, **more):
    return subprocess.run(command, check=True, encoding="utf-8", stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=PATIENCE, **more).stdout


def package_of(wanted):
    """The package that holds a kernel, for one that only depends on it."""
    for name in [wanted] if wanted else KERNELS:
        try:
            needs = re.findall(r"Depends: (linux-image-\d\S*)", call("apt-cache", "depends", name))
        except subprocess.CalledProcessError:
            continue
        return needs[0] if needs else name
    raise RuntimeError(f"apt-cache knows no {wanted or ' and no '.join(KERNELS)}; try: apt-get update")


def unpacked(wanted):
    """The folder with a kernel's files, downloaded once."""
    package = package_of(wanted)
    folder, fresh = CACHE / package, CACHE / f"{package}.new.{os.getpid()}"
    if not folder.exists():
        fresh.mkdir(parents=True)
        try:
            call("apt-get", "download", package, cwd=fresh)
            (deb,) = fresh.glob("*.deb")
            call("dpkg-deb", "-x", deb.name, "files", cwd=fresh)
            (fresh / "files").rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder


# ---- the initramfs

def module_bytes(path):
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def modules(folder):
    """The modules and what they need, in an order in which they can be loaded: (name, bytes)."""
    (tree,) = (folder / "lib" / "modules").iterdir()
    there = {re.sub(r"\.ko.*", "", path.name).replace("-", "_"): path for path in tree.rglob("*.ko*")}
    order = {}

    def add(name):
        if name in order or name not in there:          # what is not there is built in
            return
        data = module_bytes(there[name])
        for needed in re.search(rb"\0depends=([^\0]*)\0", data).group(1).decode().split(","):
            add(needed.replace("-", "_"))
        order[name] = data

    for name in MODULES:
        add(name)
    return order.items()


def libraries(path):
    """The files that a program needs to be run, by the names it looks for."""
    try:
        said = call("ldd", path)
    except subprocess.CalledProcessError:               # it needs none
        return []
    return re.findall(r"(/\S+) \(0x", said)


class Archive:
    """A cpio archive as the kernel takes it."""

    def __init__(self):
        self.parts, self.names = [], set()

    def add(self, name, mode, data=b""):
        if name in self.names:
            return
        self.names.add(name)
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, stat.S_IFDIR | 0o755)
        at = len(self.names) if name != "TRAILER!!!" else 0
        fields = (at, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        self.parts += [head, bytes(-len(head) % 4), data, bytes(-len(data) % 4)]

    def file(self, name, data, mode=0o755):
        if isinstance(data, Path):
            data = data.read_bytes()
        self.add(name, stat.S_IFREG | mode, data)

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return b"".join(self.parts)


def initramfs(folder, init):
    archive = Archive()
    archive.file("init", init)
    archive.add("etc", stat.S_IFDIR | 0o755)
    for name in PROGRAMS:
        path = program(name)
        archive.file(f"bin/{name}", Path(path))
        for library in libraries(path):
            archive.file(library.lstrip("/"), Path(library))
    order = []
    for name, data in modules(folder):
        archive.file(f"modules/{name}.ko", data)
        order.append(f"{name}.ko\n")
    archive.file("modules/order", "".join(order).encode())
    return archive.bytes()


# ---- the guest

class Guest:
    """A guest that runs. What it says unasked is handed to `heard`, a line at a time."""

    def __init__(self, kernel, ram_file, folder, heard):
        (image,) = (kernel / "boot").glob("vmlinuz-*")
        self.log = Path(folder) / "kernel.log"
        self.heard, self.answers, self.changed, self.ended = heard, [], threading.Condition(), False
        self.process = subprocess.Popen(
            # one thread: with several, this emulator and a kernel that patches its own code do not go together
            [program("setpriv"), "--pdeathsig", "KILL", program("qemu-system-x86_64"), "-accel", "tcg,thread=single",
             "-m", "512", "-smp", "2", "-display", "none", "-nodefaults", "-no-reboot",
             "-kernel", image, "-initrd", ram_file,
             "-append", "console=ttyS0 panic=-1 loglevel=5",
             "-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile=",
             "-serial", f"file:{self.log}", "-serial", "stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        try:
            self.version = self.answer(r"ready (\S+)")[1].group(1)
        except BaseException:
            self.kill()
            raise

    def read(self):
        for line in self.process.stdout:
            text = line.decode(errors="replace").strip("\r\n")
            with self.changed:
                if not self.heard(text):
                    self.answers.append(text)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait(self, condition, what):
        """Until a condition holds of what was heard."""
        until = time.monotonic() + PATIENCE
        with self.changed:
            while not condition():
                if self.ended or time.monotonic() > until:
                    raise RuntimeError(f"the guest {'ended' if self.ended else 'hangs'}: {what}\n" + self.said())
                self.changed.wait(1)

    def said(self):
        tail = self.log.read_text(errors="replace").splitlines()[-25:] if self.log.exists() else []
        return "\n".join([*self.answers[-10:], "--- its kernel:", *tail])

    def answer(self, pattern):
        """Waits for a line: what was said before it, and the match."""
        found = []

        def there():
            found[:] = [(i, m) for i, m in ((i, re.fullmatch(pattern, s)) for i, s in enumerate(self.answers)) if m]
            return found
        self.wait(there, pattern)
        with self.changed:
            at, match = found[0]
            said, self.answers = self.answers[:at], self.answers[at + 1:]
        return "\n".join(said), match

    def run(self, line):
        """Has the guest run a line of shell: (exit status, output)."""
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        said, match = self.answer(r"status (\d+)")
        return int(match.group(1)), said

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
