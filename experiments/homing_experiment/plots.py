"""Pictures of an analysis, in one style, for light and dark pages; series differ by hatching as well as by colour, so that
they can be told apart in print."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from .responses import SERVED  # noqa: E402

MODES = {"light": {"ink": "#1f2328", "paper": "#ffffff", "grid": "#d0d7de"}, "dark": {"ink": "#e6edf3", "paper": "#0d1117", "grid": "#30363d"}}
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


def _style(mode: str) -> dict[str, Any]:
    ink, paper, grid = MODES[mode]["ink"], MODES[mode]["paper"], MODES[mode]["grid"]
    return {"svg.fonttype": "none", "svg.hashsalt": "homing", "font.family": "sans-serif", "font.size": 10, "axes.edgecolor": ink, "axes.labelcolor": ink,
            "axes.titlesize": 10, "text.color": ink, "xtick.color": ink, "ytick.color": ink, "figure.facecolor": paper, "axes.facecolor": paper,
            "savefig.facecolor": paper, "axes.grid": True, "axes.grid.axis": "y", "grid.color": grid, "grid.linewidth": 0.6, "axes.axisbelow": True,
            "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False, "hatch.linewidth": 0.7, "hatch.color": paper}


def draw(path: Path, picture: Callable[[str], Any]) -> list[Path]:
    """Both modes of a picture, PATH-light.svg and PATH-dark.svg. `picture` gets the mode's ink, and returns a figure."""
    written = []
    for mode in MODES:
        with plt.rc_context(_style(mode)):
            figure = picture(MODES[mode]["ink"])
            file = path.with_name(f"{path.name}-{mode}.svg")
            file.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
            plt.close(figure)
            written.append(file)
    return written


def _shown(found: dict[str, Any]) -> tuple[str, str]:
    base = ", ".join(map(str, found["baseline"].values()))
    return ("relative", f"relative to ({base})") if base else ("median", found["what"])


def bars(found: dict[str, Any]) -> Callable[[str], Any]:
    """Medians with their bootstrap intervals: groups by the first factor, bars by the others."""
    key, label = _shown(found)
    several = len(found["factors"]) > 1
    groups = list(dict.fromkeys(str(cell["levels"][0]) for cell in found["cells"]))
    series = list(dict.fromkeys(", ".join(map(str, cell["levels"][1:])) for cell in found["cells"]))
    values = {(str(cell["levels"][0]), ", ".join(map(str, cell["levels"][1:]))): cell[key] for cell in found["cells"]}

    def picture(ink: str) -> Any:
        figure, axes = plt.subplots(figsize=(max(6.0, 0.5 + 0.28 * len(groups) * (len(series) + 1)), 3.4))
        width = 0.86 / len(series)
        for number, name in enumerate(series):
            for place, group in enumerate(groups):
                one = values.get((group, name))
                if one is None:
                    continue
                at = place + (number - (len(series) - 1) / 2) * width
                axes.bar(at, one["value"], width * 0.92, color=SERIES[number % len(SERIES)], hatch=HATCHES[number % len(HATCHES)],
                         label=name if place == 0 or (groups[0], name) not in values else None)
                axes.errorbar(at, one["value"], [[max(0, one["value"] - one["low"])], [max(0, one["high"] - one["value"])]], color=ink, linewidth=1, capsize=2)
        axes.set_xticks(range(len(groups)), groups, **({} if several else {"rotation": 30, "ha": "right"}))
        axes.set_ylabel(label)
        axes.set_title(f"{found['title']} ({found['kind']})", loc="left")
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()))) if several else {}
        if handles:
            axes.legend(handles.values(), handles.keys(), ncols=min(4, len(handles)), loc="upper center", bbox_to_anchor=(0.5, -0.1), fontsize=8)
        if key == "relative":
            axes.axhline(1, color=ink, linewidth=0.8, linestyle=":")
        return figure

    return picture


def residuals(found: dict[str, Any]) -> Callable[[str], Any]:
    """What the model is judged by: residuals over what was fitted, and their quantiles over normal ones; and fitted over seen."""
    model = found["model"]
    rest, fitted = np.array(model["residuals"]), np.array(model["predicted"])
    unit = "logarithm" if model["transform"] == "log" else "response"

    def picture(ink: str) -> Any:
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.6, 3.1))
        left.scatter(fitted, rest, s=14, color=SERIES[0])
        left.axhline(0, color=ink, linewidth=0.8)
        left.set(xlabel=f"fitted ({unit})", ylabel="residual", title="residuals")
        quantiles, ordered = stats.probplot(rest, fit=False)
        middle.scatter(quantiles, ordered, s=14, color=SERIES[0])
        middle.axline((0, float(np.mean(rest))), slope=max(float(np.std(rest)), 1e-300), color=ink, linewidth=0.8)
        middle.set(xlabel="normal quantile", ylabel="residual", title="quantiles")
        right.scatter(fitted, fitted + rest, s=14, color=SERIES[0])
        right.axline((float(fitted.mean()), float(fitted.mean())), slope=1, color=ink, linewidth=0.8)
        right.set(xlabel=f"fitted ({unit})", ylabel="observed", title="observed")
        figure.tight_layout()
        return figure

    return picture


def traffic(rows: list[dict[str, str]], levels_of: dict[str, dict[str, Any]], factors: list[str], title: str) -> Callable[[str], Any]:
    """Who served the lines: local and remote caches and DRAM, stacked, a bar a combination, relative to the most of its group."""
    sums: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row["local_dram"] != "":
            key = tuple(str(levels_of[row["cell"]][name]) for name in factors)
            sums.setdefault(key, []).append([float(row[name]) for name in SERVED])  # type: ignore[arg-type]
    order = [tuple(str(level[name]) for name in factors) for level in levels_of.values()]
    means = {key: np.mean(sums[key], axis=0) for key in dict.fromkeys(order) if key in sums}
    several = len(factors) > 1
    groups = [list(some) for _, some in itertools.groupby(means, key=lambda key: key[0] if several else "")]

    def picture(ink: str) -> Any:
        figure, all_axes = plt.subplots(1, len(groups), figsize=(max(6.0, 2.3 * len(groups) if several else 0.6 * len(means)), 3.6), squeeze=False, layout="constrained")
        for axes, group in zip(all_axes[0], groups):
            base = np.zeros(len(group))
            for number, name in enumerate(SERVED):
                heights = np.array([means[key][number] for key in group]) / 1e3
                axes.bar(range(len(group)), heights, 0.75, bottom=base, color=SERIES[number], hatch=HATCHES[number], label=name.replace("_", " ").replace("dram", "DRAM"))
                base += heights
            axes.set_xticks(range(len(group)), [", ".join(key[1:] if several else key) for key in group], rotation=60, ha="right", fontsize=7)
            axes.set_title(group[0][0] if several else title, loc="left")
        all_axes[0][0].set_ylabel("thousand lines")
        figure.legend(*all_axes[0][0].get_legend_handles_labels(), ncols=4, loc="outside upper left", fontsize=8)
        return figure

    return picture
