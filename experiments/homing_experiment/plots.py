"""Pictures of an analysis, in one style, for light and dark pages; series differ by hatching as well as by colour, so that
they can be told apart in print."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from scipy import stats  # noqa: E402

from .errors import ExperimentError  # noqa: E402
from .responses import SERVED  # noqa: E402

MODES = {"light": {"ink": "#1f2328", "paper": "#ffffff", "grid": "#d0d7de"}, "dark": {"ink": "#e6edf3", "paper": "#0d1117", "grid": "#30363d"}}
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


def _style(mode: str) -> dict[str, Any]:
    ink, paper, grid = MODES[mode]["ink"], MODES[mode]["paper"], MODES[mode]["grid"]
    return {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "homing", "font.family": "sans-serif", "font.size": 10, "axes.edgecolor": ink, "axes.labelcolor": ink,
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
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
            except OSError as error:
                raise ExperimentError(f"can't write {file}: {error.strerror}",
                                      "name another folder with --pictures") from error
            finally:
                plt.close(figure)
            written.append(file)
    return written


def _shown(found: dict[str, Any]) -> tuple[str, str]:
    base = ", ".join(map(str, found["baseline"].values()))
    return ("relative", f"relative to ({base})") if base else ("median", found["what"])


def arranged(keys: list[tuple[str, ...]]) -> tuple[int | None, int, list[int]]:
    """Which factor has a panel a level, which a group a level, and which are told by bars; from the levels of each
    combination. Of three factors and more, panels are of the one with the fewest levels."""
    count = len(keys[0])
    panel = min(range(count), key=lambda at: len({key[at] for key in keys})) if count > 2 else None
    group, *series = [at for at in range(count) if at != panel]
    return panel, group, series


def look(number: int) -> dict[str, str]:
    """Of a series: the hatches begin anew at another colour than before, so that 64 differ."""
    return {"color": SERIES[number % len(SERIES)], "hatch": HATCHES[(number + number // len(SERIES)) % len(HATCHES)]}


def _different(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))


def bars(found: dict[str, Any]) -> Callable[[str], Any]:
    """Medians, or ratios to the base line, with their bootstrap intervals, by panel, group and bar."""
    key, label = _shown(found)
    values = {tuple(map(str, cell["levels"])): cell[key] for cell in found["cells"] if cell[key] is not None}
    if not values:
        return lambda ink: plt.figure()
    panel, group, series = arranged(list(values))
    panels = _different(levels[panel] for levels in values) if panel is not None else [""]
    if panel is not None and list(found["baseline"]) == [found["factors"][panel]]:
        panels.remove(str(found["baseline"][found["factors"][panel]]))  # there every ratio is 1
    groups = _different(levels[group] for levels in values)
    names = _different(", ".join(levels[at] for at in series) for levels in values)
    every = itertools.product(*(map(str, found["levels"][found["factors"][at]]) for at in series))
    looks = {", ".join(levels): look(number) for number, levels in enumerate(every)}  # alike in all the pictures
    width = 0.86 / len(names)
    inches = (0.28 if panel is None else 0.18) * len(groups) * (len(names) + 1)

    def picture(ink: str) -> Any:
        size = (max(6.0, 0.7 + max(2.2, inches) * len(panels)), 3.6)
        figure, all_axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=True, layout="constrained")
        for levels, one in values.items():
            if panel is not None and levels[panel] not in panels:
                continue
            axes = all_axes[0][panels.index(levels[panel]) if panel is not None else 0]
            name = ", ".join(levels[at] for at in series)
            number = names.index(name)
            at = groups.index(levels[group]) + (number - (len(names) - 1) / 2) * width
            axes.bar(at, one["value"], width * 0.92, label=name, **looks[name])
            interval = [[max(0, one["value"] - one["low"])], [max(0, one["high"] - one["value"])]]
            axes.errorbar(at, one["value"], interval, color=ink, linewidth=1, capsize=min(2, 20 * width))
        for axes, title in zip(all_axes[0], panels):
            axes.set_xticks(range(len(groups)), groups, **({} if series else {"rotation": 30, "ha": "right"}))
            axes.set_title(f"{found['factors'][panel]}: {title}" if panel is not None else "", loc="left", fontsize=9)
            if key == "relative":
                axes.axhline(1, color=ink, linewidth=0.8, linestyle=":")
        all_axes[0][0].set_ylabel(label)
        figure.suptitle(f"{found['title']} ({found['kind']})", x=0, ha="left", fontsize=10)
        if series:
            handles = {text: handle for axes in all_axes[0] for handle, text in zip(*axes.get_legend_handles_labels())}
            listed = [name for name in names if name in handles]
            figure.legend([handles[name] for name in listed], listed, ncols=min(4, len(listed)),
                          loc="outside lower center", fontsize=8, handlelength=3, handleheight=1.2)
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
    """Who served the lines: local and remote caches and DRAM, stacked, a bar a combination, the mean of its runs; a
    column of pictures a group, a line of them a panel. Each has a scale of its own."""
    sums: dict[tuple[str, ...], list[list[float]]] = {}
    for row in rows:
        if row["local_dram"] != "":
            key = tuple(str(levels_of[row["cell"]][name]) for name in factors)
            sums.setdefault(key, []).append([float(row[name]) for name in SERVED])
    order = [tuple(str(level[name]) for name in factors) for level in levels_of.values()]
    means = {key: np.mean(sums[key], axis=0) / 1e3 for key in dict.fromkeys(order) if key in sums}
    panel, group, series = arranged(list(means))
    if not series:  # one factor: its levels are the bars
        panel, group, series = None, None, [group]
    lines = _different(key[panel] for key in means) if panel is not None else [""]
    groups = _different(key[group] for key in means) if group is not None else [""]

    def picture(ink: str) -> Any:
        size = (max(6.0, 2.3 * len(groups) if group is not None else 0.6 * len(means)), 3.6 * len(lines))
        figure, all_axes = plt.subplots(len(lines), len(groups), figsize=size, squeeze=False, layout="constrained")
        for (down, line), (across, name) in itertools.product(enumerate(lines), enumerate(groups)):
            axes = all_axes[down][across]
            inside = {key: served for key, served in means.items()
                      if (panel is None or key[panel] == line) and (group is None or key[group] == name)}
            base = np.zeros(len(inside))
            for number, served in enumerate(SERVED):
                heights = np.array([inside[key][number] for key in inside])
                axes.bar(range(len(inside)), heights, 0.75, bottom=base,
                         label=served.replace("_", " ").replace("dram", "DRAM"), **look(number))
                base += heights
            axes.set_xticks(range(len(inside)), [", ".join(key[at] for at in series) for key in inside], rotation=60,
                            ha="right", fontsize=7)
            axes.set_title(", ".join(filter(None, (line, name))) or title, loc="left", fontsize=8 if line else 10)
            if across == 0:
                axes.set_ylabel("thousand lines")
        figure.legend(*all_axes[0][0].get_legend_handles_labels(), ncols=4, loc="outside upper left", fontsize=8)
        return figure

    return picture
