#!/usr/bin/env python3
"""Property: on machines that break what programs like to assume (a node without memory, nodes of unequal size, distances that
differ by direction, memory without CPUs, several L3 groups a node) pages and threads are where libhoming says. Method:
tests/lab/guest/placement.cpp and workers.cpp on each."""

from guest_programs import in_guest
from lab import main, need

PROGRAMS = ("placement", "workers")


def each_shape(_):
    for machine in ("memory-less", "unequal", "ring", "epyc-cxl", "two-level", "bulldozer"):
        in_guest(machine, "placement", "placement sandbox", "workers", machine=machine, options=("--thp", "never"),
                 programs=PROGRAMS)


need("qemu-system-x86_64", "busybox")
main([each_shape])
