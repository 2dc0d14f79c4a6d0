"""The comparison of whole programs: which case is compared with which, and that a process which fails ends the campaign.

Run by `python3 bench/runner/test_programs.py`. The program is a made-up one, a real process.
"""

import json
import stat
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import programs  # noqa: E402
from runner.execute import Library  # noqa: E402

PROGRAM = """#!{python}
import json, sys
times = {times}
if "--list" in sys.argv:
    print("\\n".join(times))
    sys.exit()
variant = sys.argv[sys.argv.index("--variant") + 1]
if times[variant] is None:
    sys.exit("no such luck")
print(json.dumps({{"variant": variant, "ms": [times[variant]] * 2}}))
"""


class Programs(unittest.TestCase):
    def campaign(self, times: dict, limit_s: float | None = None) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            binary = Path(folder) / "made_up"
            binary.write_text(PROGRAM.format(python=sys.executable, times=times))
            binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
            libraries = [Library(name, Path(folder)) for name in ("stock", "ours")]
            return programs.campaign([binary], *libraries, None, 2, 3, 2, 1, lambda _: None, limit_s)[0]

    def ratios(self, times: dict) -> dict:
        return {(c["case"], c["over"], c["bar"]): round(c["ratio"], 3) for c in self.campaign(times)["compared"]}

    def test_loops_are_compared_with_the_affinity_partitioner_and_the_best(self):
        found = self.ratios({"serial": 1, "tbb": 4, "tbb-affinity": 2.5, "openmp": 2, "homing": 5, "homing-placed": 1})
        self.assertEqual(found, {("homing, ours", "tbb-affinity, ours", 1.03): 2, ("homing-placed, ours", "tbb-affinity, ours", 1.03): 0.4,
                                 ("homing, ours", "openmp, ours", 1.05): 2.5, ("homing-placed, ours", "openmp, ours", 1.05): 0.5})

    def test_recursions_are_compared_with_tasks(self):
        found = self.ratios({"tbb": 2, "homing": 4, "homing-pinned": 6})
        self.assertEqual(found[("homing-pinned, ours", "tbb, ours", 1.03)], 3)
        self.assertIn(found[next(k for k in found if k[2] == 1.05)], (2,))

    def test_stock_runs_what_is_tbb_alone(self):
        cases = set(self.campaign({"serial": 1, "tbb": 1, "openmp": 1, "openblas": 1, "homing": 1})["median_ms"])
        self.assertEqual(cases, {"serial, ours", "tbb, stock", "tbb, ours", "openmp, ours", "homing, ours"})

    def test_a_limit_ends_with_a_whole_round(self):
        times = {"tbb": 1, "homing": 1}
        self.assertEqual([len(of) for of in self.campaign(times, 0)["rounds"]], [3])
        self.assertEqual([len(of) for of in self.campaign(times, 3600)["rounds"]], [3, 3, 3])

    def test_a_failure_is_told(self):
        with self.assertRaisesRegex(RuntimeError, "tbb on .*: exit status 1: no such luck"):
            self.campaign({"serial": 1, "tbb": None, "homing": 1})

    def test_a_bar_is_missed_if_the_whole_interval_is_above_it(self):
        def said(ratio: float, low: float, high: float) -> str:
            return programs.verdict({"ratio": ratio, "low": low, "high": high, "bar": 1.03})

        self.assertEqual(said(1.0, 0.9, 1.2), "met")
        self.assertEqual(said(1.05, 1.01, 1.2), "open")
        self.assertEqual(said(1.05, 1.04, 1.2), "MISSED")

    def test_results_are_json_and_lines(self):
        found = self.campaign({"tbb": 1, "homing": 1})
        self.assertTrue(json.dumps(found))
        self.assertIn("met", "\n".join(programs.lines([found])))


if __name__ == "__main__":
    unittest.main()
