"""Bars as SVG: stacked or single, upright while their names fit, lying if not.

Each is drawn for a phone's width, where its letters are as large as the text around it, and grows
a little on a wide screen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

WIDTH = 340.0
LEFT, RIGHT, TOP, PLOT = 46.0, 6.0, 22.0, 190.0
LETTER = 6.1  # width of one at 10.5 px, generously
SLOT_MIN = 46.0  # of an upright bar, so that the figure above it fits
NAME_LINES_MAX = 4

# One palette for both cards: each colour stands out from either (3 to 1), and letters from it
# (4.5 to 1). What is local is blue, what is remote is brown; DRAM is darker than a cache.
COLOURS = {
    "local_cache": "#3d98d3",
    "local_dram": "#1f6fb2",
    "remote_cache": "#c98500",
    "remote_dram": "#c8500a",
    "time": "#5b7f6b",
}
STYLE = """
.c-ink{fill:#1f2328}.c-dim{fill:#59636e}.c-card{fill:#fff}
.c-grid{stroke:#8c959f;stroke-opacity:.35}.c-axis{stroke:#59636e;fill:none}
.c-ends{stroke:#1f2328;stroke-width:1.5;fill:none}
.c-text{font-family:system-ui,"Segoe UI",Helvetica,Arial,sans-serif;font-size:10.5px}
.c-head{font-size:12.5px;font-weight:600}.c-title{font-size:17px;font-weight:600}
.c-mid{text-anchor:middle}.c-end{text-anchor:end}.c-strong{font-weight:600}
.c-on-dark{fill:#fff}.c-on-light{fill:#000}
@media (prefers-color-scheme:dark){
.c-ink{fill:#f0f6fc}.c-dim{fill:#9198a1}.c-card{fill:#0d1117}.c-axis{stroke:#9198a1}
.c-ends{stroke:#f0f6fc}
}
@media print{
.c-ink{fill:#000}.c-dim{fill:#444}.c-card{fill:#fff}.c-axis{stroke:#444}.c-ends{stroke:#000}
}
""" + "".join(f".c-{kind}{{fill:{colour}}}" for kind, colour in COLOURS.items())
ON = {"local_dram": "c-on-dark", "remote_dram": "c-on-dark"}


@dataclass
class Part:
    kind: str
    value: float
    hover: str = ""
    said: str = ""  # inside, if there is room


@dataclass
class Bar:
    name: str
    parts: list[Part]
    top: str = ""  # said at its end
    ends: tuple[float, float] | None = None

    @property
    def value(self) -> float:
        return sum(part.value for part in self.parts)

    @property
    def reach(self) -> float:
        return max(self.value, self.ends[1] if self.ends else 0)


@dataclass
class Chart:
    title: str
    bars: list[Bar]
    ticks: list[tuple[float, str]]  # the last is where the axis ends
    said: str = ""  # the same in words, for who can't see it
    height: float = field(default=0, init=False)


def nice_ticks(most: float, count: int = 4) -> list[float]:
    """Steps of 1, 2 or 5 times a power of ten, until beyond `most`."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= raw * 0.999999)
    return [n * step for n in range(math.ceil(most / step - 1e-9) + 1)]


def width_of(said: str) -> float:
    """At 10.5 px, in whatever sans-serif there is: rather too much."""

    def one(letter: str) -> float:
        if letter in "mwMW@%" or ord(letter) > 0x2E7F:
            return 11.0
        return 7.6 if letter.isupper() or letter in "#&<>=+~" else LETTER

    return sum(map(one, said))


def cut(said: str, width: float) -> str:
    """As much of it as fits, and a sign that there is more."""
    if width_of(said) <= width:
        return said
    while said and width_of(said + "\u2026") > width:
        said = said[:-1]
    return said + "\u2026"


def wrap(name: str, width: float) -> list[str]:
    """A name in lines, broken after spaces and signs; no lines if a word is too long."""
    lines, line, word = [], "", ""
    pieces = []
    for letter in name:
        word += letter
        if letter in " -_,/:":
            pieces.append(word)
            word = ""
    for piece in filter(None, [*pieces, word]):
        if width_of(piece.rstrip()) > width:
            return []
        if line and width_of((line + piece).rstrip()) > width:
            lines.append(line.strip())
            line = ""
        line += piece
    return [*lines, line.strip()]


def text(x: float, y: float, said: str, classes: str = "c-ink") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="c-text {classes}">{escape(said)}</text>'


def rect(x: float, y: float, width: float, height: float, classes: str, title: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'class="{classes}"><title>{escape(title)}</title></rect>'
    )


def _upright(chart: Chart, names: list[list[str]]) -> str:
    most = chart.ticks[-1][0] or 1
    bottom = TOP + PLOT
    slot = (WIDTH - LEFT - RIGHT) / len(chart.bars)
    width = min(46.0, slot * 0.72)
    out = []
    for value, said in chart.ticks:
        y = bottom - value / most * PLOT
        out.append(f'<path d="M{LEFT:g} {y:.1f}H{WIDTH - RIGHT:g}" class="c-grid"/>')
        out.append(text(LEFT - 6, y + 3.5, said, "c-dim c-end"))
    for number, bar in enumerate(chart.bars):
        middle = LEFT + slot * (number + 0.5)
        y = bottom
        for part in bar.parts:
            height = part.value / most * PLOT
            if height <= 0:
                continue
            y -= height
            gap = 1 if height > 3 else 0
            title = f"{bar.name}: {part.hover}"
            out.append(
                rect(middle - width / 2, y, width, height - gap, f"c-{part.kind}", title)
            )
            if part.said and height >= 14 and len(part.said) * LETTER <= width + 6:
                ink = f"c-mid {ON.get(part.kind, 'c-on-light')}"
                out.append(text(middle, y + height / 2 + 3.5, part.said, ink))
        top = bottom - bar.reach / most * PLOT
        if bar.ends:
            low, high = (bottom - end / most * PLOT for end in bar.ends)
            out.append(
                f'<path d="M{middle - 4:.1f} {low:.1f}h8m-4 0V{high:.1f}m-4 0h8" class="c-ends"/>'
            )
        if bar.top:
            out.append(text(middle, top - 5, bar.top, "c-ink c-mid c-strong"))
        for line, said in enumerate(names[number]):
            out.append(text(middle, bottom + 15 + 12 * line, said, "c-ink c-mid"))
    out.append(f'<path d="M{LEFT:g} {bottom:g}H{WIDTH - RIGHT:g}" class="c-axis"/>')
    chart.height = bottom + 15 + 12 * max(len(lines) for lines in names)
    return "\n".join(out)


def _lying(chart: Chart) -> str:
    most = chart.ticks[-1][0] or 1
    room = max((len(bar.top) for bar in chart.bars), default=0) * (LETTER + 0.3) + 8
    plot = WIDTH - RIGHT - room - 2
    out, y = [], TOP
    for bar in chart.bars:
        out.append(text(2, y + 8, cut(bar.name, WIDTH - 4)))
        x = 2.0
        for part in bar.parts:
            width = part.value / most * plot
            if width <= 0:
                continue
            title = f"{bar.name}: {part.hover}"
            out.append(
                rect(x, y + 13, width - (1 if width > 3 else 0), 15, f"c-{part.kind}", title)
            )
            if part.said and len(part.said) * LETTER <= width - 4:
                ink = f"c-mid {ON.get(part.kind, 'c-on-light')}"
                out.append(text(x + width / 2, y + 24, part.said, ink))
            x += width
        if bar.ends:
            low, high = (2 + end / most * plot for end in bar.ends)
            out.append(f'<path d="M{low:.1f} {y + 16:.1f}v8m0-4H{high:.1f}m0-4v8" class="c-ends"/>')
        if bar.top:
            at = 2 + bar.reach / most * plot + 6
            out.append(text(at, y + 24, bar.top, "c-ink c-strong"))
        y += 36
    chart.height = y + 2
    return "\n".join(out)


def body(chart: Chart) -> str:
    """The drawing alone; afterwards `chart.height` is known."""
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(chart.bars))
    names = [wrap(bar.name, slot - 2) for bar in chart.bars]
    fit = slot >= SLOT_MIN and all(0 < len(lines) <= NAME_LINES_MAX for lines in names)
    drawing = _upright(chart, names) if fit else _lying(chart)
    return text(2, 11, chart.title, "c-ink c-head") + "\n" + drawing


def inline(chart: Chart, name: str) -> str:
    """For a page that has STYLE. `name` is unique on it."""
    drawing = body(chart)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {chart.height:g}" '
        f'class="chart" role="img" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">{escape(chart.title)}</title>'
        f'<desc id="{name}-d">{escape(chart.said)}</desc>\n{drawing}\n</svg>'
    )
