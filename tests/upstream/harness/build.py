"""Compiles and links the programs, each once: the result is kept under a hash of all its inputs.

The link names libtbb.so.12 and no RUNPATH, so that LD_LIBRARY_PATH chooses the library when the
program runs; one binary serves for every library compared.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .expectations import Program

# As oneTBB's cmake/compilers/GNU.cmake has them, without warnings; -O1 compiles fastest, and the
# time to run hardly depends on it.
FLAGS = ["-std=c++17", "-O1", "-DNDEBUG", "-w", "-fmax-errors=3", "-pthread"]
X86_FLAGS = ["-mrtm", "-mwaitpkg"]
# Half of the time of a small program is doctest's implementation: compiled once, linked to all.
DOCTEST_ONCE = ["-DDOCTEST_LIBRARY_IMPLEMENTATION", "-include", "prelude.hpp"]


@dataclass(frozen=True)
class BuildResult:
    binary: Path | None
    error: str
    seconds: float
    cached: bool


class Builder:
    """Builds programs of one header set. Its calls may run in several threads at once."""

    def __init__(self, build: Path, source: Path, include: Path, shim: Path, library: Path,
                 label: str) -> None:
        self.compiler = os.environ.get("CXX", "g++")
        self.test = source / "test"
        self.include = include
        self.shim = shim
        self.library = library
        self.objects = build / "objects"
        self.binaries = build / ("bin" if label == "2021" else f"bin-{label}")
        self.objects.mkdir(parents=True, exist_ok=True)
        self.binaries.mkdir(parents=True, exist_ok=True)
        machine = X86_FLAGS if os.uname().machine == "x86_64" else []
        newer = [] if label == "2021" else ["-include", "newer_headers.hpp"]
        self.flags = FLAGS + machine + newer
        self.folders = [include, source, self.test, shim]
        self.common = self._common_hash()

    def prepare(self) -> None:
        """Compiles doctest itself; before any call of build()."""
        for name, macro in (("main", "DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN"),
                            ("implementation", "DOCTEST_CONFIG_IMPLEMENT")):
            path = self._doctest_object(name)
            if not path.is_file():
                text = f'#define {macro}\n#include "common/doctest.h"\n'
                self._compile(["-x", "c++", "-"], path, text)

    def build(self, program: Program) -> BuildResult:
        """Compiles and links one program; the error text is the compiler's own."""
        started = os.times().elapsed
        flags = DOCTEST_ONCE + program.compile_flags
        sources = [program.path, *(program.path.parent / extra for extra in program.extra_sources)]
        objects = []
        cached = True
        try:
            for source in sources:
                path = self.objects / f"{source.stem}-{self._key(source, flags)}.o"
                if not path.is_file():
                    cached = False
                    self._compile([*flags, "-c", str(self.test / source)], path)
                objects.append(path)
            objects.append(self._doctest_object("implementation" if program.own_main else "main"))
            binary, linked = self._link(program, objects)
        except subprocess.CalledProcessError as failure:
            return BuildResult(None, failure.stderr.strip(), os.times().elapsed - started, False)
        return BuildResult(binary, "", os.times().elapsed - started, cached and not linked)

    def _link(self, program: Program, objects: list[Path]) -> tuple[Path, bool]:
        binary = self.binaries / program.name
        stamp = self.binaries / f".{program.name}"
        wanted = " ".join([*(path.name for path in objects), *program.link_flags])
        if binary.is_file() and stamp.is_file() and stamp.read_text() == wanted:
            return binary, False
        self._run([self.compiler, *map(str, objects), *program.link_flags, str(self.library),
                   "-pthread", "-ldl", "-Wl,--allow-shlib-undefined", "-o", str(binary)])
        stamp.write_text(wanted)
        return binary, True

    def _compile(self, arguments: list[str], target: Path, text: str | None = None) -> None:
        folders = [word for folder in self.folders for word in ("-I", str(folder))]
        unfinished = target.with_suffix(f".{os.getpid()}.tmp")
        self._run([self.compiler, *self.flags, *folders, *arguments,
                   *(["-c"] if text is not None else []), "-o", str(unfinished)], text)
        unfinished.replace(target)

    def _run(self, command: list[str], text: str | None = None) -> None:
        subprocess.run(command, input=text, check=True, capture_output=True, text=True)

    def _doctest_object(self, name: str) -> Path:
        return self.objects / f"doctest-{name}-{self.common}.o"

    def _key(self, source: Path, flags: list[str]) -> str:
        digest = hashlib.sha256(self.common.encode())
        digest.update(" ".join(flags).encode())
        digest.update((self.test / source).read_bytes())
        return digest.hexdigest()[:16]

    def _common_hash(self) -> str:
        """Everything that all objects depend on: compiler, flags, headers."""
        compiler = shutil.which(self.compiler)
        if compiler is None:
            raise FileNotFoundError(f"no compiler {self.compiler} (set CXX)")
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
        digest = hashlib.sha256((version + " ".join(self.flags)).encode())
        shims = ["prelude.hpp", "src", *(flag for flag in self.flags if flag.endswith(".hpp"))]
        roots = [self.include / "oneapi", self.include / "tbb", self.test,
                 *(self.shim / name for name in shims)]
        for root in roots:
            for path in [root] if root.is_file() else sorted(root.rglob("*.h*")):
                digest.update(path.name.encode())
                digest.update(path.read_bytes())
        return digest.hexdigest()[:16]
