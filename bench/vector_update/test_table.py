"""The table's command: medians are those of statistics, stock's library is found by another python than the environment's, too, and
its virtual machine ends with it.

Run by `python3 bench/vector_update/test_table.py`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import table  # noqa: E402


class TableTest(unittest.TestCase):
    def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two(self):
        self.assertEqual(table.spread([4, 1, 2, 8], "{:.1f}"), "3.0 (1.0-8.0)")
        self.assertEqual(table.spread([4, 1, 2], "{:.1f}"), "2.0 (1.0-4.0)")

    def test_stock_is_that_of_the_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            venv = Path(folder) / "venv"
            said = subprocess.run([sys.executable, table.__file__], capture_output=True, text=True, env={**os.environ, "HOMING_VENV": str(venv)})
        self.assertEqual(said.returncode, 2)
        self.assertIn(f"no libtbb.so.12 in {venv}/lib;", said.stderr)

    def test_the_machine_ends_with_the_command(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("libtbb.so.12", "lib/homing/libtbb.so.12", "bench/vector_update/vector_update", "bin/homing"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        machine = folder / "bin/homing"
        machine.write_text(f"#!/bin/sh\ncd {folder}; trap 'touch switched_off; exit' TERM; touch begun; while :; do sleep 0.01; done\n")
        machine.chmod(0o755)
        command = subprocess.Popen([sys.executable, table.__file__, "--stock", str(folder), "--build", str(folder)], stderr=subprocess.PIPE, text=True)
        while not (folder / "begun").exists() and command.poll() is None:
            os.sched_yield()
        command.send_signal(signal.SIGTERM)
        self.assertEqual(command.communicate()[1], "interrupted\n")
        self.assertTrue((folder / "switched_off").exists(), "it has ended before the command")


if __name__ == "__main__":
    unittest.main()
