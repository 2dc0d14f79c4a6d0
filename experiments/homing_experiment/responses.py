"""What a run answers: the figures that a row has, each with its unit and what it is."""

from __future__ import annotations

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
HIGHER_IS_BETTER = {"rate", "at_home"}
NEITHER_IS_BETTER = {"local_cache", "local_dram", "near"}  # good or bad by what these lines were instead of
