"""The words of `homing lab report`."""

from __future__ import annotations

import difflib
import json
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ..errors import LabError, UsageError
from ..output import write_text

if TYPE_CHECKING:
    from . import runs

PAGE = Path("lab-report.html")


def _write(path: Path, text: str) -> None:
    from . import words

    try:
        write_text(path, words.plain(text))
    except OSError as error:
        raise LabError(f"can't write {path}: {error.strerror}") from error


def _same_file(one: Path, other: Path) -> bool:
    """Whether the later of the two would take the place of the earlier. A device or pipe takes both."""
    if one.exists() and not one.is_file():
        return False
    return os.path.realpath(one) == os.path.realpath(other) or (
        one.exists() and other.exists() and one.samefile(other)
    )


def _regions(groups: list[runs.Group], chosen: list[str]) -> list[str]:
    from . import figures

    there = figures.region_labels([run for group in groups for run in group.runs])
    for label in chosen:
        if label not in there:
            near = difflib.get_close_matches(label, there, n=3, cutoff=0.4) or there[:8]
            raise UsageError(f"--region {label}: no run has it", f"there are: {', '.join(near)}")
    return chosen


def report(
    run: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="RUN...",
            help="a folder of `homing lab run --results`, its counts.json, or a folder of such "
            "folders: one run repeated",
        ),
    ] = None,
    label: Annotated[
        Optional[list[str]],
        typer.Option(
            "--label",
            "-l",
            metavar="NAME=RUN",
            help="a run with a name, before those without; runs of one name repeat each other",
        ),
    ] = None,
    region: Annotated[
        Optional[list[str]], typer.Option(metavar="NAME", help="only this region; may be repeated")
    ] = None,
    output: Annotated[
        Optional[Path], typer.Option("--output", "-o", metavar="FILE", help=f"the page [{PAGE}]")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="show the page in a browser")] = False,
    picture: Annotated[
        Optional[Path], typer.Option("--svg", metavar="FILE", help="a picture")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="the figures on stdout, a line a figure")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="the figures on stdout as JSON")] = False,
    machine: Annotated[
        Optional[list[str]],
        typer.Option(
            "--machine",
            "-m",
            metavar="FILE",
            help="the machine's file, where a run does not have it",
        ),
    ] = None,
) -> None:
    """Make a page of runs side by side: who served their lines, and in which virtual time.

    The page is one file that needs no network. It is not made if --svg, --csv or --json is all
    that is asked for. The first run is what the others' times are compared with.

    \b
    Examples:
      homing lab run --results before -- ./app;  homing lab run --results after -- ./app2
      homing lab report before after
      homing lab report --label "one thread fills=before" --label "first touch=after" -o page.html
      homing lab report before after --region solve --json | jq '.regions[0].runs[1].shares'
      for i in 1 2 3; do homing lab run --results five/$i -- ./app; done;  homing lab report five
    """
    # Imported here, for the other commands are quicker without.
    from . import figures, files, page, runs, sheet, words

    if as_csv and as_json:
        raise UsageError("report: expected --csv or --json, not both")
    file = output or PAGE
    with_page = bool(output or open_page or not (picture or as_csv or as_json))
    if picture and with_page and _same_file(picture, file):
        raise UsageError(
            f"report: --svg {picture} is the file of the page, too", "expected two: --svg FILE, and -o FILE for the page"
        )
    groups = runs.collect(run or [], label or [], machine or [])
    compared = figures.compare(groups, _regions(groups, region or []))
    if picture:
        _write(picture, sheet.make(compared))
    if as_json:
        json.dump(files.document(compared), sys.stdout, indent=1)
        sys.stdout.write("\n")
    if as_csv:
        sys.stdout.write(words.plain(files.table(compared)))
    if with_page:
        _write(file, page.make(compared))
        where = file.resolve().as_uri()
        print(f"homing lab: the page: {where}", file=sys.stderr)
        if open_page and not webbrowser.open(where):
            raise LabError(f"no browser could be started; the page is {file}")
