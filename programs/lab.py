#!/usr/bin/env python3
"""The papers' programs on a virtual NUMA machine: who served each cache line, in every variant. All figures are modelled,
none is measured. Variants that use nothing of Homing's run on stock oneTBB, the others on ours, all in the same boot."""

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from runner import values  # noqa: E402
from runner.interruption import exit_with, run_to_its_end  # noqa: E402

BUILD = ROOT / "build" / "release"
SERVED = ("local_cache", "remote_cache", "local_dram", "remote_dram")
# The size and the cache scale at which data is to the caches about what it was in the paper.
PROGRAMS = {"cg": ("S3", 64), "mg": ("W", 64), "streamcluster": ("lab", 128), "fluidanimate": ("lab", 16), "ferret": ("test", 64),
            "jacobi": ("small", 16), "stream": ("small", 16), "cilksort": ("small", 64), "heat": ("small", 64),
            "transpose": ("512", 16), "matmul": ("256", 64), "uts": ("small", 16), "nqueens": ("10", 16), "fib": ("20", 16),
            "integrate": ("50", 16), "skynet": ("10k", 16)}
NOTES = ROOT / "programs" / "lab_notes.md"  # what is known of a program's figures: put behind its table in the page
THIRD = ("cg", "mg", "streamcluster", "fluidanimate")  # homing-placed: a third of the best stock variant's remote DRAM


def cache_scale(text: str) -> float:
    """A type for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: expected how many times smaller caches are, 1 or more")
    return value


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=[], help=f"default: {' '.join(PROGRAMS)}")
    parser.add_argument("--machine", default="westmere", help="of `homing lab list` (default: %(default)s)")
    parser.add_argument("--threads", type=values.number(1024), default=16, help="default: %(default)s")
    parser.add_argument("--variant", help="some of the variants, with commas between (default: all)")
    parser.add_argument("--size", help="another size than that of the table in this file")
    parser.add_argument("--cache-scale", type=cache_scale, help="caches are so many times smaller (default: by program)")
    parser.add_argument("--boots", type=values.number(values.ROUNDS_MAX), default=1, help="boots of each program (default: %(default)s)")
    parser.add_argument("--page", type=Path,
                        help="write a page of what the folder of results has of this machine, threads, size and cache scale; boot nothing")
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one boot (default: %(default)s)")
    parser.add_argument("--no-check", action="store_true", help="leave out the check of each result in the guest")
    parser.add_argument("--results", type=Path, default=BUILD / "programs-lab", help="folder for what was counted (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="JSON on stdout")
    parser.add_argument("--check", action="store_true", help="exit status 1 unless remote DRAM is as expected: see THIRD in this file")
    parser.add_argument("--stock", type=Path, default=Path(os.environ.get("HOMING_VENV") or ROOT / ".venv") / "lib",
                        help="folder of the stock libtbb.so.12")
    parser.add_argument("--build", type=Path, default=BUILD, help="build of Homing (default: %(default)s)")
    result = parser.parse_args()
    result.stock, result.build = result.stock.absolute(), result.build.absolute()
    for name in [] if result.page else result.programs or PROGRAMS:
        if name not in PROGRAMS:
            parser.error(f"{name}: expected programs out of {', '.join(PROGRAMS)}")
        if not (result.build / "programs" / name).exists():
            parser.error(f"--build: there is no programs/{name} in {result.build}; make programs")
        known = [] if result.variant is None else variants_of(result, name)
        unknown = [] if result.variant is None else [v for v in result.variant.split(",") if v not in known]
        if unknown:
            parser.error(f"--variant: {name} has no {', '.join(v or 'empty name' for v in unknown)}; expected some of {', '.join(known)}")
    return result


def variants_of(options: argparse.Namespace, name: str) -> list[str]:
    """All that run in a guest."""
    listed = subprocess.run([options.build / "programs" / name, "--list"], capture_output=True, text=True, check=True)
    return [v for v in listed.stdout.split() if v != "openblas"]


def command(options: argparse.Namespace, name: str, variants: list[str], folder: Path) -> list[str]:
    size, scale = PROGRAMS[name]
    check = "" if options.no_check else " --check"
    # A spinning OpenMP thread would take the host's CPUs from the threads that it waits for.
    lines = [f"OMP_WAIT_POLICY=passive LD_LIBRARY_PATH=/{'ours' if v.startswith('homing') else 'stock'} {name} --variant {v} --repeat 1 --json{check}"
             f" --size {options.size or size} --threads {options.threads}" for v in variants]
    files = {options.build / "programs" / name: f"/usr/bin/{name}",
             options.stock / "libtbb.so.12": "/stock/libtbb.so.12",
             options.build / "lib/homing/libtbb.so.12": "/ours/libtbb.so.12"}
    for binding in ("libtbbbind_2_5.so.3", "libhwloc.so.15"):   # what arenas with constraints are bound by
        if (options.stock / binding).exists():
            files[options.stock / binding] = f"/stock/{binding}"
    return [str(options.build / "bin/homing"), "lab", "run", "--machine", options.machine, "--thp", "never",
            "--cache-scale", f"{options.cache_scale or scale:g}", "--timeout", str(options.timeout), "--results", str(folder),
            *(f"--file={here}:{there}" for here, there in files.items()), "--virtual-clock", "--plain-words",
            "--", "/bin/sh", "-c", "; ".join(lines)]


def run(options: argparse.Namespace, name: str) -> list[dict]:
    """A row for each variant: what the program said, and who served its lines."""
    variants = [v for v in variants_of(options, name) if options.variant is None or v in options.variant.split(",")]
    with tempfile.TemporaryDirectory(prefix="programs-lab-") as scratch:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOMING_", "HWLOC_", "TBB_", "LD_", "OMP_"))
                       or k.startswith(("HOMING_LAB_", "HOMING_VENV"))}
        ended = run_to_its_end(command(options, name, variants, Path(scratch)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        counts = Path(scratch) / "counts.json"
        if not counts.exists():
            raise RuntimeError(f"homing lab run ended with status {ended.returncode}:\n{(ended.stdout + ended.stderr)[-2000:]}")
        regions = {r["label"]: r for r in json.loads(counts.read_text())["regions"]}
    said = {}
    for line in ended.stdout.splitlines():
        if line.startswith("{"):
            try:
                entry = json.loads(line)
                said[entry["variant"]] = entry
            except (json.JSONDecodeError, KeyError):
                pass
    rows = []
    for v in variants:
        region, program = regions.get(f"{name}, {v}"), said.get(v)
        if region is None or program is None:
            rows.append({"program": name, "variant": v, "failed": (ended.stdout + ended.stderr)[-1500:]})
            continue
        rows.append({"program": name, "variant": v, "size": program["size"], "result": program["result"],
                     "at_home": program["at_home"], "pages": program["pages"], "moved_bytes": program["moved_bytes"],
                     "virtual_ms": region["virtual_ns"] / 1e6, **{s: region[s] for s in SERVED}})
    return rows


def has_both(rows: list[dict]) -> bool:
    """Whether there is a row of homing-placed, and one to compare it with."""
    good = {row["variant"] for row in rows if "failed" not in row} - {"serial"}
    return "homing-placed" in good and any(not v.startswith("homing") for v in good)


def problems_of(rows: list[dict]) -> list[str]:
    name = rows[0]["program"]
    found = [f"{name}, {r['variant']}: did not end well" for r in rows if "failed" in r]
    found += [f"{name}, {r['variant']}: result {r['result']}" for r in rows if r.get("result") == "WRONG"]
    good = {r["variant"]: r["remote_dram"] for r in rows if "failed" not in r and r["variant"] != "serial"}
    stock = {v: lines for v, lines in good.items() if not v.startswith("homing")}
    if name in THIRD and stock and "homing-placed" in good:
        best = min(stock, key=stock.get)
        if 3 * good["homing-placed"] > stock[best]:
            found.append(f"{name}: homing-placed has {good['homing-placed']} lines of remote DRAM, {best} {stock[best]}")
    return found


def table(rows: list[dict]) -> list[str]:
    lines = [f"{'program':14} {'variant':17} {'local $':>9} {'remote $':>9} {'local DRAM':>11} {'remote DRAM':>12} {'virtual ms':>11} {'at home':>8}  result"]
    for r in rows:
        if "failed" in r:
            lines.append(f"{r['program']:14} {r['variant']:17} did not end well")
            continue
        home = "-" if r["at_home"] is None else f"{100 * r['at_home']:.1f}%"
        lines.append(f"{r['program']:14} {r['variant']:17} {r['local_cache']:9} {r['remote_cache']:9} {r['local_dram']:11} "
                     f"{r['remote_dram']:12} {r['virtual_ms']:11.2f} {home:>8}  {r['result']}")
    return lines


def setting_of(options: argparse.Namespace, name: str) -> dict:
    """What boots must share before their figures are put together."""
    size, scale = PROGRAMS[name]
    return {"machine": options.machine, "threads": options.threads, "size": options.size or size,
            "cache_scale": float(options.cache_scale or scale)}


def files_of(folder: Path, name: str) -> dict[int, Path]:
    """By the number of the boot, in order."""
    numbered = {file.name.split(".")[-2]: file for file in folder.glob(f"{name}.*.json")}
    return dict(sorted((int(number), file) for number, file in numbered.items() if number.isdecimal()))


def keep(folder: Path, name: str, setting: dict, rows: list[dict]) -> None:
    """In a file of its own: other boots' files stay, whichever of them are gone, and whoever else writes here."""
    for number in itertools.count(1 + max(files_of(folder, name), default=0)):
        try:
            with (folder / f"{name}.{number}.json").open("x") as file:
                file.write(json.dumps(setting | {"rows": rows}, indent=1) + "\n")
            return
        except FileExistsError:
            continue


def read(file: Path) -> object:
    try:
        return json.loads(file.read_text())
    except ValueError:
        return None


def kept(folder: Path, name: str, setting: dict) -> list[list[dict]]:
    """The rows of each boot of a program in that setting. Files that don't say theirs, as older ones, are of none; nor are those
    whose writing was cut off."""
    boots = [read(file) for file in files_of(folder, name).values()]
    same = [boot["rows"] for boot in boots if isinstance(boot, dict) and setting.items() <= boot.items()]
    if len(same) < len(boots):
        print(f"lab.py: {len(boots) - len(same)} of {len(boots)} boots of {name} in {folder} are left out: they are not of "
              + ", ".join(f"{what.replace('_', ' ')} {value}" for what, value in setting.items()), file=sys.stderr)
    return same


def middle(boots: list[list[dict]]) -> list[dict]:
    """The median of each figure over the boots in which the variant ended well; one row of a failure if it never did."""
    rows = []
    for v in dict.fromkeys(row["variant"] for boot in boots for row in boot):
        all_of = [row for boot in boots for row in boot if row["variant"] == v]
        good = [row for row in all_of if "failed" not in row]
        if not good:
            rows.append(all_of[0])
            continue
        homes = [row["at_home"] for row in good if row["at_home"] is not None]
        rows.append(good[0] | {field: median(row[field] for row in good) for field in (*SERVED, "virtual_ms")}
                    | {"at_home": median(homes) if homes else None, "boots": len(good),
                       "least": min(row["remote_dram"] for row in good), "most": max(row["remote_dram"] for row in good)})
    return rows


def notes() -> dict[str, list[str]]:
    """By heading of NOTES: a program's name, or "in short"."""
    found: dict[str, list[str]] = {}
    for part in NOTES.read_text().split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        found[title.strip()] = text.strip("\n").splitlines()
    unknown = set(found) - set(PROGRAMS) - {"in short"}
    if unknown:
        raise SystemExit(f"lab.py: {NOTES}: no such program: {', '.join(sorted(unknown))}; expected one of {', '.join(PROGRAMS)} or \"in short\"")
    return found


def page_of(name: str, setting: dict, boots: list[list[dict]], said: list[str]) -> list[str]:
    rows = middle(boots)
    lines = ["", f"## {name}", "", f"Size {setting['size']}, caches divided by {setting['cache_scale']:g}, {len(boots)} boot{'s' if len(boots) > 1 else ''}.", "",
             "| variant | local cache | remote cache | local DRAM | remote DRAM | least to most | virtual ms | at home |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for r in rows:
        if "failed" in r:
            lines.append(f"| `{r['variant']}` | did not end well | | | | | | |")
            continue
        home = "-" if r["at_home"] is None else f"{100 * r['at_home']:.1f}%"
        spread = f"{r['least']:,} to {r['most']:,}" if r["boots"] > 1 else "one boot"
        lines.append(f"| `{r['variant']}` | " + " | ".join(f"{r[field]:,.0f}" for field in SERVED) + f" | {spread} | {r['virtual_ms']:.2f} | {home} |")
    good = {r["variant"]: r for r in rows if "failed" not in r and r["variant"] != "serial"}
    stock = [r for v, r in good.items() if not v.startswith("homing")]
    if name in THIRD and stock and "homing-placed" in good:
        least = min(stock, key=lambda r: r["remote_dram"])
        share = good["homing-placed"]["remote_dram"] / max(1, least["remote_dram"])
        lines += ["", f"Of remote DRAM, `homing-placed` has {share:.2f} of the best stock variant's, `{least['variant']}`; "
                      f"expected: a third at most. {'Met.' if share <= 1 / 3 else 'Missed.'}"]
    return [*lines, "", *said] if said else lines


def page(options: argparse.Namespace) -> str:
    try:
        import lab_picture  # needs matplotlib, which a run does not
    except ModuleNotFoundError as missing:
        raise SystemExit(f"lab.py: --page: {missing}; run scripts/setup experiment, and call .venv/bin/python programs/lab.py") from missing

    settings = {name: setting_of(options, name) for name in PROGRAMS}
    known = {name: kept(options.results, name, setting) for name, setting in settings.items()}
    lines = ["# The papers' programs in a virtual machine", "",
             "**Modelled, not measured**: who served each cache line that a core's own caches did not have, in the timed region, "
             f"on the [lab](../guide/lab.md)'s model of `{options.machine}` with {options.threads} threads, and the model's clock. Caches are divided, "
             "so that the data is to them about what it was in the paper. Variants without Homing ran on stock oneTBB or libgomp "
             "(`OMP_WAIT_POLICY=passive`), the others on ours, all of a program in the same boot, one repetition each. Medians over boots; "
             "where there is one, nothing is known of the spread.", "",
             "Again: `programs/lab.py --no-check --boots 2 PROGRAM...`, then `.venv/bin/python programs/lab.py --page docs/results/programs.md`."]
    said = notes()
    picture = ROOT / "docs" / "pictures" / "programs"
    light, dark = (os.path.relpath(f"{picture}-{mode}.svg", options.page.absolute().parent) for mode in ("light", "dark"))
    lab_picture.write(picture, {name: middle(boots) for name, boots in known.items() if boots})
    lines += ["", f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}"><img src="{light}" '
              'alt="Lines from other nodes, and the model\'s time, by program and variant"></picture>']
    lines += ["", "## In short", "", *said["in short"]] if "in short" in said else []
    for name, boots in known.items():
        lines += page_of(name, settings[name], boots, said.get(name, [])) if boots else []
    missing = [f"`{name}`" for name, boots in known.items() if not boots]
    if missing:
        lines += ["", "## Not run", "", f"No boot so far: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    options = arguments()
    if options.page:
        options.page.write_text(page(options))
        return 0
    options.results.mkdir(parents=True, exist_ok=True)
    problems = []
    rows = []
    for name in [name for name in options.programs or PROGRAMS for _ in range(options.boots)]:
        try:
            rows.append(run(options, name))
        except RuntimeError as trouble:
            print(f"lab.py: {name}: {trouble}", file=sys.stderr)
            return 3
        problems += problems_of(rows[-1])
        if options.check and name in THIRD and not has_both(rows[-1]):
            problems.append(f"{name}: nothing to compare; expected homing-placed and a variant without Homing that ended well")
        keep(options.results, name, setting_of(options, name), rows[-1])
        if not options.json:
            print("\n".join(table(rows[-1])), flush=True)
    if options.json:
        print(json.dumps({"schema": 1, "modelled": True, "machine": options.machine, "problems": problems, "programs": rows}))
    for problem in problems:
        print(problem, file=sys.stderr if options.json else sys.stdout)
    return 1 if options.check and problems else 0


if __name__ == "__main__":
    exit_with(main)
