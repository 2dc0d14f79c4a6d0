"""Symbols: libtbb.so.12 exports exactly the names that oneTBB 2023.2.0 exports (tests/abi/symbols.txt) and one of ours, under
its SONAME, is never unloaded, and carries no search path. Method: nm and readelf."""

import argparse
import subprocess

import tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default=tree.ROOT / "build/release/lib/homing/libtbb.so.12")
    library = parser.parse_args().library

    def output_of(*command: str) -> str:
        return subprocess.run([*command, str(library)], check=True, capture_output=True, text=True).stdout

    rows = [line.split() for line in output_of("nm", "-D", "--defined-only", "-P").splitlines()]
    ours = {row[0] for row in rows}
    theirs = {"homing_tasks_door"} | set(tree.lines(tree.Path("tests/abi/symbols.txt")))
    problems = [f"missing: {name}" for name in sorted(theirs - ours)]
    problems += [f"not oneTBB's: {name}" for name in sorted(ours - theirs)]
    dynamic = output_of("readelf", "--dynamic", "--wide")
    if "soname: [libtbb.so.12]" not in dynamic:
        problems.append("the SONAME is not libtbb.so.12")
    if "NODELETE" not in dynamic:
        problems.append("dlclose could unload it while its threads run: no NODELETE")
    if "RPATH" in dynamic or "RUNPATH" in dynamic:
        problems.append("it carries a search path")
    tree.finish(problems, f"{len(ours)} of {len(theirs)} symbols in {library}")


main()
