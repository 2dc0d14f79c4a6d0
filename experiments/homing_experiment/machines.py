"""The virtual machines that a campaign may name: those of the lab, which lies beside this package, and files."""

from __future__ import annotations

import sys
from pathlib import Path

from .errors import DesignError, ExperimentError
from .settings import HERE

LAB = Path(__file__).resolve().parents[2] / "lab"


def word(name: str, campaign: Path) -> str:
    """What the lab is told: a name, or the file's path, which in a campaign is seen from the campaign's own folder."""
    return str(campaign.parent / name) if name.endswith(".toml") else name


def check(where: str, name: str, campaign: Path) -> None:
    """Raises DesignError if there is no such machine."""
    if name == HERE:
        return
    if name.endswith(".toml"):
        if not Path(word(name, campaign)).is_file():
            raise DesignError(where, repr(name), f"a machine's file: there is no {word(name, campaign)}")
        return
    known = _names()
    if name not in known:
        raise DesignError(where, repr(name), f"\"{HERE}\", a file .toml, or one of: {', '.join(known)}")


def _names() -> list[str]:
    if str(LAB) not in sys.path:
        sys.path.append(str(LAB))
    try:
        from homing_lab import errors, machine_file
    except ModuleNotFoundError as error:
        raise ExperimentError(f"there is no lab in {LAB}, so no virtual machine", f"machine = \"{HERE}\" needs none") from error
    try:
        return machine_file.names()
    except errors.LabError as error:
        raise ExperimentError(str(error), code=error.code) from error
