"""The demo's checks can fail: wrong results, a wrong library, a crash and a hang of a program are all found."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import measure  # noqa: E402
from libraries import Library, WrongLibrary  # noqa: E402
from programs.base import Program, Step  # noqa: E402
from results import Close, differences, parse_lines  # noqa: E402


class Shell(Program):
    """A program that is one line of shell."""

    name = title = "shell"

    def __init__(self, line):
        self.line = line

    def prepare(self, inputs):
        pass

    def steps(self, place):
        return [Step(["/bin/sh", "-c", self.line])]

    def results(self, place):
        return parse_lines(place.stdout())


class Results(unittest.TestCase):
    def test_exact_values_must_be_equal(self):
        self.assertEqual(differences({"a": "1"}, {"a": "1"}), [])
        self.assertEqual(len(differences({"a": "1"}, {"a": "2"})), 1)

    def test_a_missing_or_an_added_value_is_a_difference(self):
        self.assertEqual(len(differences({"a": "1", "b": "2"}, {"a": "1"})), 1)
        self.assertEqual(len(differences({"a": "1"}, {"a": "1", "b": "2"})), 1)

    def test_nothing_to_compare_is_not_equality(self):
        self.assertNotEqual(differences({}, {}), [])

    def test_floating_point_sums_are_equal_within_their_tolerance(self):
        self.assertEqual(differences({"a": Close(1.0)}, {"a": Close(1.0 + 1e-12)}), [])
        self.assertEqual(len(differences({"a": Close(1.0)}, {"a": Close(1.0 + 1e-6)})), 1)
        self.assertEqual(len(differences({"a": Close(1.0)}, {"a": Close(float("nan"))})), 1)
        self.assertEqual(len(differences({"a": Close(1.0)}, {"a": "1.0"})), 1)

    def test_lines_are_read_as_exact_or_close(self):
        self.assertEqual(parse_lines("sort ab12\nsum 2.5~\n"), {"sort": "ab12", "sum": Close(2.5)})


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_line(self, line, library=None):
        library = library or Library("none", (self.folder,))
        return measure.run_once(Shell(line), library, self.folder, self.folder / "out", threads=2, extra={})

    def test_a_crash_a_bad_status_and_a_missing_program_are_failures(self):
        self.assertIn("SIGSEGV", self.run_line("kill -SEGV $$").failure)
        self.assertIn("status 3: oh no", self.run_line("echo oh no >&2; exit 3").failure)
        self.assertIn("status 127", self.run_line("no-such-program-here").failure)

    def test_a_hang_is_a_failure_and_its_children_are_killed(self):
        limit, measure.LIMIT_S = measure.LIMIT_S, 0.2
        self.addCleanup(setattr, measure, "LIMIT_S", limit)
        fifo = self.folder / "alive"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        run = self.run_line(f"(cat /dev/zero > /dev/null 3> {fifo}) & wait")
        self.assertIn("did not end", run.failure)
        os.set_blocking(reader, True)
        self.assertEqual(os.read(reader, 1), b"")  # returns only when no process holds the other end

    def test_a_program_that_loads_no_libtbb_is_a_failure(self):
        self.assertIn("no libtbb.so.12 was loaded", self.run_line("echo a 1").failure)

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_the_library_meant_is_told_from_another(self):
        for name in ("meant", "other"):
            folder = self.folder / name
            folder.mkdir()
            subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-Wl,-soname,libtbb.so.12",
                            "-o", str(folder / "libtbb.so.12")], check=True)
        meant, other = (Library(name, (self.folder / name,)) for name in ("meant", "other"))
        loads = f"LD_PRELOAD={meant.file} /bin/true; echo a 1"
        self.assertIsNone(self.run_line(loads, meant).failure)
        self.assertIn("was meant", self.run_line(loads, other).failure)

    def test_the_callers_settings_do_not_reach_the_program(self):
        os.environ["HOMING_STEAL"] = "random"
        self.addCleanup(os.environ.pop, "HOMING_STEAL")
        env = Library("none", (self.folder,)).environment(self.folder, {"HOMING_REPORT": "here"})
        self.assertNotIn("HOMING_STEAL", env)
        self.assertEqual(env["HOMING_REPORT"], "here")

    def test_loader_logs_are_read(self):
        (self.folder / "loader.1").write_text("1:\tcalling init: /elsewhere/libtbb.so.12\n")
        with self.assertRaises(WrongLibrary):
            Library("none", (self.folder,)).check_loaded(self.folder)


if __name__ == "__main__":
    unittest.main()
