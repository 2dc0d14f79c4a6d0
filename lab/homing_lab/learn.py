"""--learn: the files that a program opens, learnt from a run here, under strace."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from .children import Signals, die_with
from .errors import LabError
from .scratch import Scratch

# A call that succeeded: the path as it was said, then as the kernel opened it. Bytes in octal.
OPENED = re.compile(
    r'open(?:at|at2)?\((?:(?:AT_FDCWD|\d+)<(?P<at>[^>]*)>, )?"(?P<said>(?:[^"\\]|\\.)*)", '
    r"(?P<how>[^)]*)\) = \d+<(?P<opened>[^>]*)>"
)
STARTED = re.compile(r'execve\("(?P<said>(?:[^"\\]|\\.)*)", ')
SECONDS_MOST = 1e9  # as good as none
OTHERS = ("/proc/", "/sys/", "/dev/")  # the guest has its own
OF_THIS_HOST = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf")


def _path(text: str) -> str:
    plain = text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    return os.fsdecode(plain.encode("latin-1"))


def opened_files(trace: str, folder: str) -> list[Path]:
    """From strace's lines; `folder`: where the program was started. What was only written is left
    out, and so is what is there no longer."""
    result: dict[str, None] = {}
    for line in trace.splitlines():
        match = OPENED.search(line) or STARTED.search(line)
        if not match:
            continue
        facts = match.groupdict()
        if re.search(r"O_WRONLY|O_DIRECTORY|O_TRUNC", facts.get("how") or ""):
            continue
        at = _path(facts.get("at") or folder)
        said = os.path.join(at, _path(facts["said"]))
        for path in (said, _path(facts.get("opened") or "")):
            path = os.path.normpath(path) if path else ""
            if path and not path.startswith(OTHERS) and path not in OF_THIS_HOST:
                result[path] = None
    return [Path(path) for path in result if os.path.isfile(path)]


def _run(words: list[str], environment: dict[str, str], seconds_max: float) -> tuple[int, str]:
    """Exit status, and what was said on stderr. However this ends, the program and strace have ended: they are one
    group. If we are killed strace gets SIGTERM, which it passes on to the program."""
    signals = Signals()
    signals.take()
    process = None
    try:
        process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            process_group=0,
            preexec_fn=die_with(os.getpid(), signal.SIGTERM),
        )
        said = process.communicate(timeout=seconds_max if seconds_max < SECONDS_MOST else None)[1]
        return process.returncode, said.decode(errors="replace")
    except subprocess.TimeoutExpired:
        raise LabError(
            f"--learn: the program did not end here within {seconds_max:g} s",
            "--timeout S sets another limit, 0 none",
            code=124,
        ) from None
    finally:
        signals.ignore()
        if process:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        signals.put_back()


def learn(
    words: list[str], environment: dict[str, str], seconds_max: float
) -> tuple[list[Path], int]:
    """Runs the program here, without input, and throws its output away. Returns what it opened, and
    its exit status."""
    with Scratch() as scratch:
        trace = scratch.folder / "trace"
        calls = "trace=open,openat,openat2,execve"
        try:
            # -I 2: strace takes signals, which it does not otherwise where its output is a file.
            status, said = _run(
                ["strace", "-f", "-I", "2", "-qq", "-z", "-y", "-s", "4096", "-e", calls]
                + ["-e", "signal=none", "-o", str(trace), "--", *words],
                environment,
                seconds_max,
            )
        except FileNotFoundError:
            raise LabError(
                "--learn: no strace here", "scripts/setup lab, or: apt-get install strace"
            ) from None
        try:
            text = trace.read_text("latin-1")
        except OSError:
            text = ""
        if not STARTED.search(text):
            raise LabError("--learn: the program did not start here", said.strip()[-500:])
        return opened_files(text, os.getcwd()), status
