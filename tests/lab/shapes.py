"""Property: on machines of every shape the plugin counts as far what the guest's kernel says is far: memory without CPUs, CPUs
without memory, nodes of different sizes, one-way links, eight nodes, one node. Method: every CPU streams through
memory of its own, placed in four ways; the machine file says which share is near, the kernel's numa_maps must agree, and
so must what the plugin counted.

usage: shapes.py HOMING PROBES-FOLDER"""

import json
import sys
from pathlib import Path

from lab import check, lab, main, need

PROBE = Path(sys.argv[2]).resolve() / "homing-lab-stream_nodes"
# By how much the caches are divided, so that 1 MiB a CPU is several times the last level's share of it.
MACHINES = {"epyc-cxl": 64, "one-node": 16, "sapphire-rapids-snc4": 64, "memory-less": 16, "ring": 16, "unequal": 16}
PATTERNS = ("local", "next", "interleaved", "last")
MIB = 1


def near_share(shape, pattern, node):
    """Which share of the lines that a CPU of this node uses is its node's."""
    memory = [m["node"] for m in shape["memory"]]
    own = memory.index(node) if node in memory else 0
    used = {"local": [memory[own]], "next": [memory[(own + 1) % len(memory)]], "interleaved": memory, "last": [memory[-1]]}[pattern]
    return used.count(node) / len(used)


def every_shape(folder):
    for machine, scale in MACHINES.items():
        shape = json.loads(lab("export", machine, "--json").out)
        runs = "; ".join(f"homing-lab-stream_nodes {pattern} {MIB}" for pattern in PATTERNS)
        seen = lab("run", "--machine", machine, "--cache-scale", scale, "--timeout", 300, "--results", folder / machine,
                   "--file", f"{PROBE}:/usr/bin/{PROBE.name}", "--", "/bin/sh", "-c", f"set -e; {runs}")
        check(seen.code == 0, f"{machine}: the probes run", seen)
        kernel = {line["region"]: line for line in map(json.loads, seen.out.splitlines())}
        counted = {r["label"]: r for r in json.loads((folder / machine / "counts.json").read_text())["regions"]}
        for pattern in PATTERNS:
            said, region = kernel[f"stream {pattern}"], counted[f"stream {pattern}"]
            near = [near_share(shape, pattern, node) for node in shape["cpu_node"]]
            by_kernel = said["near_lines"] / said["lines"]
            check(abs(by_kernel - sum(near) / len(near)) < 0.001, f"{machine}, {pattern}: the kernel's pages, near {by_kernel:.4f}")
            of_dram = region["local_dram"] + region["remote_dram"]
            caches = region["local_cache"] + region["remote_cache"]
            # By CPU, for some are faster than others and read more.
            wrong = max(abs(cpu["local_dram"] / (cpu["local_dram"] + cpu["remote_dram"]) - near[cpu["cpu"]])
                        for cpu in region["cpus"])
            check(wrong < 0.01, f"{machine}, {pattern}: near {region['local_dram'] / of_dram:.4f} of DRAM's lines; {wrong:.5f} is "
                  "the most by which a CPU differs from the kernel's pages")
            check(caches < 0.01 * of_dram, f"{machine}, {pattern}: caches serve {caches} lines, DRAM {of_dram}")
            check(region["unplaced"] < 0.001 * of_dram, f"{machine}, {pattern}: {region['unplaced']} lines of no node")


need("qemu-system-x86_64", "busybox")
main([every_shape])
