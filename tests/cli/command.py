"""What the tests of the command share: running it, and counting what fails. Usage of a test: TEST.py PATH-OF-HOMING"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

COMMAND = Path(sys.argv[1]).resolve()
OURS = ("HOMING_", "HWLOC_", "TBB_")
SECONDS_MAX = 200   # of one run: far beyond any on a busy host, and below ctest's limit


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"


def homing(*words, env=None, cwd=None, before=()):
    """Runs the command with an environment free of our variables, plus `env`; through the command `before`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    clean.pop("LD_LIBRARY_PATH", None)
    done = subprocess.run([*before, str(COMMAND), *map(str, words)], env=clean | (env or {}), cwd=cwd, text=True,
                          capture_output=True, timeout=SECONDS_MAX)
    return Result(done.returncode, done.stdout, done.stderr)


def script(path, text):
    """A program of the shell."""
    path.write_text(text)
    path.chmod(0o755)
    return path


_failures = 0
_left_out = 0


def check(condition, what, seen=""):
    global _failures
    if not condition:
        _failures += 1
    print(f"{'ok' if condition else 'FAILED'}: {what}" + ("" if condition else f"\n{seen}"))


def leave_out(reason):
    """Of a part that needs what is not installed: if all the rest holds, the test is a skipped one (exit status 77)."""
    global _left_out
    _left_out += 1
    print(f"left out: {reason}")


def main(tests):
    """Runs each test with a folder of its own."""
    for test in tests:
        folder = Path(tempfile.mkdtemp(prefix="homing-cli-"))
        try:
            test(folder)
        finally:
            shutil.rmtree(folder)
    raise SystemExit(1 if _failures else 77 if _left_out else 0)
