"""The demo's output: a rich table on a terminal, the same table as plain text in a pipe, or JSON."""

import json
import statistics
import sys

from compare import VIRTUAL_MACHINE, Counts, Verdict
from lab import LabResult
from programs.base import Program

Row = list[str]
# Three tables instead of one, so that each fits a terminal of 80 columns.
_TIME_HEAD: Row = ["program", "same output", "stock s", "ours s", "ours/stock", "CPU"]
_TASKS_HEAD: Row = ["program", "same output", "tasks", "at home", "stolen near", "stolen far"]


def _counts(counts: Counts | None) -> Row:
    if counts is None:
        return ["not measured"] + [""] * 3
    return [f"{counts.executed:,}", f"{100 * counts.home / counts.executed:.1f}%", f"{counts.near:,}", f"{counts.far:,}"]


def _same(verdict: Verdict, where: str) -> str:
    return {True: "yes", False: "NO", None: "FAILED"}[verdict.same_output(where)]


def _time_row(verdict: Verdict) -> Row:
    same = _same(verdict, "homing")
    if same == "yes":
        same = f"yes, {verdict.values} values" if verdict.same_output("stock") else "stock varies"
    if verdict.ratio is None:
        times = ["", "", "not measured", ""]
    else:
        times = [
            f"{statistics.median(verdict.stock_s):.2f}",
            f"{statistics.median(verdict.ours_s):.2f}",
            f"{verdict.ratio:.2f} ({min(verdict.ratios):.2f}-{max(verdict.ratios):.2f})",
            f"{statistics.median(verdict.cpu_ratios):.2f}",
        ]
    return [verdict.program.title, same, *times]


def _tasks_row(verdict: Verdict, where: str) -> Row:
    counts = verdict.virtual if where == "virtual" else verdict.real
    return [verdict.program.title, _same(verdict, where), *_counts(counts)]


def _plain(head: Row, rows: list[Row]) -> str:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _table(title: str, head: Row, rows: list[Row]) -> None:
    if not sys.stdout.isatty():
        print(f"\n{title}\n\n{_plain(head, rows)}")
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(name, justify="left" if i < 2 else "right", no_wrap=i > 1)
    for row in rows:
        table.add_row(*row, style=None if row[1].startswith("yes") else "red")
    console = Console()
    console.print(f"\n[bold]{title}[/bold]", highlight=False)
    console.print(table)


def show_tables(verdicts: list[Verdict]) -> None:
    """Prints what was found, and every problem with the command that shows it."""
    pairs = max((len(verdict.ratios) for verdict in verdicts), default=0)
    _table(f"Homing against stock oneTBB: medians of {pairs} interleaved pairs", _TIME_HEAD,
           [_time_row(verdict) for verdict in verdicts])
    print("\nours/stock: ratio of times, the median of all pairs (smallest-largest); below 1, Homing is faster.\n"
          "CPU: the same for CPU time, all threads of the process together.")
    for timed in dict.fromkeys(verdict.program.timed for verdict in verdicts):
        titles = ", ".join(verdict.program.title for verdict in verdicts if verdict.program.timed == timed)
        print(f"Timed: {timed} of {titles}.")

    _table("Where Homing ran the tasks, on this machine", _TASKS_HEAD,
           [_tasks_row(verdict, "homing") for verdict in verdicts])
    _table(f'The same on a virtual machine, "{VIRTUAL_MACHINE}"', _TASKS_HEAD,
           [_tasks_row(verdict, "virtual") for verdict in verdicts])
    print("\nat home: tasks that ran in their home domain. Stolen near, far: taken from another thread of the\n"
          "same domain, of another one. All are counts of one run. The virtual machine's threads share the\n"
          "real CPUs, so it shows where tasks go, and its times would mean nothing.")
    for verdict in verdicts:
        for problem in verdict.problems:
            print(f"\n{verdict.program.title}: {problem}")


def as_json(verdicts: list[Verdict], in_lab: LabResult | None) -> str:
    """Everything the tables say, and each single time."""
    return json.dumps(
        {
            "ok": not any(verdict.problems for verdict in verdicts) and not (in_lab and in_lab.problems),
            "lab": in_lab and in_lab.found | {"problems": in_lab.problems, "page": in_lab.page and str(in_lab.page)},
            "programs": [
                {
                    "name": verdict.program.name,
                    "title": verdict.program.title,
                    "timed": verdict.program.timed,
                    "same_output": verdict.same_output("homing"),
                    "values_compared": verdict.values,
                    "runs_compared": verdict.runs,
                    "stock_s": verdict.stock_s,
                    "ours_s": verdict.ours_s,
                    "ratios": verdict.ratios,
                    "ratio_median": verdict.ratio,
                    "cpu_ratios": verdict.cpu_ratios,
                    "tasks": vars(verdict.real) if verdict.real else None,
                    "virtual": {
                        "machine": VIRTUAL_MACHINE,
                        "same_output": verdict.same_output("virtual"),
                        "tasks": vars(verdict.virtual) if verdict.virtual else None,
                    },
                    "problems": verdict.problems,
                }
                for verdict in verdicts
            ],
        },
        indent=2,
    )
