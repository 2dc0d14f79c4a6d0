"""A file that the user named is not lost: not to what stdout writes into the same, not to a disk that is full; and what the system
refuses is told with the file, and with a hint at room or limits only where these are short. Method: files of a folder, and a limit
on their size in place of a full disk; boots nothing."""

import errno
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "commands")]

from homing_lab import errors, machine_file, output  # noqa: E402
from homing_lab.errors import LabError  # noqa: E402

RUN = ROOT / "tests/data/lab/one-node"


def python_of_the_lab():
    """A Python that has what the command needs (scripts/setup lab), or none."""
    for python in (str(ROOT / ".venv/bin/python"), sys.executable):
        if Path(python).is_file() and subprocess.run([python, "-c", "import rich, typer"], capture_output=True).returncode == 0:
            return python
    return None


PYTHON = python_of_the_lab()


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def lab(self, words):
        """The command by a shell, in the folder."""
        if PYTHON is None:
            self.skipTest("no Python with typer and rich (scripts/setup lab)")
        paths = os.pathsep.join((str(ROOT / "lab"), str(ROOT / "commands")))
        return subprocess.run(["bash", "-c", f"'{PYTHON}' -m homing_lab {words}"], cwd=self.folder, text=True, capture_output=True,
                              env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"})

    def limited(self, path, text):
        """Writes where files have but 1000 bytes."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            output.write_text(path, text)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def test_a_picture_into_what_stdout_writes_to(self):
        for words in ("--svg both --json > both", "--svg both --json >> both", "--svg /dev/stdout --json > both"):
            with self.subTest(words):
                (self.folder / "both").unlink(missing_ok=True)
                done = self.lab(f"show westmere {words}")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                picture, end, figures = (self.folder / "both").read_text().partition("</svg>\n")
                self.assertTrue(picture.startswith("<svg") and end)
                self.assertEqual(json.loads(figures)["name"], "westmere")

    def test_a_picture_and_a_page_need_two_files(self):
        (self.folder / "kept").write_text("before")
        (self.folder / "link").symlink_to("kept")
        os.link(self.folder / "kept", self.folder / "hard")
        for words in ("--svg kept -o kept", "--svg kept -o ./kept", "--svg link -o kept", "--svg kept -o hard", "--svg new -o new",
                      "--svg lab-report.html --open"):
            with self.subTest(words):
                done = self.lab(f"report '{RUN}' {words}")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("is the file of the page, too", done.stderr)
        self.assertEqual((self.folder / "kept").read_text(), "before")
        self.assertFalse((self.folder / "new").exists())
        self.assertEqual(self.lab(f"report '{RUN}' --svg /dev/null -o /dev/null").returncode, 0)

    def test_a_disk_that_is_full_leaves_the_old_file(self):
        old = self.folder / "old"
        old.write_text("before")
        old.chmod(0o640)
        (self.folder / "link").symlink_to("old")
        for name in ("old", "link"):
            with self.assertRaises(OSError) as caught:
                self.limited(self.folder / name, "x" * 2000)
            self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.EFBIG, str(old)))
            self.assertEqual(old.read_text(), "before")
        with self.assertRaises(OSError):
            self.limited(self.folder / "new", "x" * 2000)
        self.assertEqual(sorted(os.listdir(self.folder)), ["link", "old"])
        output.write_text(self.folder / "link", "after")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual((old.read_text(), old.stat().st_mode & 0o777), ("after", 0o640))

    def test_a_file_that_has_no_neighbours_or_two_names(self):
        old = self.folder / "old"
        old.write_text("before, and longer")
        with mock.patch("tempfile.mkstemp", side_effect=PermissionError(errno.EACCES, "no")):
            output.write_text(old, "after")
        self.assertEqual(old.read_text(), "after")
        os.link(old, self.folder / "other")
        output.write_text(old, "again")
        self.assertEqual((self.folder / "other").read_text(), "again")

    def test_an_owner_that_can_not_be_given(self):
        """As in a container whose users are not all known: the file is written as it is, and nothing stays beside it."""
        old = self.folder / "old"
        old.write_text("before, and longer")
        for call in ("fchown", "fchmod", "replace"):
            with mock.patch(f"os.{call}", side_effect=OSError(errno.EINVAL, "no")):
                output.write_text(old, call)
            self.assertEqual((old.read_text(), [one.name for one in self.folder.iterdir()]), (call, ["old"]))

    def test_the_hint_is_for_what_is_short(self):
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN):
            self.assertIn("ulimit", str(errors.of_system(OSError(number, os.strerror(number), "file"))))
        for number in (errno.EACCES, errno.ENAMETOOLONG, errno.EPERM):
            self.assertEqual(str(errors.of_system(OSError(number, os.strerror(number), "file"))), f"file: {os.strerror(number)}")

    def test_a_machine_that_can_not_be_looked_at(self):
        for name in ("a" * 300, "a" * 300 + ".toml"):
            with self.assertRaisesRegex(LabError, "aaa.*: File name too long") as caught:
                machine_file.find(name)
            self.assertEqual((caught.exception.code, caught.exception.hint), (2, ""))
        refused = mock.patch.object(Path, "is_file", side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
        with refused, self.assertRaisesRegex(LabError, "dir/m.toml: Permission denied"):
            machine_file.find("dir/m.toml")
        with refused:
            self.assertIn("westmere", machine_file.names())


if __name__ == "__main__":
    unittest.main()
