"""Runs what is missing of a campaign, batch by batch; each batch's rows are on the disk before the next begins."""

from __future__ import annotations

import fcntl
import os
import platform
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator

from . import here, in_lab, rows, this_machine
from .boots import Begun, Boots, Processors, Rows, shares
from .design import Design
from .errors import ExperimentError
from .places import Places, tell
from .plan import Run, all_runs, missing
from .progress import Progress
from .settings import HERE, is_setting

BOOT_FAILURES_MAX = 3  # one after the other: the lab itself is broken


@dataclass
class Bounds:
    """How much of a campaign a call does; the next call goes on from there."""

    seconds: float | None = None
    runs: int | None = None
    retry: bool = False
    at_once: int = 1  # virtual machines


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Two campaigns that write one file would do runs twice."""
    real = path.resolve()  # by whatever name
    lock = real.with_name(f".{real.name}.lock")
    while True:
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            file = lock.open("w")
        except OSError as error:
            raise ExperimentError(f"can't write {lock}: {error.strerror}", "choose another file of rows with --rows") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ExperimentError(f"another `homing experiment run` writes {path}", "wait for it, or choose another file with --rows") from None
            if not lock.exists() or os.fstat(file.fileno()).st_ino != lock.stat().st_ino:
                continue  # the one before us has just removed it
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def host() -> str:
    """The computer outside: its processor, how many CPUs, and the kernel."""
    return f"{this_machine.model_name()}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}"


def finished_row(design: Design, places: Places, found: dict[str, Any], started: str, load: float) -> dict[str, Any]:
    run: Run = found["run"]
    s = run.cell.settings
    if found.get("status") == "ok" and found.get("ran_on_homing") not in (None, s["library"] == "homing"):
        found |= {"status": "failed", "message": f"it ran on another libtbb.so.12 than that of {s['library']}"}
    levels = {name: level for name, level in run.cell.levels if not is_setting(name)}
    environment = {name.removeprefix("env."): value for name, value in s.items() if name.startswith("env.")}
    return {"host_load": load} | found | levels | {name: value for name, value in s.items() if not name.startswith("env.")} | {
        "design": design.hash, "run": run.key, "block": run.block, "place": run.place, "cell": run.cell.key, "run_seed": run.seed,
        "started": started, "commit": places.commit, "host": host(), "environment": environment,
        "this_machine": design.moved.column if design.moved else None}


def run(design: Design, places: Places, store: rows.Rows, bounds: Bounds, progress: Progress,
        do: Callable[..., Rows] | None = None) -> dict[str, Any]:
    """Does what is missing within the bounds, as the only writer of the rows. Returns what `status` returns. `do` runs
    a batch; without it, the machine's own."""
    dealt = shares(bounds.at_once)
    store.mend()
    stood = store.load()
    here.refuse_what_is_missing(design, places)
    batches = missing(design, rows.done(stood, bounds.retry))
    if bounds.at_once > 1 and any(one.cell.settings["machine"] == HERE for batch in batches for one in batch):
        raise ExperimentError(f"--at-once {bounds.at_once}: a run on this machine has it for itself", "leave it out", code=2)
    progress.begin(sum(len(batch) for batch in batches), len(all_runs(design)))

    def rows_of(begun: Begun, processors: Processors | None) -> Rows:
        runner = do or (here.run if begun.batch[0].cell.settings["machine"] == HERE else in_lab.run)
        share = {} if processors is None else {"processors": processors}
        return runner(design, places, begun.batch, progress.ended, **share)

    todo = ToDo(batches, bounds)
    with Boots(dealt, rows_of, in_lab.under_way.stop) as boots:
        while True:
            while boots.has_room() and (batch := todo.next()):
                progress.batch(batch)
                boots.begin(Begun(batch, datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), os.getloadavg()[0]))
            if not boots.busy():
                break
            begun, future = boots.ended()
            try:
                found = future.result()
            except in_lab.BootFailed as error:
                todo.failed(begun.batch, error)
                continue
            finished = [finished_row(design, places, one, begun.started, begun.load) for one in found]
            store.add(finished)
            todo.finished(begun.batch, {row["run"] for row in finished})
            progress.done(finished)
    progress.end()
    return status(design, store)


class ToDo:
    """The batches that are left, within the bounds. A boot that failed has another at the end, once."""

    def __init__(self, batches: list[list[Run]], bounds: Bounds) -> None:
        self._batches, self._bounds = batches, bounds
        self._begun = time.monotonic()
        self._asked = 0  # runs that are done, or under way
        self._failures = 0  # one after the other
        self._had_another: set[str] = set()  # the first runs of those

    def next(self) -> list[Run]:
        """Empty: nothing more is to begin."""
        late = self._bounds.seconds is not None and time.monotonic() - self._begun >= self._bounds.seconds
        if not self._batches or late:
            return []
        most = len(self._batches[0]) if self._bounds.runs is None else self._bounds.runs - self._asked
        if most <= 0:
            return []
        batch = self._batches.pop(0)[:most]
        self._asked += len(batch)
        return batch

    def finished(self, batch: list[Run], known: set[str]) -> None:
        self._failures = 0
        left = [one for one in batch if one.key not in known]
        if left:
            tell(f"a virtual machine ended before {len(left)} of its {len(batch)} runs did: they have another")
            self._asked -= len(left)
            self._batches.insert(0, left)

    def failed(self, batch: list[Run], error: in_lab.BootFailed) -> None:
        self._failures += 1
        self._asked -= len(batch)
        has_had_another = batch[0].key in self._had_another
        then = "stay to be done" if has_had_another else "have another at the end"
        tell(f"a virtual machine failed, and its {len(batch)} runs {then}: {error}")
        if self._failures == BOOT_FAILURES_MAX:
            raise ExperimentError(f"{self._failures} virtual machines failed, one after the other",
                                  "try one by hand: homing lab run -- true") from error
        if not has_had_another:
            self._had_another.add(batch[0].key)
            self._batches.append(batch)


def moved_to(design: Design) -> dict[str, Any]:
    """What JSON says of a campaign that is on a real machine in place of its file's."""
    return {"this_machine": design.moved.machine, "changes": design.moved.told} if design.moved else {}


def status(design: Design, store: rows.Rows) -> dict[str, Any]:
    stood = store.load()
    last = {row["run"]: row for row in stood}
    plan = {run.key for run in all_runs(design)}
    bad = [row for key, row in last.items() if row["status"] != "ok"]
    seconds = [float(row["host_seconds"]) for row in stood if row["host_seconds"]]
    left = len(plan - set(last))
    return {"schema": 1, "name": design.name, "design": design.hash, "rows": str(store.path), "cells": len(design.cells),
            "replicates": design.replicates, "runs": len(plan), "done": len(plan & set(last)), "left": left,
            "failed": [{"run": row["run"], "status": row["status"], "message": row["message"], "command": row["command"]} for row in bad],
            "seconds_a_run": sum(seconds) / len(seconds) if seconds else None,
            "seconds_left": left * sum(seconds) / len(seconds) if seconds else None,
            "builds": rows.builds(stood), "commits": sorted({row["commit"] for row in stood}),
            **moved_to(design)}
