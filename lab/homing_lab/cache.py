"""The folder of kernels and images, by content, bounded in size: the least used goes first."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .errors import LabError, shortened
from .paths import cache_folder

LIMIT_MIB = 2048
MOST_MIB = 1 << 40  # more than any disk has
YOUNG_S = 600  # an image that was used this lately may belong to a machine that boots now


def limit_bytes() -> int:
    text = os.environ.get("HOMING_LAB_CACHE_MIB", str(LIMIT_MIB))
    number = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit()) or len(number) > len(str(MOST_MIB)) or int(number) > MOST_MIB:
        raise LabError(
            f"HOMING_LAB_CACHE_MIB={shortened(text)} is not valid", f"expected a number of MiB, up to {MOST_MIB}"
        )
    return int(number) << 20


def find(name: str) -> Path | None:
    path = cache_folder() / name
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def store(name: str, write: Callable[[BinaryIO], object]) -> Path:
    """Writes a file under its final name at once, so that nobody sees half of one."""
    folder = cache_folder()
    if not _store_unnamed(folder, name, write):
        _store_renamed(folder, name, write)
    prune(folder)
    return folder / name


def _store_unnamed(folder: Path, name: str, write: Callable[[BinaryIO], object]) -> bool:
    """As a file that has no name until it is whole: who is killed here leaves nothing. False where
    the file system has no such files."""
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        try:
            write(file)
            file.flush()
            place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=place)
            finally:
                os.close(place)
        except FileExistsError:
            pass  # names stand for contents: another run was first
        except OSError as error:
            raise LabError(f"can't write {folder / name}: {error.strerror}") from error
    return True


def _store_renamed(folder: Path, name: str, write: Callable[[BinaryIO], object]) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            write(file)
        os.replace(temporary, folder / name)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise LabError(f"can't write {folder / name}: {error.strerror}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _bytes(path: Path) -> int:
    """Of a file, or of a folder with all that is in it: Debian's files for AArch64."""
    if not path.is_dir():
        return path.stat().st_size
    inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(os.lstat(name).st_size for name in inside)


def prune(folder: Path) -> None:
    """Removes images until the limit holds; the kernel and images of the last minutes stay."""
    now, limit = time.time(), limit_bytes()
    files = []
    for path in folder.iterdir():
        try:
            files.append((path.stat().st_mtime, _bytes(path), path))
        except OSError:
            continue  # another run removed it
    total = sum(size for _, size, _ in files)
    for used, size, path in sorted(files):
        stale = path.name.startswith(".new-") and now - used > YOUNG_S
        if stale or (total > limit and path.name.startswith("image-") and now - used > YOUNG_S):
            path.unlink(missing_ok=True)
            total -= size
