"""Checks that every part of a campaign's file shares: no word that is not known, no level that is not there."""

from __future__ import annotations

from typing import Any

from .errors import DesignError


def only(where: str, table: Any, known: set[str]) -> None:
    if not isinstance(table, dict):
        raise DesignError(where, repr(table), "a table")
    for name in table:
        if name not in known:
            raise DesignError(where, f"there is no '{name}'", f"one of: {', '.join(sorted(known))}")


def check_levels(where: str, factor: str, some: Any, factors: dict[str, list[Any]]) -> list[Any]:
    """A level of the factor or a list of them, as a list that is not empty."""
    levels = some if isinstance(some, list) else [some]
    known = [(type(level), level) for level in factors[factor]]  # true is no 1
    for level in levels or [levels]:
        if (type(level), level) not in known:
            raise DesignError(where, repr(level), f"levels of '{factor}': {', '.join(map(str, factors[factor]))}")
    return levels
