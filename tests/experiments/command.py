#!/usr/bin/env python3
"""Property: `homing experiment` carries a small campaign of real programs on this machine from its file to its page: interrupted and
gone on with, no run twice, a changed file refused, what is missing or means nothing named; failures and output that can't be written
show in the exit status. Method: the command itself, with transpose and cg on a
made-up machine of two domains. Usage: command.py PATH-OF-HOMING. Skipped without the packages of scripts/setup experiment."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HOMING = sys.argv[1]
TEXT = """
schema = 1
name = "small"
seed = 1
replicates = 3
[fixed]
machine = "here"
threads = 2
repeat = 1
env = { HOMING_TOPOLOGY = "node:2 core:1 pu:1", OMP_WAIT_POLICY = "passive" }
[factors]
program = ["transpose", "cg"]
variant = ["openmp", "homing-placed"]
contention = ["none", "process:compute:1"]
[levels.program.cg]
size = "S3"
[[analysis]]
response = "median_ms"
baseline = { variant = "openmp" }
"""


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([HOMING, "experiment", *words], capture_output=True, text=True)


def check(condition: bool, what: str, seen: subprocess.CompletedProcess | str = "") -> None:
    if not condition:
        text = seen if isinstance(seen, str) else f"exit {seen.returncode}\n{seen.stdout}{seen.stderr}"
        raise SystemExit(f"failed: {what}\n{text}")
    print(f"ok: {what}")


def campaign(file: Path) -> None:
    seen = run("run", "--dry", str(file))
    check(seen.returncode == 0 and len(seen.stdout.splitlines()) == 24, "a plan of 24 runs", seen)
    wrong = file.with_name("wrong.toml")
    wrong.write_text(TEXT.replace('"small"', '"wrong"').replace('"openmp", "h', '"bogus", "h').replace('baseline = { variant = "openmp" }', ""))
    seen = run("run", "--dry", str(wrong))
    check(seen.returncode == 2 and seen.stdout == "" and "'bogus'; expected one of transpose's variants" in seen.stderr, "a plan is checked as a run is", seen)
    seen = run("run", str(file), "--runs", "5", "--json")
    check(seen.returncode == 0 and json.loads(seen.stdout)["done"] == 5 and seen.stderr == "", "five runs, quietly", seen)
    process = subprocess.Popen([HOMING, "experiment", "run", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = file.parent / "rows" / "small.csv"
    while process.poll() is None and len(rows.read_text().splitlines()) < 9:
        pass
    process.send_signal(signal.SIGINT)
    check(process.wait() in (0, 130), "interrupted", process.communicate()[1])
    seen = run("run", str(file), "--json")
    status = json.loads(seen.stdout)
    check(seen.returncode == 0 and status["done"] == 24 and status["left"] == 0 and status["failed"] == [], "gone on with", seen)
    found = list(csv.DictReader(rows.open()))
    check(len(found) == len({row["run"] for row in found}) == 24, "no run twice")
    check({row["kind"] for row in found} == {"virtual"}, "rows say that the machine is made up")
    check({row["result"] for row in found} == {"right"}, "every result was checked")
    check(json.loads(run("status", str(file), "--json").stdout) == status, "status says the same")
    seen = subprocess.run([HOMING, "experiment", "run", str(file), "--json"], capture_output=True, text=True, env=os.environ | {"HOMING_EXPERIMENT_BUILD": "/nowhere"})
    check(seen.returncode == 0 and json.loads(seen.stdout) == status and seen.stderr == "", "what is done needs no build", seen)
    seen = run("run", "--dry", str(file))
    check(seen.returncode == 0 and seen.stdout == "nothing to run\n" and seen.stderr == "", "nothing is left", seen)


def meaning(file: Path) -> None:
    seen = run("analyse", str(file))
    check(seen.returncode == 0 and "Main effects" in seen.stdout and "made-up machine" in seen.stdout, "analyse", seen)
    seen = run("report", str(file))
    page = (file.parent / "rows" / "small.md").read_text()
    check(seen.returncode == 0 and "24 of 24" in page and "made-up machine" in page, "report", seen)


def refusals(file: Path) -> None:
    text = file.read_text()
    for old, new, words in (("threads = 2", "threads = 3", ["--restart"]), ("threads = 2", "threads = 0", ["threads", "1 to 1024"]),
                            ('"cg"]', '"cg", "mg"]', ["--restart"])):
        file.write_text(text.replace(old, new))
        seen = run("run", str(file))
        check(seen.returncode == 2 and all(word in seen.stderr for word in words), f"{new}: refused", seen)
    other = file.with_name("other.toml")
    other.write_text(text.replace('name = "small"', 'name = "other"').replace('"transpose", "cg"', '"transpose", "nothing"').replace("levels.program.cg", "levels.program.nothing"))
    seen = run("run", str(other))
    check(seen.returncode == 2 and "factors.program: 'nothing'; expected one of: cg, " in seen.stderr and "make programs" in seen.stderr,
          "a program that is not there", seen)
    for old, new, words in (('size = "S3"', 'size = "ZZ"', "levels.program.cg.size: 'ZZ'; expected one of cg's sizes: S, W, A, B, C, S3"),
                            ('"openmp", "h', '"bogus", "h', "factors.variant: 'bogus'; expected one of transpose's variants: serial, "),
                            ('["transpose", "cg"]', '["jacobi-study", "cg"]', "'openmp'; expected one of jacobi-study's variants: static-serial, ")):
        other.write_text(text.replace('name = "small"', 'name = "other"').replace(old, new).replace('baseline = { variant = "openmp" }', ""))
        for command, code, said in (("status", 0, ""), ("run", 2, f"{other}: {words}" if "." in words.partition(":")[0] else words)):
            seen = run(command, str(other))
            check(seen.returncode == code and said in seen.stderr, f"{new}: {command}", seen)
    check(not (file.parent / "rows" / "other.csv").exists(), "nothing was run")
    other.write_text(text.replace('"here"', '"nope"'))
    for command in ("run", "status", "analyse"):
        seen = run(command, str(other))
        check(seen.returncode == 2 and f"{other}: fixed.machine: 'nope'; expected" in seen.stderr and "westmere" in seen.stderr, f"a machine: {command}", seen)
    other.write_text(text.replace('name = "small"', 'name = "counted"').replace("[fixed]", '[limits]\ncounters = "required"\n[fixed]'))
    seen = run("run", str(other), "--runs", "1", "--json")
    if seen.returncode == 0:
        row = next(csv.DictReader((file.parent / "rows" / "counted.csv").open()))
        check(row["near"] != "" and row["far"] != "", "the CPU's counters", str(row))
    else:
        check("counters of near and far memory" in seen.stderr and not (file.parent / "rows" / "counted.csv").exists(), "counters that are missing are named", seen)


def failures(folder: Path) -> None:
    """Runs that fail are in the exit status, and analyses say so."""
    file = folder / "failing.toml"
    file.write_text(TEXT.replace('"small"', '"failing"').replace('["transpose", "cg"]', '["transpose"]').partition("[levels")[0].replace(
        "repeat = 1", 'repeat = 1\narguments = ["--nonsense"]') + '[[analysis]]\nresponse = "median_ms"\n')
    seen = run("run", str(file), "--runs", "2", "--json")
    check(seen.returncode == 1 and len(json.loads(seen.stdout)["failed"]) == 2, "run: exit status 1", seen)
    for form, said in ([], "failed: exit status"), (["--json"], '"failed": ['), (["--csv"], "done,replicates"):
        seen = run("status", str(file), *form)
        check(seen.returncode == 1 and said in seen.stdout and seen.stderr == "", f"status {' '.join(form)}: exit status 1", seen)
    rows = folder / "rows" / "failing.csv"
    for command in ("analyse", "report"):
        seen = run(command, str(file))
        check(seen.returncode == 1 and f"{rows}: all 2 runs failed" in seen.stderr and f"homing experiment status {file}" in seen.stderr, command, seen)
        seen = run(command, str(file), "--rows", str(folder / "nowhere"))
        check(seen.returncode == 2 and seen.stderr == f"homing experiment: --rows {folder}/nowhere: No such file or directory\n", f"{command} --rows", seen)


def on_this_machine(folder: Path) -> None:
    """A campaign of two virtual machines, with `--here`: measured, and without what no machine has."""
    file = folder / "two.toml"
    text = TEXT.replace('"small"', '"two"').replace('machine = "here"\nthreads = 2\n', 'size = "512"\n').replace('program = ["transpose", "cg"]', 'machine = ["westmere", "bulldozer"]')
    text = text.partition("env =")[0] + 'program = "transpose"\n[factors]' + text.partition("[factors]")[2]
    text = text.replace('["none", "process:compute:1"]', '["none", "process:compute:1@9999"]').replace(
        "[levels.program.cg]\nsize = \"S3\"", "[levels.machine.westmere]\nthreads = 1\n[levels.machine.bulldozer]\nthreads = 1024")
    file.write_text(text)
    seen = run("run", "--here", str(file), "--runs", "2", "--json")
    said = json.loads(seen.stdout)
    check(seen.returncode == 0 and said["runs"] == 6 and "with the settings of westmere" in seen.stderr and "@9999" in seen.stderr, "--here: what is left out is named", seen)
    check(said["changes"] and all(line in seen.stderr for line in said["changes"]), "--here: in JSON, too", seen)
    seen = run("run", "--here", str(file))
    found = list(csv.DictReader((folder / "rows" / "two-here.csv").open()))
    check(seen.returncode == 0 and len(found) == 6 and {(row["kind"], row["machine"], row["result"]) for row in found} == {("measured", "here", "right")}, "--here: measured", seen)
    model = json.loads(found[0]["this_machine"])["model"]
    check(model in Path("/proc/cpuinfo").read_text() or model == os.uname().machine, "--here: rows name the processor", model)
    check(all(row["near"] or row["message"] for row in found), "--here: counters, or why there are none", str(found[0]))
    check(json.loads(run("status", str(file), "--json").stdout)["done"] == 0, "--here: rows of their own")
    seen = run("status", "--here", str(file))
    check(seen.returncode == 0 and "6 of 6 runs" in seen.stdout and "westmere" in seen.stdout, "--here: status", seen)
    for words in ["run", "--threads", "1", str(file)], ["run", "--here", "--threads", "1024", str(file)]:
        seen = run(*words)
        check(seen.returncode in (1, 2) and "threads" in seen.stderr and "Traceback" not in seen.stderr, " ".join(words[:-1]), seen)


def meaning_here(folder: Path) -> None:
    file = folder / "two.toml"
    seen = run("analyse", "--here", str(file))
    check(seen.returncode == 0 and ": measured" in seen.stdout and "with the settings of westmere" in seen.stderr, "analyse --here", seen)
    seen = run("report", "--here", str(file))
    page = (folder / "rows" / "two-here.md").read_text()
    check(seen.returncode == 0 and "Measured." in page and "homing experiment run --here" in page and "6 of 6" in page, "report --here", seen)


def wrong_words(file: Path) -> None:
    seen = run("status", str(file), "--csv", "--json")
    check(seen.returncode == 2 and seen.stdout == "" and "status: --json excludes --csv" in seen.stderr, "one form", seen)
    for command in ("run", "status"):
        seen = run(command, str(file), "--rows", str(file.parent))
        check(seen.returncode == 2 and seen.stderr == f"homing experiment: --rows {file.parent}: is a directory; expected a file of rows\n", command, seen)
    for words, name in (["status", ""], "FILE.toml"), (["run", str(file), "--rows", ""], "--rows"), (["run", str(file), "--build="], "--build"):
        seen = run(*words)
        check(seen.returncode == 2 and f"homing experiment: {name}: its value is empty, perhaps that of a shell variable that is not set" in seen.stderr
              and seen.stderr.count("\n") == 1, f"empty: {name}", seen)


def a_working_folder_that_is_gone(folder: Path) -> None:
    gone = folder / "gone"
    seen = subprocess.run(["bash", "-c", f"mkdir '{gone}' && cd '{gone}' && rmdir '{gone}' && '{HOMING}' experiment report x.toml"], capture_output=True, text=True)
    check(seen.returncode != 0 and "Traceback" not in seen.stderr and ("working folder" in seen.stderr or "x.toml" in seen.stderr), "a working folder that is gone is named", seen)


def output_that_cant_be_written(file: Path) -> None:
    for words in (f"status '{file}'", f"status '{file}' --json", f"status '{file}' --csv", f"run --dry '{file}'", "--help"):
        for to, said in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            seen = subprocess.run(["bash", "-c", f"'{HOMING}' experiment {words} {to}"], capture_output=True, text=True)
            check(seen.returncode == 1 and seen.stderr == f"homing experiment: can't write to stdout: {said}\n", f"{words.split()[0]} {to}", seen)
        seen = subprocess.run(["bash", "-c", f"'{HOMING}' experiment {words} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
        check(seen.returncode in (0, 1) and seen.stderr == "", f"{words.split()[0]}: nobody reads the pipe", seen)


def a_closed_stderr(file: Path) -> None:
    """Commands do all the same, and what they would tell there does not go to stdout."""
    for words, code in ((f"run --minutes 0 '{file}'", 0), (f"status '{file}.not'", 2)):
        seen = subprocess.run(["bash", "-c", f"'{HOMING}' experiment {words} 2>&-"], stdout=subprocess.PIPE, text=True)
        check(seen.returncode == code and bool(seen.stdout) == (code == 0), f"{words.split()[0]} 2>&-",
              f"exit {seen.returncode}\n{seen.stdout}")


def main() -> None:
    seen = run("--help")
    if seen.returncode == 125 or subprocess.run([HOMING, "experiment", "analyse", os.devnull], capture_output=True, text=True).returncode == 125:
        print("skipped: " + seen.stderr.strip())
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.toml"
        file.write_text(TEXT)
        wrong_words(file)
        output_that_cant_be_written(file)
        a_closed_stderr(file)
        a_working_folder_that_is_gone(file.parent)
        campaign(file)
        on_this_machine(file.parent)
        seen = run("analyse", str(file))
        if "scripts/setup experiment" in seen.stderr:
            print("skipped from here on: " + seen.stderr.strip())
            sys.exit(77)
        meaning(file)
        meaning_here(file.parent)
        refusals(file)
        failures(file.parent)


if __name__ == "__main__":
    main()
