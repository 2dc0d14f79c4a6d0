#!/usr/bin/env python3
"""Property: `homing topology` shows the machine that a program would see, in three forms that agree, and its exit code
says whether it could. Method: made-up machines, the real one under a narrowed mask, and bad input."""

import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path
from xml.etree import ElementTree

from command import COMMAND, check, homing, main

INTERLEAVED = "node:2 core:160 pu:2(indexes=node:core)"   # a node has every second CPU
FIXTURES = Path(__file__).resolve().parent.parent / "data/topology"


def forms_agree(_):
    unequal = FIXTURES / "unequal.xml"
    text, as_json, as_csv = (homing("topology", "--topology", unequal, *form) for form in ([], ["--json"], ["--csv"]))
    check(text.code == as_json.code == as_csv.code == 0, "all forms succeed", (text, as_json, as_csv))
    machine = json.loads(as_json.out)
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    check(machine["virtual"] and text.out.startswith("virtual machine: 3 domains"), "virtual is said", text)
    check([d["node"] for d in machine["domains"]] == [0, 2, 5] == [int(r["node"]) for r in rows], "nodes", as_json)
    check(machine["domains"][0]["cpus"] == [0, 1, 2, 33] and rows[0]["cpus"] == "0-2,33", "CPUs", as_csv)
    check(machine["distances"] == [[10, 21, 12], [31, 10, 255], [13, 255, 10]], "distances of both directions", as_json)
    check([[int(r[f"distance_to_{i}"]) for i in range(3)] for r in rows] == machine["distances"], "CSV distances", as_csv)
    check(machine["domains"][1]["nearest_first"] == [1, 0, 2], "nearest first", as_json)
    check("   31   10  255" in text.out, "the matrix is drawn", text)


def variables_and_options(_):
    seen = json.loads(homing("topology", "--json", env={"HWLOC_SYNTHETIC": "node:4 core:2 pu:1"}).out)
    check(len(seen["domains"]) == 4 and seen["threads"] == 8, "HWLOC_SYNTHETIC", seen)
    seen = json.loads(homing("topology", "--json", "--topology", "node:2 core:1 pu:1",
                             env={"HOMING_TOPOLOGY": "node:4 core:2 pu:1"}).out)
    check(len(seen["domains"]) == 2, "an option stands above the variable", seen)
    seen = json.loads(homing("topology", "--json", "--domain", "l3", "--topology", FIXTURES / "l3_groups.xml").out)
    check(len(seen["domains"]) == 4 and seen["kind"] == "l3", "--domain", seen)
    seen = homing("topology", env={"HOMING_TOPOLOGY": "nonsense"})
    check(seen.code == 1 and seen.err.count("\n") == 1 and "HOMING_TOPOLOGY=nonsense is not valid" in seen.err
          and seen.out.startswith("machine:"), "a bad variable is one line, the real machine, and no success", seen)


def nodes_and_memory(_):
    """What `numactl -H` tells: sizes, free memory, nodes without CPUs."""
    tiered = homing("topology", "--json", "--topology", "pack:2 [numa(memory=1GB)] core:2 pu:1 [numa(memory=3GB)]")
    seen = json.loads(homing("topology", "--json").out)
    for node in seen["nodes"]:
        meminfo = Path(f"/sys/devices/system/node/node{node['node']}/meminfo")
        if meminfo.exists():
            total = int(re.search(r"MemTotal:\s+(\d+)", meminfo.read_text())[1]) * 1024
            check(node["memory_bytes"] == total, "memory is the kernel's figure", node)
            check(0 < node["free_bytes"] < total, "so is what is free of it", node)
    check(len(seen["nodes"][0]["distances"]) == len(seen["nodes"]), "a row of distances a node", seen["nodes"])
    check(tiered.code == 0 and all(n["free_bytes"] is None for n in json.loads(tiered.out)["nodes"]),
          "nothing is free on a made-up machine: unknown", tiered)
    text = homing("topology", "--topology", "node:2 core:1 pu:1").out
    check("only sort" in text and "assumed" in text, "distances come with their warning", text)
    check("only sort" not in homing("topology", "--topology", "core:2 pu:1").out, "and not where there is none")
    for machine in ("node:8 core:16 pu:2", INTERLEAVED):
        seen = homing("topology", "--topology", machine).out
        check(not any(len(line) > 80 for line in seen.splitlines()), "80 columns", seen)
    check("126," in seen and "318" in seen, "and every CPU of a long list", seen)
    sockets = ["--topology", "pack:2 node:2 core:2 pu:1", "--domain", "socket"]
    text = homing("topology", *sockets).out
    check("domain 1: nodes 2-3, socket 1" in text and all(f"node {n}: 1.0 GiB" in text for n in range(4)),
          "a socket's nodes, each with its memory", text)
    seen = json.loads(homing("topology", "--json", *sockets).out)
    check([d["nodes"] for d in seen["domains"]] == [[0, 1], [2, 3]], "in JSON, too", seen)


def narrow_terminal(_):
    """One box below the other where two are too wide; by a terminal of our own."""
    for width, cores, rows in ((40, 2, 4), (62, 2, 2), (200, 2, 2), (40, 40, 4)):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        done = subprocess.run([COMMAND, "topology", "--topology", f"pack:2 node:2 core:{cores} pu:1(indexes=node:core)"], stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):   # EIO: all is read
            while block := os.read(ours, 65536):
                text += block
        os.close(ours)
        boxes = [line.rstrip() for line in text.decode().splitlines() if line.startswith(("+", "|"))]
        rules = [line for line in boxes if line.startswith("+")]
        check(done.returncode == 0 and len(rules) == 2 * rows and all(len(line) <= width for line in boxes), f"{width} columns, {cores} cores", text.decode())


def thread_limit(_):
    for extra in ([], ["--topology", "node:4 core:2 pu:1"]):
        seen = json.loads(homing("topology", "--json", *extra, env={"HOMING_THREADS": "1"}).out)
        check(seen["threads"] == 1 and seen["limits"]["thread_limit"] == 1 and seen["usable_cpus"] >= 1, "HOMING_THREADS bounds", seen)
    for value in ("0", "-1", "many", "65537", "1 "):
        seen = homing("topology", "--json", env={"HOMING_THREADS": value})
        check(seen.code == 1 and seen.err.count("\n") == 1 and "no limit" in seen.err
              and json.loads(seen.out)["limits"]["thread_limit"] is None, f"HOMING_THREADS={value!r} is refused", seen)


def picture(folder):
    for number, words in enumerate(([], ["--topology", "node:4 core:2 pu:1"], ["--topology", FIXTURES / "unequal.xml"],
                                    ["--topology", "pack:2 l3:2 core:4 pu:2"], ["--topology", "node:70 core:1 pu:1"],
                                    ["--topology", "node:2 core:300 pu:1"], ["--topology", INTERLEAVED])):
        path = folder / f"{number}.svg"
        seen = homing("topology", "--svg", path, *words)
        check(seen.code == 0 and seen.err == "", f"--svg {words}", seen)
        machine = json.loads(homing("topology", "--json", *words).out)
        root = ElementTree.parse(path).getroot()
        texts = ["".join(t.itertext()) for t in root.iter("{http://www.w3.org/2000/svg}text")]
        for domain in machine["domains"]:
            check(any(t.startswith(f"domain {domain['index']}: node {domain['node']}") for t in texts), "each domain", texts)
        few = all(len(d["cpus"]) <= 256 for d in machine["domains"])
        tiles = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "cpu"]
        check(len(tiles) == (machine["usable_cpus"] if few else 0), "a tile a CPU, or a list of many", len(tiles))
        cells = [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "cell"]
        count = len(machine["domains"])
        check(len(cells) == (count * count if 1 < count <= 64 else 0), "the matrix", len(cells))
        width, height = int(root.get("width")), int(root.get("height"))
        inside = all(int(r.get("x", 0)) + int(r.get("width")) <= width and int(r.get("y", 0)) + int(r.get("height")) <= height
                     for r in root.iter("{http://www.w3.org/2000/svg}rect"))
        check(inside, "nothing lies outside the picture")
        cards = [(int(r.get("x")), int(r.get("y")), int(r.get("width")), int(r.get("height")))
                 for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "card"]
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            x, y, right = int(text.get("x")), int(text.get("y")), int(text.get("x")) + 7.3 * len("".join(text.itertext()))
            card = next((c for c in cards if c[0] <= x < c[0] + c[2] and c[1] <= y < c[1] + c[3]), (0, 0, width, height))
            if text.get("class") not in ("on-cpu", "number", "number soft"):
                check(right <= card[0] + card[2], "text ends within its card", (card, "".join(text.itertext())))
        text = path.read_text()
        check("prefers-color-scheme: dark" in text and "http" not in text.replace("http://www.w3.org/2000/svg", ""),
              "dark and light, and nothing from elsewhere")
    seen = homing("topology", "--svg", folder / "none/x.svg")
    check(seen.code == 1 and seen.out == "" and "can't write" in seen.err and seen.err.count("\n") == 1, "an unwritable picture", seen)


def real_machine(_):
    cpu = min(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        seen = json.loads(homing("topology", "--json").out)
    finally:
        os.sched_setaffinity(0, before)
    check(not seen["virtual"] and seen["usable_cpus"] == 1 == seen["threads"], "the affinity mask cuts", seen)
    check(seen["domains"][0]["real_cpus"] == [cpu], "the CPU of the mask is left", seen)
    check(seen["limits"]["cut_by_affinity"] + seen["limits"]["cut_by_cpuset"] + 1 == seen["limits"]["machine_cpus"],
          "every missing CPU has its reason", seen)


def bad_input(folder):
    (folder / "broken.xml").write_text("<topology>")
    for value in ("nonsense", "node:100000 core:100000 pu:1", folder / "broken.xml", folder / "none.xml", folder):
        seen = homing("topology", "--topology", value)
        check(seen.code == 1 and seen.out == "" and seen.err.startswith("homing: --topology"), f"refused: {value}", seen)
    for variable in ("HOMING_TOPOLOGY", "HWLOC_XMLFILE"):
        for value in (folder / "broken.xml", folder / "none.xml"):
            seen = homing("topology", "--json", env={variable: str(value)})
            check(seen.code == 1 and seen.err.count("\n") == 1 and f"{variable}={value}"[:100] in seen.err
                  and not json.loads(seen.out)["virtual"], f"{variable}: {value}", seen)
    for words in (["--json", "--csv"], ["--domain", "planet"], ["--nothing"], ["stray"], ["--topology"]):
        seen = homing("topology", *words)
        check(seen.code == 2 and seen.out == "" and "--help" in seen.err, f"wrong usage: {' '.join(words)}", seen)


main([forms_agree, variables_and_options, nodes_and_memory, narrow_terminal, thread_limit, picture, real_machine, bad_input])
