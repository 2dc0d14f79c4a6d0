#!/usr/bin/env python3
"""Property: a campaign's page, pictures and spreadsheet show each combination once, as itself, and keep the words
around them; rows of a real machine have their page, too; and what stands in docs/results is what the standing rows say.
Method: made-up rows of small campaigns, and of the papers' campaigns as on a real machine; the standing rows and pages.
Needs the packages of scripts/setup experiment; else skipped."""

import csv
import io
import itertools
import json
import math
import os
import re
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from made_up import Campaign  # skips, too

import matplotlib.pyplot as plt
import numpy as np
from homing_experiment import analyse, campaign, design, moved, plots, report, rows, tables, this_machine
from homing_experiment.errors import ExperimentError
from homing_experiment.progress import Progress
from homing_experiment.responses import SERVED

THREE = """
schema = 1
name = "three"
seed = 1
replicates = 5
[fixed]
variant = "tbb"
threads = 4
[factors]
program = ["cg", "mg", "ft"]
machine = ["westmere", "bulldozer"]
repeat = [1, 2, 3, 4]
[[leave_out]]
program = "ft"
repeat = 4
[[analysis]]
name = "all"
response = "median_ms"
baseline = { repeat = 1 }
[[analysis]]
name = "slowdown"
response = "median_ms"
only = { repeat = [1, 2, 3] }
baseline = { machine = "westmere" }
"""


def made_up(file: Path, text: str, value) -> tuple[design.Design, list[dict[str, str]]]:
    """A campaign and its rows; `value` of a run's levels and block."""
    file.write_text(text)
    found = design.load(file)

    def answer(_, __, batch, ended):
        return [{"run": run, "status": "ok", "kind": "modelled", "median_ms": value(dict(run.cell.levels), run.block),
                 "parts": "x", "local_cache": 1000 * dict(run.cell.levels)["repeat"], "remote_cache": 1,
                 "local_dram": 1, "remote_dram": 1,
                 "host_seconds": 1.0, "command": "cg"} for run in batch]

    store = rows.Rows(file.with_suffix(".csv"), found)
    campaign.run(found, SimpleNamespace(commit="c"), store, campaign.Bounds(), Progress(False), answer)
    return found, rows.good(store.load())


ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = ROOT / "experiments"
LARGE = this_machine.Machine("A Processor", {node: 16 for node in range(4)}, [0, 1, 2, 3], "madvise")


class RealMachine(unittest.TestCase):
    """The papers' campaigns with rows as `here` makes them: no virtual time, and no lines that the lab counts."""

    command = Campaign.command

    def measured(self, name: str) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        text = (CAMPAIGNS / f"{name}.toml").read_text()
        self.file = folder / f"{name}.toml"
        self.file.write_text(re.sub(r'(?m)^machine = ".*"$', 'machine = "here"', text))
        self.design = design.load(self.file)
        self.assertEqual({cell.settings["machine"] for cell in self.design.cells}, {"here"})
        self.run_it(folder)

    def run_it(self, folder: Path, **counted: int) -> None:
        source = np.random.default_rng(5)

        def answer(_, __, batch, ended):
            found = []
            for run in batch:
                ms = [float(np.exp(source.normal(1, 0.05))) for _ in range(run.cell.settings["repeat"])]
                found.append({"run": run, "status": "ok", "kind": "measured", "median_ms": float(np.median(ms)),
                              "ms": " ".join(f"{one:.6g}" for one in ms), "moving_ms": 0.5,
                              "end_to_end_ms": sum(ms) + 0.5, "rate": 1.0, "at_home": 0.5, "parts": "x",
                              "host_seconds": 1.0, "command": "cg", **counted})
            return found

        store = rows.Rows(folder / "rows" / f"{self.design.name}.csv", self.design)
        with mock.patch.object(campaign.here, "refuse_what_is_missing"):
            campaign.run(self.design, SimpleNamespace(commit="c"), store, campaign.Bounds(), Progress(False), answer)
        self.rows = rows.good(store.load())
        self.page = folder / "page.md"

    def said(self, *words: str) -> tuple[str, str]:
        with mock.patch.object(plots, "draw"):
            code, out, err = self.command(words[0], str(self.file), *words[1:])
        self.assertEqual(code, 0, err)
        return out, err

    def test_the_papers_campaigns(self):
        for name in ("tbb-numa", "contention", "pinned-cilk"):
            with self.subTest(name):
                self.measured(name)
                counted = [one for one in self.design.analyses if one["response"] in SERVED]
                lacking = [one["name"] for one in counted]
                others = [one["name"] for one in self.design.analyses if one["name"] not in lacking]
                self.assertTrue(lacking and others)
                found = json.loads(self.said("analyse", "--json")[0])
                self.assertEqual([one["name"] for one in found["analyses"]], others)
                self.assertEqual([one["name"] for one in found["missing"]], lacking)
                self.assertEqual({one["kind"] for one in found["analyses"]}, {"measured"})
                text, table = self.said("analyse")[0], self.said("analyse", "--csv")
                found = json.loads(self.said("report", "--json", "--page", str(self.page))[0])
                self.assertEqual([one["name"] for one in found["missing"]], lacking)
                page = self.page.read_text()
                for where in (text, page):
                    self.assertIn("Time of all repetitions, in ms: measured", where)
                    self.assertNotIn("irtual time", where)
                    self.assertNotIn("odelled", where)
                    for one in counted:
                        title, lacks = re.escape(one["title"]), f"has a {one['response']}; the lab counts it, "
                        self.assertRegex(where, rf"{title}\n(=+\n)?\nNo figures: none of the \d+ runs .*{lacks}")
                self.assertEqual({row["analysis"] for row in csv.DictReader(io.StringIO(table[0]))}, set(others))
                for one in lacking:
                    self.assertIn(f"analysis '{one}' is left out: none of the ", table[1])

    def test_the_papers_campaigns_with_here(self):
        """As they stand, on a machine with counters: all analyses but those of what remote caches served have figures, and all the
        factors of several levels."""
        for file in sorted(CAMPAIGNS.glob("*.toml")):
            with self.subTest(file.stem):
                folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
                self.file = folder / file.name
                self.file.write_text(file.read_text())
                self.page = folder / "page.md"
                self.design = moved.move(moved.renamed(design.load(self.file)), LARGE, 16 if file.stem == "near-and-far" else 64)
                self.run_it(folder, near=1000, far=10)
                found = json.loads(self.said("analyse", "--here", "--json")[0])
                lacking = [one["name"] for one in self.design.analyses if one["response"] in ("remote_cache", "remote_share")]
                self.assertEqual([one["name"] for one in found["missing"]], lacking)
                self.assertEqual({one["kind"] for one in found["analyses"]}, {"measured"})
                for one in found["analyses"]:
                    self.assertFalse([remark for remark in one["remarks"] if "one level" in remark], one["name"])
                self.said("report", "--here", "--page", str(self.page))
                page = self.page.read_text()
                self.assertIn("here: A Processor, 64 CPUs on 4 nodes", page)
                self.assertIn(f"<!-- made by homing experiment: {file.stem}-here -->", page)
                self.assertNotIn("odelled", page)

    def test_the_time_is_the_sum_of_the_repetitions(self):
        self.measured("tbb-numa")
        analysis = next(one for one in self.design.analyses if one["response"] == "virtual_ms")
        frame = analyse.frame_of(self.design, self.rows, analysis)
        expected = {(row["cell"], int(row["block"])): sum(map(float, row["ms"].split())) for row in self.rows}
        self.assertTrue(any(" " in row["ms"] for row in self.rows))
        for row in frame.itertuples():
            self.assertEqual(row.y, expected[(row.cell, row.block)])

    def test_a_modelled_time_is_the_model_s(self):
        """Also where the program's own times are there; and a modelled row without it has none."""
        self.measured("pinned-cilk")
        analysis = next(one for one in self.design.analyses if one["response"] == "virtual_ms")
        modelled = [row | {"kind": "modelled", "virtual_ms": "7"} for row in self.rows]
        self.assertEqual(set(analyse.frame_of(self.design, modelled, analysis)["y"]), {7.0})
        with self.assertRaises(analyse.NoFigure):
            analyse.frame_of(self.design, [row | {"kind": "modelled"} for row in self.rows], analysis)
        with self.assertRaisesRegex(ExperimentError, "do not mix"):
            analyse.frame_of(self.design, [*modelled[1:], *self.rows], analysis)

    def test_nothing_that_could_be_said(self):
        self.measured("pinned-cilk")
        code, out, err = self.command("analyse", str(self.file), "--only", "remote-dram", "--only", "remote-cache")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, "no row has a remote_cache\n.*the lab counts it")
        self.rows = []
        with self.assertRaisesRegex(ExperimentError, "run the campaign first"):
            analyse.frame_of(self.design, self.rows, self.design.analyses[0])

    def test_combinations_that_were_not_run(self):
        self.measured("tbb-numa")
        part = [row for row in self.rows if row["program"] != "ferret"]
        found = analyse.analyse_all(self.design, part, self.design.analyses)
        lacking = {one["name"]: one["missing"] for one in analyse.without_figures(found)}
        self.assertIn("no run of these combinations", lacking["time-ferret"])


class Standing(unittest.TestCase):
    """Rows and pages of this tree."""

    command = Campaign.command

    def test_the_pages_say_what_the_rows_say(self):
        """A report into a copy of the page leaves it as it is. Pictures are not compared, and so not drawn."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        pages = {page: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "results").glob("*.md"))}
        seen = 0
        for file in sorted(CAMPAIGNS.glob("*.toml")):
            campaign_ = design.load(file)
            standing = CAMPAIGNS / "rows" / f"{campaign_.name}.csv"
            if not standing.is_file():
                continue
            with self.subTest(campaign_.name):
                (page,) = [one for one, text in pages.items() if report.marks(campaign_.name)[0] in text]
                copy = folder / "docs" / "results" / page.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(pages[page], encoding="utf-8")
                with mock.patch.object(plots, "draw"):
                    code, _, err = self.command("report", str(file), "--page", str(copy), "--pictures",
                                                str(folder / "docs" / "pictures" / "experiments"))
                self.assertEqual(code, 0, err)
                made = self.section(copy.read_text(encoding="utf-8"), campaign_.name)
                stands = self.section(pages[page], campaign_.name)
                self.assertEqual(made, stands)
                seen += 1
        self.assertGreater(seen, 0)

    def section(self, text: str, name: str) -> list[str]:
        begin, end = report.marks(name)
        return text.partition(begin)[2].partition(end)[0].splitlines()


class Pages(Campaign):
    def test_a_page_keeps_the_words_around(self):
        page = self.folder / "page.md"
        begin, end = report.marks("made-up")
        page.write_text(f"# Title\n\nBefore.\n\n{begin}\nold\n{end}\n\nAfter.\n")
        for _ in range(2):
            code, _, err = self.command("report", str(self.file), "--page", str(page), "--pictures",
                                        str(self.folder / "pictures"))
            self.assertEqual((code, "36 runs" in err), (0, True))
        text = page.read_text()
        self.assertTrue(text.startswith("# Title\n\nBefore.") and text.endswith("\n\nAfter.\n") and "old" not in text)
        for part in ("Modelled, not measured", "seed 1", "36 of 36", "prefers-color-scheme: dark",
                     "Who served the lines"):
            self.assertIn(part, text)
        pictures = sorted(path.name for path in (self.folder / "pictures").iterdir())
        self.assertEqual(len(pictures), 10)
        first = (self.folder / "pictures" / "made-up-time-dark.svg").read_bytes()
        self.command("report", str(self.file), "--page", str(page), "--pictures", str(self.folder / "pictures"))
        self.assertEqual((self.folder / "pictures" / "made-up-time-dark.svg").read_bytes(), first)
        page.write_text(text.replace("<!-- end of made-up -->", ""))
        code, _, err = self.command("report", str(self.file), "--page", str(page))
        self.assertEqual((code, "marks" in err), (1, True))


    def test_marks_that_do_not_pair(self):
        page = self.folder / "page.md"
        begin, end = report.marks("made-up")
        for words in (f"before\n{end}\nmiddle\n{begin}\nafter\n", f"{begin}\n", f"{begin}\n{end}\n{begin}\n{end}\n"):
            page.write_text(words)
            with self.assertRaisesRegex(ExperimentError, "marks"):
                report.put(page, self.design, "text")
            self.assertEqual(page.read_text(), words)

    def test_a_page_or_a_folder_that_is_none(self):
        page, file = self.folder / "page.md", self.folder / "file"
        file.write_text("")
        page.write_bytes(b"\xff")
        for words, said in ((["--page", str(page)], f"{page} is no text in UTF-8"),
                            (["--pictures", str(file)], f"can't write {file}/")):
            code, _, err = self.command("report", str(self.file), *words)
            self.assertEqual((code, said in err), (1, True), err)
        self.assertEqual(page.read_bytes(), b"\xff")
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        code, _, err = self.command("report", str(self.file), "--page", str(fifo))
        self.assertEqual((code, f"{fifo} is not a regular file\n" in err, fifo.is_fifo()), (2, True, True), err)
        self.assertFalse((self.folder / "pictures").exists())
        self.assertEqual([path.name for path in self.folder.iterdir() if "tmp" in path.name], [])

    def test_a_page_that_is_the_campaign_s_own(self):
        link = self.folder / "link.md"
        link.symlink_to(self.store.path)
        for page, what in (self.file, "the campaign's file"), (self.store.path, "the file of rows"), (link, "the file of rows"):
            before = page.read_bytes()
            code, _, err = self.command("report", str(self.file), "--page", str(page))
            self.assertEqual((code, page.read_bytes() == before), (2, True), err)
            self.assertIn(f"--page {page}: is {what}; expected a page of text", err)

    def test_words_that_mean_more_on_a_page(self):
        """A title may hold what pictures, HTML and the page's own marks mean something by."""
        title = 'cost $\\foo$ <b>"best" <!-- end of made-up -->'
        whole = "seed = 1\ntitle = \"\"\"a\n" + title.replace("\\", "\\\\") + "\"\"\"\nsource = 'x | y'"
        text = self.file.read_text().replace("seed = 1", whole)
        self.file.write_text(text.replace('name = "time"', f"name = \"time\"\ntitle = '{title}'"))
        for _ in range(2):
            code, _, err = self.command("report", str(self.file))
            self.assertEqual(code, 0, err)
        page = self.store.path.with_suffix(".md").read_text()
        self.assertIn('# a cost $\\foo$ <b>"best" &lt;!-- end of made-up -->\n', page)
        self.assertIn("| after | x / y |", page)
        self.assertIn('alt="cost $\\foo$ &lt;b&gt;&quot;best&quot; &lt;!-- end', page)
        picture = self.store.path.parent / "pictures" / "made-up-time-light.svg"
        self.assertIn("cost $\\foo$", picture.read_text())

    def test_what_the_system_refuses(self):
        long = self.folder / ("x" * 300)
        for command in ("status", "analyse", "report"):
            code, out, err = self.command(command, str(self.file), "--rows", str(long))
            self.assertEqual((code, out), (1, ""))
            self.assertRegex(err, f"^homing experiment: {long}: File name too long\n  expected .*\n$")

    def test_a_spreadsheet(self):
        """Plain figures; a level with a comma in it is one level."""
        _, out, _ = self.command("analyse", str(self.file), "--csv")
        found = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual({row["analysis"] for row in found}, {"time", "lines"})
        for row in found:
            self.assertTrue(math.isfinite(float(row["value"])), row)
        cells = [row for row in found if row["table"] == "cells" and row["figure"] == "relative"]
        placed = next(row for row in cells if row["program"] == "cg" and row["variant"] == "homing-placed")
        self.assertTrue(float(placed["low"]) < 0.4 < float(placed["high"]))
        self.assertEqual((placed["blocks"], placed["sure"]), ("6", "True"))
        program = next(row for row in found if row["table"] == "variation" and row["figure"] == "program")
        self.assertTrue(0.8 < float(program["share"]) <= 1 and float(program["p"]) < 1e-4)
        self.assertEqual({row["variant"] for row in found if row["table"] == "contrasts"}, {"homing-placed less tbb"})
        self.assertEqual({row["variant"] for row in found if row["table"] == "against"}, {"homing-placed over homing"})

    def test_the_mean_is_in_the_unit(self):
        found = analyse.analyse(self.design, rows.good(self.store.load()), self.design.analyses[0])
        self.assertEqual(found["model"]["transform"], "log")
        lines = [line for line in tables.text(found).splitlines() if line.startswith("mean ")]
        self.assertIn("geometric mean: ", lines[0])

    def test_each_series_has_a_look_of_its_own(self):
        looks = [tuple(plots.look(number).values()) for number in range(64)]
        self.assertEqual(len(set(looks)), 64)


class ThreeFactors(Campaign):
    def setUp(self):
        super().setUp()
        source = np.random.default_rng(3)
        self.design, self.rows = made_up(self.folder / "three.toml", THREE, lambda levels, block: float(
            (3 if levels["program"] == "cg" and levels["machine"] == "bulldozer"
             else 1) * levels["repeat"] * np.exp(source.normal(0, 0.02))))
        self.all, self.slowdown = (analyse.analyse(self.design, self.rows, one) for one in self.design.analyses)

    def test_a_panel_a_level(self):
        """Of the factor with the fewest levels; each combination that there is has a bar; no panel where all are the
        base line."""
        figure = plots.bars(self.all)("k")
        panels = figure.axes
        self.assertEqual([axes.get_title("left") for axes in panels], ["machine: westmere", "machine: bulldozer"])
        self.assertEqual([[text.get_text() for text in axes.get_xticklabels()] for axes in panels],
                         [["cg", "mg", "ft"]] * 2)
        self.assertEqual([len(axes.patches) for axes in panels], [11, 11])
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()], ["1", "2", "3", "4"])
        part = plots.bars(self.all | {"cells": [cell for cell in self.all["cells"] if cell["levels"][2] != 2]})("k")
        self.assertEqual(part.axes[0].patches[1].get_facecolor(), panels[0].patches[2].get_facecolor())  # of 3, in both
        self.assertEqual([axes.get_title("left") for axes in plots.bars(self.slowdown)("k").axes],
                         ["machine: bulldozer"])
        plt.close("all")

    def test_lines_of_each_combination(self):
        levels_of = {cell.key: dict(cell.levels) for cell in self.design.cells}
        figure = plots.traffic(self.rows, levels_of, list(self.design.factors), "x")("k")
        self.assertEqual([axes.get_title("left") for axes in figure.axes],
                         [", ".join(pair) for pair in itertools.product(("westmere", "bulldozer"), ("cg", "mg", "ft"))])
        self.assertEqual([text.get_text() for text in figure.axes[0].get_xticklabels()], ["1", "2", "3", "4"])
        self.assertEqual([patch.get_height() for patch in figure.axes[0].patches[:4]], [1, 2, 3, 4])
        plt.close("all")

    def test_pairs_of_levels(self):
        """What a factor does only together with another is shown, and main effects that are averages over it are
        told."""
        said = tables.text(self.slowdown)
        self.assertIn("\ncg x bulldozer ", said)
        pair = next(one for one in self.slowdown["model"]["effects"] if one["levels"] == ["cg", "bulldozer"])
        self.assertAlmostEqual(pair["factor"][0], 3 ** (1 / 3), 1)
        self.assertIn("What machine does hangs on program (program x machine: ", said)
        self.assertNotIn("What repeat does", said)
        page = tables.markdown(self.slowdown)
        self.assertIn(f"<details><summary>{tables.PAIRS}</summary>\n\n|", page)
        self.assertEqual(page.count("<details>"), page.count("</details>"))

    def test_what_is_left_out(self):
        self.assertIsNone(self.all["model"])
        self.assertTrue(any("leaves 2 combinations out, (ft, westmere, 4) first" in remark
                            for remark in self.all["remarks"]))
        part = [row for row in self.rows if row["cell"] != self.rows[0]["cell"]]
        found = analyse.analyse(self.design, part, self.design.analyses[1])
        self.assertTrue(found["model"] is not None
                        or any("run of (" in remark and "and 0 other" not in remark for remark in found["remarks"]))


if __name__ == "__main__":
    unittest.main()
