#!/usr/bin/env python3
"""Property: each campaign of experiments/ runs in the lab from its file to its figures: a sample of its levels, with the smallest inputs,
in one boot. Method: the campaign's own file, cut down; then `homing experiment run`, `analyse` and `report`. It says nothing about times.
Usage: samples.py PATH-OF-HOMING [NAME...]. Skipped without the packages of scripts/setup experiment."""

import csv
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

HOMING = sys.argv[1]
CAMPAIGNS = Path(__file__).resolve().parents[2] / "experiments"
SMALL = {"cg": "S3", "mg": "S", "transpose": "512", "ferret": "test"}
# The levels of each factor that a sample has; all of those that are not named.
LEVELS = {
    "tbb-numa": {"program": ["mg"], "scenario": ["noap, FT", "NACS, NADD"]},
    "portability": {"machine": ["nehalem-e5520"], "program": ["mg"], "scenario": ["arenas, FT", "OpenMP, FT"]},
    "contention": {"program": ["mg"], "scenario": ["NACS, NADD, idle paper"]},
    "contention-rest": {"program": ["ferret"], "scenario": ["NACS, NADD"]},
    "loop-cost": {"cache_scale": [64], "scenario": ["static, FT", "NACS, NADD"]},
    "near-and-far": {"machine": ["bulldozer"]},
    "locality-queues": {"machine": ["nehalem-ep"], "line": ["stock tbb-affinity", "queues-kji-static"]},
    "pinned-cilk": {"program": ["transpose"]},
    "pinned-cilk-speed-up": {"program": ["transpose"], "runtime": ["locality"]},
}
GRID = ["--grid", "120x16x48", "--block", "120x4x4", "--sweeps", "1", "--no-check"]


def check(condition: bool, what: str, seen: subprocess.CompletedProcess | str = "") -> None:
    if not condition:
        text = seen if isinstance(seen, str) else f"exit {seen.returncode}\n{seen.stdout}{seen.stderr}"
        raise SystemExit(f"failed: {what}\n{text}")
    print(f"ok: {what}", flush=True)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def sample_of(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """The campaign with fewer levels, small inputs and one block; each response once, over all factors."""
    wanted = LEVELS[name]
    for factor, chosen in wanted.items():
        check(set(chosen) <= set(tree["factors"][factor]), f"{name}: the sample's levels of {factor} are the campaign's")
    sample = {key: value for key, value in tree.items() if key not in ("analysis", "leave_out")} | {"replicates": 1}
    sample["factors"] = tree["factors"] | wanted
    sample["levels"] = {factor: {str(level): settings for level, settings in tree.get("levels", {}).get(factor, {}).items()
                                 if level in map(str, sample["factors"][factor])} for factor in tree.get("levels", {})}
    small = {"repeat": 1, "warm_up": 0}
    for place in (sample["fixed"], *(one for levels in sample["levels"].values() for one in levels.values())):
        place |= {key: value for key, value in small.items() if key in place}
        if "size" in place and "program" in place:
            place["size"] = SMALL.get(place["program"], place["size"])
        if "--grid" in place.get("arguments", ()):
            place["arguments"] = GRID
    for program, settings in sample["levels"].get("program", {}).items():
        settings["size"] = SMALL[program]
    responses = {one["response"]: one for one in tree["analysis"]}
    sample["analysis"] = [{"name": one["name"], "title": one.get("title", response), "response": response} for response, one in responses.items()]
    return sample


def run(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([HOMING, "experiment", *map(str, words)], capture_output=True, text=True)


def try_out(name: str, folder: Path) -> None:
    tree = tomllib.loads((CAMPAIGNS / f"{name}.toml").read_text())
    sample = sample_of(tree, name)
    file, rows = folder / f"{name}.toml", folder / "rows" / f"{name}.csv"
    file.write_text("".join(f"{key} = {toml(value)}\n" for key, value in sample.items()))
    seen = run("run", file, "--json")
    said = json.loads(seen.stdout) if seen.stdout.startswith("{") else {}
    check(seen.returncode == 0 and said.get("left") == 0 and said.get("failed") == [], f"{name}: {said.get('done')} runs", seen)
    with rows.open() as text:
        found = list(csv.DictReader(text))
    check(len(found) >= 2 and all(row["status"] == "ok" and row["kind"] == "modelled" and float(row["virtual_ms"]) > 0 and int(row["local_cache"]) > 0
                                  for row in found), f"{name}: each run has a time and lines", str(found))
    seen = run("analyse", file, "--json")
    figures = json.loads(seen.stdout)["analyses"] if seen.returncode == 0 else []
    check([one["response"] for one in figures] == [one["response"] for one in sample["analysis"]], f"{name}: a figure of each response", seen)
    page = folder / f"{name}.md"
    seen = run("report", file, "--page", page, "--pictures", folder / "pictures")
    check(seen.returncode == 0 and "Modelled, not measured" in page.read_text() and list((folder / "pictures").glob(f"{name}-*.svg")) != [],
          f"{name}: a page with pictures", seen)


def main() -> None:
    seen = run("analyse", CAMPAIGNS / "tbb-numa.toml", "--json")
    if seen.returncode == 125 or "scripts/setup experiment" in seen.stderr:
        print("skipped: " + seen.stderr.strip())
        sys.exit(77)
    campaigns = sorted(path.stem for path in CAMPAIGNS.glob("*.toml"))
    check(sorted(LEVELS) == campaigns, "each campaign has a sample", f"{sorted(LEVELS)} and {campaigns}")
    for name in sys.argv[2:] or campaigns:
        with tempfile.TemporaryDirectory(prefix="homing-sample-") as folder:
            try_out(name, Path(folder))


main()
