"""Files that the user named, to write into: no trap that somebody else laid is stepped into. As src/platform/output_file."""

import errno
import fcntl
import os
import stat
import sys
import tempfile
from pathlib import Path


def _followed(name: str) -> str:
    """The target of a link in the last place, if this user or root made the link."""
    link = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(link).st_uid not in (0, os.geteuid()):
            raise OSError(errno.ELOOP, "it is a symbolic link that another user made", name)
        return os.path.join(os.path.dirname(name), os.readlink("", dir_fd=link))
    finally:
        os.close(link)


def opener(name: str, flags: int) -> int:
    """For open(): links of other users are refused, and a FIFO without a reader is an error."""
    return _opened(name, flags)[0]


def _opened(name: str, flags: int) -> tuple[int, str]:
    """The open file, and its name behind all links; no name where the kernel itself followed the last."""
    flags |= os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    for _ in range(40):
        try:
            file = os.open(name, flags | os.O_NOFOLLOW, 0o666)
            os.set_blocking(file, True)
            return file, name
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.ENXIO, "it is a FIFO that nobody reads, or a device that is not there", name) from error
            if error.errno != errno.ELOOP or not os.path.islink(name):
                raise
            if os.path.realpath(os.path.dirname(name)).startswith("/proc/"):   # the kernel's own links: /dev/stdout
                return os.open(name, flags & ~os.O_NONBLOCK, 0o666), ""
            name = _followed(name)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def _shown(info: os.stat_result) -> int | None:
    """Our stdout or stderr, if it writes to this very file."""
    for number in (1, 2):
        try:
            own, flags = os.fstat(number), fcntl.fcntl(number, fcntl.F_GETFL)
        except OSError:
            continue  # it is closed
        if os.path.samestat(own, info) and flags & os.O_ACCMODE != os.O_RDONLY:
            return number
    return None


def _write(file: int, content: bytes) -> None:
    """Closes it, too."""
    with open(file, "wb") as out:
        out.write(content)


def _beside(name: str, info: os.stat_result) -> tuple[int, str] | None:
    """A new file beside the old one, with its mode and owner, open. None: not possible here."""
    temporary = ""
    try:
        file, temporary = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(name) or ".")
        now = os.fstat(file)
        if (now.st_uid, now.st_gid) != (info.st_uid, info.st_gid):
            os.fchown(file, info.st_uid, info.st_gid)
        os.fchmod(file, stat.S_IMODE(info.st_mode))
    except OSError as error:
        if temporary:
            os.close(file)
            os.unlink(temporary)
        elif error.errno in (errno.ENOSPC, errno.EDQUOT):  # to write in place would lose the old one
            raise OSError(error.errno, error.strerror, name) from error
        return None
    return file, temporary


def _replaced(name: str, info: os.stat_result, content: bytes) -> bool:
    """A new file in the old one's place, which stays as it is until the new one is whole. False: not possible here."""
    made = _beside(name, info)
    if made is None:
        return False
    file, temporary = made
    try:
        _write(file, content)
    except OSError as error:
        os.unlink(temporary)
        raise OSError(error.errno, error.strerror, name) from error
    try:
        os.replace(temporary, name)
    except OSError:
        os.unlink(temporary)
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Replaces what is there; a disk that is full leaves it as it was. What stdout or stderr writes to is not replaced:
    the text is there where theirs has come to. Errors: OSError."""
    content = text.encode("utf-8")
    there = os.path.exists(path)
    file, name = _opened(os.fspath(path), os.O_WRONLY | os.O_CREAT)
    try:
        info = os.fstat(file)
        shown = _shown(info)
        if shown is not None:
            (sys.stdout if shown == 1 else sys.stderr).flush()
            _write(os.dup(shown), content)
            return
        regular = stat.S_ISREG(info.st_mode)
        if there and name and regular and info.st_nlink == 1 and _replaced(name, info, content):
            return
        if regular:
            os.ftruncate(file, 0)
        try:
            _write(os.dup(file), content)
        except OSError:
            if name and not there:
                os.unlink(name)
            raise
    finally:
        os.close(file)
