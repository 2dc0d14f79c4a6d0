#!/usr/bin/env python3
"""Compares `homing bandwidth` with a plain STREAM: interleaved runs of both, medians, and their ratio. A tool, not a
test: its figures depend on who else uses the machine, so it reports and never judges.

usage: tests/measure/compare_stream.py [--build build/release] [--rounds N] [--runs N] [--node ID] [--seed N]
On a machine with several nodes, the plain STREAM is bound to one with numactl, and compared with that node's pair."""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
from pathlib import Path

KERNELS = ("copy", "scale", "add", "triad")
RESAMPLES = 10_000


def output_of(words, env=None):
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ | (env or {})).stdout)


def plain(arguments, nodes):
    words = [arguments.build / "tests/measure/plain_stream", str(arguments.runs)]
    if nodes > 1:
        if not shutil.which("numactl"):
            raise SystemExit("compare_stream: several nodes, and no numactl to bind the plain STREAM to one")
        words = ["numactl", f"--cpunodebind={arguments.node}", f"--membind={arguments.node}", *words]
    # Bound, and asleep between kernels, as our threads are: on a machine that others use, spinning costs turns.
    return output_of(words, {"OMP_PROC_BIND": "true", "OMP_WAIT_POLICY": "passive"})


def ours(arguments, array_bytes):
    return output_of([arguments.build / "bin/homing", "bandwidth", "--json", "--nodes", str(arguments.node), "--size",
                      str(array_bytes), "--repeat", str(arguments.runs)])


def interval(one, other, chance):
    """The middle 95% of the ratio of medians, by resampling whole rounds of each."""
    ratios = sorted(statistics.median(chance.choices(one, k=len(one))) / statistics.median(chance.choices(other, k=len(other)))
                    for _ in range(RESAMPLES))
    return ratios[RESAMPLES * 25 // 1000], ratios[RESAMPLES * 975 // 1000]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="where both programs were built")
    parser.add_argument("--rounds", type=int, default=15, help="processes of each, interleaved")
    parser.add_argument("--runs", type=int, default=10, help="runs that count, in each process")
    parser.add_argument("--node", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1, help="of the order, and of the intervals")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    machine = output_of([arguments.build / "bin/homing", "bandwidth", "--json", "--size", "64K", "--repeat", "1"])
    array_bytes = output_of([arguments.build / "tests/measure/plain_stream", "1"])["array_bytes"]
    medians = {"plain": {k: [] for k in KERNELS}, "ours": {k: [] for k in KERNELS}}
    best = {"plain": dict.fromkeys(KERNELS, 0.0), "ours": dict.fromkeys(KERNELS, 0.0)}
    load_before = os.getloadavg()[0]
    for _ in range(arguments.rounds):
        for who in chance.sample(("plain", "ours"), 2):
            if who == "plain":
                seen = plain(arguments, machine["machine"]["nodes"])
                rates = {k: seen[k] for k in KERNELS}
            else:
                seen = ours(arguments, array_bytes)["measurements"][0]
                rates = {k: seen["mb_per_s"][k]["samples"] for k in KERNELS}
            for k in KERNELS:
                medians[who][k].append(statistics.median(rates[k]))
                best[who][k] = max(best[who][k], *rates[k])
    card = machine["machine"]
    print(f"machine: {card['processor']}, {card['cpus']} CPUs, {card['nodes']} node(s), {card['kernel']}, {card['date'][:10]}")
    print(f"arrays of {array_bytes / 2**20:.0f} MiB; {arguments.rounds} processes of each, interleaved by seed "
          f"{arguments.seed}; {arguments.runs} runs in each; median of the processes' medians (lowest..highest process), and")
    print(f"the best run of all, which is what STREAM itself reports; load average {load_before:.1f} before, "
          f"{os.getloadavg()[0]:.1f} after, these runs included\n")
    print("| kernel | plain STREAM, MB/s | homing bandwidth, MB/s | ratio | 95% of resamples | best: plain | homing | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for k in KERNELS:
        theirs, mine = medians["plain"][k], medians["ours"][k]
        low, high = interval(mine, theirs, chance)
        print(f"| {k} | {statistics.median(theirs):.0f} ({min(theirs):.0f}..{max(theirs):.0f}) "
              f"| {statistics.median(mine):.0f} ({min(mine):.0f}..{max(mine):.0f}) "
              f"| {statistics.median(mine) / statistics.median(theirs):.3f} | {low:.3f}..{high:.3f} "
              f"| {best['plain'][k]:.0f} | {best['ours'][k]:.0f} | {best['ours'][k] / best['plain'][k]:.3f} |")


main()
