#!/usr/bin/env python3
"""The scenarios of the TBB-NUMA paper's figures 14 and 15, in small: a vector update on a virtual NUMA machine, on stock
oneTBB and on ours; who served each cache line, and the virtual time. All figures are modelled, none is measured."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from runner.interruption import exit_with, run_to_its_end  # noqa: E402

VENV = Path(os.environ.get("HOMING_VENV") or ROOT / ".venv")  # the wheel tbb
BUILD = ROOT / "build" / "release"
SERVED = ("local_cache", "remote_cache", "local_dram", "remote_dram")
# What ours may have, and what the best of stock has at least (seen: 0.01 to 0.03, and 0.64 to 0.68).
REMOTE_MOST, STOCK_LEAST = 0.05, 0.60


@dataclass(frozen=True)
class Scenario:
    """`paper`: its name there: no affinity, affinity partitioner, NUMA-aware scheduling; first touch, interleaved,
    NUMA-aware distribution."""

    paper: str
    library: str
    schedule: str
    pages: str

    @property
    def region(self) -> str:
        return f"{self.schedule}, {self.pages}"


SCENARIOS = (
    Scenario("noap, FT", "stock", "none", "first-touch"),
    Scenario("noap, INTL", "stock", "none", "interleaved"),
    Scenario("ap, INTL", "stock", "affinity", "interleaved"),
    Scenario("NACS, INTL", "ours", "distribution", "interleaved"),
    Scenario("NACS, NADD", "ours", "distribution", "enforced"),
)


@dataclass
class Seen:
    """Of one scenario, a value a run."""

    shares: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SERVED})
    lines: list[int] = field(default_factory=list)
    virtual_ms: list[float] = field(default_factory=list)
    relative: list[float] = field(default_factory=list)   # to the first scenario of the same run
    updates_at_home: list[float] = field(default_factory=list)


class Trouble(Exception):
    """A run that did not give what was asked for."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="westmere", help="of `homing lab list` (default: %(default)s)")
    parser.add_argument("--cache-scale", type=float, default=8, help="caches are so many times smaller (default: 8)")
    parser.add_argument("--elements", type=int, default=1 << 21, help="of each of two vectors (default: %(default)s)")
    parser.add_argument("--loops", type=int, default=20, help="how often all is updated (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=1, help="each in a machine of its own (default: 1)")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one run (default: %(default)s)")
    parser.add_argument("--virtual-clock", action="store_true",
                        help="programs read the model's time, not the host's: a runtime's time limits are the machine's then")
    parser.add_argument("--results", type=Path, help="folder for each run's counts.json, for `homing lab report`")
    parser.add_argument("--check", action="store_true",
                        help=f"exit status 1 unless ours has less than {REMOTE_MOST:.0%}% remote DRAM in each run, and "
                             f"stock's best more than {STOCK_LEAST:.0%}%")
    parser.add_argument("--json", action="store_true", help="JSON on stdout")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the JSON into a file as well")
    parser.add_argument("--stock", type=Path, default=VENV / "lib", help="folder of the stock libtbb.so.12")
    parser.add_argument("--build", type=Path, default=BUILD, help="build of Homing (default: %(default)s)")
    result = parser.parse_args()
    for name in ("elements", "loops", "threads", "runs", "timeout"):
        if getattr(result, name) < 1:
            parser.error(f"--{name} {getattr(result, name)}: expected 1 or more")
    result.stock, result.build = result.stock.absolute(), result.build.absolute()
    if not (result.stock / "libtbb.so.12").exists():
        parser.error(f"--stock: there is no libtbb.so.12 in {result.stock}; scripts/setup installs one into .venv/lib")
    for part in ("bin/homing", "lib/homing/libtbb.so.12", "bench/vector_update/vector_update"):
        if not (result.build / part).exists():
            parser.error(f"--build: there is no {part} in {result.build}; make build")
    return result


def command(options: argparse.Namespace, folder: Path, first: int) -> list[str]:
    """One boot that runs all scenarios, beginning with number `first`: who comes first shall not matter."""
    order = SCENARIOS[first % len(SCENARIOS):] + SCENARIOS[:first % len(SCENARIOS)]
    lines = [f"LD_LIBRARY_PATH=/{s.library} vector_update --schedule {s.schedule} --pages {s.pages} --json"
             f" --elements {options.elements} --loops {options.loops} --threads {options.threads}" for s in order]
    files = {options.build / "bench/vector_update/vector_update": "/usr/bin/vector_update",
             options.stock / "libtbb.so.12": "/stock/libtbb.so.12",
             options.build / "lib/homing/libtbb.so.12": "/ours/libtbb.so.12"}
    # Without huge pages: vectors of a few MiB would have too few of them to be interleaved.
    return [str(options.build / "bin/homing"), "lab", "run", "--machine", options.machine, "--thp", "never",
            "--cache-scale", f"{options.cache_scale:g}", "--timeout", str(options.timeout), "--results", str(folder),
            *(f"--file={here}:{there}" for here, there in files.items()),
            *(["--virtual-clock"] if options.virtual_clock else []),
            "--plain-words", "--", "/bin/sh", "-c", "set -e; " + "; ".join(lines)]


def run(options: argparse.Namespace, folder: Path, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the programs said, and what the plugin counted, by region."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("HOMING_", "HWLOC_", "TBB_", "LD_")) or name.startswith(("HOMING_LAB_", "HOMING_VENV"))}
    ended = run_to_its_end(command(options, folder, number), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if ended.returncode != 0:
        raise Trouble(f"homing lab run ended with status {ended.returncode}:\n{(ended.stdout + ended.stderr)[-2000:]}")
    counted = json.loads((folder / "counts.json").read_text())
    if not counted["calibrated"]:
        raise Trouble(f"the lab's map of memory failed its check: {counted['calibration']['error']}")
    said = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return ({f"{s['schedule']}, {s['pages']}": s for s in said}, {r["label"]: r for r in counted["regions"]})


def add(seen: dict[str, Seen], said: dict[str, Any], counted: dict[str, Any]) -> None:
    base_ns = counted[SCENARIOS[0].region]["virtual_ns"]
    for scenario in SCENARIOS:
        program, region, result = said[scenario.region], counted[scenario.region], seen[scenario.paper]
        if program["homing"] != (scenario.library == "ours"):
            raise Trouble(f"({scenario.paper}) ran on another libtbb.so.12 than that of {scenario.library}")
        lines = sum(region[name] for name in SERVED)
        for name in SERVED:
            result.shares[name].append(region[name] / max(1, lines))
        result.lines.append(lines)
        result.virtual_ms.append(region["virtual_ns"] / 1e6)
        result.relative.append(region["virtual_ns"] / max(1, base_ns))
        result.updates_at_home.append(program["updates_at_home"])


def unexpected(seen: dict[str, Seen]) -> list[str]:
    """What is not as the paper's figure 15 has it."""
    ours = max(seen[SCENARIOS[-1].paper].shares["remote_dram"])
    stock = min(min(seen[s.paper].shares["remote_dram"]) for s in SCENARIOS if s.library == "stock")
    problems = []
    if ours >= REMOTE_MOST:
        problems.append(f"({SCENARIOS[-1].paper}): expected less than {REMOTE_MOST:.0%} remote DRAM, found {ours:.1%}")
    if stock <= STOCK_LEAST:
        problems.append(f"stock's best: expected more than {STOCK_LEAST:.0%} remote DRAM, found {stock:.1%}")
    return problems


def spread(values: list[float], form: str) -> str:
    """The median, and from least to most if there are several."""
    middle = form.format(median(values))
    low, high = form.format(min(values)), form.format(max(values))
    return middle if low == high else f"{middle} ({low}-{high})"


def table(seen: dict[str, Seen]) -> list[list[str]]:
    rows = [["", "", "cache", "", "DRAM", "", "virtual", ""],
            ["scenario", "library", "local", "remote", "local", "remote", "ms", "relative"]]
    for s in SCENARIOS:
        values = seen[s.paper]
        shares = [spread([100 * v for v in values.shares[name]], "{:.1f}") + "%" for name in SERVED]
        rows.append([f"({s.paper})", s.library, *shares, spread(values.virtual_ms, "{:.1f}"),
                     spread(values.relative, "{:.2f}")])
    return rows


def print_table(options: argparse.Namespace, seen: dict[str, Seen]) -> None:
    mib = 16 * options.elements / (1 << 20)
    clock = ", on the model's clock" if options.virtual_clock else ""
    print(f"Modelled, not measured: {options.loops} updates of {mib:.0f} MiB on {options.machine}, {options.threads} threads,\n"
          f"caches divided by {options.cache_scale:g}{clock}; who served the lines that private caches had not;", end=" ")
    print("median of " + f"{options.runs} runs (least-most)\n" if options.runs > 1 else "one run\n")
    rows = table(seen)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(widths[i]) if i < 2 else cell.rjust(widths[i]) for i, cell in enumerate(row)]
        print("  ".join(cells).rstrip())


def main() -> int:
    options = arguments()
    seen = {s.paper: Seen() for s in SCENARIOS}
    with tempfile.TemporaryDirectory(prefix="vector-update-") as scratch:
        for number in range(options.runs):
            folder = (options.results or Path(scratch)) / f"run-{number + 1}"
            folder.mkdir(parents=True, exist_ok=True)
            if sys.stderr.isatty():
                print(f"\r\033[Krun {number + 1} of {options.runs}", end="", file=sys.stderr, flush=True)
            try:
                add(seen, *run(options, folder, number))
            except (Trouble, KeyError) as trouble:
                print(f"table.py: run {number + 1}: {trouble}", file=sys.stderr)
                return 3
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    problems = unexpected(seen)
    found = json.dumps({"schema": 1, "modelled": True, "machine": options.machine, "cache_scale": options.cache_scale,
                        "elements": options.elements, "loops": options.loops, "threads": options.threads,
                        "virtual_clock": options.virtual_clock, "runs": options.runs,
                        "as_expected": not problems, "problems": problems,
                        "scenarios": [vars(s) | vars(seen[s.paper]) for s in SCENARIOS]}, indent=1)
    if options.save:
        options.save.write_text(found + "\n")
    if options.json:
        print(found)
    else:
        print_table(options, seen)
        for problem in problems:
            print(problem)
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    exit_with(main)
