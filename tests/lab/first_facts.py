#!/usr/bin/env python3
"""Property: on the lab's machines, too, few files of sysfs tell the domains that hwloc tells, and where a machine is not plain they
tell nothing. Method: the unit test of the two readers, in guests whose kernels describe real nodes, sockets and caches.

usage: first_facts.py HOMING PROGRAM-OF-THE-UNIT-TEST"""

import sys
from pathlib import Path

from lab import check, lab, main, need

PROGRAM = Path(sys.argv[2]).resolve()
PLAIN = ("westmere", "epyc-7601", "sapphire-rapids-snc4", "unequal", "ring")
# two-level: of a socket whose dies have one core each, Linux 6.1 lists every CPU as a socket of its own, and numbers two of them.
ODD = ("memory-less", "epyc-cxl", "two-level")


def each_machine(_):
    for machine in PLAIN + ODD:
        seen = lab("run", "--machine", machine, "--no-count", "--timeout", 540, "--", PROGRAM, "--gtest_filter=this_computer.*",
                   seconds=600)
        check(seen.code == 0 and "[  PASSED  ]" in seen.out, f"{machine}: both readers agree", seen)
        skipped = "SKIPPED" in seen.out
        check(skipped == (machine in ODD), f"{machine}: {'hwloc reads it at once' if skipped else 'few files will do'}", seen)


need("qemu-system-x86_64", "busybox")
main([each_machine])
