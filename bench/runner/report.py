"""The same rows as a table for people, as Markdown for docs/results/, and as JSON with every sample."""

from statistics import median

from . import ratios

HEADER = ("case", "threads", "stock", "ours", "wall ours/stock", "CPU ours/stock", "")


def time_text(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def ratio_text(comparison: dict | None) -> str:
    if not comparison or comparison["ratio"] is None:
        return "-"
    sign = "" if ratios.certain(comparison) else " ~"
    return f"{comparison['ratio']:.3f} [{comparison['low']:.3f}, {comparison['high']:.3f}]{sign}"


def note(row: dict) -> str:
    if row["failed"]:
        return "; ".join(f"{library}: {how}" for library, how in row["failed"].items())
    if row["capped"]:
        return f"stock {row['capped']}"
    wall = row["wall"]
    if row["figure"] == "wall" and wall and wall["ratio"] and wall["ratio"] > ratios.LOSS:
        return "slower" if ratios.certain(wall) else "slower?"
    return ""


def cells(row: dict) -> tuple[str, ...]:
    clock = row[row["figure"]]
    name, threads = row["case"], str(row["threads"])
    if clock is None:
        ours = time_text(row["ours_alone_ns"]) if row["ours_alone_ns"] else "-"
        return name, threads, "-", ours, "-", "-", note(row)
    wall = ratio_text(row["wall"]) if row["figure"] == "wall" else "-"
    return (name, threads, time_text(clock["stock_ns"]), time_text(clock["ours_ns"]), wall,
            ratio_text(row["cpu"]), note(row))


def summary(rows: list[dict], busy: bool) -> list[str]:
    lines = ["the machine was busy when this began: wall times are doubtful, trust CPU ratios"] if busy else []
    for clock, text in (("wall", "wall"), ("cpu", "CPU")):
        values = [row[clock]["ratio"] for row in rows if row[clock] and row[clock]["ratio"]]
        if values:
            lines.append(f"{text}: median ratio {median(values):.3f}, from {min(values):.3f} to "
                         f"{max(values):.3f}, over {len(values)} figures")
    lines += [f"{'met   ' if bar['met'] else 'MISSED'} {bar['bar']}: {bar['figure']}"
              for bar in ratios.verdicts(rows)]
    return lines


def failure_lines(failures: list[dict]) -> list[str]:
    """One line a failure; what the program said follows, once for the same words."""
    lines = []
    said = set()
    for entry in failures:
        lines.append(f"{entry['library']}: {entry['case'] or entry['program']} at "
                     f"{entry['threads']} threads: {entry['failure']}")
        if entry["message"] not in said:
            lines += [f"    {line}" for line in entry["message"].splitlines()[-5:]]
        said.add(entry["message"])
    return lines


def table(rows: list[dict]) -> str:
    body = [HEADER] + [cells(row) for row in rows]
    widths = [max(len(line[column]) for line in body) for column in range(len(HEADER))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in body)


def markdown(result: dict) -> str:
    rows = result["rows"]
    same = len(set(result["libraries"].values())) == 1
    title = "Stock oneTBB against itself: the noise" if same else \
        "The same programs on stock oneTBB and on Homing"
    lines = [f"# {title}", "",
             f"Made by `{result['command']}`. Both libraries ran the same binaries in turn, in random "
             "order; a time is the median of one iteration, a ratio that of the medians, with the 95% "
             "bootstrap interval over rounds; `~` marks an interval that includes 1, or one from "
             f"fewer than {ratios.PAIRS_MIN} rounds. `@2nodes` ran on two made-up NUMA nodes of one "
             "CPU each.", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in result["machine"].items()]
    lines += [f"| {name} | {value} |" for name, value in result["libraries"].items()]
    options = result["options"]
    lines += [f"| pairs | {options['pairs']}, of {options['reps']} repetitions; "
              f"{options['heavy_pairs']} for heavy cases |", f"| seed | {options['seed']} |", ""]
    lines += [f"- {line}" for line in summary(rows, result["busy"])]
    if result["failures"]:
        lines += ["", "## Failures", "", "```", *failure_lines(result["failures"]), "```"]
    lines += ["", "| " + " | ".join(HEADER) + " |", "|---|--:|--:|--:|---|---|---|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
