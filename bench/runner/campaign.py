"""The order of all runs: which process runs when, on which library, and which figures belong together.

Every round visits all jobs in a random order, and each job runs on both libraries in a random order.
So a machine that gets slower or busier meanwhile does so for both, and each round gives a pair.
"""

import fnmatch
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from .execute import Library, Outcome, list_cases, run

# A machine of two nodes made of this machine's first two CPUs, for both libraries: here a NUMA
# constraint means something even where the real machine has a single node.
TWO_NODES = {"HWLOC_SYNTHETIC": "node:2 core:1 pu:1", "HWLOC_THISSYSTEM": "1"}
TWO_NODE_CASES = ("arena/execute_*",)

DEFAULT_THREADS = (1, 2, 8)
# Programs with thread counts of their own, where the caller names none: what a ramp takes depends on little else, and whole
# processes have the default number.
OWN_THREADS = {"ramp": (2, 4, 8, 16, 32, 64), "process": (1,)}


@dataclass
class Series:
    """All figures of one case at one thread count."""

    case: str
    threads: int
    figure: str  # "wall" or "cpu": what counts
    heavy: bool
    rounds: list[dict] = field(default_factory=list)  # library name -> {"wall_ns", "cpu_ns"}
    iterations: int = 1
    capped: str | None = None  # stock's heavy run that was ended at the time limit
    failed: dict[str, str] = field(default_factory=dict)  # library name -> how


@dataclass
class Job:
    """One process: a program, its thread count, its environment, and the cases it runs."""

    binary: Path
    threads: int
    suffix: str
    extra: dict[str, str]
    heavy: bool
    series: list[Series]
    limit_s: float
    seconds: float = 0.0  # spent on it so far

    def name_in_program(self, series: Series) -> str:
        return series.case.removesuffix(self.suffix)


class Campaign:
    def __init__(self, stock: Library, ours: Library, options, progress):
        self.stock = stock
        self.ours = ours
        self.options = options
        self.progress = progress
        self.random = random.Random(options.seed)
        self.failures: list[dict] = []
        self.versions: dict[str, str] = {}
        self.jobs: list[Job] = []

    # -- planning ------------------------------------------------------------------------------

    def wanted(self, case: str) -> bool:
        patterns = self.options.only
        return not patterns or any(fnmatch.fnmatch(case, f"*{pattern}*") for pattern in patterns)

    def plan(self, binaries: list[Path]) -> None:
        for binary in binaries:
            for threads in self.threads_of(binary.name):
                cases = list_cases(binary, self.stock, threads)
                self.plan_jobs(binary, threads, cases, "", {})
                virtual = [case for case in cases if
                           any(fnmatch.fnmatch(case["case"], name) for name in TWO_NODE_CASES)]
                if self.options.two_nodes:
                    self.plan_jobs(binary, threads, virtual, "@2nodes", TWO_NODES)

    def threads_of(self, program: str) -> list[int]:
        given = self.options.threads
        return list(given or OWN_THREADS.get(program, DEFAULT_THREADS))

    def plan_jobs(self, binary, threads, cases, suffix, extra) -> None:
        series = [Series(case["case"] + suffix, threads, case["figure"], case["heavy"])
                  for case in cases if self.wanted(case["case"] + suffix)]
        usual = [entry for entry in series if not entry.heavy]
        if usual:
            self.jobs.append(Job(binary, threads, suffix, extra, False, usual, 60.0))
        for entry in series:
            if entry.heavy:
                self.jobs.append(
                    Job(binary, threads, suffix, extra, True, [entry], self.options.cap))

    def calibrate(self) -> None:
        """Finds, on stock, the iterations of each case; both libraries then do the same work."""
        usual = [job for job in self.jobs if not job.heavy]
        for index, job in enumerate(usual):
            self.progress(f"calibrating {index + 1}/{len(usual)} {job.binary.name}")
            outcomes = self.attempts(job, self.stock, job.series, 0, -1)
            # Of all attempts: after a failure the next one runs only the cases behind it.
            job.limit_s = max(15.0, sum(outcome.seconds for outcome in outcomes) * 5 * (self.options.reps + 1))
            for outcome in outcomes:
                for series in job.series:
                    entry = outcome.cases.get(job.name_in_program(series))
                    if entry:
                        series.iterations = entry["iterations"]

    # -- running -------------------------------------------------------------------------------

    def run(self) -> None:
        rounds = max(self.options.pairs, self.options.heavy_pairs)
        for index in range(rounds):
            jobs = [job for job in self.jobs if
                    index < (self.options.heavy_pairs if job.heavy else self.options.pairs)]
            self.random.shuffle(jobs)
            for position, job in enumerate(jobs):
                self.progress(f"round {index + 1}/{rounds}, {position + 1}/{len(jobs)} "
                              f"{job.binary.name} {job.threads}")
                self.run_pair(job, index)

    def run_pair(self, job: Job, index: int) -> None:
        live = [series for series in job.series if not series.failed]
        pairs = {series.case: {} for series in live}
        order = [self.stock, self.ours]
        self.random.shuffle(order)
        for library in order:
            wanted = [series for series in live
                      if not (library is self.stock and series.capped) and not series.failed]
            for outcome in self.attempts(job, library, wanted, self.options.reps, index):
                for series in wanted:
                    entry = outcome.cases.get(job.name_in_program(series))
                    if entry:
                        pairs[series.case][library.name] = {
                            "wall_ns": entry["wall_ns"], "cpu_ns": entry["cpu_ns"]}
        for series in live:
            if pairs[series.case]:
                series.rounds.append(pairs[series.case])

    def attempts(self, job: Job, library: Library, wanted: list[Series], reps: int,
                 index: int) -> list[Outcome]:
        """Runs the cases; after a failure goes on with those behind it, so that one case costs one."""
        outcomes = []
        left = list(wanted)
        while left:
            names = [job.name_in_program(series) +
                     ("" if reps == 0 else f"={series.iterations}") for series in left]
            outcome = run(job.binary,
                          ["--threads", str(job.threads), "--seed", str(self.options.seed),
                           "--reps", str(1 if job.heavy else reps), "--cases", ",".join(names)],
                          library, job.extra, job.limit_s)
            self.versions.setdefault(library.name, outcome.version)
            outcomes.append(outcome)
            job.seconds += outcome.seconds
            if outcome.failure is None:
                break
            culprit = next((series for series in left
                            if job.name_in_program(series) == outcome.started), None)
            self.record_failure(job, library, culprit, left, outcome, index)
            left = [series for series in left if not series.failed and not series.capped and
                    job.name_in_program(series) not in outcome.cases]
            if culprit is None:
                break
        return outcomes

    def record_failure(self, job, library, culprit, left, outcome, index) -> None:
        if outcome.timed_out and job.heavy and library is self.stock and culprit:
            culprit.capped = outcome.failure
            return
        for series in [culprit] if culprit else left:
            series.failed[library.name] = outcome.failure
        self.failures.append({
            "library": library.name, "program": job.binary.name + job.suffix,
            "case": culprit.case if culprit else None, "threads": job.threads, "round": index,
            "failure": outcome.failure, "message": outcome.message})


def all_series(campaign: Campaign) -> list[Series]:
    order = {}
    for job in campaign.jobs:
        for series in job.series:
            order.setdefault(series.case, len(order))
    return sorted((series for job in campaign.jobs for series in job.series),
                  key=lambda series: (order[series.case], series.threads))


class Terminal:
    """One line of progress, rewritten in place, and only where somebody watches."""

    def __init__(self, stream):
        self.stream = stream
        self.shown = stream.isatty()
        self.begin = time.monotonic()

    def __call__(self, text: str) -> None:
        if self.shown:
            elapsed_s = int(time.monotonic() - self.begin)
            self.stream.write(f"\r\x1b[K{elapsed_s // 60}:{elapsed_s % 60:02d} {text}")
            self.stream.flush()

    def clear(self) -> None:
        if self.shown:
            self.stream.write("\r\x1b[K")
