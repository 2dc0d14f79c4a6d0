"""A stdout that can't be written to: told in one line, also at the end, when what was kept back goes out."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import CommandError


class CantWrite(CommandError):
    def __init__(self, error: OSError) -> None:
        super().__init__(f"can't write to stdout: {error.strerror}", code=1)


class _File(io.FileIO):
    """Says that an error is one of stdout's. That nobody reads a pipe any more stays what it is."""

    def write(self, content: Any) -> int | None:
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CantWrite(error) from error


def _opened() -> io.TextIOWrapper:
    """Like Python's own."""
    own = sys.__stdout__
    if own is None:  # closed; its number must not become that of another file
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
    file = _File(1, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding=own.encoding if own else "utf-8",
        errors=own.errors if own else "strict",
        line_buffering=file.isatty(),
    )


@contextmanager
def checked() -> Iterator[None]:
    """What can't be written, inside and at its end, raises CantWrite; to a pipe that nobody reads, BrokenPipeError."""
    if sys.stdout is sys.__stdout__:  # and not what a caller in Python has put in its place
        sys.stdout = _opened()
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, CantWrite):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more when it ends
        raise
