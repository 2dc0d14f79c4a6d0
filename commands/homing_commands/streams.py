"""A stdin or stderr that the caller has closed; stdout has a module of its own."""

from __future__ import annotations

import os
import sys


def are_open() -> None:
    """A closed one becomes /dev/null, for us and for what we start: its number must not become that of a file of ours,
    and what is told there must not go to stdout."""
    for number in (0, 2):
        try:
            os.fstat(number)
        except OSError:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
                os.close(file)
            os.set_inheritable(number, True)
    if sys.stderr is None:
        sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)
