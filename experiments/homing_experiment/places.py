"""Where the parts are that a campaign runs: a build of Homing, stock oneTBB, the folder of the rows."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import files
from .design import Design
from .errors import ExperimentError

ROOT = Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
LIBRARY = "libtbb.so.12"
# Variables that would steer a run past its row.
STEERING = ("HOMING_", "HWLOC_", "TBB_", "LD_", "OMP_", "GOMP_", "KMP_", "PROGRAMS_", "MALLOC_")
KEPT = ("HOMING_LAB_", "HOMING_VENV")


@dataclass
class Places:
    build: Path
    stock: Path

    @staticmethod
    def find(build: Path | None, stock: Path | None) -> Places:
        named = build or os.environ.get("HOMING_EXPERIMENT_BUILD")
        if not named and not (ROOT / "CMakeLists.txt").is_file():  # not in the source tree
            raise ExperimentError("this command is installed without the programs that campaigns run",
                                  "name a build of the source tree: --build DIR, or HOMING_EXPERIMENT_BUILD=DIR")
        given = Path(named or ROOT / "build" / "release")
        folder = stock or Path(os.environ.get("HOMING_VENV") or ROOT / ".venv") / "lib"
        found = Places(given.absolute(), folder.absolute())
        if not found.homing.is_file():
            raise ExperimentError(f"there is no {found.homing}", "build Homing (make build programs), or name a build with --build")
        return found

    @property
    def homing(self) -> Path:
        return self.build / "bin" / "homing"

    @property
    def count(self) -> Path:
        return self.build / "experiments" / "homing-count"

    def library(self, name: str) -> Path:
        file = (self.build / "lib" / "homing" if name == "homing" else self.stock) / LIBRARY
        if not file.is_file():
            raise ExperimentError(f"there is no {file}", "scripts/setup installs stock oneTBB into .venv, make build makes ours; "
                                  "or name its folder with --stock")
        return file

    @property
    def plugin(self) -> Path:
        return self.build / "lab" / "homing_lab_plugin.so"

    @cached_property
    def commit(self) -> str:
        """Of the tree that this package is in; `+` behind it if tracked files are changed."""
        try:
            at = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
            changed = subprocess.run(["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
            return at.stdout.strip() + ("+" if changed.stdout.strip() else "")
        except (OSError, subprocess.CalledProcessError):
            return "unknown"

    def sum_of(self, *files: Path) -> str:
        """Of what a run is made of: rows of one design may come from several builds, and then say so."""
        whole = hashlib.sha256()
        for file in files:
            if file.is_file():
                whole.update(self._content(file))
        return whole.hexdigest()[:12]

    def _content(self, file: Path) -> bytes:
        stat = file.stat()
        key = (file, stat.st_mtime_ns, stat.st_size)
        known: dict[tuple[Path, int, int], bytes] = self.__dict__.setdefault("_sums", {})
        if key not in known:
            known[key] = hashlib.sha256(file.read_bytes()).digest()
        return known[key]


def clean_environment() -> dict[str, str]:
    """Ours, without what would steer the libraries."""
    return {name: value for name, value in os.environ.items() if not name.startswith(STEERING) or name.startswith(KEPT)}


def ended_with_us(with_: signal.Signals) -> Callable[[], None]:
    """What a child does before its program: it asks the kernel for that signal when we end, even by SIGKILL."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(PR_SET_PDEATHSIG, int(with_))


def rows_file(design: Design, given: Path | None) -> Path:
    if given is not None and given.is_dir():
        raise ExperimentError(f"--rows {given}: is a directory; expected a file of rows", code=2)
    if given is not None:
        files.is_there(given, "a file of rows")
    return given or design.path.parent / "rows" / f"{design.name}.csv"


def standing_rows_file(design: Design, given: Path | None) -> Path:
    """The same for a command that makes something of rows: a file that the user named has to be there."""
    found = rows_file(design, given)
    if given is not None and not given.exists():
        raise ExperimentError(f"--rows {given}: No such file or directory", code=2)
    return found


def tell(text: str) -> None:
    print(f"homing experiment: {text}", file=sys.stderr, flush=True)
