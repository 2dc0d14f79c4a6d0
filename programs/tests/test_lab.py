"""The command line of programs/lab.py: what means nothing is refused before a machine boots, and --check needs something to compare.

Run by `python3 programs/tests/test_lab.py`. Programs are made up: a script that lists its variants.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROGRAMS))

import lab  # noqa: E402


class LabTest(unittest.TestCase):
    def test_what_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "programs" / "cg"
            program.parent.mkdir()
            program.write_text("#!/bin/sh\necho serial; echo tbb\n")
            program.chmod(0o755)
            for option, value, expected in (("--boots", "0", "in 1.."), ("--boots", "-1", "in 1.."), ("--threads", "-4", "in 1..1024"),
                                            ("--cache-scale", "0", "1 or more"), ("--cache-scale", "nan", "1 or more"),
                                            ("--variant", "tbb,nobody", "cg has no nobody; expected some of serial, tbb"),
                                            ("--variant", "", "empty name")):
                with self.subTest(option=option, value=value):
                    ended = subprocess.run([sys.executable, PROGRAMS / "lab.py", "cg", "--build", folder, f"{option}={value}"],
                                           capture_output=True, text=True)
                    self.assertEqual(ended.returncode, 2, ended.stderr)
                    self.assertIn(expected, ended.stderr)

    def test_a_check_needs_both(self):
        def rows(*variants: str) -> list[dict]:
            return [{"variant": v, "program": "cg"} for v in variants]
        self.assertTrue(lab.has_both(rows("serial", "tbb", "homing-placed")))
        for lacking in (("serial", "homing-placed"), ("tbb", "homing"), ()):
            self.assertFalse(lab.has_both(rows(*lacking)))


if __name__ == "__main__":
    unittest.main()
