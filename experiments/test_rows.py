"""A file of rows is read without being written to, whatever it is and whoever writes it meanwhile; what an
interruption cut off is done again; a row that another hand made is named. Method: a campaign of answers, and its file
changed byte by byte."""

import csv
import errno
import io
import os
import unittest
from unittest import mock

from test_campaign import TEXT, Answers, Folder

from homing_experiment import campaign, places, programs, rows
from homing_experiment.errors import ExperimentError
from homing_experiment.progress import Progress


class Named(Answers):
    """With the command that a run of the campaign has."""

    def __call__(self, plan_, places_, batch, ended):
        found = super().__call__(plan_, places_, batch, ended)
        lines = [programs.shell_line(run, run.cell.settings["program"], {}) for run in batch]
        return [row | {"command": line, "note": "é\rè"} for row, line in zip(found, lines)]


class Files(Folder):
    def setUp(self):
        super().setUp()
        self.design = self.load()
        self.store = rows.Rows(self.folder / "rows.csv", self.design)
        self.go()
        self.whole = self.store.path.read_bytes()

    def go(self):
        do = Named()
        campaign.run(self.design, type("Where", (), {"commit": "c"}), self.store, campaign.Bounds(),
                     Progress(False), do)
        return do.asked

    def test_reading_writes_nothing(self):
        for content in (b'{"precious": true}', b"first line\nlast line", b"\xff\xfe", self.whole[:-20],
                        self.whole[:-1], self.whole[:100]):
            self.store.path.write_bytes(content)
            try:
                campaign.status(self.design, self.store)
            except ExperimentError:
                pass
            self.assertEqual(self.store.path.read_bytes(), content)
        for content in (b'{"precious": true}', b"first line\nlast line"):
            self.store.path.write_bytes(content)
            with self.assertRaisesRegex(ExperimentError, "columns"):
                self.go()
            self.assertEqual(self.store.path.read_bytes(), content)

    def test_a_file_cut_anywhere(self):
        """At each byte of the last row and of the first line; each time the campaign goes on to the same rows."""
        end = len(self.whole)
        last = self.whole.rfind(b"\n", 0, end - 1) + 1
        head = self.whole.index(b"\n")
        for cut in (0, 1, head // 2, head, head + 1, last, *range(last + 1, end, 7),
                    self.whole.rindex("é".encode()) + 1):
            self.store.path.write_bytes(self.whole[:cut])
            there = self.store.load()
            self.go()
            self.assertEqual(len(self.store.load()), 18, cut)
            self.assertEqual(self.store.load()[: len(there)], there)
        self.store.path.write_bytes(self.whole[:-1])
        self.assertEqual((len(self.store.load()), self.go(), self.store.path.read_bytes()), (18, [], self.whole))

    def changed(self, name, value):
        table = list(csv.reader(io.StringIO(self.whole.decode())))
        table[3][table[0].index(name)] = value
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(table)
        self.store.path.write_text(text.getvalue())

    def test_rows_that_can_t_be(self):
        for name, value in (("median_ms", "abc"), ("median_ms", "nan"), ("block", "x"), ("cell", "zz"),
                            ("kind", "foo"), ("place", ""),
                            ("host_seconds", "-inf"), ("ms", "1.5 x"), ("ms", "1.5 nan"), ("run", "0/zz"),
                            ("median_ms", "1_0"), ("median_ms", "1e308"), ("ms", "1_0"), ("place", "\uff11")):
            self.changed(name, value)
            with self.assertRaisesRegex(ExperimentError, "rows.csv:4: .*\n.*remove that line"):
                self.store.load()

    def test_a_number_without_an_end(self):
        """More digits than Python reads."""
        table = list(csv.reader(io.StringIO(self.whole.decode())))
        digits, at = "9" * 5000, table[0].index
        table[3][at("block")], table[3][at("run")] = digits, f"{digits}/{table[3][at('cell')]}"
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(table)
        self.store.path.write_text(text.getvalue())
        with self.assertRaisesRegex(ExperimentError, "rows.csv:4: block '9{60}', which is no number"):
            self.store.load()

    def test_what_is_no_file(self):
        """A FIFO is not waited for, not renamed, and nothing is written into it."""
        self.store.path.unlink()
        os.mkfifo(self.store.path)
        for use in (self.store.load, self.store.mend, self.store.put_aside, self.go):
            with self.assertRaisesRegex(ExperimentError, "rows.csv is not a regular file\n.*a file of rows") as caught:
                use()
            self.assertEqual(caught.exception.code, 2)
        self.assertTrue(self.store.path.is_fifo())
        self.assertEqual(sorted(self.folder.glob("*.csv")), [self.store.path])

    def test_what_the_system_refuses(self):
        refused = PermissionError(errno.EACCES, "Permission denied")
        for content in (self.whole[:-1], self.whole[:-20]):
            self.store.path.write_bytes(content)
            with mock.patch.object(rows.Path, "open", side_effect=refused):
                self.assertRaisesRegex(ExperimentError, "can't write .*rows.csv: Permission denied", self.store.mend)
        with mock.patch.object(rows.Path, "rename", side_effect=refused):
            self.assertRaisesRegex(ExperimentError, "can't put .*rows.csv aside: Permission", self.store.put_aside)
        for name, use in (("stat", self.store.put_aside), ("exists", lambda: self.store.add([]))):
            with mock.patch.object(rows.Path, name, side_effect=refused):
                self.assertRaisesRegex(ExperimentError, "rows.csv.*: Permission denied", use)

    def test_a_file_of_rows_that_is_none(self):
        found = self.load()
        file, nowhere = self.folder / "campaign.toml", self.folder / "nowhere.csv"
        with self.assertRaisesRegex(ExperimentError, f"--rows {self.folder}: is a directory; expected a file of rows"):
            places.rows_file(found, self.folder)
        with self.assertRaisesRegex(ExperimentError, f"--rows {nowhere}: No such file or directory"):
            places.standing_rows_file(found, nowhere)
        os.mkfifo(self.folder / "fifo")
        for asked in (places.rows_file, places.standing_rows_file):
            with self.assertRaisesRegex(ExperimentError, f"{self.folder}/fifo is not a regular file\n.*file of rows"):
                asked(found, self.folder / "fifo")
        self.assertEqual((places.rows_file(found, nowhere), places.standing_rows_file(found, file)), (nowhere, file))
        self.assertEqual(places.standing_rows_file(found, None), self.folder / "rows" / "made-up.csv")
        with self.assertRaisesRegex(ExperimentError, f"can't write {file}/.x.csv.lock"), campaign.only_writer(file / "x.csv"):
            pass

    def test_a_file_that_is_too_large(self):
        with mock.patch.object(rows, "BYTES_MAX", len(self.whole) - 1):
            self.assertRaisesRegex(ExperimentError, "rows.csv has more than .* at most", self.store.load)
        with mock.patch.object(rows, "BYTES_MAX", len(self.whole)):
            self.assertEqual(len(self.store.load()), 18)

    def test_fewer_replicates(self):
        fewer = self.load(TEXT.replace("replicates = 3", "replicates = 2"))
        self.assertEqual(len(rows.Rows(self.store.path, fewer).load()), 12)
        self.assertEqual(len(self.store.load()), 18)

    def test_two_names_of_one_file(self):
        link = self.folder / "elsewhere" / "link.csv"
        link.parent.mkdir()
        link.symlink_to(self.store.path)
        with campaign.only_writer(self.store.path):
            with self.assertRaisesRegex(ExperimentError, "another"), campaign.only_writer(link):
                pass


if __name__ == "__main__":
    unittest.main()
