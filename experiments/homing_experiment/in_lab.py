"""A batch of runs in one boot of a virtual machine. Times are those of the model's clock, lines are what the plugin counted in
the run's own region: modelled, not measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

from . import machines, programs
from .boots import Processors
from .design import Design
from .places import LIBRARY, Places, clean_environment, ended_with_us
from .plan import Run
from .responses import SERVED

BINDING = ("libtbbbind_2_5.so.3", "libhwloc.so.15")  # what stock's arenas with constraints are bound by
OUT_OF_TIME = 124  # the status of `homing lab run` that the limit ended
BEGIN, END = "@homing-experiment begin", "@homing-experiment end"


class BootFailed(Exception):
    """The virtual machine did not run; nothing of the batch is known."""


def guest_library(run: Run) -> dict[str, str]:
    return {"LD_LIBRARY_PATH": "/ours" if run.cell.settings["library"] == "homing" else "/stock"}


def script(batch: list[Run]) -> str:
    """A shell's text: each run between two marks; what it says on stderr becomes a file."""
    lines = []
    for number, run in enumerate(batch):
        line = programs.shell_line(run, f"/programs/{run.cell.settings['program']}", guest_library(run))
        lines.append(f"echo '{BEGIN} {number}'; {line} 2>/results/{number}.err; echo \"{END} {number} $?\"")
    return "\n".join(lines)


def command(design: Design, places: Places, batch: list[Run], results: Path) -> list[str]:
    s = batch[0].cell.settings
    files = {programs.binary(places.build, name): f"/programs/{name}" for name in sorted({run.cell.settings["program"] for run in batch})}
    files[places.library("homing")] = f"/ours/{LIBRARY}"
    if any(run.cell.settings["library"] == "stock" for run in batch):
        files[places.library("stock")] = f"/stock/{LIBRARY}"
        files |= {places.stock / name: f"/stock/{name}" for name in BINDING if (places.stock / name).is_file()}
    pages = "never" if s["huge_pages"] == "any" else s["huge_pages"]
    return [str(places.homing), "lab", "run", "--machine", machines.word(s["machine"], design.path), "--thp", pages, "--cache-scale", f"{s['cache_scale']:g}",
            *(["--memory", str(s["memory_mib"])] if s["memory_mib"] else []),
            "--timeout", str(design.limits["boot_s"]), "--results", str(results), "--virtual-clock", "--plain-words",
            *(f"--file={here}:{there}" for here, there in files.items()), "--", "/bin/sh", "-c", script(batch)]


class UnderWay:
    """The machines that run, of all threads; any may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    @contextmanager
    def having(self, process: subprocess.Popen[str]) -> Iterator[None]:
        with self._lock:
            self._processes.add(process)
            if self._stopped:
                process.terminate()
        try:
            yield
        except BaseException:
            process.terminate()  # `homing lab` switches the machine off
            raise
        finally:
            with self._lock:
                self._processes.discard(process)

    def stop(self) -> None:
        """For good: also those that begin later."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.terminate()


under_way = UnderWay()


def begins_on(processors: Processors | None) -> Callable[[], None]:
    """What a child does before its program."""
    ended = ended_with_us(signal.SIGTERM)

    def in_child() -> None:
        ended()
        if processors is not None:
            os.sched_setaffinity(0, processors)

    return in_child


def finish(words: list[str], environment: dict[str, str], errors: Path, ended: Callable[[], None],
           processors: Processors | None = None) -> tuple[int, str, str]:
    """Status and output; calls `ended` at the end of each run. Whatever stops us ends the virtual machine."""
    said = []
    with errors.open("w+", errors="replace") as stderr:
        with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True,
                              errors="replace", preexec_fn=begins_on(processors)) as process, under_way.having(process):
            for line in process.stdout or ():
                said.append(line)
                if line.startswith(END):
                    ended()
        stderr.seek(0)
        return process.returncode, "".join(said), stderr.read()


def run(design: Design, places: Places, batch: list[Run], ended: Callable[[], None],
        processors: Processors | None = None) -> list[dict[str, Any]]:
    """The part of a row for each run that has an answer, or that the boot's limit ended though it had the boot from
    its beginning; the others have none. Raises BootFailed if so no run has. `processors`: of the host; None: all."""
    parts = [parts_of(design, places, one) for one in batch]  # before the boot: a build may go on meanwhile
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="homing-experiment-") as scratch:
        results = Path(scratch)
        # Packing asks ldd, which has to find a libtbb.
        environment = clean_environment() | {"LD_LIBRARY_PATH": str(places.library("homing").parent)}
        status, output, error = finish(command(design, places, batch, results), environment, results / "stderr", ended, processors)
        counts = results / "counts.json"
        if not counts.is_file():
            raise BootFailed(f"homing lab run ended with status {status}: {(error or output).strip()[-800:]}")
        counted = json.loads(counts.read_text())
        if not counted["calibrated"]:
            raise BootFailed(f"the lab's map of memory failed its check: {counted['calibration']['error']}")
        regions = {region["label"]: region for region in counted["regions"]}
        rows = [row(number, one, output, results, regions) for number, one in enumerate(batch)]
    if not rows[0] and status == OUT_OF_TIME and f"{BEGIN} 0\n" in output:
        limit = f"ended after {design.limits['boot_s']} s, its boot included (limits.boot_s)"
        rows[0] = about(batch[0]) | {"status": "limit", "message": limit}
    if not any(rows):
        raise BootFailed(f"homing lab run ended with status {status}, and no run: {(error or output).strip()[-800:]}")
    seconds = (time.monotonic() - begun) / sum(map(bool, rows))
    return [found | {"parts": sum_, "host_seconds": seconds, "boot": len(batch)}
            for found, sum_ in zip(rows, parts) if found]


def parts_of(design: Design, places: Places, one: Run) -> str:
    """The sum over what the run is made of; of a machine's file, too."""
    s = one.cell.settings
    machine = [Path(machines.word(s["machine"], design.path))] if s["machine"].endswith(".toml") else []
    return places.sum_of(places.library(s["library"]), programs.binary(places.build, s["program"]), places.plugin,
                         *machine)


def about(one: Run) -> dict[str, Any]:
    return {"run": one, "kind": "modelled",
            "command": programs.shell_line(one, one.cell.settings["program"], guest_library(one))}


def row(number: int, one: Run, output: str, results: Path, regions: dict[str, Any]) -> dict[str, Any]:
    begin, _, rest = output.partition(f"{BEGIN} {number}\n")
    said, mark, after = rest.partition(f"{END} {number} ")
    if not mark:
        return {}
    status = after.splitlines()[0]
    error = results / f"{number}.err"
    message = error.read_text(errors="replace").strip()[-300:] if error.is_file() else ""
    found = about(one) | {"message": message}
    if status != "0":
        return found | {"status": "wrong" if status == "3" else "failed", "message": f"exit status {status}: {message}"}
    region = regions.get(one.label)
    try:
        found |= programs.answer(one, said)
    except ValueError as error_:
        return found | {"status": "failed", "message": str(error_)}
    if region is None:
        return found | {"status": "failed", "message": "the lab counted no region of this run"}
    lines = {name: int(region[name]) for name in SERVED}
    remote = lines["remote_cache"] + lines["remote_dram"]
    return found | lines | {"status": "ok", "virtual_ms": region["virtual_ns"] / 1e6, "remote_share": remote / max(1, sum(lines.values()))}
