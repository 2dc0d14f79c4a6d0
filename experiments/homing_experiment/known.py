"""The words of programs: which programs the build has, and which variants and sizes each of them knows. A word that a program
would refuse is told before anything runs."""

from __future__ import annotations

import os
from pathlib import Path

from . import here, programs, settings
from .design import Cell, Design
from .errors import DesignError, ExperimentError
from .places import Places, clean_environment

ANSWER_S_MAX = 60


def refuse_unknown(design: Design, places: Places) -> None:
    """Raises DesignError with the first program, variant or size of a cell that is none."""
    known = _programs(places.build)
    variants: dict[str, list[str]] = {}
    sizes: dict[str, list[str]] = {}
    for cell in design.cells:
        name = cell.settings["program"]
        if name not in known:
            raise _unknown(design, cell, "program", f"one of: {', '.join(known)}" if known else f"a program of {places.build / 'programs'}",
                           "; one that is not built yet: make programs, or name another build with --build")
        for lacked in programs.STUDY_LACKS if name == programs.STUDY else ():
            usual = settings.ALL[lacked].default
            if cell.settings[lacked] != usual:
                raise _unknown(design, cell, lacked, f"{usual!r}: {name} has no {lacked}")
        if name not in variants:
            variants[name] = [line.split()[0] for line in _answer(places, name, "--list").splitlines() if line.strip()]
            sizes[name] = _sizes(_answer(places, name, "--help"))
        if cell.settings["variant"] not in variants[name]:
            raise _unknown(design, cell, "variant", f"one of {name}'s variants: {', '.join(variants[name])}")
        if "size" in cell.settings and cell.settings["size"] not in sizes[name]:
            raise _unknown(design, cell, "size", f"one of {name}'s sizes: {', '.join(sizes[name])}" if sizes[name] else f"none: {name} has no sizes")


def at_hand(build: Path | None, stock: Path | None) -> Places | None:
    """A build with programs that could be asked; None if there is none, and the user named none."""
    try:
        found = Places.find(build, stock)
    except ExperimentError:
        if build:
            raise
        return None
    return found if build or _programs(found.build) else None


def _unknown(design: Design, cell: Cell, setting: str, expected: str, hint: str = "") -> DesignError:
    return DesignError(f"{design.path}: {cell.said_at[setting]}", repr(cell.settings[setting]), expected + hint)


def _programs(build: Path) -> list[str]:
    folder = build / "programs"
    found = [file.name for file in folder.iterdir() if file.is_file() and os.access(file, os.X_OK)] if folder.is_dir() else []
    return sorted(found) + ([programs.STUDY] if programs.binary_of(build, programs.STUDY).is_file() else [])


def _answer(places: Places, name: str, question: str) -> str:
    words = [str(programs.binary(places.build, name)), question]
    own = {"LD_LIBRARY_PATH": str(places.library("homing").parent)}
    try:
        status, said, message = here.finish(words, clean_environment() | own, ANSWER_S_MAX)
    except OSError as error:
        raise ExperimentError(f"can't start {words[0]}: {error.strerror}", "build it again: make programs") from error
    if status != 0:
        ended = "no answer" if status is None else f"exit status {status}: {message}"
        raise ExperimentError(f"{' '.join(words)}: {ended}", "build it again: make programs")
    return said


def _sizes(usage: str) -> list[str]:
    """The first words of the lines between `sizes:` and an empty line."""
    lines = usage.partition("\nsizes:\n")[2].partition("\n\n")[0].splitlines()
    return [line.split()[0] for line in lines if line.strip()]
