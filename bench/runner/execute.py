"""One run of one benchmark program on one library: start it, read its JSON lines, and say how it ended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .interruption import with_process

LIST_S_MAX = 60


@dataclass(frozen=True)
class Library:
    """A folder with a libtbb.so.12, the name it has in reports, and where the loader looks behind that folder."""

    name: str
    folder: Path
    behind: tuple[Path, ...] = ()


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
        names = {entry.value: entry.name for entry in signal.Signals}  # most real-time signals have none
        return f"crash ({names.get(-status, f'signal {-status}')})"
    return {2: "refused its options", 3: "wrong result"}.get(status, f"exit status {status}")


def how_it_ended(status: int | None, limit_s: float) -> str:
    return f"still running after {limit_s:.0f} s" if status is None else describe_exit(status)


def environment(library: Library, extra: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, (library.folder, *library.behind))), **extra}


def with_allocator(library: Library, stock: Path, scratch: Path) -> Library:
    """The library, where the loader finds the allocator beside stock's before any of the system's. Stock's takes that one only, so
    libtbb.so.12 is the only difference. A folder with a link, for ours is to keep its own libhwloc."""
    allocator = stock / "libtbbmalloc.so.2"
    if not allocator.exists():
        return library
    folder = scratch / "allocator"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / allocator.name
    link.unlink(missing_ok=True)
    link.symlink_to(allocator.resolve())
    return Library(library.name, library.folder, (folder.absolute(),))


def finish(command: list, env: dict[str, str], limit_s: float) -> tuple[int | None, str, str]:
    """Status, output and errors; no status if the time limit ended it. What the command has started ends with it, or with us."""
    def within_the_limit(process: subprocess.Popen) -> tuple[int | None, str, str]:
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            kill_all(process)
            return None, *process.communicate()
        return process.returncode, output, errors

    return with_process(command, within_the_limit, kill_all, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, errors="replace", env=env, start_new_session=True)


def kill_all(process: subprocess.Popen) -> None:
    """The process, and what it has started."""
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.killpg(process.pid, signal.SIGKILL)


def run(binary: Path, arguments: list[str], library: Library, extra: dict[str, str],
        limit_s: float) -> Outcome:
    """Runs `binary`; a process over its time limit is ended, and what it printed before is kept."""
    outcome = Outcome()
    begin = time.monotonic()
    status, output, errors = finish([binary, "--json", *arguments], environment(library, extra), limit_s)
    outcome.seconds = time.monotonic() - begin
    outcome.timed_out = status is None
    if status != 0:
        outcome.failure = how_it_ended(status, limit_s)
    outcome.message = errors.strip()[-2000:]
    read_lines(output, library, outcome)
    return outcome


def read_lines(output: str, library: Library, outcome: Outcome) -> None:
    for line in output.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a line cut short by the end of the process
        if not isinstance(entry, dict):
            continue  # a program that is wrong may print anything
        if "start" in entry:
            outcome.started = entry["start"]
        elif entry.keys() >= {"case", "iterations", "wall_ns", "cpu_ns"}:
            outcome.cases[entry["case"]] = entry
            outcome.started = None
        elif entry.keys() >= {"library", "version"}:
            outcome.version = entry["version"]
            loaded = Path(entry["library"]).resolve()
            if loaded.parent != library.folder.resolve():
                outcome.failure = f"ran on {loaded}, not on {library.name}"


def list_cases(binary: Path, library: Library, threads: int) -> list[dict]:
    """The cases a program has at this thread count, from its --list. Ends the campaign, with a line, if it has none to tell."""
    status, output, errors = finish([binary, "--list", "--threads", str(threads)], environment(library, {}), LIST_S_MAX)
    if status != 0:
        sys.exit(f"{binary} --list --threads {threads} on {library.name}: {how_it_ended(status, LIST_S_MAX)}: "
                 f"{errors.strip()[-500:]}")
    return [json.loads(line) for line in output.splitlines()]
