"""Matrices of nodes as heat maps: as a table of a page, where each cell is a figure, or as SVG."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from ..keys import Matrix
from . import charts
from .html import mark

# From pale to full; all between stand out from a dark and from a light card.
PALETTES = {
    "blue": ((214, 230, 244), (8, 81, 156)),
    "orange": ((253, 228, 204), (166, 54, 3)),
    "grey": ((232, 234, 237), (87, 96, 106)),
}
CELL_WIDTH, CELL_HEIGHT, HEAD = 62.0, 38.0, 50.0


@dataclass
class Heat:
    title: str
    row_word: str
    column_word: str
    rows: list[str]
    columns: list[str]
    values: Matrix
    texts: list[list[str]]
    palette: str = "blue"
    remarks: list[list[str]] = field(default_factory=list)  # smaller, below
    note: str = ""
    most: float = 0  # what the full colour stands for; maps side by side have one

    def __post_init__(self) -> None:
        self.most = self.most or greatest(self.values)


def greatest(values: Matrix) -> float:
    return max((max(row, default=0) for row in values), default=0)


def _linear(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def shade(palette: str, share: float) -> tuple[str, str]:
    """A cell's colour and that of its letters, whichever of two has more contrast."""
    pale, full = PALETTES[palette]
    mixed = [round(a + (b - a) * share) for a, b in zip(pale, full, strict=True)]
    red, green, blue = map(_linear, mixed)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    ink = "#000000" if luminance > 0.179 else "#ffffff"
    return "#" + "".join(f"{part:02x}" for part in mixed), ink


def _colours(heat: Heat, value: float) -> tuple[str, str]:
    return shade(heat.palette, value / heat.most if heat.most else 0)


def _short(texts: list[list[str]]) -> bool:
    """Narrow cells are enough."""
    return all(len(text) <= 4 for row in texts for text in row)


def html(heat: Heat) -> str:
    """A table that is the picture: readers who see no colours hear the figures."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heat.columns)
    rows = []
    for r, name in enumerate(heat.rows):
        cells = []
        for c, value in enumerate(heat.values[r]):
            back, ink = _colours(heat, value)
            remark = heat.remarks[r][c] if heat.remarks else ""
            small = f"<small>{escape(remark)}</small>" if remark else ""
            cells.append(
                f'<td style="background:{back};color:{ink}">'
                f'<data value="{value:.12g}">{escape(heat.texts[r][c])}</data>{small}</td>'
            )
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>')
    kind = "heat small" if _short(heat.texts) and not heat.remarks else "heat"
    axes = f"row: {heat.row_word}, column: {heat.column_word}"
    note = f" {mark(heat.note)}" if heat.note else ""
    note += f'<span class="note">{escape(axes)}</span>'
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(heat.title)}">'
        f'<table class="{kind}"><caption>{escape(heat.title)}{note}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def svg(heat: Heat) -> tuple[str, float, float]:
    """The drawing, its width and its height."""
    left = 12 + max([len(name) for name in heat.rows] + [4]) * charts.LETTER
    axes = f"row: {heat.row_word}, column: {heat.column_word}"
    out = [charts.text(2, 11, heat.title, "c-ink c-strong"), charts.text(2, 25, axes, "c-dim")]
    for c, name in enumerate(heat.columns):
        out.append(charts.text(left + (c + 0.5) * CELL_WIDTH, 44, name, "c-ink c-mid"))
    for r, name in enumerate(heat.rows):
        y = HEAD + r * CELL_HEIGHT
        out.append(charts.text(left - 8, y + CELL_HEIGHT / 2 + 3, name, "c-ink c-end"))
        for c, value in enumerate(heat.values[r]):
            back, ink = _colours(heat, value)
            x = left + c * CELL_WIDTH
            out.append(
                f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{CELL_WIDTH - 2:g}" '
                f'height="{CELL_HEIGHT - 2:g}" rx="3" fill="{back}"/>'
            )
            remark = heat.remarks[r][c] if heat.remarks else ""
            for said, down in ((heat.texts[r][c], 16 if remark else 22), (remark, 29)):
                if said:
                    out.append(
                        f'<text x="{x + CELL_WIDTH / 2:.1f}" y="{y + down:.1f}" '
                        f'class="c-text c-mid" fill="{ink}">{escape(said)}</text>'
                    )
    width = max(left + len(heat.columns) * CELL_WIDTH, 2 + len(axes) * charts.LETTER)
    return "\n".join(out), width, HEAD + len(heat.rows) * CELL_HEIGHT
