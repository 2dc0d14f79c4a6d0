"""counts.json, as the plugin writes it: brought home, and told in a table."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from .architecture import ALL
from .errors import LabError, unreadable
from .output import opener

SERVED = ("local_cache", "remote_cache", "local_dram", "remote_dram")
SCHEMA = 1


def collect(file: Path, results: Path | None) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    if results:
        try:
            with file.open("rb") as ours, open(results / "counts.json", "wb", opener=opener) as kept:
                shutil.copyfileobj(ours, kept)
        except OSError as error:
            raise LabError(f"can't write {results / 'counts.json'}: {error.strerror}") from error
    return written_by_plugin(file, SCHEMA)


def written_by_plugin(file: Path, schema: int) -> dict[str, Any]:
    try:
        written: dict[str, Any] = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        raise LabError(f"the plugin's {file.name}: {unreadable(error, 'no JSON')}") from error
    if written.get("schema") != schema:
        raise LabError(
            f"the plugin's {file.name} has schema {written.get('schema')}, expected {schema}",
            "build the plugin and the runner from one tree",
        )
    return written


def totals(region: dict[str, Any]) -> dict[str, int]:
    return {kind: sum(cpu.get(kind, 0) for cpu in region["cpus"]) for kind in SERVED}


def rows(counted: dict[str, Any]) -> list[list[str]]:
    """Label, the shares of the four, the lines that left the private caches, virtual time."""
    result = []
    for region in counted["regions"]:
        served = totals(region)
        whole = sum(served.values())
        shares = [f"{100 * served[kind] / whole:.1f}%" if whole else "-" for kind in SERVED]
        result.append(
            [region["label"], *shares, f"{whole:,}", f"{region['virtual_ns'] / 1e6:,.3f} ms"]
        )
    return result


def said_precision(counted: dict[str, Any]) -> str:
    """How exact the order of what CPUs do to each other is; empty for counts of older plugins."""
    precision = counted.get("precision")
    if not precision:
        return ""
    return (
        f"CPUs' clocks are kept within {precision['quantum_cycles']:,} cycles, "
        f"looked at every {precision['look_cycles']:,} (--quantum)"
    )


def said_architecture(counted: dict[str, Any]) -> str:
    """Of a guest that is no x86-64 machine."""
    found = ALL.get(counted.get("architecture", ""))
    if found is None or found.native:
        return ""
    return f"an {found.title} guest: counts.json says what is not seen of it"


def print_table(counted: dict[str, Any], machine: str) -> None:
    """On stderr: the program's own output is not ours to mix with."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Names are a program's own: a bracket in them is no markup.
    title = f"Modelled, not measured: who served each cache line on {machine}"
    table = Table(
        title=Text(title, style="table.title"),
        caption="; ".join(filter(None, (said_architecture(counted), said_precision(counted)))),
        caption_justify="left",
        box=box.SIMPLE,
        title_justify="left",
    )
    for number, name in enumerate(
        (
            "region",
            "local cache",
            "remote cache",
            "local DRAM",
            "remote DRAM",
            "lines",
            "virtual time",
        )
    ):
        table.add_column(name, justify="right" if number else "left")
    for row in rows(counted):
        table.add_row(*map(Text, row))
    console = Console(file=sys.stderr, highlight=False, width=None if sys.stderr.isatty() else 110)
    console.print(table)
    if not counted.get("calibrated", True):
        console.print("not calibrated: which memory belongs to which node is not known")
    if left_out := counted.get("regionsLeftOut", 0):
        console.print(f"{left_out:,} regions had no room, and are not counted: use fewer labels")
