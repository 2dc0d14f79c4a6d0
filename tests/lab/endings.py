#!/usr/bin/env python3
"""Property: whatever ends a run, one clear message says it, the exit status is right, and no QEMU and no folder is left.
Method: time-outs, signals to the runner, panics, full memory, what is missing, and a cache that is bounded."""

import os
import select
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from lab import COMMAND, ROOT, boot, check, compile_c, lab, main, need

EATS = """
#include <stdlib.h>
#include <string.h>
int main(void) { for (;;) { char* p = malloc(1 << 20); if (!p) return 3; memset(p, 1, 1 << 20); } }
"""

# Says in the calibrator's place that a page of node 0 is on node 1.
LIES = """
#include <homing/lab.h>
#include <unistd.h>
static char pages[2][4096] __attribute__((aligned(4096)));
int main(void) {
  HOMING_LAB_MARK(HOMING_LAB_CLOSE, pages[0]); /* as the calibrator: the plugin watches what comes after the first mark */
  getppid();
  pages[0][0] = pages[1][0] = 1;
  HOMING_LAB_MARK(HOMING_LAB_LEARN_PAGE, pages[0]);
  HOMING_LAB_MARK(HOMING_LAB_CHECK_PAGE, pages[1] + 1);
  HOMING_LAB_MARK(HOMING_LAB_CALIBRATED, pages[0]);
  return 0;
}
"""


def machines_of(folder):
    """QEMUs of runs whose temporary folders are below `folder`."""
    result = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "qemu-system" in words.split("\0")[0] and str(folder) in words:
            result.append(int(process.parent.name))
    return result


def start(folder, *words):
    """A run whose program says when it has started."""
    process = subprocess.Popen([COMMAND, "lab", "run", "--machine", "one-node", "--no-count", "--", "sh", "-c",
                                "echo started; exec tail -f /dev/null"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(folder)})
    check(process.stdout.readline() == "started\n", "started, and told at once")
    return process


def signals_to_the_runner(folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = start(folder)
        check(len(machines_of(folder)) == 1, "one machine runs")
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        check(process.returncode == 128 + number and "the machine is off" in said, f"{number.name} ends it", said)
        check(not machines_of(folder) and not list(folder.iterdir()), "nothing is left", list(folder.iterdir()))


def ended(descriptors):
    """Whether all processes end, by descriptors of theirs; nobody is asked again and again."""
    result = True
    for descriptor in descriptors:
        result &= bool(select.select([descriptor], [], [], 60)[0])
        os.close(descriptor)
    return result


def kill_of_the_runner(folder):
    process = start(folder)
    machines = machines_of(folder)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    check(len(machines) == 1 and str(machines[0]) in children, "the machine is the runner's child", (machines, children))
    descriptors = [os.pidfd_open(int(pid)) for pid in children]   # QEMU, and who watches over the folder
    process.kill()
    process.communicate(timeout=60)
    check(ended(descriptors) and not machines_of(folder), "SIGKILL of the runner ends the machine, too")
    check(not list(folder.iterdir()), "and nothing is left", list(folder.iterdir()))


def deaths_by_signal(folder):
    ill = compile_c(folder, "ill", "int main(void) { __asm__ volatile (\"ud2\"); }")
    seen = boot("--", ill)
    check(seen.code == 132 and "ill was killed by SIGILL (4, Illegal instruction)" in seen.err and "x86-64-v2" in seen.err,
          "an instruction that is not there, and what to do", seen)
    seen = boot("--file", ill, "--", "sh", "-c", f"{ill}; exit $?")
    check(seen.code == 132 and "status 132" in seen.err and "SIGILL" in seen.err, "by a shell", seen)
    seen = boot("--", "sh", "-c", "kill -SEGV $$")
    check(seen.code == 139 and "sh was killed by SIGSEGV (11, Segmentation fault)" in seen.err, "SIGSEGV", seen)


def the_build_that_is_named(folder):
    """Also where the command is a build's own."""
    (folder / "lab").mkdir()
    seen = boot("--", "true", env={"HOMING_LAB_BUILD": str(folder)})
    check(seen.code == 125 and f"{folder}/lab" in seen.err and "homing-lab-init" in seen.err, "a build without the lab", seen)
    seen = boot("--", "true", env={"HOMING_LAB_BUILD": str(folder / "none")})
    check(seen.code == 125 and f"HOMING_LAB_BUILD={folder}/none" in seen.err and "expected a build folder" in seen.err,
          "no build at all", seen)


def time_limit(folder):
    seen = lab("run", "--machine", "one-node", "--no-count", "--timeout", "8", "--", "tail", "-f", "/dev/null",
               env={"TMPDIR": str(folder)})
    check(seen.code == 124 and "did not end within 8 s" in seen.err, "the time limit", seen)
    check(not machines_of(folder) and not list(folder.iterdir()), "nothing is left")


def guest_troubles(folder):
    seen = boot("--", "sh", "-c", "echo c > /proc/sysrq-trigger", env={"TMPDIR": str(folder)})
    check(seen.code == 125 and "kernel panicked: sysrq triggered crash" in seen.err, "a panic", seen)
    check(not list(folder.iterdir()), "nothing is left")
    with tempfile.TemporaryDirectory() as other:
        eats = compile_c(Path(other), "eats", EATS)
        seen = boot("--memory", "256", "--", eats)
        check(seen.code == 137 and "memory was full" in seen.err and "--memory" in seen.err, "full memory", seen)
        large = Path(other) / "large"
        with large.open("wb") as file:
            file.truncate(700 << 20)
        seen = boot("--file", large, "--", "true", env={"XDG_CACHE_HOME": other})
        check(seen.code == 125 and "memory is too small" in seen.err, "files that do not fit", seen)
    seen = boot("--", "sh", "-c", "reboot -f")
    check(seen.code == 125 and "ended before the program did" in seen.err, "a guest that goes off", seen)


def a_failed_calibration(folder):
    lies = compile_c(folder, "lies", LIES, f"-I{ROOT}/include", "-static")
    seen = lab("run", "--machine", "one-node", "--file", f"{lies}:/homing/homing-lab-calibrate", "--results", folder / "out",
               "--", "echo", "ran", env={"TMPDIR": str(folder)})
    check(seen.code == 125 and "could not learn which memory" in seen.err and "is not where" in seen.err and "ran" not in seen.out,
          "a page that is not where Linux says ends the run, and is told", seen)
    check(not machines_of(folder), "nothing is left")


def what_is_missing(folder):
    compile_c(folder, "libgone.so", "int gone(void) { return 9; }", "-shared", "-fPIC")
    program = compile_c(folder, "needs", "int gone(void); int main(void) { return gone(); }", f"-L{folder}", "-l:libgone.so")
    (folder / "libgone.so").unlink()
    seen = boot("--", program)
    check(seen.code == 126 and "libgone.so" in seen.err and "not found" in seen.err, "a library", seen)
    seen = boot("--", "no-such-program")
    check(seen.code == 127 and "no-such-program" in seen.err, "a program", seen)
    (folder / "plain").write_text("text")
    check(boot("--", folder / "plain").code == 126, "not executable")
    (folder / "script").write_text("#!/no/such/interpreter\n")
    (folder / "script").chmod(0o755)
    seen = boot("--", folder / "script")
    check(seen.code == 126 and "/no/such/interpreter" in seen.err, "an interpreter", seen)
    seen = boot("--file", folder / "nothing", "--", "true")
    check(seen.code == 2 and "nothing" in seen.err, "a file", seen)
    seen = boot("--", "true", machine="westmer")
    check(seen.code == 2 and "near it: westmere" in seen.err, "a machine", seen)
    tools = folder / "tools"
    tools.mkdir()
    for name in ("python3", "sh", "true", "busybox"):
        found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True).stdout.strip()
        (tools / name).symlink_to(found)
    seen = boot("--", "true", env={"PATH": str(tools), "PYENV_ROOT": os.environ.get("PYENV_ROOT", "")})
    check(seen.code == 125 and "qemu-system-x86" in seen.err, "QEMU: what to install", seen)
    for words, said in ((["--thp", "sometimes"], "--thp"), (["--env", "x"], "NAME=VALUE"), (["--tbb", "other"], "--tbb")):
        seen = boot(*words, "--", "true")
        check(seen.code == 2 and said in seen.err, f"{words}", seen)


def cache_is_bounded(folder):
    environment = {"XDG_CACHE_HOME": str(folder)}
    first = boot("--", "true", env=environment)
    images = list((folder / "homing/lab").glob("image-*"))
    check(first.code == 0 and len(images) == 1, "the first run keeps its image", (first, images))
    changed = images[0].stat().st_ino
    boot("--", "true", env=environment)
    check([p.stat().st_ino for p in (folder / "homing/lab").glob("image-*")] == [changed], "the second takes it")
    for path in (folder / "homing/lab").glob("image-*"):
        os.utime(path, (0, 0))
    (folder / "more").write_text("more")
    boot("--file", folder / "more", "--", "true", env=environment | {"HOMING_LAB_CACHE_MIB": "1"})
    left = list((folder / "homing/lab").glob("image-*"))
    check(len(left) == 1 and left != images, "beyond the limit the oldest goes", left)
    seen = boot("--", "true", env=environment | {"HOMING_LAB_CACHE_MIB": "much"})
    check(seen.code == 125 and "HOMING_LAB_CACHE_MIB" in seen.err, "a wrong limit is named", seen)


def a_boot_that_hangs(folder):
    """As QEMU's emulation may: here the first one's CPU runs in a circle from its start on."""
    qemu = folder / "qemu-system-x86_64"
    qemu.write_text(f"#!/bin/sh\n[ -e {folder}/first ] && exec {shutil.which(qemu.name)} \"$@\"\n: > {folder}/first\n"
                    "while :; do :; done\n")
    qemu.chmod(0o755)
    seen = boot("--", "echo", "there", env={"PATH": f"{folder}:{os.environ['PATH']}"})
    check(seen.code == 0 and seen.out == "there\n", "a boot that hung is repeated", seen)
    check("hung while it booted" in seen.err and "booting again" in seen.err, "and that is told", seen)


need("qemu-system-x86_64", "busybox", "cc")
main([signals_to_the_runner, kill_of_the_runner, deaths_by_signal, the_build_that_is_named, time_limit, guest_troubles, a_failed_calibration, what_is_missing, cache_is_bounded,
      a_boot_that_hangs])
