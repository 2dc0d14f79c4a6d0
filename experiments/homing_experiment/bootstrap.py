"""Intervals without a model: medians and their ratios when whole blocks are drawn again, with replacement.

Blocks, not runs: the runs of a block share its seed and, in the lab, often their boot. A ratio is that of two runs of
one block, for the next block may have another input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 2000
BLOCKS_MIN = 5  # with fewer an interval is too narrow to be believed


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float
    blocks: int

    @property
    def sure(self) -> bool:
        """Whether there are enough blocks to mean the interval."""
        return self.blocks >= BLOCKS_MIN


def _draws(blocks: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, blocks, size=(RESAMPLES, blocks))


def median(values: dict[int, float], confidence: float, seed: int) -> Interval:
    """Of a response, or a ratio, by block."""
    data = np.array(list(values.values()))
    drawn = np.median(data[_draws(len(data), seed)], axis=1)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.median(data)), float(low), float(high), len(data))


def ratio(over: dict[int, float], under: dict[int, float], confidence: float, seed: int) -> Interval | None:
    """The median of the ratios inside each block that has both. None if none has, or a lower one is 0."""
    both = sorted(set(over) & set(under))
    if not both or any(under[block] == 0 for block in both):
        return None
    return median({block: over[block] / under[block] for block in both}, confidence, seed)
