#!/usr/bin/env python3
"""Runs the benchmark programs on stock oneTBB and on ours in virtual NUMA machines, on the model's clock, and compares their times.

The same binaries and the same work on both. Results go to build/bench-lab: results.json, results.md and results.svg. What was run
stays there, too, so that the next call goes on where this one ended. The exit status is 1 if a run failed, or, with --check, if
nothing was compared or ours is slower than stock by more than a loose bar: in a machine's median, or surely in one figure.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

import run as bench  # noqa: E402
from runner import lab_boot, lab_cases, lab_page, machine, ratios, values  # noqa: E402
from runner.campaign import Series, Terminal  # noqa: E402
from runner.execute import Library  # noqa: E402
from runner.interruption import exit_with  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
MACHINES = "one-node,westmere,bulldozer,sapphire-rapids-snc4,epyc-7601"
QUICK_MACHINES = "one-node,westmere"
LOOSE = 1.5  # --check: ours over stock, in the median over a machine's figures, and where the interval leaves 1 out
HOT_CASE = "short_loops/n7000"  # whose lines are looked at
NAMES = ("stock", "ours")


def options_from(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"few cases, one boot of each of {QUICK_MACHINES}, no hot lines")
    parser.add_argument("--machines", metavar="NAME,...", help=f"of `homing lab list` (default: {MACHINES})")
    parser.add_argument("--only", action="append", metavar="CASE", help="cases whose name contains this; repeatable")
    parser.add_argument("--threads", type=values.numbers(values.THREADS_MAX), metavar="N,...", help="default: 1, 2, 4, ... and all of a machine's CPUs; quick 1, 4 and all")
    parser.add_argument("--boots", type=values.number(values.ROUNDS_MAX), help="of each machine for each program (default 5, quick 1)")
    parser.add_argument("--reps", type=values.number(values.REPS_MAX), help="repetitions in one process (default 5, quick 3)")
    parser.add_argument("--target-us", type=values.number(60_000_000), help="of one repetition, by the host's own time with one thread")
    parser.add_argument("--quantum", type=values.number(10**9), metavar="CYCLES", help="of `homing lab run`; default: the lab's own")
    parser.add_argument("--timeout", type=values.number(values.WEEK_S), default=3600, metavar="SECONDS", help="for one boot")
    parser.add_argument("--seed", type=values.number(values.SEED_MAX, least=0), default=1, help="of inputs, orders and resampling")
    parser.add_argument("--no-hot", action="store_true", help="leave out where the time goes")
    parser.add_argument("--only-kept", action="store_true", help="boot nothing: a page of what is there")
    parser.add_argument("--stock", type=Path, default=bench.VENV / "lib", metavar="FOLDER")
    parser.add_argument("--ours", type=Path, default=ROOT / "build/release/lib/homing", metavar="FOLDER")
    parser.add_argument("--homing", type=Path, default=ROOT / "build/release/bin/homing", metavar="FILE")
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", metavar="FOLDER", help="of the programs")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench-lab", metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 if ours surely takes more than {LOOSE} times stock's")
    options = parser.parse_args(arguments)
    options.boots = options.boots or (1 if options.quick else 5)
    options.reps = options.reps or (3 if options.quick else 5)
    options.target_us = options.target_us or (400 if options.quick else 1000)
    options.machines = (options.machines or (QUICK_MACHINES if options.quick else MACHINES)).split(",")
    options.no_hot |= options.quick
    for file in (options.stock / "libtbb.so.12", options.ours / "libtbb.so.12", options.homing):
        if not file.exists():
            parser.error(f"there is no {file}; make build lab")
    values.require_folder(parser, "--build", options.build)
    values.require_folder(parser, "--output", options.output)
    return options


def series_of(boots: list[dict], jobs: list[lab_boot.LabJob]) -> list[Series]:
    """A round is a boot."""
    result = []
    for index, job in enumerate(jobs):
        for case, iterations in job.cases:
            series = Series(case, job.threads, "wall", False, iterations=iterations)
            for entry in (boot["jobs"][index] for boot in boots if boot["failure"] is None):
                pair = {}
                for name in NAMES:
                    if case in entry[name]["cases"]:
                        # The guest's CPU-time clocks are the host's: there is one time only.
                        pair[name] = {"wall_ns": entry[name]["cases"][case], "cpu_ns": entry[name]["cases"][case]}
                    elif entry[name]["failure"]:
                        series.failed.setdefault(name, entry[name]["failure"])
                if pair:
                    series.rounds.append(pair)
            result.append(series)
    return sorted(result, key=lambda series: (series.case, series.threads))


def failures_of(boots: list[dict], jobs: list[lab_boot.LabJob]) -> list[str]:
    lines = []
    for boot in boots:
        if boot["failure"]:
            lines.append(f"{boot['machine']}, {jobs[0].binary.name}, boot {boot['number']}: {boot['failure']}")
        for job, entry in zip(jobs, boot["jobs"] if not boot["failure"] else []):
            lines += [f"{boot['machine']}: {name}: {job.binary.name} at {job.threads} threads: {entry[name]['failure']}"
                      for name in NAMES if entry[name]["failure"]]
    return lines


def missed_bars(machines: list[dict]) -> list[str]:
    missed = []
    for entry in machines:
        rows = ratios.counted(entry["rows"])
        if not rows:
            missed.append(f"{entry['machine']}: nothing was compared")
            continue
        middle = median(row["wall"]["ratio"] for row in rows)
        if middle > LOOSE:
            missed.append(f"{entry['machine']}: the median ratio is {middle:.2f}")
        missed += [f"{entry['machine']}: {row['case']} at {row['threads']} threads: {row['wall']['ratio']:.2f}" for row in rows
                   if row["wall"]["ratio"] > LOOSE and ratios.certain(row["wall"])]
    return missed


def on_machine(name: str, options: argparse.Namespace, lab: lab_boot.Lab, cases: lab_cases.Cases, progress) -> dict:
    shape = lab.shapes[name] = lab_cases.shape(options.homing, name)
    threads = options.threads or lab_cases.thread_counts(len(shape["cpu_node"]), options.quick)
    jobs = cases.jobs(threads)
    of_program = {binary: [job for job in jobs if job.binary == binary] for binary in cases.programs}
    boots = {binary: [] for binary in of_program}
    for number in range(1, options.boots + 1):
        for done, (binary, its_jobs) in enumerate(of_program.items()):
            progress(f"{name}: round {number} of {options.boots}, {binary.name}, {done} of {len(of_program)} programs done")
            boot = lab_boot.boot(lab, name, number, its_jobs, options.reps, options.seed)
            boots[binary] += [boot] if boot is not None else []
    hot = {}
    hottest = next((job for job in reversed(jobs) if any(case == HOT_CASE for case, _ in job.cases)), None)
    if hottest is not None and not options.no_hot:
        hottest = lab_boot.LabJob(hottest.binary, max(threads), tuple(c for c in hottest.cases if c[0] == HOT_CASE))
        for library in NAMES:
            progress(f"{name}: hot lines of {library}")
            hot[library] = lab_boot.hot(lab, name, library, hottest, options.reps, options.seed)
    hot = {library: found for library, found in hot.items() if found is not None}
    rows = [ratios.row(series, NAMES, options.seed) for binary, its_jobs in of_program.items()
            for series in series_of(boots[binary], its_jobs)]
    return {"machine": name, "title": shape["title"], "cpus": len(shape["cpu_node"]), "nodes": len(shape["dram_ns"]),
            "boots": max(map(len, boots.values())), "seconds": sum(boot["seconds"] for done in boots.values() for boot in done),
            "rows": rows, "hot": hot,
            "lost": [line for done in (*boots.values(), hot.values()) for found in done for line in found["lost"]],
            "failures": [line for binary, its_jobs in of_program.items() for line in failures_of(boots[binary], its_jobs)]
            + [f"{name}: hot lines of {library}: {found['failure']}" for library, found in hot.items() if found["failure"]]}


def main(arguments: list[str]) -> int:
    options = options_from(arguments)
    progress = Terminal(sys.stderr)
    progress("building")
    binaries = bench.build(options, lambda program: lab_cases.program_wanted(program, options))
    libraries = {"stock": options.stock.absolute(), "ours": options.ours.absolute()}
    parts = [path for path in sorted(options.homing.resolve().parent.parent.glob("lab/*homing*")) if path.is_file()]
    lab = lab_boot.Lab(options.homing.absolute(), libraries, options.timeout, options.output, parts, options.only_kept,
                       options.quantum)
    progress("choosing cases")
    options.output.mkdir(parents=True, exist_ok=True)
    cases = lab_cases.Cases(binaries, Library("stock", options.stock), options, options.output / "iterations.json")
    if not cases.programs:
        progress.clear()
        sys.exit(f"no case matches {', '.join(options.only or [])}")
    result = {
        "command": " ".join(["bench/lab.py", *arguments]),
        "commit": machine.describe(ROOT)["commit"],
        "host": machine.describe(ROOT)["processor"],
        "load": f"{os.getloadavg()[0]:.0f}",
        "options": {"seed": options.seed, "boots": options.boots, "reps": options.reps, "target_us": options.target_us,
                    "quantum": options.quantum},
        "machines": [],
    }
    for name in options.machines:
        result["machines"].append(on_machine(name, options, lab, cases, progress))
        (options.output / "results.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.output / "results.md").write_text(lab_page.markdown(result))
        (options.output / "results.svg").write_text(lab_page.picture(result))
    progress.clear()
    print("\n".join(lab_page.summary(result)))
    missed = missed_bars(result["machines"]) if options.check else []
    failures = sum(len(entry["failures"]) for entry in result["machines"])
    if options.check:
        for line in missed:
            print(f"MISSED {line}; the bar is {LOOSE}")
        print(f"{sum(len(ratios.counted(entry['rows'])) for entry in result['machines'])} passed, {len(missed) + failures} failed")
    return 1 if failures or missed else 0


if __name__ == "__main__":
    exit_with(lambda: main(sys.argv[1:]))
