"""What a person at a terminal sees while a machine boots; nothing in a pipe."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from .session import Streams

if TYPE_CHECKING:
    from rich.status import Status


class Waiting:
    """A line that moves until the program starts, for then the terminal is the program's."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._status: Status | None = None

    def __enter__(self) -> Waiting:
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status(self._text)
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()
        self._status = None

    def until_start(self, streams: Streams) -> Streams:
        before = streams.started

        def started() -> None:
            self.__exit__()
            before()

        return replace(streams, started=started)
