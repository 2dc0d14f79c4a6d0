"""Pieces of the page: tables that a phone shows as blocks, figures that programs can read."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from . import words
from .figures import Figure

__all__ = ["cell", "data", "escape", "figure", "legend", "listing", "mark", "table"]


def data(value: float, said: str) -> str:
    """A figure as people read it, and exactly."""
    exact = f"{value:.0f}" if value == int(value) else f"{value:.12g}"
    return f'<data value="{exact}">{escape(said)}</data>'


def figure(of: Figure | None, say: Callable[[float], str], remark: str = "") -> str:
    if of is None:
        return "-"
    small = "".join(f"<small>{escape(s)}</small>" for s in (remark, words.ends(of, say)) if s)
    return data(of.mean, say(of.mean)) + small


def cell(column: str, content: str, kind: str = "") -> str:
    classes = f' class="{kind}"' if kind else ""
    return f'<td role="cell" data-name="{escape(column)}"{classes}><span>{content}</span></td>'


def table(
    caption: str, columns: list[str], rows: list[tuple[str, list[str]]], kind: str = ""
) -> str:
    """Cells are HTML. Roles are spelt out, for blocks instead of rows would take them away."""
    head = "".join(
        f'<th role="columnheader" scope="col">{escape(column)}</th>' for column in columns
    )
    body = "".join(
        f'<tr role="row"><th role="rowheader" scope="row">{escape(name)}</th>'
        + "".join(cell(column, one) for column, one in zip(columns[1:], cells, strict=True))
        + "</tr>"
        for name, cells in rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="figures cards {kind}" role="table"><caption>{escape(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div>'
    )


def legend() -> str:
    items = "".join(
        f'<li><i class="b-{kind}" aria-hidden="true"></i>{words.NAMES[kind]}</li>'
        for kind in words.STACK
    )
    return f'<ul class="legend" aria-label="colours, from the bottom up">{items}</ul>'


def mark(origin: str) -> str:
    """Where a figure is from; what nobody published stands out."""
    kind = "mark" if origin.startswith("assumed") else "dim"
    return f'<span class="{kind}">{escape(origin)}</span>'


def listing(items: list[str], kind: str = "plain") -> str:
    return f'<ul class="{kind}">{"".join(f"<li>{escape(item)}</li>" for item in items)}</ul>'
