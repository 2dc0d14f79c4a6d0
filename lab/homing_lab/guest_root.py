"""Debian's files for guests of a foreign architecture: a kernel, busybox, and the C and C++ libraries.

Downloaded by apt with lists of its own, unpacked into the lab's cache, and never installed: the
host's package manager knows no more architectures than before. `python -m homing_lab.guest_root
aarch64` fetches them, and says where they are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import architecture, arm64_kernel
from .architecture import Architecture
from .errors import LabError
from .paths import cache_folder

UNFINISHED = ".fetch-"
UNFINISHED_S_MAX = 3600  # whoever made an older one is dead
FORMAT = "1"  # changes with what is in the folder
KERNEL = "linux-image-cloud-{debian}"  # depends on the newest
PACKAGES = (
    "busybox-static",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libgomp1",
    "libatomic1",
    "libnuma1",
    "numactl",
    "libhwloc15",
    "libhwloc-dev",  # for the build of our own libraries
    "libudev1",
)
PROGRAMS = ("numactl",)  # of these, that each guest has
MIB = 27  # to download
LEFT = ("lib/modules", "usr/share")  # out of the packages: no guest needs it


def folder_of(arch: Architecture) -> Path:
    return cache_folder() / f"root-{arch.name}-{FORMAT}"


def root(arch: Architecture, say: Callable[[str], object]) -> Path:
    """The folder; downloads what is in it the first time. `say` is called with what takes long."""
    folder = folder_of(arch)
    if folder.is_dir():
        return folder
    for left in cache_folder().glob(f"{UNFINISHED}*"):
        if time.time() - left.stat().st_mtime > UNFINISHED_S_MAX:
            shutil.rmtree(left, ignore_errors=True)
    say(f"downloading Debian's kernel and libraries for {arch.title} (about {MIB} MB, once)")
    made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=cache_folder()))
    try:
        _fetch(arch, made)
        made.chmod(0o755)
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # another run was first
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def kernel(folder: Path) -> Path:
    return folder / "boot/vmlinuz"


def program(folder: Path, name: str) -> Path | None:
    """A program of the packages, by its name."""
    places = (folder / place / name for place in ("usr/bin", "bin"))
    return next((place for place in places if place.is_file()), None)


def library_folders(arch: Architecture, folder: Path) -> list[Path]:
    """Where the guest's loader finds libraries, and those of the cross compiler."""
    triple = f"{arch.name}-linux-gnu"
    return [
        folder / "lib" / triple,
        folder / "usr/lib" / triple,
        folder / "lib",
        Path("/usr") / triple / "lib",
    ]


def _hint(arch: Architecture) -> str:
    return (
        f"expected apt with Debian 12's sources, which have {arch.debian}, too; "
        f"scripts/setup {arch.setup} does the same beforehand"
    )


class _Apt:
    """apt for one architecture, in folders of its own."""

    def __init__(self, arch: Architecture, folder: Path) -> None:
        self._arch, self._folder = arch, folder
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True)
        settings = {
            "APT::Architecture": arch.debian,
            "APT::Architectures": arch.debian,
            "APT::Sandbox::User": "root",  # others may not write here
            "Acquire::Languages": "none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
            "Dir::Cache": str(folder),
            "Dir::State::Lists": str(folder / "lists"),
            "Dir::State::Status": "/dev/null",
        }
        self._words = [word for item in settings.items() for word in ("-o", "=".join(item))]

    def __call__(self, program: str, *words: str, may_fail: bool = False) -> str:
        command = [program, *self._words, *words]
        hint = _hint(self._arch)
        try:
            done = subprocess.run(
                command, cwd=self._folder, capture_output=True, text=True, timeout=900
            )
        except FileNotFoundError as error:
            raise LabError(f"no {program} here to get the guest's files with", hint) from error
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{program} {words[0]}: no answer after 900 s", hint) from error
        if done.returncode and not may_fail:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise LabError(f"can't get {self._arch.title} packages: {program}: {last}", hint)
        return done.stdout


def _fetch(arch: Architecture, made: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="homing-lab-apt-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        apt = _Apt(arch, folder)
        # A source that has nothing of this architecture is no reason to stop; the download tells.
        apt("apt-get", "update", "-qq", may_fail=True)
        apt("apt-get", "download", "-qq", _kernel_package(apt, arch), *PACKAGES)
        for package in sorted(folder.glob("*.deb")):
            _unpack(package, made)
    whole = next((made / "boot").glob("vmlinuz-*"))
    (made / "boot/vmlinuz").write_bytes(arm64_kernel.without_zeroing_by_line(whole.read_bytes()))
    whole.unlink()


def _kernel_package(apt: _Apt, arch: Architecture) -> str:
    name = KERNEL.format(debian=arch.debian)
    for line in apt("apt-cache", "show", "--no-all-versions", name).splitlines():
        if line.startswith("Depends:"):
            return line.split(":", 1)[1].split()[0]
    raise LabError(f"apt knows no package {name}", _hint(arch))


def _unpack(package: Path, made: Path) -> None:
    done = subprocess.run(["dpkg-deb", "-x", str(package), str(made)], capture_output=True)
    if done.returncode:
        raise LabError(f"dpkg-deb can't unpack {package.name}: {done.stderr.decode().strip()}")
    for name in LEFT:
        shutil.rmtree(made / name, ignore_errors=True)


def main() -> None:
    names = [name for name, arch in architecture.ALL.items() if not arch.native]
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        raise SystemExit(f"usage: python -m homing_lab.guest_root {'|'.join(names)}")
    try:
        print(root(architecture.ALL[sys.argv[1]], lambda text: print(text, file=sys.stderr)))
    except LabError as error:
        raise SystemExit(f"homing lab: {error}") from None


if __name__ == "__main__":
    os.umask(0o022)
    main()
