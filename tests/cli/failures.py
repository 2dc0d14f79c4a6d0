#!/usr/bin/env python3
"""Property: what fails before a program starts leaves the files of earlier runs as they are; what fails later is said, by the
exit code too, and leaves no file of its own. Method: bad options beside files of an earlier run, symbolic links, closed and
full outputs, a folder for temporary files that the program leaves, and a sandbox without threads or processes."""

import errno
import json
import os
import subprocess
import sys
import xml.dom.minidom
from xml.parsers.expat import ExpatError

from command import COMMAND, SECONDS_MAX, check, homing, main, script
from sandbox import CLONE, CLONE3, FORK, VFORK, refuse

REPORT = '{"homing":"0","pid":17,"domains": 2, "threads": 2, "tasks": {"executed": 10, "home": 9, "away": 1}, "homes": [[0, 0, 9], [0, 1, 1]]}'
TRACE = '{"displayTimeUnit":"ns","otherData":{"dropped_tasks":0},"traceEvents":[]}\n'
EARLIER = {"trace.json": TRACE, "report.json": REPORT + "\n", "picture.svg": "of an earlier run"}
WRITES = f"echo '{REPORT}' >> $HOMING_REPORT"


def quietly(words, prepare, **options):
    """The command in a process that `prepare` has changed. 77: it can't be."""
    def before():
        if prepare() is False:
            os._exit(77)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING", "HWLOC_", "TBB_"))}
    return subprocess.run([COMMAND, *map(str, words)], preexec_fn=before, env=clean, text=True, timeout=SECONDS_MAX, **options)


def is_xml(path):
    try:
        return xml.dom.minidom.parse(str(path)) is not None
    except ExpatError:
        return False


def earlier_runs(folder):
    kept = {name: folder / name for name in EARLIER}
    for name, path in kept.items():
        path.write_text(EARLIER[name])
    files = ["--trace", kept["trace.json"], f"--report={kept['report.json']}"]
    picture = ["--trace", kept["trace.json"], "--svg", kept["picture.svg"]]
    for words in ([*files, "-N", "60000", "--", "true"], [*files, "--topology=nonsense", "--", "true"], [*files, "--", "nosuchprogram"],
                  [*picture, "-m", "60000", "--", "true"], [*picture, "--", folder / "none"], [*picture, "--", folder],
                  ["--trace", kept["trace.json"], f"--report={folder}/none/x.json", "--", "true"],
                  ["--trace", kept["trace.json"], "--svg", folder / "none/x.svg", "--", "true"]):
        seen = homing("run", *words)
        check(seen.code in (125, 126, 127) and seen.err.count("\n") == 1, f"not started: {words}", seen)
        untouched = [path.exists() and path.read_text() == EARLIER[name] for name, path in kept.items()]
        check(all(untouched), "and no file is touched", (untouched, seen))
    for words in (["--trace", folder / "new.json"], [f"--report={folder}/new.json"], ["--svg", folder / "new.json"]):
        homing("run", *words, "--", "nosuchprogram")
        check(not (folder / "new.json").exists(), f"nor made: {words}")


def files_of_others(folder):
    """A trace replaces what begins as one, a report what has only lines that begin as one's, and both an empty file. Others stay."""
    notes, program = folder / "notes", script(folder / "program", f"#!/bin/sh\n{WRITES}\necho '{TRACE}' > ${{HOMING_TRACE:-/dev/null}}\n")
    long = REPORT[:-1] + f', "pages": "{"x" * 100_000}"}}'
    for content in ("a user's notes\n", '{"displayTimeUnit":"ms","traceEvents":[]}', "{", "\0" * 100, REPORT, TRACE,
                    '{"homing":{"my":"settings"}}', '{"homing":"here","my":"settings"}\n', '{"homing":"0', f"{REPORT}\na user's line\n",
                    f"{REPORT}\n{long}\na user's line", f"{REPORT}\n\n", '{"hom', f'{{"hom\n{REPORT}\n', f'{REPORT}\n{{"hom\n',
                    f'{REPORT}\n{{"my', f'{REPORT}\n{{"homing":"0","my', f"{REPORT}\n\0\0", f"{REPORT}\n" + '{"homing":"my"}\n'):
        for option, what, own in (("--trace=", "a trace", TRACE), ("--report=", "a report", REPORT)):
            notes.write_text(content)
            seen = homing("run", f"{option}{notes}", "--", program)
            if content == own:
                check(seen.code == 0 and notes.read_text().startswith(own), f"{option}FILE, of an earlier run", seen)
                continue
            check(seen.code == 125 and notes.read_text() == content and seen.err.count("\n") == 1
                  and f"{option.replace('trace=', 'trace ')}{notes}: is not {what}, and stays" in seen.err and "name another" in seen.err,
                  f"{option}FILE with {content[:20]!r} is refused, and stays", seen)
    cuts = range(1, len('{"homing":"0","pid":') + 1)   # whole lines, and one that was cut off in its beginning
    for content in (*(f"{REPORT}\n{REPORT[:cut]}" for cut in cuts), f"{REPORT}\n" * 3, f"{long}\n{REPORT}\n{long}\n", f"{long}\n{long[:-10]}", f"{REPORT}\n{REPORT[:60]}", ""):
        notes.write_text(content)
        seen = homing("run", f"--report={notes}", "--", program)
        check(seen.code == 0 and notes.read_text() == f"{REPORT}\n", f"reports of {content.count(REPORT[:9])} processes go", seen)
    notes.write_text(REPORT[:60])
    os.truncate(notes, 1 << 30)
    seen = homing("run", f"--report={notes}", "--", program)
    check(seen.code == 125 and "is not a report" in seen.err and notes.stat().st_size == 1 << 30, "nor a line longer than any", seen)
    for option, content in (("--report=", "a user's notes\n"), ("--trace=", TRACE)):
        notes.write_text(content)
        with notes.open() as reader:
            seen = quietly(["run", f"{option}{notes}", "--", program], lambda: None, stdout=reader, stderr=subprocess.PIPE)
        check("stdout or stderr" not in seen.stderr and (seen.returncode == 125) == (content != TRACE)
              and notes.read_text().startswith(content), f"a stdout that only reads is none of the file's: {option}", (seen, notes.read_text()))
    notes.write_text("a user's notes\n")
    (folder / "link").symlink_to("notes")
    seen = homing("run", "--trace", folder / "link", "--", program)
    check(seen.code == 125 and notes.read_text() == "a user's notes\n", "nor by another name", seen)
    for words in (["--trace", "x", "--report=./x"], ["--trace", "./x", "--svg", "x"], ["--trace", "notes", f"--report={notes}"]):
        seen = homing("run", *words, "--", program, cwd=folder)
        check(seen.code == 125 and "are one file" in seen.err and not (folder / "x").exists(), f"one file for two: {words}", seen)
    output = folder / "output"
    with output.open("w") as out:
        seen = quietly(["run", "--trace", output, "--", "echo", "started"], lambda: None, stdout=out, stderr=subprocess.PIPE)
    check(seen.returncode == 125 and "stdout or stderr goes into this file" in seen.stderr and output.exists(), "a trace in stdout's place", seen)
    output.write_text("before\n")
    with output.open("a") as out:
        seen = quietly(["run", f"--report={output}", "--", program], lambda: None, stdout=out, stderr=subprocess.PIPE)
    check(seen.returncode == 0 and output.read_text() == f"before\n{REPORT}\n", "a report behind what is in stdout's file", (seen, output.read_text()))


def outputs_of_earlier_runs(folder):
    """A picture that is there stays until the new one comes; what stdout writes into the same file is not lost."""
    picture = folder / "picture.svg"
    for state in ("an earlier one", "none"):
        if state != "none":
            picture.write_text("of an earlier run")
        else:
            picture.unlink()
        seen = homing("run", "--report", "--svg", picture, "--", "true")
        left = picture.read_text() if picture.exists() else "none"
        check(seen.code == 0 and "no report" in seen.err and left == ("none" if state == "none" else "of an earlier run"), f"no report, and {state}", (left, seen))
    picture.write_text("of an earlier run, and longer than any picture" * 10000)
    seen = homing("topology", "--svg", picture)
    check(seen.code == 0 and is_xml(picture), "a new one, whole, in place of the earlier", seen)
    for words in (["topology"], ["bandwidth", "--size", "64K", "--repeat", "1", "--threads", "1", "--kernel", "read"]):
        with picture.open("w") as stdout:
            stdout.write("before\n")
            stdout.flush()
            seen = quietly([*words, "--json", "--svg", picture], lambda: None, stdout=stdout, stderr=subprocess.PIPE)
        text = picture.read_text()
        whole = text.startswith("before\n") and text.count("<svg") == text.count("</svg>") == 1 and text.count('"homing": ') == 1
        check(seen.returncode == 0 and whole, f"{words[0]}: figures and picture in one file", (seen, text[:300]))


def links(folder):
    """The library makes a trace anew, and adds to a report: behind a link, both are the file that it leads to."""
    (folder / "results").mkdir()
    program = script(folder / "program", f"#!/bin/sh\n{WRITES}\necho traced > $HOMING_TRACE\n")
    for state in ("a file", "no file yet"):
        for name in ("trace", "report"):
            link, target = folder / f"{name}.json", folder / "results" / f"{name}.json"
            link.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            link.symlink_to(f"results/{name}.json")
            if state == "a file":
                target.write_text(EARLIER[f"{name}.json"])
        seen = homing("run", "--trace", folder / "trace.json", f"--report={folder}/report.json", "--", program)
        check(seen.code == 0 and all((folder / f"{name}.json").is_symlink() for name in ("trace", "report")),
              f"a link stays: to {state}", seen)
        written = {name: (folder / "results" / name).exists() and (folder / "results" / name).read_text()
                   for name in ("trace.json", "report.json")}
        check(written == {"trace.json": "traced\n", "report.json": REPORT + "\n"}, f"both are where it leads: to {state}", written)


def descriptors(folder):
    """/dev/stdout is the program's output: a report goes behind what was printed, and nothing of either is lost."""
    program = script(folder / "program", f"#!/bin/sh\necho first\n'{sys.executable}' -c \"import ctypes; "
                                         "ctypes.CDLL('libtbb.so.12').TBB_runtime_version()\"\necho last\n")
    output = folder / "output"
    (folder / "link").symlink_to("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", folder / "link"):
        with output.open("w") as out:
            seen = quietly(["run", f"--report={name}", "--", program], lambda: None, stdout=out, stderr=subprocess.PIPE)
        lines = [line[:9] for line in output.read_text().splitlines()]
        check(seen.returncode == 0 and lines == ["first", '{"homing"', "last"], f"a report to {name}", (seen, lines))
        output.write_text("of an earlier run\n")
        with output.open("a") as out:
            seen = quietly(["run", "--trace", name, "--", "echo", "started"], lambda: None, stdout=out, stderr=subprocess.PIPE)
        check(seen.returncode == 125 and f"{name}: is not a file" in seen.stderr and output.exists()
              and output.read_text() == "of an earlier run\n", f"a trace to {name} is refused", seen)
    printed = homing("run", "--report=/dev/stdout", "--", program)
    check(printed.code == 0 and '{"homing"' in printed.out, "a report into a pipe", printed)


def further_traces(folder):
    """What further processes of an earlier run wrote goes with its trace; what is only named so stays."""
    of_ours = [folder / name for name in ("t.json.17", "t.json.17.2")]
    of_others = [folder / name for name in ("t.json.18", "t.json.old", "t.json..17", "t.json.17.", "other.17")]
    for path in of_ours + of_others:
        path.write_text(TRACE)
    of_others[0].write_text("a note\n")
    (folder / "t.json.19").symlink_to("other.17")
    homing("run", "--trace", folder / "t.json", "--", "true")
    check(not any(path.exists() for path in of_ours), "traces of an earlier run's further processes go")
    check(all(path.exists() for path in [*of_others, folder / "t.json.19"]), "files that are none stay")


def late_processes(folder):
    """A process that outlives the program finds no place for its report, and leaves nothing behind."""
    (folder / "tmp").mkdir()
    fifo = folder / "over"
    os.mkfifo(fifo)
    late = script(folder / "late", f"#!/bin/sh\nread line < {fifo}\nexec 2> {folder}/said\n{WRITES}\necho > {fifo}.done\n")
    os.mkfifo(folder / "over.done")
    seen = homing("run", "--report", "--", "sh", "-c", f"{late} < /dev/null > /dev/null 2>&1 &", env={"TMPDIR": str(folder / "tmp")})
    check(seen.code == 0 and not list((folder / "tmp").iterdir()), "the program has ended, and so the report", seen)
    fifo.write_text("go on\n")
    (folder / "over.done").read_text()
    check(not list((folder / "tmp").iterdir()) and (folder / "said").read_text(), "a late report is nowhere, and that is said")


def closed_outputs(folder):
    program = script(folder / "program", f"#!/bin/sh\n{WRITES}\n")
    picture = folder / "run.svg"
    seen = quietly(["run", "--svg", picture, "--", program], lambda: os.close(2), stdout=subprocess.PIPE)
    check(is_xml(picture) and seen.returncode == 125, "stderr closed: the picture is whole, and the loss of the table is told", seen)
    picture = folder / "topology.svg"
    seen = quietly(["topology", "--svg", picture], lambda: os.close(1), stderr=subprocess.PIPE)
    check(is_xml(picture) and seen.returncode == 1 and "can't write to stdout" in seen.stderr, "so is that of stdout", seen)
    seen = quietly(["run", "--", "sh", "-c", "[ -e /proc/$$/fd/2 ] || exit 5"], lambda: os.close(2), stdout=subprocess.PIPE)
    check(seen.returncode == 5, "a program finds closed what was closed", seen)


def lost_report(folder):
    if not os.path.exists("/dev/full"):
        return
    for code in (0, 9):
        program = script(folder / "program", f"#!/bin/sh\n{WRITES}\nexit {code}\n")
        for words in (["run", "--report"], ["where"]):
            with open("/dev/full", "w") as full:
                seen = quietly([*words, "--", program], lambda: None, stdout=subprocess.PIPE, stderr=full)
            check(seen.returncode == (code or 125), f"a full disk, and the program ends with {code}: {words}", seen)


def removed_report(_):
    seen = homing("run", "--report", "--", "sh", "-c", 'rm "$HOMING_REPORT"; exit 9')
    check(seen.code == 9 and "no report" in seen.err, "a program that removes the report keeps its code", seen)


def relative_folder(folder):
    (folder / "tmp").mkdir()
    seen = homing("run", "--report", "--", "sh", "-c", f"cd /; {WRITES}", cwd=folder, env={"TMPDIR": "tmp"})
    check(seen.code == 0 and "2 domains" in seen.err, "TMPDIR is relative, and the program changes its folder", seen)
    check(not list((folder / "tmp").iterdir()), "and nothing is left there")


def codes_of_shells(_):
    """127 is the program's own, or means that there is none."""
    for program, part in ((f"{WRITES}; exit 127", '"domains": 2'), ("exit 127", '"error": "no report')):
        seen = homing("run", "--json", "--", "sh", "-c", program)
        check(seen.code == 127 and part in seen.err, f"a program may end with 127: {program}", seen)
    for name, code in (("nosuchprogram", 127), ("/", 126)):
        seen = homing("run", "--json", "--", name)
        error = json.loads(seen.err[seen.err.index("{"):])["error"] if "{" in seen.err else ""
        check(seen.code == code and f"can't start {name}" in error, f"why nothing is reported, as JSON: {name}", seen)


def refused_threads(folder):
    (folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(folder / "tmp")
    for calls, part in (([CLONE3], "can't start the thread that looks at the program: "),
                        ([CLONE, CLONE3, FORK, VFORK], "can't start sleep: fork: ")):
        seen = quietly(["run", "--report", "--", "sleep", "0"], lambda: refuse(calls, errno.EAGAIN), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        if seen.returncode == 77:
            print("left out: no filter can be installed here")
            return
        check(seen.returncode == 125 and part in seen.stderr and seen.stderr.count("\n") == 1, f"refused, and told in a line: {part}", seen)
        check(not list((folder / "tmp").iterdir()), "and no file is left")
    seen = quietly(["run", "--", "sleep", "0"], lambda: refuse([CLONE, CLONE3, FORK, VFORK], errno.EAGAIN), stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)
    check(seen.returncode == 125 and seen.stderr.count("\n") == 1 and "loaded" not in seen.stderr, "what did not start loaded nothing", seen)
    seen = quietly(["latency", "--size", "64K"], lambda: refuse([CLONE3], errno.EAGAIN), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(seen.returncode == 1 and "can't start thread 1 of 1, for CPU " in seen.stderr, "so are threads that measure", seen)


main([earlier_runs, files_of_others, outputs_of_earlier_runs, links, descriptors, further_traces, late_processes, closed_outputs, lost_report, removed_report, relative_folder,
      codes_of_shells, refused_threads])
