"""Where oneTBB's tests come from: Debian's source package, fetched by apt and unpacked in part.

apt checks the archive's signature and the file's checksum. Its state lives below build/, so the
system's configuration stays as it is and no privilege is needed. The folder src of the package
(the scheduler, the allocator) is never unpacked: this project is written without sight of it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

PACKAGE = "onetbb"
VERSION = "2021.8.0"
TARBALL = f"{PACKAGE}_{VERSION}.orig.tar.xz"
UNPACKED_FOLDERS = ("include", "test")
UNPACKED_FILES = ("LICENSE.txt",)


class SourceError(Exception):
    """The tests could not be had; the text says what to do."""


def ensure_source(build: Path, tarball: Path | None) -> Path:
    """Returns the folder that holds include/ and test/, fetched and unpacked if need be."""
    source = build / "source"
    stamp = source / ".complete"
    if stamp.is_file() and stamp.read_text() == VERSION:
        return source
    archive = tarball if tarball is not None else _download(build)
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    _unpack(archive, source)
    stamp.write_text(VERSION)
    return source


def _download(build: Path) -> Path:
    folder = build / "download"
    archive = folder / TARBALL
    if archive.is_file():
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get") is None:
        raise SourceError(f"no apt-get here: pass --source PATH of Debian's {TARBALL}")
    options = _private_apt(build / "apt")
    _run(["apt-get", *options, "-qq", "update"], folder)
    version = _pick_version(options, folder)
    _run(["apt-get", *options, "-qq", "source", "--download-only", f"{PACKAGE}={version}"], folder)
    if not archive.is_file():
        raise SourceError(f"apt-get source {PACKAGE} gave no {TARBALL}")
    return archive


def _pick_version(options: list[str], folder: Path) -> str:
    listing = subprocess.run(
        ["apt-cache", *options, "showsrc", PACKAGE], cwd=folder, capture_output=True, text=True
    )
    versions = re.findall(r"^Version: (\S+)$", listing.stdout, re.MULTILINE)
    fitting = [version for version in versions if version.startswith(VERSION)]
    if not fitting:
        offered = ", ".join(versions) or "none"
        raise SourceError(
            f"the system's apt sources offer {PACKAGE} {offered}; the expectations are for "
            f"{VERSION} (Debian 12): pass --source PATH of {TARBALL}"
        )
    return fitting[-1]


def _private_apt(state: Path) -> list[str]:
    """Writes a list of source mirrors, those of the system, and returns apt's options for it."""
    for folder in ("lists/partial", "cache/archives/partial", "sources.list.d"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    written = 0
    parts = Path("/etc/apt/sources.list.d")
    for path in [Path("/etc/apt/sources.list"), *sorted(parts.glob("*"))]:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        text = path.read_text()
        text = _source_stanzas(text) if path.suffix == ".sources" else _source_lines(text)
        if text:
            (state / "sources.list.d" / path.name).write_text(text)
            written += 1
    if not written:
        raise SourceError(
            "no Debian mirror found in /etc/apt/sources.list or sources.list.d: "
            f"pass --source PATH of {TARBALL}"
        )
    values = {
        "Dir::State": state,
        "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": state / "sources.list.d",
        "APT::Sandbox::User": "",
    }
    return [word for key, value in values.items() for word in ("-o", f"{key}={value}")]


def _source_stanzas(text: str) -> str:
    """Debian's stanzas of a deb822 file, asking for sources instead of packages."""
    stanzas = []
    for stanza in re.split(r"\n\s*\n", text):
        stanza = "\n".join(line for line in stanza.splitlines() if not line.startswith("#"))
        if re.search(r"^URIs:.*debian", stanza, re.MULTILINE):
            stanzas.append(re.sub(r"^Types:.*$", "Types: deb-src", stanza, flags=re.MULTILINE))
    return "\n\n".join(stanzas) + "\n" if stanzas else ""


def _source_lines(text: str) -> str:
    """Debian's lines of a classic list, asking for sources instead of packages."""
    lines = re.findall(r"^deb\s+(.*debian.*)$", text, re.MULTILINE)
    return "".join(f"deb-src {line}\n" for line in lines)


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive, "r:xz") as tar:
        for member in tar:
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            if not inside.parts or ".." in inside.parts or not member.isfile():
                continue
            if inside.parts[0] not in UNPACKED_FOLDERS and str(inside) not in UNPACKED_FILES:
                continue
            content = tar.extractfile(member)
            assert content is not None
            path = target / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SourceError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
