"""Programs that a command starts: they end with it, and a signal to it ends it in order."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from types import FrameType

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Stopped(Exception):
    def __init__(self, number: int) -> None:
        self.number = number


def die_with(parent: int, number: int = signal.SIGKILL) -> Callable[[], None]:
    """For subprocess's preexec_fn: the child gets the signal when `parent` is dead."""

    def in_child() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return in_child


def _stop(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


class Signals:
    """From `take()` on, signals that end a command raise Stopped; `ignore()` for an end in order; `put_back()`."""

    def __init__(self) -> None:
        self._before: dict[int, object] = {}

    def take(self) -> None:
        self._before = {
            n: signal.signal(n, _stop) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }

    def ignore(self) -> None:
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def put_back(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
