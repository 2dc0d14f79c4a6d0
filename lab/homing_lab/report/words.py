"""Figures as people read them; the same in pages and pictures."""

from __future__ import annotations

from collections.abc import Callable

from .figures import Figure

NAMES = {
    "local_cache": "local cache",
    "remote_cache": "remote cache",
    "local_dram": "local DRAM",
    "remote_dram": "remote DRAM",
}
# From the bottom of a bar up: what is local, then what is remote.
STACK = ("local_cache", "local_dram", "remote_cache", "remote_dram")
MATRIX_NAMES = {
    "dram": ("From memory", "home"),
    "cache": ("From another node's cache", "node that had it"),
    "local_cache": ("From a cache of its own node", "home"),
}


def rounded(value: float) -> str:
    """Three digits, and what they count in: 950, 1.20 k, 34.5 M."""
    if value < 999.5:
        return f"{value:.0f}"
    for unit in ("k", "M", "G", "T"):
        value /= 1000
        if value < 999.5 or unit == "T":
            break
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


def whole(value: float) -> str:
    return f"{value:,.0f}"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def duration(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            value = ns / size
            return f"{value:.{3 if value < 10 else 2 if value < 100 else 1}f} {unit}"
    return f"{ns:.0f} ns"


def times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:,.{2 if ratio < 100 else 0}f}\u00d7"


def ends(figure: Figure, say: Callable[[float], str]) -> str:
    """How far the runs of a label are apart; nothing if there is but one, or none can see it."""
    least, most = say(figure.least), say(figure.most)
    return f"{least} to {most}" if least != most else ""


def plain(text: str) -> str:
    """Bytes of a name that are no UTF-8 become question marks."""
    return text.encode("utf-8", "replace").decode()
