"""Where the time goes: instructions, virtual time and waiting by function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .names import Names

BLOCKS_MAX = 20000  # that are looked up: those that took the most time


@dataclass
class Function:
    name: str
    module: str
    instructions: int = 0
    ns: float = 0
    wait_ns: float = 0  # beyond what its instructions take without waiting


def functions(hot: dict[str, Any], names: Names) -> list[Function]:
    """All of the program's, and the kernel as one; those that took the most time first."""
    ns_per_instruction = hot["cpi"] / hot["clock_ghz"]
    blocks = sorted(hot["blocks"], key=lambda block: -block[2])
    names.learn(address for address, _, _ in blocks[:BLOCKS_MAX])
    found: dict[tuple[str, str], Function] = {}

    def add(name: str, module: str, instructions: int, ns: float) -> None:
        function = found.setdefault((name, module), Function(name, module))
        function.instructions += instructions
        function.ns += ns

    for address, instructions, ns in blocks:
        if not names.is_ours(address):
            add(names.outermost(address).function, names.module_name(address), instructions, ns)
    add("the kernel", "kernel", hot["kernel"]["instructions"], hot["kernel"]["ns"])
    for function in found.values():
        function.wait_ns = max(0.0, function.ns - function.instructions * ns_per_instruction)
    return sorted(found.values(), key=lambda f: (-f.ns, f.name))
