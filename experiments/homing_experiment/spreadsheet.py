"""Analyses for a spreadsheet, or another program: one table of plain figures, a line each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from .columns import OF_SPREADSHEETS

def as_csv(found: list[dict[str, Any]]) -> str:
    """A line a figure: the analysis, the table, what the figure is, the levels that it is of (empty: all), the figure,
    the bounds of its interval, from how many blocks, and whether these are enough to mean it. With a logarithm,
    effects and the mean are those of the logarithm."""
    first, rest = OF_SPREADSHEETS[:3], OF_SPREADSHEETS[3:]
    factors = list(dict.fromkeys(name for one in found for name in one["factors"]))
    out = io.StringIO()
    writer = csv.DictWriter(out, [*first, *factors, *rest], lineterminator="\n")
    writer.writeheader()
    for one in found:
        writer.writerows({"analysis": one["name"]} | line for line in _lines(one))
    return out.getvalue()


def _lines(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for cell in one["cells"]:
        levels = dict(zip(one["factors"], cell["levels"]))
        for figure in ("median", "least", "most", "relative", "speed_up"):
            found = cell.get(figure)
            if found is not None:
                plain = found if isinstance(found, dict) else {"value": found, "blocks": cell["runs"]}
                yield {"table": "cells", "figure": figure} | levels | plain
    for row in one["against"] or []:
        others = [name for name in one["factors"] if name != row["factor"]]
        levels = dict(zip(others, row["levels"])) | {row["factor"]: f"{row['level']} over {row['best']}"}
        yield {"table": "against", "figure": "ratio"} | levels | row["ratio"]
    model = one["model"]
    if not model:
        return
    for row in model["anova"]:
        yield {"table": "variation", "figure": row["name"], "value": row["sum_of_squares"],
               "share": row["percent"] / 100, "freedom": row["freedom"], "F": row["f"], "p": row["p"]}
    unit = "logarithm" if model["transform"] == "log" else "response"
    for figure, estimates in (("mean", [model["mean"]]), ("effect", model["effects"])):
        for one_ in estimates:
            levels = dict(zip(one_["term"], one_["levels"]))
            yield {"table": "effects", "figure": f"{figure} of the {unit}"} | levels | _interval(one_)
    for one_ in model["contrasts"]:
        plus, minus = (" + ".join(map(str, side)) for side in one_["levels"])
        levels = {one_["term"][0]: f"{plus} less {minus}"}
        yield {"table": "contrasts", "figure": f"contrast of the {unit}"} | levels | _interval(one_)


def _interval(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in ("value", "low", "high")}
