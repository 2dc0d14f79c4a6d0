"""Several virtual machines at once: each on processors of its own, every run once, and none is left where the campaign is interrupted.
Method: in the place of machines, functions that wait for each other, and programs that say on which processors they are."""

import os
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from test_campaign import TEXT, Answers, Folder

from homing_experiment import boots, campaign, in_lab, rows
from homing_experiment.errors import ExperimentError
from homing_experiment.progress import Progress

WAIT_S = 900  # a bound; nothing is decided by it
MACHINE = """#!{python}
import os, pathlib, signal, sys
pathlib.Path({folder!r}, f"{{os.getpid()}}.on").write_text(",".join(map(str, sorted(os.sched_getaffinity(0)))))
signal.pause()
"""
CAMPAIGN = """
import os, sys
sys.path.insert(0, {here!r})
os.sched_getaffinity = lambda _: {{{processors}}}
from pathlib import Path
from homing_experiment import campaign, design, places, rows
from homing_experiment.progress import Progress
found = design.load(Path({file!r}))
store = rows.Rows(Path({folder!r}) / "rows.csv", found)
where = places.Places(Path({folder!r}), Path({folder!r}) / "stock")
campaign.run(found, where, store, campaign.Bounds(at_once={at_once}), Progress(False))
"""


def until(true, what):
    for _ in range(10**9):
        if true():
            return
        os.sched_yield()
    raise AssertionError(what)


class Meeting(Answers):
    """Each call waits for another one that runs meanwhile."""

    def __init__(self, parties, **bad):
        super().__init__(**bad)
        self.barrier, self.lock, self.on = threading.Barrier(parties), threading.Lock(), set()

    def __call__(self, plan_, places_, batch, ended, processors=None):
        self.barrier.wait(WAIT_S)
        with self.lock:
            self.on.add(processors)
            return super().__call__(plan_, places_, batch, ended, processors)


class Shares(unittest.TestCase):
    def test_every_processor_has_one_machine(self):
        for usable in (range(2), range(8), (1, 3, 5, 7, 9)):
            with mock.patch("os.sched_getaffinity", return_value=set(usable)):
                for count in range(2, len(usable) + 1):
                    dealt = boots.shares(count)
                    self.assertEqual(sorted(one for share in dealt for one in share), sorted(usable))
                    self.assertLessEqual(max(map(len, dealt)) - min(map(len, dealt)), 1)
                self.assertEqual(boots.shares(1), [None])
                with self.assertRaisesRegex(ExperimentError, f"expected 1 to {len(usable)}"):
                    boots.shares(len(usable) + 1)


class AtOnce(Folder):
    def go(self, do, text=TEXT, **bounds):
        found = self.load(text)
        self.store = rows.Rows(self.folder / "rows" / "made-up.csv", found)
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            return campaign.run(found, SimpleNamespace(commit="c"), self.store, campaign.Bounds(at_once=2, **bounds), Progress(False), do)

    def test_two_run_at_the_same_time_and_each_run_once(self):
        do = Meeting(2)
        status = self.go(do)
        self.assertEqual((status["done"], len(do.asked), len(set(do.asked))), (18, 18, 18))
        self.assertEqual(do.on, {frozenset({0}), frozenset({1})})

    def test_bounds_count_what_is_under_way(self):
        do = Answers()
        self.assertEqual(self.go(do, runs=5)["left"], 13)
        self.assertEqual(len(do.asked), 5)

    def test_a_boot_that_fails_has_another(self):
        do = Meeting(2, boot_fails=1)
        # The seventh call has nobody to meet.
        do.barrier = SimpleNamespace(wait=lambda _: None)
        self.assertEqual(self.go(do)["left"], 0)
        self.assertEqual((len(do.asked), len(set(do.asked))), (18, 18))

    def test_a_mistake_of_ours_is_not_lost_in_a_thread(self):
        def broken(*_, **__):
            raise ZeroDivisionError

        with mock.patch.object(in_lab, "under_way", in_lab.UnderWay()):
            self.assertRaises(ZeroDivisionError, self.go, broken)

    def test_this_machine_has_one_run_at_a_time(self):
        with self.assertRaisesRegex(ExperimentError, "has it for itself"):
            self.go(Answers(), TEXT.replace('"westmere"', '"here"').replace("threads = 4", "threads = 1"))


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
class Machines(Folder):
    def test_each_has_its_processors_and_none_is_left(self):
        for name in ("bin/homing", "lib/homing/libtbb.so.12", "stock/libtbb.so.12", "programs/cg", "programs/mg", "lab/homing_lab_plugin.so"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()
        homing = self.folder / "bin" / "homing"
        homing.write_text(MACHINE.format(python=sys.executable, folder=str(self.folder)))
        homing.chmod(0o755)
        self.load(TEXT)
        processors = sorted(os.sched_getaffinity(0))[:2]
        us = subprocess.Popen([sys.executable, "-c", CAMPAIGN.format(
            here=str(Path(__file__).parent), processors=",".join(map(str, processors)), file=str(self.folder / "campaign.toml"),
            folder=str(self.folder), at_once=2)], stderr=subprocess.PIPE)

        def told():
            return [file for file in self.folder.glob("*.on") if file.read_text()]

        until(lambda: len(told()) == 2 or us.poll() is not None, "two machines")
        self.assertIsNone(us.poll(), us.stderr.read() if us.poll() is not None else "")
        self.assertEqual(sorted(file.read_text() for file in told()), sorted(map(str, processors)))
        us.send_signal(signal.SIGINT)
        us.communicate(timeout=WAIT_S)
        self.assertNotEqual(us.returncode, 0)
        for file in told():
            self.assertFalse(Path(f"/proc/{file.stem}").exists(), "a machine runs on")
        self.assertEqual(len(told()), 2, "another one was begun")


if __name__ == "__main__":
    unittest.main()
