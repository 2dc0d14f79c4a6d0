"""The comparison of whole programs: which case is compared with which, and that a process which fails costs its case only.

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
if "bogus" in sys.argv:
    print("made_up: --size bogus: expected one of the sizes", file=sys.stderr)
    sys.exit(2)
if "--list" in sys.argv:
    print("\\n".join(times))
    sys.exit()
variant = sys.argv[sys.argv.index("--variant") + 1]
if times[variant] is None:
    sys.exit("no such luck")
ms = times[variant]
print("no times" if ms == "many" else json.dumps({{"variant": variant, "ms": [ms] * 2 if ms else ms}}))
"""


class Programs(unittest.TestCase):
    def campaign(self, times: dict, limit_s: float | None = None, size: str | None = None) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            binary = Path(folder) / "made_up"
            binary.write_text(PROGRAM.format(python=sys.executable, times=times))
            binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
            libraries = [Library(name, Path(folder)) for name in ("stock", "ours")]
            return programs.campaign([binary], *libraries, size, 2, 3, 2, 1, lambda _: None, limit_s)[0]

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

    def test_a_failure_costs_its_case_only(self):
        found = self.campaign({"serial": 1, "tbb": None, "openmp": 2, "homing": 1})
        self.assertEqual(found["median_ms"], {"serial, ours": 1, "openmp, ours": 2, "homing, ours": 1})
        self.assertEqual([(c["case"], c["over"], c["ratio"]) for c in found["compared"]], [("homing, ours", "openmp, ours", 0.5)])
        told = [(entry["case"], entry["round"], entry["failure"], entry["message"]) for entry in found["failures"]]
        self.assertEqual(sorted(told), [(f"tbb, {library}", 1, "exit status 1", "no such luck") for library in ("ours", "stock")])
        self.assertIn("FAILED tbb, ours, round 1: exit status 1: no such luck", "\n".join(programs.lines([found])))

    def test_output_without_times_is_a_failure(self):
        for times in ("many", []):
            found = self.campaign({"tbb": times, "homing": 1})
            self.assertEqual({entry["failure"] for entry in found["failures"]}, {"no record of its times"})

    def test_a_size_that_is_refused_ends_the_campaign_in_a_line(self):
        with self.assertRaisesRegex(SystemExit, "^made_up --size bogus: refused its options: made_up: --size bogus: expected one of the sizes$"):
            self.campaign({"tbb": 1, "homing": 1}, size="bogus")

    def test_nothing_compared_misses_the_bars(self):
        found = self.campaign({"serial": 1, "tbb": 1, "homing": None})
        self.assertEqual(found["compared"], [])
        self.assertTrue(programs.missed([found]))
        self.assertIn("nothing was compared", "\n".join(programs.lines([found])))

    def test_a_bar_is_missed_if_the_whole_interval_of_enough_rounds_is_above_it(self):
        def said(ratio: float, low: float, high: float, rounds: int = 5) -> str:
            c = {"ratio": ratio, "low": low, "high": high, "bar": 1.03, "rounds": rounds}
            self.assertEqual(programs.missed([{"compared": [c]}]), programs.verdict(c) == "MISSED")
            return programs.verdict(c)

        self.assertEqual(said(1.0, 0.9, 1.2), "met")
        self.assertEqual(said(1.05, 1.01, 1.2), "open")
        self.assertEqual(said(1.05, 1.04, 1.2), "MISSED")
        self.assertEqual(said(1.05, 1.04, 1.2, rounds=4), "open")
        self.assertEqual(said(1.05, 1.05, 1.05, rounds=1), "open")

    def test_a_comparison_knows_its_rounds(self):
        self.assertEqual({c["rounds"] for c in self.campaign({"tbb": 1, "homing": 1})["compared"]}, {3})

    def test_results_are_json_and_lines(self):
        found = self.campaign({"tbb": 1, "homing": 1})
        self.assertTrue(json.dumps(found))
        self.assertIn("met", "\n".join(programs.lines([found])))


if __name__ == "__main__":
    unittest.main()
