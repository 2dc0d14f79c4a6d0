"""programs/lab.py: what means nothing is refused before a machine boots, --check needs something to compare, and boots that are
kept are put together only with their like.

Run by `python3 programs/tests/test_lab.py`. Programs are made up: a script that lists its variants.
"""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

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

    def test_boots_of_one_setting(self):
        ours = SimpleNamespace(machine="westmere", threads=16, size=None, cache_scale=None)
        others = [SimpleNamespace(**{**vars(ours), **changed}) for changed in
                  ({"machine": "bulldozer"}, {"threads": 8}, {"size": "S"}, {"cache_scale": 2.0})]
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stderr(io.StringIO()) as told:
            folder = Path(name)
            (folder / "cg.1.json").write_text('[{"variant": "of an older lab.py"}]')
            for number, options in enumerate([ours, *others, ours]):
                lab.keep(folder, "cg", lab.setting_of(options, "cg"), [{"variant": str(number)}])
            found = lab.kept(folder, "cg", lab.setting_of(ours, "cg"))
            self.assertEqual(found, [[{"variant": "0"}], [{"variant": "5"}]])
            self.assertIn("5 of 7 boots of cg", told.getvalue())
            self.assertIn("machine westmere, threads 16, size S3, cache scale 64", told.getvalue())

    def test_a_boot_is_kept_beside_all_others(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for number in (1, 2, 10):
                (folder / f"cg.{number}.json").write_text("kept")
            (folder / "cg.1.json").unlink()
            lab.keep(folder, "cg", {}, [])
            self.assertEqual([(folder / f"cg.{number}.json").read_text() for number in (2, 10)], ["kept", "kept"])
            self.assertEqual(list(lab.files_of(folder, "cg")), [2, 10, 11])


if __name__ == "__main__":
    unittest.main()
