"""What a person at a terminal sees of a campaign: how much is done, what runs, and how long the rest takes; nothing in a pipe."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from .plan import Run


def duration(seconds: float) -> str:
    minutes = int(seconds / 60 + 0.5)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"


class Progress:
    """Time left is what the runs of this call took, a run, times those that are left."""

    def __init__(self, shown: bool | None = None) -> None:
        self._shown = sys.stderr.isatty() if shown is None else shown
        self._todo = self._all = self._finished = 0
        self._begun = time.monotonic()
        self._what = ""
        self._lock = threading.Lock()

    def begin(self, todo: int, whole: int) -> None:
        self._todo, self._all, self._begun = todo, whole, time.monotonic()

    def left(self) -> float | None:
        """Seconds, as far as can be said."""
        if self._finished == 0:
            return None
        return (time.monotonic() - self._begun) / self._finished * (self._todo - self._finished)

    def batch(self, runs: list[Run]) -> None:
        self._what = f"block {runs[0].block + 1}: " + (
            runs[0].cell.text if len(runs) == 1 else f"{len(runs)} runs on {runs[0].cell.settings['machine']}")
        self._line()

    def ended(self) -> None:
        """One run of a batch has ended; its row comes with the batch's. Any thread may say so."""
        with self._lock:
            self._finished += 1
            self._line()

    def done(self, finished: list[dict[str, Any]]) -> None:
        for row in finished:
            if row["status"] != "ok":
                self._say(f"run {row['run']} ({row['program']} {row['variant']}): {row['status']}: {row['message']}")

    def end(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _line(self) -> None:
        if self._shown:
            left = self.left()
            stood = self._all - self._todo + self._finished
            text = f"{stood} of {self._all} runs; {self._what}" + ("" if left is None else f"; {duration(left)} left")
            print(f"\r\033[K{text}"[:200], end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        print(("\r\033[K" if self._shown else "") + f"homing experiment: {text}", file=sys.stderr, flush=True)
