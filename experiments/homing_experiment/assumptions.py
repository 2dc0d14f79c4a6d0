"""Whether the residuals are what an analysis of variance takes them for: independent, normal, of one variance. What fails is
said in words, with what it means for the reader."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import stats

from .bootstrap import BLOCKS_MIN
from .errors import ExperimentError
from .factorial import Factorial

DOUBT = 0.01  # of each question, of which there are five: about one false alarm in twenty analyses
VARIANCES_MIN = 5  # runs a cell, to ask whether cells differ in their variance: with three, nothing would be found


def remarks(model: Factorial, frame: pd.DataFrame) -> list[str]:
    """`frame` as the model's, with `block` and `place`. Empty if nothing speaks against the model."""
    found = []
    residuals = model.residuals
    if model.replicates[0] != model.replicates[1]:
        found.append(f"not balanced: from {model.replicates[0]} to {model.replicates[1]} runs a cell; shares of variation need not add up to 100%")
    if model.replicates[1] < 3:
        found.append("fewer than three runs a cell: intervals hang on few errors")
    if np.ptp(residuals) <= 1e-12 * max(1.0, float(np.abs(model.predicted).max())):
        found.append("no run differs from its cell's mean: there are no errors to judge by, and intervals mean nothing")
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(residuals) >= 8:
            p = float(stats.shapiro(residuals).pvalue)
            if p < DOUBT:
                instead = ": rather believe the bootstrap's intervals" if frame["block"].nunique() >= BLOCKS_MIN else ""
                found.append(f"residuals are not normal (Shapiro-Wilk, p = {p:.2g}){instead}")
        found += _groups(model, frame, residuals)
        found += _blocks(model, frame)
        found += _order(frame, residuals)
    return found


def _groups(model: Factorial, frame: pd.DataFrame, residuals: np.ndarray) -> list[str]:
    """By cells, not by runs: of two runs the residuals are the same but for their sign."""
    found = []
    cells = frame[model.factors].astype(str).agg("|".join, axis=1).to_numpy()
    sizes = pd.DataFrame({"fitted": model.predicted, "error": np.abs(residuals)}).groupby(cells, sort=False).mean()
    trend, p = stats.kendalltau(sizes["fitted"], sizes["error"])  # exact where cells are few
    if p < DOUBT:
        found.append(f"errors {'grow' if trend > 0 else 'shrink'} with the response (Kendall {trend:.2f}, "
                     f"p = {p:.2g}): one variance for all is wrong")
    if model.replicates[0] >= VARIANCES_MIN:
        p = float(stats.levene(*(residuals[cells == key] for key in dict.fromkeys(cells)), center="median").pvalue)
        if p < DOUBT:
            found.append(f"cells differ in their variance (Brown-Forsythe, p = {p:.2g}): F tests are not exact")
    return found


def _blocks(model: Factorial, frame: pd.DataFrame) -> list[str]:
    """Whether blocks differ, where the model has no effect of theirs: by what such an effect would explain."""
    if model.blocks is not None or model.replicates[0] < 2 or frame["block"].nunique() < 2:
        return []
    try:
        other = Factorial(frame.assign(y=model.frame["y"].to_numpy()), model.factors, model.confidence, [])
    except ExperimentError:
        return []  # nothing is left for errors
    freedom = max(1, model.error_freedom - other.error_freedom)
    explained = (float(model.fitted.ssr) - float(other.fitted.ssr)) / freedom
    p = float(stats.f.sf(explained / float(other.fitted.mse_resid), freedom, other.error_freedom))
    return [f"blocks differ (F, p = {p:.2g}): the machine was not the same all the time, or the input; compare within "
            "blocks, or give them an effect (`blocks`)"] if p < DOUBT else []


def _order(frame: pd.DataFrame, residuals: np.ndarray) -> list[str]:
    found = []
    trend, p = stats.spearmanr(frame["place"].to_numpy(), residuals)
    if p < DOUBT:
        found.append(f"residuals follow the order of a block's runs (Spearman {trend:.2f}, p = {p:.2g}): errors are not independent")
    return found
