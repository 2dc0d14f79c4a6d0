#!/usr/bin/env python3
"""A QEMU that is none: plays the guest's part on the channel and the plugin's at the end, and runs the program here. So how the runner
treats a run can be tested without booting anything. Usage: as QEMU's, by made_up_qemu(); what it does otherwise than well:

MADE_UP_COUNTS: what becomes counts.json (without it: none). MADE_UP_SAYS: a last word on stderr. MADE_UP_RESULT: bytes of a result.
MADE_UP_CRASHES: a file, of whose lines each boot takes the first away: "boot" or "program" is when this one crashes."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

PIECE = 30_000   # [LC1]
COUNTED = ('{"schema": 1, "machine": "one-node", "calibrated": true, "regions": [{"label": "whole", "virtual_ns": 1000, "cpus": '
           '[{"local_cache": 1, "remote_cache": 0, "local_dram": 3, "remote_dram": 0}]}]}')


def made_up_qemu(folder, **settings):
    """Variables for a run without a machine: a build and a QEMU in `folder`, where all parts are made up."""
    (folder / "build/lab").mkdir(parents=True, exist_ok=True)
    for part in ("homing-lab-init", "homing_lab_plugin.so", "homing-lab-names.so"):
        (folder / "build/lab" / part).touch()
    (folder / "bin").mkdir(exist_ok=True)
    qemu = folder / "bin/qemu-system-x86_64"
    qemu.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(__file__)} \"$@\"\n")
    qemu.chmod(0o755)
    return {"HOMING_LAB_BUILD": str(folder / "build"), "HOMING_LAB_KERNEL": "/dev/null", "XDG_CACHE_HOME": str(folder / "cache"),
            "PATH": f"{folder}/bin:{os.environ['PATH']}", **{f"MADE_UP_{name.upper()}": value for name, value in settings.items()}}


class Channel:
    def __init__(self, words):
        number = next(word.rpartition("fd=")[2] for word in words if word.startswith("socket,id=channel,fd="))
        self._end = socket.socket(fileno=int(number))
        self._window = next(part[9:] for word in words if "id=window" in word for part in word.split(",") if part.startswith("mem-path="))

    def send(self, kind, payload=b""):
        self._end.sendall(kind.encode() + len(payload).to_bytes(4, "little") + payload)

    def stream(self, kind, content):
        for first in range(0, len(content), PIECE):
            self.send(kind, content[first:first + PIECE])

    def _bytes(self, count):
        content = b""
        while len(content) < count:
            piece = self._end.recv(count - len(content))
            if not piece:
                raise SystemExit(0)
            content += piece
        return content

    def receive(self):
        head = self._bytes(5)
        return chr(head[0]), self._bytes(int.from_bytes(head[1:], "little"))

    def from_window(self, payload):   # [LC7]
        buffer, length = int.from_bytes(payload[:4], "little"), int.from_bytes(payload[4:], "little")
        with open(self._window, "rb") as file:
            return os.pread(file.fileno(), length, (32 + buffer) * (256 << 10))


def request_of(channel):
    words, environment, folder = [], {}, "/"
    while True:
        kind, payload = channel.receive()
        if kind == "a":
            words.append(os.fsdecode(payload))
        elif kind == "e":
            name, _, value = os.fsdecode(payload).partition("=")
            environment[name] = value
        elif kind == "d":
            folder = os.fsdecode(payload)
        elif kind == "G":
            return words, environment, folder


def input_of(channel):
    content = b""
    while True:
        kind, payload = channel.receive()
        if kind == "z":
            return content
        if kind == "i":
            content += payload
            channel.send("A", str(len(payload)).encode())
        elif kind == "I":
            content += channel.from_window(payload)
            channel.send("B")


def next_crash():
    file = Path(os.environ.get("MADE_UP_CRASHES", os.devnull))
    first, *left = file.read_text().splitlines() or [""]
    if file.is_file():
        file.write_text("".join(f"{line}\n" for line in left))
    return first


def crash():
    print("homing lab: QEMU crashed, its plugin says", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def main():
    when = next_crash()
    channel = Channel(sys.argv)
    channel.send("H", b"2")
    words, environment, folder = request_of(channel)
    if when == "boot":
        crash()
    channel.send("S")
    if when == "program":
        crash()
    given = input_of(channel)
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(words, env=environment, cwd=folder, input=given, capture_output=True, check=False)
    channel.stream("O", done.stdout)
    channel.stream("E", done.stderr)
    for name in filter(None, os.environ.get("MADE_UP_RESULT", "").split()):
        channel.send("F", f"420 {name}".encode())
        channel.stream("D", bytes(100_000))
    ends = {signal.SIGTERM}   # before, it ends us at once
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    channel.send("X", f"program {done.returncode} 0 0 0".encode())
    signal.sigwait(ends)   # now the plugin writes
    for option in next((sys.argv[n + 1] for n, word in enumerate(sys.argv) if word == "-plugin"), "").split(","):
        if option.startswith("out=") and "MADE_UP_COUNTS" in os.environ:
            Path(option[4:]).write_text(os.environ["MADE_UP_COUNTS"])
    print(os.environ.get("MADE_UP_SAYS", ""), file=sys.stderr)


if __name__ == "__main__":
    main()
