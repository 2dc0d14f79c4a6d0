"""A machine's cores, [core] of its file: what one has under way at once, and what its instructions
take. What the file leaves out is the lab's own assumption, and listed as such."""

from __future__ import annotations

from .keys import Table

# key: least, most, the lab's assumption; all but wake_ns in cycles or numbers of things
FIGURES: dict[str, tuple[float, float, float]] = {
    "window": (1, 4096, 128),
    "store_buffer": (1, 4096, 32),
    "load_cycles": (0, 1000, 4),
    "multiply_cycles": (0, 1000, 3),
    "divide_cycles": (0, 1000, 25),
    "float_add_cycles": (0, 1000, 4),
    "float_multiply_cycles": (0, 1000, 4),
    "fused_cycles": (0, 1000, 5),
    "float_divide_cycles": (0, 1000, 20),
    "locked_cycles": (0, 10_000, 20),
    "pause_cycles": (0, 10_000, 40),
    "fence_cycles": (0, 10_000, 33),
    "system_call_cycles": (0, 100_000, 100),
    "wake_ns": (0, 1e6, 2000),
}
COUNTS = ("window", "store_buffer")
HOW = "what the file does not say: the lab's own, of a usual core of the last fifteen years"


def read(table: Table) -> tuple[dict[str, float], str]:
    """The figures, and what is assumed of them; empty if the file has all."""
    figures: dict[str, float] = {}
    missing = []
    for key, (least, most, usual) in FIGURES.items():
        if key not in table:
            missing.append(key)
        if key in COUNTS:
            figures[key] = table.whole(key, int(least), int(most), int(usual))
        else:
            figures[key] = table.number(key, least, most, usual)
    if not missing:
        return figures, ""
    said = ", ".join(missing) if len(missing) < len(FIGURES) else "all"
    return figures, f"{HOW} ({said})"
