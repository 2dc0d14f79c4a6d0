#!/usr/bin/env python3
"""Property: what is wrong around a run (input that can't be read, a full disk, counts that did not come) is told in a line, ends it
with 125 where it must, and never changes what the program gets. Method: the command itself on a QEMU that is made up; boots nothing."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from lab import COMMAND, Result, check, lab, main, need
from made_up_guest import COUNTED, made_up_qemu

RUN = f"'{COMMAND}' lab run --machine one-node"


def shell(line, env, cwd=None):
    """A command-line of bash, whose redirections are the test's."""
    return Result(subprocess.run(["bash", "-c", line], env=os.environ | env, cwd=cwd, capture_output=True, text=True, timeout=500,
                                 stdin=subprocess.DEVNULL))


def one_line(seen, said):
    return said in seen.err and "Traceback" not in seen.err


def the_made_up_guest(folder):
    env = made_up_qemu(folder, counts=COUNTED)
    seen = lab("run", "--machine", "one-node", "--", "sh", "-c", "cat; echo e >&2; exit 3", env=env, stdin="given\n")
    check(seen.code == 3 and seen.out == "given\n" and "e\n" in seen.err and "whole" in seen.err, "a run as usual", seen)


def disks_that_are_full(folder):
    env = made_up_qemu(folder, counts=COUNTED, result="full")
    out = folder / "out"
    out.mkdir()
    (out / "full").symlink_to("/dev/full")
    seen = lab("run", "--machine", "one-node", "--no-count", "--results", out, "--", "true", env=env)
    check(seen.code == 125 and one_line(seen, f"can't write {out}/full: No space left"), "a result on a full disk", seen)
    seen = shell(f"ulimit -f 1000; {RUN} --no-count -- true", env)
    check(seen.code == 125 and one_line(seen, "File too large"), "files that may not be as large as needed", seen)
    gone = folder / "gone"
    gone.mkdir()
    seen = shell(f"rmdir {gone}; {RUN} --no-count -- true", env, cwd=gone)
    check(seen.code == 125 and one_line(seen, "working folder"), "a working folder that is gone", seen)


def crashes_of_qemu(folder):
    crashes = folder / "crashes"
    env = made_up_qemu(folder, counts=COUNTED, crashes=str(crashes))
    run = ("run", "--machine", "one-node", "--", "echo", "there")
    crashes.write_text("boot\nboot\n")
    seen = lab(*run, env=env)
    check(seen.code == 0 and seen.out == "there\n" and seen.err.count("booting again") == 2, "two boots that crash", seen)
    check("QEMU ended (signal 11)" in seen.err and "its plugin says" in seen.err, "a boot that crashes says where", seen)
    crashes.write_text("boot\n" * 4)
    seen = lab(*run, env=env)
    check(seen.code == 125 and seen.out == "" and "4 boots were lost" in seen.err, "boots that crash always", seen)
    crashes.write_text("program\n")
    seen = lab(*run, env=env)
    check(seen.code == 125 and one_line(seen, "QEMU ended (signal 11) before the program did") and "its plugin says" in seen.err
          and "booting again" not in seen.err, "a program is not run twice", seen)


def numbers_that_are_none(folder):
    env = made_up_qemu(folder, counts=COUNTED)
    seen = lab("run", "--no-count", "--machine", "one-node", "--user", "²", "--", "true", env=env)
    check(seen.code == 2 and one_line(seen, "there is no user '²'"), "--user ²", seen)
    seen = lab("run", "--no-count", "--machine", "one-node", "--", "true", env=env | {"HOMING_LAB_CACHE_MIB": "²"})
    check(seen.code == 125 and one_line(seen, "HOMING_LAB_CACHE_MIB=²"), "HOMING_LAB_CACHE_MIB=²", seen)
    seen = lab("run", "--no-count", "--machine", "one-node", "--user", "9" * 5000, "--", "true", env=env)
    check(seen.code == 2 and "is too large" in seen.err and seen.err.count("\n") <= 2, "--user of 5000 digits", seen)
    for limit in ("inf", "1e10"):
        seen = lab("run", "--no-count", "--machine", "one-node", "--timeout", limit, "--", "echo", "there", env=env)
        check(seen.code == 0 and seen.out == "there\n", f"--timeout {limit}", seen)
    seen = lab("run", "--no-count", "--machine", "one-node", "--timeout", "nan", "--", "true", env=env)
    check(seen.code == 2 and one_line(seen, "'--timeout'"), "--timeout nan", seen)
    seen = lab("run", "--no-count", "--machine", "one-node", "--user", "4294967296", "--", "true", env=env)
    check(seen.code == 2 and one_line(seen, "--user 4294967296 is too large"), "a user beyond the kernel's", seen)


def input_that_cant_be_read(folder):
    env = made_up_qemu(folder, counts=COUNTED)
    seen = shell(f"{RUN} --no-count -- sh -c 'cat; echo end' 0>/dev/null", env)
    check(seen.code == 0 and seen.out == "end\n" and one_line(seen, "can't read stdin"), "a stdin that can only be written to", seen)
    seen = shell(f"{RUN} --no-count -- cat < .", env)
    check(seen.code == 125 and one_line(seen, "stdin is a folder"), "a folder as stdin", seen)
    seen = shell(f"{RUN} -- sh -c 'wc -c; exit 4' <&-", env)
    check(seen.code == 4 and seen.out == "0\n", "a closed stdin is an empty one", seen)
    seen = shell(f"{RUN} -- sh -c 'echo there; exit 4' 2>&-", env)
    check(seen.code == 4 and seen.out == "there\n", "a closed stderr", seen)


def output_that_nobody_reads(folder):
    env = made_up_qemu(folder, counts=COUNTED)
    process = subprocess.Popen([COMMAND, "lab", "run", "--machine", "one-node", "--no-count", "--timeout", "20", "--", "head", "-c", "1000000",
                                "/dev/zero"], env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        code = process.wait(500)
    except subprocess.TimeoutExpired:
        process.kill()
        code = "never ended"
    said = process.communicate()[1].decode()
    check(code == 124 and "nobody took the program's output within 20 s" in said, "the time limit holds", (code, said))
    seen = shell(f"{RUN} --no-count -- head -c 1000000 /dev/zero | (sleep 1; wc -c)", env)
    check(seen.out == "1000000\n", "all of it comes to a slow reader", seen)
    seen = shell(f"{RUN} --no-count -- sh -c 'head -c 1000000 /dev/zero; echo e >&2' > {folder}/file", env)
    check((folder / "file").stat().st_size == 1_000_000 and seen.err == "e\n", "and into a file", seen)


def running_below(folder):
    """Processes whose command-line has a word of that folder's."""
    return [p.parent.name for p in Path("/proc").glob("[0-9]*/cmdline") if str(folder).encode() in content_of(p)]


def content_of(process):
    try:
        return process.read_bytes()
    except OSError:
        return b""


def runs_tail(pid):
    return content_of(Path(f"/proc/{pid}/cmdline")).startswith(b"tail\0")   # others have the word in their script


def descriptor_of(pid):
    try:
        return os.pidfd_open(int(pid))
    except ProcessLookupError:   # it has ended
        return None


def a_program_that_does_not_end_while_it_is_learnt(folder):
    """It starts others, and waits for them."""
    if shutil.which("strace") is None:
        print("left out: no strace here")
        return
    with tempfile.TemporaryDirectory() as parts:
        env = made_up_qemu(Path(parts)) | {"TMPDIR": str(folder)}
        script = f"tail -f {folder}/waits & echo there > {folder}/started; wait"
        words = [COMMAND, "lab", "run", "--machine", "one-node", "--no-count", "--learn", "--plain-words"]
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            (folder / "waits").touch()
            os.mkfifo(folder / "started")
            process = subprocess.Popen([*words, "--timeout", "15" if number is None else "0", "--", "sh", "-c", script],
                                       env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, text=True)
            (folder / "started").read_text()   # returns when the program has written
            while not any(runs_tail(pid) for pid in running_below(folder)):   # forked, and no tail yet
                check(process.poll() is None, "the program waits", process.returncode)
                os.sched_yield()
            started = {pid: descriptor for pid in running_below(folder)
                       if int(pid) != process.pid and (descriptor := descriptor_of(pid)) is not None}
            if number is not None:
                process.send_signal(number)
            said = process.communicate(timeout=500)[1]
            expected = {None: 124, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
            check(process.returncode == expected and (number or "did not end here within 15 s" in said), f"--learn and {number}", said)
            if number is signal.SIGKILL:   # strace ends the program, and lets go of what that has started
                (folder / "waits").unlink()
                for pid, descriptor in started.items():
                    if runs_tail(pid):
                        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            check(all(select.select([d], [], [], 500)[0] for d in started.values()) and started, "nothing is left of it", list(started))
            for descriptor in started.values():
                os.close(descriptor)
            for left in folder.iterdir():
                left.unlink() if left.name in ("waits", "started") else check(False, "nor a file", left)


def counts_that_did_not_come(folder):
    out = folder / "out"
    words = ("run", "--machine", "one-node", "--results", out, "--", "true")
    seen = lab(*words, env=made_up_qemu(folder, says="homing lab: can't write counts.json: No space left on device"))
    check(seen.code == 125 and one_line(seen, "the plugin left no counts.json") and "No space left" in seen.err, "no counts", seen)
    seen = lab(*words, env=made_up_qemu(folder, counts=COUNTED, says="homing lab: can't write it: No space left on device"))
    check(seen.code == 0 and one_line(seen, "the plugin: can't write it: No space left on device; the counts may be incomplete"),
          "counts of before the last", seen)
    seen = lab("run", "--machine", "one-node", "--hot", "--", "true", env=made_up_qemu(folder, counts=COUNTED))
    check(seen.code == 125 and one_line(seen, "the plugin left no hot.json"), "no hot lines", seen)
    (out / "hot.json").touch()
    seen = lab(*words, env=made_up_qemu(folder, counts=COUNTED))
    check(not (out / "hot.json").exists(), "nothing of an earlier run is left", list(out.iterdir()))
    check(seen.code == 0 and "incomplete" not in seen.err and (out / "counts.json").is_file(), "all is well", seen)


def what_else_the_table_says(folder):
    counted = COUNTED.replace('"calibrated"', '"regionsLeftOut": 904, "calibrated"')
    seen = lab("run", "--machine", "one-node", "--", "true", env=made_up_qemu(folder, counts=counted))
    check(seen.code == 0 and "904 regions had no room" in seen.err, "regions that were left out", seen)


def results_that_look_like_ours(folder):
    seen = lab("run", "--machine", "one-node", "--no-count", "--results", folder / "out", "--", "true",
               env=made_up_qemu(folder, result="counts.json lab-run.json mine"))
    check(seen.code == 0 and not (folder / "out/counts.json").exists() and (folder / "out/mine").exists()
          and one_line(seen, "/results/counts.json is left out"), "a program's own counts.json is not taken for the lab's", seen)


def labels_with_brackets(folder):
    for label in ("update a[i]", "read [/data/in]", "[bold]b[/bold] \\\\"):
        seen = lab("run", "--machine", "one-node", "--", "true", env=made_up_qemu(folder, counts=COUNTED.replace("whole", label)))
        check(seen.code == 0 and f"  {label.replace(chr(92) * 2, chr(92))}  " in seen.err, f"the table says {label}", seen)


need("busybox", "bash")
main([the_made_up_guest, crashes_of_qemu, disks_that_are_full, numbers_that_are_none, input_that_cant_be_read, output_that_nobody_reads,
      a_program_that_does_not_end_while_it_is_learnt,
      counts_that_did_not_come, labels_with_brackets, what_else_the_table_says,
      results_that_look_like_ours])
