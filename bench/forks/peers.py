#!/usr/bin/env python3
"""What a fork costs, beside its peers: the recursive programs of bench/forks by calls, by homing::fork_join(), by task_group on ours
and on stock oneTBB, by parallel_invoke() on stock, by OpenMP's tasks (libgomp's) and by Rayon's join.

All processes run by turns, in random order, and each figure is the least of its repetitions, over rounds the median. The
first table has times over those of the same program as real calls with one thread; Rayon's is over Rust's own calls. The second
has times with more threads over those with one. Ends after --minutes at most; the wall's clock wants a quiet machine.
libfork's ratios are those that were measured once beside our sketch, and are not measured here.

usage: bench/forks/peers.py [--threads 1,2,16] [--minutes 5] [--cpu]
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from runner import execute  # noqa: E402

BIN = ROOT / "build/bench/bin"
CRATES = Path("/usr/share/cargo/registry")  # Debian's
STOCK = execute.Library("stock", ROOT / ".venv/lib")
OURS = execute.Library("ours", ROOT / "build/release/lib/homing")
PROGRAMS = ("fib", "integrate", "queens", "uts_geometric", "uts_binomial", "skynet")
COLUMNS = {"values": "ours_values", "references": "ours_references", "task_group, ours": "ours_task_group",
           "task_group, stock": "stock_task_group", "parallel_invoke, stock": "stock_values", "OpenMP": "openmp_openmp",
           "Rayon": "rayon_rayon"}
LIBFORK = {"fib": 7.8, "integrate": 7.2, "uts_geometric": 1.08, "uts_binomial": 1.07, "skynet": 11.3}  # lazy; clang 19, two CPUs
LONGEST_S = 60.0


def build_rayon() -> str:
    """Why there is none; empty if there is."""
    cargo = shutil.which("cargo")
    if cargo is None or not (CRATES / "rayon-1").exists() and not list(CRATES.glob("rayon-1*")):
        return "no Rayon: scripts/setup bench-peers"
    command = [cargo, "build", "--release", "--quiet", "--offline", "--target-dir", str(ROOT / "build/bench/rayon"),
               "--manifest-path", str(ROOT / "build/bench/rayon-source/Cargo.toml"),
               "--config", "source.crates-io.replace-with='debian'", "--config", f"source.debian.directory='{CRATES}'"]
    # A copy: cargo writes beside its sources.
    shutil.copytree(ROOT / "bench/forks/rayon", ROOT / "build/bench/rayon-source", dirs_exist_ok=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"Rayon's peer does not build: {done.stdout.strip()[-500:]}" if done.returncode != 0 else ""


def command_of(kind: str, threads: int) -> list[str]:
    if kind == "rayon":
        return [str(ROOT / "build/bench/rayon/release/forks_rayon"), str(threads), "5"]
    if kind == "openmp":
        return [str(BIN / "forks_openmp"), "--json", "--reps", "5", "--threads", str(threads)]
    styles = {"ours": ("serial", "values", "references", "task_group"), "stock": ("values", "task_group")}[kind]
    cases = ",".join(f"forks/{program}_{style}" for program in PROGRAMS for style in styles)
    return [str(BIN / "forks"), "--json", "--reps", "5", "--threads", str(threads), "--cases", cases]


def run_once(kind: str, threads: int, clock: str) -> dict[str, float]:
    """Nanoseconds of one iteration of each case, by its name after the kind."""
    library = STOCK if kind == "stock" else execute.with_allocator(OURS, STOCK.folder, ROOT / "build/bench")
    environment = execute.environment(library, {"OMP_NUM_THREADS": str(threads)})
    done = subprocess.run(command_of(kind, threads), env=environment, stdout=subprocess.PIPE, text=True, timeout=LONGEST_S,
                          check=True)
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        if "case" in line and clock in line:
            program, style = parts_of(line["case"])
            found[f"{program} {kind}_{style}"] = min(line[clock]) / line["iterations"]
    return found


def parts_of(case: str) -> tuple[str, str]:
    """Of "forks/uts_geometric_values": the program and the style."""
    name = case.split("/")[1]
    program = next(known for known in PROGRAMS if name.startswith(known + "_"))
    return program, name[len(program) + 1:]


def measure(kinds: list[str], threads: list[int], minutes: float, clock: str) -> dict[tuple[str, int], list[float]]:
    jobs = [(kind, count) for kind in kinds for count in threads if count == 1 or clock == "wall_ns"]
    found: dict[tuple[str, int], list[float]] = {}
    until = time.monotonic() + 60 * minutes
    longest = 0.0
    while time.monotonic() + longest < until:  # a whole round
        begin = time.monotonic()
        random.shuffle(jobs)
        for kind, count in jobs:
            for name, ns in run_once(kind, count, clock).items():
                found.setdefault((name, count), []).append(ns)
        longest = max(longest, time.monotonic() - begin)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2,16")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--cpu", action="store_true", help="CPU time, and one thread only: for a machine that others use")
    options = parser.parse_args()
    threads = [int(count) for count in options.threads.split(",")]
    clock = "cpu_ns" if options.cpu else "wall_ns"
    kinds = ["ours", "stock"]
    if (BIN / "forks_openmp").exists():
        kinds.append("openmp")
    else:
        print("no OpenMP: the compiler has none")
    problem = "not asked for CPU time" if options.cpu else build_rayon()
    if problem:
        print(problem)
    else:
        kinds.append("rayon")
    found = {key: median(values) for key, values in measure(kinds, threads, options.minutes, clock).items()}
    rounds = "CPU time, one thread" if options.cpu else "wall, one thread"
    print(f"\n{rounds}, over calls:\n\n| | {' | '.join(COLUMNS)} | libfork, published |\n|---{'|--:' * (len(COLUMNS) + 1)}|")
    for program in PROGRAMS:
        cells = []
        for column in COLUMNS.values():
            base = found.get((f"{program} rayon_rayon_serial" if column == "rayon_rayon" else f"{program} ours_serial", 1))
            ns = found.get((f"{program} {column}", 1))
            cells.append(f"{ns / base:.2f}" if ns and base else "-")
        print(f"| {program} | {' | '.join(cells)} | {LIBFORK.get(program, '-')} |")
    for count in [] if options.cpu else threads[1:]:
        print(f"\nOne thread's time over that of {count} threads:\n\n| | {' | '.join(COLUMNS)} |\n|---{'|--:' * len(COLUMNS)}|")
        for program in PROGRAMS:
            cells = []
            for column in COLUMNS.values():
                one, many = found.get((f"{program} {column}", 1)), found.get((f"{program} {column}", count))
                cells.append(f"{one / many:.2f}" if one and many else "-")
            print(f"| {program} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
