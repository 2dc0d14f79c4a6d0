"""Trust: probes with known answers give them, in every one of five runs. Method: one boot of a
virtual machine a run, which runs all probes; what the plugin counted in each probe's region against
the machine's own figures and against what the guest's kernel says (numa_maps). Nothing here depends
on how fast the host is.

usage: trust.py HOMING-LAB PROBES-FOLDER [--runs N]
  HOMING-LAB: a `homing lab` program; PROBES-FOLDER: where the probes were built"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# 1.5 MiB of L3 a node: the probes' 4 MiB a CPU are several times that.
MACHINE, CACHE_SCALE = "westmere", 16
SHARES = ("local_cache", "remote_cache", "local_dram", "remote_dram")
TURNS = 8000   # so many that the threads' own coming and going does not show


class Trust:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.seen: dict[str, list[float]] = {}

    def check(self, what: str, value: float, low: float, high: float) -> None:
        self.seen.setdefault(what, []).append(value)
        if not low <= value <= high:
            self.problems.append(
                f"{what}: expected {low:.6g} to {high:.6g}, found {value:.6g}")

    def near(self, what: str, value: float, expected: float, tolerance: float) -> None:
        self.check(what, value, expected * (1 - tolerance), expected * (1 + tolerance))

    def table(self) -> None:
        print(f"{'figure':44} {'least':>12} {'most':>12} {'spread':>8}")
        for what, values in self.seen.items():
            low, high = min(values), max(values)
            middle = sorted(values)[len(values) // 2]
            spread = f"{100 * (high - low) / middle:7.2f}%" if middle else "       -"
            print(f"{what:44} {low:12.5g} {high:12.5g} {spread}")


def lines(region: dict[str, Any]) -> int:
    return sum(region[name] for name in SHARES)


def share(region: dict[str, Any], *names: str) -> float:
    return sum(region[name] for name in names) / max(1, lines(region))


def on_cpus(region: dict[str, Any], cpus: list[int]) -> dict[str, int]:
    of = [cpu for cpu in region["cpus"] if cpu["cpu"] in cpus]
    return {name: sum(cpu[name] for cpu in of) for name in SHARES}


def gbs(region: dict[str, Any]) -> float:
    """Bytes from memory in a nanosecond of virtual time: GB/s."""
    return (region["local_dram"] + region["remote_dram"]) * 64 / region["virtual_ns"]


def stream_bound(machine: dict[str, Any], pattern: str) -> float:
    """What all CPUs together can have, by the machine's controllers and links."""
    memory = {m["node"]: m["bandwidth_gbs"] for m in machine["memory"]}
    nodes = sorted(memory)
    if pattern == "local":
        return sum(memory.values())
    if pattern == "one":
        return memory[nodes[0]]
    ways = [(node, nodes[(i + 1) % len(nodes)]) for i, node in enumerate(nodes)]
    pair = machine["pair_gbs"]
    total = 0.0
    for of, to in ways:
        links = machine["routes"][of][to]
        bounds = [memory[to], *(machine["links"][link]["gbs"] for link in links)]
        if pair and pair[of][to]:
            bounds.append(pair[of][to])
        total += min(bounds)
    return total


def run_once(lab: str, probes: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the probes said and what the plugin counted, both by region."""
    patterns = ("local", "next", "one", "interleaved", "write")
    words = [f"homing-lab-stream_nodes {pattern} 4" for pattern in patterns]
    words += ["homing-lab-placement 4"]
    words += ["homing-lab-chase 0 0 16", "homing-lab-chase 0 1 16", "homing-lab-chase 2 0 16",
              f"homing-lab-shared_line 0 1 {TURNS}", f"homing-lab-shared_line 2 2 {TURNS}"]
    names = sorted({word.split()[0] for word in words})
    files = [f"--file={probes / name}:/usr/bin/{name}" for name in names]
    with tempfile.TemporaryDirectory(prefix="homing-lab-trust-") as folder:
        command = [lab, "run", "--machine", MACHINE, "--cache-scale", str(CACHE_SCALE),
                   "--timeout", "300", "--results", folder, *files,
                   "--", "/bin/sh", "-c", "set -e; " + "; ".join(words)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=400)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(command[:5])} ...: exit status {ended.returncode}\n"
                     f"{ended.stderr[-3000:]}\n"
                     "If QEMU or a Python package is missing: scripts/setup lab")
        counted = json.loads((Path(folder) / "counts.json").read_text())
    said = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    if not counted["calibrated"]:
        sys.exit(f"not calibrated: {counted['calibration']['error']}")
    return {s["region"]: s for s in said}, {r["label"]: r for r in counted["regions"]}


def examine_placement(trust: Trust, said: dict[str, Any], counted: dict[str, Any]) -> None:
    """First touch, move_pages and thread binding: kernel and plugin agree on each."""
    nodes = {"first touch": 1.0, "touched by one": 0.25, "moved": 0.0}  # the near share, of four
    for name, near in nodes.items():
        kernel, region = said[name], counted[name]
        trust.check(f"{name}: near share by kernel", kernel["near_lines"] / kernel["lines"],
                    near, near)
        bound = {cpu["cpu"]: cpu["near"] for cpu in kernel["cpus"]}
        on_bound = [cpu for cpu in region["cpus"] if cpu["cpu"] in bound]
        # CPUs that are faster read more: each counts with what it read.
        expected = sum(lines(cpu) * bound[cpu["cpu"]] for cpu in on_bound) / lines(region)
        trust.check(f"{name}: near share by kernel less by plugin",
                    expected - share(region, "local_dram"), -0.01, 0.01)
        trust.check(f"{name}: threads on their CPUs by kernel", kernel["bound"],
                    len(kernel["cpus"]), len(kernel["cpus"]))
        trust.check(f"{name}: share of other CPUs by plugin",
                    1 - sum(lines(cpu) for cpu in on_bound) / lines(region), 0, 0.01)
        least = min(lines(cpu) for cpu in on_bound)
        trust.check(f"{name}: the least of a bound CPU by an even share",
                    least * len(bound) / lines(region), 0.3, 1)
    moved = said["moved"]
    trust.check("moved: pages by move_pages less by numa_maps",
                moved["moved_pages"] - moved["lines"] * 64 / 4096, 0, 0)


def examine(trust: Trust, machine: dict[str, Any], said: dict[str, Any],
            counted: dict[str, Any]) -> None:
    for pattern, low, high in (("local", 0, 0.01), ("write", 0, 0.01), ("next", 0.99, 1),
                               ("interleaved", 0.74, 0.76)):
        region, kernel = counted[f"stream {pattern}"], said[f"stream {pattern}"]
        trust.check(f"stream {pattern}: remote share",
                    share(region, "remote_dram", "remote_cache"), low, high)
        # What numa_maps says of the pages, and what the plugin counted of their lines.
        near = kernel["near_lines"] / kernel["lines"]
        trust.check(f"stream {pattern}: near share by kernel less by plugin",
                    near - share(region, "local_dram"), -0.01, 0.01)
    for pattern in ("local", "next", "one"):
        trust.near(f"stream {pattern}: GB/s", gbs(counted[f"stream {pattern}"]),
                   stream_bound(machine, pattern), 0.05)
    # Each line that is written is read first and written back: the controllers carry both.
    written = counted["stream write"]
    carried = (written["local_dram"] + written["remote_dram"] + written["write_backs"]) * 64
    trust.near("stream write: GB/s", carried / written["virtual_ns"],
               stream_bound(machine, "local"), 0.05)
    examine_placement(trust, said, counted)
    for cpu_node, memory_node in ((0, 0), (0, 1), (2, 0)):
        name = f"chase {cpu_node} {memory_node}"
        region = counted[name]
        trust.near(f"{name}: ns a load", region["virtual_ns"] / said[name]["loads"],
                   machine["dram_ns"][cpu_node][memory_node], 0.02)
        kind = "local_dram" if cpu_node == memory_node else "remote_dram"
        trust.check(f"{name}: share of {kind}", share(region, kind), 0.98, 1)
    # On the CPUs that take turns: others do meanwhile what a system does besides.
    for name, kind, what in (("turns 0 1", "remote_cache", "remote caches"),
                             ("turns 2 2", "local_cache", "local caches")):
        both = on_cpus(counted[name], said[name]["cpus"])
        trust.check(f"{name}: lines of {what}", both[kind], 0.9 * TURNS, 1.5 * TURNS)
        trust.check(f"{name}: share of {what}", share(both, kind), 0.9, 1)
    for label, region in counted.items():
        trust.check(f"{label}: lines of no node", region["unplaced"], 0, 0.001 * region["loads"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab")
    parser.add_argument("probes", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if not Path(arguments.lab).exists():
        sys.exit(f"{arguments.lab}: expected the program of `homing lab`")
    shape = subprocess.run([arguments.lab, "export", MACHINE, "--json"], capture_output=True,
                           text=True)
    if shape.returncode != 0:
        sys.exit(f"{arguments.lab} export {MACHINE}: {shape.stderr}\n"
                 "If something is missing: scripts/setup lab")
    machine = json.loads(shape.stdout)
    trust = Trust()
    for _ in range(arguments.runs):
        examine(trust, machine, *run_once(arguments.lab, arguments.probes))
    print(f"{arguments.runs} runs on {MACHINE}, caches divided by {CACHE_SCALE}; "
          "modelled, not measured")
    trust.table()
    for problem in trust.problems:
        print(problem)
    sys.exit(1 if trust.problems else 0)


main()
