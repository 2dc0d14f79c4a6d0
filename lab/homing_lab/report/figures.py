"""What a report says, as numbers: by region and label, the mean of its runs and their ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..counts import SERVED
from ..keys import Matrix
from .runs import MATRICES, MORE, Group, Run

REGIONS_MAX = 40  # on a page or picture; JSON and CSV have all


@dataclass(frozen=True)
class Figure:
    """One figure over the runs of a label."""

    mean: float
    least: float
    most: float
    runs: int = 1

    @property
    def varies(self) -> bool:
        return self.runs > 1


def figure(values: list[float]) -> Figure:
    mean = values[0] if min(values) == max(values) else sum(values) / len(values)
    return Figure(mean, min(values), max(values), len(values))


@dataclass
class Column:
    """A region of one label."""

    label: str
    served: dict[str, Figure]
    kernel: dict[str, Figure]
    lines: Figure
    remote: Figure | None  # share of the lines, of caches and DRAM together
    virtual_ns: Figure
    ratio: Figure | None  # of the virtual time to the first label's mean
    more: dict[str, Figure]
    matrices: dict[str, Matrix]  # means

    def share(self, kind: str) -> float | None:
        return self.served[kind].mean / self.lines.mean if self.lines.mean else None


@dataclass
class Region:
    label: str
    columns: list[Column | None]  # in the order of the labels; None: it has no such region

    @property
    def there(self) -> list[Column]:
        return [column for column in self.columns if column]


@dataclass
class Report:
    groups: list[Group]
    regions: list[Region]
    left_out: int = 0  # regions that are not drawn


def lines_of(region: dict[str, Any]) -> float:
    return float(sum(region[kind] for kind in SERVED))


def _mean_matrix(of: list[Matrix]) -> Matrix:
    if len(of) == 1:
        return of[0]
    size = len(of[0])
    return [[sum(m[a][b] for m in of) / len(of) for b in range(size)] for a in range(size)]


def _shares(regions: list[dict[str, Any]]) -> Figure | None:
    shares = [
        (r["remote_cache"] + r["remote_dram"]) / lines_of(r) for r in regions if lines_of(r)
    ]
    return figure(shares) if shares else None


def _column(group: Group, label: str, base: float | None) -> Column | None:
    regions = [region for run in group.runs if (region := run.region(label))]
    if not regions:
        return None

    def of(key: str, where: str = "") -> Figure:
        return figure([(r.get(where, {}) if where else r).get(key, 0) for r in regions])

    times = [region["virtual_ns"] for region in regions]
    ratios = [time / base for time in times] if base else []
    return Column(
        label=group.label,
        served={kind: of(kind) for kind in SERVED},
        kernel={kind: of(kind, "kernel") for kind in SERVED},
        lines=figure([int(lines_of(region)) for region in regions]),
        remote=_shares(regions),
        virtual_ns=figure(times),
        ratio=figure(ratios) if ratios and all(map(math.isfinite, ratios)) else None,
        more={key: of(key) for key in MORE},
        matrices={k: _mean_matrix([r["matrix"][k] for r in regions]) for k in MATRICES},
    )


def region_labels(runs: list[Run]) -> list[str]:
    """In the order in which they first began, of all runs."""
    return list(dict.fromkeys(r["label"] for run in runs for r in run.counts["regions"]))


def compare(groups: list[Group], chosen: list[str]) -> Report:
    """`chosen`: labels of regions, or all if it is empty."""
    labels = chosen or region_labels([run for group in groups for run in group.runs])
    regions = []
    for label in labels:
        columns: list[Column | None] = []
        base = None
        for number, group in enumerate(groups):
            column = _column(group, label, base)
            if number == 0 and column and column.virtual_ns.mean:
                base = column.virtual_ns.mean
                column = _column(group, label, base)
            columns.append(column)
        regions.append(Region(label, columns))
    return Report(groups, regions)


def drawn(report: Report) -> Report:
    """The regions that a page has room for: those with most lines, in their order."""
    if len(report.regions) <= REGIONS_MAX:
        return report
    by_lines = sorted(
        report.regions, key=lambda region: -max(column.lines.mean for column in region.there)
    )
    kept = {region.label for region in by_lines[:REGIONS_MAX]}
    return Report(
        report.groups,
        [region for region in report.regions if region.label in kept],
        len(report.regions) - REGIONS_MAX,
    )
