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
from homing_lab.report import figures, page, runs, words  # noqa: E402

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


if __name__ == "__main__":
    unittest.main()
