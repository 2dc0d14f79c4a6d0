"""Finds and reads runs: folders of `homing lab run --results`, told apart by labels."""

from __future__ import annotations

import copy
import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import machine_file, record
from ..counts import SCHEMA, SERVED
from ..errors import LabError, UsageError, shown, unreadable
from ..keys import Table
from ..machine import Machine

COUNTS = "counts.json"
MORE = ("instructions", "loads", "stores", "private", "upgrades", "write_backs", "unplaced")
MATRICES = ("dram", "cache", "local_cache")
NUMBER_MOST = 1e300  # sums and means of some are finite, too
A_NUMBER = f"a number from 0 to {NUMBER_MOST:g}"
DEPTH_MOST = 100  # of lists and objects in one another


@dataclass
class Run:
    """One counts.json, and what was run if that is known."""

    file: Path
    counts: dict[str, Any]
    record: dict[str, Any] = field(default_factory=dict)
    machine: Machine | None = None

    def region(self, label: str) -> dict[str, Any] | None:
        return next((r for r in self.counts["regions"] if r["label"] == label), None)


@dataclass
class Group:
    """What stands side by side: the runs of one label, which repeat each other."""

    label: str
    runs: list[Run]

    @property
    def machine_name(self) -> str:
        return str(self.runs[0].counts["machine"])


def _read_json(path: Path, but: str = "") -> dict[str, Any]:
    """`but`: a key whose value is looked at elsewhere."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabError(f"can't read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise LabError(f"{path}: {unreadable(error, 'no JSON')}", code=2) from error
    if not isinstance(document, dict):
        raise LabError(f"{path}: expected a JSON object", code=2)
    for key in document.keys() - {but}:
        if fault := _unfit(document[key], key):
            raise LabError(f"{path}: {fault}", code=2)
    return document


def _unfit(value: Any, at: str, depth: int = 1) -> str | None:
    """What could not be told as JSON again."""
    if isinstance(value, (int, float)) and not abs(value) <= NUMBER_MOST:
        return f"{at}: expected numbers up to {NUMBER_MOST:g}, found {shown(value)}"
    if not isinstance(value, (list, dict)):
        return None
    if depth > DEPTH_MOST:
        return f"{at.partition('.')[0]}: expected at most {DEPTH_MOST} lists and objects, one in the other"
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return next((fault for key, one in inner if (fault := _unfit(one, f"{at}.{key}", depth + 1))), None)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= NUMBER_MOST


def _matrix(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 0
        and all(isinstance(row, list) and len(row) == len(value) for row in value)
        and all(_number(one) for row in value for one in row)
    )


def _fault(region: Any, number: int) -> str | None:
    """The key of a region that is not as the plugin writes it."""
    at = f"regions[{number}]"
    if not isinstance(region, dict) or not isinstance(region.get("label"), str):
        return f"{at}.label: expected a text"
    for key in ("virtual_ns", "private", *SERVED):
        if not _number(region.get(key)):
            return f"{at}.{key}: expected {A_NUMBER}, found {shown(region.get(key))}"
    for key in (*MORE, "waits", "waits_given_up"):
        if not _number(region.get(key, 0)):
            return f"{at}.{key}: expected {A_NUMBER}, found {shown(region[key])}"
    kernel = region.get("kernel", {})
    if not isinstance(kernel, dict) or not all(_number(kernel.get(key, 0)) for key in SERVED):
        return f"{at}.kernel: expected numbers: {', '.join(SERVED)}"
    matrices = region.get("matrix")
    for key in MATRICES:
        if not isinstance(matrices, dict) or not _matrix(matrices.get(key)):
            return f"{at}.matrix.{key}: expected as many rows as columns of numbers"
    return None


def _check(path: Path, counts: dict[str, Any]) -> None:
    seen = counts.get("schema")
    if seen != SCHEMA:
        raise LabError(
            f"{path}: schema: expected {SCHEMA}, found {shown(seen)}",
            "a counts.json is what `homing lab run --results DIR` leaves in DIR",
            code=2,
        )
    if not isinstance(counts.get("machine"), str) or not isinstance(counts.get("regions"), list):
        raise LabError(f"{path}: machine, regions: expected a name and a list", code=2)
    for key in ("notSeen", "assumed"):
        if not isinstance(counts.get(key, []), list):
            raise LabError(f"{path}: {key}: expected a list", code=2)
    precision = counts.get("precision") or {"quantum_cycles": 0, "look_cycles": 0}
    if not isinstance(precision, dict) or not all(
        _number(precision.get(key)) for key in ("quantum_cycles", "look_cycles")
    ):
        raise LabError(f"{path}: precision: expected quantum_cycles and look_cycles", code=2)
    if not _number(counts.get("regionsLeftOut", 0)):
        raise LabError(f"{path}: regionsLeftOut: expected {A_NUMBER}", code=2)
    for number, region in enumerate(counts["regions"]):
        fault = _fault(region, number)
        if fault:
            raise LabError(f"{path}: {fault}", code=2)
    if not counts["regions"]:
        calibration = counts.get("calibration")
        error = calibration.get("error") if isinstance(calibration, dict) else None
        why = error or "the run did not get that far"
        raise LabError(f"{path}: nothing was counted: {why}")


def _machine(
    file: Path, run_record: dict[str, Any], name: str, given: dict[str, Machine]
) -> Machine | None:
    """As it was when it ran; else as it is given, or as the file of that name is now; else unknown."""
    text = run_record.get("machine_file")
    if isinstance(text, str):
        try:
            table = Table(f"{name}.toml", "", tomllib.loads(text))
        except (ValueError, RecursionError) as error:
            raise LabError(f"{file}: machine_file: {unreadable(error, 'not TOML')}", code=2) from error
        machine = machine_file.read(table, Path(f"{name}.toml"))
    elif name in given:
        machine = copy.deepcopy(given[name])  # each run has a scale of its own
    else:
        try:
            machine = machine_file.load(name)
        except UsageError:
            return None
    machine.cache_scale = run_record.get("cache_scale", 1)
    if _number(run_record.get("memory_mib")):
        for node in machine.memory_nodes:
            node.memory_mib = run_record["memory_mib"]
    return machine


def _read(file: Path, machines: dict[str, Machine]) -> Run:
    counts = _read_json(file, but="regions")
    _check(file, counts)
    beside = file.with_name(record.NAME)
    run_record = _read_json(beside) if beside.is_file() else {}
    scale = run_record.get("cache_scale", 1)
    if not _number(scale) or not scale >= 1:
        raise LabError(f"{beside}: cache_scale: expected a number from 1, found {shown(scale)}", code=2)
    status = run_record.get("exit_status")
    if status is not None and type(status) is not int:
        raise LabError(f"{beside}: exit_status: expected a whole number or null, found {shown(status)}", code=2)
    if run_record.get("machine", counts["machine"]) != counts["machine"]:
        raise LabError(
            f"{beside} is of {shown(run_record['machine'])}, {file.name} of {shown(counts['machine'])}",
            "the two are of different runs; run it again, or take the counts.json alone",
        )
    return Run(file, counts, run_record, _machine(beside, run_record, counts["machine"], machines))


def files_of(text: str) -> list[Path]:
    """One counts.json, or those of a folder whose folders repeat one run."""
    path = Path(text)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(
            f"there is no {text}", "a RUN is a folder of `homing lab run --results`, or its counts"
        )
    if (path / COUNTS).is_file():
        return [path / COUNTS]
    below = sorted(path.glob(f"*/{COUNTS}"))
    if not below:
        ran = (path / record.NAME).is_file()
        why = "the run counted nothing or failed" if ran else "`homing lab run --results` makes one"
        raise UsageError(f"{text}: there is no {COUNTS} in it, nor in a folder of it: {why}")
    return below


def _label_of(text: str) -> str:
    path = Path(os.path.realpath(text))
    if path.is_file():
        return path.parent.name if path.name == COUNTS else path.stem
    return path.name


def collect(words: list[str], labelled: list[str], machine_names: list[str]) -> list[Group]:
    """Runs of one --label are one group; a RUN without a label is one of its folder's name."""
    machines = {m.name: m for m in map(machine_file.load, machine_names)}
    groups: dict[str, Group] = {}
    for word in labelled:
        label, sign, text = word.partition("=")
        if not sign or not label.strip() or not text:
            raise UsageError(f"--label {word}: expected NAME=RUN")
        group = groups.setdefault(label.strip(), Group(label.strip(), []))
        group.runs += [_read(file, machines) for file in files_of(text)]
    for word in words:
        label = _label_of(word)
        if label in groups:
            raise UsageError(
                f"two runs would be called '{label}'", f"name this one: --label NAME={word}"
            )
        groups[label] = Group(label, [_read(file, machines) for file in files_of(word)])
    if not groups:
        raise UsageError("report: expected a RUN", "a folder of `homing lab run --results FOLDER`")
    for group in groups.values():
        names = {run.counts["machine"] for run in group.runs}
        if len(names) > 1:
            said = ", ".join(sorted(names))
            raise UsageError(
                f"the runs of '{group.label}' are of different machines: {said}",
                "give them different labels",
            )
        sizes = {len(r["matrix"][k]) for run in group.runs for r in run.counts["regions"] for k in MATRICES}
        if len(sizes) > 1:
            said = " and ".join(map(str, sorted(sizes)))
            raise UsageError(
                f"the runs of '{group.label}' have matrices of {said} nodes",
                "runs of different machines need different labels",
            )
    return list(groups.values())
