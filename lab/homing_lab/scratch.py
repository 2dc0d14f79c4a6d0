"""Temporary folders that nothing outlives: however the runner ends, kill -9 included, they go."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import tempfile
import time
from pathlib import Path

ATTEMPTS_MAX = 100  # QEMU, killed at the same moment, may still make a file in there


def _remove(folder: Path) -> None:
    for _ in range(ATTEMPTS_MAX):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.05)


def _watch(life: int, folder: Path) -> None:
    """In a process of its own: waits until the runner has closed its end, or is dead."""
    os.setsid()  # what kills the runner's whole group passes us by
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    limit = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, life)  # whoever waits for the end of our output must not wait for this
    os.closerange(life + 1, min(limit, 1 << 16) if limit > 0 else 1 << 16)
    while os.read(life, 1):
        pass
    _remove(folder)


class Scratch:
    """A folder in a `with`. Make it while there is one thread: a second process watches over it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.gettempdir()) / f"homing-lab-{secrets.token_hex(6)}"
        self._life = -1
        self._watcher = 0

    def __enter__(self) -> Scratch:
        theirs, self._life = os.pipe()  # no program that we start inherits either
        self._watcher = os.fork()
        if self._watcher == 0:
            try:
                os.close(self._life)
                _watch(theirs, self.folder)
            finally:
                os._exit(0)
        os.close(theirs)
        try:
            self.folder.mkdir(mode=0o700)  # after the fork, so that it is never without a watcher
        except BaseException:
            self._dismiss()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        _remove(self.folder)
        self._dismiss()

    def _dismiss(self) -> None:
        os.close(self._life)
        os.waitpid(self._watcher, 0)
