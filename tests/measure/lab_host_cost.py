#!/usr/bin/env python3
"""What the lab's model costs the host: QEMU's CPU time for the same probes on several builds of the lab, one after the other in
turns, so that what else the host does meets all alike. No test, for its figures depend on who else uses the machine.

usage: lab_host_cost.py NAME=TREE[:QUANTUM]... [--runs N] [--only COMMAND,...]
A TREE is a checkout with build/release/lab; its probes are those of this tree. The first NAME is what the others are compared with."""

import argparse
import os
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBES = ROOT / "build/release/lab"
COMMANDS = {
    "starts": "i=0; while [ $i -lt 200 ]; do /bin/busybox true; i=$((i+1)); done",
    "chase": "/opt/homing-lab-chase 0 0 16",
    "core": "/opt/homing-lab-core 0 0 4",
    "stream": "/opt/homing-lab-stream_nodes local 2",
}
LAB = ("run", "--machine", "nehalem-e5520", "--cache-scale", "16", "--timeout", "0")


def children(of):
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == of:
            yield int(entry.parent.name)


def emulator(of):
    """The QEMU below a process, whose guest has answered already."""
    waiting = [of]
    while waiting:
        pid = waiting.pop()
        try:
            if "qemu" in os.readlink(f"/proc/{pid}/exe"):
                return pid
        except OSError:
            pass
        waiting += children(pid)
    raise SystemExit("no QEMU was started")


class Machine:
    """A booted machine whose shell takes commands."""

    def __init__(self, tree, quantum):
        environment = os.environ | {"HOMING_LAB_BUILD": str(tree / "build/release")}
        files = [f"--file={PROBES}/homing-lab-{name}:/opt/homing-lab-{name}" for name in ("chase", "core", "stream_nodes")]
        words = [tree / ".venv/bin/python", tree / "lab", *LAB, *(["--quantum", quantum] if quantum else []), *files, "--", "sh"]
        self.process = subprocess.Popen(list(map(str, words)), env=environment, text=True, bufsize=1, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.run("true")
        self.emulator = emulator(self.process.pid)

    def run(self, command):
        self.process.stdin.write(f"{command} </dev/null >/dev/null 2>&1; echo status $?\n")
        said = self.process.stdout.readline()
        if said != "status 0\n":
            raise SystemExit(f"{command}: {said or 'the machine ended'}")

    def cpu_s(self):
        tasks = Path(f"/proc/{self.emulator}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def cost_s(self, command):
        before = self.cpu_s()
        self.run(command)
        return self.cpu_s() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", metavar="NAME=TREE[:QUANTUM]")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default=",".join(COMMANDS))
    options = parser.parse_args()
    machines = {}
    for word in options.trees:
        name, _, where = word.partition("=")
        tree, _, quantum = where.partition(":")
        machines[name] = Machine(Path(tree).resolve(), quantum)
    costs = {}
    for run in range(options.runs + 1):   # the first is for the host's caches and QEMU's translations
        for command in options.only.split(","):
            for name, machine in machines.items():
                cost = machine.cost_s(COMMANDS[command])
                if run:
                    costs.setdefault((command, name), []).append(cost)
    for command in options.only.split(","):
        first = statistics.median(costs[command, next(iter(machines))])
        for name in machines:
            seen = costs[command, name]
            middle = statistics.median(seen)
            print(f"{command:7} {name:10} {middle:.3f} s ({min(seen):.3f} to {max(seen):.3f}, {len(seen)} runs), "
                  f"{middle / first:.2f} times the first", flush=True)
    for machine in machines.values():
        machine.process.stdin.close()
        machine.process.wait()


if __name__ == "__main__":
    main()
