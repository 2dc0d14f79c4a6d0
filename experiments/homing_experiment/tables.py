"""An analysis as tables: for a terminal and for a page."""

from __future__ import annotations

from typing import Any

from .assumptions import VARIANCES_MIN

UNSURE = " ~"
PAIRS = "Effects of pairs of levels, beside the main effects"
Table = tuple[str, list[str], list[list[str]]]


def number(value: float | None) -> str:
    if value is None:
        return "-"
    size = abs(value)
    return f"{value:.3e}" if size and (size < 1e-3 or size >= 1e7) else f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"


def interval(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    if one.get("blocks") == 1:
        return number(one["value"])
    mark = "" if one.get("sure", True) else UNSURE
    return f"{number(one['value'])} [{number(one['low'])}, {number(one['high'])}]{mark}"


def chance(p: float | None) -> str:
    return "" if p is None else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def tables(found: dict[str, Any]) -> list[Table]:
    percent = f"{100 * found['confidence']:g}%"
    result = [_cells(found, percent)]
    if found["against"]:
        result.append(_against(found, percent))
    model = found["model"]
    if model:
        over = ["F is over"] if model["blocks"] else []
        result.append((f"Variation ({'logarithm of the response' if model['transform'] == 'log' else 'response'})",
                       ["component", "sum of squares", "share", "freedom", "F", "p", *over],
                       [[row["name"], number(row["sum_of_squares"]), f"{row['percent']:.1f}%", str(row["freedom"]),
                         "" if row["f"] is None else number(row["f"]), chance(row["p"]),
                         *([row["against"] or ""] if over else [])]
                        for row in model["anova"]]))
        multiplied = model["transform"] == "log"
        head = ["", f"effect [{percent}]", *(["multiplies by"] if multiplied else []), ""]
        mean = _effect(model["mean"], multiplied)
        if multiplied:
            mean[1] = f"geometric mean: {mean[1]}"  # in the response's unit: it multiplies nothing
        rows = {size: [[" x ".join(map(str, one["levels"])), *_effect(one, multiplied), _doubt(one)]
                       for one in model["effects"] if len(one["term"]) == size] for size in (1, 2)}
        result.append(("Main effects", head, [["mean", *mean, ""], *rows[1]]))
        if model["contrasts"]:
            result.append(("Contrasts", head, [[f"{_levels(one['levels'][0])} less {_levels(one['levels'][1])}",
                                                *_effect(one, multiplied), _doubt(one)] for one in model["contrasts"]]))
        if rows[2]:
            result.append((PAIRS, head, rows[2]))
    return result


def _doubt(one: dict[str, Any]) -> str:
    return "" if one["significant"] else "not significant"


def _levels(levels: list[Any]) -> str:
    return ", ".join(f"({level})" if "," in str(level) else str(level) for level in levels)


def _effect(one: dict[str, Any], multiplied: bool) -> list[str]:
    shown = [interval(one)]
    if multiplied:
        value, low, high = one["factor"]
        shown.append(f"{number(value)} [{number(low)}, {number(high)}]")
    return shown


def _cells(found: dict[str, Any], percent: str) -> Table:
    relative = bool(found["baseline"])
    speed = relative and (found["response"].endswith("_ms") or found["response"] == "rate")
    base = ", ".join(f"{name} {level}" for name, level in found["baseline"].items())
    head = [*found["factors"], "runs", f"median [{percent}]", "least", "most", *([f"relative to {base}"] if relative else []), *(["speed-up"] if speed else [])]
    rows = [[*map(str, cell["levels"]), str(cell["runs"]), interval(cell["median"]), number(cell["least"]), number(cell["most"]),
             *([interval(cell["relative"])] if relative else []), *([interval(cell["speed_up"])] if speed else [])] for cell in found["cells"]]
    return (f"{found['what'][0].upper()}{found['what'][1:]}: {found['kind_words']}", head, rows)


def _against(found: dict[str, Any], percent: str) -> Table:
    others = len(found["against"][0]["levels"])
    words = {None: "", True: "no worse than the paper's", False: "worse than the paper's"}
    rows = [[*map(str, one["levels"]), str(one["best"]), interval(one["ratio"]), number(one["paper"]),
             words[one["no_worse"]] + (", but the interval spans it" if one["spans"] else "")]
            for one in found["against"]]
    return (f"Against the best of the others, which is chosen after the fact [{percent}]",
            [*(["", ] * others), "best of the others", "ratio", "the paper's", ""], rows)


def notes(found: dict[str, Any]) -> list[str]:
    """What belongs below the tables."""
    said = []
    if found["model"]:
        low, high = found["model"]["replicates"]
        said.append(f"Transform: {found['model']['reason']}.")
        if high == 1:
            said.append("One run of each combination: the highest interaction is taken for the errors, so that what factors do only together "
                        "counts against them.")
        said.append(f"{len(found['model']['residuals'])} runs, {low if low == high else f'{low} to {high}'} of each combination; errors: standard deviation "
                    f"{number(found['model']['error_deviation'])}, {found['model']['error_freedom']} degrees of freedom.")
        if found["model"]["blocks"]:
            blocks = found["model"]["blocks"]
            own = " and of ".join(["the mean", *blocks["factors"]])
            said.append(f"Intervals of {own}: from how {blocks['name']} differ, {blocks['freedom']} degrees of "
                        "freedom; all others from the errors.")
        said += _averages(found)
        if low < VARIANCES_MIN:
            said.append(f"Fewer than {VARIANCES_MIN} runs of a combination: too few to ask whether variances differ.")
    said += [f"Warning: {remark}." for remark in found["remarks"]]
    if any(cell.endswith(UNSURE) for _, _, rows in tables(found) for row in rows for cell in row):
        said.append("`~`: an interval by bootstrap over fewer than five blocks, too narrow to be believed.")
    return said


def _averages(found: dict[str, Any]) -> list[str]:
    """Main effects that are averages over what differs: where an interaction is no chance, and a tenth of them at
    least."""
    rows = {row["name"]: row for row in found["model"]["anova"]}
    said = []
    for name, row in rows.items():
        factors = name.split(" x ")
        if len(factors) > 1 and row["p"] is not None and row["p"] < 1 - found["confidence"]:
            hang = [factor for factor in factors if row["percent"] > rows[factor]["percent"] / 10]
            for factor in hang:
                others = " and ".join(one for one in factors if one != factor)
                beside = rows[factor]["percent"]
                said.append(f"What {factor} does hangs on {others} ({name}: {row['percent']:.1f}% of the variation, "
                            f"beside {beside:.1f}%): its main effects and contrasts are averages over {others}.")
    return said


def text(found: dict[str, Any]) -> str:
    lines = [found["title"], "=" * len(found["title"])]
    for title, head, rows in tables(found):
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines += ["", title]
        for row in [head, *rows]:
            lines.append("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    return "\n".join([*lines, "", *notes(found), ""])


def markdown(found: dict[str, Any]) -> str:
    lines = []
    for title, head, rows in tables(found):
        folded = title == PAIRS  # long
        lines += ["", f"<details><summary>{title}</summary>" if folded else f"**{title}**", ""]
        lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        lines += ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]
        lines += ["", "</details>"] if folded else []
    return "\n".join([*lines, "", *(f"- {note}" for note in notes(found)), ""])
