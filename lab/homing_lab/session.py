"""One request in a booted machine: streams both ways, a time limit, results, how it ended."""

from __future__ import annotations

import math
import os
import select
import selectors
import stat
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from .boot import LostBoot, Machine
from .errors import LabError
from .guest import VERSION, BrokenChannel, Request
from .output import opener


# In the folder of results: what is in there is not to be taken for what the lab says of a run.
OURS = ("counts.json", "hot.json", "lab-run.json")


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
    in_order: bool = True  # QEMU ended by itself, so that the plugin wrote all that it had
    results: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        return 128 + self.signal if self.signal else self.code


class Limit:
    """The time limit of a run, all its boots together."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds or math.inf
        self._began = time.monotonic()

    def left_s(self) -> float:
        return self._began + self.seconds - time.monotonic()


@dataclass
class Streams:
    """Where the program's output goes, and where its input is from (None: nothing)."""

    output: BinaryIO
    errors: BinaryIO
    input: int | None = None
    window: Callable[[], tuple[int, int] | None] = lambda: None  # a changed size of the terminal
    started: Callable[[], None] = lambda: None


def _piece_bytes(stream: BinaryIO) -> int:
    """What can be written without a wait to what is ready: all, or what a pipe or terminal surely has room for."""
    return 1 << 20 if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else select.PIPE_BUF


class Session:
    """`run()` raises LabError (code 124 after the time limit), or LostBoot if the program has not
    been started: QEMU crashed before, or so much of the host's CPU time is over. A signal to us
    passes through it."""

    def __init__(
        self,
        machine: Machine,
        request: Request,
        streams: Streams,
        results: Path | None,
        limit: Limit,
        boot_cpu_s_max: float,
    ) -> None:
        self._machine, self._request, self._streams = machine, request, streams
        self._results, self._limit = results, limit
        self._boot_cpu_s_max = boot_cpu_s_max
        self._outcome = Outcome()
        self._file: BinaryIO | None = None
        self._unwritten: deque[tuple[BinaryIO, memoryview]] = deque()  # of the program's output
        self._input_open = streams.input is not None
        self._program_runs = False
        self._began = time.monotonic()

    def run(self) -> Outcome:
        with selectors.SelectSelector() as waiting:  # of all, this one takes regular files
            try:
                while self._unwritten or not self._outcome.phase:
                    self._wait(waiting)
            except BrokenChannel:
                raise LabError(
                    "the guest's second serial port carries what is no frame",
                    "does the program write to a serial port?",
                ) from None
            finally:
                self._close_file()
        # The guest has said all; how it switches itself off is no matter.
        self._outcome.in_order = self._machine.interrupt()
        return self._outcome

    def _wait(self, waiting: selectors.BaseSelector) -> None:
        """While output waits for whoever reads it, the guest is not listened to: it waits, too."""
        channel, source = self._machine.channel, self._streams.input
        takes_input = self._input_open and self._program_runs and channel.input_room() > 0
        output = self._unwritten[0][0] if self._unwritten else None
        events = 0 if output else selectors.EVENT_READ
        events |= selectors.EVENT_WRITE if channel.waiting else 0
        if events:
            waiting.register(channel.end, events)
        if output:
            waiting.register(output, selectors.EVENT_WRITE)
        if takes_input and source is not None:
            waiting.register(source, selectors.EVENT_READ)
        left = min(self._limit.left_s(), 3600)
        if left <= 0:
            self._out_of_time()
        if not self._program_runs and self._machine.cpu_s() > self._boot_cpu_s_max:
            raise LostBoot(
                f"the guest's kernel hung while it booted ({self._boot_cpu_s_max:.0f} s of CPU time)"
            )
        looks_again = self._request.terminal or not self._program_runs
        ready = {
            key.fd: seen
            for key, seen in waiting.select(min(left, 0.5) if looks_again else left)
        }
        if events:
            waiting.unregister(channel.end)
        if output:
            waiting.unregister(output)
            if output.fileno() in ready:
                self._write_some()
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
                error = self._machine.failure()
                if self._machine.crashed() and not self._program_runs:
                    raise LostBoot(str(error))
                raise error
            for kind, payload in frames:
                self._take(kind, payload)

    def _out_of_time(self) -> None:
        said = self._machine.console_end()
        self._machine.interrupt()
        limit = f"within {self._limit.seconds:g} s"
        if self._unwritten:
            what = f"nobody took the program's output {limit}"
        elif self._program_runs:
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

    def _write_some(self) -> None:
        stream, content = self._unwritten.popleft()
        size = _piece_bytes(stream)
        if content[size:]:
            self._unwritten.appendleft((stream, content[size:]))
        stream.write(content[:size])
        stream.flush()

    def _pass_input(self, source: int) -> None:
        try:
            content = os.read(source, self._machine.channel.input_room())
        except BlockingIOError:
            return  # somebody else was first
        except OSError as error:
            said = f"can't read stdin: {error.strerror}; the program gets no more input"
            self._outcome.messages.append(said)
            content = b""
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
            if payload:
                self._unwritten.append((stream, memoryview(payload)))
        elif kind == "C":
            outcome.calibration += payload.decode(errors="replace")
        elif kind == "M":
            outcome.messages.append(payload.decode(errors="replace"))
        elif kind == "F":
            self._close_file()
            self._file = self._result(payload)
        elif kind == "D" and self._file:
            try:
                self._file.write(payload)
            except OSError as error:
                self._cant_write(error)
        elif kind == "X":
            phase, *numbers = payload.decode().split()
            outcome.code, outcome.signal, outcome.memory_kills, outcome.start_error = map(
                int, numbers
            )
            outcome.run_s = time.monotonic() - self._began
            outcome.phase = phase

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file:
            try:
                file.close()
            except OSError as error:
                self._cant_write(error)

    def _cant_write(self, error: OSError) -> NoReturn:
        path = self._results / self._outcome.results[-1] if self._results else "a result"
        raise LabError(f"can't write {path}: {error.strerror}") from error

    def _result(self, payload: bytes) -> BinaryIO | None:
        """[LC5] Opens a result file; names that lead out of the folder are refused."""
        mode, name = payload.decode("utf-8", "surrogateescape").split(" ", 1)
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise LabError(f"the guest named a result {name!r}")
        if name in OURS:
            said = f"the result /results/{name} is left out: the lab's own file is called so"
            self._outcome.messages.append(said)
            return None
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
