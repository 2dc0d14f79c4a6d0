"""Lines that CPUs take from each other, and where time goes, by the names that the program's makers gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LabError
from ..output import write_text
from .tell import document, print_text, read

if TYPE_CHECKING:
    from ..pack import Pack

__all__ = ["named", "print_text", "read"]


def named(raw: dict[str, Any], pack: Pack, results: Path | None) -> dict[str, Any]:
    """The plugin's addresses with names; kept as hot.json among the results."""
    sources = {path: entry.source for path, entry in pack.entries.items() if entry.source is not None}
    told = document(raw, sources, sources.get)
    if results:
        try:
            write_text(results / "hot.json", json.dumps(told, indent=1) + "\n")
        except OSError as error:
            raise LabError(f"can't write {results / 'hot.json'}: {error.strerror}") from error
    return told
