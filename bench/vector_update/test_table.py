"""The table's words: medians are those of statistics, and stock's library is found by another python than the environment's, too.

Run by `python3 bench/vector_update/test_table.py`.
"""

import os
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


if __name__ == "__main__":
    unittest.main()
