"""What people and programs see of a run: a verdict for each program, progress, and JSON."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from .build import BuildResult
from .execute import CaseResult, RunResult
from .expectations import CaseRule, Program
from .modes import Mode

STACK_LINES_MAX = 120


@dataclass
class Verdict:
    """The comparison of one program, in one mode, with its expectation. No complaint: it passed."""

    program: Program
    build: BuildResult | None = None
    mode: Mode = Mode("plain")
    run: RunResult | None = None
    complaints: list[str] = field(default_factory=list)
    tolerated: list[str] = field(default_factory=list)
    not_applicable: str = ""

    def in_mode(self, mode: Mode) -> Verdict:
        """The same program, built as it is and not yet run, in a mode."""
        return Verdict(self.program, self.build, mode, complaints=list(self.complaints),
                       not_applicable=self.not_applicable)

    @property
    def outcome(self) -> str:
        if self.not_applicable:
            return "not applicable"
        return "failed" if self.complaints else "passed"


def judge_build(program: Program, build: BuildResult) -> Verdict:
    verdict = Verdict(program, build)
    if build.binary is None:
        verdict.complaints.append("does not build: " + _first_error(build.error))
    return verdict


def judge_run(verdict: Verdict, run: RunResult, rules: list[CaseRule], count_cases: bool) -> None:
    """Adds what the run says about the verdict that the build began."""
    verdict.run = run
    may_fail = [rule for rule in rules if rule.outcome == "may_fail"]
    bad = [case for case in run.cases if case.outcome != "passed"]
    for case in bad:
        text = _describe(case)
        rule = next((rule for rule in may_fail if rule.covers(case.name, case.line)), None)
        if rule is not None:
            verdict.tolerated.append(f"{text} (expected: {rule.reason})")
        else:
            verdict.complaints.append(text)
    ended_by_case = bool(bad) and bad[-1].outcome in ("hung", "crashed")
    if run.problem and not (ended_by_case and not verdict.complaints):
        verdict.complaints += run.problem.splitlines()
    expected = verdict.program.cases
    if count_cases and expected is not None and not verdict.complaints:
        wanted = expected - sum(rule.outcome == "skip" for rule in rules)
        if len(run.cases) != wanted:
            verdict.complaints.append(f"ran {len(run.cases)} cases, expected {wanted}")


def _describe(case: CaseResult) -> str:
    lines = [f"case {case.name!r} {case.outcome}"]
    shown = [detail for detail in case.details if not detail.startswith("WARNING")]
    lines += [f"    {detail}" for detail in shown[:6]]
    if len(shown) > 6:
        lines.append(f"    ... {len(shown) - 6} more")
    return "\n".join(lines)


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line or "undefined" in line]
    return (lines or text.splitlines() or ["no message"])[0]


class Screen:
    """Progress on a terminal: one line that changes. In a pipe: only what went wrong."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self.stream = stream
        self.live = stream.isatty()

    def progress(self, text: str) -> None:
        if self.live:
            self.stream.write(f"\r\x1b[K{text[:110]}")
            self.stream.flush()

    def line(self, text: str) -> None:
        if self.live:
            self.stream.write("\r\x1b[K")
        self.stream.write(text + "\n")
        self.stream.flush()

    def done(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def failure(self, verdict: Verdict, again: str) -> None:
        self.line(f"FAILED {verdict.program.name} ({verdict.mode.name})")
        for complaint in verdict.complaints:
            self.line("  " + complaint.replace("\n", "\n  "))
        run = verdict.run
        if run is None:
            return
        if run.stderr_tail:
            self.line("  stderr: " + run.stderr_tail.replace("\n", "\n          "))
        if run.backtrace:
            stack = run.backtrace.splitlines()
            self.line("  " + "\n  ".join(stack[:STACK_LINES_MAX]))
        self.line(f"  again: {again}")


def as_json(verdicts: list[Verdict], context: dict[str, Any]) -> dict[str, Any]:
    programs = []
    for verdict in verdicts:
        entry: dict[str, Any] = {"name": verdict.program.name, "mode": verdict.mode.name,
                                 "outcome": verdict.outcome}
        if verdict.not_applicable:
            entry["reason"] = verdict.not_applicable
        if verdict.complaints:
            entry["complaints"] = verdict.complaints
        if verdict.tolerated:
            entry["tolerated"] = verdict.tolerated
        if verdict.build is not None:
            entry["build_seconds"] = round(verdict.build.seconds, 2)
            entry["build_cached"] = verdict.build.cached
            if verdict.build.binary is None:
                entry["build_error"] = verdict.build.error
        if verdict.run is not None:
            run = asdict(verdict.run)
            run["seconds"] = round(verdict.run.seconds, 3)
            entry["run"] = run
        programs.append(entry)
    return {**context, "programs": programs}
