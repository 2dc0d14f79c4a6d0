#!/usr/bin/env python3
"""Property: `homing where` tells on which nodes a process's pages are, and its totals are those of the kernel's
numa_maps. Method: a child with memory of known size that stands still, a program seen in the moment of its end, and
processes that can't be seen."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys

from command import COMMAND, SECONDS_MAX, check, homing, main

MIB = 1 << 20
STILL = """
import mmap, os
block = mmap.mmap(-1, 32 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(block), 4096): block[i] = 1
while os.read(0, 1): os.write(1, b"!")
"""


class Still:
    """A child with 32 MiB of touched memory, until it is let go."""
    def __enter__(self):
        self.child = subprocess.Popen([sys.executable, "-c", STILL], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4):   # what it touches behind the last answer, it has touched behind the others
            self.child.stdin.write(b"?")
            self.child.stdin.flush()
            assert self.child.stdout.read(1) == b"!"
        return self.child.pid

    def __exit__(self, *_):
        self.child.communicate()


def kernel_count(pid):
    total = {}
    with open(f"/proc/{pid}/numa_maps") as lines:
        for line in lines:
            size = int(re.search(r"kernelpagesize_kB=(\d+)|$", line)[1] or 4) * 1024
            for node, pages in re.findall(r" N(\d+)=(\d+)", line):
                total[node] = total.get(node, 0) + int(pages) * size
    return total


def totals(_):
    if not os.path.exists("/proc/self/numa_maps"):
        print("left out: no numa_maps")
        return
    with Still() as pid:
        before = kernel_count(pid)
        as_json, as_csv, text = (homing("where", *form, pid) for form in (["--json"], ["--csv"], ["--all"]))
        check(kernel_count(pid) == before, "the process stands still")
    seen = json.loads(as_json.out)
    check(seen["bytes_by_node"] == before, "totals agree with numa_maps", (seen["bytes_by_node"], before))
    added = {}
    for mapping in seen["mappings"]:
        for node, size in mapping["bytes_by_node"].items():
            added[node] = added.get(node, 0) + size
    check(added == before, "so does the sum of the mappings", added)
    rows = {}
    for row in csv.DictReader(io.StringIO(as_csv.out)):
        check(int(row["pages"]) * int(row["page_bytes"]) == int(row["bytes"]), "pages times their size", row)
        rows[row["node"]] = rows.get(row["node"], 0) + int(row["bytes"])
    check(rows == before, "and of the CSV's lines", rows)
    kinds = {m["kind"]: m for m in seen["mappings"]}
    check(sum(kinds["anonymous"]["bytes_by_node"].values()) >= 32 * MIB, "the block is anonymous", kinds["anonymous"])
    check({"heap", "stack", "file"} <= kinds.keys(), "kinds", kinds.keys())
    check(text.code == 0 and "libc" in text.out and "heap" in text.out, "the table", text)
    threads = seen["threads"]
    check(len(threads) == 1 and threads[0]["tid"] == pid and set(threads[0]["cpus_allowed"]) == os.sched_getaffinity(0),
          "its thread and the mask", threads)
    check(threads[0]["last_cpu"] in threads[0]["cpus_allowed"], "it ran where it may", threads)


def program(_):
    code = "b = bytearray(b'x') * (48 << 20); print('out', flush=True); import os; os._exit(7)"
    seen = homing("where", "--json", "--", sys.executable, "-c", code)
    if "may not trace" in seen.err:
        print("left out: ptrace is refused here")
        return
    check(seen.code == 7 and seen.out == "out\n", "the program's output and exit code stay its own", seen)
    look = json.loads(seen.err)
    check(sum(look["bytes_by_node"].values()) >= 48 * MIB, "seen with all its memory, in the moment of its end", look)
    seen = homing("where", "--", "sh", "-c", "kill -TERM $$")
    check(seen.code == 128 + signal.SIGTERM and "process" in seen.err, "killed by a signal", seen)
    seen = homing("where", "--", "sh", "-c", "trap 'echo caught; exit 3' USR1; kill -USR1 $$")
    check(seen.code == 3 and seen.out == "caught\n", "signals reach it", seen)
    threads = "import threading\nt = [threading.Thread(target=sum, args=(range(1 << 23),)) for _ in range(3)]\n" \
              "[x.start() for x in t]; [x.join() for x in t]\n"
    seen = homing("where", "--json", "--", sys.executable, "-c", threads)
    look = json.loads(seen.err)
    check(seen.code == 0 and look["pid"] in [thread["tid"] for thread in look["threads"]], "its main thread, with whichever are left", seen)


def stopped_and_continued(_):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('on')"
    child = subprocess.Popen([COMMAND, "where", "--json", "--", sys.executable, "-c", code], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    inner = None
    while inner is None and child.poll() is None:
        with open(f"/proc/{child.pid}/task/{child.pid}/children") as children:
            for pid in children.read().split():
                with open(f"/proc/{pid}/stat") as stat:
                    if stat.read().rsplit(")", 1)[1].split()[0] in "tT":
                        inner = int(pid)
    # The stop may still be the one at which the signal is delivered: continuing is repeated until it has an effect.
    while inner is not None and child.poll() is None:
        with contextlib.suppress(ProcessLookupError):   # it has just ended
            os.kill(inner, signal.SIGCONT)
        try:
            child.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            pass
    out, err = child.communicate()
    if "may not trace" in err:
        print("left out: ptrace is refused here")
        return
    check(child.returncode == 0 and out == "on\n" and json.loads(err)["bytes_by_node"], "stopped, continued, seen", (out, err))


def watched(_):
    with Still() as pid:
        watch = subprocess.Popen([COMMAND, "where", "--watch=0.1", "--json", str(pid)], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        looks = [json.loads(watch.stdout.readline()) for _ in range(3)]
        check(all(look["pid"] == pid for look in looks), "a line a look", looks)
    out, err = watch.communicate(timeout=SECONDS_MAX)
    check(watch.returncode == 0 and err.count("\n") == 1 and ("has ended" in err or "no process" in err),
          "a watched process that ends is no failure", (watch.returncode, err))
    check(all(json.loads(line) for line in out.splitlines()), "whole lines to the end", out)


def bad_input(folder):
    gone = subprocess.Popen(["true"])
    gone.wait()
    seen = homing("where", gone.pid)
    check(seen.code == 1 and seen.out == "" and f"no process {gone.pid}" in seen.err and seen.err.count("\n") == 1, "no such process", seen)
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    seen = homing("where", zombie.pid)
    check(seen.code == 1 and "has ended" in seen.err and seen.err.count("\n") == 1, "a process that has ended", seen)
    zombie.wait()
    if os.geteuid() == 0:
        # Another user's process, by a root that has lost all rights but its files. (Another user might not get at the
        # command, nor at this Python: so it's a program that all may run.)
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd="/", user=65534, group=65534, extra_groups=[]) as other:
            seen = homing("where", other.pid, before=["setpriv", "--bounding-set=-all", "--inh-caps=-all"])
        check(seen.code == 1 and "may not look into" in seen.err and seen.err.count("\n") == 1, "not permitted", seen)
    for words in ([], ["x"], ["-1"], ["0"], ["1.5"], ["99999999999999"], ["1", "2"], ["--watch=0", "1"], ["--watch=x", "1"],
                  ["--watch=true", "1"], ["--watch=false", "1"], ["--watch={}", "1"], ["--json", "--csv", "1"], ["--nothing", "1"]):
        seen = homing("where", *words)
        check(seen.code == 2 and seen.out == "" and seen.err.count("\n") == 1, f"wrong usage: {words}", seen)
    for words, code in ((["--"], 125), (["1", "--", "true"], 125), (["--", "nosuchprogram"], 127), (["--", folder], 126)):
        seen = homing("where", *words)
        check(seen.code == code and seen.out == "" and seen.err.count("\n") == 1, f"no program: {words}", seen)


main([totals, program, stopped_and_continued, watched, bad_input])
