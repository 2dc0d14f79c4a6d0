"""The demo's checks can fail: wrong results, a wrong library, a crash and a hang of a program are all found."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import compare  # noqa: E402
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

    def empty_library(self, name):
        folder = self.folder / name
        folder.mkdir()
        subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-Wl,-soname,libtbb.so.12",
                        "-o", str(folder / "libtbb.so.12")], check=True)
        return Library(name, (folder,))

    def compare_line(self, line):
        """Compares a line of shell on two empty libraries that it loads as a program would."""
        program = Shell(f"LD_PRELOAD=libtbb.so.12 /bin/true; {line}")
        return compare.compare(program, self.empty_library("stock"), self.empty_library("homing"), self.folder,
                               self.folder / "runs", threads=2, pairs=2, say=lambda text: None)

    REPORT = ("echo '{\"virtual\": '$virtual', \"domains\": '$domains', "
              "\"tasks\": {\"executed\": 10, \"home\": 9, \"away\": 1}, \"steals\": {\"near\": 2, \"far\": 1}}' > $HOMING_REPORT; ")
    MACHINE = 'virtual=false domains=1; [ -z "$HWLOC_SYNTHETIC" ] || { virtual=true domains=4; }; '

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_equal_runs_are_the_same_and_counted(self):
        verdict = self.compare_line(self.MACHINE + self.REPORT + "echo a 1")
        self.assertEqual(verdict.problems, [])
        self.assertEqual([verdict.same_output(where) for where in ("stock", "homing", "virtual")], [True] * 3)
        self.assertEqual(len(verdict.ratios), 2)
        self.assertEqual(verdict.virtual, compare.Counts(executed=10, home=9, near=2, far=1))

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_another_result_on_homing_is_not_the_same(self):
        verdict = self.compare_line(self.MACHINE + self.REPORT + "case $LD_LIBRARY_PATH in *homing) echo a 2;; "
                                    "*) echo a 1;; esac")
        self.assertEqual([verdict.same_output(where) for where in ("stock", "homing")], [True, False])
        self.assertTrue(verdict.problems)

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_a_report_that_is_missing_or_of_another_machine_is_a_problem(self):
        self.assertIn("wrote no report", "".join(self.compare_line("echo a 1").problems))
        shutil.rmtree(self.folder / "stock")
        shutil.rmtree(self.folder / "homing")
        verdict = self.compare_line("virtual=true domains=2; " + self.REPORT + "echo a 1")
        self.assertIn("virtual=True", "".join(verdict.problems))
        self.assertIn("saw 2 domains", "".join(verdict.problems))

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_the_library_meant_is_told_from_another(self):
        meant, other = self.empty_library("meant"), self.empty_library("other")
        loads = f"LD_PRELOAD={meant.file} /bin/true; echo a 1"
        self.assertIsNone(self.run_line(loads, meant).failure)
        self.assertIn("was meant", self.run_line(loads, other).failure)

    @unittest.skipUnless(shutil.which("g++"), "needs a compiler")
    def test_a_library_may_have_spaces_in_its_path(self):
        meant = self.empty_library("one of two")
        # LD_PRELOAD takes no spaces: by name, from the folder.
        self.assertIsNone(self.run_line("LD_PRELOAD=libtbb.so.12 /bin/true; echo a 1", meant).failure)

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
