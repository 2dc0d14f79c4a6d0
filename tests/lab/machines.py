#!/usr/bin/env python3
"""Property: each machine file says where its figures are from, and list, show and export tell what it says; a file that is
wrong is refused in one line that names the key. Method: all files of lab/machines, and copies with one mistake each."""

import csv
import io
import json
import os
import re
import subprocess
import tomllib
from xml.etree import ElementTree

from lab import COMMAND, ROOT, check, lab, main

# Machines that have too few CPUs a node, with all their misses in flight, for the whole of its bandwidth.
TOO_FEW_CPUS = {"ring", "two-level"}
FILES = sorted((ROOT / "lab/machines").glob("*.toml"))


def leaves(value, path=""):
    """Every figure of a file with its path; of a matrix, and of nodes, one."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from leaves(inner, path)
    elif isinstance(value, (int, float, list)):
        yield path


def group_source(machine, path):
    """The source of the table that a figure is in."""
    inner = machine
    for key in path.split(".")[:-1]:
        inner = inner[key][0] if isinstance(inner[key], list) else inner[key]
    return inner.get("source")


def every_figure_has_a_source(_):
    names = {"westmere", "nehalem-e5520", "bulldozer", "istanbul", "nehalem-ep", "nehalem-ex", "thunderx2",
             "sapphire-rapids-snc4", "epyc-nps2", "epyc-cxl", "epyc-7601", "memory-less", "unequal", "ring", "one-node"}
    check(names <= {file.stem for file in FILES}, "the machines that there should be")
    shape = {"nodes_per_socket", "threads_per_core"}   # what is there, not how fast it is
    for file in FILES:
        machine = tomllib.loads(file.read_text())
        assumed = machine.pop("assumed")
        unsourced = [path for path in leaves(machine) if path not in shape and not group_source(machine, path)
                     and not any(path == a or path.startswith(a + ".") for a in assumed)]
        check(not unsourced, f"{file.stem}: a source, or assumed", unsourced)


def list_and_show(folder):
    listed = json.loads(lab("list", "--json").out)
    check([m["name"] for m in listed] == [file.stem for file in FILES], "list names every file", listed)
    table = list(csv.DictReader(io.StringIO(lab("list", "--csv").out)))
    check(table == [{key: str(value) for key, value in m.items()} for m in listed], "and as a table", table)
    check(lab("list", "--csv", "--json").code == 2, "one of the two")
    text = lab("list").out
    check(all(file.stem in text for file in FILES), "as text, too", text)
    for file in FILES:
        machine = tomllib.loads(file.read_text())
        seen = lab("show", file.stem)
        check(seen.code == 0 and all(path in seen.out for path in machine["assumed"]), f"show {file.stem}: assumed", seen)
        check(not [line for line in seen.out.splitlines() if len(line) > 100], "it fits", seen)
        cpus = sum(node["cpus"] * node.get("repeat", 1) for node in machine["node"])
        if machine.get("full", {}).get("cores", 0) > cpus:
            check("scaled down:" in seen.out, "what is scaled down", seen)
        few = "GB/s at most of their memory's" in seen.out
        check(few == (file.stem in TOO_FEW_CPUS), f"show {file.stem}: what bandwidth its CPUs can't reach", seen)
        picture = folder / f"{file.stem}.svg"
        seen = lab("show", file.stem, "--svg", picture)
        root = ElementTree.parse(picture).getroot()
        boxes = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") in ("node", "tier")]
        nodes = sum(node.get("repeat", 1) for node in machine["node"])
        check(seen.code == 0 and len(boxes) == nodes, f"show {file.stem} --svg draws {nodes} nodes", seen)


def hand_over_is_dense(_):
    for file in FILES:
        seen = json.loads(lab("export", file.stem, "--json").out)
        nodes, cpus = len(seen["dram_ns"]), len(seen["cpu_node"])
        check(len(seen["cpu_core"]) == len(seen["cpu_l3"]) == cpus, f"{file.stem}: a core and a cache a CPU", seen)
        check(all(seen["shared"][l3]["node"] == node for node, l3 in zip(seen["cpu_node"], seen["cpu_l3"])),
              "a CPU's cache is of its node", seen)
        for a in set(seen["cpu_node"]):
            for memory in seen["memory"]:
                b = memory["node"]
                here, ends = {a}, seen["routes"][a][b]
                for number in ends:   # each link goes on where the last one ended
                    check(bool(here & set(seen["links"][number]["from"])), f"{file.stem}: the way {a} to {b}", ends)
                    here = set(seen["links"][number]["to"])
                check(not ends or b in here, "leads there", ends)
        check(all(len(row) == nodes for row in seen["routes"] + seen["dram_ns"] + seen["cache_ns"]), "square")
    ring = json.loads(lab("export", "ring", "--json").out)
    check([len(ring["routes"][0][b]) for b in range(4)] == [0, 1, 2, 3], "one way round the ring", ring["routes"])
    small = json.loads(lab("export", "westmere", "--json", "--cache-scale", "16").out)
    check(small["shared"][0]["size_kib"] == 768 and small["private"]["size_kib"] == 16 and small["cache_scale"] == 16,
          "--cache-scale", small)


def fewer_cores_are_in_balance(_):
    """What cores share is smaller by as much as there are fewer of them; the rest is the file's."""
    for file in FILES:
        machine, seen = tomllib.loads(file.read_text()), json.loads(lab("export", file.stem, "--json").out)
        cores = len(seen["cpu_node"]) // machine.get("threads_per_core", 1)
        share = min(1, cores / machine.get("full", {}).get("cores", cores))
        near = lambda found, whole: abs(found - share * whole) <= 0.001 * share * whole
        shared = machine["cache"]["shared"]["size_kib"]
        check(all(abs(cache["size_kib"] - share * shared) <= 0.01 * share * shared for cache in seen["shared"]),
              f"{file.stem}: last-level caches in balance", seen["shared"])
        whole = [n["bandwidth_gbs"] for n in machine["node"] for _ in range(n.get("repeat", 1)) if n["memory_mib"]]
        check(all(near(m["bandwidth_gbs"], w) for m, w in zip(seen["memory"], whole)), "memory", seen["memory"])
        check(all(near(link["gbs"], machine["link"][link["link"]]["gbs"]) for link in seen["links"]), "links", seen["links"])
        pairs = machine.get("bandwidth", {}).get("gbs")
        check((pairs is None) == (seen["pair_gbs"] is None) and
              all(near(f, w) for a, b in zip(seen["pair_gbs"] or [], pairs or []) for f, w in zip(a, b)), "pairs", pairs)
        check(seen["private"]["size_kib"] == machine["cache"]["private"]["size_kib"] and
              seen["dram_ns"] == machine["latency"]["dram_ns"], "a core's own cache and latencies are whole", seen)
        said = "in balance with them" in lab("show", file.stem).out
        check(said == (share != 1), f"show {file.stem} says whether it is scaled", share)
    pairs = json.loads(lab("export", "thunderx2", "--json").out)["pair_gbs"]
    check(abs(pairs[0][0] / pairs[0][1] - 115 / 33) < 0.01, "near and far of thunderx2", pairs)


def bounds_are_the_models(_):
    """The runner refuses what the plugin would."""
    header = (ROOT / "lab/plugin/machine.hpp").read_text()
    runner = (ROOT / "lab/homing_lab/machine_file.py").read_text()
    for name in ("nodes_max", "cores_max", "shared_caches_max"):
        of = [re.search(rf"^(?:inline constexpr unsigned )?{n} = (\d+)", text, re.M)[1]
              for n, text in ((name, header), (name.upper(), runner))]
        check(of[0] == of[1], f"{name} of the runner and of the plugin", of)
    big = json.loads(lab("export", "epyc-7601", "--json").out)
    check(len(big["cpu_node"]) == 64 and len(big["dram_ns"]) == 8 and max(big["cpu_core"]) == 63, "64 CPUs on 8 nodes", big)


def export_is_what_homing_sees(folder):
    for file in FILES:
        machine = json.loads(lab("show", file.stem, "--json").out)
        path = folder / f"{file.stem}.xml"
        seen = lab("export", file.stem, "--xml", "-o", path)
        done = subprocess.run([COMMAND, "topology", "--json"], capture_output=True, text=True,
                              env=os.environ | {"HOMING_TOPOLOGY": str(path)})
        shown = json.loads(done.stdout)
        with_cpus = sorted(set(machine["cpu_node"]))
        check(seen.code == 0 and [d["node"] for d in shown["domains"]] == with_cpus, f"{file.stem}: domains", (seen, done))
        check([d["cpus"] for d in shown["domains"]] ==
              [[c for c, n in enumerate(machine["cpu_node"]) if n == node] for node in with_cpus], "CPUs", shown)
        check(shown["distances"] == [[machine["slit"][a][b] for b in with_cpus] for a in with_cpus], "distances", shown)
        memory = {m["node"]: m["size_mib"] << 20 for m in machine["memory"]}
        check(all((n["memory_bytes"] or 0) == memory.get(n["node"], 0) for n in shown["nodes"]), "memory", shown["nodes"])
        done = subprocess.run([COMMAND, "topology"], capture_output=True, text=True,
                              env=os.environ | {"HWLOC_XMLFILE": str(path)})
        check(done.returncode == 0 and f"{len(with_cpus)} domain" in done.stdout, "HWLOC_XMLFILE", done)


MISTAKES = {   # what is changed, and what the line must name
    ("cpi = 1\n", ""): "cpi: expected a number",
    ("cpi = 1\n", 'cpi = "one"\n'): "cpi: expected a number from 0.01 to 100, found 'one'",
    ("cpi = 1\n", "cpi = 1\nspeed = 3\n"): "speed: expected one of",
    ("cpus = 4", "cpus = -1"): "node[0].cpus: expected a whole number",
    ("l3_groups = 2", "l3_groups = 3"): "node[0].l3_groups: expected a divisor",
    ("ways = 16", "ways = 7"): "cache.shared.ways",
    ("cpus = 4", "cpus = 20"): "node: expected at most 64 cores in all, found 80",
    ("[107, 116.5, 200, 200]", "[107, 116.5, 200]"): "latency.dram_ns: expected 4 rows of 4 numbers",
    ("[107, 116.5, 200, 200]", "[107, 0, 200, 200]"): "latency.dram_ns: expected more than 0 from node 0 to node 1",
    ("[10, 12, 32, 32]", "[11, 12, 32, 32]"): "distance.slit: expected 10 from each node to itself",
    ("between = [[0, 1], [2, 3]]", "between = [[0, 1], [1, 3]]"): "link[0].between",
    ("between = [[0, 1], [2, 3]]", "between = [0, 9]"): "link[0].between",
    ('name = "epyc-nps2"', 'name = "other"'): "name: expected the name of the file",
    ("[assumed]", "[assumed]\n\"nonsense\" = \"x\""): 'assumed."nonsense"',
    ("clock_ghz = 2.5", "clock_ghz = = 2.5"): "not TOML",
    # What the plugin would refuse, when all is packed.
    ("cores = 48", "cores = 0"): "full.cores: expected a number from 1",
    ("latency_ns = 20\n", "latency_ns = 0\n"): "cache.shared.latency_ns: expected a number from 0.001",
    ("[20, 90, 180, 180]", "[20, 0, 180, 180]"): "latency.cache_ns: expected more than 0 from node 0 to node 1",
    ("[20, 90, 180, 180]", "[0, 90, 180, 180]"): "latency.cache_ns: expected more than 0 from node 0 to node 0",
    ("l3_groups = 2\n", "l3_groups = 4\n"): "node[0].l3_groups: expected groups of whole cores",
    ("[assumed]\n", "[[route]]\nfrom = 0\nto = 0\nlinks = [0]\n\n[assumed]\n"): "route[0].to: expected another node",
    ("[assumed]\n", "[[route]]\nfrom = 0\nto = 1\nlinks = [0]\n\n[assumed]\n"): "route[0].links: expected links that lead from node 0 to node 1",
    ("[assumed]\n", "[[route]]\nfrom = 0\nto = 2\nlinks = [0, 0]\n\n[assumed]\n"): "route[0].links: expected links that lead from node 0 to node 2",
    ("[assumed]\n", "[[route]]\nfrom = 0\nto = 2\nlinks = [0]\n\n[[route]]\nfrom = 0\nto = 2\nlinks = [0]\n[assumed]\n"):
        "route[1].to: expected another node than `from`, and one route for the two",
}


def mistakes_are_named(folder):
    good = (ROOT / "lab/machines/epyc-nps2.toml").read_text()
    for (old, new), said in MISTAKES.items():
        file = folder / "epyc-nps2.toml"
        assert old in good, old
        changed = good.replace(old, new, 1)
        if "whole cores" in said:
            changed = changed.replace("[[node]]", "threads_per_core = 2\n\n[[node]]", 1)
        file.write_text(changed)
        seen = lab("show", file)
        check(seen.code == 2 and said in seen.err and seen.err.count("\n") == 1, f"refused: {said}", seen)
    for text, said in (("a = " + "[" * 100_000, "lists or tables lie too deep"), ("overlap = " + "9" * 5000, "too many digits"),
                       (good.replace("cpi = 1\n", f"cpi = 0x{'f' * 9000}\n"), "cpi: expected a number from 0.01 to 100, found a number of")):
        file.write_text(text)
        seen = lab("show", file)
        check(seen.code == 2 and f"{file}: " in seen.err and said in seen.err and seen.err.count("\n") == 1, f"refused: {said}", seen)
    seen = lab("show", "westmeer")
    check(seen.code == 2 and "near it: westmere" in seen.err, "an unknown machine: near names", seen)
    check(lab("show", folder / "nothing.toml").code == 2, "a file that is not there")
    file.write_text(good.replace("[assumed]\n", "[[route]]\nfrom = 0\nto = 2\nlinks = [0]\n\n[assumed]\n"))
    check(lab("show", file).code == 0, "a route that leads there")
    check(lab("export", "ring", "--json", "--cache-scale", "inf").code == 2, "a scale that leaves nothing")
    check(lab("export", "ring").code == 2, "export needs a format")
    seen = lab("show", "mine", env={"HOMING_LAB_MACHINES": str(folder)})
    check(seen.code == 2, "not there yet", seen)
    (folder / "mine.toml").write_text(good.replace("epyc-nps2", "mine"))
    seen = lab("show", "mine", env={"HOMING_LAB_MACHINES": str(folder)})
    check(seen.code == 0, "HOMING_LAB_MACHINES: folders of one's own", seen)


main([every_figure_has_a_source, list_and_show, hand_over_is_dense, fewer_cores_are_in_balance, bounds_are_the_models,
      export_is_what_homing_sees, mistakes_are_named])
