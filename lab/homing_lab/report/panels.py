"""The three charts of a region: lines by who served them, their shares, and virtual time."""

from __future__ import annotations

from . import words
from .charts import WIDTH, Bar, Chart, Part, nice_ticks, width_of
from .figures import Column, Region, Report


def _said(column: Column) -> str:
    shares = ", ".join(
        f"{name} {words.percent(column.share(kind))}" for kind, name in words.NAMES.items()
    )
    return f"{column.label}: {words.rounded(column.lines.mean)} lines; {shares}."


def _hover(kind: str, said: str) -> str:
    return f"{words.NAMES[kind]} {said}"


def _lines(region: Region) -> Chart:
    bars = [
        Bar(
            column.label,
            [
                Part(kind, value := column.served[kind].mean, _hover(kind, words.whole(value)))
                for kind in words.STACK
            ],
            words.rounded(column.lines.mean),
            (column.lines.least, column.lines.most) if column.lines.varies else None,
        )
        for column in region.there
    ]
    ticks = nice_ticks(max((bar.reach for bar in bars), default=0))
    return Chart(
        "Cache lines served",
        bars,
        [(tick, words.rounded(tick)) for tick in ticks],
        " ".join(map(_said, region.there)),
    )


def _shares(region: Region) -> Chart:
    bars = [
        Bar(
            column.label,
            [
                Part(
                    kind,
                    share := column.share(kind) or 0,
                    _hover(kind, words.percent(share)),
                    f"{100 * share:.0f}%",
                )
                for kind in words.STACK
            ],
        )
        for column in region.there
    ]
    return Chart(
        "Shares",
        bars,
        [(tick / 4, f"{25 * tick}%") for tick in range(5)],
        " ".join(map(_said, region.there)),
    )


def _time(region: Region, first: str) -> Chart:
    has_base = len(region.columns) > 1 and all(column.ratio for column in region.there)
    bars = []
    for column in region.there:
        value = column.ratio if has_base and column.ratio else column.virtual_ns
        said = words.times(value.mean) if has_base else words.duration(value.mean)
        bars.append(
            Bar(
                column.label,
                [Part("time", value.mean, said)],
                said,
                (value.least, value.most) if value.varies else None,
            )
        )
    ticks = nice_ticks(max((bar.reach for bar in bars), default=0))
    title = f"Virtual time, relative to {first}" if has_base else "Virtual time"
    if width_of(title) * 1.2 > WIDTH:
        title = "Virtual time, relative to the first"
    return Chart(
        title,
        bars,
        [(tick, f"{tick:g}\u00d7" if has_base else words.duration(tick)) for tick in ticks],
        " ".join(
            f"{c.label}: {words.duration(c.virtual_ns.mean)}"
            + (f", {words.times(c.ratio.mean)}." if c.ratio else ".")
            for c in region.there
        ),
    )


def of_region(report: Report, region: Region) -> list[Chart]:
    return [_lines(region), _shares(region), _time(region, report.groups[0].label)]
