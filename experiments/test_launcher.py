"""`homing experiment` runs with the Python that HOMING_EXPERIMENT_PYTHON names, if that one has what it needs. Method: shell scripts
in the Pythons' place."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


class Launcher(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "venv/bin").mkdir(parents=True)
        self.python("venv/bin/python", True)

    def python(self, name, has_packages):
        """Says its name and its words; asked by `-c` for its packages, it answers by its status."""
        file = self.folder / name
        file.write_text(f'#!/bin/sh\n[ "$1" != -c ] || exit {0 if has_packages else 1}\necho "{name} $*"\n')
        file.chmod(0o755)
        return str(file)

    def said(self, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
        done = subprocess.run([FOLDER / "homing-experiment", "list", "a b"], env=clean | variables, stdout=subprocess.PIPE, text=True)
        return done.stdout

    def test_the_named_one_comes_first(self):
        named = self.python("named", True)
        self.assertEqual(self.said(HOMING_EXPERIMENT_PYTHON=named, HOMING_VENV=str(self.folder / "venv")), f"named {FOLDER} list a b\n")

    def test_one_without_the_packages_is_passed_over(self):
        named = self.python("named", False)
        self.assertEqual(self.said(HOMING_EXPERIMENT_PYTHON=named, HOMING_VENV=str(self.folder / "venv")),
                         f"venv/bin/python {FOLDER} list a b\n")


if __name__ == "__main__":
    unittest.main()
