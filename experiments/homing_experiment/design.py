"""A campaign's file: factors and levels, what is fixed, how often, and what shall be made of it. Read strictly: a word that
is not known is an error that names it."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import analyses, columns, files, machines, settings
from .errors import DesignError, ExperimentError
from .reading import check_levels, only

SCHEMA = 1
FACTORS_MAX, LEVELS_MAX, CELLS_MAX, REPLICATES_MAX = 8, 64, 4096, 1000
BYTES_MAX = 1 << 20
FACTOR = re.compile(r"[a-z][a-z0-9_]{0,31}")
BARE = re.compile(r"[A-Za-z0-9_-]+")  # a key of TOML that needs no quotes
LIMITS = {"run_s": (1, 86400, 600), "boot_s": (10, 172800, 3600), "runs_per_boot": (1, 256, 12)}
COUNTERS = ("none", "wanted", "required")


@dataclass(frozen=True)
class Cell:
    """One combination of levels, and what it tells a run."""

    levels: tuple[tuple[str, Any], ...]  # factor, level
    settings: dict[str, Any] = field(hash=False, compare=False)
    said_at: dict[str, str] = field(hash=False, compare=False)  # of each setting that the file says: where in it

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.levels).encode()).hexdigest()[:10]

    @property
    def text(self) -> str:
        return ", ".join(f"{name} {level}" for name, level in self.levels)


@dataclass(frozen=True)
class Moved:
    """What became of a campaign that was moved to a real machine: `moved.py`."""

    column: str  # of each row: the machine
    machine: str  # in words
    threads: int | None  # that `run` was told
    told: list[str]  # what is replaced, and what is left out


@dataclass
class Design:
    path: Path
    name: str
    title: str
    source: str
    seed: int
    replicates: int
    limits: dict[str, Any]
    factors: dict[str, list[Any]]
    cells: list[Cell]
    analyses: list[dict[str, Any]]
    hash: str
    moved: Moved | None = None

    def command(self, words: str, file: str | None = None) -> str:
        """A command about this campaign, as it is typed. `file`: the campaign's, as it is to be shown."""
        here = f" --{settings.HERE}" if self.moved else ""
        threads = f" --threads {self.moved.threads}" if self.moved and self.moved.threads and words.split()[0] == "run" else ""
        return f"homing experiment {words}{here}{threads} {file or self.path}"


def load(path: Path) -> Design:
    try:
        raw = files.content(path, BYTES_MAX, "a campaign's file")
    except OSError as error:
        raise ExperimentError(f"can't read {path}: {error.strerror}", code=2) from error
    try:
        tree = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ExperimentError(f"{path} is no TOML: {error}", code=2) from error
    except RecursionError as error:
        raise ExperimentError(f"{path} nests too deeply", code=2) from error
    return parse(tree, path)


def parse(tree: dict[str, Any], path: Path) -> Design:
    known = {"schema", "name", "title", "source", "seed", "replicates", "limits", "fixed", "factors", "levels", "leave_out", "analysis"}
    only(str(path), tree, known)
    schema = tree.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise DesignError(f"{path}: schema", repr(schema), str(SCHEMA))
    name = tree.get("name", path.stem)
    if not isinstance(name, str) or settings.NAME.fullmatch(name) is None:
        raise DesignError(f"{path}: name", repr(name), "letters, digits, '.', '_', '+' and '-'")
    factors = _factors(path, tree)
    cells = _cells(path, tree, factors)
    for cell in {cell.settings["machine"]: cell for cell in reversed(cells)}.values():  # the first of each machine
        machines.check(f"{path}: {cell.said_at['machine']}", cell.settings["machine"], path)
    for cell in cells:
        _refuse_wide_arena(path, cell)
    replicates = _number(path, tree, "replicates", 1, REPLICATES_MAX)
    seed = _number(path, tree, "seed", 0, 2**32 - 1)
    limits = _limits(path, tree)
    return Design(path, name, _said(path, tree, "title"), _said(path, tree, "source"), seed, replicates, limits, factors, cells,
                  analyses.parse(path, tree.get("analysis", []), factors, [dict(cell.levels) for cell in cells]),
                  hash_of(name, seed, cells))


def hash_of(name: str, seed: int, cells: list[Cell]) -> str:
    """Of all that a run's outcome hangs on. Not the number of replicates: more blocks may follow those that stand."""
    text = json.dumps([SCHEMA, name, seed, [(cell.levels, cell.settings) for cell in cells]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _number(path: Path, table: dict[str, Any], name: str, least: int, most: int, default: int | None = None) -> int:
    value = table.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise DesignError(f"{path}: {name}", "nothing" if value is None else repr(value), f"{least} to {most}")
    return value


def _said(path: Path, tree: dict[str, Any], name: str) -> str:
    value = tree.get(name, "")
    if not isinstance(value, str) or len(value) > 500:
        raise DesignError(f"{path}: {name}", repr(value)[:60], "a text of at most 500 characters")
    return value


def _limits(path: Path, tree: dict[str, Any]) -> dict[str, Any]:
    table = tree.get("limits", {})
    only(f"{path}: limits", table, {*LIMITS, "counters"})
    found: dict[str, Any] = {name: _number(path, table, name, *bounds) for name, bounds in LIMITS.items()}
    found["counters"] = table.get("counters", "none")
    if found["counters"] not in COUNTERS:
        raise DesignError(f"{path}: limits.counters", repr(found["counters"]), " or ".join(f'"{w}"' for w in COUNTERS))
    return found


def _flat(where: str, table: dict[str, Any]) -> dict[str, Any]:
    """A table of settings, with env = {NAME = "..."} as env.NAME, checked."""
    if not isinstance(table, dict):
        raise DesignError(where, repr(table), "a table of settings")
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name == "env" and isinstance(value, dict):
            found |= {f"env.{variable}": text for variable, text in value.items()}
        else:
            found[name] = value
    for name, value in found.items():
        settings.check(f"{where}.{name}", name, value)
    return found


def _factors(path: Path, tree: dict[str, Any]) -> dict[str, list[Any]]:
    table = tree.get("factors")
    where = f"{path}: factors"
    if not isinstance(table, dict) or not 1 <= len(table) <= FACTORS_MAX:
        raise DesignError(where, "nothing" if table is None else f"{len(table) if isinstance(table, dict) else table!r}",
                          f"a table of 1 to {FACTORS_MAX} factors, each with its levels")
    for name, levels in table.items():
        if not settings.is_setting(name) and FACTOR.fullmatch(name) is None:
            raise DesignError(where, f"'{name}'", "a setting, or a name of small letters, digits and _")
        if name in columns.RESERVED or name == "arguments":
            raise DesignError(where, f"'{name}'", "another name: a column has that one" if name in columns.RESERVED else
                              "a factor with a name of its own, and arguments in the tables of its levels")
        if not isinstance(levels, list) or not 1 <= len(levels) <= LEVELS_MAX:
            raise DesignError(f"{where}.{name}", repr(levels)[:60], f"a list of 1 to {LEVELS_MAX} levels")
        for level in levels:
            if settings.is_setting(name):
                settings.check(f"{where}.{name}", name, level)
            elif not isinstance(level, str) or not 0 < len(level) <= 64 or not level.isprintable():
                raise DesignError(f"{where}.{name}", repr(level), "a level's name, a text of 1 to 64 characters")
        if any(level in levels[:at] for at, level in enumerate(levels)):
            raise DesignError(f"{where}.{name}", "a level twice", "each level once")
    return table


def _key(factor: str, level: Any) -> str:
    """A level's table, as the file has it."""
    return f"levels.{factor}." + (str(level) if BARE.fullmatch(str(level)) else f"\"{level}\"")


def _level_tables(path: Path, tree: dict[str, Any], factors: dict[str, list[Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    tables = tree.get("levels", {})
    only(f"{path}: levels", tables, set(factors))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for factor, levels in tables.items():
        only(f"{path}: levels.{factor}", levels, {str(level) for level in factors[factor]})
        found[factor] = {level: _flat(f"{path}: {_key(factor, level)}", table) for level, table in levels.items()}
        for level, table in found[factor].items():
            if factor in table:
                raise DesignError(f"{path}: {_key(factor, level)}", f"'{factor}', which the level says by itself",
                                  "other settings")
    for factor, levels in factors.items():
        for level in levels:
            if not settings.is_setting(factor) and str(level) not in found.get(factor, {}):
                raise DesignError(f"{path}: factors.{factor}", f"level '{level}' says nothing",
                                  f"a table [{_key(factor, level)}] of settings, since '{factor}' is none")
    return found


def _cells(path: Path, tree: dict[str, Any], factors: dict[str, list[Any]]) -> list[Cell]:
    fixed = _flat(f"{path}: fixed", tree.get("fixed", {}))
    tables = _level_tables(path, tree, factors)
    left_out = _left_out(path, tree.get("leave_out", []), factors)
    count = 1
    for levels in factors.values():
        count *= len(levels)
    if count > CELLS_MAX:
        raise DesignError(f"{path}: factors", f"{count} combinations", f"at most {CELLS_MAX}")
    cells = []
    for combination in itertools.product(*factors.values()):
        levels = dict(zip(factors, combination))
        if any(all(levels[name] in some for name, some in rule.items()) for rule in left_out):
            continue
        cells.append(Cell(tuple(levels.items()), *_settings_of(path, fixed, levels, tables)))
    if not cells:
        raise DesignError(f"{path}: leave_out", "it leaves nothing", "one combination at least")
    return cells


def _settings_of(path: Path, fixed: dict[str, Any], levels: dict[str, Any],
                 tables: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Defaults, then what is fixed, then the levels; two levels that set the same thing contradict each other. And where in the
    file each is said."""
    said: dict[str, str] = {}
    found = {name: setting.default for name, setting in settings.ALL.items() if setting.default is not None} | fixed
    said_at = {name: f"fixed.{name}" for name in fixed}
    for factor, level in levels.items():
        own = {factor: level} if settings.is_setting(factor) else {}
        own |= tables.get(factor, {}).get(str(level), {})
        for name, value in own.items():
            if name in said:
                raise DesignError(f"{path}: {_key(factor, level)}", f"'{name}', which {said[name]} sets, too",
                                  "each setting from one factor only")
            said[name] = factor
            found[name] = value
            said_at[name] = f"factors.{factor}" if name == factor else f"{_key(factor, level)}.{name}"
    for name in settings.REQUIRED:
        if name not in found:
            text = ", ".join(f"{factor} {level}" for factor, level in levels.items())
            raise DesignError(f"{path}: fixed", f"no '{name}' for ({text})", settings.ALL[name].expected)
    return found, said_at


def arena_is_wide(s: dict[str, Any]) -> bool:
    """A program refuses it, too, run by run: its contender's arena shares the threads that the program has."""
    where, _, rest = s["contention"].partition(":")
    wanted = rest.partition(":")[2].partition("@")[0]
    return where == "arena" and wanted != "all" and int(wanted) > s["threads"]


def _refuse_wide_arena(path: Path, cell: Cell) -> None:
    s = cell.settings
    if arena_is_wide(s):
        raise DesignError(f"{path}: {cell.said_at['contention']}", f"{s['contention']!r} beside threads = {s['threads']}",
                          "an arena of at most as many threads as the program's")


def _left_out(path: Path, rules: Any, factors: dict[str, list[Any]]) -> list[dict[str, list[Any]]]:
    if not isinstance(rules, list):
        raise DesignError(f"{path}: leave_out", repr(rules)[:60], "tables [[leave_out]]")
    found = []
    for rule in rules:
        only(f"{path}: leave_out", rule, set(factors))
        found.append({name: check_levels(f"{path}: leave_out.{name}", name, some, factors) for name, some in rule.items()})
        if not rule:
            raise DesignError(f"{path}: leave_out", "an empty table", "factors with their levels")
    return found
