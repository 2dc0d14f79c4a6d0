"""The two libtbb.so.12 that a program is run on, and the proof that it really ran on the one meant."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_INIT = re.compile(r"calling init: (.*/libtbb\.so\.12.*)")
_CLEARED = ("HOMING_", "HWLOC_", "TBB_", "NUMBA_", "LD_")
"""What a caller's environment must not change: settings of either library and of the loader."""


class WrongLibrary(Exception):
    """A program loaded another libtbb.so.12 than the one meant, or none."""


@dataclass(frozen=True)
class Library:
    """One `libtbb.so.12` and the folders that the loader is given to find it."""

    name: str
    folders: tuple[Path, ...]

    @property
    def file(self) -> Path:
        return self.folders[0] / "libtbb.so.12"

    def environment(self, scratch: Path, extra: dict[str, str]) -> dict[str, str]:
        """The environment to run a program on this library; the loader writes what it loads to `scratch`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_CLEARED)}
        return kept | {
            "LD_LIBRARY_PATH": ":".join(str(folder) for folder in self.folders),
            "LD_DEBUG": "libs",
            "LD_DEBUG_OUTPUT": str(scratch / "loader"),
            "LC_ALL": "C.UTF-8",
        } | extra

    def check_loaded(self, scratch: Path) -> None:
        """Raises WrongLibrary unless the processes logged in `scratch` loaded this library and no other libtbb."""
        loaded = set()
        for log in scratch.glob("loader.*"):
            loaded |= set(_INIT.findall(log.read_text(errors="replace")))
            log.unlink()
        wanted = self.file.resolve()
        if not loaded:
            raise WrongLibrary(f"no libtbb.so.12 was loaded; {wanted} was meant")
        wrong = sorted(path for path in loaded if Path(path).resolve() != wanted)
        if wrong:
            raise WrongLibrary(f"{', '.join(wrong)} was loaded; {wanted} was meant")


def stock_library(folder: Path) -> Library:
    """oneTBB's own library, as its PyPI wheel installs it."""
    return Library("stock", (folder,))


def our_library(folder: Path, stock: Path, scratch: Path) -> Library:
    """Homing's library, beside the allocator of the stock wheel, so that libtbb.so.12 is the only difference."""
    beside = scratch / "malloc"
    beside.mkdir(parents=True, exist_ok=True)
    link = beside / "libtbbmalloc.so.2"
    link.unlink(missing_ok=True)
    link.symlink_to((stock / "libtbbmalloc.so.2").resolve())
    return Library("homing", (folder, beside))
