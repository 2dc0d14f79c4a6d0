"""A campaign on a real machine, in place of its file's virtual ones. Of these one stands for the real machine: its combinations stay.
Settings of virtual machines alone go, and so does what the real one can't have; each by its name.

What the machine is stands in each row, so that the rows say anywhere what was left out, and rows of two machines do not mix.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import files, rows, settings, this_machine
from .columns import THIS_MACHINE
from .design import Cell, Design, Moved, arena_is_wide, hash_of
from .errors import ExperimentError
from .responses import COUNTED_BY_THE_CPU
from .settings import HERE
from .this_machine import Machine

OF_THE_LAB = {name: settings.ALL[name].default for name in ("cache_scale", "memory_mib")}
Names = dict[str, dict[Any, Any]]  # of each factor: its levels that stay, and what they are now


def renamed(design: Design) -> Design:
    """With a name of its own, and so with rows, pictures and a part of a page of its own."""
    return replace(design, name=f"{design.name}-{HERE}")


def standing(path: Path) -> tuple[Machine, int | None] | None:
    """The machine that rows are of, and the threads that `run` was told; None if there are no such rows."""
    try:
        content = files.content(path, rows.BYTES_MAX, rows.EXPECTED)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ExperimentError(f"can't read {path}: {error.strerror}") from error
    try:
        text = content[: content.rfind(b"\n") + 1].decode()
        row = next(csv.DictReader(io.StringIO(text), strict=True), {})
    except (UnicodeDecodeError, csv.Error):
        return None  # whoever reads the rows says so
    if row.get(THIS_MACHINE) is None:
        return None
    try:
        said = json.loads(row[THIS_MACHINE])
        machine, threads = this_machine.from_json(said), said.get("threads")
        if threads is not None and type(threads) is not int:
            raise ValueError
    except (ValueError, AttributeError, RecursionError):
        raise ExperimentError(f"{path}:2: {THIS_MACHINE} '{row[THIS_MACHINE][:60]}', which is no machine",
                              "remove that line: its run is done again") from None
    return machine, threads


def as_it_stands(design: Design, path: Path) -> Design:
    """The campaign as its rows in `path` have it; without rows, as `run` would begin it here."""
    machine, threads = standing(path) or (this_machine.found(), None)
    return move(design, machine, threads)


def to_run(design: Design, path: Path, threads: int | None, anew: bool) -> Design:
    """On this machine. Raises ExperimentError if rows stand in `path` that are of another one, or of other threads."""
    now = this_machine.found()
    stood = None if anew else standing(path)
    if stood is None:
        return move(design, now, threads)
    machine, had = stood
    there = this_machine.as_json(machine)
    differs = [f"{name} {json.dumps(there[name])} there, {json.dumps(value)} here"
               for name, value in this_machine.as_json(now).items() if there[name] != value]
    other = f"--rows FILE names other rows, and `{design.command(f'run --{HERE} --restart')}` puts these aside and begins anew"
    if differs:
        raise ExperimentError(f"{path}: its rows are of another machine: {'; '.join(differs)}", other, code=2)
    found = move(design, now, had if threads is None else threads)
    if threads is not None and found.moved != move(design, now, had).moved:
        raise ExperimentError(f"{path}: its rows are of {f'--threads {had}' if had else 'the threads of the file'}, not of --threads {threads}",
                              f"leave --threads out; or {other}", code=2)
    return found


def move(design: Design, machine: Machine, threads: int | None) -> Design:
    """Raises ExperimentError if nothing of the campaign can be had on the machine."""
    stand_in = _stand_in(design, machine)
    theirs = [cell for cell in design.cells if cell.settings["machine"] == stand_in]
    most = max(cell.settings["threads"] for cell in theirs)
    if threads is not None and threads != most and threads in {cell.settings["threads"] for cell in theirs}:
        raise ExperimentError(f"--threads {threads}: {design.path.name} has that count beside {most}", f"another count in place of {most}", code=2)
    threads = None if threads == most else threads
    virtual = [name for name in _machines(design) if name != HERE]
    told = [f"machine: {machine.text}" + (f", in place of {', '.join(virtual)}" if virtual else "") +
            (f", with the settings of {stand_in}" if len(_machines(design)) > 1 else "")]
    if threads:
        told.append(f"threads: {threads} in place of {most}")
    pairs = [(cell, _here(cell, most, threads)) for cell in theirs]
    pairs = _that_can_be_had(design, machine, pairs, told)
    pairs = _without_the_lab_s(theirs, pairs, told)
    names: Names = {name: {} for name in design.factors}
    for old, new in pairs:
        for (name, before), (_, after) in zip(old.levels, new.levels):
            names[name].setdefault(before, after)
    factors = {name: list(dict.fromkeys(names[name][level] for level in levels if level in names[name]))
               for name, levels in design.factors.items()}
    cells = [new for _, new in pairs]
    levels = [dict(cell.levels) for cell in cells]
    moved = [_analysis(one, names, levels, told) for one in design.analyses]
    if len({*machine.cpus, *machine.memory}) == 1:
        told.append("this machine has one node: all memory is near")
    limits = design.limits | ({"counters": "wanted"} if design.limits["counters"] == "none" else {})
    column = json.dumps(this_machine.as_json(machine) | {"threads": threads})
    return replace(design, factors=factors, cells=cells, analyses=[one for one in moved if one is not None], limits=limits,
                   hash=hash_of(design.name, design.seed, cells), moved=Moved(column, machine.text, threads, told))


def _machines(design: Design) -> list[str]:
    return list(dict.fromkeys(cell.settings["machine"] for cell in design.cells))


def _stand_in(design: Design, machine: Machine) -> str:
    """Which of the file's machines the real one stands for: itself if it is named; else the one of which it can have the most
    combinations, then the one with the most threads, then the first."""
    names = _machines(design)

    def worth(name: str) -> tuple[int, int]:
        had = [cell.settings["threads"] for cell in design.cells if cell.settings["machine"] == name and not machine.lacks(cell.settings)]
        return len(had), max(had, default=0)

    return HERE if HERE in names else max(names, key=worth)


def _here(cell: Cell, most: int, threads: int | None) -> Cell:
    s = cell.settings | {"machine": HERE} | OF_THE_LAB
    if threads and s["threads"] == most:
        s["threads"] = threads
    levels = tuple((name, s[name] if settings.is_setting(name) else level) for name, level in cell.levels)
    return replace(cell, levels=levels, settings=s)


def _that_can_be_had(design: Design, machine: Machine, pairs: list[tuple[Cell, Cell]], told: list[str]) -> list[tuple[Cell, Cell]]:
    kept, lacking = [], {}
    for old, new in pairs:
        reasons = machine.lacks(new.settings)
        if this_machine.MADE_UP in new.settings:
            reasons.append("HOMING_TOPOLOGY is set: a made-up machine can't be measured")
        if arena_is_wide(new.settings):
            reasons.append(f"contention = \"{new.settings['contention']}\": more threads than the program's {new.settings['threads']}")
        for reason in reasons:
            lacking[reason] = lacking.get(reason, 0) + 1
        if not reasons:
            kept.append((old, new))
    if not kept:
        rooms = [machine.room(new.settings) for _, new in pairs if new.settings["threads"] > machine.room(new.settings) > 0]
        raise ExperimentError(f"this machine lacks what {design.path.name} asks for:\n  " + "\n  ".join(lacking),
                              f"`--threads {min(rooms)}` takes so many in place of the file's highest count" if rooms else
                              f"without --{HERE} the campaign runs on the file's machines")
    told += [f"left out, {count} of {len(pairs)} combinations: {reason}" for reason, count in lacking.items()]
    if any(reason.startswith("threads") for reason in lacking):
        told.append("`--threads N` takes N in place of the file's highest count")
    return kept


def _without_the_lab_s(theirs: list[Cell], pairs: list[tuple[Cell, Cell]], told: list[str]) -> list[tuple[Cell, Cell]]:
    """Combinations that differ in settings of virtual machines alone would be one another's runs: one of them stays, if there is one
    that of virtual machines, too, asks for nothing."""
    def lab(cell: Cell) -> tuple[Any, ...]:
        return tuple(cell.settings[name] for name in OF_THE_LAB)

    alike: dict[str, list[tuple[Cell, Cell]]] = {}
    for pair in pairs:
        alike.setdefault(json.dumps(pair[1].settings, sort_keys=True), []).append(pair)
    usual = tuple(OF_THE_LAB.values())
    kept = []
    for pair in pairs:
        some = [lab(old) for old, _ in alike[json.dumps(pair[1].settings, sort_keys=True)]]
        if lab(pair[0]) == (usual if usual in some else some[0]):
            kept.append(pair)
    names = [name for name, value in OF_THE_LAB.items() if any(cell.settings[name] != value for cell in theirs)]
    if names:
        told.append(f"without {' and '.join(names)}, of virtual machines alone")
    if len(kept) < len(pairs):
        told.append(f"left out, {len(pairs) - len(kept)} of {len(pairs)} combinations, which differ from others in nothing else: {_gone(pairs, kept)}")
    return kept


def _gone(pairs: list[tuple[Cell, Cell]], kept: list[tuple[Cell, Cell]]) -> str:
    """The levels that only the combinations that went had; without such a level, the first of these."""
    stay = {level for old, _ in kept for level in old.levels}
    went = dict.fromkeys(level for old, _ in pairs for level in old.levels if level not in stay)
    return ", ".join(f"{name} {level}" for name, level in went) or next(f"({old.text})" for old, new in pairs if (old, new) not in kept)


def _analysis(one: dict[str, Any], names: Names, cells: list[dict[str, Any]], told: list[str]) -> dict[str, Any] | None:
    """Of the levels that are left, without factors of one level; None if it asks for none that is."""
    about = f"analysis '{one['name']}'"
    subset = {name: list(dict.fromkeys(names[name][level] for level in some if level in names[name])) for name, some in one["only"].items()}
    inside = [cell for cell in cells if all(cell[name] in some for name, some in subset.items())]
    if not inside:
        told.append(f"{about} is left out: none of its combinations is left")
        return None
    left = {name: {cell[name] for cell in inside} for name in one["factors"]}
    chosen = [name for name in one["factors"] if len(left[name]) > 1] or one["factors"][:1]
    found = one | {"only": subset, "factors": chosen, "response": COUNTED_BY_THE_CPU.get(one["response"], one["response"])}
    if found["response"] != one["response"]:
        told.append(f"{about}: {found['response']}, which the CPU counts, in place of {one['response']}")

    def now(factor: str, levels: list[Any]) -> list[Any] | None:
        """None if the analysis can't tell these levels, or not all of them."""
        some = [names[factor].get(level) for level in levels]
        return some if factor in chosen and len(left[factor]) > 1 and set(some) <= left[factor] else None

    baseline = {name: names[name].get(level) for name, level in one["baseline"].items()}
    whole = all(level in left[name] for name, level in baseline.items())
    found["baseline"] = {name: level for name, level in baseline.items() if whole and len(left[name]) > 1}
    if one["baseline"] and not found["baseline"]:
        told.append(f"{about} has no base line: nothing to compare with ({_said(one['baseline'])})")
    found["contrasts"] = []
    for contrast in one["contrasts"]:
        sides = {side: now(contrast["factor"], contrast[side]) for side in ("plus", "minus")}
        if None in sides.values():
            told.append(f"{about} is without a contrast of {contrast['factor']}: not all of its levels are left")
        else:
            found["contrasts"].append(contrast | sides)
    found["against"] = _against(one, found, now)
    if one["against"] and not found["against"]:
        told.append(f"{about} is without `against`: not all levels of {one['against']['factor']} are left")
    found["blocks"] = None if one["blocks"] is None else [name for name in one["blocks"] if name in chosen]
    return found


def _said(levels: dict[str, Any]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _against(one: dict[str, Any], found: dict[str, Any], now: Any) -> dict[str, Any] | None:
    asked = one["against"]
    if asked is None:
        return None
    level, best_of = now(asked["factor"], [asked["level"]]), now(asked["factor"], asked["best_of"])
    if level is None or best_of is None:
        return None
    told_apart = not isinstance(asked["paper"], dict) or found["factors"] == one["factors"]  # by levels of a factor that is left
    return asked | {"level": level[0], "best_of": best_of, "paper": asked["paper"] if told_apart else {}}
