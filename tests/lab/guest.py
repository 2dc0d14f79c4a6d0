#!/usr/bin/env python3
"""Property: the guest's kernel is a NUMA machine of the shape that the file says, and its root may do what tests of NUMA
code do: take CPUs away, cut cpusets and quotas, switch balancing and huge pages. Method: each machine is booted once."""

import json
import os
from pathlib import Path

from lab import COMMAND, ROOT, boot, check, lab, main, need

SHAPE = r"""
cd /sys/devices/system/node
for n in node*; do
  kb=$(sed -n 's/.*MemTotal: *\([0-9]*\) kB/\1/p' $n/meminfo)
  echo "$n|$(cat $n/cpulist)|$kb|$(cat $n/distance)"
done
"""


def cpu_list(text):
    result = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first:
            result += range(int(first), int(last or first) + 1)
    return result


def every_machine_boots_as_it_is_written(_):
    for file in sorted((ROOT / "lab/machines").glob("*.toml")):
        machine = json.loads(lab("show", file.stem, "--json").out)
        seen = boot("--", "sh", "-c", SHAPE, machine=file.stem)
        rows = {int(f[0][4:]): f[1:] for f in (line.split("|") for line in seen.out.splitlines())}
        nodes = range(len(machine["slit"]))
        check(seen.code == 0 and sorted(rows) == list(nodes), f"{file.stem}: its nodes", seen)
        check(all(cpu_list(rows[n][0]) == [c for c, at in enumerate(machine["cpu_node"]) if at == n] for n in nodes), "CPUs", seen)
        check(all([int(d) for d in rows[n][2].split()] == machine["slit"][n] for n in nodes), "distances", seen)
        memory = {m["node"]: m["size_mib"] << 10 for m in machine["memory"]}
        check(all(0.8 * memory.get(n, 0) <= int(rows[n][1] or 0) <= memory.get(n, 0) for n in nodes),
              "memory, but for what the kernel itself takes", seen)


def homing_sees_what_the_file_says(_):
    for name in ("epyc-cxl", "unequal"):
        machine = json.loads(lab("show", name, "--json").out)
        seen = boot("--", COMMAND, "topology", "--json", machine=name)
        shown = json.loads(seen.out)
        check(not shown["virtual"], "for libhoming the guest is a real machine", seen)
        with_cpus = sorted(set(machine["cpu_node"]))
        check([d["node"] for d in shown["domains"]] == with_cpus, f"{name}: domains", shown)
        check(shown["distances"] == [[machine["slit"][a][b] for b in with_cpus] for a in with_cpus], "distances", shown)
    seen = boot("--", COMMAND, "topology", "--json", "--domain", "l3", machine="epyc-cxl")
    check(len(json.loads(seen.out)["domains"]) == 8, "its L3 groups", seen)


def root_may_take_away(_):
    seen = boot("--", "sh", "-ec", "cd /sys/devices/system/cpu; for c in 4 5 6; do echo 0 > cpu$c/online; done; cat online; "
                "cat ../node/node1/cpulist; echo 1 > cpu5/online; cat online", machine="westmere")
    check(seen.code == 0 and seen.out.split() == ["0-3,7-15", "7", "0-3,5,7-15"], "CPUs go off and on", seen)
    seen = boot("--", "sh", "-ec", "cd /sys/fs/cgroup; mkdir part; echo 1-2 > part/cpuset.cpus; echo 0 > part/cpuset.mems; "
                "echo '50000 100000' > part/cpu.max; echo $$ > part/cgroup.procs; "
                "grep -E 'Cpus_allowed_list|Mems_allowed_list' /proc/self/status | cut -f2; cat part/cpu.max", machine="westmere")
    check(seen.code == 0 and seen.out.split("\n")[:3] == ["1-2", "0", "50000 100000"], "cpusets and quotas", seen)
    seen = boot("--file", COMMAND, "--", "sh", "-ec", "cd /sys/fs/cgroup; mkdir part; echo 1-4 > part/cpuset.cpus; "
                f"echo '150000 100000' > part/cpu.max; echo $$ > part/cgroup.procs; exec {COMMAND} topology --json", machine="westmere")
    shown = json.loads(seen.out)
    check([d["cpus"] for d in shown["domains"]] == [[1, 2, 3], [4]] and shown["threads"] == 2, "as libhoming sees them", seen)


def switches(_):
    for balancing, thp in (("on", "always"), ("off", "never"), ("off", "madvise")):
        seen = boot("--numa-balancing", balancing, "--thp", thp, "--", "cat", "/proc/sys/kernel/numa_balancing",
                    "/sys/kernel/mm/transparent_hugepage/enabled", machine="ring")
        check(seen.out.splitlines()[0] == ("1" if balancing == "on" else "0") and f"[{thp}]" in seen.out, f"{balancing}, {thp}", seen)
    seen = boot("--kernel-args", "homing_test=1", "--memory", "256", "--", "sh", "-c", "cat /proc/cmdline; free -m", machine="ring")
    check("homing_test=1" in seen.out, "--kernel-args", seen)


need("qemu-system-x86_64", "busybox")
check(Path(COMMAND).exists() and os.access(COMMAND, os.X_OK), "the command is built")
main([every_machine_boots_as_it_is_written, homing_sees_what_the_file_says, root_may_take_away, switches])
