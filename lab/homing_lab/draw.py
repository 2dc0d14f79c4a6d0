"""A machine as text: nodes, links, matrices, what is assumed, what is scaled down."""

from __future__ import annotations

from textwrap import wrap

from .keys import Matrix
from .machine import LINE_BYTES, Machine, Node

WIDTH = 88


def _size(mib: float) -> str:
    return f"{mib / 1024:g} GiB" if mib >= 1024 and mib % 1024 == 0 else f"{mib:g} MiB"


def cache_size(kib: float) -> str:
    return f"{kib / 1024:.4g} MiB" if kib >= 1024 else f"{kib:.4g} KiB"


def node_lines(machine: Machine, node: Node) -> list[str]:
    """What is said of a node, in a box or a picture."""
    first = sum(n.cpus for n in machine.nodes[: node.index])
    lines = [
        f"node {node.index}, socket {node.socket}"
        if node.cpus
        else f"node {node.index}: memory only"
    ]
    if node.cpus:
        last = first + node.cpus - 1
        lines.append(f"CPUs {first}-{last}" if node.cpus > 1 else f"CPU {first}")
        l3 = cache_size(machine.shared.size_kib)
        lines.append(f"L3 {node.l3_groups} x {l3}" if node.l3_groups > 1 else f"L3 {l3}")
    lines.append(
        f"{_size(node.memory_mib)}, {node.bandwidth_gbs:g} GB/s" if node.memory_mib else "no memory"
    )
    return lines


def _boxes(machine: Machine) -> list[str]:
    result = []
    boxes = [node_lines(machine, node) for node in machine.nodes]
    inner = max(len(line) for box in boxes for line in box)
    a_row = max(1, WIDTH // (inner + 6))
    for start in range(0, len(boxes), a_row):
        row = boxes[start : start + a_row]
        height = max(len(box) for box in row)
        edge = "  ".join("+" + "-" * (inner + 2) + "+" for _ in row)
        result.append(edge)
        for line in range(height):
            result.append(
                "  ".join(f"| {(box[line] if line < len(box) else ''):{inner}} |" for box in row)
            )
        result.append(edge)
    return result


def _matrix(
    title: str, matrix: Matrix | list[list[int]], machine: Machine, by_cpus: bool = True
) -> list[str]:
    rows = [node.index for node in machine.nodes if node.cpus or not by_cpus]
    result = [title, "      " + "".join(f"{node.index:7}" for node in machine.nodes)]
    for row in rows:
        cells = "".join(f"{value:7g}" if value else "      -" for value in matrix[row])
        result.append(f"  {row:4}{cells}")
    return result


def _paragraph(first: str, text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * 4)


def out_of_reach(machine: Machine) -> list[str]:
    """Where a node's CPUs can't have all of their own memory's bandwidth, with every miss that they
    may have in flight."""
    nodes = [node for node in machine.nodes if node.cpus and node.memory_mib]
    said: dict[str, list[int]] = {}
    for node in nodes:
        near_ns = machine.dram_ns[node.index][node.index]
        most_gbs = node.cpus * machine.overlap * LINE_BYTES / near_ns
        if most_gbs < node.bandwidth_gbs:
            line = f"reach {most_gbs:.0f} GB/s at most of their memory's {node.bandwidth_gbs:g}"
            said.setdefault(line, []).append(node.index)
    result = []
    for line, which in said.items():
        of = "a node" if len(which) == len(nodes) else f"node {', '.join(map(str, which))}"
        result.append(f"the CPUs of {of} {line}")
    return result


def scaled_down(machine: Machine) -> list[str]:
    """Where the virtual machine has less than the real one."""
    result = []
    if machine.balance != 1:
        result += [
            f"{machine.core_count} cores of {machine.full['cores']:g}; in balance with them, as shown "
            f"above, {1 / machine.balance:.3g} times smaller",
            "  than the real machine's: bandwidths of memory and links, and last-level caches",
        ]
    if "memory_gib" in machine.full:
        result.append(
            f"{_size(machine.memory_mib)} of memory of {machine.full['memory_gib']:g} GiB"
        )
    result += out_of_reach(machine)
    if machine.cache_scale != 1:
        result.append(f"caches {machine.cache_scale:g} times smaller")
    return result


def core_lines(machine: Machine) -> list[str]:
    private = machine.private
    lines = [
        f"a core: {machine.clock_ghz:g} GHz, {machine.cpi:g} cycles an instruction, "
        f"{machine.overlap:g} misses in flight,",
        f"  own cache {cache_size(private.size_kib)}, {private.ways} ways, "
        f"{private.latency_ns:g} ns; "
        f"L3 {machine.shared.ways} ways, {machine.shared.latency_ns:g} ns",
    ]
    if machine.shared.written_ns != machine.shared.latency_ns:
        lines.append(f"  what another core of the L3 has just written: {machine.shared.written_ns:g} ns")
    if machine.threads_per_core > 1:
        lines.append(f"  {machine.threads_per_core} CPUs share a core")
    return lines


def link_lines(machine: Machine) -> list[str]:
    result = []
    for link in machine.links:
        ends = [",".join(map(str, side)) for side in (link.first, link.second)]
        result.append(f"{ends[0]} {'->' if link.one_way else '--'} {ends[1]}  {link.gbs:g}")
    return result


def text(machine: Machine) -> str:
    lines = [
        f"{machine.name}: {machine.title}",
        f"virtual machine: {len(machine.nodes)} nodes, {machine.cpu_count} CPUs, "
        f"{_size(machine.memory_mib)}",
        "",
    ]
    lines += _boxes(machine)
    lines += ["", *core_lines(machine)]
    if len(machine.nodes) > 1:
        lines += [
            "",
            *_matrix(
                "distances that the firmware reports (they only sort; row: from, column: to)",
                machine.slit,
                machine,
                by_cpus=False,
            ),
        ]
    lines += [
        "",
        *_matrix("DRAM, ns (row: the CPU's node, column: the memory's)", machine.dram_ns, machine),
    ]
    lines += [
        "",
        *_matrix(
            "a line out of another cache, ns (column: the node that has it)",
            machine.cache_ns,
            machine,
        ),
    ]
    if machine.pair_gbs:
        lines += ["", *_matrix("bandwidth, GB/s", machine.pair_gbs, machine)]
    if machine.links:
        lines += ["", "links, GB/s a direction", *(f"  {line}" for line in link_lines(machine))]
    for title, entries in (
        ("sources", {"machine": machine.source} | machine.sources),
        ("assumed", machine.assumed),
    ):
        if entries:
            lines += ["", f"{title}:"]
            for path, said in entries.items():
                lines += _paragraph("  ", f"{path}: {said}")
    if scaled_down(machine):
        lines += ["", "scaled down:"] + [f"  {line}" for line in scaled_down(machine)]
    return "\n".join(lines) + "\n"
