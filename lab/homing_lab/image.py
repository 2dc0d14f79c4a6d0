"""The guest's image: an archive that the kernel unpacks into memory, made of busybox, our first
program and a pack. Cached by content."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import BinaryIO

from . import cache, guest_root
from .errors import LabError
from .pack import MERGED, Entry, Pack, applets
from .paths import binary, needed

FORMAT = "2"  # changes with what base_entries() or write() do
FOLDER, FILE, LINK, DEVICE = 0o040000, 0o100000, 0o120000, 0o020000
CONSOLE = (5, 1)
ATTEMPTS_MAX = 3


def busybox(pack: Pack) -> Path:
    foreign = guest_root.program(pack.root, "busybox") if not pack.architecture.native else None
    if foreign:
        return foreign
    for place in (shutil.which("busybox"), "/bin/busybox"):
        if place and os.path.isfile(place):
            with open(place, "rb") as file:
                if b"ld-linux" not in file.read(4096):
                    return Path(place).resolve()
    raise LabError(
        "no static busybox here", "scripts/setup lab, or: apt-get install busybox-static"
    )


def add_base(pack: Pack) -> None:
    """What each guest has. Comes last: what the user packed wins over an applet of that name."""
    shell, arch = busybox(pack), pack.architecture
    pack.add("/init", Entry(FILE | 0o755, needed("homing-lab-init", "homing_lab_init", arch)))
    calibrator = binary("homing-lab-calibrate", arch)
    if calibrator:
        pack.add_file(calibrator, "/homing/homing-lab-calibrate")
    pack.add("/usr/bin/busybox", Entry(FILE | 0o755, shell))
    for applet in applets():
        pack.add(f"/usr/bin/{applet}", Entry(LINK | 0o777, link="busybox"))
    users = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n"
    groups = "root:x:0:\nnogroup:x:65534:\n"
    pack.add("/etc/passwd", Entry(FILE | 0o644, content=users.encode()))
    pack.add("/etc/group", Entry(FILE | 0o644, content=groups.encode()))
    pack.add("/etc/hosts", Entry(FILE | 0o644, content=b"127.0.0.1 localhost lab\n"))
    for folder in (
        "/root",
        "/proc",
        "/sys",
        "/dev",
        "/homing",
        "/usr/lib",
        "/usr/lib64",
        "/usr/sbin",
    ):
        pack.add(folder, Entry(FOLDER | 0o755))
    pack.add("/tmp", Entry(FOLDER | 0o1777))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Changed(Exception):
    """A file's content is not that of its hash any more."""

    def __init__(self, source: Path) -> None:
        self.source = source


def build(pack: Pack) -> Path:
    """The image's file, made now if no run before had the same."""
    add_base(pack)
    for attempts_left in reversed(range(ATTEMPTS_MAX)):
        try:
            return _build(pack)
        except _Changed as changed:
            if attempts_left == 0:
                raise LabError(
                    f"{changed.source} changed while it was packed, {ATTEMPTS_MAX} times",
                    "who writes to it? --file takes a copy along: --file COPY:DEST",
                ) from None
        except OSError as error:
            raise LabError(f"can't read {error.filename}: {error.strerror}") from error
    raise AssertionError


def _build(pack: Pack) -> Path:
    total = hashlib.sha256(FORMAT.encode())
    hashes: dict[str, str] = {}
    for guest, entry in sorted(pack.entries.items()):
        content = _hash(entry.source) if entry.source else hashlib.sha256(entry.content).hexdigest()
        hashes[guest] = content
        facts = f"{entry.mode:o}\0{entry.modified_s}\0{entry.link}"
        total.update(f"{guest}\0{facts}\0{content}\n".encode("utf-8", "surrogateescape"))
    name = f"image-{total.hexdigest()[:32]}"
    return cache.find(name) or cache.store(name, lambda file: _write(file, pack.entries, hashes))


def _content(entry: Entry, expected: str) -> bytes:
    if not entry.source:
        return os.fsencode(entry.link) or entry.content
    content = entry.source.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:  # the image would be kept under a wrong name
        raise _Changed(entry.source)
    return content


def _write(file: BinaryIO, entries: dict[str, Entry], hashes: dict[str, str]) -> None:
    made: set[str] = set()
    number = 0

    def record(
        name: str, mode: int, size: int, device: tuple[int, int] = (0, 0), modified_s: int = 0
    ) -> None:
        nonlocal number
        number += 1
        encoded = name.lstrip("/").encode("utf-8", "surrogateescape") + b"\0"
        fields = (number, mode, 0, 0, 1, modified_s, size, 0, 0, *device, len(encoded), 0)
        file.write(b"070701" + b"".join(b"%08x" % value for value in fields) + encoded)
        pad()

    def pad() -> None:
        file.write(b"\0" * (-file.tell() % 4))

    def folder(path: str, mode: int = FOLDER | 0o755) -> None:
        if path not in made and path != "/":
            folder(os.path.dirname(path))
            made.add(path)
            record(path, mode, 0)

    for guest, entry in sorted(entries.items()):
        if entry.mode & 0o170000 == FOLDER:
            folder(guest, entry.mode)
    for name in MERGED:
        folder(f"/usr/{name}")
        record(name, LINK | 0o777, len(f"usr/{name}"))
        file.write(f"usr/{name}".encode())
        pad()
    folder("/dev")
    record("dev/console", DEVICE | 0o600, 0, CONSOLE)
    for guest, entry in sorted(entries.items()):
        if entry.mode & 0o170000 == FOLDER:
            continue
        folder(os.path.dirname(guest))
        content = _content(entry, hashes[guest])
        record(guest, entry.mode, len(content), modified_s=entry.modified_s)
        file.write(content)
        pad()
    record("TRAILER!!!", 0, 0)
