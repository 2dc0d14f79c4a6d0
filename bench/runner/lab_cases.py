"""Which cases run in virtual machines, and how often: as much work as the host does in a given time with one thread.

Emulation is some hundred times slower than the machine, so a repetition is shorter than on the host, and what takes too long even
once is left out. What a clock of the guest's kernel decides (rests, time-outs) or only CPU time tells is, too.
"""

import fnmatch
import json
import subprocess
from pathlib import Path

from .execute import Library, list_cases, run
from .lab_boot import LabJob

QUICK = ("short_loops/*", "loops/empty_simple", "loops/nested")
LONGEST_NS = 4_000_000  # of one iteration, on the host with one thread
# Rests and time-outs; what the stock library's binding decides, which it loads at run time and is not there; addresses, which
# it has not.
LEFT_OUT = ("idle/*", "wakeup/*", "arena/*", "homes/*")


class Cases:
    """`programs`: for each binary its cases and their iterations, which stay the same for all machines, threads and boots."""

    def __init__(self, binaries: list[Path], stock: Library, options, kept: Path) -> None:
        self.programs: dict[Path, tuple[tuple[str, int], ...]] = {}
        known = self._known(kept)
        for binary in binaries:
            cases = [case["case"] for case in list_cases(binary, stock, 1)
                     if not case["heavy"] and case["figure"] == "wall" and wanted(case["case"], options)]
            if not set(cases) <= known.keys():
                known |= host_ns(binary, cases, stock, options.seed)
            chosen = tuple((case, max(1, round(options.target_us * 1000 / known[case]))) for case in cases
                           if case in known and known[case] <= LONGEST_NS)
            if chosen:
                self.programs[binary] = chosen
        kept.write_text(json.dumps(known, indent=1) + "\n")

    @staticmethod
    def _known(kept: Path) -> dict[str, float]:
        """Of an earlier call, so that all boots of a campaign do the same work."""
        try:
            return json.loads(kept.read_text())
        except (OSError, ValueError):
            return {}

    def jobs(self, threads: list[int]) -> list[LabJob]:
        # Whole processes have as many threads as there are CPUs, whatever they are told.
        return [LabJob(binary, count, cases) for binary, cases in self.programs.items()
                for count in (threads[-1:] if binary.name == "process" else threads)]


def wanted(case: str, options) -> bool:
    def one_of(patterns) -> bool:
        return any(fnmatch.fnmatch(case, pattern) for pattern in patterns)

    if options.only:
        return one_of(f"*{pattern}*" for pattern in options.only)
    return one_of(QUICK) if options.quick else not one_of(LEFT_OUT)


def program_wanted(program: str, options) -> bool:
    """Whether it can have a wanted case."""
    if options.only:  # a pattern without a slash may be of any program's case
        return any("/" not in pattern or program.endswith(pattern.split("/")[0]) for pattern in options.only)
    return any(pattern.split("/")[0] == program for pattern in QUICK) if options.quick \
        else f"{program}/*" not in LEFT_OUT


def host_ns(binary: Path, cases: list[str], stock: Library, seed: int) -> dict[str, float]:
    """Nanoseconds of one iteration on the host, by CPU time: others may keep it busy."""
    outcome = run(binary, ["--threads", "1", "--seed", str(seed), "--reps", "3", "--cases", ",".join(cases)], stock, {}, 600)
    if outcome.failure:
        raise SystemExit(f"{binary}: {outcome.failure} on stock oneTBB, here: {outcome.message}")
    return {case: max(1.0, min(line["cpu_ns"]) / line["iterations"]) for case, line in outcome.cases.items()}


def thread_counts(cpus: int, quick: bool = False) -> list[int]:
    """1, 2, 4, ... and all; of the quick set 1, 4 and all."""
    if quick:
        return sorted({1, min(4, cpus), cpus})
    counts = [1]
    while counts[-1] * 2 < cpus:
        counts.append(counts[-1] * 2)
    return counts + [cpus] if cpus > 1 else counts


def shape(homing: Path, machine: str) -> dict:
    """`homing lab show --json`."""
    done = subprocess.run([homing, "lab", "show", machine, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"homing lab show {machine}: {done.stderr.strip()}")
    return json.loads(done.stdout)
