"""Where the lab's parts are: in the source tree with a build, or installed."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import LabError

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parent  # .../lab of the source tree, or lib/homing/lab where installed


def _places() -> list[Path]:
    """Folders with binaries, the first wins: beside us, builds of the tree; HOMING_LAB_BUILD alone
    if it is given, so that nobody gets the parts of two builds."""
    given = os.environ.get("HOMING_LAB_BUILD")
    if given:
        if not (Path(given) / "lab").is_dir():
            raise LabError(
                f"HOMING_LAB_BUILD={given}: there is no folder {Path(given) / 'lab'}",
                "expected a build folder of Homing, with the lab built: "
                "scripts/build release homing_lab_init homing_lab",
            )
        return [Path(given) / "lab"]
    builds = ROOT.parent.glob("build/*/lab")
    return [ROOT, *sorted(builds, key=lambda p: (p.parent.name != "release", p))]


def machine_folders() -> list[Path]:
    """Folders of machine files: the user's own, then ours."""
    own = os.environ.get("HOMING_LAB_MACHINES", "")
    return [Path(folder) for folder in own.split(":") if folder] + [ROOT / "machines"]


def binary(name: str) -> Path | None:
    for place in _places():
        if (place / name).is_file():
            return place / name
    return None


def needed(name: str, target: str) -> Path:
    found = binary(name)
    if found is None:
        raise LabError(
            f"the lab's {name} is not there",
            f"build it: scripts/build release {target} (looked in: "
            f"{', '.join(str(place) for place in _places())})",
        )
    return found


def tbb_library() -> Path | None:
    """Our libtbb.so.12: HOMING_LAB_TBB, installed, or of a build."""
    given = os.environ.get("HOMING_LAB_TBB")
    places = [Path(given)] if given else []
    places.append(ROOT.parent / "libtbb.so.12")
    places += [place.parent / "lib/homing/libtbb.so.12" for place in _places()]
    return next((place for place in places if place.is_file()), None)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "homing" / "lab"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(
            f"can't make the cache folder {folder}: {error.strerror}",
            "set XDG_CACHE_HOME to a folder that you may write to",
        ) from error
    return folder
