"""Our terminal while it belongs to a guest's shell: raw, its size known, put back at the end."""

from __future__ import annotations

import os
import signal
import termios
import tty
from types import FrameType


class Terminal:
    """Without a terminal (a pipe) it does nothing, and the guest gets a usual size."""

    def __init__(self) -> None:
        self._is_one = os.isatty(0)
        self._before: list[object] | None = None
        self._resized = False
        self.size = self._size()

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(0)
            return size.lines, size.columns
        except OSError:
            return 24, 80

    def __enter__(self) -> Terminal:
        signal.signal(signal.SIGWINCH, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            termios.tcsetattr(0, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    def raw(self) -> None:
        """From now on every key is the guest's, Ctrl-C, too."""
        if self._is_one and not self._before:
            self._before = termios.tcgetattr(0)
            tty.setraw(0)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._resized = True

    def changed(self) -> tuple[int, int] | None:
        """The new size, once after each change."""
        if not self._resized:
            return None
        self._resized = False
        return self._size()
