"""Where the lab's parts are: in the source tree with a build, or installed."""

from __future__ import annotations

import os
from pathlib import Path

from .architecture import X86_64, Architecture
from .errors import LabError, UsageError

PACKAGE = Path(__file__).resolve().parent
TBB = "libtbb.so.12"
ROOT = PACKAGE.parent  # .../lab of the source tree, or lib/homing/lab where installed


def _places(arch: Architecture = X86_64) -> list[Path]:
    """Folders with binaries, the first wins: beside us, builds of the tree; HOMING_LAB_BUILD alone
    if it is given, so that nobody gets the parts of two builds. What runs in guests of another
    architecture has a build of its own."""
    preset = "release" if arch.native else arch.name
    if arch.native:
        variable, given = "HOMING_LAB_BUILD", os.environ.get("HOMING_LAB_BUILD")
    else:
        variable, given = "HOMING_LAB_GUEST_BUILD", os.environ.get("HOMING_LAB_GUEST_BUILD")
    if given:
        if not (Path(given) / "lab").is_dir():
            raise LabError(
                f"{variable}={given}: there is no folder {Path(given) / 'lab'}",
                "expected a build folder of Homing, with the lab built: "
                f"scripts/build {preset} homing_lab_init homing_lab"
                + ("" if arch.native else "_probes"),
            )
        return [Path(given) / "lab"]
    if not arch.native:
        return [ROOT / arch.name, ROOT.parent / "build" / arch.name / "lab"]
    builds = ROOT.parent.glob("build/*/lab")
    return [ROOT, *sorted(builds, key=lambda p: (p.parent.name != "release", p))]


def machine_folders() -> list[Path]:
    """Folders of machine files: the user's own, then ours."""
    given = os.environ.get("HOMING_LAB_MACHINES", "")
    own = [Path(folder) for folder in given.split(":") if folder]
    for folder in own:
        if not folder.is_dir():
            raise UsageError(
                f"HOMING_LAB_MACHINES={given}: there is no folder {folder}",
                "expected folders with machine files (NAME.toml), by colons",
            )
    return own + [ROOT / "machines"]


def binary(name: str, arch: Architecture = X86_64) -> Path | None:
    for place in _places(arch):
        if (place / name).is_file():
            return place / name
    return None


def needed(name: str, target: str, arch: Architecture = X86_64) -> Path:
    found = binary(name, arch)
    if found is None:
        build = f"scripts/build release {target}"
        if not arch.native:
            build = f"scripts/setup {arch.setup} and scripts/build {arch.name} {target}"
        raise LabError(
            f"the lab's {name} for {arch.title} guests is not there",
            f"build it: {build} (looked in: "
            f"{', '.join(str(place) for place in _places(arch))})",
        )
    return found


def tbb_library(arch: Architecture = X86_64) -> Path | None:
    """Our libtbb.so.12: that of HOMING_LAB_TBB alone if it is given; else installed, or of a build."""
    if given := os.environ.get("HOMING_LAB_TBB"):
        return _given_tbb(given, arch)
    places = [(ROOT.parent if arch.native else ROOT / arch.name) / TBB]
    places += [place.parent / "lib/homing" / TBB for place in _places(arch)]
    return next((place for place in places if place.is_file()), None)


def _given_tbb(given: str, arch: Architecture) -> Path:
    library, why = Path(given), ""
    try:
        if not library.is_file():
            why = f"there is no file {given}"
        elif library.name != TBB:  # it is loaded by its folder and that name
            why = f"the file is not called {TBB}"
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        preset = "release" if arch.native else arch.name
        raise LabError(f"HOMING_LAB_TBB={given}: {why}", f"expected a {TBB} of Homing: scripts/build {preset} tbb")
    return library


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
