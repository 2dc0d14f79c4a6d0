#!/usr/bin/env python3
"""What a process's first loop costs where the kernel describes a large machine: CPU time, system calls and instructions, on stock
oneTBB and on ours.

The machine is made up: a folder of files as Linux has them in /sys/devices/system, which stands there in a mount namespace of
its own (needs root, or user namespaces). The process still runs on this machine's CPUs, so the figures are those of finding out
what there is, and no more. Nothing of it is a measurement of such a machine.

usage: bench/process/many_cpus.py [--cpus 256,1024] [--rounds 15]
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from runner import execute  # noqa: E402

STOCK = execute.Library("stock", ROOT / ".venv/lib")
OURS = execute.Library("ours", ROOT / "build/release/lib/homing")
LIBRARIES = ("stock", "ours")
PROGRAM = ROOT / "build/bench/bin/process"
CPUS_OF_NODE, CPUS_OF_L3, NODES_OF_SOCKET, THREADS_OF_CORE = 32, 8, 4, 2


def ids(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else str(first)


def mask(first: int, count: int, cpus: int) -> str:
    bits = ((1 << count) - 1) << first
    return ",".join(f"{bits >> 32 * word & 0xffffffff:08x}" for word in reversed(range((cpus + 31) // 32)))


def write(folder: Path, files: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")


def write_cpu(folder: Path, cpu: int, cpus: int) -> None:
    def block(size):
        return cpu // size * size, size

    socket = CPUS_OF_NODE * NODES_OF_SOCKET
    topology = {"physical_package_id": cpu // socket, "die_id": 0, "core_id": cpu // THREADS_OF_CORE, "cluster_id": 65535}
    for name, size in (("package_cpus", socket), ("core_siblings", socket), ("die_cpus", socket), ("cluster_cpus", 2),
                       ("core_cpus", THREADS_OF_CORE), ("thread_siblings", THREADS_OF_CORE)):
        topology |= {name: mask(*block(size), cpus), f"{name}_list": ids(*block(size))}
    write(folder / "topology", topology)
    for index, (level, kind, kib, size) in enumerate(((1, "Data", 32, 2), (1, "Instruction", 32, 2), (2, "Unified", 512, 2),
                                                      (3, "Unified", 32768, CPUS_OF_L3))):
        write(folder / "cache" / f"index{index}", {
            "level": level, "type": kind, "size": f"{kib}K", "id": cpu // size, "coherency_line_size": 64, "number_of_sets": 64,
            "ways_of_associativity": 8, "physical_line_partition": 1, "shared_cpu_map": mask(*block(size), cpus),
            "shared_cpu_list": ids(*block(size))})


def write_machine(folder: Path, cpus: int) -> None:
    nodes = cpus // CPUS_OF_NODE
    write(folder / "cpu", {name: ids(0, cpus) for name in ("online", "present", "possible")})
    for cpu in range(cpus):
        write_cpu(folder / "cpu" / f"cpu{cpu}", cpu, cpus)
    write(folder / "node", {name: ids(0, nodes) for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory")})
    for node in range(nodes):
        distances = (10 if to == node else 12 if to // NODES_OF_SOCKET == node // NODES_OF_SOCKET else 32 for to in range(nodes))
        write(folder / "node" / f"node{node}", {
            "cpulist": ids(node * CPUS_OF_NODE, CPUS_OF_NODE), "cpumap": mask(node * CPUS_OF_NODE, CPUS_OF_NODE, cpus),
            "distance": " ".join(map(str, distances)), "meminfo": f"Node {node} MemTotal:       16777216 kB"})


def there(tree: Path, command: list[object]) -> list[str]:
    """The command, where the tree stands for /sys/devices/system."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *user, "sh", "-c", 'mount --bind "$1" /sys/devices/system && shift && exec "$@"', "sh",
            str(tree), *map(str, command)]


def environment(library: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HWLOC_", "HOMING_", "TBB_"))}
    one = STOCK if library == "stock" else execute.with_allocator(OURS, STOCK.folder, ROOT / "build/bench")
    return kept | {"LD_LIBRARY_PATH": execute.environment(one, {})["LD_LIBRARY_PATH"]}


def cpu_ms(tree: Path, library: str, what: str) -> float:
    before = os.times()
    subprocess.run(there(tree, [PROGRAM, "--be", what]), env=environment(library), check=True)
    after = os.times()
    return 1000 * (after.children_user + after.children_system - before.children_user - before.children_system)


def samples(tree: Path, rounds: int) -> dict[tuple[str, str], float]:
    """Milliseconds of CPU time of ten processes in a row, by turns; os.times() counts hundredths of a second."""
    kinds = [(library, what) for library in LIBRARIES for what in ("nothing", "first_loop")]
    found = {kind: [] for kind in kinds}
    for _ in range(rounds):
        random.shuffle(kinds)
        for kind in kinds:
            found[kind].append(sum(cpu_ms(tree, *kind) for _ in range(10)) / 10)
    return {kind: median(values) for kind, values in found.items()}


def count_of(pattern: str, tree: Path, library: str, tool: list[str]) -> str:
    if shutil.which(tool[0]) is None:
        return f"no {tool[0]}"
    done = subprocess.run(there(tree, [*tool, PROGRAM, "--be", "first_loop"]), env=environment(library), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    found = re.findall(pattern, done.stdout, re.MULTILINE)
    return f"{int(found[-1]):,}" if found else "?"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpus", default="256,1024", help="multiples of 128")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print("| CPUs described | library | nothing, CPU | first loop, CPU | system calls | instructions |\n|--:|---|--:|--:|--:|--:|")
    for cpus in map(int, options.cpus.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder)
            write_machine(tree, cpus)
            took = samples(tree, options.rounds)
            for library in LIBRARIES:
                calls = count_of(r"^100\.00\s+\S+\s+\d+\s+(\d+)", tree, library, ["strace", "-f", "-c"])
                instructions = count_of(r"Collected : (\d+)", tree, library,
                                        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"])
                print(f"| {cpus} | {library} | {took[library, 'nothing']:.1f} ms | {took[library, 'first_loop']:.1f} ms | {calls} | "
                      f"{instructions} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
