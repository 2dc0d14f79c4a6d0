#!/usr/bin/env python3
"""Property: pages and memory go where they are told on a computer with several memory nodes. Method: the unit tests that one with
one node leaves out, in a guest with four; none is left out there.

usage: many_nodes.py HOMING PROGRAM..."""

import sys
from pathlib import Path

from lab import check, lab, main, need

PROGRAMS = [Path(word).resolve() for word in sys.argv[2:]]


def each_program(_):
    for program in PROGRAMS:
        seen = lab("run", "--machine", "westmere", "--no-count", "--thp", "madvise", "--timeout", 540, "--", program, seconds=600)
        check(seen.code == 0 and "[  PASSED  ]" in seen.out and "SKIPPED" not in seen.out, f"{program.name}: all hold", seen)


need("qemu-system-x86_64", "busybox")
main([each_program])
