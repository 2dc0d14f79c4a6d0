"""The rows of a campaign: one a run, in a CSV file that only grows. A row is on the disk before the next run begins.

A row says all that is needed to make it again. Rows of another design are refused: figures of two designs do not mix.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import settings
from .columns import IDENTITY, SAID, WHERE
from .design import Design
from .errors import ExperimentError
from .responses import RESPONSES

KINDS = ("virtual", "modelled", "measured")  # a made-up machine, the lab's model, a real machine


def columns(design: Design) -> list[str]:
    own = [name for name in design.factors if not settings.is_setting(name)]
    plain = list(settings.ALL)
    return [*IDENTITY, *own, *plain, "environment", *RESPONSES, *SAID, *WHERE, "command"]


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return json.dumps(value) if isinstance(value, (list, dict)) else str(value)


class Rows:
    """A file of rows; one writer at a time."""

    def __init__(self, path: Path, design: Design) -> None:
        self.path = path
        self.design = design

    def load(self) -> list[dict[str, str]]:
        """All complete rows of this design. A last line that was cut short by an interruption is dropped from the file."""
        try:
            text = self.path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise ExperimentError(f"can't read {self.path}: {error.strerror if isinstance(error, OSError) else error}") from error
        if text and not text.endswith("\n"):
            text = text[: text.rfind("\n") + 1]
            with self.path.open("r+b") as file:
                file.truncate(len(text.encode()))
        if not text:
            return []
        reader = csv.DictReader(io.StringIO(text))
        if reader.fieldnames != columns(self.design):
            self._refuse("its columns are not those of this campaign")
        found = []
        for row in reader:
            if None in row or None in row.values():
                raise ExperimentError(f"{self.path}:{reader.line_num}: a row with other columns than the first line's",
                                      "remove that line: its run is done again")
            if row["design"] != self.design.hash:
                self._refuse(f"it was made by design {row['design']}, and {self.design.path.name} is {self.design.hash} now")
            found.append(row)
        return found

    def _refuse(self, why: str) -> None:
        raise ExperimentError(f"{self.path}: {why}", f"`homing experiment run --restart {self.design.path}` puts it aside and begins anew; "
                              "or undo the change in the campaign's file", code=2)

    def put_aside(self) -> Path | None:
        """Renames the file, so that a campaign can begin anew. Returns the new name, or None if there is no file."""
        if not self.path.exists():
            return None
        for number in range(1, 1000):
            aside = self.path.with_suffix(f".{number}.csv")
            if not aside.exists():
                self.path.rename(aside)
                return aside
        raise ExperimentError(f"{self.path}: 999 files are aside already", "remove some of them")

    def add(self, found: Iterable[dict[str, Any]]) -> None:
        """Appends rows, and returns when they are on the disk."""
        names = columns(self.design)
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, names, lineterminator="\n")
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if fresh:
            writer.writeheader()
        for row in found:
            writer.writerow({name: text_of(row.get(name)).replace("\n", " ") for name in names})
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(buffer.getvalue().encode())
                file.flush()
                os.fsync(file.fileno())
            if fresh:
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
                os.fsync(folder)
                os.close(folder)
        except OSError as error:
            raise ExperimentError(f"can't write {self.path}: {error.strerror}") from error


def done(rows: list[dict[str, str]], retry: bool = False) -> set[str]:
    """The runs that are not to be done again: all that have a row, or with `retry` only those that ended well."""
    return {row["run"] for row in rows if row["status"] == "ok" or not retry}


def builds(rows: list[dict[str, str]]) -> int:
    """By how many builds the runs of one cell were made, at most: programs and libraries differ between cells by design."""
    parts: dict[str, set[str]] = {}
    for row in rows:
        parts.setdefault(row["cell"], set()).add(row["parts"])
    return max((len(some) for some in parts.values()), default=0)


def good(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """One row a run: the last that ended well."""
    found = {row["run"]: row for row in rows if row["status"] == "ok"}
    return list(found.values())
