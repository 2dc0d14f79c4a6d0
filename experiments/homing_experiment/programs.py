"""How a program is told what a run is, and what of its answer becomes a row. Two kinds: those of programs/, which one driver
reads the command line for, and the Jacobi study of bench/jacobi."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

from .errors import ExperimentError
from .plan import Run
from .settings import HERE

STUDY = "jacobi-study"
STUDY_LACKS = ("warm_up", "cpus", "contention")  # settings that it has no words for


def binary_of(build: Path, name: str) -> Path:
    return build / ("bench/jacobi/jacobi" if name == STUDY else f"programs/{name}")


def binary(build: Path, name: str) -> Path:
    file = binary_of(build, name)
    if not file.is_file():
        raise ExperimentError(f"program '{name}': there is no {file}", "build it: make programs, or name another build with --build")
    return file


def words(run: Run, program: str) -> list[str]:
    """The command line, without the environment. `program` is what it is called where it runs."""
    s = run.cell.settings
    if s["program"] == STUDY:
        pages = [] if s["placement"] == "first-touch" else ["--placement", s["placement"]]  # which it refuses by name
        return [program, "--variant", s["variant"], "--threads", str(s["threads"]), "--reps", str(s["repeat"]), "--label", run.label,
                "--json", *pages, *s["arguments"]]
    found = [program, "--variant", s["variant"], "--threads", str(s["threads"]), "--repeat", str(s["repeat"]), "--seed", str(run.seed),
             "--label", run.label, *(["--check"] if s["machine"] == HERE else []), "--json"]  # emulated, a check takes as long as the run
    for name, option, usual in (("size", "--size", None), ("warm_up", "--warm-up", 0), ("placement", "--placement", "first-touch"),
                                ("cpus", "--cpus", "all"), ("contention", "--contender", "none")):
        if s.get(name, usual) != usual:
            found += [option, str(s[name])]
    return [*found, *s["arguments"]]


def environment(run: Run) -> dict[str, str]:
    s = run.cell.settings
    given = {name.removeprefix("env."): value for name, value in s.items() if name.startswith("env.")}
    # A spinning OpenMP thread would take CPUs from those that it waits for: in the lab the host has few, and a
    # contender shares them. Without the contender the same, so that only the contender differs.
    shared = s["machine"] != HERE or run.contended
    return ({"OMP_WAIT_POLICY": "passive"} if shared else {}) | given


def shell_line(run: Run, program: str, extra: dict[str, str]) -> str:
    assignments = [f"{name}={shlex.quote(value)}" for name, value in (environment(run) | extra).items()]
    return " ".join([*assignments, *map(shlex.quote, words(run, program))])


def answer(run: Run, output: str) -> dict[str, Any]:
    """Columns of a row out of what the program printed: the last line of JSON. Raises ValueError with a reason."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise ValueError("the program printed no JSON")
    try:
        said = json.loads(lines[-1])
        found = _study(run, said) if run.cell.settings["program"] == STUDY else _driver(said)
    except (json.JSONDecodeError, KeyError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"the program's JSON is not as expected: {type(error).__name__}: {error}") from error
    numbers = [value for value in found.values() if isinstance(value, float)]
    if not all(math.isfinite(value) for value in numbers):
        raise ValueError("the program's JSON has a figure that is no number")
    return found


def _driver(said: dict[str, Any]) -> dict[str, Any]:
    return {"median_ms": float(said["median_ms"]), "ms": " ".join(f"{ms:.6g}" for ms in said["ms"]),
            "end_to_end_ms": float(sum(said["ms"]) + said["moving_ms"]), "moving_ms": float(said["moving_ms"]),
            "rate": float(said["rate"]), "unit": said["unit"], "at_home": said["at_home"], "pages": said["pages"],
            "moved_bytes": said["moved_bytes"], "note": said["note"], "result": said["result"],
            "ran_on_homing": said["homing"], "made_up": said["virtual"]}


def _study(run: Run, said: dict[str, Any]) -> dict[str, Any]:
    """Million site updates a second, of each repetition; times follow from the sites."""
    sites = math.prod(int(part) for part in said["grid"].split("x")) * said["sweeps"]
    ms = [sites / (rate * 1e3) for rate in said["mlups"]]
    median = float(said["mlups_median"])
    return {"median_ms": sites / (median * 1e3), "ms": " ".join(f"{t:.6g}" for t in ms), "end_to_end_ms": sum(ms),
            "moving_ms": 0.0, "rate": median, "unit": "MLUP/s", "at_home": float(said["share_at_home"]),
            "moved_bytes": 0, "result": "right" if said["checked"] else "not checked",
            "ran_on_homing": None, "made_up": said["virtual"]}
