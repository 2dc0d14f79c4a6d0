"""The page of a campaign in virtual machines: ratios by machine and threads, where the time goes, and a picture."""

from html import escape
from statistics import median

from . import ratios
from .report import ratio_text, time_text

NAMES = ("stock", "ours")
HOT_LINES, HOT_FUNCTIONS = 10, 6


def summary(result: dict) -> list[str]:
    lines = []
    for entry in result["machines"]:
        values = [row["wall"]["ratio"] for row in ratios.counted(entry["rows"])]
        if values:
            lines.append(f"{entry['machine']}: median ratio {median(values):.3f}, from {min(values):.3f} to {max(values):.3f}, "
                         f"over {len(values)} figures, {entry['boots']} boots")
        lines += [f"BOOTED AGAIN {entry['machine']}: {lost}" for lost in entry["lost"]]
        lines += [f"FAILED {failure}" for failure in entry["failures"]]
    return lines


def by_case(entry: dict) -> dict[str, dict[int, dict]]:
    cases: dict[str, dict[int, dict]] = {}
    for row in entry["rows"]:
        cases.setdefault(row["case"], {})[row["threads"]] = row
    return cases


def markdown(result: dict) -> str:
    options = result["options"]
    lines = [
        "# The same programs on stock oneTBB and on Homing, in virtual NUMA machines", "",
        "**Modelled, not measured**: times are those of the [lab](../guide/lab.md)'s clock, on machines that the lab's model plays. "
        "What the model leaves out stands in [its design record](../design/0006-the-lab.md).", "",
        f"Again: `make bench-lab` (this page: `{result['command']}`). Both libraries ran the same binaries and did the same work in the "
        "same boots, in random order. A time is the median of one iteration, a ratio that of the medians (ours over stock's), with the "
        f"95% bootstrap interval over boots; `~` marks an interval that includes 1, or one from fewer than {ratios.PAIRS_MIN} boots.", "",
        "| | |", "|---|---|",
        f"| commit | {result['commit']} |",
        f"| host | {result['host']}; load average {result['load']} when it began |",
        f"| of each machine, for each program | {options['boots']} boots, {options['reps']} repetitions of about {options['target_us']} us of the "
        "host's time with one thread |",
        f"| seed | {options['seed']} |", "", *[f"- {line}" for line in summary(result)], "",
        "![Ours over stock by threads, machine by machine](../pictures/bench-lab.svg)",
    ]
    for entry in result["machines"]:
        lines += machine_lines(entry)
    return "\n".join(lines) + "\n"


def machine_lines(entry: dict) -> list[str]:
    lines = ["", f"## {entry['machine']}", "", f"{entry['title']}: {entry['cpus']} CPUs, {entry['nodes']} "
             f"node{'s' if entry['nodes'] > 1 else ''} in the model.", "",
             "| case | threads | stock | ours | ours/stock |", "|---|--:|--:|--:|---|"]
    for row in entry["rows"]:
        wall = row["wall"]
        if wall:
            cells = (time_text(wall["stock_ns"]), time_text(wall["ours_ns"]), ratio_text(wall))
        else:
            why = "; ".join(f"{library}: {how}" for library, how in row["failed"].items())
            cells = ("-", "-", why or "no figure")
        lines.append(f"| `{row['case']}` | {row['threads']} | {' | '.join(cells)} |")
    for library in NAMES:
        found = entry["hot"].get(library)
        if found and found["hot"]:
            lines += hot_lines(library, found)
    return lines


def hot_lines(library: str, found: dict) -> list[str]:
    """Ours with the line of the source, which names the field; stock by its symbols."""
    hot = found["hot"]
    lines = ["", f"### {entry_name(library)}: lines that CPUs take from each other, {found['threads']} threads", "",
             f"`short_loops/n7000`, the whole process: {hot['moves']:,} moves of {hot['lines_moved']:,} lines, "
             f"{hot['moves_between_nodes']:,} between nodes.", "",
             "| moves | between nodes | waits | what | sharing | who moves it |", "|--:|--:|--:|---|---|---|"]
    for line in hot["lines"][:HOT_LINES]:
        lines.append(f"| {line['moves']:,} | {line['moves_between_nodes']:,} | {time_text(max(line['wait_ns'], 1))} | "
                     f"{code(line['name'])} | {line['sharing']} | {'; '.join(who(user, library) for user in line['users'][:3])} |")
    lines += ["", "| function | time | share | waiting | instructions |", "|---|--:|--:|--:|--:|"]
    for function in hot["functions"][:HOT_FUNCTIONS]:
        waiting = function["wait_ns"] / function["ns"] if function["ns"] else 0
        lines.append(f"| {code(plain(function['function']))} | {time_text(max(function['ns'], 1))} | {100 * function['share']:.1f}% | "
                     f"{100 * waiting:.0f}% | {function['instructions']:,} |")
    return lines


def entry_name(library: str) -> str:
    return {"stock": "Stock", "ours": "Ours"}[library]


def who(user: dict, library: str) -> str:
    text = f"{code(plain(user['function']))} {user['moves']:,}"
    if library == "ours" and user["source"]:
        text += f" ({code(user['source'][:70])})"
    return text


def plain(name: str) -> str:
    """A function without its arguments and namespaces that all have."""
    depth, result = 0, []
    for letter in name.replace("(anonymous namespace)::", ""):
        if letter == "(" and depth == 0:
            break
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            result.append(letter)
    return "".join(result).replace("tbb::detail::", "").replace("homing::scheduler::", "")[-70:]


def code(text: str) -> str:
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


# -- the picture ---------------------------------------------------------------------------------

WIDTH, PANEL, LEFT, TOP = 760, 130, 60, 46
STYLE = ("text{font:12px sans-serif;fill:#333}.s{font-size:10px;fill:#777}.t{font-weight:bold}line{stroke:#ccc}.one{stroke:#888}"
         ".bar{stroke:#7aa6d6;stroke-width:2}circle{fill:#1f6fb5}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}.s{fill:#999}line{stroke:#444}.one{stroke:#888}}")


def picture(result: dict) -> str:
    """A panel a machine; in it, for each thread count, every case's ratio as a point with its interval."""
    entries = [entry for entry in result["machines"] if ratios.counted(entry["rows"])]
    height = TOP + PANEL * len(entries) + 10
    shapes = ['<text x="10" y="20" class="t">Ours over stock oneTBB, modelled time (below 1: ours is faster)</text>']
    for index, entry in enumerate(entries):
        shapes += panel(entry, TOP + PANEL * index)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
            f"<style>{STYLE}</style>" + "".join(shapes) + "</svg>\n")


def panel(entry: dict, top: int) -> list[str]:
    rows = ratios.counted(entry["rows"])
    threads = sorted({row["threads"] for row in rows})
    most = max(1.5, *(row["wall"]["ratio"] for row in rows), *(row["wall"]["high"] or 0 for row in rows))

    def y(ratio: float) -> float:
        return top + PANEL - 30 - (PANEL - 50) * min(ratio, most) / most

    shapes = [f'<text x="10" y="{top + 10}" class="t">{escape(entry["machine"])}</text>']
    for ratio in (0, 0.5, 1, 1.5):
        shapes.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(ratio):.1f}" y2="{y(ratio):.1f}"'
                      f'{" class=" + chr(34) + "one" + chr(34) if ratio == 1 else ""}/>'
                      f'<text x="{LEFT - 8}" y="{y(ratio) + 4:.1f}" text-anchor="end" class="s">{ratio:g}</text>')
    column = (WIDTH - LEFT - 20) / len(threads)
    for place, count in enumerate(threads):
        of_count = [row for row in rows if row["threads"] == count]
        middle = LEFT + column * (place + 0.5)
        shapes.append(f'<text x="{middle:.1f}" y="{top + PANEL - 14}" text-anchor="middle" class="s">'
                      f'{count} thread{"s" if count > 1 else ""}</text>')
        for number, row in enumerate(of_count):
            x = middle + (number - (len(of_count) - 1) / 2) * min(14, column * 0.8 / len(of_count))
            wall = row["wall"]
            if wall["low"] is not None:
                shapes.append(f'<line class="bar" x1="{x:.1f}" x2="{x:.1f}" y1="{y(wall["low"]):.1f}" y2="{y(wall["high"]):.1f}"/>')
            shapes.append(f'<circle cx="{x:.1f}" cy="{y(wall["ratio"]):.1f}" r="3"><title>{escape(row["case"])}: '
                          f'{wall["ratio"]:.3f}</title></circle>')
    return shapes
