#!/usr/bin/env python3
"""Property: each subcommand has a manual page that says all its options and that formatters accept. Method: pages against
--help, and mandoc or groff where they are installed."""

import re
import shutil
import subprocess

from command import check, homing, leave_out, main


def names():
    listed = re.findall(r"^  ([a-z]+) +\S", homing("--help").out, re.MULTILINE)
    # `lab` is a program of its own, with a manual page of its own (tests/lab/describe.py); `experiment` is one without.
    return [name for name in listed if name not in ("homing", "lab", "experiment")]


def lint(path):
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], text=True, capture_output=True)
        # A page has no date: the version, which is in it, says more.
        wrong = [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]
        check(not wrong, f"mandoc: {path.name}", "\n".join(wrong))
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-ww", "-man", "-z", "-Tutf8", path], text=True, capture_output=True)
        check(done.returncode == 0 and done.stderr == "", f"groff: {path.name}", done.stderr)


def all_pages(folder):
    seen = homing("manual", "--folder", folder / "man1")
    check(seen.code == 0 and seen.out == seen.err == "", "manual --folder", seen)
    found = names()
    check(len(found) >= 6 and {p.name for p in (folder / "man1").iterdir()} == {"homing.1"} | {f"homing-{n}.1" for n in found},
          "a page for each subcommand", found)
    if not any(map(shutil.which, ("mandoc", "groff"))):
        leave_out("no mandoc, no groff")
    for path in sorted((folder / "man1").iterdir()):
        lint(path)


def pages_say_all(_):
    for name in names():
        page = homing("manual", name)
        options = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", homing(name, "--help").out.split("Options:")[1].split("Examples:")[0]))
        text = page.out.replace("\\-", "-")
        check(page.code == 0 and options and all(o in text for o in options), f"{name}: all options", options)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES"):
            check(f".SH {section}\n" in page.out, f"{name}: {section}", page)


def bad_input(folder):
    seen = homing("manual", "nosuch")
    check(seen.code == 2 and "nosuch" in seen.err and seen.err.count("\n") == 1, "no such page", seen)
    (folder / "file").write_text("")
    seen = homing("manual", "--folder", folder / "file")
    check(seen.code == 1 and "can't write" in seen.err, "a folder that is a file", seen)


main([all_pages, pages_say_all, bad_input])
