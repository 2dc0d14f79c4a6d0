"""A report as one SVG file: for each region the three charts, and the matrices below them."""

from __future__ import annotations

from html import escape

from . import charts, heat, matrices, panels, words
from .figures import Region, Report, drawn
from .page import title_of

MARGIN, GAP = 24.0, 24.0
STEP = charts.WIDTH + GAP
WIDTH = 3 * STEP - GAP


class Sheet:
    """Grows downwards, and to the right where a matrix needs it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = MARGIN
        self.right = MARGIN + WIDTH

    def line(self, said: str, classes: str, height: float) -> None:
        self.parts.append(charts.text(MARGIN, self.y + height * 0.6, said, classes))
        self.y += height

    def put(self, x: float, y: float, drawing: str) -> None:
        self.parts.append(f'<g transform="translate({x:.1f} {y:.1f})">\n{drawing}\n</g>')


def _legend(sheet: Sheet) -> None:
    x = MARGIN
    for kind in words.STACK:
        sheet.parts.append(
            f'<rect x="{x:.1f}" y="{sheet.y:.1f}" width="12" height="12" rx="2" class="c-{kind}"/>'
        )
        sheet.parts.append(charts.text(x + 18, sheet.y + 10, words.NAMES[kind]))
        x += 36 + len(words.NAMES[kind]) * charts.LETTER
    sheet.y += 28


def _charts(sheet: Sheet, report: Report, region: Region) -> None:
    bottom = 0.0
    for number, chart in enumerate(panels.of_region(report, region)):
        sheet.put(MARGIN + number * STEP, sheet.y, charts.body(chart))
        bottom = max(bottom, chart.height)
    sheet.y += bottom + 14


def _heats(sheet: Sheet, report: Report, region: Region) -> None:
    most = matrices.most_of(region)
    for column, group in zip(region.columns, report.groups, strict=True):
        heats = matrices.of_column(column, group.runs[0].machine, most) if column else []
        if column is None or not heats:
            continue
        if len(report.groups) > 1:
            sheet.line(f"Node by node: {column.label}", "c-ink c-head", 26)
        x, tallest = MARGIN, 0.0
        for one in heats:
            drawing, width, height = heat.svg(one)
            if x > MARGIN and x + width > sheet.right:
                x, sheet.y, tallest = MARGIN, sheet.y + tallest + 16, 0.0
            sheet.put(x, sheet.y, drawing)
            sheet.right = max(sheet.right, x + width)
            x, tallest = x + width + GAP, max(tallest, height)
        sheet.y += tallest + 20


def make(report: Report) -> str:
    report = drawn(report)
    title = title_of(report)
    sheet = Sheet()
    sheet.line(title, "c-ink c-title", 26)
    sheet.line(
        "Modelled, not measured: a virtual machine's kernel placed the pages, a model says who "
        "served each access and how long it took.",
        "c-dim",
        22,
    )
    if any(len(group.runs) > 1 for group in report.groups):
        sheet.line("Means of the runs of a label; the ends are marked.", "c-dim", 20)
    if report.left_out:
        sheet.line(f"{report.left_out} regions with fewer lines are left out.", "c-dim", 20)
    _legend(sheet)
    for region in report.regions:
        if len(report.regions) > 1:
            whole = region.label == "whole"
            said = "The whole program" if whole else f"Region {region.label}"
            sheet.line(said, "c-ink c-title", 30)
        _charts(sheet, report, region)
        _heats(sheet, report, region)
    width, height = sheet.right + MARGIN, sheet.y + MARGIN / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>{escape(title)}</title>\n'
        f"<style>{charts.STYLE}\n</style>\n"
        '<rect width="100%" height="100%" rx="8" class="c-card"/>\n'
        + "\n".join(sheet.parts)
        + "\n</svg>\n"
    )
