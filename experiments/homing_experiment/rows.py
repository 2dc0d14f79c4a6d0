"""The rows of a campaign: one a run, in a CSV file that only grows. A row is on the disk before the next run begins.

A row says all that is needed to make it again. Rows of another design are refused: figures of two designs do not mix.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import files, programs, settings
from .columns import IDENTITY, SAID, THIS_MACHINE, WHERE
from .design import Design
from .errors import ExperimentError
from .plan import Run
from .responses import RESPONSES

KINDS = ("virtual", "modelled", "measured")  # a made-up machine, the lab's model, a real machine
COUNTS = ("block", "place", "run_seed")
FIGURES = (*RESPONSES, "host_load", "host_seconds")
COUNT = re.compile(r"[0-9]{1,18}")
FIGURE_MAX = 1e100  # of which a sum of squares is still a number
BREAKS = re.compile(r"[\r\n\0]+")
BYTES_MAX = 1 << 28
EXPECTED = "a file of rows"
OTHER_COLUMNS = "its columns are not those of this campaign"


def columns(design: Design) -> list[str]:
    own = [name for name in design.factors if not settings.is_setting(name)]
    plain = list(settings.ALL)
    return [*IDENTITY, *own, *plain, "environment", *RESPONSES, *SAID, *WHERE, *([THIS_MACHINE] if design.moved else []), "command"]


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    return json.dumps(value) if isinstance(value, (list, dict)) else str(value)


def _is_figure(text: str) -> bool:
    try:
        return "_" not in text and abs(float(text)) <= FIGURE_MAX  # not so of nan
    except ValueError:
        return False


def _wrong(row: dict[str, str]) -> str:
    """What of a row can't be; empty if nothing."""
    if None in row or None in row.values():
        return "a row with other columns than the first line's"
    for name in COUNTS:
        if COUNT.fullmatch(row[name]) is None:
            return f"{name} '{row[name][:60]}', which is no number"
    for name in FIGURES:
        if row[name] and not _is_figure(row[name]):
            return f"{name} '{row[name][:60]}', which is no figure"
    if not all(map(_is_figure, row["ms"].split())):
        return f"ms '{row['ms'][:60]}', which are no times"
    return "" if row["kind"] in KINDS else f"kind '{row['kind']}'"


class Rows:
    """A file of rows; one writer at a time."""

    def __init__(self, path: Path, design: Design) -> None:
        self.path = path
        self.design = design

    def load(self) -> list[dict[str, str]]:
        """All complete rows of this design's runs. Nothing is written: a last line that was cut short is passed over,
        and so are rows of more replicates than the campaign's file asks for. Raises ExperimentError."""
        return [row for row in self._read()[0] if int(row["block"]) < self.design.replicates]

    def mend(self) -> None:
        """Takes a last line that was cut short off the file, or ends it if only its end is missing. For the one
        writer."""
        _, whole = self._read()
        try:
            if whole and not whole.endswith(b"\n"):
                with self.path.open("ab") as file:
                    file.write(b"\n")
            elif self.path.exists() and len(whole) < self.path.stat().st_size:
                with self.path.open("r+b") as file:
                    file.truncate(len(whole))
        except OSError as error:
            raise ExperimentError(f"can't write {self.path}: {error.strerror}") from error

    def _read(self) -> tuple[list[dict[str, str]], bytes]:
        """The rows, and the part of the file that they are in."""
        try:
            content = files.content(self.path, BYTES_MAX, EXPECTED)
        except FileNotFoundError:
            return [], b""
        except OSError as error:
            raise ExperimentError(f"can't read {self.path}: {error.strerror}") from error
        head = ",".join(columns(self.design)).encode() + b"\n"
        end = content.rfind(b"\n") + 1
        whole, tail = content[:end], content[end:]
        if not whole:
            if not head.startswith(tail):
                self._refuse(OTHER_COLUMNS)
            return [], b""
        found = self._rows(whole)
        try:
            last = self._rows(head + tail)
        except ExperimentError:
            last = []  # cut short: its run is done again
        if last and last[0]["command"].endswith(self._last_words(last[0])):
            return found + last, content
        return found, whole

    def _last_words(self, row: dict[str, str]) -> str:
        """How the command of a row ends that was not cut short."""
        cell = next(cell for cell in self.design.cells if cell.key == row["cell"])
        run = Run(int(row["block"]), int(row["place"]), cell, int(row["run_seed"]))
        return " ".join(map(shlex.quote, programs.words(run, cell.settings["program"])))

    def _rows(self, content: bytes) -> list[dict[str, str]]:
        try:
            reader = csv.DictReader(io.StringIO(content.decode()), strict=True)
            if reader.fieldnames != columns(self.design):
                self._refuse_other_columns(reader.fieldnames or [])
            cells = {cell.key for cell in self.design.cells}
            found = []
            for row in reader:
                wrong = _wrong(row)
                if not wrong and row["design"] != self.design.hash:
                    self._refuse(f"it was made by design {row['design']}, and {self.design.path.name} is "
                                 f"{self.design.hash} now")
                if not wrong and (row["cell"] not in cells or row["run"] != f"{row['block']}/{row['cell']}"):
                    wrong = f"run '{row['run']}', which is none of the campaign's"
                if not wrong and self.design.moved and row[THIS_MACHINE] != self.design.moved.column:
                    wrong = f"{THIS_MACHINE}: another one than in the first row"
                if wrong:
                    raise ExperimentError(f"{self.path}:{reader.line_num}: {wrong}",
                                          "remove that line: its run is done again")
                found.append(row)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ExperimentError(f"can't read {self.path}: {error}") from error
        return found

    def _refuse_other_columns(self, names: Sequence[str]) -> None:
        if self.design.moved and "machine" in names and THIS_MACHINE not in names:
            raise ExperimentError(f"{self.path}: its rows were not made with --here", "choose another file with --rows, or leave --here out", code=2)
        if not self.design.moved and THIS_MACHINE in names:
            raise ExperimentError(f"{self.path}: its rows were made with --here", "add --here, or choose another file with --rows", code=2)
        self._refuse(OTHER_COLUMNS)

    def _refuse(self, why: str) -> None:
        raise ExperimentError(f"{self.path}: {why}", f"`{self.design.command('run --restart')}` puts it aside and begins anew; "
                              "or undo the change in the campaign's file", code=2)

    def put_aside(self) -> Path | None:
        """Renames the file, so that a campaign can begin anew. Returns the new name, or None if there is no file."""
        try:
            if not files.is_there(self.path, EXPECTED):
                return None
            for number in range(1, 1000):
                aside = self.path.with_suffix(f".{number}.csv")
                if not aside.exists():
                    self.path.rename(aside)
                    return aside
        except OSError as error:
            raise ExperimentError(f"can't put {self.path} aside: {error.strerror}",
                                  "rename it by hand, or choose another file with --rows") from error
        raise ExperimentError(f"{self.path}: 999 files are aside already", "remove some of them")

    def add(self, found: Iterable[dict[str, Any]]) -> None:
        """Appends rows, and returns when they are on the disk."""
        names = columns(self.design)
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, names, lineterminator="\n")
        try:
            fresh = not self.path.exists() or self.path.stat().st_size == 0
            if fresh:
                writer.writeheader()
            for row in found:
                writer.writerow({name: BREAKS.sub(" ", text_of(row.get(name))) for name in names})
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
