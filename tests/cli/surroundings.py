#!/usr/bin/env python3
"""Property: whoever else is on the machine can neither write through us nor hang us, and a program that misses our library, or
a setting that misses its name, is told. Method: a set-user-ID program on our library, links of another user, a FIFO without
a reader, no /proc, misspelt variables; what needs root is left out for others."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from command import COMMAND, SECONDS_MAX, check, homing, main

LIBRARY = (COMMAND.parent / "../lib/homing/libtbb.so.12").resolve()
NOBODY = 65534
IS_ROOT = os.geteuid() == 0
LOADS = "int TBB_runtime_interface_version(void);\nint main(void) { return TBB_runtime_interface_version() == 0; }\n"


def program(folder, *words, name="program", text=LOADS):
    """A C program linked to our library by its path; None without a compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("left out: no C compiler")
        return None
    source = folder / f"{name}.c"
    source.write_text(text)
    subprocess.run([compiler, source, "-o", folder / name, *map(str, words or (LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"))], check=True)
    return folder / name


def run(path, user=None, timeout=SECONDS_MAX, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOMING", "TBB_", "LD_"))}
    identity = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    done = subprocess.run([path], env=clean | variables, text=True, capture_output=True, timeout=timeout, **identity)
    return done


def open_to_all(folder):
    """The build may be in a folder that others can't enter: a copy of the library where they can."""
    folder.chmod(0o755)
    shutil.copy(LIBRARY, folder / "libtbb.so.12")
    (folder / "libtbb.so.12").chmod(0o755)
    return folder


def set_user_id(folder):
    if not IS_ROOT:
        print("left out: not root")
        return
    open_to_all(folder)
    path = program(folder, LIBRARY, f"-Wl,-rpath,{folder}")
    if path is None:
        return
    victim = folder / "report"
    settings = {"HOMING_REPORT": str(victim), "HOMING_TRACE": str(folder / "trace"), "HOMING_TOPOLOGY": "nonsense",
                "HOMING_THREAD": "4", "TBB_VERSION": "1", "HOMINGRUN": str(folder / "loaded")}
    (folder / "loaded").touch()
    seen = run(path, **settings)
    check(victim.exists() and "HOMING_THREADS" in seen.stderr and "Homing" in seen.stderr and (folder / "loaded").read_text(),
          "without other rights every variable counts", seen)
    victim.unlink()
    (folder / "loaded").write_text("")
    path.chmod(0o4755)
    seen = run(path, user=NOBODY, **settings)
    check(seen.returncode == 0 and seen.stderr == "" and not victim.exists() and not (folder / "trace").exists()
          and (folder / "loaded").read_text() == "", "a set-user-ID program obeys none and says nothing", seen)


def links(folder):
    path = program(folder)
    if path is None:
        return
    target = folder / "target"
    link = folder / "link"
    target.write_text("kept\n")
    link.symlink_to("target")
    seen = run(path, HOMING_REPORT=str(link))
    check(seen.returncode == 0 and seen.stderr == "" and target.read_text().startswith('kept\n{"homing"'), "one's own link is followed", seen)
    seen = run(path, HOMING_REPORT="/dev/stdout")
    check(seen.stdout.startswith('{"homing"'), "so is the system's /dev/stdout", seen)
    link.unlink()
    link.symlink_to("link")
    seen = run(path, HOMING_REPORT=str(link))
    check("cannot be written: Too many levels" in seen.stderr, "a link to itself", seen)
    if not IS_ROOT:
        print("left out: not root")
        return
    target.write_text("kept")
    link.unlink()
    link.symlink_to("target")
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    seen = run(path, HOMING_REPORT=str(link), HOMING_TRACE=str(link))
    check(seen.returncode == 0 and target.read_text() == "kept" and "symbolic link that another user made" in seen.stderr,
          "another user's link is refused: the report", seen)
    for words in (["topology", "--svg", link], ["run", "--svg", link, "--", path], ["run", f"--report={link}", "--", path],
                  ["run", "--trace", link, "--", path]):
        seen = homing(*words)
        check(seen.code != 0 and target.read_text() == "kept" and link.is_symlink() and "another user made" in seen.err,
              f"another user's link is refused: {words[:2]}", seen)


def fifo(folder):
    path = program(folder)
    if path is None:
        return
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    seen = run(path, HOMING_REPORT=str(pipe), HOMING_TRACE=str(pipe))
    check(seen.returncode == 0 and "FIFO that nobody reads" in seen.stderr, "a FIFO without a reader is said, not waited for", seen)
    seen = homing("topology", "--svg", pipe)
    check(seen.code == 1 and "FIFO that nobody reads" in seen.err, "nor does the command wait", seen)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    with open(pipe, "w", encoding="utf-8"):   # returns when the reader is there
        seen = run(path, HOMING_REPORT=str(pipe))
    out, _ = reader.communicate(timeout=SECONDS_MAX)
    check(seen.returncode == 0 and seen.stderr == "" and out.startswith('{"homing"'), "with one it is written", (seen, out))
    seen = run(path, HOMING_REPORT="/dev/full")
    check(seen.returncode == 0 and "No space left" in seen.stderr, "a full disk is said", seen)


def lab_links(folder):
    """The lab writes its files under the same rules."""
    target = folder / "target"
    target.write_text("kept")
    link = folder / "link"
    link.symlink_to("target")
    export = ["lab", "export", "one-node", "--json", "-o", link]
    seen = homing(*export)
    if "typer" in seen.err or seen.code == 127:
        print("left out: no lab here")
        return
    check(seen.code == 0 and target.read_text() != "kept" and link.is_symlink(), "one's own link is followed: the lab", seen)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    seen = homing(*export[:-1], pipe)
    check(seen.code != 0 and "FIFO that nobody reads" in seen.err, "a FIFO without a reader: the lab", seen)
    if IS_ROOT:
        target.write_text("kept")
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        seen = homing(*export)
        check(seen.code != 0 and target.read_text() == "kept" and "another user made" in seen.err, "another user's link: the lab", seen)


def misspelt(folder):
    path = program(folder)
    if path is None:
        return
    seen = run(path, HOMING_THREAD="4")
    check(seen.returncode == 0 and seen.stderr.count("\n") == 1 and "HOMING_THREAD is not" in seen.stderr
          and seen.stderr.endswith("the nearest is HOMING_THREADS\n"), "one line, with the nearest name", seen)
    seen = run(path, HOMING_SOMETHING_OF_ANOTHER_PROGRAM="1")
    check(seen.stderr.count("\n") == 1 and "nearest" not in seen.stderr, "no name is near", seen)
    seen = run(path, HOMING_THREADS="4", HOMING_LAB_KERNEL="x", HOMING_VENV="x", HOMING_TEST_STOCK="1")
    check(seen.stderr == "", "known ones are not mentioned", seen)
    seen = homing("topology", env={"HOMING_TOPOLGY": "node:2 pu:1"})
    check(seen.code == 0 and seen.err.count("\n") == 1 and "nearest is HOMING_TOPOLOGY" in seen.err, "the command says it, too", seen)


def homing_run(folder, *words, env=None):
    """`homing run`, with its temporary files in the folder."""
    return homing("run", *words, env={"TMPDIR": str(folder)} | (env or {}))


def loaded(folder):
    """`homing run` knows whether the program loaded our library."""
    path = program(folder)
    if path is None:
        return
    run_it = functools.partial(homing_run, folder)
    other = folder / "lib/libtbb.so.12"
    other.parent.mkdir()
    program(folder, "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", name="other",
            text="int TBB_runtime_interface_version(void) { return 1; }\n").rename(other)
    seen = run_it("--", path)
    check(seen.code == 0 and seen.err == "", "ours: nothing to say", seen)
    brings = f"import ctypes; print(ctypes.CDLL('{other}').TBB_runtime_interface_version())"
    seen = run_it("--", sys.executable, "-c", brings)
    check(seen.code == 0 and seen.out == "1\n" and seen.err.count("\n") == 1 and "loaded our libtbb.so.12" in seen.err
          and f"LD_PRELOAD={LIBRARY}" in seen.err, "a copy of its own, loaded by itself", seen)
    seen = run_it("--", sys.executable, "-c", brings, env={"LD_PRELOAD": str(LIBRARY)})
    check(seen.code == 0 and seen.err == "", "the advice works", seen)
    child = f"import subprocess, sys; sys.exit(subprocess.run(['{path}']).returncode)"
    seen = run_it("--", sys.executable, "-c", child)
    check(seen.code == 0 and seen.err == "", "a child that loads ours will do", seen)
    seen = run_it("--", "sh", "-c", "exit 3")
    check(seen.code == 3 and seen.err.count("\n") == 1 and "it uses no TBB" in seen.err, "no TBB at all: said, and no error", seen)
    seen = run_it("--report", "--", "sh", "-c", "exit 3")
    check(seen.code == 3 and seen.err.count("\n") == 1 and "no report: no process of sh loaded our" in seen.err and "it uses no TBB" in seen.err,
          "for a table: the same line", seen)
    seen = run_it("--json", "--", "sh", "-c", "exit 3")
    check("it uses no TBB" in json.loads(seen.err)["error"], "in JSON, too", seen)
    gone = "import ctypes, os; ctypes.CDLL('libtbb.so.12'); os._exit(0)"
    seen = run_it("--report", "--", sys.executable, "-c", gone)
    check("ended abruptly" in seen.err and "uses no TBB" not in seen.err, "ours, and no report all the same", seen)
    seen = run_it("--", "nosuchprogram")
    check(seen.code == 127 and "loaded" not in seen.err, "what did not start loaded nothing", seen)
    debug = folder / "lib/libtbb_debug.so.12"
    program(folder, "-shared", "-fPIC", "-Wl,-soname,libtbb_debug.so.12", name="debug", text="int TBB_runtime_interface_version(void) { return 1; }\n").rename(debug)
    of_debug = program(folder, debug, f"-Wl,-rpath,{debug.parent}", name="of_debug")
    seen = run_it("--", of_debug)
    check(seen.code == 0 and seen.err == "", "a debug build has ours by its name for it", seen)
    own_debug = program(folder, debug, f"-Wl,--disable-new-dtags,-rpath,{debug.parent}", name="own_debug")
    for form in [], ["--report"]:
        seen = run_it(*form, "--", own_debug)
        check(seen.code == 0 and seen.err.count("\n") == 1 and "a copy of its own" in seen.err, f"or a copy of its own: {form}", seen)
    seen = run_it("--tbb=stock", "--", "sh", "-c", "exit 3")
    check(seen.code == 3 and seen.err == "", "with stock TBB nobody asks", seen)
    seen = run_it("--", path, env={"TMPDIR": str(folder / "none")})
    check(seen.code == 0 and seen.err == "", "a broken TMPDIR is no obstacle", seen)
    check(not list(folder.glob("homing-run-*")), "nothing is left behind", list(folder.iterdir()))


def killed_with_us(folder):
    ends = folder / "ends"
    os.mkfifo(ends)
    ours = subprocess.Popen([COMMAND, "run", "--", "sh", "-c", f"exec 3> {ends}; echo ready; while :; do read x; done"],
                            env=os.environ | {"TMPDIR": str(folder)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with open(ends, encoding="utf-8") as reader:
        check(ours.stdout.readline() == "ready\n", "the program runs")
        ours.kill()
        check(reader.read() == "", "whoever kills the command kills the program")   # ends when the program does
    ours.wait()


def without_proc(folder):
    path = program(folder, LIBRARY)   # by name only: without LD_LIBRARY_PATH it finds the system's, or nothing
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    able = shutil.which("unshare") and subprocess.run([*hidden, "true"], capture_output=True).returncode == 0
    if path is None or not able:
        print("left out: no C compiler, or /proc can't be hidden here")
        return
    seen = homing("run", "--", path, before=hidden, env={"TBB_VERSION": "1"})
    check(seen.code == 0 and "Homing: VERSION" in seen.err and "warning" not in seen.err, "without /proc the program gets ours", seen)


main([set_user_id, links, fifo, lab_links, misspelt, loaded, killed_with_us, without_proc])
