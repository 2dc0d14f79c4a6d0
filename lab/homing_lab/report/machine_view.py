"""The machine on the page: nodes by socket, figures, and which of them nobody published."""

from __future__ import annotations

from html import escape

from .. import draw
from ..machine import Machine
from . import heat, html, matrices
from .runs import Group


def _boxes(machine: Machine) -> str:
    sockets: dict[int, list[str]] = {}
    for node in machine.nodes:
        first, *rest = draw.node_lines(machine, node)
        kind = "node" if node.cpus else "node tier"
        said = f"<b>{escape(first)}</b>" + "".join(f"<span>{escape(line)}</span>" for line in rest)
        box = f'<div class="{kind}" role="listitem">{said}</div>'
        sockets.setdefault(node.socket, []).append(box)
    groups = "".join(
        f'<div class="socket" role="list" aria-label="socket {number}">{"".join(nodes)}</div>'
        for number, nodes in sockets.items()
    )
    return f'<div class="sockets">{groups}</div>'


def _list(title: str, items: list[str], note: str = "") -> str:
    said = f" {html.mark(note)}" if note else ""
    return f"<h3>{escape(title)}{said}</h3>{html.listing(items, 'plain columns')}" if items else ""


def _known(machine: Machine) -> str:
    core = " ".join(line.strip() for line in draw.core_lines(machine))
    origins = ", ".join(
        f"{name} {matrices.origin(machine, path)}"
        for name, path in (
            ("clock", "clock_ghz"),
            ("cycles an instruction", "cpi"),
            ("misses in flight", "overlap"),
            ("own cache", "cache.private"),
            ("last level", "cache.shared"),
            ("memory bandwidth", "node.bandwidth_gbs"),
        )
    )
    maps = "".join(f"<div>{heat.html(one)}</div>" for one in matrices.of_machine(machine))
    assumed = [f"{path}: {how}" for path, how in machine.assumed.items()]
    sources = [f"{path}: {said}" for path, said in machine.sources.items()]
    nodes = f"{len(machine.nodes)} node{'s' if len(machine.nodes) > 1 else ''}"
    return (
        f"<p>{escape(machine.title)}; a virtual machine of {nodes} and {machine.cpu_count} CPUs. "
        f'<span class="dim">Source: {escape(machine.source)}.</span></p>'
        + _boxes(machine)
        + f"<p>{escape(core[0].upper() + core[1:])}. "
        + f'<span class="dim">{escape(origins)}.</span></p>'
        + f'<div class="heats">{maps}</div>'
        + _list(
            "Links, GB/s a direction", draw.link_lines(machine), matrices.origin(machine, "link")
        )
        + _list("Scaled down", draw.scaled_down(machine))
        + _list("Assumed: nobody published it", assumed)
        + (
            f"<details><summary>Where the other figures are from</summary>"
            f"{html.listing(sources)}</details>"
            if sources
            else ""
        )
    )


def _unknown(group: Group) -> str:
    assumed = group.runs[0].counts.get("assumed", [])
    return (
        '<p class="warn">Its machine file is not here, so it can\'t be drawn: '
        "<code>--machine FILE.toml</code> names it.</p>"
        + _list("Assumed: nobody published it", [str(path) for path in assumed])
    )


def section(groups: list[Group]) -> str:
    """Each machine once; the same machine with other caches or memory is another one."""
    seen: dict[tuple[object, ...], tuple[Group, list[str]]] = {}
    for group in groups:
        machine = group.runs[0].machine
        memory = tuple(node.memory_mib for node in machine.nodes) if machine else ()
        key = (group.machine_name, machine.cache_scale if machine else 1, memory)
        seen.setdefault(key, (group, []))[1].append(group.label)
    out = []
    for group, labels in seen.values():
        of = f' <span class="note">of {escape(", ".join(labels))}</span>' if len(seen) > 1 else ""
        machine = group.runs[0].machine
        out.append(
            f'<section class="card"><h2>The machine: {escape(group.machine_name)}{of}</h2>'
            + (_known(machine) if machine else _unknown(group))
            + "</section>"
        )
    return "".join(out)
