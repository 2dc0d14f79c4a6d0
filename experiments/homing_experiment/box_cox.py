"""Which transform makes errors alike: Box and Cox (1964), by the profile likelihood of the model at hand; and the decision
between none and the logarithm, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

LAMBDAS = np.round(np.arange(-3, 3.0001, 0.01), 2)


@dataclass(frozen=True)
class BoxCox:
    best: float
    low: float  # of the 95% interval, within LAMBDAS
    high: float
    likelihood: np.ndarray  # of each of LAMBDAS, less the greatest

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


def profile(y: np.ndarray, matrix: np.ndarray) -> BoxCox | None:
    """None if a response is not above 0, or if the model explains it all."""
    if len(y) == 0 or y.min() <= 0:
        return None
    y = y / np.exp(np.log(y).mean())  # scaled by the geometric mean: the Jacobian is 1 then
    basis, _ = np.linalg.qr(matrix[:, _independent(matrix)])
    likelihood = []
    for power in LAMBDAS:
        z = np.log(y) if power == 0 else (y**power - 1) / power
        rest = z - basis @ (basis.T @ z)
        squares = float(rest @ rest)
        if squares <= 1e-24 * len(y):
            return None
        likelihood.append(-len(y) / 2 * np.log(squares / len(y)))
    found = np.array(likelihood) - max(likelihood)
    inside = LAMBDAS[found >= -stats.chi2.ppf(0.95, 1) / 2]
    return BoxCox(float(LAMBDAS[found.argmax()]), float(inside.min()), float(inside.max()), found)


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
    if found is None:
        return "none", f"none: Box-Cox has no answer ({spread})" + ("; the logarithm was asked for" if asked == "log" else "")
    said = f"Box-Cox: lambda {found.best:.2f}, 95% from {found.low:.2f} to {found.high:.2f}; {spread}"
    if asked != "auto":
        return asked, f"{asked}, as the campaign's file says ({said})"
    if found.holds(1):
        return "none", f"none: 1, which is none, is among what the data allow ({said})"
    if found.holds(0):
        return "log", f"logarithm: 0, which is the logarithm, is among what the data allow, and 1, which is none, is not ({said})"
    better = found.likelihood[LAMBDAS == 0][0] > found.likelihood[LAMBDAS == 1][0]
    return ("log" if better else "none"), (f"{'logarithm' if better else 'none'}: neither 0 (the logarithm) nor 1 (none) is among what the data allow; "
                                           f"of the two it is the likelier ({said})")
