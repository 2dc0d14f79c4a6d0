"""salmon, Debian's: indexes made-up transcripts, then counts reads sampled from them."""

import csv
import json
from pathlib import Path

import data
from programs.base import SEED, Place, Program, Step
from results import Close, Results

_INDEX_FACTS = ("num_kmers", "num_contigs", "seq_length", "SeqHash", "NameHash")
_QUANT_FACTS = ("num_processed", "num_mapped", "num_valid_targets", "library_types")


class Salmon(Program):
    """Its index numbers the contigs, and its estimator takes the reads, in the order the threads come: stock runs
    differ among themselves. So totals are compared exactly, and reads per transcript to a thousandth."""

    name = "salmon"
    title = "salmon"
    timed = "the command quant"

    def prepare(self, inputs: Path) -> None:
        sequences = data.transcripts(inputs / "transcripts.fasta", seed=SEED, genes=120)
        data.transcript_reads(inputs / "transcripts.fastq", sequences, seed=SEED + 1, count=40_000)

    def steps(self, place: Place) -> list[Step]:
        threads = str(max(2, place.threads))
        start = ["salmon", "--no-version-check"]
        return [
            Step([*start, "index", "-t", str(place.inputs / "transcripts.fasta"), "-i", "index", "-k", "31",
                  "-p", threads], timed=False),  # it waits busily by itself: its time is chance, also on stock
            Step([*start, "quant", "-i", "index", "-l", "A", "-r", str(place.inputs / "transcripts.fastq"),
                  "-o", "quant", "-p", threads]),
        ]

    def results(self, place: Place) -> Results:
        index = json.loads((place.out / "index" / "info.json").read_text())
        quant = json.loads((place.out / "quant" / "aux_info" / "meta_info.json").read_text())
        results: Results = {name: str(index[name]) for name in _INDEX_FACTS}
        results |= {name: str(quant[name]) for name in _QUANT_FACTS}
        with (place.out / "quant" / "quant.sf").open() as file:
            for row in csv.DictReader(file, delimiter="\t"):
                results[row["Name"]] = Close(float(row["NumReads"]), relative=1e-3, absolute=0.5)
        return results
