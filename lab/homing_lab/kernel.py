"""The guest's kernel: Debian's cloud kernel out of its package, downloaded and never installed."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from . import guest_root
from .architecture import X86_64, Architecture
from .cache import store
from .errors import LabError
from .paths import cache_folder
from .scratch import Scratch

PACKAGE = "linux-image-cloud-amd64"
HINT = f"HOMING_LAB_KERNEL=FILE names one of your own; otherwise apt downloads Debian's {PACKAGE}"


def _output(*command: str, folder: Path | None = None) -> bytes:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
    except FileNotFoundError as error:
        raise LabError(f"no {command[0]} here to get the guest's kernel with", HINT) from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{' '.join(command)}: no answer after 300 s", HINT) from error
    if done.returncode:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise LabError(
            f"can't get the guest's kernel: {command[0]}: {last}", HINT + " (try apt-get update)"
        )
    return done.stdout


def _package() -> str:
    """The package of the newest cloud kernel that apt knows."""
    for line in _output("apt-cache", "show", "--no-all-versions", PACKAGE).decode().splitlines():
        if line.startswith("Depends:"):
            return line.split(":", 1)[1].split()[0]
    raise LabError(f"apt knows no package {PACKAGE}", HINT + " (try apt-get update)")


def _unpack(package: Path) -> bytes:
    with tarfile.open(
        fileobj=BytesIO(_output("dpkg-deb", "--fsys-tarfile", str(package)))
    ) as files:
        for member in files:
            if Path(member.name).name.startswith("vmlinuz-"):
                content = files.extractfile(member)
                if content:
                    return content.read()
    raise LabError(f"{package.name} has no kernel in it", HINT)


def kernel(say: Callable[[str], object], arch: Architecture = X86_64) -> Path:
    """The kernel's file; downloads it the first time. `say` is called with what takes long."""
    given = os.environ.get("HOMING_LAB_KERNEL")
    if given:
        if not os.access(given, os.R_OK):
            raise LabError(f"HOMING_LAB_KERNEL: can't read {given}")
        return Path(given)
    if not arch.native:
        return guest_root.kernel(guest_root.root(arch, say))
    kept = sorted(cache_folder().glob("kernel-*"), key=lambda p: p.stat().st_mtime)
    if kept:
        return kept[-1]
    name = _package()
    say(f"downloading {name} (about 27 MB, once)")
    with Scratch() as scratch:
        folder = scratch.folder
        folder.chmod(0o755)
        _output("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", name, folder=folder)
        content = _unpack(next(folder.glob("*.deb")))
    version = name.removeprefix("linux-image-")
    return store(f"kernel-{version}", lambda file: file.write(content))
