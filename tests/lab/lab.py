"""What the lab's tests share: running `homing lab`, and counting what fails. Usage of a test: TEST.py PATH-OF-HOMING
Exit status 77 (skipped) where something that the test needs is not here."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
BOOT_SECONDS_MAX = 180   # of a host that is busy with other things


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


def lab(*words, env=None, stdin=None, cwd=None, seconds=2 * BOOT_SECONDS_MAX):
    """Runs `homing lab WORDS`."""
    done = subprocess.run([str(COMMAND), "lab", *map(str, words)], env=os.environ | (env or {}), text=True, cwd=cwd,
                          input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    return Result(done)


def boot(*words, machine="one-node", **more):
    """Runs `homing lab run` without the plugin, which these tests do not need."""
    return lab("run", "--machine", machine, "--no-count", "--timeout", BOOT_SECONDS_MAX, *words, **more)


def need(*programs):
    """Skips the test where one of them is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            print(f"skipped: no {program} here (scripts/setup lab)")
            raise SystemExit(77)


def compile_c(folder, name, text, *options):
    """A guest program, for any x86-64."""
    (folder / f"{name}.c").write_text(text)
    subprocess.run(["cc", "-O1", str(folder / f"{name}.c"), "-o", str(folder / name), *options], check=True)
    return folder / name


def _need_python():
    done = subprocess.run([str(COMMAND), "lab", "--help"], capture_output=True, text=True)
    if done.returncode == 125 and "typer and rich" in done.stderr:
        print("skipped: no Python with typer and rich (scripts/setup lab)")
        raise SystemExit(77)


_need_python()
_failures = 0


def check(condition, what, seen=""):
    global _failures
    if not condition:
        _failures += 1
    print(f"{'ok' if condition else 'FAILED'}: {what}" + ("" if condition else f"\n{seen}"), flush=True)


def main(tests):
    """Runs each test with a folder of its own."""
    for test in tests:
        folder = Path(tempfile.mkdtemp(prefix="homing-lab-test-")).resolve()
        try:
            test(folder)
        finally:
            shutil.rmtree(folder)
    raise SystemExit(1 if _failures else 0)
