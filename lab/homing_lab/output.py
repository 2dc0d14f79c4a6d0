"""Files that the user named, to write into: no trap that somebody else laid is stepped into. As src/platform/output_file."""

import errno
import os
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
    flags |= os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    for _ in range(40):
        try:
            file = os.open(name, flags | os.O_NOFOLLOW, 0o666)
            os.set_blocking(file, True)
            return file
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.ENXIO, "it is a FIFO that nobody reads, or a device that is not there", name) from error
            if error.errno != errno.ELOOP or not os.path.islink(name):
                raise
            if os.path.realpath(os.path.dirname(name)).startswith("/proc/"):   # the kernel's own links: /dev/stdout
                return os.open(name, flags & ~os.O_NONBLOCK, 0o666)
            name = _followed(name)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)


def write_text(path: Path, text: str) -> None:
    """Replaces what is there. Errors: OSError."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        file.write(text)
