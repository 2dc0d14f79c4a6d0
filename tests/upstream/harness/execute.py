"""Runs one program, watches the clock, and reads what doctest says about each case.

A program that hangs is asked by gdb for every thread's stack before it is killed. After a hang or
a crash it is started again behind the case that did it, so that one defect hides no other.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .expectations import CaseRule, Program
from .modes import Mode

RESTARTS_MAX = 4
GDB_TIME_LIMIT_SECONDS = 60

_CASE_START = re.compile(r'<TestCase name="([^"]*)" filename="([^"]*)" line="(\d+)"')
_CASE_END = re.compile(r'<OverallResultsAsserts .*test_case_success="(\w+)"')
_DURATION = re.compile(r' duration="([^"]*)"')
_DETAIL = re.compile(
    r'<(?:Expression|Message|Exception)\b([^>]*)>|<(?:Original|Expanded|Text)>|^\s*([^<\s].*)$')
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


@dataclass
class CaseResult:
    name: str
    line: int  # of its TEST_CASE
    outcome: str  # "passed", "failed", "hung", "crashed"
    seconds: float = 0.0
    details: list[str] = field(default_factory=list)


@dataclass
class RunResult:
    """What became of a program. `problem` is empty if the process itself ended well."""

    cases: list[CaseResult] = field(default_factory=list)
    problem: str = ""
    backtrace: str = ""
    stderr_tail: str = ""
    seconds: float = 0.0


def run_program(binary: Path, program: Program, rules: list[CaseRule], library: Path,
                mode: Mode, scratch: Path, limit_seconds: float) -> RunResult:
    """Runs all cases, but those that a rule skips. Never raises for what the program does."""
    total = RunResult()
    started = time.monotonic()
    first = 1
    for _ in range(RESTARTS_MAX):
        arguments = [] if program.own_main else _arguments(rules, first)
        part = _run_once([str(binary), *arguments], _environment(library, mode), scratch,
                         limit_seconds)
        total.cases += part.cases
        for text in ("problem", "backtrace", "stderr_tail"):
            joined = "\n".join(filter(None, (getattr(total, text), getattr(part, text))))
            setattr(total, text, joined)
        stopped_early = bool(part.cases) and part.cases[-1].outcome in ("hung", "crashed")
        if program.own_main or not stopped_early:
            break
        first += len(part.cases)
        if program.cases is not None and first > program.cases - _skips(rules):
            break
    total.seconds = time.monotonic() - started
    return total


def loaded_library(binary: Path, library: Path) -> Path | None:
    """The libtbb.so.12 that the loader gives the binary when it is run with `library`.

    None: it needs none, because all that it uses is in the headers."""
    environment = {**_environment(library, Mode("plain")), "LD_TRACE_LOADED_OBJECTS": "1"}
    listing = subprocess.run([str(binary)], env=environment, capture_output=True, text=True).stdout
    found = re.search(r"libtbb\.so\.12 => (\S+)", listing)
    return Path(found[1]).resolve() if found else None


def _skips(rules: list[CaseRule]) -> int:
    return sum(rule.outcome == "skip" for rule in rules)


def _arguments(rules: list[CaseRule], first: int) -> list[str]:
    arguments = ["--reporters=xml", "--duration=true", "--no-path-filenames=true"]
    # doctest splits its filters at commas; a question mark stands for any one character.
    skipped = [rule.name.replace(",", "?") for rule in rules if rule.outcome == "skip"]
    if skipped:
        arguments.append("--test-case-exclude=" + ",".join(skipped))
    if first > 1:
        arguments.append(f"--first={first}")
    return arguments


def _environment(library: Path, mode: Mode) -> dict[str, str]:
    environment = dict(os.environ)
    inherited = environment.get("LD_LIBRARY_PATH", "")
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, (str(library.parent), inherited)))
    environment["LD_BIND_NOW"] = "1"  # a symbol that is missing is named at once
    environment.update(mode.environment)
    return environment


def _run_once(command: list[str], environment: dict[str, str], scratch: Path,
              limit_seconds: float) -> RunResult:
    scratch.mkdir(parents=True, exist_ok=True)
    result = RunResult()
    with tempfile.TemporaryFile(dir=scratch) as out, tempfile.TemporaryFile(dir=scratch) as err:
        # Own session: a program that forks leaves no child behind when it is killed.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                   cwd=scratch, env=environment, start_new_session=True)
        hung = False
        try:
            process.wait(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            hung = True
            result.backtrace = _backtrace(process.pid)
        finally:
            _kill_session(process)
        out.seek(0)
        err.seek(0)
        lines = out.read().decode(errors="replace").splitlines()
        result.stderr_tail = "\n".join(err.read().decode(errors="replace").splitlines()[-15:])
    result.cases = _parse(lines)
    unfinished = bool(result.cases) and result.cases[-1].outcome == "crashed"
    where = f" in case {result.cases[-1].name!r}" if unfinished else " outside of any case"
    if hung:
        result.problem = f"hung ({limit_seconds:.0f} s){where}"
        if unfinished:
            result.cases[-1].outcome = "hung"
    elif process.returncode < 0:
        result.problem = f"killed by {signal.Signals(-process.returncode).name}{where}"
    elif process.returncode > 0 and not any(c.outcome != "passed" for c in result.cases):
        result.problem = f"exit status {process.returncode}"
    return result


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and its children if it still runs, and takes its exit status."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _backtrace(pid: int) -> str:
    gdb = shutil.which("gdb")
    if gdb is None:
        return "(no gdb installed: no stacks)"
    try:
        done = subprocess.run(
            [gdb, "-p", str(pid), "-batch", "-nx", "-iex", "set debuginfod enabled off",
             "-ex", "thread apply all bt 14"],
            capture_output=True, text=True, timeout=GDB_TIME_LIMIT_SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "(gdb did not answer)"
    wanted = re.compile(r"^(Thread|#|\s)")
    return "\n".join(line for line in done.stdout.splitlines() if wanted.match(line))


def _parse(lines: list[str]) -> list[CaseResult]:
    """Reads doctest's XML line by line: what a killed program leaves is not well-formed."""
    cases: list[CaseResult] = []
    current: CaseResult | None = None
    for line in lines:
        if start := _CASE_START.search(line):
            if 'skipped="true"' in line:
                continue
            current = CaseResult(html.unescape(start[1]), int(start[3]), "crashed")
            cases.append(current)
        elif current is None:
            continue
        elif end := _CASE_END.search(line):
            if current.outcome == "crashed" and not _saw_crash(current):
                current.outcome = "passed" if end[1] == "true" else "failed"
            if duration := _DURATION.search(line):
                current.seconds = float(duration[1])
            current = None
        else:
            _add_detail(current, line)
    return cases


def _saw_crash(case: CaseResult) -> bool:
    return any(detail.startswith("crash") for detail in case.details)


def _add_detail(case: CaseResult, line: str) -> None:
    stripped = line.strip()
    found = _DETAIL.match(stripped)
    if not found or len(case.details) > 40:
        return
    if found[1] is not None:
        attributes = dict(_ATTRIBUTE.findall(found[1]))
        if attributes.get("crash") == "true":
            case.details.append("crash")
        elif "type" in attributes:
            case.details.append(
                f"{attributes['type']} {attributes.get('filename')}:{attributes.get('line')}")
        else:
            case.details.append("exception")
    elif found[2] is not None and case.details:
        case.details[-1] += " | " + html.unescape(found[2])
