"""Every benchmark program on the common harness ends as it went: output that can't be written ends it with 1, a case that it has not
and threads out of bounds with 2, in a line that names them. Method: runs each program that bench/run.py has built, or none."""

import argparse
import os
import re
import subprocess
from pathlib import Path


def sources_of(source: Path) -> set[Path]:
    """A file of bench/ and those of bench/ that it includes, by quoted names."""
    found, ahead = set(), [source]
    while ahead:
        path = ahead.pop()
        if path.exists() and path not in found:
            found.add(path)
            ahead += [(path.parent / name).resolve() for name in re.findall(r'^#include "(.+)"', path.read_text(), re.M)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=Path, help="folder of the built programs")
    parser.add_argument("library", help="folder of libtbb.so.12")
    options = parser.parse_args()
    sources = Path(__file__).resolve().parents[2] / "bench"
    binaries = [options.programs / path.parent.name for path in sorted(sources.glob("*/tbb.cpp"))]
    binaries = [path for path in binaries if path.exists()]
    if not binaries:
        print(f"skipped: no programs in {options.programs}; make bench builds them")
        return 77
    old = [path.name for path in binaries
           if any(source.stat().st_mtime > path.stat().st_mtime for source in sources_of(sources / path.name / "tbb.cpp"))]
    if old:
        print(f"left out: older than their sources: {', '.join(old)}; make bench builds them")
    binaries = [path for path in binaries if path.name not in old]
    if not binaries:
        return 77
    environment = os.environ | {"LD_LIBRARY_PATH": options.library}
    wrong = []
    for binary in binaries:
        def run(*words: str, out=subprocess.DEVNULL, program=binary) -> tuple[int, str]:
            done = subprocess.run([program, *words], env=environment, stdout=out, stderr=subprocess.PIPE, text=True)
            return done.returncode, done.stderr
        with open("/dev/full", "w") as full:
            status, said = run("--list", out=full)
        if status != 1 or "can't write to stdout" not in said:
            wrong.append(f"{binary.name} --list on a full disk: status {status}, {said!r}")
        status, said = run("--cases", f"{binary.name}/nobody=1")
        if status != 2 or f"{binary.name}/nobody: expected cases that --list names" not in said:
            wrong.append(f"{binary.name} without such a case: status {status}, {said!r}")
        status, said = run("--threads", "1025", "--list")
        if status != 2 or "expected a number in 1..1024" not in said:
            wrong.append(f"{binary.name} --threads 1025: status {status}, {said!r}")
        print(f"{binary.name}: asked")
    print("\n".join(wrong))
    return 1 if wrong else 0


raise SystemExit(main())
