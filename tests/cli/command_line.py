#!/usr/bin/env python3
"""Property: `homing` finds its subcommands, built in, beside it or on PATH, helps, and its exit codes never lie.
Method: the command itself, with programs homing-X made for the test, and with an output that can't be written."""

import os
import shutil
import subprocess

from command import COMMAND, check, homing, main


def script(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)


def help_and_version(_):
    seen = homing("--version")
    check(seen.code == 0 and seen.out.startswith("homing ") and seen.out.count("\n") == 1, "--version", seen)
    for words in (["--help"], ["-h"], ["topology", "--help"], ["run", "--help"], ["run", "-h"]):
        seen = homing(*words)
        check(seen.code == 0 and "Examples:" in seen.out and "Usage: homing" in seen.out and seen.err == "",
              "help: " + " ".join(words), seen)
    seen = homing()
    check(seen.code == 2 and seen.out == "" and "Usage:" in seen.err, "no subcommand", seen)
    seen = homing("--nothing")
    check(seen.code == 2 and "--nothing" in seen.err, "an unknown option", seen)
    for word in ("a/b", "..", "\x1b[31mred"):
        seen = homing(word)
        named = f'"{word}"'.replace("\x1b", "?")
        check(seen.code == 2 and named in seen.err and "\x1b" not in seen.err, f"no subcommand {word!r}", seen)
    for words in (["run", "--report=", "--", "true"], ["where", "1", "--watch="], ["topology", "--domain", ""], ["run", "-m", "", "--", "true"]):
        seen = homing(*words)
        check(seen.code in (2, 125) and "its value is empty" in seen.err and seen.out == "", "empty: " + " ".join(words), seen)
    for words, code in (([""], 2), (["", "run"], 2), (["--version", ""], 2), (["manual", ""], 2), (["completions", ""], 2), (["where", ""], 2),
                        (["run", "--", ""], 127), (["where", "--", ""], 127)):
        seen = homing(*words)
        check(seen.code == code and "shell variable that is not set" in seen.err and seen.out == "", f"an empty word: {words}", seen)
    seen = homing("--version", "run")
    check(seen.code == 2 and "--version takes no more words: run" in seen.err and seen.out == "", "a word behind --version", seen)
    for word in ("--help", "-h"):
        seen = homing(word, "run")
        check(seen.code == 0 and seen.out == homing("--help").out and seen.err == "", f"a word behind {word} changes nothing", seen)
    for words, code in ((["topology"], 1), (["run", "true"], 125)):
        seen = homing(words[0], "--topology", "nonsense", *words[1:])
        check(seen.code == code and "--topology nonsense: " in seen.err and "node:4" in seen.err, f"no made-up machine: {words}", seen)
    seen = homing("run", "--tbb=stock", "--json", "true")
    check(seen.code == 125 and "--json needs our library" in seen.err, "the option that was given is named", seen)


def help_of(folder):
    """`homing help X` is `homing X --help`, whoever X is, and starts nothing; of programs `homing help X Y`, too."""
    script(folder / "homing-other", '#!/bin/sh\necho "other:$*"\nexit 7\n')
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    for words in ([], ["help"], ["--help"], ["-h"]):
        seen = homing("help", *words)
        check(seen.code == 0 and seen.out == homing("--help").out and seen.err == "", f"help {words}", seen)
    for name in ("topology", "bandwidth", "latency", "doctor", "where", "run", "completions", "manual", "other", "bogus", "a/b", ""):
        seen, same = (homing(*words, env=path) for words in (["help", name], [name, "--help"]))
        check((seen.code, seen.out, seen.err) == (same.code, same.out, same.err), f"help {name!r} is {name!r} --help", (seen, same))
    check(homing("help", "other", env=path).out == "other:--help\n" and homing("help", "bogus").code == 127, "programs, and none")
    seen = homing("help", "other", "part", env=path)
    check(seen.out == "other:part --help\n" and seen.code == 7, "a command of a program", seen)
    for words, found in ((["other", "part", "more"], "more"), (["other", "--part"], "--part"), (["run", "./app"], "./app"), (["--version"], "--version"), (["topology", "-x"], "-x")):
        seen = homing("help", *words)
        check(seen.code == 2 and seen.out == "" and f"no more, and found {found} " in seen.err, f"help {words}: no program is run", seen)


def unexpected_words(_):
    for words, told in ((["topology", "a", "b", "c"], "a b c"), (["bandwidth", "--repeats", "2"], "--repeats 2"),
                        (["where", "1", "2", "3"], "2 3"), (["doctor", "one"], "one")):
        seen = homing(*words)
        check(seen.code == 2 and seen.out == "" and f"not expected: {told} (see homing {words[0]} --help)" in seen.err, f"told in order: {words}", seen)


def given_twice(folder):
    """No value is dropped in silence; a flag may be said again."""
    for first, second in (("--report=a", "--report=b"), ("--report=a", "--report"), ("--report", "--report=a"), ("--trace=a", "--trace=b"),
                          ("--svg=a", "--svg=b"), ("--membind=0", "-m=0"), ("-m0", "-m0"), ("--threads=1", "--threads=1"), ("--steal=near", "--steal=near"),
                          ("--topology=a", "--topology=b"), ("--domain=l3", "--domain=node"), ("--tbb=stock", "--tbb=homing"),
                          ("--stock-library=a", "--stock-library=b"), ("-N0", "-N0"), ("-i0", "-i0"), ("-p0", "-p0")):
        seen = homing("run", first, second, "--", "echo", "started", cwd=folder)
        told = "At Most 1 required" if first[1] != "-" else f"{first.split('=')[0]}: given twice"
        check(seen.code == 125 and seen.out == "" and told in seen.err and seen.err.count("\n") == 1 and not list(folder.iterdir()),
              f"run {first} {second}", seen)
    for words in (["topology", "--svg", "a", "--svg", "a"], ["topology", "--topology=node:2 pu:1", "--topology", "node:3 pu:1"],
                  ["topology", "--domain=l3", "--domain", "l3"], ["where", "--watch", "--watch=1", "1"], ["manual", "--folder=a", "--folder=b"]):
        seen = homing(*words, cwd=folder)
        check(seen.code == 2 and seen.out == "" and ": given twice" in seen.err and not list(folder.iterdir()), " ".join(words), seen)
    for words in (["topology", "--json", "--json"], ["run", "--report", "--report", "--", "true"]):
        check(homing(*words).code == 0, f"a flag: {words}")


def an_option_for_a_value(folder):
    """Who forgets a value is told, and no file gets the name of an option."""
    for words, found in ((["topology", "--svg", "--json"], "--svg: expected its value, and found --json"),
                         (["run", "--trace", "--", "true"], "--trace: expected its value, and found --;"),
                         (["run", "--trace", "--report", "true"], "--trace: expected its value, and found --report"),
                         (["run", "--svg", "-m", "0", "true"], "--svg: expected its value, and found -m"),
                         (["run", "-m", "--trace=x", "true"], "--membind: expected its value, and found --trace=x")):
        seen = homing(*words, cwd=folder)
        check(seen.code in (2, 125) and found in seen.err and not list(folder.iterdir()), " ".join(words), seen)
    seen = homing("topology", "--svg=--json", cwd=folder)
    check(seen.code == 0 and (folder / "--json").read_text().startswith("<svg"), "with a sign = any name is a file's", seen)


def external(folder):
    path = {"PATH": f"{folder}:{os.environ['PATH']}"}
    script(folder / "homing-other", '#!/bin/sh\necho "other:$#:$1:$2"\nexit 7\n')
    seen = homing("other", "--json", "a b", env=path)
    check(seen.code == 7 and seen.out == "other:2:--json:a b\n", "homing-other gets the words as they are", seen)
    script(folder / "homing-topology", "#!/bin/sh\necho wrong\n")
    check("wrong" not in homing("topology", env=path).out, "built-in subcommands come first")
    seen = homing("nosuch", env=path)
    check(seen.code == 127 and "homing-nosuch" in seen.err, "unknown everywhere", seen)
    check("of which nodes its threads' CPUs are" in homing("--help").out, "where: nodes, not domains")
    script(folder / "homing-locked", "#!/bin/sh\n", 0o644)
    seen = homing("locked", env={"PATH": str(folder)})
    check(seen.code == 126 and "homing-locked" in seen.err, "not executable", seen)
    for name in ("../lab", "a/b", "", "a b"):
        check(homing(name, env=path).code == 2, f"not a name: {name!r}")


def beside(folder):
    """What came with the command is found without PATH and before it, in the two folders it may be in."""
    (folder / "bin").mkdir()
    (folder / "libexec/homing").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    shutil.copy2(COMMAND, folder / "bin/homing")
    places = [folder / "elsewhere", folder / "libexec/homing", folder / "bin"]
    for place in places:
        script(place / "homing-own", f'#!/bin/sh\necho "{place.name}:$1"\n')
        library_path = str(COMMAND.parent.parent / "lib")
        done = subprocess.run([folder / "bin/homing", "own", "a b"], capture_output=True, text=True,
                              env={"PATH": f"{folder}/elsewhere:/usr/bin:/bin", "LD_LIBRARY_PATH": library_path})
        check(done.returncode == 0 and done.stdout == f"{place.name}:a b\n", f"found in {place.name}", done)
    (folder / "bin/homing-own").chmod(0o644)
    done = subprocess.run([folder / "bin/homing", "own"], capture_output=True, text=True, env={"LD_LIBRARY_PATH": library_path})
    check(done.returncode == 126 and "homing-own" in done.stderr, "one that can't be started is not passed over", done)


def lost_output(_):
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w") as full:
        for words in (["topology"], ["topology", "--json"], ["--version"], ["--help"]):
            done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            check(done.returncode == 1 and "can't write" in done.stderr, "full disk: " + " ".join(words), done)


main([help_and_version, help_of, unexpected_words, given_twice, an_option_for_a_value, external, beside, lost_output])
