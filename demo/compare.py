"""Compares one program on the two libraries: interleaved pairs, every run's results against the first stock run's."""

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from libraries import Library
from measure import Run, run_once
from programs.base import SEED, Program
from results import differences

VIRTUAL_MACHINE = "node:4 core:2 pu:1"
VIRTUAL_DOMAINS = 4
VIRTUAL_CPUS = 8


@dataclass
class Counts:
    """Where Homing ran the tasks of one run, added over the program's commands."""

    executed: int = 0
    home: int = 0
    near: int = 0
    far: int = 0


@dataclass
class Verdict:
    """All that is known of one program. `problems` is empty if every run worked, agreed and was counted."""

    program: Program
    stock_s: list[float] = field(default_factory=list)
    ours_s: list[float] = field(default_factory=list)
    values: int = 0
    cpu_ratios: list[float] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    real: Counts | None = None
    virtual: Counts | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Ours over stock, pair by pair: below 1 is faster than stock."""
        return [ours / stock for ours, stock in zip(self.ours_s, self.stock_s, strict=True)]

    def same_output(self, where: str) -> bool | None:
        """Whether every run there (`stock`, `homing`, `virtual`) agreed with the first; None if none was compared."""
        if where in self.differing:
            return False
        return True if where in self.compared else None

    @property
    def runs(self) -> int:
        """How many runs had their results compared."""
        return len(self.compared) + len(self.differing)

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.ratios) if self.ratios else None


def _counts(run: Run, *, virtual: bool) -> Counts:
    """Homing's counts of a run; raises ValueError if its reports are missing or of another machine than asked."""
    if not run.reports:
        raise ValueError("Homing wrote no report")
    counts = Counts()
    for report in run.reports:
        if report["virtual"] is not virtual:
            raise ValueError(f"Homing's report says virtual={report['virtual']}")
        if virtual and report["domains"] != VIRTUAL_DOMAINS:
            raise ValueError(f"Homing saw {report['domains']} domains; {VIRTUAL_DOMAINS} were meant")
        counts.executed += report["tasks"]["executed"]
        counts.home += report["tasks"]["home"]
        counts.near += report["steals"]["near"]
        counts.far += report["steals"]["far"]
    if counts.executed == 0:
        raise ValueError("Homing ran no task")
    return counts


class _Comparison:
    """One program's runs. The first stock run that works is the reference of all the others."""

    def __init__(self, program: Program, inputs: Path, scratch: Path, threads: int) -> None:
        self.verdict = Verdict(program)
        self._inputs, self._scratch, self._threads = inputs, scratch, threads
        self._reference: Run | None = None

    def run(self, library: Library, *, virtual: bool = False) -> Run | None:
        """Runs once and compares; a run that failed or differs is noted in the verdict, and None returned."""
        where = "virtual" if virtual else library.name
        run = run_once(
            self.verdict.program, library, self._inputs, self._scratch / library.name,
            threads=VIRTUAL_CPUS if virtual else self._threads,
            extra={"HWLOC_SYNTHETIC": VIRTUAL_MACHINE} if virtual else {},
        )
        if run.failure:
            self._problem(f"on {where}: {run.failure}", run)
            return None
        if self._reference is None:
            self._reference = run
            self.verdict.values = len(run.results)
        wrong = differences(self._reference.results, run.results)
        if wrong:
            more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            self.verdict.differing.append(where)
            self._problem(f"on {where}, results differ from the first run's: {'; '.join(wrong[:3])}{more}", run)
            return None
        self.verdict.compared.append(where)
        if library.name != "stock":
            try:
                counts = _counts(run, virtual=virtual)
            except (ValueError, KeyError) as problem:
                self._problem(f"on {where}: {problem}", run)
                return run
            if virtual:
                self.verdict.virtual = counts
            else:
                self.verdict.real = counts
        return run

    def _problem(self, what: str, run: Run) -> None:
        problem = f"{what}\n    to see it: {run.command}"
        if problem not in self.verdict.problems:
            self.verdict.problems.append(problem)


def compare(program: Program, stock: Library, ours: Library, inputs: Path, scratch: Path, *, threads: int, pairs: int,
            say: Callable[[str], None]) -> Verdict:
    """Runs the program: once on each library to warm up, `pairs` interleaved pairs, once on a made-up machine."""
    order = random.Random(SEED)
    comparison = _Comparison(program, inputs, scratch, threads)
    say("warming up on stock")
    if comparison.run(stock) is None:
        return comparison.verdict  # nothing to compare with
    say("warming up on homing")
    works = comparison.run(ours) is not None
    for pair in range(pairs if works else 0):
        say(f"pair {pair + 1} of {pairs}")
        both = [stock, ours]
        order.shuffle(both)
        runs = {library.name: comparison.run(library) for library in both}
        if runs["stock"] and runs["homing"]:
            comparison.verdict.stock_s.append(runs["stock"].seconds)
            comparison.verdict.ours_s.append(runs["homing"].seconds)
            comparison.verdict.cpu_ratios.append(runs["homing"].cpu_seconds / runs["stock"].cpu_seconds)
    say("on a made-up machine")
    comparison.run(ours, virtual=True)
    return comparison.verdict
