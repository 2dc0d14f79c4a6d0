"""The picture of programs/lab.py's page: lines that came from other nodes, and the model's time, by program and variant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "experiments"))

import matplotlib.pyplot as plt  # noqa: E402
from homing_experiment.plots import HATCHES, SERIES, draw  # noqa: E402

COLUMNS = 4
FAR = {"remote_dram": "remote DRAM", "remote_cache": "remote caches"}


def write(path: Path, programs: dict[str, list[dict[str, Any]]]) -> None:
    """PATH-light.svg and PATH-dark.svg, of the rows of each program's variants."""
    shown = {name: [row for row in rows if "failed" not in row] for name, rows in programs.items()}

    def picture(ink: str) -> Any:
        lines = -(-len(shown) // COLUMNS)
        figure, all_axes = plt.subplots(lines, COLUMNS, figsize=(11, 2.6 * lines), squeeze=False, layout="constrained")
        for axes, (name, rows) in zip(all_axes.flat, shown.items()):
            base = [0.0] * len(rows)
            for number, (field, label) in enumerate(FAR.items()):
                heights = [row[field] / 1e3 for row in rows]
                axes.bar(range(len(rows)), heights, 0.75, bottom=base, color=SERIES[number], hatch=HATCHES[number], label=label)
                base = [below + more for below, more in zip(base, heights)]
            for place, row in enumerate(rows):
                axes.annotate(f"{row['virtual_ms']:.3g}", (place, base[place]), ha="center", va="bottom", fontsize=6, color=ink)
            axes.set_xticks(range(len(rows)), [row["variant"] for row in rows], rotation=60, ha="right", fontsize=6.5)
            axes.set_title(name, loc="left")
        for axes in list(all_axes.flat)[len(shown):]:
            axes.set_visible(False)
        figure.supylabel("thousands of lines from other nodes; above the bars: ms of the model's clock", fontsize=8)
        figure.legend(*all_axes.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, fontsize=8)
        return figure

    draw(path, picture)
