"""Campaigns in virtual machines: rounds come from boots, a failure is told, and what was run is not run again.

Run by `python3 bench/runner/test_lab.py`. In the machines' place stands a program that runs the guest's shell text here, with a
made-up benchmark program; it counts how often it "booted".
"""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import interruption, lab_boot, lab_page, ratios  # noqa: E402
from runner.lab_boot import Lab, LabJob  # noqa: E402
from runner.lab_cases import thread_counts  # noqa: E402

import lab as bench_lab  # noqa: E402

HOMING = r"""#!{python}
import pathlib, subprocess, sys
words = sys.argv[1:]
assert words[:2] == ["lab", "run"] and "--virtual-clock" in words
here = pathlib.Path({folder!r})
boots = here / "boots"
boots.write_text(boots.read_text() + "x" if boots.exists() else "x")
if (here / "broken").exists():
    sys.exit("the guest did not start")
crashes = here / "crashes"
if crashes.exists() and crashes.read_text():
    crashes.write_text(crashes.read_text()[1:])
    print("homing lab: QEMU ended (signal 11) before the program did", file=sys.stderr)
    sys.exit(125)
results = words[words.index("--results") + 1]
text = words[-1].replace("/results/", results + "/").replace("/bench/", {folder!r} + "/")
sys.exit(subprocess.run(["/bin/sh", "-c", text]).returncode)
"""
PROGRAM = r"""#!{python}
import json, os, sys
folder = os.environ["LD_LIBRARY_PATH"]
print(json.dumps({{"program": "fake", "library": folder + "/libtbb.so.12", "version": "test"}}))
threads = int(sys.argv[sys.argv.index("--threads") + 1])
reps = int(sys.argv[sys.argv.index("--reps") + 1])
for item in sys.argv[sys.argv.index("--cases") + 1].split(","):
    name, _, count = item.partition("=")
    print(json.dumps({{"start": name}}), flush=True)
    if name.endswith("wrong") and folder == "/ours":
        sys.exit(3)
    ns = int(count) * (1000 if folder == "/ours" else 2000) // threads
    print(json.dumps({{"case": name, "iterations": int(count), "wall_ns": [ns] * reps, "cpu_ns": [0] * reps}}))
"""


class LabCampaignTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in (("homing", HOMING), ("fake", PROGRAM)):
            file = self.folder / name
            file.write_text(text.format(python=sys.executable, folder=str(self.folder)))
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        for name in ("stock", "ours"):
            (self.folder / name).mkdir()
            (self.folder / name / "libtbb.so.12").write_text(name)
        self.lab = Lab(self.folder / "homing", {name: self.folder / name for name in ("stock", "ours")}, 60,
                       self.folder / "kept")
        self.jobs = [LabJob(self.folder / "fake", threads, (("fake/a", 5), ("fake/b", 7))) for threads in (1, 4)]

    def boots(self) -> int:
        file = self.folder / "boots"
        return len(file.read_text()) if file.exists() else 0

    def rows(self, boots: int = 2) -> list[dict]:
        done = [lab_boot.boot(self.lab, "made-up", number, self.jobs, 3, 1) for number in range(boots)]
        self.done = done
        return [ratios.row(series, bench_lab.NAMES, 1) for series in bench_lab.series_of(done, self.jobs)]

    def test_a_round_is_a_boot(self):
        rows = self.rows()
        self.assertEqual([(row["case"], row["threads"]) for row in rows],
                         [("fake/a", 1), ("fake/a", 4), ("fake/b", 1), ("fake/b", 4)])
        for row in rows:
            self.assertEqual(row["wall"]["ratio"], 0.5)
            self.assertEqual(row["wall"]["pairs"], 2)
        self.assertEqual(rows[1]["wall"]["stock_ns"], 500)
        self.assertEqual(self.boots(), 2)

    def test_what_was_run_is_kept(self):
        first = self.rows()
        self.assertEqual(self.rows(3)[0]["wall"]["pairs"], 3)
        self.assertEqual(self.boots(), 3)
        self.assertEqual(self.rows(), first)
        self.assertEqual(self.boots(), 3)

    def test_a_page_of_what_is_kept_boots_nothing(self):
        self.rows(1)
        self.lab.only_kept = True
        self.assertIsNotNone(lab_boot.boot(self.lab, "made-up", 0, self.jobs, 3, 1))
        self.assertIsNone(lab_boot.boot(self.lab, "made-up", 1, self.jobs, 3, 1))
        self.assertEqual(self.boots(), 1)

    def test_another_library_is_run_again(self):
        self.rows()
        (self.folder / "ours" / "libtbb.so.12").write_text("changed")
        self.rows()
        self.assertEqual(self.boots(), 4)

    def test_a_wrong_result_is_told_and_the_cases_before_it_count(self):
        self.jobs = [LabJob(self.folder / "fake", 1, (("fake/a", 5), ("fake/wrong", 1)))]
        rows = self.rows(1)
        self.assertEqual(rows[0]["wall"]["ratio"], 0.5)
        self.assertEqual(rows[1]["failed"], {"ours": "wrong result"})
        self.assertIsNone(rows[1]["wall"])
        self.assertEqual(len(bench_lab.failures_of(self.done, self.jobs)), 1)

    def test_a_signal_and_an_exit_status_are_told_apart(self):
        def failure(status: int) -> str:
            (self.folder / "0-ours.status").write_text(f"{status}\n")
            return lab_boot.outcome_of(self.folder, 0, "ours").failure

        self.assertEqual([failure(status) for status in (139, 168, 255)], ["crash (SIGSEGV)", "crash (signal 40)", "exit status 255"])

    def test_a_machine_that_does_not_run_is_told_and_not_kept(self):
        (self.folder / "broken").touch()
        self.assertEqual([row["wall"] for row in self.rows(1)], [None] * 4)
        self.assertIn("the guest did not start", bench_lab.failures_of(self.done, self.jobs)[0])
        (self.folder / "broken").unlink()
        self.assertEqual(self.rows(1)[0]["wall"]["ratio"], 0.5)

    def test_a_boot_whose_emulator_crashes_is_repeated_and_told(self):
        crashes = self.folder / "crashes"
        crashes.write_text("xx")
        self.assertEqual(self.rows(1)[0]["wall"]["ratio"], 0.5)
        self.assertEqual(self.boots(), 3)
        self.assertEqual(len(self.done[0]["lost"]), 2)
        self.assertEqual(bench_lab.failures_of(self.done, self.jobs), [])
        entry = {"machine": "made-up", "rows": [], "boots": 1, "failures": [], "lost": self.done[0]["lost"]}
        self.assertEqual(sum("BOOTED AGAIN made-up" in line for line in lab_page.summary({"machines": [entry]})), 2)

    def test_an_emulator_that_always_crashes_fails(self):
        (self.folder / "crashes").write_text("x" * 9)
        self.assertIsNone(self.rows(1)[0]["wall"])
        self.assertEqual(self.boots(), 3)
        self.assertIn("signal 11", bench_lab.failures_of(self.done, self.jobs)[0])

    def test_page_and_picture_hold_every_ratio(self):
        entry = {"machine": "made-up", "title": "a machine", "cpus": 4, "nodes": 2, "boots": 2, "rows": self.rows(), "hot": {},
                 "failures": [], "lost": []}
        result = {"command": "bench/lab.py", "commit": "c", "host": "h", "load": "0", "machines": [entry],
                  "options": {"boots": 2, "reps": 3, "target_us": 5, "seed": 1}}
        text = lab_page.markdown(result)
        self.assertEqual(text.count("0.500 [0.500, 0.500] ~"), 4)  # of two boots: not sure
        self.assertIn("Modelled, not measured", text)
        self.assertEqual(lab_page.picture(result).count("<circle"), 4)

    def test_threads(self):
        self.assertEqual([thread_counts(n) for n in (1, 2, 6, 16)], [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8, 16]])
        self.assertEqual([thread_counts(n, quick=True) for n in (1, 2, 16)], [[1], [1, 2], [1, 4, 16]])

    def test_a_bar_is_missed_by_the_median_of_a_machine(self):
        rows = self.rows(1)
        entry = {"machine": "made-up", "rows": rows}
        self.assertEqual(bench_lab.missed_bars([entry]), [])
        for row in rows[:3]:
            row["wall"]["ratio"] = 3.0
        self.assertEqual(bench_lab.missed_bars([entry]), ["made-up: the median ratio is 3.00"])

    def test_a_machine_without_a_figure_misses_the_bar(self):
        self.assertEqual(bench_lab.missed_bars([{"machine": "made-up", "rows": []}]), ["made-up: nothing was compared"])
        (self.folder / "broken").touch()
        self.assertEqual(bench_lab.missed_bars([{"machine": "made-up", "rows": self.rows(1)}]), ["made-up: nothing was compared"])

    def test_what_was_started_ends_with_a_campaign_that_is_ended(self):
        machine = "trap 'sleep 0.5; touch switched_off; exit' TERM; touch begun; while :; do sleep 0.01; done"
        campaign = subprocess.Popen([sys.executable, "-c", "from runner.interruption import *\n"
                                     f"exit_with(lambda: run_to_its_end(['/bin/sh', '-c', {machine!r}], cwd={str(self.folder)!r}).returncode)"],
                                    cwd=Path(__file__).resolve().parent.parent, stderr=subprocess.PIPE, text=True)
        while not (self.folder / "begun").exists() and campaign.poll() is None:
            os.sched_yield()
        campaign.send_signal(signal.SIGTERM)
        self.assertEqual(campaign.communicate()[1], "interrupted\n")
        self.assertEqual(campaign.returncode, interruption.INTERRUPTED)
        self.assertTrue((self.folder / "switched_off").exists(), "it has ended before the campaign")


if __name__ == "__main__":
    unittest.main()
