"""A campaign of virtual machines runs on a real one with `--here`: of its file what the machine can have, the rest named; its rows are
measured, say on which machine, and mix with no others. Method: made-up files and machines; a made-up program, a real process."""

import json
import os
import subprocess
import unittest
from dataclasses import replace
from unittest import mock

from test_campaign import TEXT, Answers, Build, Folder

from homing_experiment import campaign, here, moved, places, rows, this_machine
from homing_experiment.errors import ExperimentError
from homing_experiment.progress import Progress
from homing_experiment.this_machine import Machine

LARGE = Machine("A Processor", {0: 16, 1: 16, 2: 16, 3: 16}, [0, 1, 2, 3], "madvise")
SMALL = Machine("Another", {0: 2}, [0], "madvise")
TWO = """
schema = 1
name = "two"
seed = 3
replicates = 2
[factors]
machine = ["westmere", "bulldozer"]
variant = ["tbb", "homing-placed"]
placement = ["first-touch", "node:0", "node:1"]
[fixed]
program = "cg"
[levels.machine.westmere]
threads = 2
cache_scale = 16
[levels.machine.bulldozer]
threads = 1
[[leave_out]]
machine = "westmere"
placement = "node:0"
[[analysis]]
name = "time"
response = "virtual_ms"
baseline = { variant = "tbb" }
contrasts = [{ factor = "placement", plus = ["node:1"], minus = ["first-touch"] }]
[[analysis]]
name = "lines"
response = "remote_dram"
factors = ["machine", "placement"]
only = { variant = "tbb" }
baseline = { machine = "westmere" }
against = { factor = "placement", level = "node:1", best_of = ["first-touch"], paper = { westmere = 0.5 } }
[[analysis]]
name = "bulldozer"
response = "median_ms"
factors = ["variant", "placement"]
only = { machine = "bulldozer" }
"""


class Moves(Folder):
    def moved(self, text, machine=LARGE, threads=None):
        return moved.move(moved.renamed(self.load(text)), machine, threads)

    def refused(self, text, machine, threads, *words):
        with self.assertRaises(ExperimentError) as caught:
            self.moved(text, machine, threads)
        for word in words:
            self.assertIn(word, str(caught.exception))
        return caught.exception

    def told(self, found, *lines):
        for line in lines:
            self.assertIn(line, found.moved.told)

    def test_one_machine_stands_for_this_one(self):
        """The one with the most combinations that can be had; then the one with the most threads."""
        found = self.moved(TWO)
        self.assertEqual(found.factors, {"machine": ["here"], "variant": ["tbb", "homing-placed"], "placement": ["first-touch", "node:0", "node:1"]})
        self.assertEqual({(cell.settings["machine"], cell.settings["threads"]) for cell in found.cells}, {("here", 1)})
        self.told(found, "machine: A Processor, 64 CPUs on 4 nodes, in place of westmere, bulldozer, with the settings of bulldozer")
        found = self.moved(TWO.partition("[[leave_out]]")[0])
        self.assertEqual({(cell.settings["threads"], cell.settings["cache_scale"]) for cell in found.cells}, {(2, 1)})
        self.told(found, "machine: A Processor, 64 CPUs on 4 nodes, in place of westmere, bulldozer, with the settings of westmere",
                  "without cache_scale, of virtual machines alone")
        own = self.moved(TWO.partition("[[leave_out]]")[0].replace("bulldozer", "here"))
        self.assertEqual({cell.settings["threads"] for cell in own.cells}, {1})
        self.told(own, "machine: A Processor, 64 CPUs on 4 nodes, in place of westmere, with the settings of here")

    def test_a_name_and_a_hash_of_its_own(self):
        found = self.moved(TEXT)
        self.assertEqual((found.name, len(found.cells), found.limits["counters"]), ("made-up-here", 6, "wanted"))
        self.assertNotEqual(found.hash, self.load().hash)
        self.assertEqual(found.hash, self.moved(TEXT, replace(LARGE, model="B")).hash)
        self.assertEqual(self.moved(TEXT.replace("[limits]", '[limits]\ncounters = "required"')).limits["counters"], "required")
        self.assertEqual(places.rows_file(found, None).name, "made-up-here.csv")

    def test_what_can_t_be_had_is_left_out_by_name(self):
        found = self.moved(TWO, SMALL)
        self.assertEqual(found.factors["placement"], ["first-touch", "node:0"])
        self.told(found, 'left out, 2 of 6 combinations: placement = "node:1": there is no such node with memory for this process',
                  "this machine has one node: all memory is near")
        varied = TEXT.replace("threads = 4\n", "").replace("[factors]", "[factors]\nthreads = [1, 16]").replace('"env.HOMING_STEAL"]', '"env.HOMING_STEAL", "threads"]')
        found = self.moved(varied, SMALL)
        self.assertEqual((found.factors["threads"], len(found.cells)), ([1], 6))
        self.assertEqual(found.analyses[0]["factors"], ["scenario", "env.HOMING_STEAL"])
        self.told(found, "left out, 6 of 12 combinations: threads = 16: this process may use 2 CPUs", "`--threads N` takes N in place of the file's highest count")

    def test_what_is_refused_names_all(self):
        error = self.refused(TEXT, SMALL, None, "campaign.toml", "threads = 4: this process may use 2 CPUs", "`--threads 2`")
        self.assertEqual(error.code, 1)
        for said, words in (('cpus = "node:2"', 'cpus = "node:2": there is no such node'),
                            ('huge_pages = "never"', "says madvise; root may write never"),
                            ('contention = "process:compute:all@0,5"', '@0,5": not all of these nodes'),
                            ('env = { HOMING_TOPOLOGY = "node:2 core:1 pu:1" }', "a made-up machine can't be measured")):
            self.refused(TEXT.replace("threads = 4", f"threads = 1\n{said}"), SMALL, None, words, "without --here")
        self.refused(TEXT.replace("threads = 4", 'threads = 24\ncpus = "node:1"'), LARGE, None, 'threads = 24 on cpus = "node:1": this process may use 16 CPUs there', "`--threads 16`")
        self.refused(TEXT.replace("threads = 4", 'threads = 4\ncontention = "arena:compute:3"'), SMALL, 2, "more threads than the program's 2")

    def test_threads_in_place_of_the_highest_count(self):
        self.assertEqual({cell.settings["threads"] for cell in self.moved(TEXT, LARGE, 64).cells}, {64})
        self.assertEqual(self.moved(TEXT, LARGE, 4).moved, self.moved(TEXT).moved)
        varied = TEXT.replace("threads = 4\n", "").replace("[factors]", "[factors]\nthreads = [1, 2, 16]").replace(
            'only = { program = "cg" }', 'only = { program = "cg", threads = 16 }')
        found = self.moved(varied, LARGE, 64)
        self.assertEqual((found.factors["threads"], found.analyses[0]["only"]["threads"]), ([1, 2, 64], [64]))
        self.told(found, "threads: 64 in place of 16")
        self.assertIn("run --here --threads 64 ", found.command("run"))
        self.assertNotIn("--threads", found.command("report"))
        self.assertEqual(self.refused(varied, LARGE, 2, "--threads 2", "another count in place of 16").code, 2)

    def test_settings_of_virtual_machines_alone(self):
        scales = TEXT.replace("[factors]", "[factors]\ncache_scale = [64, 1]").replace('only = { program = "cg" }', 'only = { program = "cg", cache_scale = 64 }')
        found = self.moved(scales)
        self.assertEqual((found.factors["cache_scale"], len(found.cells)), ([1], 6))
        self.told(found, "without cache_scale, of virtual machines alone",
                  "left out, 6 of 12 combinations, which differ from others in nothing else: cache_scale 64", "analysis 'median_ms' is left out: none of its combinations is left")
        named = TEXT.replace("[factors]", '[factors]\ncaches = ["small", "whole"]').split("[[analysis]]")[0] + (
            "[levels.caches.small]\ncache_scale = 64\nmemory_mib = 64\n[levels.caches.whole]\ncache_scale = 1\n")
        self.assertEqual(self.moved(named).factors["caches"], ["whole"])
        self.assertEqual(self.moved(named.replace("cache_scale = 1\n", "cache_scale = 2\n")).factors["caches"], ["small"])
        self.assertEqual(len(self.moved(TEXT.replace("[fixed]", "[fixed]\nmemory_mib = 64")).cells), 6)

    def test_analyses_of_what_is_left(self):
        time, lines, _ = self.moved(TWO).analyses
        self.assertEqual((time["factors"], time["baseline"], len(time["contrasts"])), (["variant", "placement"], {"variant": "tbb"}, 1))
        self.assertEqual((lines["response"], lines["factors"], lines["baseline"], lines["against"]["paper"]), ("far", ["placement"], {}, {}))
        found = self.moved(TWO, SMALL)
        self.assertEqual((found.analyses[0]["contrasts"], found.analyses[1]["against"]), ([], None))
        self.told(found, "analysis 'lines': far, which the CPU counts, in place of remote_dram", "analysis 'lines' has no base line: nothing to compare with (machine westmere)",
                  "analysis 'time' is without a contrast of placement: not all of its levels are left", "analysis 'lines' is without `against`: not all levels of placement are left")
        found = self.moved(TWO.partition("[[leave_out]]")[0] + "[[analysis]]" + TWO.rpartition("[[analysis]]")[2])
        self.assertEqual(found.analyses, [])
        self.told(found, "analysis 'bulldozer' is left out: none of its combinations is left")


class Runs(Build):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "rows" / "two-here.csv"
        self.text = TWO
        self.enterContext(mock.patch.object(this_machine, "found", lambda: self.machine))
        self.machine = SMALL

    def go(self, threads=None, bounds=None, anew=False):
        found = moved.to_run(moved.renamed(self.load(self.text)), self.file, threads, anew)
        store = rows.Rows(self.file, found)
        if anew:
            store.put_aside()
        campaign.run(found, self.places, store, bounds or campaign.Bounds(), Progress(False))
        return store.load()

    def test_rows_are_measured_and_say_where(self):
        self.go(bounds=campaign.Bounds(runs=3))
        found = self.go()
        self.assertEqual((len(found), len({row["run"] for row in found})), (8, 8))
        self.assertEqual({(row["kind"], row["status"], row["machine"], row["placement"]) for row in found},
                         {("measured", "ok", "here", placement) for placement in ("first-touch", "node:0")})
        self.assertEqual({row["this_machine"] for row in found}, {json.dumps(this_machine.as_json(SMALL) | {"threads": None})})
        self.assertTrue(all("homing-count" in row["message"] for row in found))
        self.assertNotIn(os.uname().nodename, {*found[0]["this_machine"].split('"'), *found[0]["host"].split()})

    def test_rows_say_anywhere_what_was_left_out(self):
        self.go()
        self.machine = LARGE
        found = moved.as_it_stands(moved.renamed(self.load(self.text)), self.file)
        self.assertEqual((found.moved.machine, len(found.cells), len(rows.Rows(self.file, found).load())), ("Another, 2 CPUs on 1 node", 4, 8))
        self.assertEqual(campaign.status(found, rows.Rows(self.file, found))["this_machine"], found.moved.machine)
        self.file.unlink()
        self.assertEqual(len(moved.as_it_stands(moved.renamed(self.load(self.text)), self.file).cells), 6)

    def test_another_machine_is_refused(self):
        self.go(bounds=campaign.Bounds(runs=1))
        for machine, words in ((replace(SMALL, huge_pages="always"), 'huge_pages "madvise" there, "always" here'), (LARGE, 'model "Another" there, "A Processor" here')):
            self.machine = machine
            with self.assertRaisesRegex(ExperimentError, f"two-here.csv: its rows are of another machine: .*{words}") as caught:
                self.go()
            self.assertEqual(caught.exception.code, 2)
        self.assertEqual(len(self.go(anew=True)), 12)

    def test_other_threads_are_refused(self):
        self.text = TWO.replace("threads = 1\n", "threads = 8\n")
        self.go(threads=1, bounds=campaign.Bounds(runs=1))
        with self.assertRaisesRegex(ExperimentError, "its rows are of --threads 1, not of --threads 2"):
            self.go(threads=2)
        self.assertEqual({row["threads"] for row in self.go()}, {"1"})

    def test_rows_do_not_mix_with_virtual_ones(self):
        self.go()
        virtual = self.load(self.text)
        standing = rows.Rows(places.rows_file(virtual, None), virtual)
        self.assertEqual((standing.path.name, standing.load()), ("two.csv", []))
        with self.assertRaisesRegex(ExperimentError, "its rows were made with --here\n.*add --here"):
            rows.Rows(self.file, virtual).load()
        campaign.run(virtual, self.places, standing, campaign.Bounds(), Progress(False), Answers())
        found = moved.as_it_stands(moved.renamed(virtual), standing.path)
        with self.assertRaisesRegex(ExperimentError, "its rows were not made with --here\n.*--rows"):
            rows.Rows(standing.path, found).load()

    def test_a_machine_by_another_hand(self):
        self.go()
        text = self.file.read_text()
        self.file.write_text(text.replace('""Another""', '""A third""').replace('""A third""', '""Another""', 1))
        with self.assertRaisesRegex(ExperimentError, "two-here.csv:3: this_machine: another one than in the first row"):
            self.go()
        for said in ("x", "[1]", '{""model"": 1}', '{""model"": ""Another"", ""cpus"": {""0"": 2}, ""memory"": [0], ""huge_pages"": ""never"", ""threads"": ""2""}'):
            self.file.write_text(text.replace(text[text.index('{""model""'):text.index('null}') + 5], said))
            with self.assertRaisesRegex(ExperimentError, "two-here.csv:2: this_machine .*which is no machine"):
                self.go()

    def test_counters(self):
        """Asked for without the file's saying so; where they are refused, each row says why."""
        count = self.folder / "experiments" / "homing-count"
        count.parent.mkdir()
        for wrote, far, message in (('{"near": 5, "far": 6}', "6", ""), ('{"reason": "no events"}', "", "no events")):
            count.write_text(f"#!/bin/sh\necho '{wrote}' > \"$1\"\nshift\nexec \"$@\"\n")
            count.chmod(0o755)
            self.assertEqual({(row["status"], row["far"], row["message"]) for row in self.go(anew=True)}, {("ok", far, message)})
        self.text = TWO.replace("[fixed]", '[limits]\ncounters = "required"\n[fixed]')
        with self.assertRaisesRegex(ExperimentError, "counters of near and far memory .*: no events"):
            self.go(anew=True)


class ThisMachine(Folder):
    def test_what_the_kernel_says(self):
        nodes = self.folder / "node"
        usable = sorted(os.sched_getaffinity(0))
        for number, cpus in enumerate((f"{usable[0]},{usable[-1]}", "100000-100003", "")):
            (nodes / f"node{number}").mkdir(parents=True)
            (nodes / f"node{number}" / "cpulist").write_text(f"{cpus}\n")
        (nodes / "has_memory").write_text("0-2\n")
        with mock.patch.object(this_machine, "NODES", nodes), mock.patch.object(this_machine, "_memory_allowed", lambda: {0, 2, 3}):
            found = this_machine.found()
        self.assertEqual((found.cpus, found.memory), ({0: len({usable[0], usable[-1]})}, [0, 2]))
        with mock.patch.object(this_machine, "NODES", self.folder / "nothing"):
            found = this_machine.found()
        self.assertEqual((found.cpus, found.memory), ({0: len(usable)}, [0]))
        self.assertEqual(this_machine.from_json(json.loads(json.dumps(this_machine.as_json(found)))), found)

    def test_a_file_that_names_this_machine(self):
        """Without --here nothing is left out: what is missing is refused, by the same words."""
        text = TWO.replace('["westmere", "bulldozer"]', '["here", "bulldozer"]').replace("levels.machine.westmere", "levels.machine.here").split("[[leave_out]]")[0]
        with mock.patch.object(this_machine, "found", lambda: SMALL):
            with self.assertRaisesRegex(ExperimentError, 'placement = "node:1": there is no such node'):
                here.refuse_what_is_missing(self.load(text), None)


class Ends(unittest.TestCase):
    def test_an_interrupt_when_the_program_has_ended(self):
        """Nothing is left to end then: the interrupt goes on, and is no other error."""
        def interrupted(process, **_):
            process.wait()
            raise KeyboardInterrupt

        with mock.patch.object(subprocess.Popen, "communicate", interrupted), self.assertRaises(KeyboardInterrupt):
            here.finish(["true"], dict(os.environ), 60)


if __name__ == "__main__":
    unittest.main()
