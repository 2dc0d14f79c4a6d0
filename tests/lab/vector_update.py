#!/usr/bin/env python3
"""Property: of a vector update whose pages and iterations a distribution has placed, less than 5% of the cache lines come from
another node's memory, where stock oneTBB has more than 60% at its best. Method: bench/vector_update/table.py --check, one
run. Usage: vector_update.py PATH-OF-HOMING BUILD-FOLDER FOLDER-OF-STOCK-LIBTBB"""

import json
import subprocess
import sys

from lab import ROOT, check, main, need

BUILD, STOCK = sys.argv[2:4]


def table(_):
    done = subprocess.run([sys.executable, str(ROOT / "bench/vector_update/table.py"), "--check", "--json",
                           "--virtual-clock", "--build", BUILD,
                           "--stock", STOCK, "--timeout", "900"], capture_output=True, text=True, timeout=1000)
    check(done.returncode == 0, "as the paper's figure 15 has it", done.stdout + done.stderr)
    seen = json.loads(done.stdout) if done.returncode in (0, 1) else {"scenarios": []}
    check(len(seen["scenarios"]) == 5 and all(sum(s["lines"]) > 10**6 for s in seen["scenarios"]),
          "all five scenarios, with lines enough to mean something", seen)


need("qemu-system-x86_64", "busybox")
main([table])
