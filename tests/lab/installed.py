#!/usr/bin/env python3
"""Property: `homing lab` of an installed tree that has been moved runs, counts, tells virtual time,
takes our libtbb.so.12 along and makes reports, with nothing of the source tree or the build. Method:
cmake --install, as `make install` does it, into a temporary folder, which is moved; machines booted
from there.

usage: installed.py PATH-OF-HOMING BUILD-FOLDER PYTHON-WITH-TYPER-AND-RICH"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lab import BOOT_SECONDS_MAX, check, main, need

BUILD, PYTHON = Path(sys.argv[2]).resolve(), sys.argv[3]
RUN = ("lab", "run", "--machine", "nehalem-e5520", "--cache-scale", "16",
       "--timeout", BOOT_SECONDS_MAX)


class User:
    """Runs the installed command as its user does: found on PATH, from a folder of their own, with
    no variable of ours but that for Python."""

    def __init__(self, prefix, folder):
        self.folder = folder
        ours = ("HOMING_", "LD_", "PYTHON", "CMAKE_")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(ours)}
        self.environment |= {"PATH": f"{prefix}/bin:{os.environ['PATH']}",
                             "HOMING_LAB_PYTHON": PYTHON, "PYTHONDONTWRITEBYTECODE": "1"}

    def homing(self, *words):
        return subprocess.run(["homing", *map(str, words)], env=self.environment, cwd=self.folder,
                              text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=3 * BOOT_SECONDS_MAX)


def shown(done):
    return f"exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def install(folder):
    """The installed tree's new place."""
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "usr"], check=True,
                   stdout=subprocess.DEVNULL, env=os.environ | {"DESTDIR": str(folder / "stage")})
    shutil.move(folder / "stage" / str(folder / "usr").lstrip("/"), folder / "moved")
    shutil.rmtree(folder / "stage")
    return folder / "moved"


def runs(user, prefix):
    seen = user.homing("lab", "list")
    check(seen.returncode == 0 and "westmere" in seen.stdout, "homing lab list", shown(seen))
    nodes = "ls -d /sys/devices/system/node/node[0-9] | wc -l"
    seen = user.homing(*RUN, "--results", "one", "--", "sh", "-c",
                       f"{nodes}; echo mine > /results/file; exit 7")
    check(seen.returncode == 7 and seen.stdout == "2\n", "a program runs on two nodes", shown(seen))
    check("local cache" in seen.stderr, "the table of who served", shown(seen))
    counts = user.folder / "one/counts.json"
    check((user.folder / "one/file").exists() and counts.exists()
          and json.loads(counts.read_text())["calibrated"], "its results and counts", shown(seen))
    seen = user.homing(*RUN, "--virtual-clock", "--", prefix / "bin/homing", "latency", "--json",
                       "--size", "1M", "--repeat", "1")
    clock = json.loads(seen.stdout)["machine"]["clock"] if seen.returncode == 0 else "none"
    check(clock == "modelled", "the virtual clock, and the installed command inside", shown(seen))
    library = prefix / "lib/homing/libtbb.so.12"
    if library.exists():
        seen = user.homing(*RUN, "--no-count", "--tbb", "homing", "--",
                           "sh", "-c", "ls ${LD_LIBRARY_PATH%%:*}/libtbb.so.12")
        check(seen.returncode == 0 and seen.stdout == f"{library}\n",
              "--tbb=homing takes the installed library", shown(seen))


def reports(user):
    seen = user.homing("lab", "report", "one", "--svg", "report.svg", "--output", "report.html")
    page, picture = user.folder / "report.html", user.folder / "report.svg"
    html = page.read_text() if page.exists() else ""
    check(seen.returncode == 0 and "nehalem-e5520" in html and html.rstrip().endswith("</html>"),
          "homing lab report makes the page", shown(seen))
    check(picture.exists() and "<svg" in picture.read_text(), "and the picture", shown(seen))
    seen = user.homing("lab", "report", "one", "--json")
    check(seen.returncode == 0 and json.loads(seen.stdout)["regions"], "and JSON", shown(seen))


def installed_tree(folder):
    prefix = install(folder)
    home = folder / "home"
    home.mkdir()
    user = User(prefix, home)
    runs(user, prefix)
    reports(user)
    text = "\n".join(f.read_text() for f in (prefix / "bin").glob("homing-*"))
    check(str(BUILD) not in text, "the launcher names no folder of the build", text)


need("qemu-system-x86_64", "busybox", "cmake")
main([installed_tree])
