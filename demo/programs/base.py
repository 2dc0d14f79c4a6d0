"""What every program of the demo offers: its input, its commands, and the results to compare."""

import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from results import Results

CLIENTS = Path(__file__).resolve().parent.parent / "clients"
SEED = 20260


class Failure(Exception):
    """A program could not be prepared or run; the message says why, for a person."""


@dataclass(frozen=True)
class Place:
    """Where one run happens. `out` is empty at the start of the run and belongs to it."""

    inputs: Path
    out: Path
    threads: int
    libtbb: Path

    def stdout(self, index: int = 0) -> str:
        """What the command of that index wrote to its standard output."""
        return (self.out / f"stdout{index}").read_text()


@dataclass(frozen=True)
class Step:
    """One command of a program, run in the place's `out` folder. Only timed steps count in the times."""

    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    timed: bool = True


class Program(ABC):
    """A real program that uses TBB, run as its distributor built it."""

    name: str
    title: str
    timed: str = "the whole process"

    @abstractmethod
    def prepare(self, inputs: Path) -> None:
        """Makes the seeded input, and compiles the client if the program is a library; run once."""

    @abstractmethod
    def steps(self, place: Place) -> list[Step]:
        """The commands of one run, in order."""

    @abstractmethod
    def results(self, place: Place) -> Results:
        """What the run computed. `seconds`, if there, is the run's own time and is not compared."""


def compile_client(name: str, inputs: Path, flags: list[str]) -> None:
    """Compiles clients/NAME.cpp with Debian's compiler and headers, unless it is already up to date."""
    source, binary = CLIENTS / f"{name}.cpp", inputs / name
    if binary.exists() and binary.stat().st_mtime > source.stat().st_mtime:
        return
    command = ["g++", "-std=c++17", "-O2", str(source), "-o", str(binary), *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")
