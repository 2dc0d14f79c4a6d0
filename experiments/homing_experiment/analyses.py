"""What a campaign's file asks `analyse` for: a response, its factors, a transform, contrasts and a base line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import DesignError
from .reading import check_levels, only
from .responses import NEITHER_IS_BETTER, RESPONSES

TRANSFORMS = ("none", "log", "auto")
KEYS = {"name", "response", "factors", "only", "transform", "confidence", "contrasts", "baseline", "against", "title", "blocks"}


def parse(path: Path, tables: Any, factors: dict[str, list[Any]],
          cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """`cells`: the levels of each. Raises DesignError. Each result has all of KEYS."""
    if not isinstance(tables, list):
        raise DesignError(f"{path}: analysis", repr(tables)[:60], "tables [[analysis]]")
    found = [_one(path, number, table, factors, cells) for number, table in enumerate(tables)]
    names = [analysis["name"] for analysis in found]
    for name in names:
        if names.count(name) > 1:
            raise DesignError(f"{path}: analysis", f"the name '{name}' twice", "a name for each")
    return found


def _one(path: Path, number: int, table: Any, factors: dict[str, list[Any]],
         cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    where = f"{path}: analysis {number + 1}"
    only(where, table, KEYS)
    response = table.get("response")
    if not isinstance(response, str) or response not in RESPONSES:
        raise DesignError(f"{where}: response", repr(response), f"one of: {', '.join(RESPONSES)}")
    chosen = table.get("factors", list(factors))
    if not _names(chosen, factors) or not 1 <= len(chosen) <= 4:
        raise DesignError(f"{where}: factors", repr(chosen), f"1 to 4 of: {', '.join(factors)}; each once")
    subset = table.get("only", {})
    only(f"{where}: only", subset, set(factors))
    subset = {name: check_levels(f"{where}: only.{name}", name, some, factors) for name, some in subset.items()}
    shown = _shown(where, chosen, subset, factors, cells)
    transform = table.get("transform", "auto")
    if transform not in TRANSFORMS:
        raise DesignError(f"{where}: transform", repr(transform), " or ".join(TRANSFORMS))
    confidence = table.get("confidence", 0.95)
    if type(confidence) is not float or not 0.5 <= confidence < 1:
        raise DesignError(f"{where}: confidence", repr(confidence), "0.5 to 0.999, such as 0.9")
    baseline = table.get("baseline", {})
    only(f"{where}: baseline", baseline, set(chosen))
    for name, level in baseline.items():
        check_levels(f"{where}: baseline.{name}", name, [level], shown)
    blocks = table.get("blocks")
    if blocks is not None and not _names(blocks, chosen):
        raise DesignError(f"{where}: blocks", repr(blocks),
                          f"[], or those of {', '.join(chosen)} within which a block has an effect of its own, "
                          "each once")
    name = table.get("name", response)
    if not isinstance(name, str) or not name.replace("-", "").replace("_", "").isalnum():
        raise DesignError(f"{where}: name", repr(name), "letters, digits, - and _")
    title = table.get("title", name)
    if not isinstance(title, str) or not title.isprintable() or not 0 < len(title) <= 200:
        raise DesignError(f"{where}: title", repr(title)[:60], "a line of 1 to 200 characters")
    if "against" in table and response in NEITHER_IS_BETTER:
        raise DesignError(f"{where}: against", f"the best {response}", "a response of which more, or less, is better")
    against = _against(where, table.get("against"), chosen, shown)
    return {"name": name, "against": against, "title": title, "response": response, "factors": chosen, "only": subset,
            "transform": transform, "confidence": confidence, "baseline": baseline, "blocks": blocks,
            "contrasts": _contrasts(where, table.get("contrasts", []), chosen, shown)}


def _names(some: Any, known: Any) -> bool:
    """Whether it is a list of known names, none of them twice."""
    if not isinstance(some, list) or any(not isinstance(name, str) or name not in known for name in some):
        return False
    return len(set(some)) == len(some)


def _shown(where: str, chosen: list[str], subset: dict[str, list[Any]], factors: dict[str, list[Any]],
           cells: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """The levels of each factor in the analysis. Raises DesignError if two of its cells differ in what is no factor of
    it: their runs would be taken for one another's."""
    inside = [cell for cell in cells if all(cell[name] in some for name, some in subset.items())]
    if not inside:
        raise DesignError(f"{where}: only", "no combination of the campaign", "one that `leave_out` leaves")
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in inside:
        other = first.setdefault(tuple(cell[name] for name in chosen), cell)
        for name in cell:
            if cell[name] != other[name]:
                raise DesignError(f"{where}: factors",
                                  f"no '{name}', which is {other[name]} in some of its runs and {cell[name]} in others",
                                  f"'{name}' in `factors`, or one level of it in `only`")
    return {name: [level for level in levels if any(cell[name] == level for cell in inside)]
            for name, levels in factors.items()}


def _against(where: str, table: Any, chosen: list[str], factors: dict[str, list[Any]]) -> dict[str, Any] | None:
    """One level against the best of others, for each combination of the other factors; with what the paper found, by the
    levels of the one other factor (or, without another, as one number)."""
    if table is None:
        return None
    only(f"{where}: against", table, {"factor", "level", "best_of", "paper"})
    factor = table.get("factor")
    if factor not in chosen:
        raise DesignError(f"{where}: against: factor", repr(factor), f"one of: {', '.join(chosen)}")
    level = check_levels(f"{where}: against: level", factor, table.get("level"), factors)[0]
    best_of = check_levels(f"{where}: against: best_of", factor, table.get("best_of", []), factors)
    if level in best_of:
        raise DesignError(f"{where}: against: best_of", repr(best_of), "other levels than `level`")
    paper = table.get("paper", {})
    others = [name for name in chosen if name != factor]
    for key, value in (paper.items() if isinstance(paper, dict) else [("", paper)]):
        if type(value) not in (int, float) or not 0 < value < math.inf:
            raise DesignError(f"{where}: against: paper", f"{key} {value!r}", "a number above 0")
        if isinstance(paper, dict) and (len(others) != 1 or key not in map(str, factors[others[0]])):
            raise DesignError(f"{where}: against: paper", f"'{key}'", "levels of the one other factor")
    return {"factor": factor, "level": level, "best_of": best_of, "paper": paper}


def _contrasts(where: str, rows: Any, chosen: list[str], factors: dict[str, list[Any]]) -> list[dict[str, Any]]:
    if not isinstance(rows, list):
        raise DesignError(f"{where}: contrasts", repr(rows)[:60], "a list of tables")
    found = []
    for row in rows:
        only(f"{where}: contrasts", row, {"factor", "plus", "minus"})
        factor = row.get("factor")
        if factor not in chosen:
            raise DesignError(f"{where}: contrasts: factor", repr(factor), f"one of: {', '.join(chosen)}")
        sides = {side: check_levels(f"{where}: contrasts: {side}", factor, row.get(side, []), factors)
                 for side in ("plus", "minus")}
        if set(map(str, sides["plus"])) & set(map(str, sides["minus"])):
            raise DesignError(f"{where}: contrasts", repr(row), "plus and minus, with levels of their own on each side")
        found.append({"factor": factor, **sides})
    return found
