#!/usr/bin/env python3
"""Property: `homing bandwidth` measures every pair of nodes and every pattern that it was asked for, says which machine
and which memory that was, and its forms agree. Method: small arrays, on the real machine and on made-up ones."""

import csv
import io
import json
import os

from command import check, homing, main
from measuring import (FIXTURES, SMALL, TWO_NODES, helps_and_is_quiet, is_marked_in, is_spread, picture_texts, refuses,
                       shows_progress_on_a_terminal, small)

KERNELS = ["copy", "scale", "add", "triad"]


def real_machine(_):
    seen = homing("bandwidth", *SMALL, "--json")
    check(seen.code == 0, "it succeeds", seen)
    report = json.loads(seen.out)
    check(not report["virtual"] and report["machine"]["cpus"] == len(os.sched_getaffinity(0)), "the machine", report)
    check(report["unit"] == "MB/s" and report["kernels"] == KERNELS and report["repeat"] == 2, "the settings", report)
    nodes = len(report["cpu_nodes"]), len(report["memory_nodes"])
    for kernel in KERNELS:
        matrix = report["median_matrix"][kernel]
        check(len(matrix) == nodes[0] and all(len(row) == nodes[1] for row in matrix), f"matrix of {kernel}", matrix)
    for one in report["measurements"]:
        if not one["measured"]:
            check(one["pattern"] == "all-remote" and nodes[1] == 1 and one["why_not_measured"], "not measured", one)
            continue
        check(one["right"] and one["wrong"] is None, "results are checked", one)
        check(all(is_spread(one["mb_per_s"][kernel], 2) for kernel in KERNELS), "spreads", one)
        memory = one["memory"]
        # Whole pages are touched: the arrays, and at most a page more for each.
        least = sum(3 * group["array_bytes"] for group in one["groups"])
        check(least <= memory["bytes"] <= least + 3 * len(one["groups"]) * memory["base_page_bytes"], "bytes", one)
        check(memory["placed"] == (memory["bytes_at_home"] == memory["bytes"]), "placed means at home", one)
    if nodes[1] == 1:
        check(all(one["memory"]["placed"] for one in report["measurements"] if one["measured"]), "one node is home", report)
    check(any("smaller than four times" in note for note in report["notes"]), "small arrays are said", report)


def made_up_machines(_):
    for topology, shape in (("node:1 core:1 pu:1", (1, 1)), ("node:3 core:1 pu:1", (3, 3)),
                            (FIXTURES / "memory_tier.xml", None), (FIXTURES / "memory_less.xml", None),
                            (FIXTURES / "unequal.xml", (3, 3))):
        seen = homing("bandwidth", *SMALL, "--kernel", "triad", "--json", env={"HOMING_TOPOLOGY": str(topology)})
        report = json.loads(seen.out)
        cpus, memories = len(report["cpu_nodes"]), len(report["memory_nodes"])
        check(seen.code == 0 and report["virtual"] and report["machine"]["virtual"], f"{topology}: virtual", seen)
        check(shape is None or shape == (cpus, memories), f"{topology}: shape", report)
        pairs = [one for one in report["measurements"] if one["pattern"] == "pair"]
        check(len(pairs) == cpus * memories and len(report["measurements"]) == cpus * memories + 2 + memories,
              f"{topology}: every pair and pattern", report)
        check(not any(one["memory"]["placed"] or one["memory"]["bytes_at_home"]
                      for one in report["measurements"] if one["measured"]), f"{topology}: nothing is placed", report)
        check(report["notes"][0].startswith("virtual machine"), f"{topology}: said", report)
    seen = homing("bandwidth", *SMALL, env=TWO_NODES)
    check(seen.out.count("*") >= 4 * 4 and "machine: virtual" in seen.out and "no memory could be placed" in seen.out,
          "text says so, too", seen)


def forms_agree(folder):
    picture = folder / "b.svg"
    seen = homing("bandwidth", *SMALL, "--kernel", "triad,copy", "--csv", "--svg", picture, env=TWO_NODES)
    rows = list(csv.DictReader(io.StringIO(seen.out)))
    check(seen.code == 0 and len(rows) == (4 + 1 + 2 + 1) * 2, "a line for each pattern and kernel", seen)
    check({(r["cpu_node"], r["memory_node"]) for r in rows if r["pattern"] == "pair"} ==
          {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}, "every pair", seen)
    check({r["kernel"] for r in rows} == {"copy", "triad"}, "--kernel, several", seen)
    check(all(r["unit"] == "MB/s" and r["runs"] == "2" and r["right"] == "1" and r["virtual"] == "1" and r["placed"] == "0"
              for r in rows), "columns", seen)
    texts = picture_texts(picture)
    for row in rows:
        if row["pattern"] == "pair":
            check(is_marked_in(texts, row["median"], 0), "each value is in its cell", (row, texts))
    check("copy" in texts and "triad" in texts and any("virtual" in text for text in texts), "titles", texts)
    text = homing("bandwidth", *SMALL, "--kernel", "scale", env=TWO_NODES).out
    check("scale, MB/s" in text and "triad" not in text and "all-remote" in text and "2 on node 1" in text, "text", text)


def options(_):
    def report(*words, env=TWO_NODES):
        seen = homing("bandwidth", *small("--kernel", "add", "--json", *words), env=env)
        check(seen.code == 0, f"accepted: {words}", seen)
        return json.loads(seen.out)

    check([n["node"] for n in report("--nodes", "1")["cpu_nodes"]] == [1], "--nodes 1")
    check([n["node"] for n in report("--nodes", "!0")["memory_nodes"]] == [1], "--nodes !0")
    check([n["node"] for n in report("--nodes", "+0-1")["memory_nodes"]] == [0, 1], "--nodes +0-1")
    seen = report("--threads", "1")
    check([n["threads"] for n in seen["cpu_nodes"]] == [1, 1], "--threads", seen)
    check(seen["measurements"][0]["groups"] == [{"cpu_node": 0, "memory_node": 0, "threads": 1, "array_bytes": 65536}],
          "--size", seen)
    check(report("--pages", "base")["pages_asked"] == "base", "--pages base")
    check(report("--pages", "base")["measurements"][0]["memory"]["huge_page_bytes"] == 0, "none huge")
    huge = report("--pages", "huge", "--size", "8M")
    check(huge["pages_asked"] == "huge" and "huge_page_bytes" in huge["measurements"][0]["memory"], "--pages huge", huge)
    check(report("--kernel", "triad", "--kernel=copy")["kernels"] == ["copy", "add", "triad"], "--kernel, more than once: all of them")
    check(len(report("--repeat", "5")["measurements"][0]["mb_per_s"]["add"]["samples"]) == 5, "--repeat")
    check(len(report(env=TWO_NODES | {"HOMING_DOMAIN": "socket"})["cpu_nodes"]) == 2, "nodes, whatever a domain is")


def variables(_):
    seen = homing("bandwidth", *SMALL, "--json", env={"HOMING_THREADS": "1"})
    check(sum(n["threads"] for n in json.loads(seen.out)["cpu_nodes"]) == len(os.sched_getaffinity(0)),
          "HOMING_THREADS is for TBB's threads, not for these", seen)
    seen = homing("bandwidth", *SMALL, env=TWO_NODES | {"HOMING_DOMAIN": "x"})
    check(seen.code == 1 and seen.err.count("\n") == 1 and "HOMING_DOMAIN=x is not valid" in seen.err and "triad" in seen.out,
          "a variable that is not valid is said", seen)
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    count = cpus.count(",") + 1
    elsewhere = {"HWLOC_THISSYSTEM": "1", "HWLOC_SYNTHETIC": f"node:1(indexes=50000) pu:{count}(indexes={cpus})"}
    seen = homing("bandwidth", *SMALL, env=elsewhere)
    check(seen.code == 1 and "no memory that this process may use" in seen.err and "--help" not in seen.err,
          "what the machine lacks is no wrong option", seen)


def bad_input(_):
    lists = [([f"--kernel={text}"], f"--kernel {text}: a name in this list is empty") for text in ("copy,,triad", ",copy", "copy,", ",")]
    lists.append((["--kernel", "copy", "triad,,add"], "--kernel triad,,add: a name in this list is empty"))
    refuses("bandwidth", (["--kernel", "sum"], "sum"), (["--kernel"], "--kernel"), *lists)


main([real_machine, made_up_machines, forms_agree, options, variables, bad_input,
      lambda _: helps_and_is_quiet("bandwidth"), lambda _: shows_progress_on_a_terminal("bandwidth")])
