"""Files that the user named: regular ones, of a bounded size. A FIFO would be waited for, a device might never end, and
neither is to be replaced by a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .errors import ExperimentError

PIECE = 1 << 20


def _refuse(path: Path, expected: str) -> ExperimentError:
    return ExperimentError(f"{path} is not a regular file", f"expected {expected}", code=2)


def content(path: Path, most: int, expected: str) -> bytes:
    """All of a file that has at most `most` bytes. `expected` is what it should be, in words. Raises OSError, and
    ExperimentError if it is of another kind or larger."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise _refuse(path, expected)
        found = bytearray()
        while len(found) <= most and (piece := os.read(file, min(PIECE, most + 1 - len(found)))):
            found += piece
    finally:
        os.close(file)
    if len(found) > most:
        raise ExperimentError(f"{path} has more than {most} bytes; expected {expected} of at most {most}", code=2)
    return bytes(found)


def is_there(path: Path, expected: str) -> bool:
    """Whether a file is there. Raises ExperimentError if what is there is of another kind, and OSError if nobody can
    tell."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not stat.S_ISREG(mode):
        raise _refuse(path, expected)
    return True
