"""Runs real programs, which nobody here wrote or rebuilt, on stock oneTBB and on Homing, and compares them.

`make demo` sets up, builds and starts this; demo/README.md says what is run and what is compared.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import lab
import programs
import show
from compare import compare
from libraries import our_library, stock_library
from programs.base import Failure

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"


def _arguments() -> argparse.Namespace:
    names = [*(program.name for program in programs.ALL), lab.NAME]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME,...", help=f"run only these of: {', '.join(names)}")
    parser.add_argument("--pairs", type=int, default=5, help="interleaved pairs of timed runs (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--stock", type=Path, default=Path(sys.prefix) / "lib", help="folder of the stock libtbb.so.12")
    parser.add_argument("--ours", type=Path, default=BUILD / "lib" / "homing", help="folder of Homing's libtbb.so.12")
    parser.add_argument("--homing", type=Path, default=BUILD / "bin" / "homing", help="the homing command")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error("--pairs: at least 1 is needed")
    unknown = set() if arguments.only is None else set(arguments.only.split(",")) - set(names)
    if unknown:
        parser.error(f"--only: no program is called {', '.join(repr(name) for name in sorted(unknown))}; there are {', '.join(names)}")
    for folder in (arguments.stock, arguments.ours):
        if not (folder / "libtbb.so.12").exists():
            parser.error(f"there is no libtbb.so.12 in {folder}")
    return arguments


def _say(text: str) -> None:
    """Progress, on stderr so that stdout stays the result: overwritten on a terminal, left out elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _show_topology(homing: Path) -> None:
    print("This machine, as Homing sees it:\n", flush=True)
    status = subprocess.run([str(homing), "topology"]).returncode
    if status != 0:
        sys.exit(f"{homing} topology ended with status {status}")
    print(flush=True)


def main() -> int:
    arguments = _arguments()
    if not arguments.json:
        _show_topology(arguments.homing)
    scratch = ROOT / "build" / "demo"
    scratch.mkdir(parents=True, exist_ok=True)
    stock = stock_library(arguments.stock.absolute())
    ours = our_library(arguments.ours.absolute(), arguments.stock.absolute(), scratch)
    wanted = arguments.only.split(",") if arguments.only else [*(program.name for program in programs.ALL), lab.NAME]
    threads = max(2, len(os.sched_getaffinity(0)))

    verdicts = []
    for program in programs.ALL:
        if program.name not in wanted:
            continue
        start = time.monotonic()
        inputs = scratch / program.name / "inputs"
        inputs.mkdir(parents=True, exist_ok=True)
        _say(f"{program.title}: making its input")
        try:
            program.prepare(inputs)
        except (Failure, OSError) as problem:
            _say("")
            sys.exit(f"{program.title} could not be prepared: {problem}")
        verdict = compare(program, stock, ours, inputs, scratch / program.name, threads=threads, pairs=arguments.pairs,
                          say=lambda text, title=program.title: _say(f"{title}: {text}"))
        verdicts.append(verdict)
        _say("")
        result = "ok" if not verdict.problems else "FAILED"
        print(f"{program.title}: {result}, {verdict.runs} runs compared in {time.monotonic() - start:.0f} s",
              file=sys.stderr, flush=True)

    if verdicts and not arguments.json:
        show.show_tables(verdicts)
        sys.stdout.flush()
    in_lab = None
    if lab.NAME in wanted:
        _say("a virtual machine of four NUMA nodes: about two minutes")
        in_lab = lab.run(arguments.homing.absolute(), BUILD, arguments.stock.absolute(), scratch)
        _say("")
    if arguments.json:
        print(show.as_json(verdicts, in_lab))
    elif in_lab:
        lab.show(in_lab)
    return 1 if any(verdict.problems for verdict in verdicts) or (in_lab and in_lab.problems) else 0


if __name__ == "__main__":
    sys.exit(main())
