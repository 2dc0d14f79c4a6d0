"""The command lines of run.py and lab.py: what means nothing is refused before anything runs, in a line that names it and says what
was expected; and a campaign that measured nothing passes no check.

Run by `python3 bench/runner/test_options.py`. The commands are real processes; what they would run is not there.
"""

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

BENCH = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

import run as bench_run  # noqa: E402

COMMON = (("--threads", "99999999999", "99999999999: expected a number in 1..4096"), ("--threads", "1,x", "x: expected a number in 1..4096"),
          ("--threads", "", "expected a number"), ("--reps", "99999999999", "expected a number in 1..1000"), ("--reps", "0", "expected a number in 1..1000"),
          ("--seed", "-1", "expected a number in 0..18446744073709551615"), ("--build", "/proc/x", "/proc/x: No such file or directory"))
RUN = tuple(("--cap", value, f"{value}: expected seconds above 0, 604800 at most") for value in ("inf", "nan", "-1", "0", "x", "1e9")) + (
    ("--limit", "nan", "nan: expected seconds"), ("--pairs", "-5", "-5: expected a number in 1..100000"), ("--size", "small", "without --programs"),
    ("--programs=fib", "--threads=2", "--threads: of no use with --programs"), ("--programs=", "--cap=3", "--cap: of no use with --programs"),
    ("--programs", "", '--programs "": expected "all" or names out of'), ("--programs", "fib,nobody", "nobody"))
LAB = (("--boots", "0", "0: expected a number in 1..100000"), ("--timeout", "1e3", "1e3: expected a number in 1..604800"),
       ("--output", "/proc/x", "/proc/x: No such file or directory"))


class OptionsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("libtbb.so.12", "homing"):
            (self.folder / name).touch()
        self.there = ["--stock", str(self.folder), "--ours", str(self.folder)]

    def refused(self, command: list[str], expected: str) -> None:
        said = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        self.assertNotEqual(said.returncode, 0, command)
        self.assertEqual(said.stdout, "")
        self.assertNotIn("Traceback", said.stderr)
        self.assertIn(expected, said.stderr.splitlines()[-1])

    def test_what_means_nothing_is_refused(self):
        here = ["--build", str(self.folder / "build")]
        for option, value, expected in COMMON + RUN:
            with self.subTest(option=option, value=value):
                self.refused([str(BENCH / "run.py"), *self.there, *here, option, value], expected)
        for option, value, expected in COMMON + LAB:
            with self.subTest(command="lab", option=option, value=value):
                self.refused([str(BENCH / "lab.py"), *self.there, "--homing", str(self.folder / "homing"), "--output", str(self.folder / "out"),
                              *here, option, value], expected)

    def test_what_means_something_is_taken(self):
        options = bench_run.options_from([*self.there, "--build", str(self.folder / "new/build"), "--threads", "1,4096", "--cap", "0.5",
                                          "--seed", "0"])
        self.assertEqual((options.threads, options.cap, options.seed, options.reps), ([1, 4096], 0.5, 0, 5))
        self.assertTrue((self.folder / "new/build").is_dir())

    def status(self, failures: list[dict], rows: list[dict], *words: str) -> int:
        """Of a campaign that ended with these."""
        job = SimpleNamespace(binary=Path("fake"), suffix="", threads=1, series=rows, seconds=0)
        campaign = SimpleNamespace(plan=lambda _: None, jobs=[job], calibrate=lambda: None, run=lambda: None, versions={}, failures=failures)
        with (mock.patch.object(bench_run, "build", lambda _: []), mock.patch.object(bench_run, "Campaign", lambda *_: campaign),
              mock.patch.object(bench_run, "all_series", lambda _: rows), mock.patch.object(bench_run.ratios, "row", lambda row, *_: row),
              contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())):
            return bench_run.main([*self.there, "--build", str(self.folder), *words])

    def row(self, ratio: float) -> dict:
        times = {"stock_ns": 1.0, "ours_ns": ratio, "ratio": ratio, "low": ratio, "high": ratio, "pairs": 5}
        return {"case": "fake/a", "threads": 1, "figure": "wall", "wall": times, "cpu": times, "ours_alone_ns": 1.0, "ours_alone_cpu_ns": 1.0,
                "failed": {}, "capped": None}

    def test_a_campaign_that_measured_nothing_misses_its_bars(self):
        self.assertEqual(self.status([], [], "--check"), 1)
        self.assertEqual(self.status([], [self.row(0.5)], "--check"), 0)
        self.assertEqual(self.status([], [self.row(2)], "--check"), 1)
        self.assertEqual(self.status([], [self.row(2)]), 0)

    def test_a_failure_of_either_library_counts(self):
        for library in ("stock", "ours"):
            failure = {"library": library, "case": "fake/a", "program": "fake", "threads": 1, "failure": "crash", "message": ""}
            self.assertEqual(self.status([failure], [self.row(0.5)]), 1)


if __name__ == "__main__":
    unittest.main()
