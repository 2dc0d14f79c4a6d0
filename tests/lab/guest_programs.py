"""Running tests/lab/guest/*.cpp in one virtual machine. Usage of a test: TEST.py PATH-OF-HOMING FOLDER-OF-GUEST-PROGRAMS"""

import re
import sys
from pathlib import Path

from lab import check, lab

FOLDER = Path(sys.argv[2]).resolve()
RUN_SECONDS_MAX = 540   # of a host that is busy with other things


def in_guest(what, *lines, machine="westmere", options=(), programs=("placement", "workers", "hotplug", "full", "machine_changes")):
    """Boots once and runs shell lines there, of which each has to end with status 0. A guest program prints `ok: ...` and
    `FAILED: ...` lines, and some `ok` there have to be."""
    script = "".join(f"echo '== '; ( {line} ) 2>&1; echo \"status $?\"\n" for line in lines)
    files = [f"--file={FOLDER / name}:/usr/bin/{name}" for name in programs]
    seen = lab("run", "--machine", machine, "--no-count", "--timeout", RUN_SECONDS_MAX, "--plain-words", *options, *files,
               "--", "/bin/sh", "-c", script, seconds=RUN_SECONDS_MAX + 60)
    check(seen.code == 0, f"{what}: the machine ran", seen)
    parts = re.split(r"^== .*\n", seen.out, flags=re.MULTILINE)[1:]
    check(len(parts) == len(lines), f"{what}: all programs ran", seen)
    for line, part in zip(lines, parts):
        failed = [text for text in part.splitlines() if text.startswith("FAILED")]
        fine = len(re.findall(r"^ok: ", part, re.MULTILINE))
        check(part.rstrip().endswith("status 0") and not failed and fine > 0, f"{what}: {line} ({fine} ok)", part)
    return seen


def cut_off(cpus, memory, quota=""):
    """Shell text: the rest of the line runs with these CPUs, memory nodes and quota only (cgroup v2)."""
    group = "/sys/fs/cgroup/part"
    limit = f"echo '{quota}' > {group}/cpu.max; " if quota else "echo max > " + group + "/cpu.max; "
    return (f"mkdir -p {group}; echo {cpus} > {group}/cpuset.cpus; echo {memory} > {group}/cpuset.mems; {limit}"
            f"sh -c 'echo $$ > {group}/cgroup.procs; exec \"$@\"' sh ")
