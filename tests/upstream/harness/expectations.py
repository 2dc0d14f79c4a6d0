"""What is expected of each program: expected.toml, checked while it is read.

A program that the file does not name must build, end with status 0 and pass every case. The file
names the number of cases of each program, so that a case that vanishes is noticed.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .modes import Mode

TIME_LIMIT_SECONDS = 180


class ExpectationError(Exception):
    """expected.toml contradicts itself or the tests it speaks of."""


@dataclass(frozen=True)
class CaseRule:
    """One doctest case that is left out, or whose failure counts for nothing."""

    name: str
    outcome: str  # "skip": never started; "may_fail": started, either result is fine
    # "always", "real", "made-up" (a machine), "ours-alone" (made up, and hwloc does not know it),
    # "headers" (not 2021.8's own)
    when: str
    reason: str
    line: int | None = None  # of the TEST_CASE, where two cases of a program share a name

    def covers(self, name: str, line: int) -> bool:
        return self.name == name and self.line in (None, line)


@dataclass
class Program:
    name: str
    path: Path  # of the .cpp, relative to the folder test/
    cases: int | None = None  # with 2021.8's own headers; None: not a doctest program
    not_applicable: str = ""
    other_headers: str = ""  # why it can't be built with headers other than 2021.8's
    time_limit_seconds: int = TIME_LIMIT_SECONDS
    compile_flags: list[str] = field(default_factory=list)
    link_flags: list[str] = field(default_factory=list)
    extra_sources: list[str] = field(default_factory=list)
    own_main: bool = False
    rules: list[CaseRule] = field(default_factory=list)

    def active_rules(self, mode: Mode, own_headers: bool) -> list[CaseRule]:
        states = {"always": True, "real": not mode.made_up, "made-up": mode.made_up,
                  "ours-alone": mode.ours_alone, "headers": not own_headers}
        return [rule for rule in self.rules if states[rule.when]]


@dataclass
class Expectations:
    programs: dict[str, Program]
    sets: dict[str, list[str]]

    def choose(self, set_name: str, only: list[str]) -> list[Program]:
        """The programs asked for, in the order of the file listing; raises on an unknown name."""
        if only:
            unknown = [name for name in only if name not in self.programs]
            if unknown:
                raise ExpectationError(f"no such program: {', '.join(unknown)}")
            return [self.programs[name] for name in only]
        return [self.programs[name] for name in self.sets[set_name]]


def load(path: Path, test_folder: Path) -> Expectations:
    """Reads the file and lays it over the programs found in the source package."""
    data = tomllib.loads(path.read_text())
    programs: dict[str, Program] = {}
    for folder in ("conformance", "tbb"):
        for source in sorted((test_folder / folder).glob("*.cpp")):
            programs[source.stem] = Program(source.stem, source.relative_to(test_folder))
    secondary = data.get("not_programs", [])
    for name in secondary:
        programs.pop(name, None)

    for name, entry in data.get("program", {}).items():
        program = _known(programs, name)
        for key, value in entry.items():
            if key in ("name", "path", "rules", "cases") or not hasattr(program, key):
                raise ExpectationError(f"program.{name}: unknown key {key}")
            setattr(program, key, value)
    for name, count in data.get("cases", {}).items():
        _known(programs, name).cases = count
    for entry in data.get("case", []):
        rule = CaseRule(entry["name"], entry["outcome"], entry.get("when", "always"),
                        entry["reason"], entry.get("line"))
        if rule.outcome not in ("skip", "may_fail"):
            raise ExpectationError(f"case {rule.name!r}: unknown outcome {rule.outcome!r}")
        if rule.when not in ("always", "real", "made-up", "ours-alone", "headers"):
            raise ExpectationError(f"case {rule.name!r}: unknown condition {rule.when!r}")
        if rule.outcome == "skip" and rule.line is not None:
            raise ExpectationError(f"case {rule.name!r}: doctest can't skip by line")
        _known(programs, entry["program"]).rules.append(rule)

    conformance = [name for name in programs if name.startswith("conformance_")]
    tests = [name for name in programs if name not in conformance]
    sets = {"conformance": conformance, "tests": tests, "all": conformance + tests}
    for name, members in data.get("sets", {}).items():
        sets[name] = [member for entry in members for member in sets.get(entry, [entry])]
        for member in sets[name]:
            _known(programs, member)
    return Expectations(programs, sets)


def _known(programs: dict[str, Program], name: str) -> Program:
    if name not in programs:
        raise ExpectationError(f"expected.toml speaks of {name}, which the source does not have")
    return programs[name]
