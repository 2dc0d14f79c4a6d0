"""A campaign does each run once, in a random order that its seed decides, goes on where it was interrupted, and notices a
changed file; bad files are refused in a line that names what is wrong. Method: made-up files; in the programs' place stands a
function that answers, fails or is interrupted; and one real run of a made-up program, a real process."""

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

from homing_experiment import campaign, design, here, in_lab, known, places, plan, programs, rows  # noqa: E402
from homing_experiment.errors import ExperimentError  # noqa: E402
from homing_experiment.progress import Progress, duration  # noqa: E402

TEXT = """
schema = 1
name = "made-up"
seed = 7
replicates = 3
[limits]
runs_per_boot = 4
[fixed]
machine = "westmere"
threads = 4
[factors]
program = ["cg", "mg"]
scenario = ["near", "far"]
"env.HOMING_STEAL" = ["near", "random"]
[levels.scenario.near]
variant = "homing-placed"
[levels.scenario.far]
variant = "tbb"
library = "stock"
placement = "interleave"
[[leave_out]]
program = "mg"
scenario = "far"
[[analysis]]
response = "median_ms"
factors = ["scenario", "env.HOMING_STEAL"]
only = { program = "cg" }
"""
PROGRAM = """#!{python}
import json, os, sys
words = sys.argv[1:]
if words == ["--list"]:
    print("homing-placed  what it is\\ntbb\\nslow")
    raise SystemExit
if words == ["--help"]:
    print("usage: cg\\n\\nvariants:\\n  tbb  x\\nsizes:\\n  S  1,400 rows\\n  S3\\n\\nPrints the time.")
    raise SystemExit
value = lambda name: words[words.index(name) + 1]
if value("--variant") == "slow":
    import signal
    signal.pause()
print("noise")
print(json.dumps({{"ms": [2.0, 3.0, 4.0], "median_ms": 3.0, "moving_ms": 1.0, "rate": 5.0, "unit": "Mop/s", "at_home": None, "pages": {{"0": 3}},
                   "moved_bytes": 0, "note": "", "result": "right", "homing": "stock" not in os.environ["LD_LIBRARY_PATH"],
                   "virtual": False, "seed": value("--seed")}}))
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.quiet = self.enterContext(contextlib.redirect_stderr(io.StringIO()))

    def load(self, text=TEXT):
        file = self.folder / "campaign.toml"
        file.write_text(text)
        return design.load(file)


class Files(Folder):
    def refused(self, old, new, *words):
        self.assertIn(old, TEXT)
        with self.assertRaises(ExperimentError) as caught:
            self.load(TEXT.replace(old, new, 1))
        self.assertEqual(caught.exception.code, 2)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_cells_are_the_product_without_what_is_left_out(self):
        found = self.load()
        self.assertEqual(len(found.cells), 6)
        far = next(cell for cell in found.cells if dict(cell.levels)["scenario"] == "far")
        self.assertEqual(far.settings["library"], "stock")
        self.assertEqual(far.settings["placement"], "interleave")
        self.assertEqual(far.settings["repeat"], 3)
        self.assertEqual(len({cell.key for cell in found.cells}), 6)

    def test_what_is_wrong_is_named(self):
        self.refused("seed = 7", "sed = 7", "'sed'", "seed")
        self.refused("seed = 7", "", "seed", "nothing", "0 to")
        self.refused("seed = 7", "seed = true", "seed", "True")
        self.refused("schema = 1", "schema = 2", "schema", "2", "1")
        self.refused("replicates = 3", "replicates = 0", "replicates", "0")
        self.refused("runs_per_boot = 4", "runs_per_bot = 4", "runs_per_bot", "limits")
        self.refused("threads = 4", "threads = 0", "fixed.threads", "1 to 1024")
        self.refused("threads = 4", "threads = 4\nthread = 4", "'thread'", "env.NAME")
        self.refused("threads = 4", "", "no 'threads'")
        self.refused('placement = "interleave"', 'placement = "node:x"', "placement", "node:x", "interleave")
        self.refused('placement = "interleave"', 'contention = "arena:sleep:2"', "contention", "arena:sleep:2", "[@NODE,...]")
        self.refused('["cg", "mg"]', '["cg", "cg"]', "program", "twice")
        self.refused('["cg", "mg"]', '[]', "program", "1 to 64")
        self.refused('["cg", "mg"]', '["../cg"]', "program", "../cg")
        self.refused('["near", "far"]', '["near", "far", "off"]', "'off'", "levels.scenario")
        self.refused('[levels.scenario.near]', '[levels.scenario.nearer]', "nearer", "one of")
        self.refused('variant = "tbb"', 'variant = "tbb"\nprogram = "mg"', "'program'", "sets, too")
        self.refused('scenario = "far"\n[[', 'scenario = "further"\n[[', "further", "leave_out")
        self.refused('"median_ms"', '"speed"', "response", "'speed'", "median_ms")
        self.refused('only = { program = "cg" }', 'only = { program = "ft" }', "only", "'ft'")
        self.refused('only = { program = "cg" }', 'only = { program = "cg" }\nconfidence = 95', "confidence", "95")
        self.refused("[factors]", "[factors", "no TOML")
        with self.assertRaisesRegex(ExperimentError, "can't read .*nowhere"):
            design.load(self.folder / "nowhere.toml")

    def test_machines_are_the_lab_s_or_files(self):
        self.refused('machine = "westmere"', 'machine = "nope"', "campaign.toml: fixed.machine: 'nope'; expected \"here\"", "westmere")
        self.refused('machine = "westmere"', 'machine = "mine.toml"', "fixed.machine: 'mine.toml'", f"there is no {self.folder}/mine.toml")
        self.refused('machine = "westmere"', 'machine = "-m.toml"', "fixed.machine: '-m.toml'")
        fixed = TEXT.replace('machine = "westmere"\n', "")
        for text, where in ((fixed.replace("[factors]", '[factors]\nmachine = ["here", "nope"]'), "factors.machine"),
                            (fixed.replace('variant = "tbb"', 'variant = "tbb"\nmachine = "nope"')
                             .replace('variant = "homing-placed"', 'variant = "tbb"\nmachine = "here"'), "levels.scenario.far.machine")):
            with self.assertRaisesRegex(ExperimentError, f"campaign.toml: {where}: 'nope'; expected"):
                self.load(text)
        (self.folder / "machines").mkdir()
        for name in ("mine.toml", "machines/mine.toml"):
            (self.folder / name).touch()
            found = self.load(TEXT.replace('machine = "westmere"', f'machine = "{name}"'))
            where = SimpleNamespace(homing="homing", build=self.folder, stock=self.folder, library=lambda name: self.folder / name)
            with mock.patch("homing_experiment.programs.binary", lambda build, name: build / name):
                words = in_lab.command(found, where, plan.missing(found, set())[0], self.folder)
            self.assertEqual(words[words.index("--machine") + 1], str(self.folder / name))

    def test_folders_of_machines_of_one_s_own(self):
        own = self.folder / "own"
        with mock.patch.dict(os.environ, HOMING_LAB_MACHINES=str(own)):
            with self.assertRaisesRegex(ExperimentError, f"HOMING_LAB_MACHINES={own}: there is no folder") as caught:
                self.load()
            self.assertEqual(caught.exception.code, 2)
            own.mkdir()
            (own / "mine.toml").touch()
            self.assertEqual(self.load(TEXT.replace('"westmere"', '"mine"')).cells[0].settings["machine"], "mine")

    def test_a_place_in_the_file_is_spelled_as_there(self):
        text = TEXT.replace("far", "far away").replace("[levels.scenario.far away]", '[levels.scenario."far away"]')
        said_at = self.load(text).cells[-1].said_at
        self.assertEqual((said_at["variant"], said_at["threads"], said_at["program"]), ('levels.scenario.near.variant', "fixed.threads", "factors.program"))
        self.assertIn('levels.scenario."far away".variant', {cell.said_at["variant"] for cell in self.load(text).cells})

    def test_a_file_of_another_kind(self):
        file = self.folder / "campaign.toml"
        file.write_bytes(b"\xff\xfe")
        self.assertRaisesRegex(ExperimentError, "no TOML", design.load, file)
        file.write_bytes(b"#" * (design.BYTES_MAX + 1))
        self.assertRaisesRegex(ExperimentError, "at most", design.load, file)
        file.unlink()
        os.mkfifo(file)
        for other in (file, self.folder):
            with self.assertRaisesRegex(ExperimentError, f"{other} is not a regular file\n.*a campaign") as caught:
                design.load(other)
            self.assertEqual(caught.exception.code, 2)

    def test_the_hash_is_of_what_decides_an_outcome(self):
        same = self.load().hash
        self.assertEqual(self.load(TEXT.replace("replicates = 3", "replicates = 5")).hash, same)
        self.assertEqual(self.load(TEXT.replace('name = "made-up"', 'name = "made-up"\ntitle = "x"')).hash, same)
        self.assertNotEqual(self.load(TEXT.replace("threads = 4", "threads = 5")).hash, same)
        self.assertNotEqual(self.load(TEXT.replace("seed = 7", "seed = 8")).hash, same)


    def test_the_guide_s_file_and_the_papers_campaigns(self):
        root = Path(__file__).resolve().parents[1]
        text = (root / "docs/guide/experiments.md").read_text().partition("```toml\n")[2].partition("```")[0]
        found = self.load(text)
        self.assertEqual((len(found.cells), len(found.analyses)), (3, 1))
        files = sorted((root / "experiments").glob("*.toml"))
        self.assertGreater(len(files), 3)
        for file in files:
            self.assertGreater(len(design.load(file).cells), 1, file)


class Plans(Folder):
    def test_a_block_has_each_cell_once_in_an_order_of_its_own(self):
        found = self.load()
        blocks = [plan.block(found, number) for number in range(20)]
        for block in blocks:
            self.assertEqual({run.cell.key for run in block}, {cell.key for cell in found.cells})
            self.assertEqual(len({run.seed for run in block}), 1)
        self.assertGreater(len({tuple(run.cell.key for run in block) for block in blocks}), 10)
        self.assertEqual(blocks[3], plan.block(self.load(), 3))
        self.assertEqual(len({run.label for block in blocks for run in block}), 120)
        self.assertTrue(all(len(run.label) < 64 for block in blocks for run in block))

    def test_boots_share_a_machine_and_are_bounded(self):
        found = self.load(TEXT.replace("threads = 4", "threads = 4\ncache_scale = 2"))
        for batch in plan.missing(found, set()):
            self.assertLessEqual(len(batch), 4)
            self.assertEqual(len({run.block for run in batch}), 1)
        self.assertEqual([len(batch) for batch in plan.missing(found, set())], [4, 2] * 3)
        scales = self.load(TEXT + "[levels.program.cg]\ncache_scale = 2\n")
        for batch in plan.missing(scales, set()):
            self.assertEqual(len({run.cell.settings["cache_scale"] for run in batch}), 1)
        local = self.load(TEXT.replace('"westmere"', '"here"'))
        self.assertEqual([len(batch) for batch in plan.missing(local, set())], [1] * 18)

    def test_words_say_what_the_cell_says(self):
        run = next(run for run in plan.block(self.load(), 0) if dict(run.cell.levels)["scenario"] == "far")
        line = programs.shell_line(run, "cg", {"LD_LIBRARY_PATH": "/stock"})
        for part in ("--variant tbb", "--placement interleave", "--threads 4", f"--seed {run.seed}", f"--label '{run.label}'",
                     "OMP_WAIT_POLICY=passive", "HOMING_STEAL=", "LD_LIBRARY_PATH=/stock"):
            self.assertIn(part, line)
        self.assertNotIn("--contender", line)

    def test_a_contender_somewhere_in_the_campaign(self):
        """Runs without it wait as those with it do, so that only the contender differs."""
        text = TEXT.replace('"westmere"', '"here"')
        self.assertNotIn("OMP_WAIT_POLICY", programs.environment(plan.block(self.load(text), 0)[0]))
        text = text.replace('variant = "tbb"', 'variant = "tbb"\ncontention = "arena:compute:1"')
        self.assertEqual({programs.environment(run)["OMP_WAIT_POLICY"] for run in plan.block(self.load(text), 0)},
                         {"passive"})

    def test_the_study_s_median(self):
        run = plan.block(self.load(TEXT.replace('["cg", "mg"]', '["cg", "mg", "jacobi-study"]')), 0)
        said = {"grid": "10x10x10", "sweeps": 1, "mlups": [1.0, 2.0, 4.0, 8.0], "mlups_median": 3.0,
                "share_at_home": 1, "checked": True, "virtual": False}
        found = programs.answer(next(one for one in run if one.cell.settings["program"] == "jacobi-study"),
                                json.dumps(said))
        self.assertAlmostEqual(found["median_ms"], 1000 / (found["rate"] * 1e3))


class Answers:
    """Stands for the programs: counts what it is asked for."""

    def __init__(self, **bad):
        self.asked, self.bad, self.calls = [], bad, 0

    def __call__(self, plan_, places_, batch, ended, processors=None):
        self.calls += 1
        if self.calls == self.bad.get("interrupted"):
            raise KeyboardInterrupt
        if self.calls == self.bad.get("boot_fails") or batch[0].key == self.bad.get("always_fails"):
            raise in_lab.BootFailed("the guest did not start")
        found = []
        for run in batch:
            self.asked.append(run.key)
            ended()
            bad = run.cell.settings["variant"] == self.bad.get("variant")
            found.append({"run": run, "status": "failed" if bad else "ok", "kind": "modelled", "median_ms": 1.5, "parts": "x",
                          "host_seconds": 2.0, "message": "a\nb" if bad else "", "command": "cg --x"})
        return found


class Campaigns(Folder):
    def run_it(self, do, bounds=None, text=TEXT):
        found = self.load(text)
        self.store = rows.Rows(self.folder / "rows" / "made-up.csv", found)
        where = SimpleNamespace(commit="c")
        return campaign.run(found, where, self.store, bounds or campaign.Bounds(), Progress(False), do)

    def test_each_run_once(self):
        do = Answers()
        status = self.run_it(do)
        self.assertEqual((status["done"], status["left"], len(do.asked), len(set(do.asked))), (18, 0, 18, 18))
        again = Answers()
        self.run_it(again)
        self.assertEqual(again.asked, [])
        row = self.store.load()[0]
        self.assertEqual((row["design"], row["commit"], row["median_ms"], row["kind"]), (self.load().hash, "c", "1.5", "modelled"))
        self.assertIn(json.loads(row["environment"])["HOMING_STEAL"], ("near", "random"))

    def test_an_interruption_costs_the_batch_under_way(self):
        first = Answers(interrupted=4)
        self.assertRaises(KeyboardInterrupt, self.run_it, first)
        second = Answers()
        self.assertEqual(self.run_it(second)["left"], 0)
        self.assertEqual(sorted(first.asked + second.asked), sorted(run.key for run in plan.all_runs(self.load())))

    def test_a_row_that_was_cut_short_is_done_again(self):
        self.run_it(Answers())
        text = self.store.path.read_text()
        self.store.path.write_text(text[:-20])
        again = Answers()
        self.assertEqual(self.run_it(again)["left"], 0)
        self.assertEqual(len(again.asked), 1)
        self.assertEqual(len(self.store.load()), 18)

    def test_more_replicates_go_on_and_another_design_is_refused(self):
        self.run_it(Answers())
        more = Answers()
        self.run_it(more, text=TEXT.replace("replicates = 3", "replicates = 4"))
        self.assertEqual(len(more.asked), 6)
        with self.assertRaisesRegex(ExperimentError, "--restart"):
            self.run_it(Answers(), text=TEXT.replace("threads = 4", "threads = 5"))
        with self.assertRaisesRegex(ExperimentError, "columns"):
            self.run_it(Answers(), text=TEXT.replace("scenario", "setting"))
        aside = self.store.put_aside()
        self.assertTrue(aside.exists() and not self.store.path.exists())

    def test_bounds(self):
        do = Answers()
        self.assertEqual(self.run_it(do, campaign.Bounds(runs=5))["left"], 13)
        self.assertEqual(len(do.asked), 5)
        self.assertEqual(self.run_it(do, campaign.Bounds(seconds=0))["left"], 13)
        self.assertEqual(self.run_it(do)["left"], 0)
        self.assertEqual(len(set(do.asked)), 18)

    def test_failed_runs_are_told_and_done_again_if_asked(self):
        bad = Answers(variant="tbb")
        status = self.run_it(bad)
        self.assertEqual((status["left"], len(status["failed"])), (0, 6))
        self.assertIn("failed: a", self.quiet.getvalue())
        again = Answers()
        self.run_it(again)
        self.assertEqual(again.asked, [])
        status = self.run_it(again, campaign.Bounds(retry=True))
        self.assertEqual((len(again.asked), status["failed"]), (6, []))
        self.assertEqual(len(rows.good(self.store.load())), 18)

    def test_runs_of_a_boot_that_fails_have_another_at_the_end(self):
        do = Answers(boot_fails=1)
        self.assertEqual(self.run_it(do)["left"], 0)
        self.assertEqual((len(do.asked), len(set(do.asked))), (18, 18))

    def test_a_boot_that_fails_again_leaves_its_runs_to_do(self):
        first = plan.missing(self.load(), set())[0]
        self.assertEqual(self.run_it(Answers(always_fails=first[0].key))["left"], len(first))
        self.assertIn("stay to be done", self.quiet.getvalue())
        self.assertEqual(self.run_it(Answers())["left"], 0)

    def test_two_writers(self):
        path = self.folder / "rows" / "x.csv"
        with campaign.only_writer(path):
            with self.assertRaisesRegex(ExperimentError, "another"), campaign.only_writer(path):
                pass

    def test_rows_by_another_hand_are_refused(self):
        self.run_it(Answers())
        with self.store.path.open("a") as file:
            file.write("a,b\n")
        self.assertRaisesRegex(ExperimentError, "remove that line", self.store.load)


class Build(Folder):
    """With a build that has one program, and a campaign of it on this machine."""

    def setUp(self):
        super().setUp()
        for folder in ("bin", "lib/homing", "programs", "stock"):
            (self.folder / folder).mkdir(parents=True)
        for file in ("bin/homing", "lib/homing/libtbb.so.12", "stock/libtbb.so.12"):
            (self.folder / file).write_text(file)
        program = self.folder / "programs" / "cg"
        program.write_text(PROGRAM.format(python=sys.executable))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.places = places.Places(self.folder, self.folder / "stock")
        self.text = TEXT.replace('"westmere"', '"here"').replace("threads = 4", "threads = 1").replace('["cg", "mg"]', '["cg"]').split("[[leave_out]]")[0]


class Here(Build):
    def go(self, text):
        found = self.load(text)
        store = rows.Rows(self.folder / "rows.csv", found)
        campaign.run(found, self.places, store, campaign.Bounds(), Progress(False))
        return store.load()

    def test_real_runs(self):
        found = self.go(self.text)
        self.assertEqual([row["status"] for row in found], ["ok"] * 12)
        self.assertEqual({(row["end_to_end_ms"], row["median_ms"], row["kind"], row["ms"]) for row in found}, {("10", "3", "measured", "2 3 4")})
        self.assertEqual(len({row["parts"] for row in found}), 2)
        folders = {row["library"]: f"LD_LIBRARY_PATH={self.folder}/{folder} cg" for row, folder in (
            (row, "lib/homing" if row["library"] == "homing" else "stock") for row in found)}
        self.assertTrue(all(folders[row["library"]] in row["command"] for row in found))

    def test_a_run_that_never_ends_is_ended(self):
        text = self.text.replace('"homing-placed"', '"slow"').replace("[limits]", "[limits]\nrun_s = 2").replace("replicates = 3", "replicates = 1")
        text = text.replace('["near", "random"]', '["near"]').replace('scenario = ["near", "far"]', 'scenario = ["near"]')
        found = self.go(text.split("[levels.scenario.far]")[0])
        self.assertEqual([row["status"] for row in found], ["limit"])

    def test_what_is_missing_is_named_before_anything_runs(self):
        for old, new, word in (("threads = 1", "threads = 1000", "threads = 1000"), ("threads = 1", "threads = 1\ncpus = \"node:777\"", "no such node"),
                               ("[limits]", '[limits]\ncounters = "required"', "counters of near and far memory")):
            with self.assertRaisesRegex(ExperimentError, word):
                self.go(self.text.replace(old, new))
        self.assertFalse((self.folder / "rows.csv").exists())

    def unknown(self, text):
        with self.assertRaises(ExperimentError) as caught:
            known.refuse_unknown(self.load(text), self.places)
        return str(caught.exception)

    def test_words_that_a_program_does_not_know(self):
        file = self.folder / "campaign.toml"
        for size in ("", "\nsize = \"S3\""):
            known.refuse_unknown(self.load(self.text.replace("threads = 1", f"threads = 1{size}")), self.places)
        self.assertEqual(self.unknown(self.text + '[levels.program.cg]\nsize = "ZZ"\n'),
                         f"{file}: levels.program.cg.size: 'ZZ'; expected one of cg's sizes: S, S3")
        self.assertEqual(self.unknown(self.text.replace('"tbb"', '"bogus"')),
                         f"{file}: levels.scenario.far.variant: 'bogus'; expected one of cg's variants: homing-placed, tbb, slow")
        self.assertIn(f"{file}: factors.program: 'nope'; expected one of: cg; one that is not built yet: make programs",
                      self.unknown(self.text.replace('["cg"]', '["cg", "nope"]')))
        self.assertIn("factors.program: 'jacobi-study'; expected one of: cg;", self.unknown(self.text.replace('["cg"]', '["jacobi-study"]')))

    def test_a_program_without_sizes(self):
        study = self.folder / "bench/jacobi/jacobi"
        study.parent.mkdir(parents=True)
        study.write_text("#!/bin/sh\necho 'homing-placed  x'; echo 'tbb  y'\n")
        study.chmod(0o755)
        text = self.text.replace('["cg"]', '["jacobi-study"]')
        known.refuse_unknown(self.load(text), self.places)
        for said, place in (('contention = "arena:compute:1"', "contention: 'arena:compute:1'; expected 'none'"),
                            ("warm_up = 2", "warm_up: 2; expected 0"),
                            ('cpus = "node:0"', "cpus: 'node:0'; expected 'all'")):
            self.assertIn(f"fixed.{place}: jacobi-study has no",
                          self.unknown(text.replace("threads = 1", f"threads = 1\n{said}")))
        self.assertIn("fixed.size: 'S'; expected none: jacobi-study has no sizes", self.unknown(text.replace("threads = 1", 'threads = 1\nsize = "S"')))

    def test_a_program_that_does_not_answer(self):
        program = self.folder / "programs" / "cg"
        for text, words in (("#!/bin/sh\necho no library >&2; exit 127\n", f"{program} --list: exit status 127: no library"),
                            ("#!/no/such/shell\n", f"can't start {program}: No such file")):
            program.write_text(text)
            self.assertIn(words, self.unknown(self.text))

    def test_counters(self):
        """What homing-count writes, near and far or a reason, and nothing at all."""
        count = self.folder / "experiments" / "homing-count"
        count.parent.mkdir()
        text = self.text.replace("[limits]", '[limits]\ncounters = "wanted"').replace("replicates = 3", "replicates = 1")
        for wrote, near, message in (('{"near": 5, "far": 6}', "5", ""), ('{"reason": "no events"}', "", "no events"), ("", "", "nothing that can be read")):
            count.write_text(f"#!/bin/sh\necho '{wrote}' > \"$1\"\nshift\nexec \"$@\"\n")
            count.chmod(0o755)
            for row in self.go(text):
                self.assertEqual((row["status"], row["near"], message in row["message"]), ("ok", near, True))
            self.assertEqual(here.counters_missing(self.places), "" if near else row["message"])
            (self.folder / "rows.csv").unlink()


class Boots(Folder):
    def test_runs_of_a_boot_are_told_apart(self):
        batch = plan.missing(self.load(), set())[0][:3]
        said = {"ms": [1.0], "median_ms": 1.0, "moving_ms": 0.5, "rate": 1, "unit": "x", "at_home": 0.5, "pages": {}, "moved_bytes": 0, "note": "",
                "result": "right", "homing": True, "virtual": False}
        output = "".join(f"{in_lab.BEGIN} {n}\n{json.dumps(said) if n else ''}\n{in_lab.END} {n} {0 if n else 139}\n" for n in range(2)) + f"{in_lab.BEGIN} 2\n"
        regions = {batch[1].label: {"virtual_ns": 2e6, "local_cache": 1, "remote_cache": 2, "local_dram": 3, "remote_dram": 4}}
        found = [in_lab.row(n, run, output, self.folder, regions) for n, run in enumerate(batch)]
        self.assertEqual(found[0]["status"], "failed")
        self.assertIn("139", found[0]["message"])
        self.assertEqual((found[1]["status"], found[1]["virtual_ms"], found[1]["remote_share"]), ("ok", 2.0, 0.6))
        self.assertEqual(found[2], {})
        for run, row in zip(batch, found[:2]):
            library = "/ours" if run.cell.settings["library"] == "homing" else "/stock"
            self.assertIn(f"LD_LIBRARY_PATH={library} {run.cell.settings['program']} ", row["command"])

    def test_the_script_runs_in_a_shell(self):
        """Programs that tell their environment and fail, and folders of ours in place of the guest's."""
        batch = plan.missing(self.load(), set())[0]
        for program in ("cg", "mg"):
            file = self.folder / program
            file.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH $HOMING_STEAL"; echo "$0" >&2; exit 3\n')
            file.chmod(0o755)
        text = in_lab.script(batch).replace("/programs/", f"{self.folder}/").replace("/results/", f"{self.folder}/")
        done = subprocess.run(["/bin/sh", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
        expected = ""
        for number, run in enumerate(batch):
            settings = run.cell.settings
            library = "/ours" if settings["library"] == "homing" else "/stock"
            expected += f"{in_lab.BEGIN} {number}\n{library} {settings['env.HOMING_STEAL']}\n{in_lab.END} {number} 3\n"
            self.assertEqual((self.folder / f"{number}.err").read_text(), f"{self.folder}/{settings['program']}\n")
        self.assertEqual((len(batch), done.stdout), (4, expected))

    def test_a_boot_is_ended_with_us(self):
        def stop():
            raise KeyboardInterrupt

        words = [sys.executable, "-c", f"import signal; print('{in_lab.END} 0 0', flush=True); signal.pause()"]
        self.assertRaises(KeyboardInterrupt, in_lab.finish, words, {}, self.folder / "err", stop)


class Words(unittest.TestCase):
    def test_durations(self):
        self.assertEqual([duration(s) for s in (5, 89, 90, 600, 7200)], ["5 s", "89 s", "2 min", "10 min", "2.0 h"])


if __name__ == "__main__":
    unittest.main()
