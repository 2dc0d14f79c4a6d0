"""The page: one HTML file that asks the network for nothing and runs no script."""

from __future__ import annotations

import shlex
from html import escape
from pathlib import Path

from . import charts, heat, html, machine_view, matrices, panels, remarks, words
from .figures import MORE, Column, Region, Report, drawn
from .runs import Group

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def _style(report: Report) -> str:
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    legend = "".join(f".b-{k}{{background:{colour}}}" for k, colour in charts.COLOURS.items())
    # One rule a region: what is picked stays, the others go. Paper has them all.
    rules = "".join(
        f".regions:has(#pick-{n}:checked)>section:not(#region-{n}){{display:none}}"
        for n in range(len(report.regions))
    )
    return css + charts.STYLE + legend + f"\n@media screen{{{rules}}}"


def _words_of(group: Group) -> str:
    said = group.runs[0].record.get("words")
    return shlex.join(map(str, said)) if isinstance(said, list) and said else ""


def _settings(group: Group) -> str:
    record = group.runs[0].record
    parts = []
    if record.get("tbb"):
        parts.append(f"TBB: {record['tbb']}")
    if record.get("cache_scale", 1) != 1:
        parts.append(f"caches {record['cache_scale']:g} times smaller")
    if record.get("memory_mib"):
        parts.append(f"{record['memory_mib']} MiB a node")
    if record.get("thp"):
        parts.append(f"huge pages: {record['thp']}")
    if record.get("numa_balancing") not in (None, "0", "off"):
        parts.append("NUMA balancing on")
    if record.get("user") not in (None, "root"):
        parts.append(f"user {record['user']}")
    if not record:
        parts.append("not recorded")
    return ", ".join(parts) or "as they come"


def _runs(report: Report) -> str:
    rows = []
    for group in report.groups:
        said = _words_of(group)
        statuses = [run.record.get("exit_status") for run in group.runs]
        ended = ", ".join(sorted({"?" if one is None else str(one) for one in statuses}))
        rows.append(
            (
                group.label,
                [
                    f"<code>{escape(said)}</code>" if said else "not recorded",
                    escape(group.machine_name),
                    escape(_settings(group)),
                    str(len(group.runs)),
                    escape(ended),
                ],
            )
        )
    columns = ["run", "program", "machine", "settings", "times", "exit status"]
    return html.table("What ran", columns, rows, "texts")


def _remote(column: Column | None) -> str:
    if column is None:
        return "-"
    return html.figure(column.remote, words.percent)


def _glance(report: Report) -> str:
    """A line a region: how much was remote, and how long it took beside the first."""
    several = len(report.groups) > 1
    rows = []
    for region in report.regions:
        cells = []
        for number, column in enumerate(region.columns):
            said = _remote(column)
            if column and several and number and column.ratio:
                ratio = html.data(column.ratio.mean, words.times(column.ratio.mean))
                said += f' <span class="dim">in {ratio} the time</span>'
            elif column:
                took = column.virtual_ns.mean
                said += f' <span class="dim">in {html.data(took, words.duration(took))}</span>'
            cells.append(said)
        rows.append((region.label, cells))
    columns = ["region", *(group.label for group in report.groups)]
    return html.table("Remote lines (caches and DRAM), and virtual time", columns, rows)


def _breakdown(region: Region) -> str:
    rows = []
    for column in region.there:
        cells = [
            html.figure(column.served[kind], words.whole, words.percent(column.share(kind)))
            for kind in words.NAMES
        ]
        rows.append((column.label, [*cells, html.figure(column.lines, words.whole)]))
    columns = ["run", *words.NAMES.values(), "all lines"]
    return html.table("Who served the lines that left the private caches", columns, rows)


def _time(region: Region, first: str) -> str:
    several = len(region.columns) > 1
    rows = []
    for column in region.there:
        cells = [html.figure(column.virtual_ns, words.duration)]
        if several:
            cells.append(html.figure(column.ratio, words.times))
        rows.append((column.label, cells))
    columns = ["run", "virtual time", f"to {first}"]
    return html.table("Virtual time", columns[: 2 + several], rows)


def _more(region: Region) -> str:
    rows = [
        (column.label, [html.figure(column.more[key], words.whole) for key in MORE])
        for column in region.there
    ]
    kernel = [
        (
            column.label,
            [html.figure(column.kernel[kind], words.whole) for kind in words.NAMES],
        )
        for column in region.there
    ]
    names = [key.replace("_", "-") if key == "write_backs" else key for key in MORE]
    return (
        "<details><summary>More figures, and the kernel's accesses</summary>"
        + html.table("The program", ["run", *names], rows)
        + html.table(
            "The kernel, meanwhile: in no picture", ["run", *words.NAMES.values()], kernel
        )
        + "</details>"
    )


def _matrices(report: Report, region: Region) -> str:
    out = []
    most = matrices.most_of(region)
    for column, group in zip(region.columns, report.groups, strict=True):
        if column is None:
            continue
        heats = matrices.of_column(column, group.runs[0].machine, most)
        maps = "".join(f"<div>{heat.html(one)}</div>" for one in heats)
        name = f": {escape(column.label)}" if len(report.groups) > 1 else ""
        out.append(
            f"<h3>Node by node{name}</h3>"
            + (f'<div class="heats">{maps}</div>' if maps else "<p>No line left a cache.</p>")
        )
    return "".join(out)


def _region(report: Report, region: Region, number: int) -> str:
    three = "".join(
        f"<div>{charts.inline(chart, f'chart-{number}-{n}')}</div>"
        for n, chart in enumerate(panels.of_region(report, region))
    )
    absent = [
        group.label
        for group, column in zip(report.groups, region.columns, strict=True)
        if column is None
    ]
    missing = f'<p class="dim">Not in: {escape(", ".join(absent))}.</p>' if absent else ""
    name = "The whole program" if region.label == "whole" else f"Region {region.label}"
    return (
        f'<section class="card" id="region-{number}" data-region="{escape(region.label)}">'
        f"<h2>{escape(name)}</h2>{missing}{html.legend()}"
        f'<div class="charts">{three}</div>'
        + _breakdown(region)
        + _time(region, report.groups[0].label)
        + _matrices(report, region)
        + _more(region)
        + "</section>"
    )


def _regions(report: Report) -> str:
    sections = "".join(_region(report, r, n) for n, r in enumerate(report.regions))
    if len(report.regions) < 2:
        return f'<div class="regions">{sections}</div>'
    picks = (
        '<input type="radio" name="region" id="pick-all" checked>'
        '<label for="pick-all">all</label>'
    )
    for number, region in enumerate(report.regions):
        picks += (
            f'<input type="radio" name="region" id="pick-{number}">'
            f'<label for="pick-{number}">{escape(region.label)}</label>'
        )
    left_out = (
        f'<p class="warn">{report.left_out} more regions, with fewer lines, are not drawn: '
        "<code>--region NAME</code> chooses, <code>--json</code> and <code>--csv</code> have "
        "all.</p>"
        if report.left_out
        else ""
    )
    return (
        '<div class="regions"><fieldset class="pick"><legend>Show region</legend>'
        f"{picks}</fieldset>{left_out}{sections}</div>"
    )


def title_of(report: Report) -> str:
    names = list(dict.fromkeys(group.machine_name for group in report.groups))
    return f"Who served each cache line on {', '.join(names)}"


def make(report: Report) -> str:
    report = drawn(report)
    title = title_of(report)
    warnings = "".join(f'<p class="warn">{escape(one)}</p>' for one in remarks.warnings(report))
    repeated = (
        "<p>Where a run was repeated, figures are means; the smallest and the greatest stand "
        "below, and a bar has its ends marked.</p>"
        if any(len(group.runs) > 1 for group in report.groups)
        else ""
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_style(report)}\n</style></head>\n<body>\n"
        f"<header><h1>{escape(title)}</h1>"
        '<p class="lead"><span class="badge">Modelled, not measured</span> The kernel in the '
        "virtual machine is real: it placed these pages and ran these threads. Who served each "
        f"access, and virtual time, are a model's.</p>{warnings}</header>\n<main>"
        f'<section class="card">{_runs(report)}</section>'
        f'<section class="card"><h2>At a glance</h2>{repeated}{_glance(report)}</section>'
        f"{_regions(report)}{machine_view.section(report.groups)}{remarks.section(report)}"
        "</main>\n<footer><p>Made by <code>homing lab report</code>. This page needs no network "
        "and runs no script.</p></footer>\n</body></html>\n"
    )
