"""One request in a booted machine: streams both ways, a time limit, results, how it ended."""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from .boot import HungAtBoot, Machine
from .errors import LabError
from .guest import VERSION, BrokenChannel, Request
from .output import opener


@dataclass
class Outcome:
    phase: str = ""  # that ended: calibration, program
    code: int = 0
    signal: int = 0
    memory_kills: int = 0
    start_error: int = 0  # errno, if the program did not start
    messages: list[str] = field(default_factory=list)
    calibration: str = ""  # what the calibrator printed
    boot_s: float = 0  # of the host
    run_s: float = 0  # of the host
    results: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        return 128 + self.signal if self.signal else self.code


@dataclass
class Streams:
    """Where the program's output goes, and where its input is from (None: nothing)."""

    output: BinaryIO
    errors: BinaryIO
    input: int | None = None
    window: Callable[[], tuple[int, int] | None] = lambda: None  # a changed size of the terminal
    started: Callable[[], None] = lambda: None


class Session:
    """`run()` raises LabError (code 124 after the time limit), or HungAtBoot if the program has not
    been started after so much of the host's CPU time; a signal to us passes through it."""

    def __init__(
        self,
        machine: Machine,
        request: Request,
        streams: Streams,
        results: Path | None,
        timeout_s: float | None,
        boot_cpu_s_max: float,
    ) -> None:
        self._machine, self._request, self._streams = machine, request, streams
        self._results, self._timeout_s = results, timeout_s
        self._boot_cpu_s_max = boot_cpu_s_max
        self._outcome = Outcome()
        self._file: BinaryIO | None = None
        self._input_open = streams.input is not None
        self._program_runs = False
        self._began = time.monotonic()

    def run(self) -> Outcome:
        deadline = self._began + self._timeout_s if self._timeout_s else None
        with selectors.SelectSelector() as waiting:  # of all, this one takes regular files
            try:
                while not self._outcome.phase:
                    self._wait(waiting, deadline)
            except BrokenChannel:
                raise LabError(
                    "the guest's second serial port carries what is no frame",
                    "does the program write to a serial port?",
                ) from None
            finally:
                self._close_file()
        self._machine.interrupt()  # the guest has said all; how it switches itself off is no matter
        return self._outcome

    def _wait(self, waiting: selectors.BaseSelector, deadline: float | None) -> None:
        channel, source = self._machine.channel, self._streams.input
        takes_input = self._input_open and self._program_runs and channel.input_room() > 0
        waiting.register(
            channel.end, selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.waiting else 0)
        )
        if takes_input and source is not None:
            waiting.register(source, selectors.EVENT_READ)
        left = 3600 if deadline is None else deadline - time.monotonic()
        if left <= 0:
            self._out_of_time()
        if not self._program_runs and self._machine.cpu_s() > self._boot_cpu_s_max:
            raise HungAtBoot
        looks_again = self._request.terminal or not self._program_runs
        ready = {
            key.fd: events
            for key, events in waiting.select(min(left, 0.5) if looks_again else left)
        }
        waiting.unregister(channel.end)
        if takes_input and source is not None:
            waiting.unregister(source)
            if source in ready:
                self._pass_input(source)
        size = self._streams.window()
        if size:
            channel.send(b"w", "{} {}".format(*size).encode())
        channel.flush()
        if ready.get(channel.end.fileno(), 0) & selectors.EVENT_READ:
            frames = channel.receive()
            if frames is None:
                raise self._machine.failure()
            for kind, payload in frames:
                self._take(kind, payload)

    def _out_of_time(self) -> None:
        said = self._machine.console_end()
        self._machine.interrupt()
        limit = f"within {self._timeout_s:g} s"
        if self._program_runs:
            what = f"the program did not end {limit}"
        elif self._outcome.boot_s:
            booted = f"the guest booted in {self._outcome.boot_s:.0f} s"
            what = f"{booted}, but did not start the program {limit}"
        else:
            what = f"the guest's kernel did not start our first program {limit}"
        raise LabError(
            what,
            "--timeout S sets another limit, 0 none"
            + ("" if self._program_runs else f"\nits console ends with:\n  {said}"),
            code=124,
        )

    def _pass_input(self, source: int) -> None:
        content = os.read(source, self._machine.channel.input_room())
        if content:
            self._machine.channel.send_input(content)
        else:
            self._input_open = False
            self._machine.channel.send(b"z")

    def _take(self, kind: str, payload: bytes) -> None:
        outcome = self._outcome
        if kind == "H":
            outcome.boot_s = time.monotonic() - self._began
            if payload.decode(errors="replace") != VERSION:
                raise LabError(
                    "the guest's first program and this command are of different builds",
                    "scripts/build release homing_lab_init homing_lab",
                )
            for name, content in self._request.frames():
                self._machine.channel.send(name, content)
        elif kind == "S":
            self._program_runs = True
            self._began = time.monotonic()
            self._streams.started()
            if not self._input_open:
                self._machine.channel.send(b"z")
        elif kind in "OE":
            stream = self._streams.output if kind == "O" else self._streams.errors
            stream.write(payload)
            stream.flush()
        elif kind == "C":
            outcome.calibration += payload.decode(errors="replace")
        elif kind == "M":
            outcome.messages.append(payload.decode(errors="replace"))
        elif kind == "F":
            self._close_file()
            self._file = self._result(payload)
        elif kind == "D" and self._file:
            self._file.write(payload)
        elif kind == "X":
            phase, *numbers = payload.decode().split()
            outcome.code, outcome.signal, outcome.memory_kills, outcome.start_error = map(
                int, numbers
            )
            outcome.run_s = time.monotonic() - self._began
            outcome.phase = phase

    def _close_file(self) -> None:
        if self._file:
            self._file.close()
        self._file = None

    def _result(self, payload: bytes) -> BinaryIO | None:
        """[LC5] Opens a result file; names that lead out of the folder are refused."""
        mode, name = payload.decode("utf-8", "surrogateescape").split(" ", 1)
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise LabError(f"the guest named a result {name!r}")
        self._outcome.results.append(name)
        if self._results is None:
            return None
        path = self._results / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = open(path, "wb", opener=opener)
            os.fchmod(file.fileno(), int(mode) & 0o777 | 0o600)
            return file
        except OSError as error:
            raise LabError(f"can't write {path}: {error.strerror}") from error
