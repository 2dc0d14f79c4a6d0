"""The architectures that a guest may have: what its programs look like, where its parts are from."""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import dataclass

from .errors import UsageError


@dataclass(frozen=True)
class Architecture:
    """`native`: its programs run on this host, too, so that the host's tools can be asked about
    them and its libraries go along; otherwise Debian's packages give them (guest_root.py)."""

    name: str  # as `uname -m` says it
    title: str
    elf_machine: int
    debian: str
    qemu: str
    qemu_package: str
    native: bool
    setup: str  # the group of scripts/setup
    has_not: str  # what its CPU lacks, and how to build for it


X86_64 = Architecture(
    name="x86_64",
    title="x86-64",
    elf_machine=62,
    debian="amd64",
    qemu="qemu-system-x86_64",
    qemu_package="qemu-system-x86",
    native=True,
    setup="lab",
    has_not="it has AVX2 and no AVX-512: build for -march=x86-64-v2 or -v3, never -march=native",
)
AARCH64 = Architecture(
    name="aarch64",
    title="AArch64",
    elf_machine=183,
    debian="arm64",
    qemu="qemu-system-aarch64",
    qemu_package="qemu-system-arm",
    native=False,
    setup="lab-aarch64",
    has_not="it has LSE's atomics and no SVE: build for -march=armv8.1-a or -mcpu=neoverse-n1",
)
ALL = {a.name: a for a in (X86_64, AARCH64)}


def of_head(head: bytes) -> Architecture | None:
    """Of a 64-bit ELF file, by its first 20 bytes."""
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[4] != 2 or head[5] != 1:
        return None
    machine = struct.unpack_from("<H", head, 18)[0]
    return next((a for a in ALL.values() if a.elf_machine == machine), None)


def of_file(path: str) -> Architecture | None:
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return of_head(file.read(20))
    except OSError:
        return None


def of_words(words: list[str]) -> Architecture:
    """Of a command-line: that of the first word which is an executable program of a foreign one, so that
    `numactl --membind=1 ./program` goes where the program does; else the host's own. Data that looks like a
    foreign program (`wc -c firmware`) is data: it is not executable."""
    for word in words:
        program = shutil.which(word)
        found = of_file(program) if program else None
        if found and not found.native:
            return found
    return X86_64


def choose(asked: str, words: list[str]) -> Architecture:
    """The one that was asked for, or the program's."""
    if not asked:
        return of_words(words)
    if asked not in ALL:
        raise UsageError(f"--arch {asked}: expected {' or '.join(ALL)}")
    return ALL[asked]
