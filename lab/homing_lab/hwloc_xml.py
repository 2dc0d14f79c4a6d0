"""A machine as hwloc's XML, for HWLOC_XMLFILE, HOMING_TOPOLOGY and everything that reads hwloc."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from .machine import Machine, Node

MIB = 1 << 20


def mask(bits: Iterable[int]) -> str:
    """hwloc's form of a set: words of 32 bits, the highest first."""
    value, words = sum(1 << bit for bit in set(bits)), list[str]()
    while value or not words:
        words.append(f"0x{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(reversed(words))


@dataclass
class Object:
    kind: str
    index: int | None
    cpus: list[int]
    nodes: list[int]
    children: list[Object] = field(default_factory=list)
    extra: str = ""

    def lines(self, depth: int = 1) -> list[str]:
        number = "" if self.index is None else f' os_index="{self.index}"'
        cpus, nodes = mask(self.cpus), mask(self.nodes)
        head = (
            f'{"  " * depth}<object type="{self.kind}"{number} '
            f'cpuset="{cpus}" complete_cpuset="{cpus}" '
            f'nodeset="{nodes}" complete_nodeset="{nodes}"'
        )
        if depth == 1:
            head += f' allowed_cpuset="{cpus}" allowed_nodeset="{nodes}"'
        result = [f'{head} gp_index="{{}}"{self.extra}>']
        for child in self.children:
            result += child.lines(depth + 1)
        return result + [f"{'  ' * depth}</object>"]


def _cache(kind: str, depth: int, kib: float, ways: int) -> str:
    return (
        f' cache_size="{int(kib * 1024)}" depth="{depth}" cache_linesize="64" '
        f'cache_associativity="{ways}" cache_type="0"'
    )


def _memory(node: Node, cpus: list[int]) -> Object:
    return Object(
        "NUMANode", node.index, cpus, [node.index], extra=f' local_memory="{node.memory_mib * MIB}"'
    )


def _groups(machine: Machine, node: Node, first: int) -> list[Object]:
    """The L3 groups of a node, with their cores and CPUs."""
    cpus = list(range(first, first + node.cpus))
    size, threads = node.cpus // node.l3_groups, machine.threads_per_core
    result = []
    for start in range(0, node.cpus, size):
        group = cpus[start : start + size]
        cores = []
        for at in range(0, size, threads):
            own = group[at : at + threads]
            units = [Object("PU", cpu, [cpu], [node.index]) for cpu in own]
            core = Object("Core", own[0] // threads, own, [node.index], units)
            private = _cache("L2Cache", 2, machine.private.size_kib, machine.private.ways)
            cores.append(Object("L2Cache", None, own, [node.index], [core], private))
        shared = _cache("L3Cache", 3, machine.shared.size_kib, machine.shared.ways)
        result.append(Object("L3Cache", None, group, [node.index], cores, shared))
    return result


def _tree(machine: Machine) -> Object:
    sockets: dict[int, list[Object]] = {}
    loose: list[Object] = []
    first = 0
    for node in machine.nodes:
        if not node.cpus:
            loose.append(_memory(node, []))  # near no CPU
            continue
        cpus = list(range(first, first + node.cpus))
        inside = _groups(machine, node, first)
        first += node.cpus
        group = Object(
            "Group",
            None,
            cpus,
            [node.index],
            [_memory(node, cpus), *inside],
            ' kind="0" subkind="0"',
        )
        sockets.setdefault(node.socket, []).append(group)
    packages = []
    for number, groups in sockets.items():
        cpus = [cpu for group in groups for cpu in group.cpus]
        nodes = [node for group in groups for node in group.nodes]
        # hwloc has no group that only repeats what is around it.
        children = groups[0].children if len(groups) == 1 else groups
        packages.append(Object("Package", number, cpus, nodes, children))
    everything = [node.index for node in machine.nodes]
    return Object("Machine", 0, list(range(machine.cpu_count)), everything, loose + packages)


def _attributes(machine: Machine, lines: list[str]) -> list[str]:
    """What memory is like from the CPUs of each node: latency, and bandwidth where published."""
    number = {}
    for line in lines:
        found = re.search(r'type="NUMANode" os_index="(\d+)".* gp_index="(\d+)"', line)
        if found:
            number[int(found[1])] = found[2]
    cpus = {n: [c for c, node in enumerate(machine.cpu_nodes) if node == n] for n in number}
    result = []
    for name, flags, matrix, unit in (
        ("Bandwidth", 5, machine.pair_gbs, 1000),
        ("Latency", 6, machine.dram_ns, 1),
    ):
        if not matrix:
            continue
        result.append(f'  <memattr name="{name}" flags="{flags}">')
        for target in machine.memory_nodes:
            for node in (node for node in machine.nodes if node.cpus):
                value = round(matrix[node.index][target.index] * unit)
                result.append(
                    f'    <memattr_value target_obj_gp_index="{number[target.index]}" '
                    f'target_obj_type="NUMANode" value="{value}" '
                    f'initiator_cpuset="{mask(cpus[node.index])}"/>'
                )
        result.append("  </memattr>")
    return result


def export(machine: Machine) -> str:
    count = len(machine.nodes)
    lines = [
        line.replace('gp_index="{}"', f'gp_index="{number}"')
        for number, line in enumerate(_tree(machine).lines(), 1)
    ]
    indexes = " ".join(str(node.index) for node in machine.nodes)
    values = " ".join(str(value) for row in machine.slit for value in row)
    if count > 1:
        lines += [
            f'  <distances2 type="NUMANode" nbobjs="{count}" kind="5" '
            'name="NUMALatency" indexing="os">',
            f'    <indexes length="{len(indexes)}">{indexes}</indexes>',
            f'    <u64values length="{len(values)}">{values}</u64values>',
            "  </distances2>",
        ]
    lines += _attributes(machine, lines)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
        '<topology version="2.0">\n' + "\n".join(lines) + "\n</topology>\n"
    )
