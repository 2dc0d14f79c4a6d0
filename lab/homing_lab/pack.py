"""What goes into the guest: programs with their interpreters and libraries, and files."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import architecture, guest_root, python
from .architecture import Architecture
from .errors import LabError, UsageError
from .shared_libraries import Libraries

MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr, as Debian has them
# Loaded by name at run time, where glibc needs them (pthread_exit, name services).
BY_NAME = ("libgcc_s.so.1",)
PROGRAMS_OF_ONE_LDD = 64
NOTES_MAX = 5


def guest_path(path: str) -> str:
    """An absolute path without `..`, where links of Debian's merged /usr are followed."""
    path = os.path.normpath(path)
    path = "/" + path.lstrip("/")
    first = path.split("/")[1]
    return f"/usr{path}" if first in MERGED else path


@functools.cache
def applets() -> list[str]:
    """Of busybox: Debian builds it with the same for each architecture."""
    found = shutil.which("busybox") or "/bin/busybox"
    try:
        done = subprocess.run([found, "--list"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(
            "no busybox here that runs", "scripts/setup lab, or: apt-get install busybox-static"
        ) from error
    return [name for name in done.stdout.split() if name != "busybox"]


@dataclass
class Entry:
    """A file of the guest: from a file of the host, or given bytes, or a link."""

    mode: int
    source: Path | None = None
    content: bytes = b""
    link: str = ""
    modified_s: int = 0  # Python goes by it


@dataclass
class Binary:
    """A program or library whose own libraries are still to be found. `vital`: needed to start."""

    path: Path
    vital: bool


class Pack:
    """Collects entries by their guest path. `environment` is the program's: ldd must see it too.
    `root`: of Debian's files, where the guest's architecture is not the host's.

    What cannot run in the guest is an error of a program that is to run, and else only a note: a
    folder may hold data that looks like programs of other machines."""

    def __init__(
        self,
        environment: dict[str, str],
        arch: Architecture = architecture.X86_64,
        root: Path = Path("/"),
    ) -> None:
        self.architecture, self.root = arch, root
        self._libraries = Libraries(arch, guest_root.library_folders(arch, root), environment)
        self.entries: dict[str, Entry] = {}
        self.environment = environment
        self.notes: list[str] = []
        self._seen: set[str] = set()
        self._binaries: list[Binary] = []
        self._pythons: dict[str, python.Python] = {}

    def add(self, guest: str, entry: Entry) -> None:
        self.entries.setdefault(guest_path(guest), entry)

    def has(self, guest: str) -> bool:
        return guest_path(guest) in self.entries

    def add_file(self, source: Path, guest: str) -> None:
        """A file or a whole folder; programs and libraries bring what they need."""
        if source.is_dir():
            self.add_folder(source, guest)
        elif source.is_file():
            self._add_one(source, guest, vital=False)
        else:
            raise UsageError(
                f"there is no file {source}"
                if not source.exists()
                else f"{source} is no regular file"
            )
        self._find_libraries()

    def add_folder(self, source: Path, guest: str, leave: re.Pattern[str] | None = None) -> None:
        """All of a folder, but for what `leave` matches. Links that stay inside stay links."""
        top = source.resolve()
        self._walk(source, guest, top, leave, {top})
        self._find_libraries()

    def _walk(
        self,
        source: Path,
        guest: str,
        top: Path,
        leave: re.Pattern[str] | None,
        above: set[Path],
    ) -> None:
        self.add(guest, Entry(0o040755))
        try:
            children = sorted(source.iterdir())
        except OSError as error:
            self.note(f"can't read {source}: {error.strerror}")
            return
        for child in children:
            place = f"{guest}/{child.name}"
            if leave and leave.search(child.name):
                continue
            target = child.resolve()
            if child.is_symlink() and target.is_relative_to(top):
                text = os.readlink(child)
                if not os.path.isabs(text) and target.exists():
                    self.add(place, Entry(0o120777, link=text))
                    continue
            if child.is_dir():
                if target not in above:
                    self._walk(child, place, top, leave, above | {target})
            elif child.is_file():
                try:
                    # What is in a library is loaded, not started.
                    self._add_one(child, place, vital=False, started=leave is None)
                except LabError as error:
                    self.note(str(error))

    def note(self, text: str) -> None:
        self.notes.append(text.splitlines()[0])

    def notes_told(self) -> Iterator[str]:
        yield from self.notes[:NOTES_MAX]
        if len(self.notes) > NOTES_MAX:
            yield f"and {len(self.notes) - NOTES_MAX} more files that may not load there"

    def _add_one(self, source: Path, guest: str, vital: bool, started: bool = True) -> None:
        try:
            with source.open("rb") as file:
                head = file.read(256)
            facts = source.stat()
        except OSError as error:
            raise LabError(f"can't read {source}: {error.strerror}") from error
        # Readable by whoever runs the program there; who owns it here has no meaning there.
        mode = 0o100755 if facts.st_mode & 0o111 else 0o100644
        modified_s = int(facts.st_mtime) if source.suffix == ".py" else 0
        self.add(guest, Entry(mode, source, modified_s=modified_s))
        if str(source) in self._seen:
            return
        self._seen.add(str(source))
        if head.startswith(b"\x7fELF"):
            self._add_binary(source, head, vital)
        elif head.startswith(b"#!") and mode & 0o111 and started:
            try:
                self._add_interpreter(source, head)
            except LabError as error:
                if vital:
                    raise
                self.note(str(error))

    def _add_interpreter(self, script: Path, head: bytes) -> None:
        words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
        if not words:
            return
        if not Path(words[0]).is_file():
            raise LabError(f"{script}: its interpreter {words[0]} is not there", code=126)
        self._add_one(Path(words[0]), words[0], vital=True)
        interpreter = words[0]
        if Path(words[0]).name == "env":
            names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
            if not names:
                return
            interpreter = names[0]
            self.add_program(interpreter)
        if python.is_python(interpreter):
            self.add_python(interpreter, [str(script)])

    def _add_binary(self, program: Path, head: bytes, vital: bool) -> None:
        if architecture.of_head(head) is self.architecture:
            self._binaries.append(Binary(program, vital))
        else:
            title = self.architecture.title
            what = f"{program} is no {title} program; the guest is an {title} machine"
            if vital:
                raise LabError(what, code=126)
            self.note(what)

    def _find_libraries(self) -> None:
        """Of all that were added since."""
        while self._binaries:
            if not self.architecture.native:
                self._find_foreign_libraries(self._binaries.pop())
                continue
            some = self._binaries[:PROGRAMS_OF_ONE_LDD]
            del self._binaries[:PROGRAMS_OF_ONE_LDD]
            for binary, lines in zip(some, self._ldd(some)):
                missing = []
                for line in lines:
                    name, arrow, rest = line.strip().partition(" => ")
                    if arrow and rest.startswith("not found"):
                        missing.append(name)
                        continue
                    match = re.match(r"(/.*?)(?: \(0x[0-9a-f]+\))?$", rest if arrow else name)
                    if match and Path(match[1]).is_file():
                        self._add_library(Path(match[1]))
                    elif match:
                        self.note(f"{binary.path}: its library {match[1]} is no file here")
                if missing:
                    self._without_libraries(binary, missing)

    def _find_foreign_libraries(self, binary: Binary) -> None:
        found, missing = self._libraries.of(binary.path)
        for file, guest in found:
            self._add_one(file.resolve(), guest, vital=binary.vital)
            if file.name == "libc.so.6":
                for name in BY_NAME:
                    if (file.parent / name).is_file():
                        self._add_one(file.parent / name, str(Path(guest).parent / name), False)
        if missing:
            self._without_libraries(binary, missing)

    def _without_libraries(self, binary: Binary, missing: list[str]) -> None:
        error = LabError(
            f"{binary.path}: these libraries are not found: {', '.join(missing)}",
            "LD_LIBRARY_PATH can name their folder, or --tbb=homing|stock for libtbb.so.12",
            code=126,
        )
        if binary.vital:
            raise error
        self.note(str(error))

    def _add_library(self, path: Path) -> None:
        for at, part in enumerate(path.parts):
            if part == "..":  # the guest's loader goes through the folder before it
                self.add(os.path.join(*path.parts[:at]), Entry(0o040755))
        self.add(str(path), Entry(0o100755, path))
        if path.name == "libc.so.6":
            for name in BY_NAME:
                if (path.parent / name).is_file():
                    self.add(str(path.parent / name), Entry(0o100755, path.parent / name))

    def _ldd(self, programs: list[Binary]) -> list[list[str]]:
        """What it says of each; nothing of static ones."""
        paths = [str(binary.path) for binary in programs]
        try:
            done = subprocess.run(
                ["ldd", *paths],
                env=self.environment | {"LC_ALL": "C"},
                capture_output=True,
                text=True,
                timeout=600,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LabError(f"can't ask ldd what {paths[0]} needs: {error}") from error
        if len(paths) == 1:
            static = "not a dynamic executable" in done.stderr + done.stdout
            if done.returncode and not static:
                what = f"ldd {paths[0]}: {(done.stderr or done.stdout).strip()}"
                if programs[0].vital:
                    raise LabError(what)
                self.note(what)
            return [[] if done.returncode else done.stdout.splitlines()]
        result: dict[str, list[str]] = {path: [] for path in paths}
        lines: list[str] = []
        for line in done.stdout.splitlines():
            if line.endswith(":") and line[:-1] in result:
                lines = result[line[:-1]]
            else:
                lines.append(line)
        return [result[path] for path in paths]

    def add_program(self, word: str) -> Path:
        """A program as a shell finds it, at the same path as here."""
        found = shutil.which(word, path=self.environment.get("PATH", os.defpath))
        if found is None and not self.architecture.native and "/" not in word:
            own = guest_root.program(self.root, word)
            if own:
                self._add_one(own, f"/usr/bin/{word}", vital=True)
                self._find_libraries()
                return own
        if found is None:
            if "/" in word and os.path.exists(word):
                raise LabError(f"{word} is not executable", code=126)
            raise LabError(
                f"there is no program {word}" + ("" if "/" in word else " on PATH"), code=127
            )
        other = architecture.of_file(found)
        if other and other is not self.architecture:
            return self._add_counterpart(Path(found), other)
        if python.is_python(word) and python.is_shim(Path(found)):
            # A version manager's script, which chooses one of several: here it has done so.
            real = self.python_of(word).executable
            self.add(os.path.abspath(found), Entry(0o120777, link=real))
            found = real
        self._add_one(Path(found), os.path.abspath(found), vital=True)
        self._find_libraries()
        return Path(found)

    def _add_counterpart(self, found: Path, other: Architecture) -> Path:
        """What the guest has in the place of a program of another architecture: Debian's, or
        busybox's, which the image has anyway."""
        own = guest_root.program(self.root, found.name) if not self.architecture.native else None
        if own:
            self._add_one(own, os.path.abspath(found), vital=True)
            self._find_libraries()
        elif found.name not in applets() or self.architecture.native:
            title = self.architecture.title
            raise LabError(
                f"{found} is an {other.title} program; the guest is an {title} machine, and the lab "
                f"has no {found.name} for it",
                "--arch names the guest's architecture; without it, it is the program's",
                code=126,
            )
        return found

    def python_of(self, word: str) -> python.Python:
        if word not in self._pythons:
            self._pythons[word] = python.ask(word, self.environment)
        return self._pythons[word]

    def add_python(self, word: str, arguments: list[str]) -> None:
        """What an interpreter, started with these arguments, will load."""
        if not self.architecture.native:
            raise LabError(f"{word}: Python runs in x86-64 guests only", code=126)
        python.add(self, self.python_of(word), arguments)
        self._find_libraries()

    def add_preloaded(self) -> None:
        for word in re.split(r"[ :]+", self.environment.get("LD_PRELOAD", "")):
            if word and "/" in word:
                self.add_file(Path(word), os.path.abspath(word))
