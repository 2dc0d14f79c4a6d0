"""A full factorial experiment with r replicates, after R. Jain, "The Art of Computer Systems Performance Analysis" (1991),
chapters 17 to 23: effects, their confidence, the allocation of variation, contrasts. The model is fitted by statsmodels.

Every estimate is a sum of cell means with weights; its variance is that of the fitted cells, so that a cell that lacks a
replicate only widens what hangs on it. With one replicate the highest interaction is the error, as in the book.

Blocks can have an effect of their own, as in D. C. Montgomery, "Design and Analysis of Experiments", chapter 4: of all runs of a
block, or of those with the same levels of some factors (the same input, where each block has another seed). What blocks
explain is no error then, but for what differs between those groups of runs: the mean, and effects of those factors.
They are judged by how the blocks differ, as whole plots are in chapter 14 there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from statsmodels.formula.api import ols

from .errors import ExperimentError


@dataclass(frozen=True)
class Estimate:
    """With its interval, at the model's confidence."""

    term: tuple[str, ...]
    levels: tuple[Any, ...]
    value: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Variation:
    """A row of the analysis of variance; no F and p for the errors and the total."""

    name: str
    sum_of_squares: float
    percent: float
    freedom: int
    f: float | None = None
    p: float | None = None
    against: str | None = None  # the row that F is over


class Factorial:
    """`frame` has a column for each factor and one `y`; every combination of levels has at least one row. `blocks`: the factors
    within whose levels a block (column `block`) has an effect of its own; none of them: one for all its runs; None: no
    effect. A block has a run of every combination then."""

    def __init__(self, frame: pd.DataFrame, factors: list[str], confidence: float, blocks: list[str] | None = None) -> None:
        self.factors = factors
        self.blocks = blocks if blocks is not None and frame["block"].nunique() > 1 else None
        self.levels = {name: list(dict.fromkeys(frame[name])) for name in factors}
        self.confidence = confidence
        counts = frame.groupby(factors, observed=True, sort=False).size()
        whole = math.prod(len(levels) for levels in self.levels.values())
        if len(counts) < whole:
            absent = [c for c in itertools.product(*self.levels.values()) if (c if len(c) > 1 else c[0]) not in counts.index]
            more = f", nor of {len(absent) - 1} other combinations" if len(absent) > 1 else ""
            raise ExperimentError(f"no run of ({', '.join(map(str, absent[0]))}){more}",
                                  "a full factorial needs them all: run the campaign to its end, or choose levels with `only`")
        if any(len(levels) < 2 for levels in self.levels.values()):
            raise ExperimentError("a factor with one level in this analysis", "leave it out of `factors`")
        self.replicates = (int(counts.min()), int(counts.max()))
        self.terms = [term for size in range(1, len(factors) + 1) for term in itertools.combinations(factors, size)]
        if self.replicates[1] == 1:
            if len(factors) == 1:
                raise ExperimentError("one run of each level, and one factor: nothing says how large errors are", "more replicates")
            self.terms.pop()
            self.blocks = None
        self.frame = pd.DataFrame({f"f{i}": frame[name].map(self.levels[name].index) for i, name in enumerate(factors)})
        if self.blocks is not None:
            self.frame["block"] = frame["block"]
        self.frame["y"] = frame["y"].to_numpy(dtype=float)
        self._fit()

    def _fit(self) -> None:
        names = {self._formula(term): " x ".join(term) for term in self.terms}
        if self.blocks is not None:
            block_formula = ":".join(filter(None, (self._formula(self.blocks), "C(block, Sum)")))
            names[block_formula] = self.blocks_name
        self._names = names
        self.fitted = ols("y ~ " + " + ".join(names), self.frame).fit()
        self.error_freedom = int(round(self.fitted.df_resid))
        if self.error_freedom < 1:
            raise ExperimentError("no degrees of freedom are left for errors", "more replicates, or fewer factors")
        cells = list(itertools.product(*(range(len(levels)) for levels in self.levels.values())))
        places = self.frame[[f"f{i}" for i in range(len(self.factors))]].to_numpy()
        first = [int(np.flatnonzero((places == cell).all(axis=1))[0]) for cell in cells]
        matrix = np.array(self.fitted.model.exog)[first]  # a cell's rows of it are all alike, but for the effects of blocks
        matrix[:, ["C(block, Sum)" in column for column in self.fitted.model.exog_names]] = 0  # the mean of all blocks
        self.cells = [tuple(self.levels[name][at] for name, at in zip(self.factors, cell)) for cell in cells]
        self.means = matrix @ self.fitted.params.to_numpy()
        self._covariance = matrix @ self.fitted.cov_params().to_numpy() @ matrix.T
        self._table = sm.stats.anova_lm(self.fitted, typ=3)  # of type 3: in a balanced design all types are the same
        if self.blocks is not None:
            line = self._table.loc[block_formula]
            self.block_freedom = int(line["df"])
            self._block_square = float(line["sum_sq"]) / self.block_freedom
            groups = [tuple(cell[self.factors.index(name)] for name in self.blocks) for cell in self.cells]
            alike = np.array([[one == other for other in groups] for one in groups], dtype=float)
            self._group_mean = alike / alike.sum(axis=1, keepdims=True)

    @property
    def blocks_name(self) -> str:
        return " within ".join(filter(None, ("blocks", " x ".join(self.blocks or []))))

    def _by_blocks(self, term: tuple[str, ...]) -> bool:
        """Whether the term differs only between the groups of runs within which a block has an effect."""
        return self.blocks is not None and set(term) <= set(self.blocks)

    def _formula(self, term: tuple[str, ...] | list[str]) -> str:
        return ":".join(f"C(f{self.factors.index(name)}, Sum)" for name in term)

    def weigh(self, term: tuple[str, ...], levels: tuple[Any, ...], weights: np.ndarray) -> Estimate:
        value = float(weights @ self.means)
        variance, freedom = self._variance(weights)
        half = float(stats.t.ppf((1 + self.confidence) / 2, freedom)) * math.sqrt(variance)
        return Estimate(term, levels, value, value - half, value + half)

    def _variance(self, weights: np.ndarray) -> tuple[float, float]:
        """And its degrees of freedom. With blocks: of the part between groups of runs, and of that within them; of a
        sum of both, Satterthwaite's."""
        if self.blocks is None:
            return max(0.0, float(weights @ self._covariance @ weights)), self.error_freedom
        between = self._group_mean @ weights
        within = weights - between
        error_square = float(self.fitted.mse_resid)
        parts = [(float(part @ part) * square / self.replicates[0], freedom) for part, square, freedom in (
            (between, self._block_square, self.block_freedom), (within, error_square, self.error_freedom))]
        parts = [part for part in parts if part[0] > 1e-12 * max(parts)[0]] or parts[1:]
        whole = sum(part for part, _ in parts)
        return whole, whole**2 / sum(part**2 / freedom for part, freedom in parts) if whole > 0 else self.error_freedom

    def _average(self, fixed: dict[str, Any]) -> np.ndarray:
        """The weights of the mean over all cells with these levels."""
        chosen = np.array([all(cell[self.factors.index(name)] == level for name, level in fixed.items()) for cell in self.cells], dtype=float)
        return chosen / chosen.sum()

    def mean(self) -> Estimate:
        return self.weigh((), (), self._average({}))

    def effects(self, terms_max: int = 2) -> list[Estimate]:
        """Of each level, and of each pair of levels: how far it moves the response from what the lower terms say."""
        found = []
        for term in self.terms:
            if len(term) > terms_max:
                continue
            for levels in itertools.product(*(self.levels[name] for name in term)):
                weights = sum((-1) ** (len(term) - size) * self._average(dict(part))
                              for size in range(len(term) + 1) for part in itertools.combinations(tuple(zip(term, levels)), size))
                found.append(self.weigh(term, levels, np.asarray(weights)))
        return found

    def level_means(self, factor: str) -> list[Estimate]:
        return [self.weigh((factor,), (level,), self._average({factor: level})) for level in self.levels[factor]]

    def contrast(self, factor: str, plus: list[Any], minus: list[Any]) -> Estimate:
        """The mean of some levels less that of others."""
        for level in (*plus, *minus):
            if level not in self.levels[factor]:
                raise ExperimentError(f"contrast: '{level}' is not among the levels of {factor} in this analysis")
        weights = (sum(self._average({factor: level}) for level in plus) / len(plus)
                   - sum(self._average({factor: level}) for level in minus) / len(minus))
        return self.weigh((factor,), (tuple(plus), tuple(minus)), np.asarray(weights))

    def anova(self) -> list[Variation]:
        """The shares add up to 100% if the design is balanced."""
        total = float(((self.frame["y"] - self.frame["y"].mean()) ** 2).sum())
        rows = []
        for term, (formula, name) in zip([*self.terms, None], self._names.items()):
            line = self._table.loc[formula]
            squares, freedom = float(line["sum_sq"]), int(line["df"])
            f, p, against = float(line["F"]), float(line["PR(>F)"]), "errors"
            if term and self._by_blocks(term):
                f = squares / freedom / self._block_square if self._block_square > 0 else math.nan
                p, against = float(stats.f.sf(f, freedom, self.block_freedom)), self.blocks_name
            tested = (f, p, against) if math.isfinite(f) else ()
            rows.append(Variation(name, squares, self._share(squares, total), freedom, *tested))
        errors = float(self.fitted.ssr)
        return [*rows, Variation("errors", errors, self._share(errors, total), self.error_freedom),
                Variation("total", total, 100.0, len(self.frame) - 1)]

    @staticmethod
    def _share(part: float, total: float) -> float:
        return 100 * part / total if total > 0 else 0.0

    @property
    def error_deviation(self) -> float:
        """s_e: of one run, from its cell's mean."""
        return math.sqrt(float(self.fitted.mse_resid))

    @property
    def residuals(self) -> np.ndarray:
        return self.fitted.resid.to_numpy()

    @property
    def predicted(self) -> np.ndarray:
        return self.fitted.fittedvalues.to_numpy()

    @property
    def matrix(self) -> np.ndarray:
        return np.asarray(self.fitted.model.exog)
