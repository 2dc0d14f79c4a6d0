"""Odd runs of a report are named, or read as they are: matrices of two sizes, a name that is no UTF-8, a machine that is given beside
the run's own. Method: checked-in runs, changed; boots nothing and opens no browser."""

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "commands")]

from homing_lab.errors import LabError  # noqa: E402
from homing_lab.report import figures, files, page, runs, sheet, words  # noqa: E402

RUNS = ROOT / "tests/data/lab"


class Odd(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def run_like(self, name, place, change=lambda counts: None, record=lambda written: None):
        """A copy of a checked-in run."""
        shutil.copytree(RUNS / name, self.folder / place)
        for file, of in (("counts.json", change), ("lab-run.json", record)):
            path = self.folder / place / file
            document = json.loads(path.read_text())
            of(document)
            path.write_text(json.dumps(document))
        return str(self.folder / place)

    def test_matrices_of_two_sizes_need_two_labels(self):
        def smaller(counts):
            for region in counts["regions"]:
                region["matrix"] = {key: [row[:2] for row in rows[:2]] for key, rows in region["matrix"].items()}

        words = [f"x={RUNS}/first-touch/1", f"x={self.run_like('first-touch/1', 'small', smaller)}"]
        with self.assertRaisesRegex(LabError, "matrices of 2 and 4 nodes"):
            runs.collect([], words, [])

    def test_a_scale_that_is_a_text(self):
        with self.assertRaisesRegex(LabError, "cache_scale: expected a number from 1, found '4'"):
            runs.collect([self.run_like("first-touch/1", "a", record=lambda r: r.update(cache_scale="4"))], [], [])

    def test_a_name_that_is_no_utf8(self):
        of = self.run_like("one-node", os.fsdecode(b"b\xff"))
        made = words.plain(page.make(figures.compare(runs.collect([of], [], []), [])))
        self.assertIn("b?", made.encode("utf-8").decode())

    def test_a_given_machine_is_for_runs_that_have_none(self):
        mine = self.folder / "westmere.toml"
        mine.write_text((ROOT / "lab/machines/westmere.toml").read_text().replace("title = \"", "title = \"Mine, "))
        own = self.run_like("first-touch/1", "own", record=lambda r: r.update(cache_scale=16))
        bare = self.run_like("first-touch/1", "bare", record=lambda r: (r.pop("machine_file"), r.update(cache_scale=16)))
        other = self.run_like("first-touch/1", "other", record=lambda r: (r.pop("machine_file"), r.update(cache_scale=4)))
        own, bare, other = (group.runs[0].machine for group in runs.collect([own, bare, other], [], [str(mine)]))
        self.assertNotIn("Mine", own.title)
        self.assertIn("Mine", bare.title)
        self.assertEqual((bare.cache_scale, other.cache_scale), (16, 4))

    def refused(self, said, **texts):
        """`texts`: of files of a run, by `counts` and `record`."""
        with self.subTest(said):
            of = self.run_like("one-node", f"run{len(os.listdir(self.folder))}")
            for name, file in (("counts", "counts.json"), ("record", "lab-run.json")):
                if name in texts:
                    (Path(of) / file).write_text(texts[name])
            with self.assertRaisesRegex(LabError, said) as caught:
                runs.collect([of], [], [])
            self.assertEqual(caught.exception.code, 2)
            self.assertLess(len(str(caught.exception)), 1000)

    def test_texts_that_lie_too_deep_or_are_too_long(self):
        written = (RUNS / "one-node/lab-run.json").read_text()
        record = json.loads(written)
        self.refused("counts.json: lists or tables lie too deep", counts="[" * 100_000)
        self.refused("counts.json: a number has too many digits", counts='{"schema": ' + "9" * 5000 + "}")
        self.refused("lab-run.json: lists or tables lie too deep", record="[" * 100_000)
        self.refused("lab-run.json: words: expected at most 100 lists", record=json.dumps(record | {"words": 0})[:-1]
                     .replace('"words": 0', '"words": ' + "[" * 200 + "]" * 200) + "}")
        self.refused("machine_file: lists or tables lie too deep", record=json.dumps(record | {"machine_file": "a=" + "[" * 100_000}))
        self.refused("machine_file: a number has too many", record=json.dumps(record | {"machine_file": "overlap=" + "9" * 5000}))

    def test_numbers_that_are_no_finite_ones(self):
        good = json.loads((RUNS / "one-node/counts.json").read_text())
        record = json.loads((RUNS / "one-node/lab-run.json").read_text())
        for key, value in (("virtual_ns", float("inf")), ("local_dram", 10**400), ("private", float("nan")), ("waits", 10**301)):
            regions = [good["regions"][0] | {key: value}]
            self.refused(rf"regions\[0\].{key}: expected a number from 0 to 1e\+300, found", counts=json.dumps(good | {"regions": regions}))
        self.refused("notSeen.0: expected numbers up to", counts=json.dumps(good | {"notSeen": [float("inf")]}))
        self.refused("quantum_cycles: expected numbers up to", record=json.dumps(record | {"quantum_cycles": float("inf")}))
        for status in ([1], {}, "1", 1.5, True):
            self.refused("exit_status: expected a whole number or null", record=json.dumps(record | {"exit_status": status}))

    def test_the_largest_numbers_are_told(self):
        def large(counts):
            for region in counts["regions"]:
                region.update(virtual_ns=1e300, local_dram=10**300, private=1e300, waits=5e-324, waits_given_up=1e300)

        def small(counts):
            for region in counts["regions"]:
                region.update(virtual_ns=5e-324)

        words_ = [self.run_like("one-node", "small", small), self.run_like("one-node", "large", large)]
        compared = figures.compare(runs.collect(words_, [], []), [])
        json.dumps(files.document(compared), allow_nan=False)
        for made in (page.make(compared), sheet.make(compared), files.table(compared)):
            self.assertTrue(made)

    def test_a_link_that_leads_to_itself(self):
        (self.folder / "loop").symlink_to("loop")
        with self.assertRaisesRegex(LabError, "there is no .*loop"):
            runs.collect([str(self.folder / "loop")], [], [])


if __name__ == "__main__":
    unittest.main()
