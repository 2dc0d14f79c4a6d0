"""What a program computed, in a form that two runs can be compared by: exactly where the result must be exact."""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Close:
    """A number whose last digits may depend on the order of additions: equal within `relative` or `absolute`."""

    number: float
    relative: float = 1e-9
    absolute: float = 0.0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Close) and math.isclose(
            self.number, other.number, rel_tol=self.relative, abs_tol=self.absolute
        )

    __hash__ = None  # equality within a tolerance is not transitive

    def __str__(self) -> str:
        return repr(self.number)


Results = dict[str, str | Close]


def parse_lines(text: str) -> Results:
    """Reads a client's `name value` lines; a value that ends in `~` is a Close."""
    results: Results = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        results[name] = Close(float(value[:-1])) if value.endswith("~") else value
    return results


def checksum(data: bytes) -> str:
    """The SHA-256 of data that must not be empty."""
    if not data:
        raise ValueError("a result is empty")
    return hashlib.sha256(data).hexdigest()


def file_checksum(path: Path) -> str:
    """The SHA-256 of a file that must not be empty."""
    return checksum(path.read_bytes())


def differences(wanted: Results, got: Results) -> list[str]:
    """One line for each result that differs; an empty list means that the runs agree."""
    if not wanted:
        return ["there is nothing to compare"]
    lines = []
    for name in sorted(wanted.keys() | got.keys()):
        a, b = wanted.get(name), got.get(name)
        if a is None or b is None or a != b:
            lines.append(f"{name}: {b} instead of {a}")
    return lines
