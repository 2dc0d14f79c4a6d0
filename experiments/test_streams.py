"""A command whose caller closed stdin or stderr tells nothing on stdout, and opens no file in their place. Method: a
process started without them."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

COMMANDS = Path(__file__).resolve().parents[1] / "commands"
PROGRAM = f"""
import os, subprocess, sys
sys.path.insert(0, {str(COMMANDS)!r})
from homing_commands import streams
streams.are_open()
print("for stderr", file=sys.stderr, flush=True)
subprocess.run(["/bin/sh", "-c", "echo for stderr, too >&2"], check=True)
file = os.open(os.devnull, os.O_RDONLY)
print(file > 2, os.readlink("/proc/self/fd/0"), os.readlink("/proc/self/fd/2"))
"""


class Streams(unittest.TestCase):
    def said(self, closed):
        done = subprocess.run(["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, PROGRAM],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def test_closed_ones_become_the_null_device(self):
        null = f"True {os.devnull} {os.devnull}\n"
        self.assertEqual(self.said("2>&-"), (null, ""))
        self.assertEqual(self.said("<&- 2>&-"), (null, ""))

    def test_open_ones_stay(self):
        for closed in ("", "<&-"):
            self.assertEqual(self.said(closed)[1], "for stderr\nfor stderr, too\n")


if __name__ == "__main__":
    unittest.main()
