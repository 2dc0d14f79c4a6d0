"""Property: where real machines' hand-overs of a line and STREAM bandwidths are published, the model's are near. Method: a
flag goes to and fro between two CPUs by compare-and-swap, as the listings have it, and all CPUs read their own memory; one
boot a machine. The time is that of a transfer of the line: by how the emulation has the CPUs take turns, a hand-over takes one to
two of them. How near, and which listing is of the very machine, stands in the table; nothing depends on the host's speed.

usage: published.py HOMING PROBES-FOLDER [MACHINE...]"""

import json
import sys
import tomllib
from pathlib import Path

from lab import check, lab, main, need

PROBES = Path(sys.argv[2]).resolve()
FILES = Path(__file__).resolve().parents[2] / "lab/machines"
ROUNDS, MIB = 2000, 1
# core-to-core-latency's listings, ns a hand-over: EPYC 7601 by jstzwj, the others of nviennot's repository and of its successor
# core-to-core-latency-plus. STREAM copy of a whole system, GB/s: the paper on locality queues, table 1. Last: how far off at most.
HAND_OVERS = {
    "nehalem-ep": [((7, 6), 37.3, 0.30, "2 x X5650, a socket"), ((7, 3), 74, 0.15, "2 x X5650, two sockets")],
    "sandy-bridge": [((7, 6), 33, 0.40, "2 x E5-2690, a socket"), ((7, 3), 112, 0.25, "2 x E5-2690, two sockets")],
    "sapphire-rapids-snc4": [((7, 6), 55, 0.15, "w9-3475X, a socket"), ((7, 5), 55, 0.40, "w9-3475X, a socket")],
    "epyc-7601": [((63, 62), 38, 0.25, "2 x EPYC 7601, an L3"), ((63, 59), 130, 0.15, "a die"),
                  ((63, 47), 210, 0.15, "a package"), ((63, 15), 338, 0.15, "two packages")],
}
STREAMS = {"nehalem-ep": 36.6, "istanbul": 38.6, "nehalem-ex": 33.4}
MACHINES = sys.argv[3:] or sorted({*HAND_OVERS, *STREAMS})


def run(name, folder):
    pairs = " ".join(f"{a} {b}" for (a, b), *_ in HAND_OVERS.get(name, []))
    script = "set -e"
    script += f"; homing-lab-ping_pong {ROUNDS} {pairs}" if pairs else ""
    script += f"; homing-lab-stream_nodes local {MIB}" if name in STREAMS else ""
    files = [f"--file={PROBES}/homing-lab-{probe}:/usr/bin/homing-lab-{probe}" for probe in ("ping_pong", "stream_nodes")]
    scale = [] if name not in STREAMS else ["--cache-scale", 64]
    seen = lab("run", "--machine", name, *scale, "--timeout", 1800, "--results", folder / name, *files,
               "--", "/bin/sh", "-c", script, seconds=2000)
    check(seen.code == 0, f"{name}: the probes run", seen)
    counted = json.loads((folder / name / "counts.json").read_text())
    return {region["label"]: region for region in counted["regions"]}


def near(what, found, published, most, unit):
    off = found / published - 1
    check(abs(off) <= most, f"{what}: {found:.4g} {unit}, published {published:g} ({100 * off:+.0f}%)")


def published(folder):
    for name in MACHINES:
        counted = run(name, folder)
        for (a, b), ns, most, of in HAND_OVERS.get(name, []):
            region = counted[f"ping-pong {a} {b}"]
            transfers = sum(cpu["local_cache"] + cpu["remote_cache"] for cpu in region["cpus"] if cpu["cpu"] in (a, b))
            each = f"{transfers / (2 * ROUNDS):.2f} transfers a hand-over"
            near(f"{name}, CPUs {a} and {b}, {of}, {each}", region["virtual_ns"] / transfers, ns, most, "ns")
        if name in STREAMS:
            machine = tomllib.loads((FILES / f"{name}.toml").read_text())
            cores = sum(node["cpus"] * node.get("repeat", 1) for node in machine["node"])
            share = cores / machine["full"]["cores"]
            region = counted["stream local"]
            gbs = (region["local_dram"] + region["remote_dram"]) * 64 / region["virtual_ns"] / share
            near(f"{name}, all memory", gbs, STREAMS[name], 0.05, "GB/s")


need("qemu-system-x86_64", "busybox")
main([published])
