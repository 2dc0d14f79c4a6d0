"""Boots a machine, says why it ended, and never leaves it behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .children import Signals, die_with
from .errors import LabError
from .guest import WINDOW_BYTES, Channel
from .scratch import Scratch

CALIBRATION_FAILED = 97  # the plugin's exit status
GRACE_S = 20  # for the plugin to write its counts
QEMU_SAYS_MOST = 1500  # characters that are told of its last words: a crash's callers fit in
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT}


class LostBoot(Exception):
    """Lost by the emulator, before the program began: another boot may go better."""


class Machine:
    """A booted machine in a `with`: however that ends, QEMU has ended and its folder is gone. So it
    is where the runner is killed: QEMU's parent-death signal, and the folder's watcher."""

    def __init__(self, command: Callable[[Path, int], list[str]]) -> None:
        self._command = command
        self.folder = Path()
        self._scratch: Scratch | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._window: BinaryIO | None = None
        self._signals = Signals()

    def __enter__(self) -> Machine:
        self._signals.take()
        try:
            self._scratch = Scratch().__enter__()
            self.folder = self._scratch.folder
            self._window = (self.folder / "window").open("w+b")
            self._window.truncate(WINDOW_BYTES)
            ours, theirs = socket.socketpair()
            with theirs, (self.folder / "qemu.txt").open("wb") as said:
                self._process = subprocess.Popen(
                    self._command(self.folder, theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                    preexec_fn=die_with(os.getpid()),
                )
        except OSError as error:
            self.__exit__()
            raise LabError(
                f"can't start the machine: {error.filename or self.folder}: {error.strerror}",
                "what a run needs is in TMPDIR's folder: is that full, or a limit (ulimit -a) too low?",
            ) from error
        except BaseException:
            self.__exit__()
            raise
        self.channel = Channel(ours, self._window)
        return self

    def __exit__(self, *_: object) -> None:
        self._signals.ignore()
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._window:
            self._window.close()
        if self._scratch:
            self._scratch.__exit__()
            self._scratch = None
        self._signals.put_back()

    def cpu_s(self) -> float:
        """Of the host, that QEMU has used: unlike the time, no matter of who else uses the host."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text() if self._process else ""
        except OSError:
            return 0
        fields = text.rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0

    def interrupt(self) -> bool:
        """Ends QEMU in order, so that the plugin can write what it has. False if that takes too long: __exit__ kills it."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                return False
        return True

    def said(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except OSError:
            return ""

    def failure(self) -> LabError:
        """Why the channel closed before the guest said how the program ended."""
        try:
            status = self._process.wait(GRACE_S) if self._process else 0
        except subprocess.TimeoutExpired:
            status = 0
        console = self.said("console.txt")
        panic = re.search(r"Kernel panic - not syncing: (.*)", console)
        if "Initramfs unpacking failed: write error" in console or (
            panic and "deadlocked on memory" in panic[1]
        ):
            return LabError(
                "the guest's memory is full",
                "--memory MIB gives each node more; large files need it, too",
            )
        if panic:
            return LabError(
                f"the guest's kernel panicked: {panic[1].strip()}",
                f"its console begins to complain with:\n  {_lines(console)}",
            )
        text = self.said("qemu.txt").strip()
        if status == CALIBRATION_FAILED:
            return LabError(
                "the plugin could not learn which memory belongs to which node", text[-1500:]
            )
        if status:
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            return LabError(f"QEMU ended ({how}) before the program did", text[-QEMU_SAYS_MOST:])
        return LabError(
            "the guest ended before the program did",
            f"its console:\n  {_lines(console)}\n  {text[-500:]}",
        )

    def crashed(self) -> bool:
        """By itself: nobody killed it."""
        status = self._process.poll() if self._process else None
        return status is not None and -status in CRASHES

    def console_end(self) -> str:
        return _lines(self.said("console.txt"), slice(-8, None))


def _lines(console: str, which: slice = slice(8)) -> str:
    lines = [line for line in console.splitlines() if line.strip()]
    return "\n  ".join(lines[which]) or "(nothing)"
