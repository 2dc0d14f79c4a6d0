#!/usr/bin/env python3
"""Property: each worker may run on one domain's CPUs by the kernel's own account, addressed tasks and pinned sections run there,
and loops outlive a node's CPUs; where CPUs go and come back, workers follow. Method: tests/lab/guest/workers.cpp, hotplug.cpp and
machine_changes.cpp on four nodes, as a whole, in cpusets and
under a quota, with nodes missing in the middle, and as an ordinary user."""

from guest_programs import cut_off, in_guest
from lab import main, need


def whole_machine(_):
    in_guest("four nodes", "workers --domains 4 --concurrency 16", "workers --domains 4 --threads 8", "hotplug", "hotplug --domain 3")


def cuts(_):
    in_guest("cuts",
             cut_off("1-4", "0-3") + "workers --domains 2 --concurrency 4",
             cut_off("0-3,12-15", "0,3") + "workers --domains 2 --concurrency 8",   # nodes 0 and 3: ids with a gap
             cut_off("0-3,12-15", "0,3") + "placement",
             cut_off("0-15", "0-3", "350000 100000") + "workers --domains 4 --concurrency 4",
             options=("--thp", "never"))


def cpus_of_a_node_off(_):
    off = "for c in 4 5 6 7; do echo 0 > /sys/devices/system/cpu/cpu$c/online; done; "
    in_guest("a node without CPUs", off + "workers --domains 3 --concurrency 12", "placement", options=("--thp", "never"))


def cpus_go_and_come_back(_):
    """Under a running program: one CPU, a node's, two nodes', and all but the first node's. Its times are in docs/results/lab.md."""
    seen = in_guest("CPUs go and come back", "machine_changes")
    print(*(line for line in seen.out.splitlines() if line.startswith("time: ")), sep="\n")


def without_rights(_):
    in_guest("an ordinary user", "workers --domains 4 --concurrency 16", options=("--user", "nobody"))


need("qemu-system-x86_64", "busybox")
main([whole_machine, cuts, cpus_of_a_node_off, cpus_go_and_come_back, without_rights])
