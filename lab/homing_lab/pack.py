"""What goes into the guest: programs with their interpreters and libraries, and files."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError, UsageError

MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr, as Debian has them
X86_64 = 62
# Loaded by name at run time, where glibc needs them (pthread_exit, name services).
BY_NAME = ("libgcc_s.so.1",)


def guest_path(path: str) -> str:
    """An absolute path without `..`, where links of Debian's merged /usr are followed."""
    path = os.path.normpath(path)
    path = "/" + path.lstrip("/")
    first = path.split("/")[1]
    return f"/usr{path}" if first in MERGED else path


@dataclass
class Entry:
    """A file of the guest: from a file of the host, or given bytes, or a link."""

    mode: int
    source: Path | None = None
    content: bytes = b""
    link: str = ""


class Pack:
    """Collects entries by their guest path. `environment` is the program's: ldd must see it too."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.entries: dict[str, Entry] = {}
        self._environment = environment
        self._seen: set[str] = set()

    def add(self, guest: str, entry: Entry) -> None:
        self.entries.setdefault(guest_path(guest), entry)

    def add_file(self, source: Path, guest: str) -> None:
        """A file or a whole folder; programs and libraries bring what they need."""
        if source.is_dir():
            for child in sorted(source.rglob("*")):
                if child.is_file():
                    self._add_one(child, f"{guest}/{child.relative_to(source)}")
            self.add(f"{guest}/.", Entry(0o040755))
            return
        if not source.is_file():
            raise UsageError(
                f"there is no file {source}"
                if not source.exists()
                else f"{source} is no regular file"
            )
        self._add_one(source, guest)

    def _add_one(self, source: Path, guest: str) -> None:
        try:
            with source.open("rb") as file:
                head = file.read(256)
            # Readable by whoever runs the program there; who owns it here has no meaning there.
            mode = 0o100755 if source.stat().st_mode & 0o111 else 0o100644
        except OSError as error:
            raise LabError(f"can't read {source}: {error.strerror}") from error
        self.add(guest, Entry(mode, source))
        if str(source) in self._seen:
            return
        self._seen.add(str(source))
        if head.startswith(b"\x7fELF"):
            self._add_libraries(source, head)
        elif head.startswith(b"#!") and mode & 0o111:
            self._add_interpreter(source, head)

    def _add_interpreter(self, script: Path, head: bytes) -> None:
        words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
        if not words:
            return
        if not Path(words[0]).is_file():
            raise LabError(f"{script}: its interpreter {words[0]} is not there", code=126)
        self._add_one(Path(words[0]), words[0])
        if Path(words[0]).name == "env":
            names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if names:
                self.add_program(names[0])

    def _add_libraries(self, program: Path, head: bytes) -> None:
        machine = struct.unpack_from("<H", head, 18)[0] if head[5] == 1 else 0
        if head[4] != 2 or machine != X86_64:
            raise LabError(
                f"{program} is no x86-64 program; the guest is an x86-64 machine", code=126
            )
        missing = []
        for line in self._ldd(program).splitlines():
            name, arrow, rest = line.strip().partition(" => ")
            if arrow and rest.startswith("not found"):
                missing.append(name)
                continue
            match = re.match(r"(/[^\s]+)", rest if arrow else name)
            if match and Path(match[1]).is_file():
                self._add_library(Path(match[1]))
        if missing:
            raise LabError(
                f"{program}: these libraries are not found: {', '.join(missing)}",
                "LD_LIBRARY_PATH can name their folder, or --tbb=homing|stock for libtbb.so.12",
                code=126,
            )

    def _add_library(self, path: Path) -> None:
        self.add(str(path), Entry(0o100755, path))
        if path.name == "libc.so.6":
            for name in BY_NAME:
                if (path.parent / name).is_file():
                    self.add(str(path.parent / name), Entry(0o100755, path.parent / name))

    def _ldd(self, program: Path) -> str:
        try:
            done = subprocess.run(
                ["ldd", str(program)],
                env=self._environment | {"LC_ALL": "C"},
                capture_output=True,
                text=True,
                timeout=60,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LabError(f"can't ask ldd what {program} needs: {error}") from error
        if done.returncode and "not a dynamic executable" in done.stderr + done.stdout:
            return ""  # static
        if done.returncode:
            raise LabError(f"ldd {program}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def add_program(self, word: str) -> None:
        """A program as a shell finds it, at the same path as here."""
        found = shutil.which(word, path=self._environment.get("PATH", os.defpath))
        if found is None:
            if "/" in word and os.path.exists(word):
                raise LabError(f"{word} is not executable", code=126)
            raise LabError(
                f"there is no program {word}" + ("" if "/" in word else " on PATH"), code=127
            )
        self.add_file(Path(found), os.path.abspath(found))

    def add_preloaded(self) -> None:
        for word in re.split(r"[ :]+", self._environment.get("LD_PRELOAD", "")):
            if word and "/" in word:
                self.add_file(Path(word), os.path.abspath(word))
