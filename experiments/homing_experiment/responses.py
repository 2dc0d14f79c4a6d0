"""What a run answers: the figures that a row has, each with its unit and what it is; and what gives those that not
every run has."""

from __future__ import annotations

from collections.abc import Mapping

SERVED = ("local_cache", "remote_cache", "local_dram", "remote_dram")
RESPONSES = {
    "median_ms": "median time of a repetition, in ms",
    "end_to_end_ms": "all repetitions and the moving of pages, in ms",
    "moving_ms": "time that moving pages took, in ms",
    "rate": "work a second, in the program's unit",
    "virtual_ms": "virtual time of all repetitions, in ms (modelled)",
    "at_home": "share of the work done at home",
    **{name: f"cache lines served by {name.replace('_', ' ').replace('dram', 'DRAM')}" for name in SERVED},
    "remote_share": "share of the lines that another node served",
    "near": "lines that near memory served, by the CPU's events",
    "far": "lines that far memory served, by the CPU's events",
}
COMPUTATION = "virtual_ms"  # outside the lab: the sum of the repetitions' own times, which the row has as `ms`
ON_REAL_CLOCKS = "time of all repetitions, in ms"
BY_THE_LAB = "the lab counts it, on a virtual machine (`homing lab list`)"
BY_THE_CPU = "the CPU counts it, on a real machine and where the kernel lets it, with limits.counters = \"wanted\" or with --here"
COUNTED_BY_THE_CPU = {"local_dram": "near", "remote_dram": "far"}  # what of the lab's lines a real machine counts, too
GIVEN_BY = {COMPUTATION: "the lab's clock gives it, or the times of a run's repetitions",
            "at_home": "programs and variants with homes give it",
            **dict.fromkeys((*SERVED, "remote_share"), BY_THE_LAB), **dict.fromkeys(("near", "far"), BY_THE_CPU)}
HIGHER_IS_BETTER = {"rate", "at_home"}
NEITHER_IS_BETTER = {"local_cache", "local_dram", "near"}  # good or bad by what these lines were instead of


def value(row: Mapping[str, str], response: str) -> float | None:
    """A row's figure; None if it has none. A run outside the lab has no virtual time: its computation took what its
    repetitions took, by the machine's own clock."""
    if row[response]:
        return float(row[response])
    if response == COMPUTATION and row["kind"] != "modelled" and row["ms"]:
        return sum(map(float, row["ms"].split()))
    return None


def what(response: str, kind: str) -> str:
    """A response in words, of rows of that kind."""
    return ON_REAL_CLOCKS if response == COMPUTATION and kind != "modelled" else RESPONSES[response]
