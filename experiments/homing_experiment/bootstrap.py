"""Intervals without a model: medians and their ratios when whole blocks are drawn again, with replacement.

Blocks, not runs: the runs of a block share its seed and, in the lab, often their boot. Ratios within a block stay together.
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
    """Of a response by block."""
    data = np.array(list(values.values()))
    drawn = np.median(data[_draws(len(data), seed)], axis=1)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.median(data)), float(low), float(high), len(data))


def ratio(over: dict[int, float], under: dict[int, float], confidence: float, seed: int) -> Interval | None:
    """Of the medians, over blocks that have both. None if there are none, or the lower one is 0."""
    both = sorted(set(over) & set(under))
    if not both:
        return None
    above, below = np.array([over[b] for b in both]), np.array([under[b] for b in both])
    draws = _draws(len(both), seed)
    bottom = np.median(below[draws], axis=1)
    if np.median(below) == 0 or (bottom == 0).any():
        return None
    low, high = np.quantile(np.median(above[draws], axis=1) / bottom, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(np.median(above) / np.median(below)), float(low), float(high), len(both))
