"""Names of addresses in an ELF file: functions and source lines by binutils, variables by its symbols, fields by DWARF."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

from .fields import Fields

PAGE = 4096
# Frames that say how, not what: the standard library, and wrappers of atomic operations.
WRAPPER = re.compile(r"^(std::|__gnu_cxx::|operator new|operator delete|homing::sync::atomic\b)")
WRAPPER_FILES = re.compile(r"^/usr/(include|lib)/|/atomic(_base|_wait)?\.(hpp|h)$")


@dataclass(frozen=True)
class Place:
    """A place in the code, in a function that was compiled or inlined there."""

    function: str
    file: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        return f"{Path(self.file).name}:{self.line}" if self.file and self.line else ""


@dataclass(frozen=True)
class Variable:
    name: str
    address: int
    size: int


class Elf:
    """One file of the host. Addresses are those of its symbols."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._segments: list[tuple[int, int, int]] = []  # file offset, address, bytes
        self._fields: Fields | None = None
        self._variables: list[Variable] | None = None
        self._functions: list[Variable] | None = None
        self._read_segments()

    def _read_segments(self) -> None:
        try:
            with self.file.open("rb") as opened:
                head = opened.read(64)
                if head[:5] != b"\x7fELF\x02":
                    return
                start = struct.unpack_from("<Q", head, 32)[0]
                size, count = struct.unpack_from("<HH", head, 54)
                opened.seek(start)
                table = opened.read(size * count)
        except (OSError, struct.error):
            return
        for i in range(count):
            kind, _, offset, low, _, _, length, _ = struct.unpack_from("<IIQQQQQQ", table, i * size)
            if kind == 1:
                self._segments.append((offset, low, length))

    @property
    def extent(self) -> tuple[int, int]:
        """Its addresses, memory that is not in the file included."""
        if not self._segments:
            return 0, 0
        return min(s[1] for s in self._segments), max(s[1] + s[2] for s in self._segments)

    def bias(self, low: int, offset: int) -> int | None:
        """What was added to its addresses if its page at `offset` is at `low`."""
        for first, address, _ in self._segments:
            if first & ~(PAGE - 1) == offset:
                return low - (address & ~(PAGE - 1))
        return None

    def _symbols(self, kinds: str) -> list[Variable]:
        found: dict[int, Variable] = {}
        for words in (["-S", "-C"], ["-D", "-S", "-C"]):
            for line in _run(["nm", *words, "--defined-only", str(self.file)]).splitlines():
                match = re.match(r"([0-9a-f]+) ([0-9a-f]+) (\w) (.+)", line)
                if match and match[3] in kinds:
                    address = int(match[1], 16)
                    known = Variable(match[4].split("@@")[0], address, int(match[2], 16))
                    if address not in found or found[address].size < known.size:
                        found[address] = known
        return sorted(found.values(), key=lambda v: v.address)

    def variable(self, address: int) -> Variable | None:
        if self._variables is None:
            self._variables = self._symbols("bBdDrRuVvsS")
        return _holding(self._variables, address)

    def variables_between(self, low: int, high: int) -> list[Variable]:
        self.variable(low)
        return [v for v in self._variables or [] if v.address < high and low < v.address + v.size]

    def field(self, variable: Variable, offset: int) -> str:
        """The way to a byte of a variable, such as `.head.count`; "" if DWARF does not say."""
        if self._fields is None:
            self._fields = Fields(self.file)
        return self._fields.way(variable.address, offset)

    @property
    def has_fields(self) -> bool:
        return self._fields is not None and self._fields.known

    def places(self, addresses: list[int]) -> dict[int, list[Place]]:
        """For each address its functions, those that were inlined first."""
        result: dict[int, list[Place]] = {}
        if not addresses:
            return result
        words = "".join(f"{address:#x}\n" for address in addresses)
        current: list[Place] | None = None
        function = ""
        for line in _run(["addr2line", "-a", "-C", "-f", "-i", "-e", str(self.file)], words).splitlines():
            if re.fullmatch(r"0x[0-9a-f]{8,16}", line):
                current = result.setdefault(int(line, 16), [])
                function = ""
            elif current is not None and not function:
                function = line
            elif current is not None:
                file, _, number = line.rpartition(":")
                digits = re.match(r"\d+", number)
                known = file not in ("", "??") and digits is not None
                current.append(Place(function, file if known else "", int(digits[0]) if digits else 0))
                function = ""
        return {address: self._with_symbol(address, places) for address, places in result.items()}

    def _with_symbol(self, address: int, places: list[Place]) -> list[Place]:
        """The compiled function by its symbol, which has the whole name. Without debug information binutils answers with
        the nearest symbol, however far; then only one that holds the address is an answer."""
        if self._functions is None:
            self._functions = self._symbols("tTwWi")
        found = _holding(self._functions, address)
        known = bool(places) and places[-1].file != ""
        if found is None:
            return places if known else []
        return [*places[:-1], Place(found.name, places[-1].file, places[-1].line)] if known else [Place(found.name)]


def _holding(symbols: list[Variable], address: int) -> Variable | None:
    index = bisect_right(symbols, address, key=lambda v: v.address) - 1
    if index >= 0 and address < symbols[index].address + max(1, symbols[index].size):
        return symbols[index]
    return None


def _run(words: list[str], given: str = "") -> str:
    if shutil.which(words[0]) is None:
        return ""
    try:
        done = subprocess.run(words, input=given, capture_output=True, text=True, errors="replace", timeout=300)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def telling(places: list[Place]) -> Place | None:
    """The innermost function that is the program's own, not a wrapper."""
    for place in places:
        if not WRAPPER.match(place.function) and not WRAPPER_FILES.search(place.file):
            return place
    return places[-1] if places else None


def short(name: str, most: int = 90) -> str:
    """A function's name without its arguments, and without what its templates are filled with."""
    text = re.sub(r"\{[^{}]*\}", "{}", name).replace("{}", "{..}")  # lambdas
    text = text.replace("operator()", "operator\x01").replace("(anonymous namespace)", "\x02")
    result, depth = [], 0
    for letter in text:
        if letter == "(" and depth == 0:
            break
        if letter == "<" and not "".join(result).endswith("operator"):
            result.append("<..>" if depth == 0 else "")
            depth += 1
        elif letter == ">" and depth:
            depth -= 1
        elif depth == 0:
            result.append(letter)
    plain = "".join(result).strip().replace("\x01", "()").replace("\x02", "(anonymous)")
    return plain if len(plain) <= most else ".." + plain[2 - most :]
