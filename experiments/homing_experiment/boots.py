"""Batches under way: one at a time, or several virtual machines at once, each on processors of its own.

Several take less time in all: a virtual machine's CPUs wake each other all the time, which is dear between two processors of the host. The
modelled figures are the same. Threads: all calls by the one that made it; with several, batches run on threads of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from .errors import ExperimentError
from .plan import Run

Rows = list[dict[str, Any]]
Processors = frozenset[int]  # of the host, by the kernel's numbers


@dataclass
class Begun:
    batch: list[Run]
    started: str  # when, in UTC
    load: float  # of the host, then


def shares(at_once: int) -> list[Processors | None]:
    """The processors that this process may use, dealt in order to so many machines; one machine has no share: it has all."""
    usable = sorted(os.sched_getaffinity(0))
    if at_once > len(usable):
        raise ExperimentError(f"--at-once {at_once}: this process may use {len(usable)} processors, and each virtual machine needs one of its own",
                              f"expected 1 to {len(usable)}", code=2)
    if at_once == 1:
        return [None]
    ends = [number * len(usable) // at_once for number in range(at_once + 1)]
    return [frozenset(usable[first:end]) for first, end in zip(ends, ends[1:])]


class Boots:
    """In a `with`; left by an error or an interruption, it ends what is under way by `stop`, and waits for that."""

    def __init__(self, dealt: list[Processors | None], do: Callable[[Begun, Processors | None], Rows], stop: Callable[[], None]) -> None:
        self._free, self._do, self._stop = list(dealt), do, stop
        self._under_way: dict[Future[Rows], tuple[Begun, Processors | None]] = {}
        # One batch at a time runs on the calling thread, which is the one that signals interrupt.
        self._pool = ThreadPoolExecutor(len(dealt)) if len(dealt) > 1 else None

    def __enter__(self) -> Boots:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._pool is None:
            return
        if kind is not None:
            self._stop()
        self._pool.shutdown(cancel_futures=True)

    def has_room(self) -> bool:
        return bool(self._free)

    def busy(self) -> bool:
        return bool(self._under_way)

    def begin(self, begun: Begun) -> None:
        """Needs room. With one at a time it returns when the batch has ended."""
        share = self._free.pop(0)
        if self._pool is not None:
            future = self._pool.submit(self._do, begun, share)
        else:
            future = Future()
            try:
                future.set_result(self._do(begun, share))
            except Exception as error:  # whoever asks for the result meets it
                future.set_exception(error)
        self._under_way[future] = begun, share

    def ended(self) -> tuple[Begun, Future[Rows]]:
        """Waits for one; what the batch raised is in its future."""
        future = next(iter(wait(self._under_way, return_when=FIRST_COMPLETED).done))
        begun, share = self._under_way.pop(future)
        self._free.append(share)
        return begun, future
