"""Whether the residuals are what an analysis of variance takes them for: independent, normal, of one variance. What fails is
said in words, with what it means for the reader."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from scipy import stats

from .factorial import Factorial

DOUBT = 0.01  # five questions are asked: so about one false alarm in twenty analyses


def remarks(model: Factorial, frame: pd.DataFrame) -> list[str]:
    """`frame` as the model's, with `block` and `place`. Empty if nothing speaks against the model."""
    found = []
    residuals = model.residuals
    if model.replicates[0] != model.replicates[1]:
        found.append(f"not balanced: from {model.replicates[0]} to {model.replicates[1]} runs a cell; shares of variation need not add up to 100%")
    if model.replicates[1] < 3:
        found.append("fewer than three runs a cell: whether variances are alike can't be asked, and intervals hang on few errors")
    if np.ptp(residuals) <= 1e-12 * max(1.0, float(np.abs(model.predicted).max())):
        found.append("no run differs from its cell's mean: there are no errors to judge by, and intervals mean nothing")
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(residuals) >= 8:
            p = float(stats.shapiro(residuals).pvalue)
            if p < DOUBT:
                found.append(f"residuals are not normal (Shapiro-Wilk, p = {p:.2g}): rather believe the bootstrap's intervals")
        trend, p = stats.spearmanr(model.predicted, np.abs(residuals))
        if p < DOUBT:
            found.append(f"errors {'grow' if trend > 0 else 'shrink'} with the response (Spearman {trend:.2f}, p = {p:.2g}): one variance for all is wrong")
        found += _groups(model, frame, residuals)
        found += _order(frame, residuals)
    return found


def _groups(model: Factorial, frame: pd.DataFrame, residuals: np.ndarray) -> list[str]:
    if model.replicates[0] < 3:
        return []
    keys = frame[model.factors].astype(str).agg("|".join, axis=1).to_numpy()
    p = float(stats.levene(*(residuals[keys == key] for key in dict.fromkeys(keys)), center="median").pvalue)
    return [f"cells differ in their variance (Brown-Forsythe, p = {p:.2g}): F tests are not exact"] if p < DOUBT else []


def _order(frame: pd.DataFrame, residuals: np.ndarray) -> list[str]:
    """What came when: blocks, and places in their block's order."""
    found = []
    blocks = frame["block"].to_numpy()
    groups = [residuals[blocks == block] for block in dict.fromkeys(blocks)]
    if len(groups) > 1 and min(map(len, groups)) > 1:
        p = float(stats.f_oneway(*groups).pvalue)
        if p < DOUBT:
            found.append(f"blocks differ (F, p = {p:.2g}): the machine was not the same all the time, or the input; compare within blocks, or give them an effect (`blocks`)")
    trend, p = stats.spearmanr(frame["place"].to_numpy(), residuals)
    if p < DOUBT:
        found.append(f"residuals follow the order of a block's runs (Spearman {trend:.2f}, p = {p:.2g}): errors are not independent")
    return found
