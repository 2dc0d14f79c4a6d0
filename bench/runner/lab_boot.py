"""One boot of a virtual machine: all jobs of a program on both libraries, in a random order, on the model's clock.

A boot's outcome is kept in a file, with a key of all that it depends on, so that a campaign goes on where it was ended. A boot takes
seconds, and all programs together more than an hour: a boot each loses little when it is ended.
"""

import hashlib
import json
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .execute import Library, Outcome, describe_exit, read_lines
from .interruption import run_to_its_end

LOADED_BY_STOCK = ("libtbbbind*.so.[0-9]", "libhwloc.so.[0-9][0-9]")
QEMU_CRASHED = "QEMU ended (signal "  # says `homing lab run` then
BOOTS_MAX = 3  # of one outcome: an emulator that crashes says nothing of the libraries
# Where the libraries are in the guest: read_lines() rejects a run on another one.
GUEST = {"stock": Library("stock", Path("/stock")), "ours": Library("ours", Path("/ours"))}


@dataclass(frozen=True)
class LabJob:
    """One process in the guest: a program, its threads, its cases and how often each of them is run."""

    binary: Path
    threads: int
    cases: tuple[tuple[str, int], ...]

    def words(self, reps: int, seed: int) -> str:
        cases = ",".join(f"{name}={count}" for name, count in self.cases)
        return (f"/bench/{self.binary.name} --json --threads {self.threads} --reps {reps} "
                f"--seed {seed} --cases {cases}")


@dataclass
class Lab:
    """What every boot shares."""

    command: Path  # of `homing`
    libraries: dict[str, Path]  # the host's folders, by name
    timeout_s: int
    folder: Path  # of the kept outcomes
    parts: list[Path] = field(default_factory=list)  # files that decide the figures: plugin and guest parts
    only_kept: bool = False  # boot nothing
    quantum: int | None = None  # how far apart the CPUs' clocks may be, in cycles; None: the lab's own
    shapes: dict[str, dict] = field(default_factory=dict)  # of the machines, by name

    def environment(self) -> dict[str, str]:
        """The caller's without what would steer the libraries. Packing asks ldd, which has to find a libtbb; beside ours
        there is nothing else, beside stock's a libhwloc of its own."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("HOMING_", "HWLOC_", "TBB_", "LD_"))
                or name.startswith(("HOMING_LAB_", "HOMING_VENV"))}
        return kept | {"LD_LIBRARY_PATH": str(self.libraries["ours"])}

    def run(self, machine: str, results: Path, words: list[str], binaries: list[Path],
            options: tuple[str, ...] = ()) -> tuple[int, str]:
        """Exit status, and what was said."""
        files = {binary: f"/bench/{binary.name}" for binary in binaries}
        files |= {folder / "libtbb.so.12": f"/{name}/libtbb.so.12" for name, folder in self.libraries.items()}
        # What stock's loads at run time, where it is beside it.
        files |= {file: f"/{name}/{file.name}" for name, folder in self.libraries.items() for what in LOADED_BY_STOCK
                  for file in sorted(folder.glob(what)) if "_debug" not in file.name}
        if self.quantum is not None:
            options += ("--quantum", str(self.quantum))
        command = [str(self.command), "lab", "run", "--machine", machine, "--virtual-clock", *options,
                   "--timeout", str(self.timeout_s), "--results", str(results), "--plain-words",
                   *(f"--file={here}:{there}" for here, there in files.items()), "--", *words]
        done = run_to_its_end(command, env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return done.returncode, done.stdout

    def key(self, machine: str, *what: object) -> str:
        """Of everything that an outcome depends on."""
        shape = json.dumps(self.shapes.get(machine), sort_keys=True)
        sum_ = hashlib.sha256(repr((machine, shape, self.quantum, what)).encode())
        for file in (*self.parts, *(folder / "libtbb.so.12" for folder in self.libraries.values())):
            sum_.update(file.read_bytes())
        return sum_.hexdigest()

    def kept(self, name: str, key: str) -> dict | None:
        try:
            found = json.loads((self.folder / name).read_text())
        except (OSError, ValueError):
            return None
        return found if found.get("key") == key else None

    def keep(self, name: str, found: dict) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".part")
        beside.write_text(json.dumps(found) + "\n")
        beside.rename(file)


def script_of(jobs: list[LabJob], reps: int, seed: int, source: random.Random) -> str:
    """A shell's text: every job on both libraries, one after the other."""
    lines = []
    order = list(enumerate(jobs))
    source.shuffle(order)
    for number, job in order:
        names = list(GUEST)
        source.shuffle(names)
        for name in names:
            out = f"/results/{number}-{name}"
            lines.append(f"LD_LIBRARY_PATH=/{name} {job.words(reps, seed)} >{out}.jsonl 2>{out}.err; echo $? >{out}.status")
    return "\n".join(lines)


def outcome_of(results: Path, number: int, name: str) -> Outcome:
    """What a job printed, and how it ended."""
    def text(kind: str) -> str:
        try:
            return (results / f"{number}-{name}.{kind}").read_text(errors="replace")
        except OSError:
            return ""

    outcome = Outcome(message=text("err").strip()[-500:])
    status = text("status").strip()
    if status != "0":
        code = int(status or 0)
        # The shell says 128 + n for a signal, and there are 64.
        outcome.failure = describe_exit(128 - code if 128 < code <= 192 else code) if status else "did not end"
    read_lines(text("jsonl"), GUEST[name], outcome)
    return outcome


def boot(lab: Lab, machine: str, number: int, jobs: list[LabJob], reps: int, seed: int) -> dict | None:
    """Of one program's jobs: {"seconds", "failure", "lost", "jobs": [{library: {"cases": {case: [ns...]}, "failure"}}]}, kept or new;
    None if it is not kept and nothing is to boot."""
    name = f"{machine}/{jobs[0].binary.name}-{number}.json"
    key = lab.key(machine, "boot", number, jobs, reps, seed, *(job.binary.read_bytes() for job in jobs))
    found = lab.kept(name, key)
    if found is not None or lab.only_kept:
        return found
    found = until_no_crash(lambda: boot_once(lab, machine, number, jobs, reps, seed)) | {"key": key}
    if not found["failure"] and not any(entry[library]["failure"] for entry in found["jobs"] for library in GUEST):
        lab.keep(name, found)
    return found


def until_no_crash(once: Callable[[], dict]) -> dict:
    """Of a boot or two more where the emulator crashed, which says nothing of the libraries: {"lost": what was said of those}."""
    lost = []
    while True:
        found = once()
        if QEMU_CRASHED not in (found["failure"] or "") or len(lost) + 1 == BOOTS_MAX:
            return found | {"lost": lost}
        lost.append(found["failure"])


def boot_once(lab: Lab, machine: str, number: int, jobs: list[LabJob], reps: int, seed: int) -> dict:
    source = random.Random(f"{seed} {machine} {number}")
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-lab-") as scratch:
        results = Path(scratch)
        status, said = lab.run(machine, results, ["/bin/sh", "-c", script_of(jobs, reps, seed, source)],
                               sorted({job.binary for job in jobs}))
        found = {"machine": machine, "number": number,
                 "failure": None if status == 0 else f"homing lab run ended with status {status}: {said[-2000:]}",
                 "jobs": []}
        for index, _ in enumerate(jobs):
            entry = {}
            for library in GUEST:
                outcome = outcome_of(results, index, library)
                entry[library] = {"cases": {case: line["wall_ns"] for case, line in outcome.cases.items()},
                                  "version": outcome.version, "failure": outcome.failure,
                                  "message": outcome.message}
            found["jobs"].append(entry)
    found["seconds"] = time.monotonic() - begin
    return found


def hot(lab: Lab, machine: str, library: str, job: LabJob, reps: int, seed: int) -> dict | None:
    """hot.json of a boot for one job on one library, kept or new; None as above."""
    name = f"{machine}/hot-{library}.json"
    key = lab.key(machine, "hot", library, job, reps, seed, job.binary.read_bytes())
    found = lab.kept(name, key)
    if found is not None or lab.only_kept:
        return found
    found = until_no_crash(lambda: hot_once(lab, machine, library, job, reps, seed)) | {"key": key}
    if found["failure"] is None:
        lab.keep(name, found)
    return found


def hot_once(lab: Lab, machine: str, library: str, job: LabJob, reps: int, seed: int) -> dict:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-lab-") as scratch:
        text = f"export LD_LIBRARY_PATH=/{library}; exec {job.words(reps, seed)}"
        status, said = lab.run(machine, Path(scratch), ["/bin/sh", "-c", text], [job.binary], ("--hot",))
        file = Path(scratch) / "hot.json"
        found = {"machine": machine, "library": library, "threads": job.threads,
                 "failure": None if status == 0 and file.is_file() else f"status {status}: {said[-2000:]}",
                 "hot": json.loads(file.read_text()) if status == 0 and file.is_file() else None}
    return found | {"seconds": time.monotonic() - begin}
