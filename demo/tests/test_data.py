"""The generators give the same bytes for the same seed, other bytes for another, and well-formed input."""

import hashlib
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import data  # noqa: E402


def _adapter_reads(path, seed):
    data.adapter_reads(path, seed=seed, count=50)


def _transcript_reads(path, seed):
    sequences = data.transcripts(path, seed=seed, genes=5)
    data.transcript_reads(path, sequences, seed=seed, count=50)


def _point_cloud(path, seed):
    data.point_cloud(path, seed=seed, count=50)


def _polynomial_system(path, seed):
    data.polynomial_system(path, seed=seed, variables=4, degree=2, count=3)


# The first digits of the SHA-256 at seed 7. They change only with a generator, and then every figure does.
GENERATORS = {
    _adapter_reads: "345e08289b803148",
    _transcript_reads: "ccf558301fec5d10",
    _point_cloud: "4441cccfb804d9d9",
    _polynomial_system: "ea249f1c892a16b8",
}


class Generators(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self, generate, seed):
        path = self.folder / "input"
        generate(path, seed)
        return path.read_text()

    def test_a_seed_gives_the_same_bytes_everywhere(self):
        for generate, wanted in GENERATORS.items():
            with self.subTest(generate.__name__):
                text = self.made(generate, 7)
                self.assertEqual(hashlib.sha256(text.encode()).hexdigest()[:16], wanted)
                self.assertNotEqual(text, self.made(generate, 8))

    def test_fastq_records_have_as_many_qualities_as_bases(self):
        for generate in (_adapter_reads, _transcript_reads):
            lines = self.made(generate, 1).splitlines()
            self.assertEqual(len(lines), 4 * 50)
            for name, read, plus, qualities in zip(*[iter(lines)] * 4):
                self.assertTrue(name.startswith("@") and plus == "+")
                self.assertLessEqual(set(read), set("ACGTN"))
                self.assertEqual((len(read), len(qualities)), (100, 100))
                self.assertTrue(all("!" <= score <= "I" for score in qualities))

    def test_some_reads_run_into_the_adapter_and_some_do_not(self):
        reads = self.made(_adapter_reads, 1).splitlines()[1::4]
        found = sum(data.ADAPTER[:12] in read for read in reads)
        self.assertTrue(0 < found < len(reads), found)

    def test_isoforms_share_exons(self):
        long, short = data.transcripts(self.folder / "input", seed=1, genes=1)
        self.assertLess(len(short), len(long))
        self.assertEqual(long[:200], short[:200])
        self.assertEqual(long[-200:], short[-200:])

    def test_points_are_counted_in_the_first_line(self):
        count, *points = self.made(_point_cloud, 1).splitlines()
        self.assertEqual(int(count), len(points))
        self.assertTrue(all(len(point.split()) == 7 for point in points))

    def test_polynomials_are_dense(self):
        characteristic, count, *polynomials = self.made(_polynomial_system, 1).splitlines()
        self.assertEqual(characteristic.split()[:2], ["32003", "4"])
        self.assertEqual(int(count), len(polynomials))
        for polynomial in polynomials:
            self.assertEqual(len(polynomial.split("+")), 15)  # monomials of degree 0 to 2 in 4 variables


if __name__ == "__main__":
    unittest.main()
