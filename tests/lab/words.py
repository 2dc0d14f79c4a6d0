#!/usr/bin/env python3
"""Property: words of `homing lab` that mean nothing, folders of machines that are wrong, and output that can't be written are told
in a line that names them; what is not concerned goes on. Method: the command itself, with /dev/full, closed files and made-up
folders; boots nothing."""

import csv
import io
import json
import subprocess

from lab import COMMAND, ROOT, Result, check, lab, main

EMPTY = "its value is empty, perhaps that of a shell variable that is not set"


def shell(words, *redirections):
    """`homing lab` by a shell, which can close its stdout."""
    line = f"'{COMMAND}' lab {words} {' '.join(redirections)}"
    return Result(subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True))


def output_that_cant_be_written(folder):
    for words in ("list", "list --csv", "show westmere", "export westmere --xml", "--help", "show --help"):
        seen = shell(words, ">/dev/full")
        check((seen.code, seen.err) == (1, "homing lab: can't write to stdout: No space left on device\n"), f"{words} >/dev/full", seen)
        seen = shell(words, ">&-")
        check((seen.code, seen.err) == (1, "homing lab: can't write to stdout: Bad file descriptor\n"), f"{words} >&-", seen)
        seen = shell(words, "| true; exit ${PIPESTATUS[0]}")
        check(seen.code in (0, 1) and seen.err == "", f"{words}: nobody reads the pipe", seen)
    file = folder / "westmere.xml"
    seen = shell(f"export westmere --xml -o '{file}'", ">&-")
    check(seen.code == 0 and file.read_text().startswith("<?xml"), "a file needs no stdout", seen)
    seen = shell("show nothing", ">/dev/full")
    check(seen.code == 2 and "there is no machine 'nothing'" in seen.err, "another error is told as ever", seen)


def empty_words(_):
    for words, name in ((["show", "westmere", "--svg", ""], "--svg"), (["show", "westmere", "--svg="], "--svg"), (["show", ""], "NAME"),
                        (["export", "westmere", "--xml", "-o", ""], "--output"), (["report", ".", "--region", ""], "--region"),
                        (["run", "--results", "", "--", "true"], "--results"), (["run", "--file", "a", "--file", "", "true"], "--file")):
        seen = lab(*words)
        check(seen.code == 2 and seen.out == "" and f"homing lab: {name}: {EMPTY}" in seen.err and seen.err.count("\n") == 1
              and f"homing lab {words[0]} --help" in seen.err, f"empty: {' '.join(words)}", seen)
    seen = lab("export", "westmere", "--xml", "--json")
    check(seen.code == 2 and "expected --xml or --json, not both" in seen.err, "both formats", seen)
    seen = lab("export", "westmere")
    check(seen.code == 2 and "both" not in seen.err, "no format", seen)


def a_working_folder_that_is_gone(folder):
    for words in ("report x", "report x --svg picture.svg"):
        gone = folder / "gone"
        line = f"mkdir '{gone}' && cd '{gone}' && rmdir '{gone}' && '{COMMAND}' lab {words}"
        seen = Result(subprocess.run(["bash", "-c", line], stdin=subprocess.DEVNULL, capture_output=True, text=True))
        check(seen.code != 0 and seen.err.endswith("homing lab: the working folder can't be used: No such file or directory\n"),
              f"a working folder that is gone: {words}", seen)


def folders_of_ones_own(folder):
    a_file = folder / "file"
    a_file.touch()
    for wrong in (folder / "nowhere", a_file):
        own = {"HOMING_LAB_MACHINES": f"{folder}:{wrong}"}
        for words in (("list",), ("show", "westmere"), ("export", "westmere", "--json")):
            seen = lab(*words, env=own)
            check(seen.code == 2 and seen.out == "" and f"HOMING_LAB_MACHINES={folder}:{wrong}: there is no folder {wrong}" in seen.err,
                  f"{wrong.name}: {words[0]}", seen)
        check("--svg" in lab("complete", "--", "show", "--", env=own).out, "words are completed all the same")
    seen = lab("show", ROOT / "lab/machines/westmere.toml", env=own)
    check(seen.code == 0, "a machine's file by its path needs no folder", seen)


def one_bad_file_of_a_folder(folder):
    good = (ROOT / "lab/machines/one-node.toml").read_text()
    (folder / "mine.toml").write_text(good.replace('"one-node"', '"mine"'))
    (folder / "bar.toml").write_text("cpi = = 1\n")
    (folder / "folder.toml").mkdir()
    (folder / "odd.toml").write_text(good.replace('"one-node"', '"odd"').replace("cpi = 1", "cpi = 0"))
    own = {"HOMING_LAB_MACHINES": str(folder)}
    expected = {file.stem for file in (ROOT / "lab/machines").glob("*.toml")} | {"mine"}
    for form, names in (([], lambda text: {line.split()[0] for line in text.splitlines()}),
                        (["--csv"], lambda text: {row["name"] for row in csv.DictReader(io.StringIO(text))}),
                        (["--json"], lambda text: {row["name"] for row in json.loads(text)})):
        seen = lab("list", *form, env=own)
        check(seen.code == 1 and names(seen.out) == expected, f"list {' '.join(form)}: the others", seen)
        check(f"homing lab: {folder}/bar.toml: not TOML" in seen.err and f"homing lab: {folder}/odd.toml: cpi: expected" in seen.err
              and seen.err.count("\n") == 2, "the bad ones, by their paths", seen)
    for name in ("mine", "westmere"):
        seen = lab("show", name, env=own)
        check(seen.code == 0 and seen.err == "", f"{name} is not concerned", seen)
    seen = lab("show", "bar", env=own)
    check(seen.code == 2 and f"{folder}/bar.toml: not TOML" in seen.err, "the bad one", seen)


main([output_that_cant_be_written, empty_words, a_working_folder_that_is_gone, folders_of_ones_own, one_bad_file_of_a_folder])
