"""The words of `homing experiment`."""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from . import campaign, plan, rows
from .design import Design, load
from .errors import ExperimentError
from .places import Places, rows_file, tell
from .progress import Progress, duration

app = typer.Typer(
    name="homing experiment",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Designed experiments on virtual and real machines: factors, levels, replicates, randomised blocks; and their statistics.",
)

File = Annotated[Path, typer.Argument(metavar="FILE.toml", help="the campaign: factors, levels, replicates")]
RowsFile = Annotated[Optional[Path], typer.Option("--rows", help="the file of rows (default: rows/NAME.csv beside FILE.toml)")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout")]
Build = Annotated[Optional[Path], typer.Option(help="build of Homing (default: the one that this command belongs to)")]
Stock = Annotated[Optional[Path], typer.Option(help="folder of stock oneTBB's libtbb.so.12")]


def _print(found: dict[str, Any]) -> None:
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _tell_status(found: dict[str, Any]) -> None:
    left = f", about {duration(found['seconds_left'])} left" if found["seconds_left"] and found["left"] else ""
    print(f"{found['name']}: {found['done']} of {found['runs']} runs ({found['cells']} cells, {found['replicates']} replicates){left}")
    print(f"rows: {found['rows']}; commits: {', '.join(found['commits']) or 'none yet'}; builds: {found['builds']}")
    for one in found["failed"]:
        print(f"  {one['run']}: {one['status']}: {one['message']}\n    {one['command']}")


@app.command()
def run(
    file: File,
    rows_: RowsFile = None,
    restart: Annotated[bool, typer.Option("--restart", help="put the rows that stand aside, and begin anew")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="do runs again that failed")] = False,
    minutes: Annotated[Optional[float], typer.Option(min=0, help="begin nothing after so long; the next call goes on")] = None,
    runs: Annotated[Optional[int], typer.Option(min=1, help="so many runs at most")] = None,
    dry: Annotated[bool, typer.Option("--dry", help="say what would be run, in order, and run nothing")] = False,
    build: Build = None,
    stock: Stock = None,
    as_json: Json = False,
) -> None:
    """Run what is missing of a campaign; interrupt it at any time, and call it again.

    \b
    Example: homing experiment run experiments/tbb-numa.toml
    """
    design = load(file)
    store = rows.Rows(rows_file(design, rows_), design)
    if dry:
        _dry(design, store, retry, as_json)
        return
    places = Places.find(build, stock)
    with campaign.only_writer(store.path):
        aside = store.put_aside() if restart else None
        if aside:
            tell(f"the rows that stood are in {aside}")
        bounds = campaign.Bounds(None if minutes is None else 60 * minutes, runs, retry)
        found = campaign.run(design, places, store, bounds, Progress())
    _print(found) if as_json else _tell_status(found)
    raise typer.Exit(1 if found["failed"] else 0)


def _dry(design: Design, store: rows.Rows, retry: bool, as_json: bool) -> None:
    batches = plan.missing(design, rows.done(store.load(), retry))
    listed = [{"run": one.key, "boot": number, "block": one.block, **dict(one.cell.levels)}
              for number, batch in enumerate(batches) for one in batch]
    if as_json:
        _print({"schema": 1, "design": design.hash, "runs": listed})
        return
    for one in listed:
        levels = ", ".join(f"{name} {level}" for name, level in one.items() if name not in ("run", "boot", "block"))
        print(f"block {one['block'] + 1}, batch {one['boot'] + 1}: {levels}")


@app.command()
def status(
    file: File,
    rows_: RowsFile = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="a line a cell: its levels, and how many runs are done")] = False,
) -> None:
    """Say how much of a campaign is done, what failed, and how long the rest takes."""
    design = load(file)
    store = rows.Rows(rows_file(design, rows_), design)
    if as_csv:
        good = rows.good(store.load())
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow([*design.factors, "done", "replicates"])
        for cell in design.cells:
            table.writerow([*dict(cell.levels).values(), sum(row["cell"] == cell.key for row in good), design.replicates])
        return
    found = campaign.status(design, store)
    _print(found) if as_json else _tell_status(found)


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was started is ended, too
    try:
        app(prog_name="homing experiment")
    except ExperimentError as error:
        print(f"homing experiment: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
    except KeyboardInterrupt:
        tell("stopped; the rows that stand are kept, and the next call goes on")
        raise SystemExit(130) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(1) from None
