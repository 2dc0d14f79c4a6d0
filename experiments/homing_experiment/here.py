"""One run on this machine, measured; with the CPU's own counters of near and far memory if the campaign asks for them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import programs, this_machine
from .design import Design
from .errors import ExperimentError
from .places import ROOT, Places, clean_environment, ended_with_us
from .plan import Run
from .settings import HERE


def with_counters(places: Places, report: Path, words: list[str]) -> list[str]:
    """The words in homing-count, which counts what they start, whatever library that runs on: from its beginning to its end."""
    return [str(places.count), str(report), *words]


def counters_missing(places: Places) -> str:
    """What keeps the CPU's events from being counted here; empty if nothing does."""
    if not places.count.is_file():
        return f"there is no {places.count} (make programs)"
    with tempfile.TemporaryDirectory(prefix="homing-experiment-") as scratch:
        report = Path(scratch) / "report"
        subprocess.run(with_counters(places, report, ["/bin/true"]), env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True)
        return traffic(report).get("reason", "")


def traffic(report: Path) -> dict[str, Any]:
    """`near` and `far`, or a `reason`."""
    try:
        said = json.loads(report.read_text())
        return {"reason": str(said["reason"])} if "reason" in said else {"near": int(said["near"]), "far": int(said["far"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"reason": "homing-count wrote nothing that can be read"}


def refuse_what_is_missing(design: Design, places: Places) -> None:
    """Before anything runs: what this machine lacks for the campaign, each by its name. Raises ExperimentError."""
    wanted = [cell for cell in design.cells if cell.settings["machine"] == HERE]
    if not wanted:
        return
    missing = []
    if design.limits["counters"] == "required":
        reason = counters_missing(places)
        if reason:
            missing.append(f"counters of near and far memory (limits.counters = \"required\"): {reason}")
    machine = this_machine.found()
    missing += dict.fromkeys(reason for cell in wanted for reason in machine.lacks(cell.settings))
    if missing:
        raise ExperimentError(f"this machine lacks what {design.path.name} asks for:\n  " + "\n  ".join(missing),
                              "or name a virtual one: machine = \"westmere\"" if design.moved is None else
                              "or ask for no counters: limits.counters = \"wanted\"")


def run(design: Design, places: Places, batch: list[Run], ended: Callable[[], None]) -> list[dict[str, Any]]:
    (one,) = batch
    s = one.cell.settings
    words = programs.words(one, str(programs.binary(places.build, s["program"])))
    library = str(places.library(s["library"]).parent)
    own = programs.environment(one) | {"LD_LIBRARY_PATH": library}
    found: dict[str, Any] = {
        "run": one, "kind": "measured", "boot": 1, "host_load": os.getloadavg()[0],
        "parts": places.sum_of(places.library(s["library"]), programs.binary(places.build, s["program"])),
        "command": programs.shell_line(one, s["program"], {"LD_LIBRARY_PATH": library.removeprefix(f"{ROOT}/")})}
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="homing-experiment-") as scratch:
        report = Path(scratch) / "report"
        counted = design.limits["counters"] != "none"
        if counted and places.count.is_file():
            words = with_counters(places, report, words)
        status, said, message = finish(words, clean_environment() | own, design.limits["run_s"])
        seen = {} if not counted else traffic(report) if places.count.is_file() else {"reason": counters_missing(places)}
    found["host_seconds"] = time.monotonic() - begun
    ended()
    if status is None:
        return [found | {"status": "limit", "message": f"ended after {design.limits['run_s']} s (limits.run_s)"}]
    if status != 0:
        return [found | {"status": "wrong" if status == 3 else "failed", "message": f"exit status {status}: {message}"}]
    try:
        found |= programs.answer(one, said)
    except ValueError as error:
        return [found | {"status": "failed", "message": str(error)}]
    if found.pop("made_up"):
        found["kind"] = "virtual"
    return [found | {"status": "ok", "message": seen.get("reason", ""), "near": seen.get("near"), "far": seen.get("far")}]


def end_group(leader: int) -> None:
    """Ends a process and all that it started, if any of them is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def finish(words: list[str], environment: dict[str, str], limit_s: float) -> tuple[int | None, str, str]:
    """Status, output and the end of stderr; no status if the time limit ended it and all that it started."""
    process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True,
                               preexec_fn=ended_with_us(signal.SIGKILL))
    try:
        said, error = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        end_group(process.pid)
        process.communicate()
        return None, "", ""
    except BaseException:
        end_group(process.pid)
        process.wait()
        raise
    return process.returncode, said, error.strip()[-300:]
