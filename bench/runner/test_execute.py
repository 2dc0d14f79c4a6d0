"""One run: its time limit holds for all that it starts, and so does the end of the runner; no output and no exit status of a broken
program ends a campaign.

Run by `python3 bench/runner/test_execute.py`. The programs are shell scripts, real processes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import execute, interruption  # noqa: E402
from runner.execute import Library, Outcome  # noqa: E402

WITH_A_CHILD = "sleep 1000 & echo $! >child; echo $$ >self; wait"


def runs(pid: str) -> bool:
    """Whether the process is there; one that has ended and that nobody has waited for is not."""
    try:
        return Path(f"/proc/{int(pid)}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class ExecuteTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def program(self, text: str) -> Path:
        file = self.folder / "program"
        file.write_text(f"#!/bin/sh\ncd {self.folder}\n{text}\n")
        file.chmod(0o755)
        return file

    def run_it(self, text: str, limit_s: float = 30) -> Outcome:
        return execute.run(self.program(text), [], Library("ours", self.folder), {}, limit_s)

    def pids(self, writer: subprocess.Popen) -> list[str]:
        """Of WITH_A_CHILD, as soon as `writer`, which runs it, has come to write them."""
        files = [self.folder / name for name in ("child", "self")]
        while not all(file.exists() and file.read_text().endswith("\n") for file in files):
            self.assertIsNone(writer.poll(), "it has ended, and has written no numbers")
            os.sched_yield()
        return [file.read_text() for file in files]

    def wait_for_the_end(self, pid: str) -> None:
        """Of one that is killed: at once, but for the kernel."""
        until = time.monotonic() + 900
        while runs(pid) and time.monotonic() < until:
            os.sched_yield()
        self.assertFalse(runs(pid))

    def test_the_time_limit_holds_for_children(self):
        """The limit is over when both processes are there, however long that takes."""
        communicate, pids = subprocess.Popen.communicate, []

        def end_of_the_limit(process, text=None, timeout=None):
            if timeout is None:
                return communicate(process, text)
            pids.extend(self.pids(process))
            raise subprocess.TimeoutExpired(process.args, timeout)

        with mock.patch.object(subprocess.Popen, "communicate", end_of_the_limit):
            outcome = self.run_it("echo '{\"start\": \"a\"}'\n" + WITH_A_CHILD, 1)
        self.assertEqual((outcome.timed_out, outcome.failure, outcome.started), (True, "still running after 1 s", "a"))
        self.assertEqual(len(pids), 2)
        for pid in pids:
            self.wait_for_the_end(pid)

    def test_a_program_ends_with_the_runner(self):
        for ending in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(ending.name):
                for name in ("child", "self"):
                    (self.folder / name).unlink(missing_ok=True)
                text = ("import pathlib\nfrom runner import execute, interruption\n"
                        f"program = pathlib.Path({str(self.program(WITH_A_CHILD))!r})\n"
                        "interruption.exit_with(lambda: execute.run(program, [], execute.Library('ours', program.parent), {}, 60))")
                runner = subprocess.Popen([sys.executable, "-c", text], cwd=Path(__file__).resolve().parent.parent,
                                          stderr=subprocess.PIPE, text=True)
                pids = self.pids(runner)
                runner.send_signal(ending)
                self.assertEqual(runner.communicate()[1], "interrupted\n")
                self.assertEqual(runner.returncode, interruption.INTERRUPTED)
                for pid in pids:
                    self.wait_for_the_end(pid)

    def test_a_stop_while_a_program_starts_ends_it(self):
        """The program runs, and its start has not returned to us."""
        started = []

        class StoppedMeanwhile(subprocess.Popen):
            def __init__(self, *command, **options):
                super().__init__(*command, **options)
                started.append(self)
                os.kill(os.getpid(), signal.SIGINT)

        with mock.patch.object(subprocess, "Popen", StoppedMeanwhile), self.assertRaises(KeyboardInterrupt):
            self.run_it("sleep 1000")
        self.assertEqual(started[0].returncode, -signal.SIGKILL)

    def test_output_that_is_no_record_is_passed_over(self):
        case = '{"case": "a", "iterations": 1, "wall_ns": [1], "cpu_ns": [1]}'
        outcome = self.run_it(f"printf '\\377\\n12\\n\"x\"\\n[]\\nnull\\n{{\"case\": \"b\"}}\\n{{\"library\": \"x\"}}\\n'; echo '{case}'; "
                              "printf '\\377' >&2; exit 3")
        self.assertEqual(list(outcome.cases), ["a"])
        self.assertEqual((outcome.failure, outcome.message), ("wrong result", "\ufffd"))

    def test_ours_has_the_allocator_of_stock_and_nothing_else_of_it(self):
        stock, ours = self.folder / "stock", self.folder / "ours"
        stock.mkdir()
        self.assertEqual(execute.with_allocator(Library("ours", ours), stock, self.folder), Library("ours", ours))
        for name in ("libtbb.so.12", "libtbbmalloc.so.2", "libhwloc.so.15"):
            (stock / name).touch()
        for _ in range(2):  # the link of an earlier campaign is there
            library = execute.with_allocator(Library("ours", ours), stock, self.folder)
            first, second = execute.environment(library, {})["LD_LIBRARY_PATH"].split(":")
            self.assertEqual(first, str(ours))
            self.assertEqual([file.name for file in Path(second).iterdir()], ["libtbbmalloc.so.2"])
            self.assertEqual((Path(second) / "libtbbmalloc.so.2").resolve(), (stock / "libtbbmalloc.so.2").resolve())

    def test_every_exit_status_has_words(self):
        self.assertEqual([execute.describe_exit(status) for status in (-signal.SIGSEGV, -40, -127, 2, 255)],
                         ["crash (SIGSEGV)", "crash (signal 40)", "crash (signal 127)", "refused its options", "exit status 255"])

    def test_a_program_without_a_list_ends_the_campaign_in_a_line(self):
        with self.assertRaisesRegex(SystemExit, "program --list --threads 7 on ours: refused its options: no such luck$"):
            execute.list_cases(self.program("echo no such luck >&2; exit 2"), Library("ours", self.folder), 7)


if __name__ == "__main__":
    unittest.main()
