"""The figures of a report as JSON, and as CSV with a line a figure."""

from __future__ import annotations

import csv
import io
from typing import Any

from ..counts import SERVED
from .figures import Column, Figure, Report
from .runs import MATRICES, Group


def _figure(of: Figure | None) -> dict[str, Any] | None:
    return of and {"mean": of.mean, "least": of.least, "most": of.most}


def _figures(of: dict[str, Figure]) -> dict[str, Any]:
    return {key: _figure(one) for key, one in of.items()}


def _column(column: Column | None) -> dict[str, Any] | None:
    return column and {
        "label": column.label,
        "runs": column.lines.runs,
        "served": _figures(column.served),
        "lines": _figure(column.lines),
        "shares": {kind: column.share(kind) for kind in SERVED},
        "remote_share": _figure(column.remote),
        "virtual_ns": _figure(column.virtual_ns),
        "virtual_time_ratio": _figure(column.ratio),
        "matrix": column.matrices,
        "kernel": _figures(column.kernel),
        **_figures(column.more),
    }


def _group(group: Group) -> dict[str, Any]:
    machine = group.runs[0].machine
    return {
        "label": group.label,
        "machine": group.machine_name,
        "machine_title": machine.title if machine else None,
        "runs": [{"file": str(run.file), **_record(run.record)} for run in group.runs],
        "calibrated": all(run.counts.get("calibrated", True) for run in group.runs),
        "assumed": machine.assumed if machine else group.runs[0].counts.get("assumed", []),
        "notSeen": group.runs[0].counts.get("notSeen", []),
    }


def _record(record: dict[str, Any]) -> dict[str, Any]:
    left_out = ("schema", "virtual", "machine", "machine_file")
    return {key: value for key, value in record.items() if key not in left_out}


def document(report: Report) -> dict[str, Any]:
    return {
        "schema": 1,
        "modelled": True,
        "runs": [_group(group) for group in report.groups],
        "regions": [
            {"label": region.label, "runs": [_column(column) for column in region.columns]}
            for region in report.regions
        ],
    }


def _lines(column: Column) -> list[tuple[str, Figure]]:
    result = [(kind, column.served[kind]) for kind in SERVED]
    result += [("lines", column.lines), ("virtual_ns", column.virtual_ns)]
    if column.remote:
        result.append(("remote_share", column.remote))
    if column.ratio:
        result.append(("virtual_time_ratio", column.ratio))
    result += list(column.more.items())
    return result + [(f"kernel_{kind}", column.kernel[kind]) for kind in SERVED]


def table(report: Report) -> str:
    """Matrices have a mean alone; `cpu_node` and `node` are empty for what is not of one."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow("region run runs figure cpu_node node mean least most".split())
    for region in report.regions:
        for column in region.there:
            head = [region.label, column.label, column.lines.runs]
            for name, one in _lines(column):
                writer.writerow([*head, name, "", "", one.mean, one.least, one.most])
            for key in MATRICES:
                for cpu_node, row in enumerate(column.matrices[key]):
                    for node, value in enumerate(row):
                        writer.writerow([*head, f"matrix_{key}", cpu_node, node, value, "", ""])
    return out.getvalue()
