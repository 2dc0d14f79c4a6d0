"""The machines that programs run on: the real one, and made-up ones, by our variable or hwloc's."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mode:
    """A name, and what it adds to a program's environment."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def made_up(self) -> bool:
        return bool(self.environment)

    @property
    def ours_alone(self) -> bool:
        """Made up by our variable: a test that asks hwloc itself sees the real machine."""
        return "HOMING_TOPOLOGY" in self.environment


MODES = {
    mode.name: mode
    for mode in (
        Mode("plain"),
        Mode("node4", {"HOMING_TOPOLOGY": "node:4 core:2 pu:1"}),
        Mode("node2", {"HOMING_TOPOLOGY": "node:2 core:1 pu:1"}),
        # What stock oneTBB understands, too: two nodes, bound to the real CPUs 0 and 1.
        Mode("synthetic", {"HWLOC_SYNTHETIC": "node:2 core:1 pu:1", "HWLOC_THISSYSTEM": "1"}),
    )
}


def choose(names: list[str], topology: str) -> list[Mode]:
    """The modes asked for, in the order of MODES; a topology of the user's own is one by itself."""
    if topology:
        return [Mode(topology, {"HOMING_TOPOLOGY": topology})]
    return [mode for name, mode in MODES.items() if name in names or "all" in names]
