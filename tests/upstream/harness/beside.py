"""The time of each case beside another library: a case that passes but takes a hundred times as long hides a defect.

Times are no test: on a busy machine they say little. So this changes no verdict and no exit status; it names what to look at.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from .execute import RunResult
from .expectations import Program
from .modes import Mode

# What is named: the slowest run takes this many times the slowest of the other library's, and this much longer. A case whose
# every run is a little slower is the bench's affair.
RATIO = 3.0
SECONDS_MORE = 0.2


@dataclass(frozen=True)
class Slow:
    """A case of one program in one mode, with the times of its runs in seconds."""

    program: str
    mode: str
    case: str
    ours: list[float]
    other: list[float]

    @property
    def ratio(self) -> float:
        return max(self.ours) / max(max(self.other), 0.001)

    def line(self) -> str:
        return (f"{self.program:38} {self.mode:>10} {median(self.ours):8.3f} {max(self.ours):8.3f} {median(self.other):8.3f} "
                f"{max(self.other):8.3f} {self.ratio:7.1f}  {self.case}")


HEADING = f"{'program':38} {'mode':>10} {'median s':>8} {'most s':>8} {'beside':>8} {'most':>8} {'ratio':>7}  case"


class Times:
    """Collects the time of every case that ended well, from runs of both libraries."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str, str, int], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))

    def add(self, program: Program, mode: Mode, ours: RunResult, other: RunResult) -> None:
        for side, run in enumerate((ours, other)):
            if not run.cases:
                self._of[program.name, mode.name, "(whole program)", 0][side].append(run.seconds)
            for case in run.cases:
                if case.outcome == "passed":
                    self._of[program.name, mode.name, case.name, case.line][side].append(case.seconds)

    def slow(self) -> list[Slow]:
        """The worst ratio first. A case that one of the two never ended well is left out: its verdict says so."""
        both = [Slow(program, mode, case, *times) for (program, mode, case, _), times in self._of.items() if all(times)]
        named = [s for s in both if s.ratio >= RATIO and max(s.ours) - max(s.other) >= SECONDS_MORE]
        return sorted(named, key=lambda s: -s.ratio)
