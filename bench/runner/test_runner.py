"""The runner blames the right case and keeps the others: campaigns over a made-up program that fails.

Run by `python3 bench/runner/test_runner.py`. The program is a real process; it crashes, gives a wrong
result or hangs in the case of that name, on the library that its environment names.
"""

import random
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import ratios, report  # noqa: E402
from runner.campaign import Campaign, Job, Series, all_series  # noqa: E402
from runner.execute import Library, Outcome  # noqa: E402

PROGRAM = r"""#!{python}
import json, os, signal, sys
folder = os.environ["LD_LIBRARY_PATH"]
bad = os.path.basename(folder) == "{bad}"
cases = {cases}
if "--list" in sys.argv:
    for name in cases:
        print(json.dumps({{"case": "fake/" + name, "heavy": name == "{heavy}", "figure": "wall"}}))
    sys.exit()
def say(entry):
    print(json.dumps(entry), flush=True)
say({{"program": "fake", "library": folder + "/libtbb.so.12", "version": "test"}})
wanted = sys.argv[sys.argv.index("--cases") + 1].split(",")
reps = int(sys.argv[sys.argv.index("--reps") + 1])
for item in wanted:
    name, _, count = item.partition("=")
    say({{"start": name}})
    if bad and reps and name.endswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if bad and reps and name.endswith("wrong"):
        os._exit(3)
    if bad and reps and name.endswith("hang"):
        signal.pause()
    times = [1000 if "ours" in folder else 2000] * reps
    say({{"case": name, "iterations": int(count or 10), "wall_ns": times, "cpu_ns": times}})
"""


HANG_S = 8.0  # a hang costs a test this long; a healthy process must never need it


class CampaignTest(unittest.TestCase):
    def campaign(self, cases, bad="ours", heavy=""):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("stock", "ours"):
            (folder / name).mkdir()
        binary = folder / "fake"
        binary.write_text(PROGRAM.format(python=sys.executable, bad=bad, cases=cases, heavy=heavy))
        binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
        options = SimpleNamespace(seed=1, only=None, threads=[1], two_nodes=False, cap=HANG_S, pairs=5,
                                  heavy_pairs=5, reps=2)
        result = Campaign(Library("stock", folder / "stock"), Library("ours", folder / "ours"), options,
                          lambda text: None)
        result.plan([binary])
        result.calibrate()
        for job in result.jobs:
            job.limit_s = HANG_S
        result.run()
        rows = [ratios.row(series, ("stock", "ours"), 1) for series in all_series(result)]
        return result, {row["case"]: row for row in rows}

    def test_good_program(self):
        campaign, rows = self.campaign(["one", "two"])
        self.assertEqual(campaign.failures, [])
        self.assertEqual(rows["fake/two"]["wall"]["ratio"], 0.5)
        self.assertEqual(rows["fake/two"]["wall"]["pairs"], 5)
        self.assertEqual(rows["fake/two"]["wall"]["ours_ns"], 100)

    def test_failures_cost_one_case_each(self):
        for case, how in (("crash", "crash (SIGSEGV)"), ("wrong", "wrong result"),
                          ("hang", f"still running after {HANG_S:.0f} s")):
            with self.subTest(case):
                campaign, rows = self.campaign(["before", case, "behind"])
                self.assertEqual([entry["case"] for entry in campaign.failures], ["fake/" + case])
                self.assertEqual(rows["fake/" + case]["failed"], {"ours": how})
                self.assertEqual(rows["fake/before"]["wall"]["pairs"], 5)
                self.assertEqual(rows["fake/behind"]["wall"]["pairs"], 5)
                self.assertIn(how, report.table(list(rows.values())))

    def test_stock_over_the_cap_is_no_failure(self):
        campaign, rows = self.campaign(["hang"], bad="stock", heavy="hang")
        self.assertEqual(campaign.failures, [])
        self.assertEqual(rows["fake/hang"]["capped"], f"still running after {HANG_S:.0f} s")
        self.assertEqual(rows["fake/hang"]["ours_alone_ns"], 1000)


    def test_the_time_limit_is_of_all_cases_after_a_failure_too(self):
        job = Job(Path("fake"), 1, "", {}, False, [Series(f"fake/{name}", 1, "wall", False) for name in ("long", "crash", "short")], 60)
        options = SimpleNamespace(seed=1, only=None, reps=2)
        campaign = Campaign(Library("stock", Path()), Library("ours", Path()), options, lambda text: None)
        campaign.jobs = [job]
        campaign.attempts = lambda *_: [Outcome(seconds=20), Outcome(seconds=1)]
        campaign.calibrate()
        self.assertEqual(job.limit_s, 21 * 5 * 3)


class RatiosTest(unittest.TestCase):
    def rounds(self, count, factor):
        source = random.Random(7)
        draw = [[source.randint(900, 1100) for _ in range(4)] for _ in range(2 * count)]
        return [{"stock": {"wall_ns": draw[2 * index]},
                 "ours": {"wall_ns": [factor * value for value in draw[2 * index + 1]]}}
                for index in range(count)]

    def test_interval_holds_the_ratio(self):
        found = ratios.compare(self.rounds(40, 2), "wall_ns", ("stock", "ours"), 10, 1)
        self.assertLess(found["low"], 2)
        self.assertGreater(found["high"], 2)
        self.assertLess(found["high"] - found["low"], 0.2)
        self.assertTrue(ratios.certain(found))

    def test_no_difference_is_not_certain(self):
        found = ratios.compare(self.rounds(40, 1), "wall_ns", ("stock", "ours"), 10, 1)
        self.assertFalse(ratios.certain(found))

    def test_few_rounds_are_not_certain(self):
        found = ratios.compare(self.rounds(3, 2), "wall_ns", ("stock", "ours"), 10, 1)
        self.assertFalse(ratios.certain(found))

    def test_halves_of_pairs_are_left_out(self):
        lone = [{"ours": {"wall_ns": [1]}}]
        self.assertIsNone(ratios.compare(lone, "wall_ns", ("stock", "ours"), 1, 1))


if __name__ == "__main__":
    unittest.main()
