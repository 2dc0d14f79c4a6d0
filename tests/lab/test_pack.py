"""What goes into the guest, and what is refused beforehand: paths with spaces and commas, places that two files want, words that
happen to be on PATH, libraries of other names. Method: packs that are made here; boots nothing."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab"), str(ROOT / "commands")]

from homing_lab import cache, counts, image, qemu, run  # noqa: E402
from homing_lab.errors import LabError, UsageError  # noqa: E402
from homing_lab.pack import Entry, Pack  # noqa: E402


class Packs(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name).resolve()

    def pack(self, *words, **options):
        chosen = run.Options(machine="one-node", words=list(words), **options)
        return run.make_pack(chosen, run.environment_of(chosen))

    def test_a_library_whose_path_has_a_space(self):
        folder = self.folder / "my libs (1)"
        folder.mkdir()
        for name, text, more in (("libpart.so", "int part(void) { return 9; }", ["-shared", "-fPIC"]),
                                 ("whole", "int part(void); int main(void) { return part(); }", [f"-L{folder}", "-l:libpart.so",
                                                                                                  f"-Wl,-rpath,{folder}"])):
            (self.folder / "text.c").write_text(text)
            subprocess.run(["cc", self.folder / "text.c", "-o", folder / name, *more], check=True)
        packed = self.pack(str(folder / "whole"))
        self.assertIn(str(folder / "libpart.so"), packed.entries)
        self.assertFalse(packed.notes)

    def test_file_needs_a_source_and_a_place_of_its_own(self):
        for name in ("a", "b"):
            (self.folder / name).write_text(name)
        a, b = self.folder / "a", self.folder / "b"
        for text in (":/data", f"{a}:"):
            with self.assertRaisesRegex(UsageError, f"--file {text}: expected SRC"):
                self.pack("true", files=[text])
        with self.assertRaisesRegex(UsageError, f"--file {b}:/data: /data is {a} already"):
            self.pack("true", files=[f"{a}:/data", f"{b}:/data"])
        self.assertIn("/data", self.pack("true", files=[f"{a}:/data", f"{a}:/data"]).entries)

    def test_a_word_that_happens_to_be_on_path(self):
        program = self.folder / "fastmode"
        program.write_text("#!/no/such/interpreter\n")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}"):
            packed = self.pack("echo", "fastmode")
            self.assertTrue(any("/no/such/interpreter" in note for note in packed.notes), packed.notes)
            with self.assertRaises(LabError):
                self.pack("fastmode")

    def test_stock_library(self):
        other, link = self.folder / "libother.so", self.folder / "libtbb.so.12"
        other.touch()
        with self.assertRaisesRegex(UsageError, "libother.so: expected a file that is called libtbb.so.12"):
            self.pack("true", tbb="stock", stock_library=other)
        for tbb in ("", "homing"):
            with self.assertRaisesRegex(UsageError, "--stock-library without --tbb stock"):
                self.pack("true", tbb=tbb, stock_library=other)
        link.symlink_to("libother.so")
        self.assertIn(str(link), self.pack("true", tbb="stock", stock_library=link).entries)

    def test_a_file_that_changes_while_it_is_packed(self):
        """The image that is kept has the content of its name."""
        file = self.folder / "data"
        file.write_text("first")
        packed = Pack({})
        packed.add("/data", Entry(0o100644, file))
        real = image._hash
        changes = ["second", "third"]

        def hashed(path):
            result = real(path)
            if changes:
                file.write_text(changes.pop(0))
            return result

        with (mock.patch.object(image, "add_base"), mock.patch.object(image, "_hash", hashed),
              mock.patch.object(cache, "cache_folder", return_value=self.folder)):
            self.assertIn(b"third", image.build(packed).read_bytes())
            file.write_text("new")
            changes += ["4", "5", "6", "7"]
            with self.assertRaisesRegex(LabError, f"{file} changed while it was packed"):
                image.build(packed)
        self.assertEqual(len(list(self.folder.glob("image-*"))), 1)

    def test_the_caches_limit_is_for_folders_too(self):
        (self.folder / "root-aarch64-1/usr").mkdir(parents=True)
        (self.folder / "root-aarch64-1/usr/large").write_bytes(bytes(1 << 20))
        for name in ("image-a", "image-b"):
            (self.folder / name).write_bytes(bytes(600 << 10))
        os.utime(self.folder / "image-a", (1, 1))
        with mock.patch.dict(os.environ, HOMING_LAB_CACHE_MIB="2"):
            cache.prune(self.folder)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["image-b", "root-aarch64-1"])

    def test_counts_go_into_no_link_of_anothers(self):
        (self.folder / "counts.json").write_text('{"schema": 1}')
        (self.folder / "out").mkdir()
        (self.folder / "out/counts.json").symlink_to(self.folder / "precious")
        with mock.patch("homing_lab.output.os.geteuid", return_value=12345), mock.patch("homing_lab.output.os.fstat") as facts:
            facts.return_value.st_uid = 54321
            with self.assertRaisesRegex(LabError, "a symbolic link that another user made"):
                counts.collect(self.folder / "counts.json", self.folder / "out")
        self.assertFalse((self.folder / "precious").exists())

    def test_commas_in_paths(self):
        machine = run.machine_file.load("one-node")
        with mock.patch.object(qemu, "program", return_value="qemu"):
            words = qemu.command(machine, Path("kernel"), Path("image"), Path("runs/a,b"), 3)
        self.assertTrue(any("mem-path=runs/a,,b/window" in word for word in words), words)
        self.assertFalse(any("runs/a,b" in word for word in words), words)


if __name__ == "__main__":
    unittest.main()
