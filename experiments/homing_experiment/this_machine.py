"""The machine that this command runs on, as this process may use it; and what of a campaign's settings it can't have."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

NODES = Path("/sys/devices/system/node")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
MADE_UP = "env.HOMING_TOPOLOGY"


@dataclass(frozen=True)
class Machine:
    model: str
    cpus: dict[int, int]  # how many this process may use, by node; no node without
    memory: list[int]  # the nodes whose memory it may use
    huge_pages: str  # the kernel's setting

    @property
    def text(self) -> str:
        count, nodes = sum(self.cpus.values()), len({*self.cpus, *self.memory})
        return f"{self.model}, {count} CPU{'s' if count > 1 else ''} on {nodes} node{'s' if nodes > 1 else ''}"

    def room(self, s: dict[str, Any]) -> int:
        """How many threads of a run have a CPU of their own."""
        return sum(self.cpus.values()) if s["cpus"] == "all" else self.cpus.get(_node(s["cpus"]), 0)

    def lacks(self, s: dict[str, Any]) -> list[str]:
        """What of a run's settings this machine can't have, each in words that name it."""
        found = []
        if s["huge_pages"] not in ("any", self.huge_pages):
            found.append(f"huge_pages = \"{s['huge_pages']}\": {THP} says {self.huge_pages}; root may write {s['huge_pages']} into it")
        room = self.room(s)
        if s["cpus"] == "all" and s["threads"] > room:
            found.append(f"threads = {s['threads']}: this process may use {room} CPUs")
        elif s["threads"] > room > 0:
            found.append(f"threads = {s['threads']} on cpus = \"{s['cpus']}\": this process may use {room} CPUs there")
        if s["placement"].startswith("node:") and _node(s["placement"]) not in self.memory:
            found.append(f"placement = \"{s['placement']}\": there is no such node with memory for this process")
        if room == 0:
            found.append(f"cpus = \"{s['cpus']}\": there is no such node with CPUs for this process")
        nodes = s["contention"].partition("@")[2]
        if MADE_UP not in s and any(int(node) not in self.cpus for node in filter(None, nodes.split(","))):
            found.append(f"contention = \"{s['contention']}\": not all of these nodes are there with CPUs for this process")
        return found


def _node(text: str) -> int:
    return int(text.removeprefix("node:"))


def model_name() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))), platform.machine())


def _numbers(text: str) -> set[int]:
    """Of the kernel's lists, such as 0-3,8."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _memory_allowed() -> set[int]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((_numbers(line.partition(":")[2]) for line in lines if line.startswith("Mems_allowed_list:")), {0})


def found() -> Machine:
    usable = os.sched_getaffinity(0)
    cpus = {int(folder.name.removeprefix("node")): len(usable & _numbers((folder / "cpulist").read_text()))
            for folder in NODES.glob("node[0-9]*")}
    with_memory = NODES / "has_memory"
    memory = sorted(_numbers(with_memory.read_text()) & _memory_allowed()) if with_memory.is_file() else [0]
    mode = THP.read_text().partition("[")[2].partition("]")[0] if THP.is_file() else "never"
    return Machine(model_name(), {node: count for node, count in sorted(cpus.items()) if count} or {0: len(usable)}, memory, mode)


def as_json(machine: Machine) -> dict[str, Any]:
    return asdict(machine) | {"cpus": {str(node): count for node, count in machine.cpus.items()}}


def from_json(said: Any) -> Machine:
    """Raises ValueError if that is no machine."""
    try:
        machine = Machine(said["model"], {int(node): count for node, count in said["cpus"].items()}, said["memory"], said["huge_pages"])
        good = all(type(one) is int for one in (*machine.cpus.values(), *machine.memory))
        if good and isinstance(machine.model, str) and isinstance(machine.huge_pages, str):
            return machine
    except (AttributeError, KeyError, TypeError):
        pass
    raise ValueError("no machine")
