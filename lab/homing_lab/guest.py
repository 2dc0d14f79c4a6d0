"""The runner's end of the channel to the guest: docs/protocols/lab_channel.md."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

HEADER_BYTES = 5
PAYLOAD_BYTES_MAX = 1 << 20  # more in one frame is no frame of ours
VERSION = "2"  # [LC2] of what is said here
INPUT_BYTES = 2048  # [LC4] that the guest has not acknowledged
BUFFER_BYTES, BUFFERS = 256 << 10, 32  # [LC6] of the window, each way
WINDOW_BYTES = 2 * BUFFERS * BUFFER_BYTES
WINDOW_INPUT_BYTES_MIN = 512  # [LC7]
CLOCK_BYTES = 2 << 20  # <homing/lab.h>; guests tell the devices apart by their sizes


class BrokenChannel(Exception):
    """The guest sent what is no frame."""


@dataclass
class Request:
    words: list[str]
    environment: dict[str, str]
    folder: str
    user: int = 0
    group: int = 0
    home: str = ""
    terminal: tuple[int, int] | None = None  # rows, columns
    calibrate: bool = False
    settings: list[tuple[str, str]] = field(default_factory=list)

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        """[LC2]"""
        for path, value in self.settings:
            yield b"k", f"{path} {value}".encode()
        yield b"u", f"{self.user} {self.group}".encode()
        yield b"d", self.folder.encode("utf-8", "surrogateescape")
        yield b"h", self.home.encode("utf-8", "surrogateescape")
        if self.terminal:
            yield b"t", "{} {}".format(*self.terminal).encode()
        if self.calibrate:
            yield b"c", b""
        for word in self.words:
            yield b"a", word.encode("utf-8", "surrogateescape")
        for name, value in self.environment.items():
            yield b"e", f"{name}={value}".encode("utf-8", "surrogateescape")
        yield b"G", b""


class Channel:
    """Our end. `waiting`: what QEMU has not taken yet; `window`: the file of the shared memory."""

    def __init__(self, end: socket.socket, window: BinaryIO) -> None:
        end.setblocking(False)
        self.end = end
        self._window = window
        self.waiting = bytearray()
        self._read = bytearray()
        self._unacknowledged = 0
        self._input_buffers = BUFFERS  # [LC7] that are ours to fill
        self._next_input_buffer = 0

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        self.waiting += kind + len(payload).to_bytes(4, "little") + payload
        self.flush()

    def flush(self) -> None:
        while self.waiting:
            try:
                del self.waiting[: self.end.send(self.waiting)]
            except BlockingIOError:
                return
            except OSError:
                self.waiting.clear()  # QEMU has ended; reading tells

    def input_room(self) -> int:
        """Bytes of input that may be sent now."""
        if self._input_buffers:
            return BUFFER_BYTES
        return max(0, INPUT_BYTES - self._unacknowledged)

    def send_input(self, content: bytes) -> None:
        room = INPUT_BYTES - self._unacknowledged
        if self._input_buffers and len(content) >= min(WINDOW_INPUT_BYTES_MIN, room + 1):
            self._input_through_window(content)
        else:
            self._unacknowledged += len(content)
            self.send(b"i", content)

    def _input_through_window(self, content: bytes) -> None:
        """[LC7]"""
        buffer = self._next_input_buffer
        os.pwrite(self._window.fileno(), content, (BUFFERS + buffer) * BUFFER_BYTES)
        self._next_input_buffer = (buffer + 1) % BUFFERS
        self._input_buffers -= 1
        self.send(b"I", struct.pack("<II", buffer, len(content)))

    def receive(self) -> list[tuple[str, bytes]] | None:
        """Complete frames, or None at the end."""
        try:
            content = self.end.recv(1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not content:
            return None
        self._read += content
        frames = []
        while len(self._read) >= HEADER_BYTES:
            length = int.from_bytes(self._read[1:HEADER_BYTES], "little")
            if length > PAYLOAD_BYTES_MAX:
                raise BrokenChannel
            if len(self._read) < HEADER_BYTES + length:
                break
            kind = chr(self._read[0])
            payload = bytes(self._read[HEADER_BYTES : HEADER_BYTES + length])
            del self._read[: HEADER_BYTES + length]
            if kind == "A":
                self._unacknowledged -= int(payload or b"0")
            elif kind == "B":
                self._input_buffers += 1
            elif kind == "W":
                frames.append(self._from_window(payload))
            else:
                frames.append((kind, payload))
        return frames

    def _from_window(self, payload: bytes) -> tuple[str, bytes]:
        """[LC6]"""
        if len(payload) != 9:
            raise BrokenChannel
        kind, buffer, length = struct.unpack("<cII", payload)
        if buffer >= BUFFERS or length > BUFFER_BYTES:
            raise BrokenChannel
        content = os.pread(self._window.fileno(), length, buffer * BUFFER_BYTES)
        self.send(b"b")
        return kind.decode("latin-1"), content
