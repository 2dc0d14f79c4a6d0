"""The programs' driver: an unknown variant, size or option is refused with the list, and nothing runs; JSON and CSV carry
the same figures; threads don't depend on places; placement, CPUs and contenders are what was asked for. Method: runs one program, small, on a made-up machine of four domains."""

import argparse
import contextlib
import csv
import io
import json
import os
import resource
import signal
import statistics
import subprocess
from pathlib import Path


def run(program: str, *options: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING_", "HWLOC_", "OMP_"))}
    environment |= {"HOMING_TOPOLOGY": "node:4 core:1 pu:1", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run([program, *options], env=environment, capture_output=True, text=True)


def check(condition: bool, what: str, result: subprocess.CompletedProcess) -> None:
    if not condition:
        raise SystemExit(f"failed: {what}\nexit {result.returncode}\n{result.stdout}{result.stderr}")
    print(f"ok: {what}")


def check_refusals(program: str) -> list[str]:
    listed = run(program, "--list")
    variants = listed.stdout.split()
    check(listed.returncode == 0 and {"serial", "tbb", "openmp", "homing"} <= set(variants), "--list names variants", listed)
    for wrong in (("--variant", "tbb,nobody"), ("--size", "huge"), ("--threads", "0"), ("--repeat", "many"), ("--warm-up", "-1"), ("--seed",),
                  ("--seed", "99999999999999999999"), ("--help-me",), ("--json", "--csv")):
        result = run(program, *wrong)
        right = result.returncode == 2 and result.stdout == "" and len(result.stderr.splitlines()) == 1 and wrong[-1].split(",")[-1] in result.stderr
        check(right, f"{' '.join(wrong)} is refused in a line that names it", result)
    check(all(v in run(program, "--variant", "nobody").stderr for v in variants), "an unknown variant: all are named", listed)
    return variants


def check_figures(program: str, variants: list[str]) -> None:
    result = run(program, "--check", "--json", "--threads", "4", "--repeat", "2", "--warm-up", "1")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    check(result.returncode == 0 and [row["variant"] for row in rows] == variants, "every variant runs, in the order of the list", result)
    for row in rows:
        right = (row["result"] == "right" and len(row["ms"]) == 2 and row["domains"] == 4 and row["virtual"]
                 and 0 < row["least_ms"] <= row["median_ms"] <= row["most_ms"] and row["rate"] > 0
                 and abs(row["median_ms"] - statistics.median(row["ms"])) < 0.001 and (row["at_home"] is None or 0 <= row["at_home"] <= 1))
        check(right, f"{row['variant']}: figures", result)
    check(all(row["at_home"] is not None for row in rows), "every variant counts its work", result)
    placed = [row for row in rows if row["variant"] == "homing-placed"]
    if placed:
        check(len(placed[0]["pages"]) == 4 and min(placed[0]["pages"].values()) > 0, "homing-placed has pages in all domains", result)
    result = run(program, "--csv", "--variant", "serial,homing", "--repeat", "1")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    right = [row["variant"] for row in rows] == ["serial", "homing"] and all(row["result"] == "not checked" for row in rows)
    check(right, "CSV has one heading", result)


def check_lost_contenders(program: str) -> None:
    """A contender that can't have its threads, or ends before the program, is an error."""
    options = [program, "--variant", "tbb", "--threads", "2", "--contender"]
    few = subprocess.run([*options, "process:compute:1000", "--repeat", "1"], capture_output=True, text=True,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
    check(few.returncode == 1 and "of 1000:" in few.stderr and "the contender: its process ended at once" in few.stderr, "a contender without its threads", few)
    parent = subprocess.Popen([*options, "process:compute:1", "--repeat", "10000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not children_of(parent.pid) and parent.poll() is None:
        pass
    for child in children_of(parent.pid):
        os.kill(child, signal.SIGKILL)
    result = subprocess.CompletedProcess([], parent.wait(), *parent.communicate())
    check(result.returncode == 1 and "the contender: its process ended" in result.stderr, "a contender that ends before the program", result)


def children_of(parent: int) -> list[int]:
    try:
        with open(f"/proc/{parent}/task/{parent}/children") as listing:
            return [int(word) for word in listing.read().split()]
    except FileNotFoundError:
        return []


def check_endings(program: str) -> None:
    """Output that is lost, and variants that are killed, are told of."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING_", "HWLOC_"))}
    for options in (["--list"], ["--help"], ["--variant", "serial"], ["--variant", "serial", "--json"], ["--variant", "serial,tbb", "--csv"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run([program, *options], env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
        result.stdout = ""
        check(result.returncode == 1 and "can't write to stdout: No space left on device" in result.stderr, f"{' '.join(options)}: a full disk", result)
    parent = subprocess.Popen([program, "--variant", "serial,tbb", "--repeat", "10000"], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    while parent.poll() is None:
        for child in children_of(parent.pid):
            with contextlib.suppress(ProcessLookupError):  # it has just been killed
                os.kill(child, signal.SIGKILL)
    result = subprocess.CompletedProcess([], parent.returncode, *parent.communicate())
    right = result.returncode == 1 and all(f"{variant}: killed by signal 9 (Killed)" in result.stderr for variant in ("serial", "tbb"))
    check(right, "killed variants are told of", result)


def check_places(program: str) -> None:
    """On the real machine, whose CPUs an OpenMP runtime with places takes from the main thread before it begins."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING_", "HWLOC_", "OMP_"))}
    threads = {}
    for variant, places in (("openmp", {}), ("openmp-affinity", {}), ("openmp-affinity", {"OMP_PLACES": "threads", "OMP_PROC_BIND": "close"})):
        result = subprocess.run([program, "--variant", variant, "--repeat", "1", "--json"], env=environment | places, capture_output=True, text=True)
        said = json.loads(result.stdout) if result.returncode == 0 else {}
        threads[f"{variant} {places}"] = (said.get("threads"), said.get("domains"))
    check(len(set(threads.values())) == 1 and (None, None) not in threads.values(), "as many threads and domains with places as without", result)
    result = subprocess.run([program, "--variant", "serial,tbb,openmp-affinity,homing", "--repeat", "1", "--json"], capture_output=True, text=True,
                            env=environment | {"OMP_PLACES": "cores", "OMP_PROC_BIND": "spread"})
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    right = len(rows) == 4 and {(row["threads"], row["domains"]) for row in rows} == set(threads.values())
    check(right, "so have variants that are started by a main thread in its place", result)


def listed(text: str) -> set[int]:
    """The CPUs of a list such as 0-3,8."""
    ends = [part.split("-") for part in text.strip().split(",") if part]
    return {cpu for end in ends for cpu in range(int(end[0]), int(end[-1]) + 1)}


def check_surroundings(program: str) -> None:
    for contender, expected in (("cave:compute:2", "arena, openmp or process"), ("arena:nap:2", "compute, stream or bursts"), ("arena:compute:x", "a number in 0..1024"),
                                ("arena:compute:2@x", "numbers of nodes"), ("arena", "WHERE:WHAT:THREADS"), ("arena:compute:1024", "at most, as --threads says")):
        result = run(program, "--contender", contender)
        check(result.returncode == 2 and expected in result.stderr, f"--contender {contender}: what is wrong with it", result)
    for wrong in (("--contender", "arena:compute"), ("--contender", "arena:compute:2@"), ("--contender", "arena:compute:-1"),
                  ("--placement", "node:x"), ("--cpus", "some"), ("--label", "x" * 64)):
        result = run(program, *wrong)
        check(result.returncode == 2 and result.stdout == "" and wrong[1] in result.stderr, f"{' '.join(wrong)} is refused", result)
    for absent in (("--contender", "process:compute:1@900"), ("--placement", "node:900"), ("--cpus", "node:900")):
        result = run(program, "--variant", "tbb", *absent)
        right = result.returncode == 2 and result.stdout == "" and " ".join(absent) in result.stderr and "0; see --help" in result.stderr
        check(right and len(result.stderr.splitlines()) == 1, f"{' '.join(absent)}: no such node here, but others", result)
    for contender in ("none", "arena:compute:0", "arena:compute:all", "arena:bursts:2", "openmp:stream:2", "process:bursts:2@0"):
        result = run(program, "--variant", "tbb", "--contender", contender, "--json", "--check", "--repeat", "1", "--threads", "2",
                     "--placement", "interleave", "--cpus", "node:0", "--label", "a name")
        said = json.loads(result.stdout) if result.returncode == 0 else {}
        idle = contender in ("none", "arena:compute:0")
        check(said.get("result") == "right" and (said["contended"] == 0) == idle, f"--contender {contender}", result)
    of_node = len(os.sched_getaffinity(0) & listed(Path("/sys/devices/system/node/node0/cpulist").read_text()))
    for contender, threads in (("none", 0), ("openmp:compute:3", 3), ("process:compute:all", 1), ("process:compute:all@0", of_node),
                               ("openmp:compute:all@0,0", of_node), ("arena:compute:all@0", 1)):
        result = run(program, "--variant", "tbb", "--contender", contender, "--json", "--repeat", "1", "--threads", "1")
        said = json.loads(result.stdout) if result.returncode == 0 else {}
        check(said.get("contender_threads") == threads, f"--contender {contender}: {threads} threads", result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    program = parser.parse_args().program
    check_figures(program, check_refusals(program))
    check_endings(program)
    check_places(program)
    check_surroundings(program)
    check_lost_contenders(program)


main()
