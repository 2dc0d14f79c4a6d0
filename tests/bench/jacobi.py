"""jacobi: every variant of the paper's figure gives the serial result bit by bit and processes each block once, on this
machine and on made-up ones, pinned and not; homes are counted as the paper has it; bad input gets one clear line. Method:
runs the program on small lattices."""

import argparse
import json
import os
import subprocess

VARIANTS = {"static-serial", "static-interleaved", "static-static", "dynamic-static", "dynamic-static1",
            *(f"{how}-{order}-{touch}" for how in ("tasks", "queues") for order in ("ijk", "kji")
              for touch in ("static", "static1")),
            "tbb", "tbb-affinity", "tbb-queues", "tbb-queues-affinity"}
SMALL = ("--grid", "40x32x20", "--block", "40x4x5", "--sweeps", "3", "--reps", "2")  # 8 x 4 blocks
BLOCKS_PROCESSED = 32 * 3 * 2


def run(program: str, *options: str, topology: str = "") -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING_", "HWLOC_"))}
    if topology:
        environment["HOMING_TOPOLOGY"] = topology
    return subprocess.run([program, *options], env=environment, capture_output=True, text=True)


def check(condition: bool, what: str, result: subprocess.CompletedProcess) -> None:
    if not condition:
        raise SystemExit(f"failed: {what}\nexit {result.returncode}\n{result.stdout}{result.stderr}")
    print(f"ok: {what}")


def check_machine(program: str, topology: str, threads: int, pin: str) -> dict[str, dict]:
    what = f"{topology or 'this machine'}, {threads} threads, pin {pin}"
    result = run(program, *SMALL, "--json", "--threads", str(threads), "--pin", pin, topology=topology)
    check(result.returncode == 0, what, result)
    runs = {one["variant"]: one for one in map(json.loads, result.stdout.splitlines())}
    check(set(runs) == VARIANTS, f"{what}: all variants", result)
    for one in runs.values():
        right = (one["checked"] and one["blocks"] == 32 and one["blocks_processed"] == BLOCKS_PROCESSED
                 and 0 <= one["blocks_at_home"] <= BLOCKS_PROCESSED and one["virtual"] == bool(topology)
                 and len(one["mlups"]) == 2 and min(one["mlups"]) > 0
                 and abs(one["mlups_median"] - sum(one["mlups"]) / 2) < 0.01)
        if not right:
            check(False, f"{what}: {one}", result)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    program = parser.parse_args().program

    check_machine(program, "", 2, "yes")
    check_machine(program, "", 5, "no")
    runs = check_machine(program, "node:4 core:2 pu:1", 8, "yes")
    # Worksharing deals 4 blocks to each thread, always the same; two threads a domain.
    for variant, share in (("static-static", 1.0), ("static-serial", 0.25)):
        result = run(program, "--list")
        check(runs[variant]["share_at_home"] == share, f"{variant}: {share:.0%} at home", result)
    check_machine(program, "node:8 core:1 pu:1", 16, "no")
    one = check_machine(program, "node:1 core:2 pu:1", 3, "yes")
    check(all(v["share_at_home"] == 1 for v in one.values()), "one domain: all at home", run(program, "--list"))

    # Extents that the blocks don't divide, and blocks larger than the lattice.
    for shape in (("--grid", "7x5x3", "--block", "3x2x2"), ("--grid", "1x1x1"), ("--scale", "0.02")):
        result = run(program, *shape, "--sweeps", "2", "--reps", "1", "--threads", "3")
        check(result.returncode == 0 and result.stdout.count("as serial") == len(VARIANTS), " ".join(shape), result)

    for options, said in (
            (("--variant", "jacobi"), '"jacobi"'), (("--variant", ""), '""'), (("--variant", "tbb,"), '""'),
            (("--scale", "0"), "above 0"), (("--scale", "nan"), "above 0"), (("--scale", "1.5"), "--scale 1.5"),
            (("--grid", "4x4"), "KxJxI"), (("--grid", "4x4x4x4"), "KxJxI"), (("--grid", "4x0x4"), "KxJxI"),
            (("--block", "4x4x-1"), "KxJxI"), (("--grid", "1048576x1048576x17"), "sites"),
            (("--threads", "0"), "1..1024"), (("--threads", "two"), "1..1024"), (("--threads",), "a value"),
            (("--sweeps", "1e3"), "--sweeps 1e3"), (("--reps", "99999999999"), "--reps"), (("--pin", "maybe"), "yes or no"),
            (("-x",), '"-x"'), (("extra",), '"extra"')):
        result = run(program, *options)
        check(result.returncode == 2 and not result.stdout and result.stderr.count("\n") == 1 and said in result.stderr,
              " ".join(options), result)
    # 158 TB: more addresses than x86-64 gives a process, so that no setting of overcommit grants it.
    result = run(program, "--grid", "1048576x1048576x16")
    check(result.returncode == 4 and "no memory" in result.stderr, "a lattice that no machine has room for", result)
    result = run(program, "--help")
    check(result.returncode == 0 and all(o in result.stdout for o in ("--variant", "--json", "MLUP/s")), "--help", result)


main()
