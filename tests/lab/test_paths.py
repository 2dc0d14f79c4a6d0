"""Where the lab takes its parts and our library from: what a variable names comes first, and a folder that is none is told by its
variable. Method: made-up builds."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "commands")]

from homing_lab import cache, paths  # noqa: E402
from homing_lab.architecture import AARCH64, X86_64  # noqa: E402
from homing_lab.errors import LabError  # noqa: E402


class Paths(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def made(self, name):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        return file

    def given(self, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOMING_")}
        return mock.patch.dict(os.environ, clean | variables, clear=True)

    def test_a_build_is_taken_whole(self):
        part = self.made("build/lab/part")
        library = self.made("build/lib/homing/libtbb.so.12")
        for variable, arch in (("HOMING_LAB_BUILD", X86_64), ("HOMING_LAB_GUEST_BUILD", AARCH64)):
            with self.subTest(variable), self.given(**{variable: str(self.folder / "build")}):
                self.assertEqual(paths.binary("part", arch), part)
                self.assertIsNone(paths.binary("homing-lab-init", arch))
                self.assertEqual(paths.tbb_library(arch), library)

    def test_a_folder_that_is_no_build_is_named(self):
        for variable, arch in (("HOMING_LAB_BUILD", X86_64), ("HOMING_LAB_GUEST_BUILD", AARCH64)):
            with self.subTest(variable), self.given(**{variable: str(self.folder)}):
                with self.assertRaisesRegex(LabError, f"{variable}={self.folder}: there is no folder"):
                    paths.binary("part", arch)

    def test_a_library_is_taken_before_a_builds(self):
        self.made("build/lab/part")
        self.made("build/lib/homing/libtbb.so.12")
        own = self.made("own/libtbb.so.12")
        with self.given(HOMING_LAB_TBB=str(own), HOMING_LAB_BUILD=str(self.folder / "build")):
            self.assertEqual(paths.tbb_library(), own)

    def test_a_library_that_is_none_is_named(self):
        self.made("build/lab/part")
        self.made("build/lib/homing/libtbb.so.12")
        build = str(self.folder / "build")
        for wrong, why in ((self.folder / "nope/libtbb.so.12", "there is no file"), (self.folder, "there is no file"),
                           (self.made("own/libtbb.so"), "is not called libtbb.so.12"),
                           (self.folder / ("a" * 300), "File name too long")):
            for arch in (X86_64, AARCH64):
                with self.subTest(wrong), self.given(HOMING_LAB_TBB=str(wrong), HOMING_LAB_BUILD=build):
                    with self.assertRaisesRegex(LabError, f"HOMING_LAB_TBB={wrong}: .*{why}"):
                        paths.tbb_library(arch)

    def test_a_limit_of_the_cache_that_is_none(self):
        for text in ("", "-1", "9" * 5000, "1099511627777"):
            with self.given(HOMING_LAB_CACHE_MIB=text), self.assertRaisesRegex(LabError, "HOMING_LAB_CACHE_MIB=.* is not valid"):
                cache.limit_bytes()
        for text, mib in (("0", 0), ("0" * 5000 + "7", 7), ("1099511627776", 1 << 40)):
            with self.given(HOMING_LAB_CACHE_MIB=text):
                self.assertEqual(cache.limit_bytes(), mib << 20)


if __name__ == "__main__":
    unittest.main()
