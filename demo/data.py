"""Seeded input for the demo's programs: the same seed gives the same bytes on every machine.

Only `random.Random` is used, whose sequence Python guarantees for a seed; NumPy gives no such promise.
"""

import itertools
import random
from pathlib import Path

ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC"
"""The start of the Illumina TruSeq adapter, which a sequencer reads when a fragment is shorter than a read."""

_BASE_OF_BYTE = bytes(b"ACGT"[value & 3] for value in range(256))


def bases(rng: random.Random, length: int) -> str:
    """A random stretch of DNA of `length` bases."""
    return rng.randbytes(length).translate(_BASE_OF_BYTE).decode()


def _mistaken(rng: random.Random, read: str, rate: float) -> str:
    """`read` with about `rate` of its bases replaced, as a sequencer would misread them."""
    letters = list(read)
    for _ in range(int(len(letters) * rate * 2)):
        if rng.random() < 0.5:
            letters[rng.randrange(len(letters))] = rng.choice("ACGTN" if rng.random() < 0.05 else "ACGT")
    return "".join(letters)


def _qualities(rng: random.Random, length: int) -> str:
    """Phred scores that begin high and fall towards the end of the read, as real ones do."""
    fall = rng.randrange(length // 2, length + 1)
    tail = rng.randbytes(length - fall)
    return "I" * fall + "".join(chr(33 + 2 + (value & 31)) for value in tail)


def adapter_reads(path: Path, *, seed: int, count: int, length: int = 100) -> None:
    """FASTQ reads of `length` bases, about half of which run into the adapter."""
    rng = random.Random(seed)
    with path.open("w") as file:
        for index in range(count):
            insert = rng.randrange(length // 4, length * 2)
            read = (bases(rng, min(insert, length)) + ADAPTER + bases(rng, length))[:length]
            read = _mistaken(rng, read, 0.01)
            file.write(f"@read{index}\n{read}\n+\n{_qualities(rng, length)}\n")


def transcripts(path: Path, *, seed: int, genes: int) -> list[str]:
    """A FASTA file of made-up transcripts, two isoforms a gene; returns their sequences."""
    rng = random.Random(seed)
    sequences = []
    for _ in range(genes):
        exons = [bases(rng, rng.randrange(200, 900)) for _ in range(4)]
        sequences += ["".join(exons), "".join(exons[:2] + exons[3:])]
    with path.open("w") as file:
        for index, sequence in enumerate(sequences):
            file.write(f">gene{index // 2}.{index % 2}\n{sequence}\n")
    return sequences


def transcript_reads(path: Path, sequences: list[str], *, seed: int, count: int, length: int = 100) -> None:
    """FASTQ reads sampled from `sequences`, which are expressed very unequally."""
    rng = random.Random(seed)
    shares = list(itertools.accumulate(rng.paretovariate(1.2) for _ in sequences))
    with path.open("w") as file:
        for index in range(count):
            sequence = rng.choices(sequences, cum_weights=shares)[0]
            start = rng.randrange(len(sequence) - length + 1)
            read = _mistaken(rng, sequence[start : start + length], 0.01)
            file.write(f"@read{index}\n{read}\n+\n{'I' * length}\n")


def point_cloud(path: Path, *, seed: int, count: int) -> None:
    """An ASCII PTS file of points on a few overlapping spheres."""
    rng = random.Random(seed)
    spheres = [([rng.uniform(-1, 1) for _ in range(3)], rng.uniform(0.3, 0.8)) for _ in range(9)]
    with path.open("w") as file:
        file.write(f"{count}\n")
        for _ in range(count):
            centre, radius = rng.choice(spheres)
            # Rejection instead of trigonometry: the last digits of sin() differ between C libraries.
            while True:
                x, y, z = (rng.uniform(-1, 1) for _ in range(3))
                norm = (x * x + y * y + z * z) ** 0.5
                if 0.1 < norm <= 1:
                    break
            at = (c + radius * v / norm for c, v in zip(centre, (x, y, z)))
            file.write(" ".join(f"{value:.6f}" for value in at) + " 0 0 0 0\n")


def polynomial_system(path: Path, *, seed: int, variables: int, degree: int, count: int, prime: int = 32003) -> None:
    """`count` dense random polynomials over the integers modulo `prime`, in mathicgb's input format."""
    rng = random.Random(seed)
    monomials = [
        combination
        for total in range(degree, -1, -1)
        for combination in itertools.combinations_with_replacement(range(variables), total)
    ]
    with path.open("w") as file:
        # The header: characteristic, number of variables, and the graded reverse lexicographic order.
        file.write(f"{prime} {variables} 1 {' '.join(['1'] * variables)}\n{count}\n")
        for _ in range(count):
            terms = []
            for combination in monomials:
                powers = "".join(
                    f"{chr(ord('a') + variable)}{combination.count(variable)}"
                    for variable in sorted(set(combination))
                )
                terms.append(f"{rng.randrange(1, prime)}{powers}")
            file.write("+".join(terms) + "\n")
