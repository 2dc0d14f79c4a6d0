"""The end of the demo: one loop on a virtual machine of four NUMA nodes, on stock oneTBB and on ours, and who served its cache
lines: the table of bench/vector_update, and a page of it where `homing lab report` is there to make one."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench" / "vector_update" / "table.py"
NAME = "lab"


@dataclass(frozen=True)
class LabResult:
    table: str
    found: dict[str, Any]   # the table's JSON; empty if the run failed
    page: Path | None
    problems: list[str]


def _report(homing: Path, results: Path) -> Path | None:
    page = results / "report.html"
    made = subprocess.run([str(homing), "lab", "report", str(results / "run-1"), "--output", str(page)], capture_output=True)
    return page if made.returncode == 0 and page.exists() else None


def run(homing: Path, build: Path, stock: Path, scratch: Path) -> LabResult:
    results = scratch / "vector_update"
    results.mkdir(parents=True, exist_ok=True)
    (results / "report.html").unlink(missing_ok=True)
    saved = results / "table.json"
    command = [sys.executable, str(TABLE), "--virtual-clock", "--build", str(build), "--stock", str(stock), "--results", str(results)]
    done = subprocess.run([*command, "--check", "--save", str(saved)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        return LabResult("", {}, None, [f"{done.stderr.strip()}\n{' '.join(command)}"])
    found = json.loads(saved.read_text())
    return LabResult(done.stdout.rstrip(), found, _report(homing, results), found["problems"])


def show(result: LabResult) -> None:
    print("\nThe same loop on a virtual NUMA machine: who served its cache lines\n")
    if result.table:
        print(result.table)
        print("\n(noap, ap: stock oneTBB without and with affinity_partitioner; NACS: a distribution sends the work;\n"
              "FT, INTL: pages by first touch, interleaved; NADD: where the distribution says.) As figures 14 and 15 of the\n"
              "TBB-NUMA paper, in small; the shares are a model's, of every load and store of a real Linux in QEMU. Threads\n"
              "sleep and wake by the model's clock.")
    if result.page:
        print(f"\nReport: {result.page}")
    for problem in [] if result.table else result.problems:
        print(problem)
