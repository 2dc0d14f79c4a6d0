"""The shared libraries of a program that this host can't run, so that ldd can't be asked: by its
dynamic section, as the guest's loader will look for them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .architecture import Architecture, of_file
from .errors import LabError


class Libraries:
    """`folders`: the loader's own, in order. `environment`: the program's, for LD_LIBRARY_PATH."""

    def __init__(
        self, arch: Architecture, folders: list[Path], environment: dict[str, str]
    ) -> None:
        self._arch, self._folders = arch, folders
        words = re.split("[:;]", environment.get("LD_LIBRARY_PATH", ""))
        self._named = [Path(word) for word in words if word]

    def of(self, program: Path) -> tuple[list[tuple[Path, str]], list[str]]:
        """Files with their paths in the guest, and the names of those that are missing. Only what the
        program itself asks for; each library asks for its own."""
        interpreter, needed, own = _read(program)
        found: list[tuple[Path, str]] = []
        missing = []
        if interpreter:
            file = self._in_folders(Path(interpreter).name, self._folders)
            if file:
                found.append((file, interpreter))
            else:
                missing.append(interpreter)
        for name in needed:
            host = self._in_folders(name, own + self._named)
            file = host or self._in_folders(name, self._folders)
            if file:
                found.append((file, str(host) if host else self._guest_path(name)))
            else:
                missing.append(name)
        return found, missing

    def _guest_path(self, name: str) -> str:
        """Where the guest's loader looks."""
        return f"/usr/lib/{self._arch.name}-linux-gnu/{name}"

    def _in_folders(self, name: str, folders: list[Path]) -> Path | None:
        for folder in folders:
            if of_file(str(folder / name)) is self._arch:  # others' libraries are passed over
                return folder / name
        return None


def _read(program: Path) -> tuple[str, list[str], list[Path]]:
    """The loader (empty: none is wanted), the names of libraries, and the folders of RPATH or
    RUNPATH."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.dynamic import DynamicSegment
        from elftools.elf.elffile import ELFFile
    except ImportError as error:
        raise LabError(
            "programs of other architectures need pyelftools, which is not in this Python",
            "scripts/setup lab, or: pip install pyelftools",
        ) from error
    interpreter, needed, folders = "", [], []
    origin = os.path.dirname(os.path.abspath(program))
    try:
        with program.open("rb") as file:
            for segment in ELFFile(file).iter_segments():
                if segment.header.p_type == "PT_INTERP":
                    interpreter = segment.get_interp_name()
                if not isinstance(segment, DynamicSegment):
                    continue
                for tag in segment.iter_tags():
                    if tag.entry.d_tag == "DT_NEEDED":
                        needed.append(tag.needed)
                    elif tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                        path = tag.rpath if tag.entry.d_tag == "DT_RPATH" else tag.runpath
                        path = path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)
                        folders += [Path(os.path.normpath(p)) for p in path.split(":") if p]
    except (ELFError, OSError) as error:
        raise LabError(f"{program}: can't be read as a program: {error}") from error
    return interpreter, needed, folders
