"""What a campaign's rows say: for each analysis of its file the transform, effects, variation, contrasts, ratios and doubts."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from . import assumptions, bootstrap, box_cox
from .design import Design
from .errors import ExperimentError
from .factorial import Estimate, Factorial
from .responses import GIVEN_BY, HIGHER_IS_BETTER, value, what

KIND_WORDS = {"modelled": "modelled by the lab, not measured", "measured": "measured", "virtual": "on a made-up machine: times say nothing about such a one"}


class NoFigure(ExperimentError):
    """No row has the response that an analysis asks for. `why` is for a page on which other analyses stand."""

    def __init__(self, analysis: dict[str, Any], runs: int) -> None:
        name, response = analysis["name"], analysis["response"]
        gives = GIVEN_BY.get(response, "a program's answer gives it")
        super().__init__(f"analysis '{name}': no row has a {response}", gives if runs else
                         "run the campaign first; `homing experiment status` says how far it is")
        self.why = (f"none of the {runs} runs of these combinations has a {response}; {gives}" if runs else
                    f"no run of these combinations is there, and so no {response}; `homing experiment run` makes them")


def frame_of(design: Design, rows: list[dict[str, str]], analysis: dict[str, Any]) -> pd.DataFrame:
    """Factors, block, place and `y` of the rows that the analysis is about, in the order of the file's levels. Raises
    NoFigure if there are none, and ExperimentError if rows were not made alike."""
    runs, found = 0, []
    levels_of = {cell.key: dict(cell.levels) for cell in design.cells}
    for row in rows:
        levels = levels_of[row["cell"]]
        if any(levels[name] not in some for name, some in analysis["only"].items()):
            continue
        runs += 1
        y = value(row, analysis["response"])
        if y is None:
            continue
        found.append({name: levels[name] for name in analysis["factors"]} | {
            "block": int(row["block"]), "place": int(row["place"]), "y": y, "kind": row["kind"],
            "cell": row["cell"], "parts": row["parts"]})
    if not found:
        raise NoFigure(analysis, runs)
    frame = pd.DataFrame(found)
    if frame["kind"].nunique() > 1:
        raise ExperimentError(f"analysis '{analysis['name']}': some rows are {' and some '.join(sorted(frame['kind'].unique()))}",
                              "figures of a model and measurements do not mix: split them with `only`")
    order = [pd.Categorical(frame[name].astype(str), [str(level) for level in design.factors[name]]).codes for name in analysis["factors"]]
    return frame.iloc[np.lexsort([frame["block"], *reversed(order)])].reset_index(drop=True)


def analyse(design: Design, rows: list[dict[str, str]], analysis: dict[str, Any]) -> dict[str, Any]:
    frame = frame_of(design, rows, analysis)
    factors, confidence = analysis["factors"], analysis["confidence"]
    found: dict[str, Any] = {
        "name": analysis["name"], "title": analysis["title"], "response": analysis["response"],
        "what": what(analysis["response"], frame["kind"].iloc[0]),
        "kind": frame["kind"].iloc[0], "kind_words": KIND_WORDS[frame["kind"].iloc[0]], "factors": factors, "confidence": confidence,
        "runs": len(frame), "cells": _cells(design, frame, analysis), "against": _against(design, frame, analysis),
        "baseline": analysis["baseline"], "remarks": [], "levels": {name: design.factors[name] for name in factors}}
    if (frame.groupby("cell")["parts"].nunique() > 1).any():
        found["remarks"].append("the rows come from several builds: some cell's runs were made with different libraries or programs")
    try:
        absent = _left_out(design, analysis)
        if absent:
            first = ", ".join(map(str, absent[0]))
            raise ExperimentError(f"the campaign's file leaves {len(absent)} combinations out, ({first}) first",
                                  "a full factorial needs them all: choose levels with `only`")
        _model(frame, analysis, found)
    except ExperimentError as error:
        found["model"] = None
        found["remarks"].append(f"no analysis of variance: {error}")
    return found


def analyse_all(design: Design, rows: list[dict[str, str]], analyses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of them, in their order. One whose response is in no row has its name, title and response, and under
    `missing` why. Raises NoFigure if all are so."""
    found, lacking = [], []
    for analysis in analyses:
        try:
            found.append(analyse(design, rows, analysis))
        except NoFigure as error:
            lacking.append(error)
            found.append({name: analysis[name] for name in ("name", "title", "response")} | {"missing": error.why})
    if lacking and len(lacking) == len(found):
        raise lacking[0]
    return found


def with_figures(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if "missing" not in one]


def without_figures(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if "missing" in one]


def _model(frame: pd.DataFrame, analysis: dict[str, Any], found: dict[str, Any]) -> None:
    factors, confidence = analysis["factors"], analysis["confidence"]
    blocks = analysis["blocks"]
    if blocks is not None:
        frame, blocks = _whole_blocks(frame, blocks, found)
    if frame["y"].nunique() == 1:
        raise ExperimentError(f"all {len(frame)} runs have the same {analysis['response']}, {frame['y'].iloc[0]:g}",
                              "nothing varies, so that there are no effects: choose another response")
    plain = Factorial(frame, factors, confidence, blocks)
    profile = box_cox.profile(frame["y"].to_numpy(), plain.matrix)
    transform, reason = box_cox.decide(analysis["transform"], frame["y"].to_numpy(), profile)
    if transform == "log" and frame["y"].min() <= 0:
        raise ExperimentError(f"the logarithm of a response of {frame['y'].min():g}", "transform = \"none\"")
    model = Factorial(frame.assign(y=np.log(frame["y"])), factors, confidence, blocks) if transform == "log" else plain
    found["remarks"] += assumptions.remarks(model, frame)
    found["model"] = {
        "transform": transform, "reason": reason,
        "box_cox": None if profile is None else {
            "lambda": profile.best, "low": profile.low, "high": profile.high, "looked_at": profile.limit},
        "replicates": list(model.replicates), "error_deviation": model.error_deviation, "error_freedom": model.error_freedom,
        "blocks": None if model.blocks is None else {
            "name": model.blocks_name, "freedom": model.block_freedom, "factors": model.blocks},
        "mean": _said(model.mean(), transform, True), "effects": [_said(one, transform) for one in model.effects()],
        "anova": [vars(row) for row in model.anova()],
        "contrasts": [_said(model.contrast(c["factor"], c["plus"], c["minus"]), transform) for c in analysis["contrasts"]],
        "residuals": model.residuals.tolist(), "predicted": model.predicted.tolist()}


def _left_out(design: Design, analysis: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The combinations of the analysis's levels that are no cells of the campaign."""
    cells = [dict(cell.levels) for cell in design.cells]
    inside = {tuple(cell[name] for name in analysis["factors"]) for cell in cells
              if all(cell[name] in some for name, some in analysis["only"].items())}
    levels = [[level for level in design.factors[name] if any(cell[at] == level for cell in inside)]
              for at, name in enumerate(analysis["factors"])]
    return [one for one in itertools.product(*levels) if one not in inside]


def _whole_blocks(frame: pd.DataFrame, blocks: list[str], found: dict[str, Any]) -> tuple[pd.DataFrame, list[str] | None]:
    """What a block explains can be told from what a cell does only where it has runs of all cells. If no block has, none has an
    effect."""
    runs = frame.groupby("block")["cell"].nunique()
    whole = frame[frame["block"].map(runs == frame["cell"].nunique())].reset_index(drop=True)
    if whole.empty:
        found["remarks"].append("no block is whole: what blocks explain counts as errors")
        return frame, None
    if len(whole) < len(frame):
        found["remarks"].append(f"{len(frame) - len(whole)} runs of blocks that are not whole are not in the analysis of variance")
    return whole, blocks


def _said(one: Estimate, transform: str, level: bool = False) -> dict[str, Any]:
    """With a logarithm, `factor` says by what the response is multiplied."""
    found: dict[str, Any] = {"term": list(one.term), "levels": list(one.levels), "value": one.value, "low": one.low, "high": one.high,
                             "significant": one.significant}
    if transform == "log":
        found["factor"] = [math.exp(one.value), math.exp(one.low), math.exp(one.high)]
    return found


def _by_block(frame: pd.DataFrame, levels: dict[str, Any]) -> dict[int, float]:
    chosen = np.logical_and.reduce([frame[name] == level for name, level in levels.items()])
    return dict(zip(frame["block"][chosen], frame["y"][chosen]))


def _interval(one: bootstrap.Interval | None) -> dict[str, Any] | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high, "blocks": one.blocks, "sure": one.sure}


def _cells(design: Design, frame: pd.DataFrame, analysis: dict[str, Any]) -> list[dict[str, Any]]:
    """Of each combination the median, least and most, and with a base line the ratio to it and the speed-up."""
    found = []
    for values in frame[analysis["factors"]].drop_duplicates().itertuples(index=False):
        levels = dict(zip(analysis["factors"], values))
        own = _by_block(frame, levels)
        cell: dict[str, Any] = {"levels": list(levels.values()), "runs": len(own), "least": min(own.values()), "most": max(own.values()),
                                "median": _interval(bootstrap.median(own, analysis["confidence"], design.seed))}
        if analysis["baseline"]:
            base = _by_block(frame, levels | analysis["baseline"])
            higher = analysis["response"] in HIGHER_IS_BETTER
            cell["relative"] = _interval(bootstrap.ratio(own, base, analysis["confidence"], design.seed))
            cell["speed_up"] = _interval(bootstrap.ratio(*((own, base) if higher else (base, own)), analysis["confidence"], design.seed))
        found.append(cell)
    return found


def _against(design: Design, frame: pd.DataFrame, analysis: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The level that is asked about, over the best of the others; the best is chosen after the fact, so that chance favours it."""
    asked = analysis["against"]
    if asked is None:
        return None
    worst = min if analysis["response"] in HIGHER_IS_BETTER else max  # of the ratios: against the best
    others = [name for name in analysis["factors"] if name != asked["factor"]]
    present = [[level for level in design.factors[name] if level in set(frame[name])] for name in others]
    found = []
    for values in itertools.product(*present):
        fixed = dict(zip(others, values))
        own = _by_block(frame, fixed | {asked["factor"]: asked["level"]})
        ratios = {level: bootstrap.ratio(own, _by_block(frame, fixed | {asked["factor"]: level}),
                                         analysis["confidence"], design.seed)
                  for level in asked["best_of"]}
        rivals = {level: ratio for level, ratio in ratios.items() if ratio is not None}
        if not rivals:
            continue
        rival = worst(rivals, key=lambda level: rivals[level].value)
        ratio, higher = rivals[rival], analysis["response"] in HIGHER_IS_BETTER
        paper = asked["paper"].get(str(values[0])) if isinstance(asked["paper"], dict) and values else asked["paper"] or None
        found.append({"factor": asked["factor"], "level": asked["level"], "levels": list(values), "best": rival,
                      "ratio": _interval(ratio), "paper": paper,
                      "no_worse": (ratio.value >= paper if higher else ratio.value <= paper) if paper else None,
                      "spans": ratio.low <= paper <= ratio.high if paper else None})
    return found
