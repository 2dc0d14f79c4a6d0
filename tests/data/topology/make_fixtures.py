#!/usr/bin/env python3
"""Writes the machines of this folder as hwloc XML: those that one synthetic line can't say.

A machine is a nest of tuples: (kind, OS id or None, children...), where a child ("NUMANode", id, MiB)
is attached memory. Usage: make_fixtures.py [FOLDER]
"""
import itertools
import pathlib
import re
import sys


def mask(bits):
    value, words = sum(1 << bit for bit in set(bits)), []
    while value or not words:
        words.append(f"0x{value & 0xffffffff:08x}")
        value >>= 32
    return ",".join(reversed(words))


def pus(obj):
    return [obj[1]] if obj[0] == "PU" else [p for c in obj[2:] if c[0] != "NUMANode" for p in pus(c)]


def nodes(obj):
    own = [c[1] for c in obj[2:] if c[0] == "NUMANode"] if obj[0] not in ("PU", "NUMANode") else []
    return own + ([n for c in obj[2:] if c[0] != "NUMANode" for n in nodes(c)] if obj[0] != "PU" else [])


def write(obj, numbers, above, cpus=None, extra=""):
    """One object; `above` are the nodes local to it by its ancestors."""
    kind, os_id, *children = obj
    if kind == "NUMANode":
        local, size, children = [os_id], f' local_memory="{children[0] << 20}"', []
    else:
        cpus, local, size = pus(obj), nodes(obj) + above, ""
    if kind == "L3Cache":
        size = ' cache_size="8388608" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0"'
    index = "" if os_id is None else f' os_index="{os_id}"'
    text = (f'<object type="{kind}"{index} cpuset="{mask(cpus)}" complete_cpuset="{mask(cpus)}" '
            f'nodeset="{mask(local)}" complete_nodeset="{mask(local)}" gp_index="{next(numbers)}"{size}{extra}>\n')
    own = [c[1] for c in children if c[0] == "NUMANode"]
    for child in children:
        # Memory alone (a fourth element) is near no CPU.
        text += write(child[:3] if child[0] == "NUMANode" else child, numbers, above + own,
                      [] if child[0] == "NUMANode" and len(child) > 3 else cpus)
    return text + "</object>\n"


MEMORY_FLAGS = {"Bandwidth": 5, "Latency": 6}  # hwloc: higher or lower first, and an initiator needed


def memory_attributes(text, figures):
    """`figures`: kind -> [(node, CPUs that see it so, MiB/s or ns)]; `text` has the nodes' numbers."""
    number = {int(os_id): n for os_id, n in re.findall(r'type="NUMANode" os_index="(\d+)".*?gp_index="(\d+)"', text)}
    result = ""
    for kind, values in figures.items():
        result += f'<memattr name="{kind}" flags="{MEMORY_FLAGS[kind]}">\n'
        for target, cpus, value in values:
            result += (f'<memattr_value target_obj_gp_index="{number[target]}" target_obj_type="NUMANode" '
                       f'value="{value}" initiator_cpuset="{mask(cpus)}"/>\n')
        result += "</memattr>\n"
    return result


def machine(*children, distances=None, kinds=(), figures=None, allowed_cpus=None, allowed_nodes=None):
    root = ("Machine", 0, *children)
    extra = (f' allowed_cpuset="{mask(pus(root) if allowed_cpus is None else allowed_cpus)}"'
             f' allowed_nodeset="{mask(nodes(root) if allowed_nodes is None else allowed_nodes)}"')
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">\n'
    text += write(root, itertools.count(1), [], extra=extra)
    if distances:
        ids, rows = distances
        names, values = " ".join(map(str, ids)) + " ", " ".join(str(v) for row in rows for v in row) + " "
        text += (f'<distances2 type="NUMANode" nbobjs="{len(ids)}" kind="5" name="NUMALatency" indexing="os">\n'
                 f'<indexes length="{len(names)}">{names}</indexes>\n'
                 f'<u64values length="{len(values)}">{values}</u64values>\n</distances2>\n')
    text += memory_attributes(text, figures or {})
    for cpus, efficiency in kinds:
        text += f'<cpukind cpuset="{mask(cpus)}" forced_efficiency="{efficiency}"/>\n'
    return text + "</topology>\n"


def cores(*cpus):
    return [("Core", 10 + cpu, ("PU", cpu)) for cpu in cpus]


def node(os_id, mib=1024, *far):
    return ("NUMANode", os_id, mib, *far)


FIXTURES = {
    # Sparse ids, 4 + 2 + 1 CPUs, and distances that differ by direction.
    "unequal": machine(
        ("Package", 0, node(0), *cores(0, 1, 2, 33)),
        ("Package", 1, node(2), *cores(64, 65)),
        ("Package", 3, node(5), *cores(100)),
        distances=([0, 2, 5], [[10, 21, 12], [31, 10, 255], [13, 255, 10]])),
    # Node 1 has CPUs and no memory; node 2 is nearer to it than node 0.
    "memory_less": machine(
        ("Package", 0, node(0), *cores(0, 1)),
        ("Package", 1, node(1, 0), *cores(2, 3)),
        ("Package", 2, node(2), *cores(4, 5)),
        distances=([0, 1, 2], [[10, 20, 20], [30, 10, 15], [20, 15, 10]])),
    # Node 2: memory on the bus, near no CPU. Node 3: fast memory beside node 0.
    "memory_tier": machine(
        node(2, 4096, "alone"),
        ("Package", 0, node(0), node(3, 512), *cores(0, 1)),
        ("Package", 1, node(1), *cores(2, 3)),
        distances=([0, 1, 2, 3], [[10, 20, 24, 10], [20, 10, 24, 20], [24, 24, 10, 24], [10, 20, 24, 10]]),
        figures={"Bandwidth": [(0, [0, 1], 100000), (1, [2, 3], 50000), (2, [0, 1], 17600), (3, [0, 1], 400000)],
                 "Latency": [(0, [0, 1], 90), (0, [2, 3], 140), (2, [0, 1], 279), (2, [2, 3], 364)]}),
    # Node 1 has CPUs and no memory; node 2 is attached to the same CPUs, and farther by the firmware's figures.
    "memory_beside": machine(
        ("Package", 0, node(0), *cores(0, 1)),
        ("Package", 1, node(1, 0), node(2), *cores(2, 3)),
        distances=([0, 1, 2], [[10, 20, 20], [15, 10, 20], [20, 20, 10]])),
    # Socket 1 belongs to no node at all.
    "node_left_out": machine(
        ("Package", 0, node(0), *cores(0, 1)),
        ("Package", 1, *cores(2, 3))),
    # Two nodes of two L3 groups; two threads a core.
    "l3_groups": machine(*[
        ("Package", p, node(p), *[
            ("L3Cache", None, *[("Core", c, ("PU", 2 * c), ("PU", 2 * c + 1)) for c in (4 * p + 2 * g, 4 * p + 2 * g + 1)])
            for g in range(2)])
        for p in range(2)],
        distances=([0, 1], [[10, 21], [21, 10]])),
    # Two fast cores with two threads each, four slow ones.
    "hybrid": machine(
        ("Package", 0, node(0), ("Core", 0, ("PU", 0), ("PU", 1)), ("Core", 1, ("PU", 2), ("PU", 3)), *cores(4, 5, 6, 7)),
        kinds=[([4, 5, 6, 7], 0), ([0, 1, 2, 3], 1)]),
    # Four slow cores, two faster ones, two fast ones.
    "three_core_types": machine(
        ("Package", 0, node(0), *cores(*range(8))),
        kinds=[([0, 1, 2, 3], 0), ([4, 5], 1), ([6, 7], 2)]),
    # The cpuset leaves CPUs 1, 2 and 3, and the memory of node 0 only.
    "cpuset": machine(
        ("Package", 0, node(0), *cores(0, 1)),
        ("Package", 1, node(1), *cores(2, 3)),
        ("Package", 2, node(2), *cores(4, 5)),
        allowed_cpus=[1, 2, 3], allowed_nodes=[0]),
    # Latencies in nanoseconds instead of firmware figures.
    "nanoseconds": machine(
        ("Package", 0, node(0), *cores(0)),
        ("Package", 1, node(1), *cores(1)),
        distances=([0, 1], [[80, 130], [140, 82]])),
}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, text in FIXTURES.items():
        (folder / f"{name}.xml").write_text(text)
