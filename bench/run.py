#!/usr/bin/env python3
"""Runs the benchmark programs on stock oneTBB and on ours, in turn, and compares their times.

Results go to build/bench/results.json (every sample) and build/bench/results.md. The exit status is 1
if a run failed, on either library, or, with --check, if a bar is missed or nothing was compared.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from runner import machine, programs, ratios, report, values  # noqa: E402
from runner.campaign import Campaign, Terminal, all_series  # noqa: E402
from runner.execute import Library, with_allocator  # noqa: E402
from runner.interruption import exit_with  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("HOMING_VENV") or ROOT / ".venv")  # the wheels tbb and tbb-devel
CAP_S = 6.0


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="about 3 minutes instead of 20")
    parser.add_argument("--only", action="append", metavar="CASE",
                        help="cases whose name contains this (or matches this pattern); repeatable")
    parser.add_argument("--threads", type=values.numbers(values.THREADS_MAX), metavar="N,...",
                        help="default 1,2,8; ramp 2 to 64; process 1, which does not count there")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--seed", type=values.number(values.SEED_MAX, least=0), default=1, help="of inputs, orders and resampling")
    parser.add_argument("--pairs", type=values.number(values.ROUNDS_MAX), help="rounds (each runs both libraries)")
    parser.add_argument("--reps", type=values.number(values.REPS_MAX), help="repetitions in one process")
    parser.add_argument("--heavy-pairs", type=values.number(values.ROUNDS_MAX), help="rounds of cases that take seconds")
    parser.add_argument("--cap", type=values.seconds, metavar="SECONDS", help=f"time limit of a heavy case (default {CAP_S:g})")
    parser.add_argument("--stock", type=Path, default=VENV / "lib", metavar="FOLDER")
    parser.add_argument("--ours", type=Path, default=ROOT / "build/release/lib/homing",
                        metavar="FOLDER", help="may be stock's own, to see the noise")
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    parser.add_argument("--programs", metavar="NAME[,NAME...]",
                        help="the papers' programs instead (of build/release/programs; \"all\"), on all CPUs, interleaved")
    parser.add_argument("--size", help="of the programs (default: one of some milliseconds to some tenths of a second)")
    parser.add_argument("--limit", type=values.seconds, metavar="SECONDS", help="of the programs: begin no round that would last beyond it")
    options = parser.parse_args(arguments)
    refuse_what_is_ignored(parser, options)
    options.threads = options.threads or []
    options.cap = options.cap or CAP_S
    pairs, reps, heavy_pairs = (7, 3, 3) if options.quick else (40, 5, 7)
    options.pairs = options.pairs or pairs
    options.reps = options.reps or reps
    options.heavy_pairs = min(options.heavy_pairs or heavy_pairs, options.pairs)
    options.two_nodes = {0, 1} <= os.sched_getaffinity(0)
    for folder in (options.stock, options.ours):
        if not (folder / "libtbb.so.12").exists():
            parser.error(f"no libtbb.so.12 in {folder}")
    values.require_folder(parser, "--build", options.build)
    return options


def refuse_what_is_ignored(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    programs_run = options.programs is not None
    ignored = ("only", "threads", "heavy_pairs", "cap") if programs_run else ("size", "limit")
    given = [f"--{name.replace('_', '-')}" for name in ignored if getattr(options, name) is not None]
    if given:
        why = "programs run whole, on all CPUs" if programs_run else "expected --programs with it"
        parser.error(f"{', '.join(given)}: of no use {'with' if programs_run else 'without'} --programs: {why}; leave it out")


def build(options: argparse.Namespace, wanted: Callable[[str], bool] = lambda _: True) -> list[Path]:
    """Builds the programs; returns their binaries. Prints what the compiler said only if it failed."""
    programs = sorted(path.parent.name for path in (ROOT / "bench").glob("*/tbb.cpp"))
    programs = [name for name in programs if wanted(name)]
    jobs = len(os.sched_getaffinity(0))
    configure = ["cmake", "-S", str(ROOT / "bench"), "-B", str(options.build),
                 f"-DHOMING_STOCK_TBB={VENV.absolute()}"]
    if not (options.build / "CMakeCache.txt").exists() and shutil.which("ninja"):
        configure += ["-G", "Ninja"]
    targets = [f"bench_{name}" for name in programs]
    for command in (configure, ["cmake", "--build", str(options.build), "-j", str(jobs), "--target", *targets]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}")
    return [options.build / "bin" / name for name in programs]


def shown(folder: Path) -> str:
    folder = folder.absolute()
    return str(folder.relative_to(ROOT)) if folder.is_relative_to(ROOT) else str(folder)


def libraries(options: argparse.Namespace) -> tuple[Library, Library]:
    ours = with_allocator(Library("ours", options.ours), options.stock, options.build)
    return Library("stock", options.stock), ours


def run_programs(options: argparse.Namespace, progress: Terminal) -> int:
    """The other set: variants of whole programs against each other."""
    folder = ROOT / "build/release/programs"
    binaries = sorted(path for path in folder.glob("*") if path.is_file() and os.access(path, os.X_OK))
    if options.programs != "all" or not binaries:
        wanted = options.programs.split(",")
        unknown = set(wanted) - {path.name for path in binaries}
        if unknown:
            sys.exit(f"--programs \"{','.join(sorted(unknown))}\": expected \"all\" or names out of: "
                     f"{', '.join(path.name for path in binaries) or 'none, make programs first'}")
        binaries = [path for path in binaries if path.name in wanted]
    found = programs.campaign(binaries, *libraries(options), options.size, len(os.sched_getaffinity(0)), options.pairs, options.reps,
                              options.seed, progress, options.limit)
    progress.clear()
    (options.build / "programs.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found) if options.json else "\n".join(programs.lines(found)))
    failed = any(of["failures"] for of in found)
    return 1 if failed or options.check and programs.missed(found) else 0


def missed(bars: list[dict]) -> bool:
    """Whether --check fails: a campaign without any figure meets no bar."""
    if not bars:
        print("MISSED: nothing was compared", file=sys.stderr)
    return not bars or not all(bar["met"] for bar in bars)


def main(arguments: list[str]) -> int:
    options = options_from(arguments)
    progress = Terminal(sys.stderr)
    if options.programs is not None:
        return run_programs(options, progress)
    description = machine.describe(ROOT)
    busy = machine.busy()  # before the compiler makes it so
    progress("building")
    binaries = build(options)
    progress.clear()
    stock, ours = libraries(options)
    campaign = Campaign(stock, ours, options, progress)
    campaign.plan(binaries)
    if not campaign.jobs:
        progress.clear()
        sys.exit(f"no case matches {', '.join(options.only)}")
    campaign.calibrate()
    campaign.run()
    progress("computing intervals")
    names = (stock.name, ours.name)
    rows = [ratios.row(series, names, options.seed) for series in all_series(campaign)]
    progress.clear()
    result = {
        "command": " ".join(["bench/run.py", *arguments]),
        "machine": description,
        "busy": busy,
        "libraries": {library.name: f"{campaign.versions.get(library.name, '?')}, "
                                    f"{shown(library.folder)}" for library in (stock, ours)},
        "options": {"seed": options.seed, "pairs": options.pairs, "reps": options.reps,
                    "heavy_pairs": options.heavy_pairs, "cap_s": options.cap},
        "bars": ratios.verdicts(rows),
        "failures": campaign.failures,
        "seconds": [{"program": job.binary.name + job.suffix, "threads": job.threads,
                     "cases": len(job.series), "seconds": job.seconds} for job in campaign.jobs],
        "rows": rows,
    }
    (options.build / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.build / "results.md").write_text(report.markdown(result))
    if options.json:
        print(json.dumps(result))
    else:
        print(report.table(rows), *report.summary(rows, busy),
              *report.failure_lines(campaign.failures), sep="\n")
    return 1 if campaign.failures or options.check and missed(result["bars"]) else 0


if __name__ == "__main__":
    exit_with(lambda: main(sys.argv[1:]))
