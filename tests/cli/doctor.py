#!/usr/bin/env python3
"""Property: `homing doctor` finds what it claims to look for, in three forms that agree, and ends with 0 unless --strict
asks otherwise. Method: the command on this machine, on made-up ones, under a system call filter, and beside processes
that were given the same CPUs."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys

from command import COMMAND, check, homing, main
from sandbox import MBIND, MOVE_PAGES, refuse

def find(seen, topic):
    return next((f for f in seen["findings"] if f["topic"] == topic), None)


def forms_agree(_):
    text, as_json, as_csv = (homing("doctor", *form) for form in ([], ["--json"], ["--csv"]))
    check(text.code == as_json.code == as_csv.code == 0, "examined: exit code 0", (text, as_json, as_csv))
    seen = json.loads(as_json.out)
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    check([f["topic"] for f in seen["findings"]] == [r["topic"] for r in rows], "the same topics", rows)
    check(seen["ok"] + seen["warn"] + seen["bad"] == len(rows), "counts", seen)
    check(all(r["status"] in ("ok", "warn", "bad") and r["says"] for r in rows), "each says something", rows)
    check(all(r["status"] != "ok" or not r["advice"] for r in rows), "ok: nothing to do", rows)
    check(all(r["topic"] in text.out for r in rows) and text.out.splitlines()[-1].startswith(f"{seen['ok']} ok"), "text", text)
    for topic in ("homing", "libtbb.so.12", "hwloc", "kernel", "domains", "memory traffic", "numa_balancing", "huge pages"):
        check(find(seen, topic) is not None, topic, seen)


def hwloc_and_events(_):
    seen = json.loads(homing("doctor", "--json").out)
    # What the library calls itself, whatever variables say of the machine.
    made_up = json.loads(homing("doctor", "--json", env={"HWLOC_SYNTHETIC": "node:2 pu:1", "HWLOC_COMPONENTS": "-synthetic"}).out)
    check(find(seen, "hwloc")["says"] == find(made_up, "hwloc")["says"], "hwloc's version is the library's", made_up)
    if shutil.which("dpkg-query"):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libhwloc15"], text=True, capture_output=True)
        check(asked.returncode != 0 or asked.stdout.startswith(find(seen, "hwloc")["says"] + "-"), "and the one that is installed", (asked, seen))
    known = "not measured" not in find(seen, "memory traffic")["says"]
    report = json.loads(homing("run", "--json", "--", sys.executable, "-c", "import ctypes; ctypes.CDLL('libtbb.so.12')").err)
    check(known or report["traffic_reason"] in find(seen, "memory traffic")["says"], "events of this CPU: as homing run says", (seen, report))


def strict(_):
    clean = json.loads(homing("doctor", "--json").out)
    seen = homing("doctor", "--strict")
    check(seen.code == (0 if clean["warn"] + clean["bad"] == 0 else 1), "--strict: here", seen)
    made_up = {"HWLOC_SYNTHETIC": "node:2 core:1 pu:1"}
    seen = homing("doctor", "--strict", env=made_up)
    check(seen.code == 1 and "made up" in seen.out, "--strict: a finding that is not ok", seen)
    check(homing("doctor", env=made_up).code == 0, "without it: 0")


def sandbox(_):
    def enter():
        if not refuse([MBIND, MOVE_PAGES]):
            os._exit(77)
    done = subprocess.run([COMMAND, "doctor", "--json"], text=True, capture_output=True, preexec_fn=enter)
    if done.returncode == 77:
        print("left out: no filter can be installed here")
        return
    seen = json.loads(done.stdout)
    check(find(seen, "mbind")["status"] == "bad" and "SYS_NICE" in find(seen, "mbind")["advice"], "mbind refused", seen)
    check(find(seen, "move_pages")["status"] == "warn", "move_pages refused", seen)
    check("set_mempolicy" in find(seen, "system calls")["says"], "the others are granted", seen)


def ranks(_):
    env = {"OMPI_COMM_WORLD_LOCAL_RANK": "1"}
    other = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env=os.environ | {"OMPI_COMM_WORLD_LOCAL_RANK": "0"}, text=True)
    try:
        other.stdout.readline()
        seen = json.loads(homing("doctor", "--json", env=env).out)
        check(find(seen, "ranks")["status"] == "bad" and "bind-to" in find(seen, "ranks")["advice"], "a rank on the same CPUs", seen)
    finally:
        other.communicate("\n")


def bad_input(_):
    for words in (["stray"], ["--nothing"], ["--json", "--csv"]):
        seen = homing("doctor", *words)
        check(seen.code == 2 and seen.out == "" and seen.err.count("\n") == 1, f"wrong usage: {words}", seen)


main([forms_agree, hwloc_and_events, strict, sandbox, ranks, bad_input])
