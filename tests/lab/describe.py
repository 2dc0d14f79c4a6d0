#!/usr/bin/env python3
"""Property: shells complete the lab's words, and its manual page has each option. Method: bash, zsh and fish (where they are
installed) complete with the scripts of `homing completions`; the page is compared with --help."""

import os
import re
import shutil
import subprocess

from lab import COMMAND, check, lab, main

BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_homing 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
CASES = (   # words after `homing`, what must be offered, what must not
    (["lab", "re"], {"report"}, {"run"}),
    (["lab", "report", "--"], {"--label", "--svg", "--csv", "--json"}, {"--cache-scale"}),
    (["lab", "run", "--machine", "west"], {"westmere"}, {"ring"}),
    (["lab", "run", "--tbb", ""], {"homing", "stock"}, {"westmere"}),
    (["lab", "show", "neh"], {"nehalem-ep", "nehalem-ex"}, {"westmere"}),
)


def words_complete(_):
    for words, offered, left_out in CASES:
        seen = lab("complete", "--", *words[1:])
        found = set(seen.out.split())
        check(seen.code == 0 and offered <= found and not left_out & found, f"{words}", seen)
    check(lab("complete", "--", "run", "--", "--").out == "", "after -- the words are the program's")
    check(lab("complete", "--", "nothing", "").out == "", "an unknown subcommand has none")


def shells_complete(folder):
    environment = os.environ | {"PATH": f"{COMMAND.parent}:{os.environ['PATH']}", "HOME": str(folder)}
    for shell in ("bash", "zsh", "fish"):
        script = folder / f"homing.{shell}"
        script.write_text(subprocess.run([COMMAND, "completions", shell], capture_output=True, text=True, check=True).stdout)
        if shutil.which(shell) is None:
            print(f"left out: no {shell}")
            continue
        if shell == "zsh":   # completes only at a terminal: its grammar is checked, and that it asks the lab
            done = subprocess.run(["zsh", "-n", script], capture_output=True, text=True)
            check(done.returncode == 0 and "homing lab complete" in script.read_text(), "zsh accepts it", done.stderr)
            continue
        for words, offered, left_out in CASES:
            line = " ".join(["homing", *words])
            command = (["bash", "-c", BASH, "bash", script, COMMAND, *words] if shell == "bash" else
                       ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"])
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            found = {line.split("\t")[0] for line in done.stdout.splitlines()}
            check(offered <= found and not left_out & found, f"{shell}: {line}", done)


def the_manual_has_all(_):
    page = lab("manual")
    check(page.code == 0 and page.out.startswith(".\\\" Made by"), "homing lab manual", page)
    said = page.out.replace("\\-", "-")
    for command in ("run", "report", "show", "export", "shell", "list"):
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", lab(command, "--help").out, re.M)
        missing = [option for option in options if option not in said and option != "--help"]
        check(options and not missing, f"{command}: its options", (options, missing))
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", "-"], input=page.out, capture_output=True, text=True)
        check(done.returncode == 0 and not done.stderr, "roff without a warning", done.stderr)


main([words_complete, shells_complete, the_manual_has_all])
