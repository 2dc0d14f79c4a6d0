"""flexbar, Debian's: trims sequencing reads in a TBB pipeline."""

import re
from pathlib import Path

import data
from programs.base import SEED, Place, Program, Step
from results import Results, file_checksum


class Flexbar(Program):
    name = "flexbar"
    title = "flexbar"

    def prepare(self, inputs: Path) -> None:
        data.adapter_reads(inputs / "adapter.fastq", seed=SEED, count=20_000)
        (inputs / "adapter.fasta").write_text(f">adapter\n{data.ADAPTER}\n")

    def steps(self, place: Place) -> list[Step]:
        return [
            Step(
                ["flexbar", "-r", str(place.inputs / "adapter.fastq"), "-a", str(place.inputs / "adapter.fasta"),
                 "-q", "TAIL", "-qf", "sanger", "-t", "trimmed", "-n", str(place.threads)]
            )
        ]

    def results(self, place: Place) -> Results:
        log = (place.out / "trimmed.log").read_text()
        counts = dict(re.findall(r"^(Remaining reads|Remaining bases|Processed reads) +(\d+)", log, re.MULTILINE))
        return counts | {"trimmed.fastq": file_checksum(place.out / "trimmed.fastq")}
