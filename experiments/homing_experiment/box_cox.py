"""Which transform makes errors alike: Box and Cox (1964), by the profile likelihood of the model at hand; and the decision
between none and the logarithm, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

STEP = 0.01
LIMITS = (3, 6, 12, 24, 48)  # of lambda: the next one where the interval does not end inside


@dataclass(frozen=True)
class BoxCox:
    """None: beyond `limit`, where it is not known."""

    limit: float
    best: float | None
    low: float | None  # of the 95% interval
    high: float | None
    none: float  # the likelihood of 1, which is no transform, less the greatest
    log: float  # that of 0

    @property
    def said(self) -> str:
        best, low, high = (f"{value:.2f}" if value is not None else f"beyond {sign}{self.limit:g}" for value, sign in (
            (self.best, "" if self.none > self.log else "-"), (self.low, "-"), (self.high, "")))
        return f"Box-Cox: lambda {best}, 95% from {low} to {high}"


ALLOWED = -float(stats.chi2.ppf(0.95, 1)) / 2  # a likelihood within the 95% interval


def profile(y: np.ndarray, matrix: np.ndarray) -> BoxCox | None:
    """None if a response is not above 0, or if the model explains it all."""
    if len(y) == 0 or y.min() <= 0:
        return None
    y = y / np.exp(np.log(y).mean())  # scaled by the geometric mean: the Jacobian is 1 then
    basis, _ = np.linalg.qr(matrix[:, _independent(matrix)])
    found = None
    for limit in LIMITS:
        powers = np.arange(-round(limit / STEP), round(limit / STEP) + 1) * STEP
        likelihood = _likelihood(y, basis, powers)
        if likelihood is None:
            break
        inside = powers[likelihood >= ALLOWED]
        best = float(powers[likelihood.argmax()])
        ends = (float(inside.min()), float(inside.max()))
        low, high = (None if abs(end) > limit - STEP / 2 else end for end in ends)
        middle = len(powers) // 2
        found = BoxCox(limit, None if abs(best) > limit - STEP / 2 else best, low, high,
                       float(likelihood[middle + round(1 / STEP)]), float(likelihood[middle]))
        if low is not None and high is not None:
            break
    return found


def _likelihood(y: np.ndarray, basis: np.ndarray, powers: np.ndarray) -> np.ndarray | None:
    """Of each power, less the greatest; None if at one of them nothing is left to explain."""
    with np.errstate(over="ignore", invalid="ignore"):
        z = np.array([np.log(y) if abs(power) < STEP / 2 else (y**power - 1) / power for power in powers]).T
        squares = ((z - basis @ (basis.T @ z)) ** 2).sum(axis=0)
    if not (np.isfinite(squares) & (squares > 1e-24 * len(y))).all():
        return None
    found = -len(y) / 2 * np.log(squares / len(y))
    return np.asarray(found - found.max())


def _independent(matrix: np.ndarray) -> list[int]:
    """Columns that no others before them make up."""
    chosen: list[int] = []
    for column in range(matrix.shape[1]):
        if np.linalg.matrix_rank(matrix[:, [*chosen, column]]) > len(chosen):
            chosen.append(column)
    return chosen


def decide(asked: str, y: np.ndarray, found: BoxCox | None) -> tuple[str, str]:
    """The transform, "none" or "log", and the reason for people."""
    spread = f"the largest response is {y.max() / y.min():.3g} times the smallest" if len(y) and y.min() > 0 else "a response is 0 or below"
    if found is None and asked == "log":
        return "log", f"logarithm, as the campaign's file says (Box-Cox has no answer; {spread})"
    if found is None:
        return "none", f"none: Box-Cox has no answer ({spread})"
    said = f"{found.said}; {spread}"
    if asked != "auto":
        return asked, f"{asked}, as the campaign's file says ({said})"
    if found.best is not None and found.none >= ALLOWED:
        return "none", f"none: 1, which is none, is among what the data allow ({said})"
    if found.best is not None and found.log >= ALLOWED:
        return "log", f"logarithm: 0, which is the logarithm, is among what the data allow, and 1, which is none, is not ({said})"
    better = found.log > found.none
    return ("log" if better else "none"), (f"{'logarithm' if better else 'none'}: neither 0 (the logarithm) nor 1 (none) is among what the data allow; "
                                           f"of the two it is the likelier ({said})")
