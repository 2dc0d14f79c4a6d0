#!/usr/bin/env python3
"""Runs oneTBB's own tests on our library and compares with expected.toml.

The tests come from Debian's source package (never committed); they are compiled with the public
headers of oneTBB 2021.8 or 2023.2 and linked to libtbb.so.12. Exit status: 0 as expected, 1 not,
2 the tests could not be had or built at all.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import beside, expectations, modes, report, source
from harness.build import Builder
from harness.execute import loaded_library, run_program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build" / "release" / "lib" / "homing" / "libtbb.so.12"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", default="all", choices=["ci", "conformance", "tests", "all"],
                        help="which programs (default: all)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="only this program; may be repeated")
    parser.add_argument("--library", type=Path, default=LIBRARY, metavar="PATH",
                        help="the libtbb.so.12 to test (default: our release build)")
    parser.add_argument("--beside", type=Path, metavar="PATH",
                        help="another libtbb.so.12: every program runs with it, too, and cases that take "
                             "much longer than there are named; no verdict and no exit status changes")
    parser.add_argument("--headers", default="2021", metavar="2021|2023|FOLDER",
                        help="public headers to compile with (default: 2021, those of the tests)")
    parser.add_argument("--mode", action="append", default=[], choices=[*modes.MODES, "all"],
                        help="the machine to run on: the real one, or made up; may be repeated "
                             "(default: all; plain for the set ci and for other libraries)")
    parser.add_argument("--topology", default="", metavar="STRING",
                        help='a made-up machine of your own, such as "node:8 core:1 pu:2"')
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="compilers at a time; programs always run one at a time")
    parser.add_argument("--repeat", type=int, default=1, metavar="N",
                        help="run every program N times, to find what fails now and then")
    parser.add_argument("--time-scale", type=float, default=1.0, metavar="X",
                        help="multiply every time limit (a slow or loaded machine)")
    parser.add_argument("--build-only", action="store_true", help="compile, run nothing")
    parser.add_argument("--keep-going", action=argparse.BooleanOptionalAction, default=True,
                        help="go on after a failure (default: yes)")
    parser.add_argument("--source", type=Path, metavar="PATH",
                        help=f"{source.TARBALL}, instead of a download by apt")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "upstream",
                        metavar="FOLDER", help="where everything goes (default: build/upstream)")
    parser.add_argument("--json", metavar="PATH", help="write all results to PATH; - is stdout")
    parser.add_argument("--times", action="store_true", help="print the time of every program")
    return parser.parse_args()


def header_folder(wanted: str, tests: Path) -> tuple[Path, str]:
    """The include folder, and a short name for it; raises SourceError if it is not there."""
    folder = tests / "include" if wanted == "2021" else Path(wanted)
    if wanted == "2023":
        folder = ROOT / ".venv" / "include"
    version = folder / "oneapi" / "tbb" / "version.h"
    if not version.is_file():
        raise source.SourceError(f"no oneTBB headers in {folder} (make setup brings 2023's)")
    numbers = dict(re.findall(r"#define TBB_VERSION_(MAJOR|MINOR) (\d+)", version.read_text()))
    own = numbers == {"MAJOR": "2021", "MINOR": "8"}
    return folder, "2021" if own else f"{numbers['MAJOR']}.{numbers['MINOR']}"


def main() -> int:
    options = parse_arguments()
    # As an exception, so that the program under test is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    screen = report.Screen()
    try:
        return run_all(options, screen)
    except (source.SourceError, expectations.ExpectationError, FileNotFoundError) as problem:
        screen.line(f"upstream: {problem}")
        return 2


def run_all(options: argparse.Namespace, screen: report.Screen) -> int:
    build: Path = options.build.resolve()
    library = options.library.absolute()
    if not library.is_file():
        raise FileNotFoundError(f"no library {library}: build it first (make build)")
    if options.beside and not options.beside.is_file():
        raise FileNotFoundError(f"--beside: no library {options.beside}")
    screen.progress("fetching oneTBB's tests")
    tests = source.ensure_source(build, options.source)
    include, label = header_folder(options.headers, tests)
    expected = expectations.load(HERE / "expected.toml", tests / "test")
    chosen = expected.choose(options.set, options.only)

    verdicts = build_all(options, screen, chosen,
                         Builder(build, tests, include, HERE / "shim", library, label), label)
    for verdict in verdicts:
        if verdict.complaints:
            screen.line(f"FAILED {verdict.program.name}\n  {verdict.complaints[0]}")
    times = beside.Times()
    if not options.build_only:
        verdicts = run_built(options, screen, verdicts, library, build, label, times)
    screen.done()

    if options.times:
        print_times(verdicts)
    if options.json:
        context: dict[str, Any] = {"library": str(library), "headers": label}
        if options.beside:
            context |= {"beside": str(options.beside.absolute()),
                        "slow_cases": [asdict(slow) for slow in times.slow()]}
        text = json.dumps(report.as_json(verdicts, context), indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            Path(options.json).write_text(text)
    if options.beside:
        print_slow(options, times.slow())
    return summarize(options, verdicts)


def build_all(options: argparse.Namespace, screen: report.Screen,
              chosen: list[expectations.Program], builder: Builder,
              label: str) -> list[report.Verdict]:
    """Compiles everything; a program that can't apply gets its verdict at once."""
    builder.prepare()
    verdicts = []
    with ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        pending = []
        for program in chosen:
            reason = program.not_applicable or (program.other_headers if label != "2021" else "")
            pending.append((program, reason, None if reason else pool.submit(builder.build,
                                                                             program)))
        for index, (program, reason, future) in enumerate(pending, 1):
            screen.progress(f"[{index}/{len(pending)}] building {program.name}")
            if future is None:
                verdicts.append(report.Verdict(program, not_applicable=reason))
            else:
                verdicts.append(report.judge_build(program, future.result()))
    return verdicts


def run_built(options: argparse.Namespace, screen: report.Screen, built: list[report.Verdict],
              library: Path, build: Path, label: str,
              times: beside.Times) -> list[report.Verdict]:
    """Runs what was built in each mode, one program at a time: the tests want the machine for
    themselves. Programs that were not built, or can't apply, are judged once, without a mode."""
    runnable = [v for v in built if v.build is not None and v.build.binary is not None]
    judged = [v for v in built if v not in runnable]
    for verdict in runnable:
        assert verdict.build is not None and verdict.build.binary is not None
        loaded = loaded_library(verdict.build.binary, library)
        if loaded not in (None, library.resolve()):
            raise FileNotFoundError(f"{verdict.program.name} would load {loaded} instead of "
                                    f"{library}")
    short = options.set == "ci" or library != LIBRARY
    wanted = modes.choose(options.mode or ["plain" if short else "all"], options.topology)
    for mode in wanted:
        in_mode = [verdict.in_mode(mode) for verdict in runnable]
        judged += in_mode
        for index, verdict in enumerate(in_mode, 1):
            screen.progress(f"[{index}/{len(in_mode)}] {mode.name}: running {verdict.program.name}")
            run_one(options, verdict, library, build, label, times)
            if verdict.complaints:
                screen.failure(verdict, again_command(verdict, library))
                if not options.keep_going:
                    return judged
    return judged


def run_one(options: argparse.Namespace, verdict: report.Verdict, library: Path, build: Path,
            label: str, times: beside.Times) -> None:
    """Until it fails, as often as was asked for; each time beside the other library, if there is one."""
    program = verdict.program
    rules = program.active_rules(verdict.mode, label == "2021")
    assert verdict.build is not None and verdict.build.binary is not None
    limit = program.time_limit_seconds * options.time_scale
    for _ in range(options.repeat):
        run, other = (run_program(verdict.build.binary, program, rules, used.absolute(), verdict.mode, build / "run", limit)
                      if used else None for used in (library, options.beside))
        report.judge_run(verdict, run, rules, count_cases=label == "2021")
        if other is not None:
            times.add(program, verdict.mode, run, other)
        if verdict.complaints:
            return


def again_command(verdict: report.Verdict, library: Path) -> str:
    assert verdict.build is not None
    words = [f"LD_LIBRARY_PATH={shlex.quote(str(library.parent))}"]
    words += [f"{name}={shlex.quote(value)}" for name, value in verdict.mode.environment.items()]
    return " ".join([*words, shlex.quote(str(verdict.build.binary))])


def print_times(verdicts: list[report.Verdict]) -> None:
    print(f"{'program':46} {'mode':>10} {'outcome':>14} {'cases':>5} {'build s':>8} {'run s':>8}")
    for verdict in verdicts:
        run, build = verdict.run, verdict.build
        print(f"{verdict.program.name:46} {verdict.mode.name:>10} {verdict.outcome:>14} "
              f"{len(run.cases) if run else 0:5d} {build.seconds if build else 0:8.1f} "
              f"{run.seconds if run else 0:8.2f}")


def print_slow(options: argparse.Namespace, slow: list[beside.Slow]) -> None:
    stream = sys.stderr if options.json == "-" else sys.stdout
    if slow:
        print(beside.HEADING, *(case.line() for case in slow), sep="\n", file=stream)
    print(f"{len(slow)} cases took {beside.RATIO:g} times as long as with {options.beside}, or more, "
          f"by their slowest runs", file=stream)


def summarize(options: argparse.Namespace, verdicts: list[report.Verdict]) -> int:
    failed = sum(v.outcome == "failed" for v in verdicts)
    passed = sum(v.outcome == "passed"
                 and (v.run is not None or options.build_only) for v in verdicts)
    left_out = sum(v.outcome == "not applicable" for v in verdicts)
    stream = sys.stderr if options.json == "-" else sys.stdout
    if left_out:
        print(f"{left_out} cannot apply (reasons in tests/upstream/expected.toml)", file=stream)
    print(f"{passed} passed, {failed} failed", file=stream)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
