"""What a line that CPUs take from each other is: who uses which of its bytes, and whether they share them or only the
line."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from .names import KERNEL, Data, Names

# Less than this part of a line's accesses is a beginning or an end (a constructor, a last look), no use.
USE_LEAST = 0.01
# Members of objects that the heap holds, as the source names them where it loads or stores them.
MEMBER = re.compile(r"\b([A-Za-z_]\w*)(?:\[[^]]*\])?\s*(?:\.|->)\s*(?:load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set)\s*\(")
SHARED, FALSE_SHARING, BOTH = "shared", "false sharing", "shared, and false sharing"


@dataclass
class User:
    """A function that uses some bytes of a line."""

    function: str
    where: str
    module: str
    text: str
    part: str
    first: int
    last: int
    cpus: set[int] = field(default_factory=set)
    loads: int = 0
    stores: int = 0
    atomics: int = 0
    moves: int = 0
    far: int = 0
    wait_ns: float = 0

    @property
    def accesses(self) -> int:
        return self.loads + self.stores + self.atomics


@dataclass
class Line:
    address: int
    moves: int
    far: int
    wait_ns: float
    cpus: list[int]
    nodes: list[int]
    sharing: str
    data: Data
    parts: list[str]  # variables and fields that CPUs use
    users: list[User]
    members: list[str]  # of atomic operations, by the source


def sharing_of(line: dict[str, Any]) -> str:
    """By bytes: written by one CPU and used by another are shared; if there are none, only the line is."""
    total = sum(_accesses(site) for cpu in line["cpus"] for site in cpu["sites"])
    uses: dict[int, Counter[int]] = defaultdict(Counter)
    writes: dict[int, Counter[int]] = defaultdict(Counter)
    for cpu in line["cpus"]:
        for site in cpu["sites"]:
            for byte in range(site["offset"], site["offset"] + site["bytes"]):
                uses[byte][cpu["cpu"]] += _accesses(site)
                writes[byte][cpu["cpu"]] += site["stores"] + site["atomics"]
    least = USE_LEAST * total
    used = {byte: {cpu for cpu, n in by.items() if n > least} for byte, by in uses.items()}
    written = {byte: {cpu for cpu, n in by.items() if n > least} for byte, by in writes.items()}
    shared = {byte for byte, cpus in used.items() if len(cpus) > 1 and written[byte]}
    if not shared:
        users = set().union(*used.values()) if used else set()
        return FALSE_SHARING if len(users) > 1 and any(written.values()) else SHARED
    # Bytes beside the shared ones that one CPU writes, and others of the line's users do not touch.
    beside = [byte for byte, cpus in written.items() if byte not in shared and len(cpus) == 1 and len(used[byte]) == 1]
    owners = {next(iter(written[byte])) for byte in beside}
    return BOTH if len(owners) > 1 else SHARED


def _accesses(site: dict[str, Any]) -> int:
    return int(site["loads"] + site["stores"] + site["atomics"])


def examine(hot: dict[str, Any], names: Names, count: int) -> list[Line]:
    """The most fought-over lines. The lab's own preloaded libraries are no part of the program."""
    lines = hot["lines"][: 2 * count]
    names.learn(site["pc"] for line in lines for cpu in line["cpus"] for site in cpu["sites"] if site["pc"] < KERNEL)
    result = []
    for line in lines:
        if not all(names.is_ours(site["pc"]) for cpu in line["cpus"] for site in cpu["sites"]):
            result.append(_examine_one(line, names, hot["line_bytes"]))
    return result[:count]


def _examine_one(line: dict[str, Any], names: Names, line_bytes: int) -> Line:
    users = _users(line, names)
    least = USE_LEAST * sum(user.accesses for user in users)
    used: dict[str, int] = {}
    for user in sorted(users, key=lambda u: u.first):
        if user.part and user.accesses > least:
            used[user.part] = used.get(user.part, 0) + user.accesses
    first = min((user.first for user in users if user.accesses > least), default=0)
    data = names.data(line["address"] + first)
    return Line(
        address=line["address"],
        moves=line["moves"],
        far=line["far"],
        wait_ns=line["wait_ns"],
        cpus=[cpu["cpu"] for cpu in line["cpus"]],
        nodes=sorted({cpu["node"] for cpu in line["cpus"]}),
        sharing=sharing_of(line),
        data=data,
        parts=list(used),
        users=users,
        members=_members(users),
    )


def part_of(address: int, names: Names) -> str:
    """Variable and field of a byte."""
    data = names.data(address)
    if data.variable is None or data.elf is None:
        return ""
    way = data.elf.field(data.variable, data.offset)
    if not way and data.offset:
        return f"{data.name}+{data.offset}"
    return data.name + way


def _users(line: dict[str, Any], names: Names) -> list[User]:
    found: dict[tuple[str, str, int], User] = {}
    for cpu in line["cpus"]:
        for site in cpu["sites"]:
            place = names.code(site["pc"])
            key = (place.function, place.where, site["offset"])
            user = found.get(key)
            if user is None:
                user = found[key] = User(
                    function=place.function,
                    where=place.where,
                    module=names.module_name(site["pc"]),
                    text=_source(place.file, place.line),
                    part=part_of(line["address"] + site["offset"], names),
                    first=site["offset"],
                    last=site["offset"] + site["bytes"] - 1,
                )
            user.last = max(user.last, site["offset"] + site["bytes"] - 1)
            user.cpus.add(cpu["cpu"])
            user.loads += site["loads"]
            user.stores += site["stores"]
            user.atomics += site["atomics"]
            user.moves += site["moves"]
            user.far += site["far"]
            user.wait_ns += site["wait_ns"]
    return sorted(found.values(), key=lambda u: (-u.moves, -u.accesses, u.first, u.function))


def _members(users: list[User]) -> list[str]:
    """Those of the most moves first."""
    moves: Counter[str] = Counter()
    for user in users:
        for name in set(MEMBER.findall(user.text)):
            moves[name] += user.moves
    return [name for name, count in moves.most_common() if count]


_files: dict[str, list[str]] = {}


def _source(file: str, line: int) -> str:
    """The line of the source, where it is at hand: in an allocated object it names the field."""
    if not file or not line:
        return ""
    if file not in _files:
        try:
            with open(file, encoding="utf-8", errors="replace") as opened:
                _files[file] = opened.read().splitlines()
        except OSError:
            _files[file] = []
    text = _files[file]
    return text[line - 1].strip() if line <= len(text) else ""
