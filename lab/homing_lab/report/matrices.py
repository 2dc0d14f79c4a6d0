"""The node-by-node matrices of a column as heat maps, and those of a machine."""

from __future__ import annotations

from ..keys import Matrix
from ..machine import Machine
from . import words
from .figures import Column, Region
from .heat import Heat, greatest
from .runs import MATRICES

PALETTE = {"dram": "blue", "cache": "orange", "local_cache": "grey"}


def rows_with_cpus(machine: Machine | None, size: int) -> list[int]:
    """Nodes without CPUs have no row: nobody there asks for a line."""
    if machine and len(machine.nodes) == size:
        return [node.index for node in machine.nodes if node.cpus]
    return list(range(size))


def most_of(region: Region) -> float:
    """The greatest figure of all matrices of a region, so that one colour means one number."""
    return max(greatest(column.matrices[key]) for column in region.there for key in MATRICES)


def of_column(column: Column, machine: Machine | None, most: float) -> list[Heat]:
    """Those with a line in them."""
    result = []
    for key in MATRICES:
        matrix = column.matrices[key]
        whole = sum(map(sum, matrix))
        if not whole:
            continue
        rows = rows_with_cpus(machine, len(matrix))
        values = [matrix[row] for row in rows]
        title, column_word = words.MATRIX_NAMES[key]
        result.append(
            Heat(
                title,
                "CPU's node",
                column_word,
                [str(row) for row in rows],
                [str(node) for node in range(len(matrix))],
                values,
                [[words.rounded(value) for value in row] for row in values],
                PALETTE[key],
                [_remarks(row) for row in values],
                most=most,
            )
        )
    return result


def _remarks(row: list[float]) -> list[str]:
    whole = sum(row)
    return [words.percent(value / whole) if whole else "-" for value in row]


def _of_machine(machine: Machine, title: str, column: str, matrix: Matrix, note: str) -> Heat:
    rows = [node.index for node in machine.nodes if node.cpus]
    values = [matrix[row] for row in rows]
    return Heat(
        title,
        "CPU's node",
        column,
        [str(row) for row in rows],
        [str(node.index) for node in machine.nodes],
        values,
        [[f"{value:g}" if value else "-" for value in row] for row in values],
        "grey",
        note=note,
    )


def origin(machine: Machine, path: str) -> str:
    """Whether a figure, or a group of them, was published."""
    if any(path == key or path.startswith((f"{key}.", f"{key}[")) for key in machine.assumed):
        return "assumed"
    if any(key.startswith((f"{path}.", f"{path}[")) for key in machine.assumed):
        return "assumed in part"
    return "published"


def of_machine(machine: Machine) -> list[Heat]:
    def note(path: str) -> str:
        return origin(machine, path)

    result = [
        _of_machine(
            machine, "DRAM, ns", "memory's node", machine.dram_ns, note("latency.dram_ns")
        )
    ]
    if sum(1 for node in machine.nodes if node.cpus) > 1:
        result.append(
            _of_machine(
                machine,
                "A line out of a cache, ns",
                "node that has it",
                machine.cache_ns,
                note("latency.cache_ns"),
            )
        )
    if machine.pair_gbs:
        result.append(
            _of_machine(
                machine, "Bandwidth, GB/s", "memory's node", machine.pair_gbs, note("bandwidth.gbs")
            )
        )
    return result
