"""A machine: nodes, caches, distances, timing, and where each figure is from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .keys import Matrix

LINE_BYTES = 64


@dataclass
class Node:
    index: int
    cpus: int
    memory_mib: int
    bandwidth_gbs: float
    socket: int
    l3_groups: int


@dataclass
class Cache:
    size_kib: float
    ways: int
    latency_ns: float
    written_ns: float  # what one core wrote and still holds, for another one of the same last level


@dataclass
class Link:
    """Joins two sets of nodes; requests from `first` to `second` use one direction of it."""

    first: list[int]
    second: list[int]
    gbs: float
    one_way: bool


@dataclass
class Machine:
    """Bandwidths and shared caches are in balance with the virtual machine's cores; see `balance`."""

    name: str
    title: str
    source: str
    file: Path
    clock_ghz: float
    cpi: float
    overlap: int
    threads_per_core: int
    nodes: list[Node]
    private: Cache
    shared: Cache
    slit: list[list[int]]
    dram_ns: Matrix
    cache_ns: Matrix
    pair_gbs: Matrix | None
    links: list[Link]
    routes: dict[tuple[int, int], list[int]]
    sources: dict[str, str]
    assumed: dict[str, str]
    full: dict[str, float] = field(default_factory=dict)  # of the real machine
    cache_scale: float = 1
    core: dict[str, float] = field(default_factory=dict)  # core.FIGURES

    @property
    def cpu_count(self) -> int:
        return sum(node.cpus for node in self.nodes)

    @property
    def core_count(self) -> int:
        return self.cpu_count // self.threads_per_core

    @property
    def balance(self) -> float:
        """The share of the real machine's cores that are here: what cores have in common is as
        much smaller, so that what they saturate there they saturate here."""
        return min(1, self.core_count / self.full.get("cores", self.core_count))

    @property
    def memory_nodes(self) -> list[Node]:
        return [node for node in self.nodes if node.memory_mib]

    @property
    def memory_mib(self) -> int:
        return sum(node.memory_mib for node in self.nodes)

    @property
    def cpu_nodes(self) -> list[int]:
        """The node of each CPU: CPUs are numbered node after node."""
        return [node.index for node in self.nodes for _ in range(node.cpus)]

    @property
    def cpu_cores(self) -> list[int]:
        """The core of each CPU: the threads of a core are neighbours."""
        return [cpu // self.threads_per_core for cpu in range(self.cpu_count)]

    @property
    def l3_nodes(self) -> list[int]:
        """The node of each shared cache."""
        return [node.index for node in self.nodes if node.cpus for _ in range(node.l3_groups)]

    @property
    def cpu_l3(self) -> list[int]:
        """The shared cache of each CPU."""
        result, before = [], 0
        for node in self.nodes:
            if node.cpus:
                size = node.cpus // node.l3_groups
                result += [before + cpu // size for cpu in range(node.cpus)]
                before += node.l3_groups
        return result
