"""A page's part that a campaign makes: what was run and how, its tables and pictures, between two marks of a page, so that the
words around them stay."""

from __future__ import annotations

import html
import io
from pathlib import Path
from typing import Any

from . import files, plots, tables
from .design import Design
from .errors import ExperimentError
from .places import ROOT
from .responses import SERVED
from .rows import builds

KINDS = {"modelled": "**Modelled, not measured**: times and lines are those of the [lab](../guide/lab.md)'s model.",
         "measured": "Measured.", "virtual": "On a made-up machine: times say nothing about such a machine."}

BYTES_MAX = 1 << 24
EXPECTED = "a page of text, or none yet"


def marks(name: str) -> tuple[str, str]:
    return f"<!-- made by homing experiment: {name} -->", f"<!-- end of {name} -->"


def picture_links(folder: Path, page: Path, stem: str, text: str) -> str:
    """Light or dark, as the reader has it."""
    import os

    light, dark = (os.path.relpath(folder / f"{stem}-{mode}.svg", page.parent) for mode in plots.MODES)
    return (f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
            f'<img src="{light}" alt="{html.escape(text)}"></picture>')


def _line(text: str) -> str:
    """Of the campaign's file, for a heading or a table's row; no mark, which a comment of HTML is."""
    return " ".join(text.split()).replace("<!--", "&lt;!--")


def shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(ROOT))
    except ValueError:
        return path.name


def facts(design: Design, rows: list[dict[str, str]], failed: int) -> list[str]:
    """All that a reader needs to make it again, and to judge it."""
    def several(name: str) -> str:
        return ", ".join(sorted({row[name] for row in rows if row[name]}))

    kinds = sorted({row["kind"] for row in rows})
    loads = [float(row["host_load"]) for row in rows if row["host_load"]]
    file = shown(design.path)
    machine = f"here: {design.moved.machine}" if design.moved else several("machine")
    return [*(KINDS[kind] for kind in kinds), "", "| | |", "|---|---|",
            f"| command | `{design.command('run', file)}`, then `{design.command('report', file)}` |",
            f"| after | {_line(design.source).replace('|', '/') or '-'} |", f"| machine | {machine}; {several('threads')} threads |",
            *([f"| changes to the file | {'; '.join(design.moved.told).replace('|', '/')} |"] if design.moved else []),
            f"| runs | {len(rows)} of {len(design.cells) * design.replicates}: {len(design.cells)} combinations, "
            f"{design.replicates} blocks in random order, seed {design.seed}" + (f"; {failed} failed" if failed else "") + " |",
            f"| commit | {several('commit')} (`+`: with changes); design {design.hash}; {builds(rows)} build{'s' if builds(rows) > 1 else ''} of each program |",
            f"| host | {several('host')}; load average {min(loads, default=0):.1f} to {max(loads, default=0):.1f} |",
            f"| when | {min(row['started'] for row in rows)} to {max(row['started'] for row in rows)} |", ""]


def section(design: Design, rows: list[dict[str, str]], failed: int, found: list[dict[str, Any]], page: Path, folder: Path) -> str:
    lines = facts(design, rows, failed)
    levels_of = {cell.key: dict(cell.levels) for cell in design.cells}
    for one in found:
        lines += [f"### {one['title']}", ""]
        if "missing" in one:
            lines += [f"No figures: {one['missing']}.", ""]
            continue
        stem = f"{design.name}-{one['name']}"
        plots.draw(folder / stem, plots.bars(one))
        lines += [picture_links(folder, page, stem, f"{one['title']}, by {' and '.join(one['factors'])}"), tables.markdown(one)]
        if one["model"]:
            plots.draw(folder / f"{stem}-residuals", plots.residuals(one))
            lines += ["<details><summary>Residuals</summary>", "",
                      picture_links(folder, page, f"{stem}-residuals", "Residuals over fitted, their quantiles over normal ones, observed over fitted"),
                      "", "</details>", ""]
    if found and all(row[SERVED[0]] for row in rows):
        stem = f"{design.name}-traffic"
        plots.draw(folder / stem, plots.traffic(rows, levels_of, list(design.factors), design.title))
        lines += ["### Who served the lines", "", picture_links(folder, page, stem, "Lines by who served them, for each combination"), ""]
    return "\n".join(lines)


def refuse_own_files(page: Path, design: Design, rows_: Path) -> None:
    """The campaign's file, or its rows, as the page: what is put in would spoil them. Raises ExperimentError."""
    for file, what in ((design.path, "the campaign's file"), (rows_, "the file of rows")):
        if page.resolve() == file.resolve():
            raise ExperimentError(f"--page {page}: is {what}; expected {EXPECTED}", "name another page with --page", code=2)


def words_around(page: Path, design: Design) -> tuple[str, str]:
    """What a page has before and behind the campaign's part. Raises ExperimentError if it is none that `put` may
    replace."""
    begin, end = marks(design.name)
    try:
        there = files.is_there(page, EXPECTED)
        raw = files.content(page, BYTES_MAX, EXPECTED) if there else f"# {_line(design.title) or design.name}\n".encode()
        before = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8").read()
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{page} is no text in UTF-8", "name another page with --page") from error
    except OSError as error:
        raise ExperimentError(f"can't read {page}: {error.strerror}") from error
    if before.count(begin) > 1 or before.count(begin) != before.count(end) or before.find(end) < before.find(begin):
        raise ExperimentError(f"{page}: the marks of {design.name} do not pair",
                              f"expected one `{begin}` and one `{end}` behind it")
    if begin not in before:
        return before.rstrip("\n") + "\n\n", "\n"
    head, _, rest = before.partition(begin)
    return head, rest.partition(end)[2]


def put(page: Path, design: Design, text: str) -> None:
    """Replaces what stands between the campaign's marks; makes the page, or the place at its end, if there is none."""
    begin, end = marks(design.name)
    head, tail = words_around(page, design)
    text = text.replace("<!--", "&lt;!--")  # of a title or a level: a mark there would end the part too early
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        target = page.resolve()
        new = target.with_name(f".{target.name}.tmp")  # so that an interruption leaves the page as it was
        new.write_text(f"{head}{begin}\n{text.rstrip()}\n\n{end}{tail}", encoding="utf-8")
        new.replace(target)
    except OSError as error:
        raise ExperimentError(f"can't write {page}: {error.strerror}") from error
