#!/usr/bin/env python3
"""Property: where each domain has its threads, the iterations, steps, rows and tasks of the examples run at home: 99%, or 95% where load
is uneven.
Figures 11 and 13 do not count their first steps: threads are still being made then, and on a busy host they come late.
Method: the examples on a machine of two nodes, by its virtual clock, so that no other load of the host takes CPUs away; three runs
of each. Usage: examples.py PATH-OF-HOMING FOLDER-OF-EXAMPLES"""

import re
import sys
from pathlib import Path

from lab import check, lab, main, need

FOLDER = Path(sys.argv[2]).resolve()
LEAST_AT_HOME = {
    "figure8_addressed_loop": 0.99,
    "figure10_pipeline_stages": 0.95,  # its stages have homes, its load is uneven: threads without an item help the other domain
    "figure11_conjugate_gradient": 0.99,
    "figure12_image_search": 0.99,
    "figure13_fluid_frames": 0.99,
}
RUNS = 3


def at_home(_):
    runs = " ".join(f"/usr/bin/{name}" for name in LEAST_AT_HOME) + " "
    script = f"for e in {runs * RUNS}; do echo \"== $e\"; $e || exit 1; done"
    seen = lab("run", "--machine", "nehalem-ep", "--virtual-clock", "--timeout", 900, "--plain-words",
               *(f"--file={FOLDER / name}:/usr/bin/{name}" for name in LEAST_AT_HOME), "--", "/bin/sh", "-c", script, seconds=1000)
    check(seen.code == 0, "the examples find their results right", seen)
    for name, least in LEAST_AT_HOME.items():
        counted = re.findall(rf"^== /usr/bin/{name}\n(?:(?!== ).*\n)*?.*?(\d+) of (\d+) \w+ ran at home", seen.out, re.MULTILINE)
        shares = [int(here) / int(all_) for here, all_ in counted]
        check(len(shares) == RUNS and min(shares) >= least,
              f"{name}: " + ", ".join(f"{share:.1%}" for share in shares) + " at home", seen)


need("qemu-system-x86_64", "busybox")
main([at_home])
