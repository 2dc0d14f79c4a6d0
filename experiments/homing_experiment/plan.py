"""The order of a campaign: blocks of one run of each cell, in each of them a random order, drawn from the file's seed.

A block is a replicate. In it the cells are shuffled, then dealt into batches: the runs of one boot of a virtual machine, or
one run here. The order of a block hangs on the seed and the block's number alone, so that what is done may be taken away.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from .design import Cell, Design
from .settings import HERE


@dataclass(frozen=True)
class Run:
    """One cell in one block."""

    block: int
    place: int  # in the block's order
    cell: Cell
    seed: int  # of the program's own draws: one a block, so that all cells of a block have the same problem
    contended: bool = False  # whether the campaign has a contender, in this cell or another

    @property
    def key(self) -> str:
        return f"{self.block}/{self.cell.key}"

    @property
    def label(self) -> str:
        """Of the lab's region: printable, short, and no other run's."""
        return f"run {self.block} {self.cell.key}"


def block(design: Design, number: int) -> list[Run]:
    source = random.Random(f"homing experiment {design.seed} {number}")
    cells = list(design.cells)
    source.shuffle(cells)
    seed = source.randrange(1, 2**31)
    contended = any(cell.settings["contention"] != "none" for cell in cells)
    return [Run(number, place, cell, seed, contended) for place, cell in enumerate(cells)]


def machine_key(cell: Cell) -> tuple[Any, ...]:
    """What a boot is made for; runs of one boot share it."""
    s = cell.settings
    return (s["machine"], s["cache_scale"], s["huge_pages"], s["memory_mib"])


def batches(runs: list[Run], runs_per_boot: int) -> list[list[Run]]:
    """Runs of one machine together, in the block's order; a run here is a batch of its own."""
    open_: dict[tuple[Any, ...], list[Run]] = {}
    found: list[list[Run]] = []
    for run in runs:
        if run.cell.settings["machine"] == HERE:
            found.append([run])
            continue
        key = machine_key(run.cell)
        if key not in open_ or len(open_[key]) >= runs_per_boot:
            open_[key] = []
            found.append(open_[key])
        open_[key].append(run)
    return found


def missing(design: Design, done: set[str]) -> list[list[Run]]:
    """The batches that are still to do, block by block. Batches are made of what is missing: a boot that was interrupted
    is done again for those of its runs that have no row."""
    found = []
    for number in range(design.replicates):
        left = [run for run in block(design, number) if run.key not in done]
        found += batches(left, design.limits["runs_per_boot"])
    return found


def all_runs(design: Design) -> list[Run]:
    return [run for number in range(design.replicates) for run in block(design, number)]
