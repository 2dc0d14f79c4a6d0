"""A program that hangs costs its own run, and no other's; whatever ends us ends what we started. Method: in the place
of `homing lab run` a program that says what a virtual machine would, and ends at its limit where a run is slow; real
processes, and signals."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from test_campaign import TEXT, Folder

from homing_experiment import campaign, in_lab, places, rows
from homing_experiment.progress import Progress

LAB = """#!{python}
import json, re, sys
words = sys.argv[1:]
regions = []
for line in words[-1].splitlines():
    number, label = re.search(r"begin (\\d+)'", line).group(1), re.search(r"--label '([^']*)'", line).group(1)
    print(f"{begin} {{number}}")
    if "--variant slow" in line:
        break
    print(json.dumps(dict(ms=[1.0], median_ms=1.0, moving_ms=0, rate=1, unit="x", at_home=None, pages={{}},
                          moved_bytes=0, note="", result="", homing=None, virtual=False)))
    print(f"{end} {{number}} 0")
    regions.append(dict(label=label, virtual_ns=1e6, local_cache=1, remote_cache=1, local_dram=1, remote_dram=1))
json.dump(dict(calibrated=True, regions=regions), open(words[words.index("--results") + 1] + "/counts.json", "w"))
open({built!r}, "w").write("built again")
sys.exit(124 if "slow" in words[-1] else 0)
"""


class Boots(Folder):
    def setUp(self):
        super().setUp()
        for name in ("bin/homing", "lib/homing/libtbb.so.12", "stock/libtbb.so.12", "programs/cg", "programs/mg",
                     "lab/homing_lab_plugin.so"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()
        self.homing = self.folder / "bin" / "homing"
        self.homing.write_text(LAB.format(python=sys.executable, begin=in_lab.BEGIN, end=in_lab.END,
                                          built=str(self.folder / "programs" / "cg")))
        self.homing.chmod(0o755)

    def go(self, text, **bounds):
        design = self.load(text)
        store = rows.Rows(self.folder / "rows.csv", design)
        where = places.Places(self.folder, self.folder / "stock")
        status = campaign.run(design, where, store, campaign.Bounds(**bounds), Progress(False))
        return status, store.load()

    def test_a_program_that_hangs(self):
        status, found = self.go(TEXT.replace('variant = "tbb"', 'variant = "slow"'))
        self.assertEqual((status["left"], len(status["failed"])), (0, 6))
        for row in found:
            self.assertEqual(row["status"], "limit" if row["variant"] == "slow" else "ok")
        self.assertIn("ended after 3600 s", next(row["message"] for row in found if row["status"] == "limit"))
        self.assertIn("they have another", self.quiet.getvalue())

    def test_a_bound_of_runs(self):
        status, _ = self.go(TEXT.replace('variant = "tbb"', 'variant = "slow"'), runs=5)
        self.assertEqual(status["done"], 5)

    def test_boots_without_an_answer(self):
        self.homing.write_text(self.homing.read_text().replace("regions = []", "regions = []; words[-1] = ''"))
        with self.assertRaisesRegex(Exception, "3 virtual machines failed"):
            self.go(TEXT)
        self.assertIn("and no run", self.quiet.getvalue())

    def test_a_build_that_goes_on_meanwhile(self):
        """The sum is of what the boot was given; and of the machine's file."""
        text = TEXT.replace('["cg", "mg"]', '["cg"]').split("[[leave_out]]")[0].replace('"westmere"', '"mine.toml"')
        (self.folder / "mine.toml").write_text("one")
        where = places.Places(self.folder, self.folder / "stock")
        run = campaign.missing(self.load(text), set())[0][0]
        before = in_lab.parts_of(self.load(text), where, run)
        self.assertEqual(self.go(text, runs=1)[1][0]["parts"], before)
        self.assertNotEqual(in_lab.parts_of(self.load(text), where, run), before)
        (self.folder / "programs" / "cg").write_text("")
        self.assertEqual(in_lab.parts_of(self.load(text), where, run), before)
        (self.folder / "mine.toml").write_text("two")
        self.assertNotEqual(in_lab.parts_of(self.load(text), where, run), before)


class Ends(unittest.TestCase):
    def test_what_we_started_ends_with_us(self):
        """By SIGKILL, which nobody can act upon; `finish` waits for the child meanwhile, and tells its number by a
        file."""
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "pid"
            child = f"import os, signal; open({str(told)!r}, 'w').write(f'{{os.getpid()}} '); signal.pause()"
            us = subprocess.Popen([sys.executable, "-c",
                                   f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
                                   "from homing_experiment import here\n"
                                   f"here.finish([sys.executable, '-c', {child!r}], {{}}, 600)"])
            while not told.exists() or not told.read_text().endswith(" "):
                self.assertIsNone(us.poll(), "it has ended, and its child has told nothing")
                os.sched_yield()
            pid = int(told.read_text())
            us.kill()
            us.wait()
            until = time.monotonic() + 900
            while time.monotonic() < until:
                try:
                    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                except FileNotFoundError:
                    return
                if state == "Z":
                    return
                os.sched_yield()
            os.kill(pid, signal.SIGKILL)
            self.fail("the program runs on")


if __name__ == "__main__":
    unittest.main()
