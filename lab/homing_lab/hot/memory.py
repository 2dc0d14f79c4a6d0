"""What is where in the guest's programs: files, heap and stacks, from the notes of homing-lab-names.so."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ELF_PROGRAM, ELF_SHARED = 2, 3


@dataclass
class Mapping:
    low: int
    high: int
    offset: int  # in the file
    path: str  # in the guest; [heap] and [stack] as the kernel names them


@dataclass
class Thread:
    number: int
    low: int
    high: int
    frame: int  # of its first function: what is above is the thread's own descriptor and thread-local data
    function: int


class Memory:
    """`file_of` finds the host's file of a guest's path, or None."""

    def __init__(self, notes: Iterable[str], programs: Iterable[tuple[str, Path]] = ()) -> None:
        self.mappings: list[Mapping] = []
        self._lows: list[int] = []
        self.threads: list[Thread] = []
        # Ranges are given to others in the course of a run: the last word counts.
        for note in notes:
            words = note.split(" ", 4)
            try:
                if words[0] == "map" and len(words) == 5:
                    low, high = (int(part, 16) for part in words[2].split("-"))
                    self._put(Mapping(low, high, int(words[3], 16), words[4]))
                elif words[0] == "thread":
                    numbers = [int(word, 16) for word in note.split()[2:]]
                    self.threads.append(Thread(*numbers))
            except (ValueError, TypeError):
                continue  # a program that speaks to the lab by itself
        for guest, file in programs:
            # All of it or nothing: many programs have the same address, and what was said is sure.
            fixed = fixed_mappings(guest, file)
            if all(first == last for first, last in map(self._touched, fixed)):
                for new in fixed:
                    self._put(new)

    def _put(self, new: Mapping) -> None:
        """Takes the place of those that it touches; the others are in order and apart, so these are neighbours."""
        first, last = self._touched(new)
        self.mappings[first:last] = [new]
        self._lows[first:last] = [new.low]

    def _touched(self, new: Mapping) -> tuple[int, int]:
        first = bisect_right(self._lows, new.low)
        if first > 0 and self.mappings[first - 1].high > new.low:
            first -= 1
        return first, max(first, bisect_left(self._lows, new.high))

    def mapping(self, address: int) -> Mapping | None:
        index = bisect_right(self._lows, address) - 1
        if index >= 0 and address < self.mappings[index].high:
            return self.mappings[index]
        return None

    def thread(self, address: int) -> Thread | None:
        """The last thread whose stack that was."""
        return next((t for t in reversed(self.threads) if t.low <= address < t.high), None)


def fixed_mappings(guest: str, file: Path) -> list[Mapping]:
    """Of a program that is linked to fixed addresses: it needs no note, and may be static."""
    try:
        with file.open("rb") as opened:
            head = opened.read(64)
            if head[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", head, 16)[0] != ELF_PROGRAM:
                return []
            start, size, count = (
                struct.unpack_from("<Q", head, 32)[0],
                *struct.unpack_from("<HH", head, 54),
            )
            opened.seek(start)
            table = opened.read(size * count)
    except (OSError, struct.error):
        return []
    result = []
    for i in range(count):
        kind, _, offset, low, _, _, length, _ = struct.unpack_from("<IIQQQQQQ", table, i * size)
        if kind == 1:  # PT_LOAD
            result.append(Mapping(low, low + length, offset, guest))
    return result
