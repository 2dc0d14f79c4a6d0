#!/usr/bin/env python3
"""Property: names of processes, files and folders may hold any bytes: JSON, CSV and tables stay what they are, and nothing of
a name reaches a terminal as a command. Method: a process, its file, and a library's folder with control characters and
bytes that are no UTF-8."""

import csv
import io
import json
import os
import shutil
import subprocess

from command import COMMAND, OURS, SECONDS_MAX, check, main

LIBRARY = COMMAND.parent / "../lib/homing/libtbb.so.12"
ODD = b"a\xff\x1b[31m\nb"


def raw(*words, **variables):
    """The command's output as bytes."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith((*OURS, "LD_LIBRARY"))}
    done = subprocess.run([str(COMMAND), *map(str, words)], env=clean | variables, capture_output=True, timeout=SECONDS_MAX)
    check(done.returncode == 0 and done.stderr == b"", f"{words}: it succeeds", done)
    return done.stdout


def is_clean(text):
    try:
        return all(c >= " " or c == "\n" for c in text.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def is_json(text):
    try:
        return json.loads(text) is not None
    except ValueError:
        return False


def processes(folder):
    program = os.fsencode(folder) + b"/" + ODD
    shutil.copy(shutil.which("sleep"), program)
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})   # confined to the same CPU: doctor names it
    child = subprocess.Popen([program, "1000"])
    try:
        while ODD[:4] not in open(f"/proc/{child.pid}/comm", "rb").read():
            pass
        lines = raw("where", "--all", child.pid)
        rows = [line for line in lines.decode(errors="replace").splitlines() if line.startswith("  ...") and "�?[31m?b" in line]
        check(is_clean(lines) and rows, "where: a table, a name in one row", lines)
        rows = list(csv.DictReader(io.StringIO(raw("where", "--csv", child.pid).decode(errors="surrogateescape"))))
        check(any(r["name"].endswith("a�?[31m?b") for r in rows) and all(r["bytes"].isdigit() for r in rows), "where: CSV", rows)
        files = [m["name"] for m in json.loads(raw("where", "--json", child.pid))["mappings"] if m["name"]]
        check(any(name.endswith("a�\x1b[31m\nb") for name in files), "where: JSON has all but bytes that are no UTF-8", files)
        forms = [raw("doctor", *form) for form in ([], ["--csv"])]
        check(all(map(is_clean, forms)), "doctor: table and CSV", forms)
        check(is_json(raw("doctor", "--json")), "doctor: JSON")
    finally:
        child.kill()
        child.wait()
        os.sched_setaffinity(0, cpus)


def libraries(folder):
    place = os.fsencode(folder) + b"/" + ODD
    os.mkdir(place)
    shutil.copy(LIBRARY, place + b"/libtbb.so.12")
    path = {"LD_LIBRARY_PATH": os.fsdecode(place)}
    seen = raw("doctor", "--json", **path)
    check(is_json(seen) and "�" in seen.decode(), "doctor: a library's folder in JSON", seen)
    check(is_clean(raw("doctor", **path)) and is_clean(raw("doctor", "--csv", **path)), "and in the other forms")


main([processes, libraries])
