"""Runs one program once on one library: time, results, the library really loaded, and Homing's own counts."""

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from libraries import Library, WrongLibrary
from programs.base import Failure, Place, Program
from results import Results

LIMIT_S = 120
"""A run that takes longer hangs."""


@dataclass
class Run:
    """What one run gave. `failure` is set, and nothing else is to be trusted, if it did not work.

    `cpu_seconds` is the whole process's CPU time, all threads together, also where `seconds` is of a part.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    results: Results = field(default_factory=dict)
    reports: list[dict] = field(default_factory=list)
    failure: str | None = None
    command: str = ""


def _start(argv: list[str], env: dict[str, str], folder: Path, out: Path) -> tuple[float, str | None]:
    """Runs one command to its end; returns its CPU time in seconds and what went wrong, or None."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open("wb") as stdout, out.with_suffix(".err").open("wb") as stderr:
        process = subprocess.Popen(argv, cwd=folder, env=env, stdout=stdout, stderr=stderr,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 0.0, f"did not end in {LIMIT_S} s"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code == 0:
        return cpu, None
    said = out.with_suffix(".err").read_text(errors="replace").strip().splitlines()
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return cpu, how + (f": {said[-1][:200]}" if said else "")


def run_once(program: Program, library: Library, inputs: Path, scratch: Path, *, threads: int,
             extra: dict[str, str]) -> Run:
    """Runs all of the program's commands, one after another, in an emptied `scratch`."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    place = Place(inputs=inputs, out=scratch, threads=threads, libtbb=library.file)
    run = Run()
    commands: list[str] = []
    try:
        for index, step in enumerate(program.steps(place)):
            report = scratch / f"report{index}.json"
            env = library.environment(scratch, extra | step.env | {"HOMING_REPORT": str(report)})
            shown = {name: env[name] for name in ("LD_LIBRARY_PATH", *extra, *step.env)}
            commands.append(" ".join([*(f"{name}={shlex.quote(value)}" for name, value in shown.items()),
                                      shlex.join(step.argv)]))
            run.command = " && ".join([f"cd {shlex.quote(str(scratch))}", *commands])
            start = time.perf_counter()
            cpu, problem = _start(step.argv, env, scratch, scratch / f"stdout{index}")
            if step.timed:
                run.seconds += time.perf_counter() - start
                run.cpu_seconds += cpu
            if problem:
                raise Failure(problem)
            library.check_loaded(scratch)
            if report.exists():
                run.reports += [json.loads(line) for line in report.read_text().splitlines()]
        run.results = program.results(place)
        # A client that times its work alone, without making its input, says so; that figure is then the run's.
        own = run.results.pop("seconds", None)
        if own is not None:
            run.seconds = float(str(own))
    except (Failure, WrongLibrary, OSError, ValueError, KeyError) as problem:
        run.failure = str(problem) or type(problem).__name__
    return run
