"""What can go wrong, as one clear line: what it was, what was expected, what to do."""

import errno

from homing_commands.errors import CommandError, place_of


_SHORT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
SHOWN_MOST = 200  # characters of a value that a message shows


class LabError(CommandError):
    """Ends a command. `code` is the exit status; 125 to 127 mean what they mean to `homing run`."""

    def __init__(self, text: str, hint: str = "", code: int = 125) -> None:
        super().__init__(text, hint, code)


def of_system(error: OSError) -> LabError:
    """What the system refused, where nothing nearer knows what that was for."""
    hint = "expected a disk with room, and limits (ulimit -a) that allow for it" if error.errno in _SHORT else ""
    return LabError(f"{place_of(error)}{error.strerror or error}", hint)


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN_MOST else text[:SHOWN_MOST] + "..."


def shown(value: object) -> str:
    """A value that was found, for a message: of whatever a file may hold."""
    try:
        return shortened(repr(value))
    except RecursionError:
        return "lists or tables that lie too deep in each other"
    except ValueError:  # Python writes no number of some thousand digits
        return "a number of too many digits"


def unreadable(error: ValueError | RecursionError, not_one: str) -> str:
    """What a parser of a whole text could not take. `not_one`: "not TOML"."""
    if isinstance(error, RecursionError):
        return "lists or tables lie too deep in each other: expected at most some hundred, one in the other"
    if "integer string conversion" in str(error):
        return "a number has too many digits: expected at most some hundred"
    return f"{not_one}: {error}"


class UsageError(LabError):
    """The words of the command are wrong."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text, hint, code=2)
