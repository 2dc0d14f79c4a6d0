"""One run of one benchmark program on one library: start it, read its JSON lines, and say how it ended."""

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Library:
    """A folder with a libtbb.so.12, and the name it has in reports."""

    name: str
    folder: Path


@dataclass
class Outcome:
    """What a process printed before it ended; `failure` is None if it ended well."""

    cases: dict = field(default_factory=dict)  # name -> {"iterations", "wall_ns", "cpu_ns"}
    version: str = ""
    started: str | None = None  # the case that was running at the end
    failure: str | None = None
    timed_out: bool = False
    message: str = ""
    seconds: float = 0.0


def describe_exit(status: int) -> str:
    if status < 0:
        return f"crash ({signal.Signals(-status).name})"
    return {2: "refused its options", 3: "wrong result"}.get(status, f"exit status {status}")


def environment(library: Library, extra: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(library.folder), **extra}


def run(binary: Path, arguments: list[str], library: Library, extra: dict[str, str],
        limit_s: float) -> Outcome:
    """Runs `binary`; a process over its time limit is ended, and what it printed before is kept."""
    outcome = Outcome()
    begin = time.monotonic()
    process = subprocess.Popen([binary, "--json", *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env=environment(library, extra))
    try:
        output, errors = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        outcome.timed_out = True
        outcome.failure = f"still running after {limit_s:.0f} s"
    outcome.seconds = time.monotonic() - begin
    if not outcome.timed_out and process.returncode != 0:
        outcome.failure = describe_exit(process.returncode)
    outcome.message = errors.strip()[-2000:]
    read_lines(output, library, outcome)
    return outcome


def read_lines(output: str, library: Library, outcome: Outcome) -> None:
    for line in output.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a line cut short by the end of the process
        if "start" in entry:
            outcome.started = entry["start"]
        elif "case" in entry:
            outcome.cases[entry["case"]] = entry
            outcome.started = None
        elif "library" in entry:
            outcome.version = entry["version"]
            loaded = Path(entry["library"]).resolve()
            if loaded.parent != library.folder.resolve():
                outcome.failure = f"ran on {loaded}, not on {library.name}"


def list_cases(binary: Path, library: Library, threads: int) -> list[dict]:
    """The cases a program has at this thread count, from its --list."""
    done = subprocess.run([binary, "--list", "--threads", str(threads)], capture_output=True,
                          text=True, check=True, env=environment(library, {}))
    return [json.loads(line) for line in done.stdout.splitlines()]
