#!/usr/bin/env python3
"""Property: `homing topology` shows the machine that a program would see, in three forms that agree, and its exit code
says whether it could. Method: made-up machines, the real one under a narrowed mask, and bad input."""

import csv
import io
import json
import os
from pathlib import Path

from command import check, homing, main

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
    check(seen.code == 0 and seen.err.count("\n") == 1 and "HOMING_TOPOLOGY=nonsense is not valid" in seen.err
          and seen.out.startswith("machine:"), "a bad variable is one line, and the real machine", seen)


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
    for words in (["--json", "--csv"], ["--domain", "planet"], ["--nothing"], ["stray"], ["--topology"]):
        seen = homing("topology", *words)
        check(seen.code == 2 and seen.out == "" and "--help" in seen.err, f"wrong usage: {' '.join(words)}", seen)


main([forms_agree, variables_and_options, real_machine, bad_input])
