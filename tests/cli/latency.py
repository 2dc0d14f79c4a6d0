#!/usr/bin/env python3
"""Property: `homing latency` walks for every pair of nodes and, if asked, under growing load, says which machine and
which memory that was, and its forms agree. Method: small buffers, on the real machine and on made-up ones."""

import csv
import io
import json
import os

from command import check, homing, main
from measuring import (FIXTURES, SMALL, TWO_NODES, helps_and_is_quiet, is_marked_in, is_spread, picture_texts, refuses,
                       shows_progress_on_a_terminal, small)


def check_curve(curve):
    delays = [point["delay_ns"] for point in curve["points"]]
    check(delays[0] is None and delays[1:] == sorted(delays[1:], reverse=True) and delays[-1] == 0, "growing load", delays)
    check(all(is_spread(point["ns"], 2) and is_spread(point["mb_per_s"], 2) for point in curve["points"]), "spreads", curve)
    check(curve["right"] and curve["reading_threads"] >= 1, "the walk is checked", curve)


def real_machine(_):
    seen = homing("latency", *SMALL, "--loaded", "--json")
    check(seen.code == 0, "it succeeds", seen)
    report = json.loads(seen.out)
    check(not report["virtual"] and report["machine"]["cpus"] == len(os.sched_getaffinity(0)), "the machine", report)
    check(report["unit"] == "ns" and report["pages_asked"] == "huge", "the settings", report)
    cpus, memories = len(report["cpu_nodes"]), len(report["memory_nodes"])
    check(len(report["median_matrix"]) == cpus and all(len(row) == memories for row in report["median_matrix"]), "matrix",
          report)
    check(len(report["idle"]) == cpus * memories, "every pair", report)
    for one in report["idle"]:
        check(one["right"] and is_spread(one["ns"], 2) and one["buffer_bytes"] == 65536, "a walk", one)
        check(one["loads_a_run"] >= one["buffer_bytes"] // one["line_bytes"], "long enough", one)
        check(one["memory"]["bytes"] == 65536, "its memory", one)
    check(len(report["loaded"]) == cpus, "a curve for each CPU node", report)
    for curve, node in zip(report["loaded"], report["cpu_nodes"]):
        check(curve["measured"] == (node["threads"] > 1), "measured if there is a CPU for the load", curve)
        check(curve["memory_node"] == node["local_memory_node"], "on its nearest memory", curve)
        if curve["measured"]:
            check_curve(curve)


def made_up_machines(_):
    for topology in ("node:3 core:1 pu:1", FIXTURES / "memory_tier.xml", FIXTURES / "memory_less.xml"):
        seen = homing("latency", *SMALL, "--json", env={"HOMING_TOPOLOGY": str(topology)})
        report = json.loads(seen.out)
        cpus, memories = len(report["cpu_nodes"]), len(report["memory_nodes"])
        check(seen.code == 0 and report["virtual"] and report["notes"][0].startswith("virtual"), f"{topology}: virtual", seen)
        check([len(row) for row in report["median_matrix"]] == [memories] * cpus, f"{topology}: shape", report)
        check(report["loaded"] == [] and not any(one["memory"]["placed"] for one in report["idle"]), f"{topology}: said",
              report)
    seen = homing("latency", *SMALL, "--loaded", env={"HWLOC_SYNTHETIC": "node:1 core:1 pu:1"})
    check(seen.code == 0 and "not measured: one thread" in seen.out, "no load without a second CPU", seen)
    seen = homing("latency", *SMALL, "--loaded", "--threads", "1")
    check(seen.code == 0 and "not measured: one thread" in seen.out, "nor with --threads 1", seen)


def forms_agree(folder):
    picture = folder / "l.svg"
    seen = homing("latency", *SMALL, "--loaded", "--csv", "--svg", picture, env=TWO_NODES)
    rows = list(csv.DictReader(io.StringIO(seen.out)))
    idle = [row for row in rows if row["kind"] == "idle"]
    loaded = [row for row in rows if row["kind"] == "loaded"]
    check(seen.code == 0 and len(idle) == 4 and len(loaded) == 2 * 11, "a line for each figure", seen)
    check(all(row["unit"] == "ns" and row["runs"] == "2" and row["virtual"] == "1" for row in rows), "columns", seen)
    check(all(float(row["bandwidth_mb_per_s"]) > 0 for row in loaded), "bandwidth of each point", seen)
    texts = picture_texts(picture)
    for row in idle:
        check(is_marked_in(texts, row["median"], 1), "each value is in its cell", (row, texts))
    check("bandwidth, MB/s" in texts and "CPU node 1, memory node 1*" in texts, "curves are named", texts)
    text = homing("latency", *SMALL, "--loaded", env=TWO_NODES)
    check("idle, ns" in text.out and "no load" in text.out and "1 thread reading" in text.out, "text", text)


def options(_):
    def report(*words, env=TWO_NODES):
        seen = homing("latency", *small("--json", *words), env=env)
        check(seen.code == 0, f"accepted: {words}", seen)
        return json.loads(seen.out)

    check(len(report("--nodes", "1")["idle"]) == 1, "--nodes")
    base = report("--pages", "base", "--size", "4M")
    check(base["idle"][0]["memory"]["huge_page_bytes"] == 0 and base["pages_asked"] == "base", "--pages base", base)
    seen = homing("latency", *small("--pages", "base", "--size", 7000 * os.sysconf("SC_PAGE_SIZE")))
    check("page walk" in seen.out, "what base pages cost is said", seen)
    seen = homing("latency", *SMALL, "--pages", "base")
    check("page walk" not in seen.out, "not of a buffer that a TLB covers", seen)
    check(len(report("--repeat", "4")["idle"][0]["ns"]["samples"]) == 4, "--repeat")
    seen = homing("latency", *SMALL, "--loaded", "--threads", "2", "--json", env=TWO_NODES)
    check(all(curve["reading_threads"] == 1 for curve in json.loads(seen.out)["loaded"]), "--threads", seen)


main([real_machine, made_up_machines, forms_agree, options, lambda _: refuses("latency"),
      lambda _: helps_and_is_quiet("latency"), lambda _: shows_progress_on_a_terminal("latency")])
