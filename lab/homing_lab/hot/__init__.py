"""Lines that CPUs take from each other, and where time goes, by the names that the program's makers gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import LabError
from ..output import write_text

if TYPE_CHECKING:
    from ..pack import Pack

# What reads debug information is imported where it is used: a run without --hot starts sooner.


def read(file: Path) -> dict[str, Any] | None:
    """hot.json, or None where the plugin wrote none (--hot was not asked for, or the machine did not get that far)."""
    if not file.is_file():
        return None
    from . import tell

    return tell.read(file)


def print_text(hot: dict[str, Any], to: TextIO) -> None:
    from . import tell

    tell.print_text(hot, to)


def named(raw: dict[str, Any], pack: Pack, results: Path | None) -> dict[str, Any]:
    """The plugin's addresses with names; kept as hot.json among the results."""
    from .tell import document

    sources = {path: entry.source for path, entry in pack.entries.items() if entry.source is not None}
    told = document(raw, sources, sources.get)
    if results:
        try:
            write_text(results / "hot.json", json.dumps(told, indent=1) + "\n")
        except OSError as error:
            raise LabError(f"can't write {results / 'hot.json'}: {error.strerror}") from error
    return told
