"""What a run can be told: each setting's name, its values, and what it is when nothing is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import DesignError

HERE = "here"  # the machine that this command runs on
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
NODE = re.compile(r"node:\d{1,4}")
MACHINE_FILE = re.compile(r"[A-Za-z0-9._/][^\0-\x1f]{0,255}\.toml")
# WHERE:WHAT:THREADS, and the nodes: docs/guide/experiments.md
CONTENTION = re.compile(r"none|(arena|openmp|process):(compute|stream|bursts):(all|\d{1,4})(@\d{1,4}(,\d{1,4})*)?")


@dataclass(frozen=True)
class Setting:
    name: str
    expected: str  # for people
    good: Callable[[Any], bool]
    default: Any


def _name(value: Any) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _count(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _text(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _words(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 64 and all(
        isinstance(word, str) and 0 < len(word) <= 256 and word.isprintable() for word in value)


def _machine(value: Any) -> bool:
    return _name(value) or (isinstance(value, str) and MACHINE_FILE.fullmatch(value) is not None)


def _placement(value: Any) -> bool:
    return value in ("first-touch", "interleave") or (isinstance(value, str) and NODE.fullmatch(value) is not None)


def _cpus(value: Any) -> bool:
    return value == "all" or (isinstance(value, str) and NODE.fullmatch(value) is not None)


def _scale(value: Any) -> bool:
    return type(value) in (int, float) and 1 <= value <= 4096


ALL = {setting.name: setting for setting in (
    Setting("program", "a program's name, such as \"cg\"", _name, None),
    Setting("variant", "a variant's name, such as \"tbb-affinity\"", _name, None),
    Setting("library", "\"homing\" or \"stock\": whose libtbb.so.12", _one_of("homing", "stock"), "homing"),
    Setting("size", "a size's name, such as \"S\"", _name, None),
    Setting("machine", f"\"{HERE}\", a machine of `homing lab list`, or a file .toml", _machine, None),
    Setting("threads", "1 to 1024", _count(1, 1024), None),
    Setting("placement", "\"first-touch\", \"interleave\" or \"node:N\"", _placement, "first-touch"),
    Setting("cpus", "\"all\" or \"node:N\"", _cpus, "all"),
    Setting("contention", "\"none\" or WHERE:WHAT:THREADS[@NODE,...], such as \"arena:compute:all\"", _text(CONTENTION), "none"),
    Setting("huge_pages", "\"any\" (as the machine has them; virtual ones: never), \"never\", \"madvise\" or \"always\"",
            _one_of("any", "never", "madvise", "always"), "any"),
    Setting("repeat", "1 to 10000 timed repetitions in a process", _count(1, 10000), 3),
    Setting("warm_up", "0 to 10000 repetitions before them", _count(0, 10000), 0),
    Setting("cache_scale", "1 to 4096: a virtual machine's caches are so many times smaller", _scale, 1),
    Setting("memory_mib", "64 to 65536: MiB of each node of a virtual machine, or 0: its own",
            lambda v: type(v) is int and (v == 0 or 64 <= v <= 65536), 0),
    Setting("arguments", "a list of at most 64 words for the program", _words, []),
)}
REQUIRED = ("program", "variant", "machine", "threads")


def check(where: str, name: str, value: Any) -> Any:
    """The value, if `name` is a setting and may be that. Raises DesignError."""
    if name.startswith("env."):
        if VARIABLE.fullmatch(name.removeprefix("env.")) is None:
            raise DesignError(where, f"'{name}'", "env.NAME, a variable's name of letters, digits and _")
        if not isinstance(value, str) or len(value) > 1024 or not (value == "" or value.isprintable()):
            raise DesignError(where, repr(value), "text of at most 1024 printable characters")
        return value
    if name not in ALL:
        raise DesignError(where, f"there is no setting '{name}'", f"env.NAME or one of: {', '.join(ALL)}")
    if not ALL[name].good(value):
        raise DesignError(where, repr(value), ALL[name].expected)
    return value


def is_setting(name: str) -> bool:
    return name in ALL or name.startswith("env.")
