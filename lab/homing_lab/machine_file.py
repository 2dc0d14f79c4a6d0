"""Reads and checks a machine file (lab/machines/README.md says what is in it)."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from . import core
from .errors import LabError, UsageError, shortened, unreadable
from .keys import MachineFileError, Matrix, Table
from .machine import LINE_BYTES, Cache, Link, Machine, Node
from .paths import machine_folders

CPUS_MAX = 255  # what QEMU's PC takes without an interrupt remapper
# What the model takes: lab/plugin/machine.hpp. A test compares them.
NODES_MAX = 64
CORES_MAX = 64
SHARED_CACHES_MAX = 32
WAYS_MAX = 64


def names() -> list[str]:
    found = (file for folder in machine_folders() for file in folder.glob("*.toml"))
    return sorted({file.stem for file in found if _may_be_file(file)})


def _may_be_file(path: Path) -> bool:
    """Also what can't be looked at: load() tells why."""
    try:
        return path.is_file()
    except OSError:
        return True


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise UsageError(f"{shortened(str(path))}: {error.strerror}") from error


def find(name: str) -> Path:
    """A name of a machine that comes with the lab, or the path of a file."""
    if name.endswith(".toml") or "/" in name:
        if not _is_file(Path(name)):
            raise UsageError(f"there is no machine file {name}")
        return Path(name)
    for folder in machine_folders():
        if _is_file(folder / f"{name}.toml"):
            return folder / f"{name}.toml"
    near = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
    near = near or [known for known in names() if name and name.lower() in known]
    hint = f"near it: {', '.join(near)}" if near else "`homing lab list` shows those that there are"
    raise UsageError(f"there is no machine '{name}'", hint)


def load(name: str) -> Machine:
    path = find(name)
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise LabError(f"{path}: {unreadable(error, 'not TOML')}", code=2) from error
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from error
    return read(Table(str(path), "", values), path)


def read(top: Table, path: Path) -> Machine:
    sources: dict[str, str] = {}
    nodes = _nodes(top, sources)
    count = len(nodes)
    cache = top.table("cache")
    private, shared = (_cache(kind, cache.table(kind), sources) for kind in ("private", "shared"))
    cache.finish()
    slit = _matrices(top, "distance", {"slit": (10, 254)}, count, sources, needed=count > 1)["slit"]
    latency = _matrices(
        top, "latency", {"dram_ns": (0, 1e5), "cache_ns": (0, 1e5)}, count, sources, True
    )
    pairs = _matrices(top, "bandwidth", {"gbs": (0, 1e4)}, count, sources, False)["gbs"]
    links = [_link(table, count, sources) for table in top.tables("link", needed=False)]
    cores = top.table("core", needed=False)
    core_figures, core_assumed = core.read(cores)
    _close(cores, sources)
    full = top.table("full", needed=False)
    least = {"cores": 1, "memory_gib": 0}
    whole = {key: full.number(key, least[key], 1e7) for key in least if key in full}
    _close(full, sources)
    machine = Machine(
        name=top.text("name"),
        title=top.text("title"),
        source=top.text("source"),
        file=path,
        clock_ghz=top.number("clock_ghz", 0.01, 20),
        cpi=top.number("cpi", 0.01, 100),
        overlap=top.whole("overlap", 1, 1000),
        threads_per_core=top.whole("threads_per_core", 1, 8, 1),
        nodes=nodes,
        private=private,
        shared=shared,
        slit=[[int(d) for d in r] for r in slit or [[10]]],
        dram_ns=latency["dram_ns"] or [],
        cache_ns=latency["cache_ns"] or [],
        pair_gbs=pairs,
        links=links,
        routes=_routes(top, count, links),
        sources=sources,
        assumed=_assumed(top),
        full=whole,
        core=core_figures,
    )
    if core_assumed:
        machine.assumed.setdefault("core", core_assumed)
    top.finish()
    if machine.name != path.stem:
        raise MachineFileError(
            top.file, "name", f"the name of the file, '{path.stem}'", machine.name
        )
    _check(machine, top)
    _balance(machine)
    return machine


def _balance(machine: Machine) -> None:
    """Scales what the file says of the real machine's memory, links and shared caches."""
    share = machine.balance
    if share == 1:
        return

    def gbs(whole: float) -> float:
        return float(f"{whole * share:.4g}")

    for node in machine.nodes:
        node.bandwidth_gbs = gbs(node.bandwidth_gbs)
    for link in machine.links:
        link.gbs = gbs(link.gbs)
    if machine.pair_gbs:
        machine.pair_gbs = [[gbs(whole) for whole in row] for row in machine.pair_gbs]
    machine.shared.size_kib = whole_sets(machine.shared, share)


def whole_sets(cache: Cache, share: float) -> float:
    """KiB of a part of a cache: as many whole sets, at least one."""
    sets = max(1, round(cache.size_kib * share * 1024 / (LINE_BYTES * cache.ways)))
    kib = sets * LINE_BYTES * cache.ways / 1024
    return int(kib) if kib == int(kib) else kib


def _close(table: Table, sources: dict[str, str]) -> None:
    """Notes the source of a group of figures, and refuses unknown keys."""
    if table.raw("source") is not None:
        sources[table.path] = table.text("source")
    table.finish()


def _nodes(top: Table, sources: dict[str, str]) -> list[Node]:
    per_socket = top.whole("nodes_per_socket", 1, 64, 1)
    nodes: list[Node] = []
    for table in top.tables("node"):
        cpus = table.whole("cpus", 0, CPUS_MAX)
        memory = table.whole("memory_mib", 0, 65_536)
        if 0 < memory < 64:
            raise table.bad("memory_mib", "0, or 64 and more")
        bandwidth = table.number("bandwidth_gbs", 0.001, 1e4) if memory else 0
        groups = table.whole("l3_groups", 1, 64, 1)
        if cpus % groups:
            raise table.bad("l3_groups", f"a divisor of the node's {cpus} CPUs")
        for _ in range(table.whole("repeat", 1, 64, 1)):
            nodes.append(
                Node(len(nodes), cpus, memory, bandwidth, len(nodes) // per_socket, groups)
            )
        _close(table, sources)
    return nodes


def _cache(which: str, table: Table, sources: dict[str, str]) -> Cache:
    size, ways = table.whole("size_kib", 1, 1 << 22), table.whole("ways", 1, WAYS_MAX)
    latency = table.number("latency_ns", 0.001, 1e4)
    # in the core's own cache there is nobody else's
    written = latency if which == "private" else table.number("written_ns", latency, 1e4, latency)
    cache = Cache(size, ways, latency, written)
    if cache.size_kib * 1024 % (64 * cache.ways):
        raise table.bad("ways", f"ways that divide the {cache.size_kib * 16} lines")
    _close(table, sources)
    return cache


def _matrices(
    top: Table,
    name: str,
    keys: dict[str, tuple[float, float]],
    count: int,
    sources: dict[str, str],
    needed: bool,
) -> dict[str, Matrix | None]:
    table = top.table(name, needed)
    result = {key: table.matrix(key, count, count, *bounds) for key, bounds in keys.items()}
    for key, (least, most) in keys.items():
        if needed and result[key] is None:
            raise table.bad(key, f"{count} rows of {count} numbers from {least:g} to {most:g}")
    _close(table, sources)
    return result


def _link(table: Table, count: int, sources: dict[str, str]) -> Link:
    ends = table.raw("between")
    expected = f"two nodes, or two lists of nodes, from 0 to {count - 1}"
    if not isinstance(ends, list) or len(ends) != 2:
        raise table.bad("between", expected)
    sides = [end if isinstance(end, list) else [end] for end in ends]
    for side in sides:
        if not side or not all(type(n) is int and 0 <= n < count for n in side):
            raise table.bad("between", expected)
    if set(sides[0]) & set(sides[1]):
        raise table.bad("between", expected + ", none of them on both sides")
    link = Link(sides[0], sides[1], table.number("gbs", 0.001, 1e4), table.flag("one_way"))
    _close(table, sources)
    return link


def _follows(links: list[Link], crossed: list[int], start: int, end: int) -> bool:
    """Whether links, one after the other, lead from a node to another; none: they are of one package."""
    here = {start}
    for number in crossed:
        link = links[number]
        if here & set(link.first):
            here = set(link.second)
        elif here & set(link.second) and not link.one_way:
            here = set(link.first)
        else:
            return False
    return end in here or not crossed


def _routes(top: Table, count: int, links: list[Link]) -> dict[tuple[int, int], list[int]]:
    routes: dict[tuple[int, int], list[int]] = {}
    for table in top.tables("route", needed=False):
        ends = (table.whole("from", 0, count - 1), table.whole("to", 0, count - 1))
        crossed = table.raw("links")
        if not isinstance(crossed, list) or not all(
            type(n) is int and 0 <= n < len(links) for n in crossed
        ):
            raise table.bad("links", f"a list of links, numbers from 0 to {len(links) - 1}")
        if ends[0] == ends[1] or ends in routes:
            raise table.bad("to", "another node than `from`, and one route for the two")
        if not _follows(links, crossed, *ends):
            raise table.bad("links", f"links that lead from node {ends[0]} to node {ends[1]}, in order")
        routes[ends] = crossed
        table.finish()
    return routes


def _assumed(top: Table) -> dict[str, str]:
    value = top.raw("assumed")
    expected = 'a table [assumed] of "path.of.figure" = "how it was assumed"'
    if value is not None and not isinstance(value, dict):
        raise top.bad("assumed", expected)
    for how in (value or {}).values():
        if not isinstance(how, str) or not how.strip():
            raise top.bad("assumed", expected)
    return dict(value or {})


def _check(machine: Machine, top: Table) -> None:
    """What no single key can say."""
    if not machine.memory_nodes or not machine.cpu_count:
        raise MachineFileError(
            top.file, "node", "at least one node with memory and one with CPUs", "none"
        )
    for what, found, most in (
        ("nodes", len(machine.nodes), NODES_MAX),
        ("CPUs", machine.cpu_count, CPUS_MAX),
        ("cores", machine.core_count, CORES_MAX),
        ("shared caches", len(machine.l3_nodes), SHARED_CACHES_MAX),
    ):
        if found > most:
            raise MachineFileError(top.file, "node", f"at most {most} {what} in all", found)
    for node in machine.nodes:
        if not node.cpus and not node.memory_mib:
            raise MachineFileError(
                top.file, f"node[{node.index}]", "CPUs, memory, or both", "neither"
            )
        if node.cpus % machine.threads_per_core:
            raise MachineFileError(
                top.file,
                "threads_per_core",
                "a divisor of each node's CPUs",
                machine.threads_per_core,
            )
        if node.cpus // node.l3_groups % machine.threads_per_core:
            raise MachineFileError(
                top.file,
                f"node[{node.index}].l3_groups",
                f"groups of whole cores, of {machine.threads_per_core} CPUs each",
                node.l3_groups,
            )
        if machine.slit[node.index][node.index] != 10:
            raise MachineFileError(
                top.file, "distance.slit", "10 from each node to itself", machine.slit
            )
    for a in machine.nodes:
        for b in machine.nodes:
            for key, matrix, there in (
                ("dram_ns", machine.dram_ns, b.memory_mib),
                ("cache_ns", machine.cache_ns, b.cpus),
            ):
                if a.cpus and there and matrix[a.index][b.index] <= 0:
                    raise MachineFileError(
                        top.file,
                        f"latency.{key}",
                        f"more than 0 from node {a.index} to node {b.index}",
                        0,
                    )
            if a != b and machine.slit[a.index][b.index] <= 10:
                raise MachineFileError(
                    top.file, "distance.slit", "more than 10 to other nodes", machine.slit
                )
    groups = {"cache.private", "cache.shared", "latency", "node[0]"} | (
        {"distance"} if machine.slit[1:] else set()
    )
    for group in sorted(groups - machine.sources.keys()):
        if not any(
            path == group or path.startswith(group.split("[")[0]) for path in machine.assumed
        ):
            raise MachineFileError(
                top.file, f"{group}.source", "where the figures are from, or entries in [assumed]"
            )
    known = {
        "clock_ghz",
        "cpi",
        "overlap",
        "core",
        "node",
        "cache",
        "distance",
        "latency",
        "bandwidth",
        "link",
        "full",
    }
    for path in machine.assumed:
        if path.split(".")[0].split("[")[0] not in known:
            raise MachineFileError(
                top.file,
                f'assumed."{path}"',
                f"a path that begins with one of: {', '.join(sorted(known))}",
                path,
            )
