"""The words of `homing experiment`."""

from __future__ import annotations

import csv
import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn, Optional

import typer
from homing_commands import stdout, streams
from homing_commands.command import Command
from homing_commands.errors import CommandError

from . import campaign, here, known, moved, plan, rows
from .design import Design, load
from .errors import ExperimentError, of_system
from .places import Places, rows_file, standing_rows_file, tell
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
Here = Annotated[bool, typer.Option("--here", help="on this machine, in place of the file's; with rows of its own, rows/NAME-here.csv")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout")]
Build = Annotated[Optional[Path], typer.Option(help="build of Homing (default: the one that this command belongs to)")]
Stock = Annotated[Optional[Path], typer.Option(help="folder of stock oneTBB's libtbb.so.12")]


def _print(found: dict[str, Any]) -> None:
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _loaded(file: Path, rows_: Optional[Path], here_: bool, standing: bool = False) -> tuple[Design, rows.Rows]:
    """A campaign and its rows. `standing`: a file of rows that the user named has to be there."""
    design = load(file)
    design = moved.renamed(design) if here_ else design
    path = (standing_rows_file if standing else rows_file)(design, rows_)
    design = moved.as_it_stands(design, path) if here_ else design
    return design, rows.Rows(path, design)


def _tell_status(found: dict[str, Any]) -> None:
    left = f", about {duration(found['seconds_left'])} left" if found["seconds_left"] and found["left"] else ""
    print(f"{found['name']}: {found['done']} of {found['runs']} runs ({found['cells']} cells, {found['replicates']} replicates){left}")
    print(f"rows: {found['rows']}; commits: {', '.join(found['commits']) or 'none yet'}; builds: {found['builds']}")
    for one in found["failed"]:
        print(f"  {one['run']}: {one['status']}: {one['message']}\n    {one['command']}")


@app.command(cls=Command)
def run(
    file: File,
    here_: Here = False,
    rows_: RowsFile = None,
    threads: Annotated[Optional[int], typer.Option("--threads", min=1, max=1024, help="with --here: so many in place of the file's highest count")] = None,
    restart: Annotated[bool, typer.Option("--restart", help="put the rows that stand aside, and begin anew")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="do runs again that failed")] = False,
    minutes: Annotated[Optional[float], typer.Option(min=0, help="begin nothing after so long; the next call goes on")] = None,
    runs: Annotated[Optional[int], typer.Option(min=1, help="so many runs at most")] = None,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=1024, help="so many virtual machines at once, each on processors of its own: less time in all, and the same figures")] = 1,
    dry: Annotated[bool, typer.Option("--dry", help="say what would be run, in order, and run nothing; checks the words of programs if a build is at hand")] = False,
    build: Build = None,
    stock: Stock = None,
    as_json: Json = False,
) -> None:
    """Run what is missing of a campaign; interrupt it at any time, and call it again.

    \b
    Example: homing experiment run experiments/tbb-numa.toml
    Example: homing experiment run --here experiments/tbb-numa.toml
    """
    design = load(file)
    if threads is not None and not here_:
        raise ExperimentError("--threads needs --here", "without it the campaign's file says how many threads", code=2)
    design = moved.renamed(design) if here_ else design
    path = rows_file(design, rows_)
    design = moved.to_run(design, path, threads, restart) if here_ else design
    store = rows.Rows(path, design)
    for line in design.moved.told if design.moved else ():
        tell(line)
    batches = plan.missing(design, set() if restart else rows.done(store.load(), retry))
    if dry:
        _dry(design, batches, known.at_hand(build, stock) if batches else None, as_json)
        return
    if not batches:  # which needs no build
        _end_run(campaign.status(design, store), True, as_json)
    places = Places.find(build, stock)
    known.refuse_unknown(design, places)
    reason = here.counters_missing(places) if design.moved else ""
    if reason and design.limits["counters"] != "required":
        tell(f"without counters of near and far memory: {reason}")
    with campaign.only_writer(store.path):
        aside = store.put_aside() if restart else None
        if aside:
            tell(f"the rows that stood are in {aside}")
        bounds = campaign.Bounds(None if minutes is None else 60 * minutes, runs, retry, at_once)
        found = campaign.run(design, places, store, bounds, Progress())
    _end_run(found, minutes is not None or runs is not None, as_json)


def _end_run(found: dict[str, Any], bounded: bool, as_json: bool) -> NoReturn:
    _print(found) if as_json else _tell_status(found)
    raise typer.Exit(1 if found["failed"] or (found["left"] and not bounded) else 0)


def _dry(design: Design, batches: list[list[plan.Run]], places: Optional[Places], as_json: bool) -> None:
    if batches and places is not None:
        known.refuse_unknown(design, places)
    elif batches:
        tell("no build is at hand, so that the words of programs are not checked; --build names one")
    listed = [{"run": one.key, "boot": number, "block": one.block, **dict(one.cell.levels)}
              for number, batch in enumerate(batches) for one in batch]
    if as_json:
        _print({"schema": 1, "design": design.hash, "runs": listed})
        return
    for one in listed:
        levels = ", ".join(f"{name} {level}" for name, level in one.items() if name not in ("run", "boot", "block"))
        print(f"block {one['block'] + 1}, batch {one['boot'] + 1}: {levels}")
    if not listed:
        print("nothing to run")


@app.command(cls=Command)
def status(
    file: File,
    here_: Here = False,
    rows_: RowsFile = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="a line a cell: its levels, and how many runs are done")] = False,
) -> None:
    """Say how much of a campaign is done, what failed, and how long the rest takes. Exit status 1 if runs failed."""
    if as_json and as_csv:
        raise ExperimentError("status: --json excludes --csv", code=2)
    design, store = _loaded(file, rows_, here_)
    found = campaign.status(design, store)
    if as_csv:
        _status_table(design, rows.good(store.load()))
    elif as_json:
        _print(found)
    else:
        _tell_status(found)
        for line in found.get("changes", []):
            print(f"  {line}")
    raise typer.Exit(1 if found["failed"] else 0)


def _status_table(design: Design, good: list[dict[str, str]]) -> None:
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow([*design.factors, "done", "replicates"])
    for cell in design.cells:
        table.writerow([*dict(cell.levels).values(), sum(row["cell"] == cell.key for row in good), design.replicates])


def _analysed(design: Design, store: rows.Rows, only: Optional[list[str]]) -> tuple[list[dict[str, str]], int, list[dict[str, Any]]]:
    """Good rows, the number of failed runs, and the analyses."""
    try:
        from .analyse import analyse_all
    except ModuleNotFoundError as error:
        raise ExperimentError(f"this Python has no {error.name}", "scripts/setup experiment installs what the analysis needs") from error
    for name in only or []:
        if name not in {one["name"] for one in design.analyses}:
            raise ExperimentError(f"--only {name}: expected one of: {', '.join(one['name'] for one in design.analyses)}", code=2)
    stood = store.load()
    good = rows.good(stood)
    failed = len({row["run"] for row in stood} - {row["run"] for row in good})
    if failed and not good:
        raise ExperimentError(f"{store.path}: all {failed} runs failed", f"`{design.command('status')}` says how")
    chosen = [one for one in design.analyses if not only or one["name"] in only]
    if not chosen:
        raise ExperimentError(f"{design.path} asks for no analysis" + (" of what this machine can have" if design.moved else ""), "add a table [[analysis]] with a response", code=2)
    return good, failed, analyse_all(design, good, chosen)


@app.command(cls=Command)
def analyse(
    file: File,
    here_: Here = False,
    rows_: RowsFile = None,
    only: Annotated[Optional[list[str]], typer.Option("--only", metavar="NAME", help="this analysis of the file; repeatable")] = None,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="one table of plain figures, a line each")] = False,
) -> None:
    """Say what the rows mean: effects, analysis of variance, contrasts, ratios, and where their assumptions fail.

    \b
    Example: homing experiment analyse experiments/tbb-numa.toml --only time
    """
    if as_json and as_csv:
        raise ExperimentError("analyse: --json excludes --csv", code=2)
    design, store = _loaded(file, rows_, here_, standing=True)
    _, failed, found = _analysed(design, store, only)
    from . import spreadsheet, tables
    from .analyse import with_figures, without_figures

    if as_json:
        _print({"schema": 1, "name": design.name, "design": design.hash, "failed": failed,
                "analyses": with_figures(found), "missing": without_figures(found), **campaign.moved_to(design)})
        return
    for line in design.moved.told if design.moved else ():
        tell(line)
    if as_csv:
        for one in without_figures(found):
            tell(f"analysis '{one['name']}' is left out: {one['missing']}")
        sys.stdout.write(spreadsheet.as_csv(with_figures(found)))
    else:
        sys.stdout.write("\n".join(_left_out(one) if "missing" in one else tables.text(one) for one in found))


def _left_out(one: dict[str, Any]) -> str:
    return f"{one['title']}\n{'=' * len(one['title'])}\n\nNo figures: {one['missing']}.\n"


@app.command(cls=Command)
def report(
    file: File,
    here_: Here = False,
    rows_: RowsFile = None,
    page: Annotated[Optional[Path], typer.Option(help="the page (default: NAME.md beside the rows)")] = None,
    pictures: Annotated[Optional[Path], typer.Option(help="folder of the pictures (default: pictures/ beside the page)")] = None,
    as_json: Json = False,
) -> None:
    """Put a campaign's tables and pictures into a page, between its marks; the words around them stay.

    \b
    Example: homing experiment report experiments/tbb-numa.toml --page docs/results/tbb-numa.md --pictures docs/pictures/experiments
    """
    design, store = _loaded(file, rows_, here_, standing=True)
    good, failed, found = _analysed(design, store, None)
    from . import report as pages
    from .analyse import without_figures

    page = page or store.path.with_suffix(".md")
    folder = pictures or page.parent / "pictures"
    pages.refuse_own_files(page, design, store.path)
    pages.words_around(page, design)  # refused before a picture is drawn
    pages.put(page, design, pages.section(design, good, failed, found, page, folder))
    if as_json:
        _print({"schema": 1, "page": str(page), "pictures": str(folder), "runs": len(good), "failed": failed,
                "missing": without_figures(found), **campaign.moved_to(design)})
    else:
        for one in without_figures(found):
            tell(f"analysis '{one['name']}' has no figures: {one['missing']}")
        tell(f"{len(good)} runs are in {page}, pictures in {folder}")


def main() -> None:
    streams.are_open()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
            signal.signal(ending, signal.default_int_handler)  # so that what was started is ended, too
    try:
        with stdout.checked():
            app(prog_name="homing experiment")
    except CommandError as error:
        print(f"homing experiment: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
    except KeyboardInterrupt:
        tell("stopped; the rows that stand are kept, and the next call goes on")
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except OSError as error:
        refused = of_system(error)
        print(f"homing experiment: {refused}", file=sys.stderr)
        raise SystemExit(refused.code) from None
