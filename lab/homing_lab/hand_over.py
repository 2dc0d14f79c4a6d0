"""machine.json: the machine as the plugin reads it, with dense matrices and every route."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

from .machine import LINE_BYTES, Machine
from .machine_file import whole_sets


def directed_links(machine: Machine) -> list[dict[str, Any]]:
    """Two entries a link, one a direction of requests; one if it is one-way."""
    result = []
    for number, link in enumerate(machine.links):
        result.append({"gbs": link.gbs, "link": number, "from": link.first, "to": link.second})
        if not link.one_way:
            result.append({"gbs": link.gbs, "link": number, "from": link.second, "to": link.first})
    return result


def _shortest(links: list[dict[str, Any]], start: int, end: int) -> list[int]:
    """The fewest links from one node to another; none if nothing joins them."""
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for number, link in enumerate(links):
            if node not in link["from"]:
                continue
            for other in link["to"]:
                if other not in came:
                    came[other] = (node, number)
                    queue.append(other)
    if end not in came:
        return []
    route = []
    while end != start:
        end, number = came[end]
        route.append(number)
    return route[::-1]


def routes(machine: Machine) -> list[list[list[int]]]:
    """For every pair the directed links that it crosses. Nodes of one socket need a link of their
    own, or cross none: they never go through another socket."""
    links = directed_links(machine)
    result = []
    for a in machine.nodes:
        row: list[list[int]] = []
        for b in machine.nodes:
            if (a.index, b.index) in machine.routes:
                row.append(_along(links, machine.routes[a.index, b.index], a.index))
                continue
            direct = [
                n
                for n, link in enumerate(links)
                if a.index in link["from"] and b.index in link["to"]
            ]
            if a == b or (a.socket == b.socket and not direct):
                row.append([])
            else:
                row.append(direct[:1] or _shortest(links, a.index, b.index))
        result.append(row)
    return result


def _along(links: list[dict[str, Any]], numbers: list[int], start: int) -> list[int]:
    """Links as the file numbers them, each in the direction of the way."""
    here, result = {start}, []
    for number in numbers:
        ways = [n for n, link in enumerate(links) if link["link"] == number]
        way = next(n for n in ways if here & set(links[n]["from"]))  # the file was checked
        result.append(way)
        here = set(links[way]["to"])
    return result


def machine_json(machine: Machine) -> dict[str, Any]:
    def cache(which: Any) -> dict[str, Any]:
        return {
            "size_kib": whole_sets(which, 1 / machine.cache_scale),
            "ways": which.ways,
            "latency_ns": which.latency_ns,
        }

    return {
        "name": machine.name,
        "clock_ghz": machine.clock_ghz,
        "cpi": machine.cpi,
        "overlap": machine.overlap,
        "core": machine.core,
        "line": LINE_BYTES,
        "cache_scale": machine.cache_scale,
        "cpu_node": machine.cpu_nodes,
        "cpu_core": machine.cpu_cores,
        "cpu_l3": machine.cpu_l3,
        "private": cache(machine.private),
        "shared": [
            {"node": node} | cache(machine.shared) | {"written_ns": machine.shared.written_ns}
            for node in machine.l3_nodes
        ],
        "memory": [
            {"node": node.index, "size_mib": node.memory_mib, "bandwidth_gbs": node.bandwidth_gbs}
            for node in machine.memory_nodes
        ],
        "dram_ns": machine.dram_ns,
        "cache_ns": machine.cache_ns,
        "pair_gbs": machine.pair_gbs,
        "links": directed_links(machine),
        "routes": routes(machine),
        "assumed": sorted(machine.assumed),
    }


def text(machine: Machine) -> str:
    return json.dumps(machine_json(machine), indent=1) + "\n"


def write(machine: Machine, file: Path) -> None:
    file.write_text(text(machine))
