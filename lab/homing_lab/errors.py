"""What can go wrong, as one clear line: what it was, what was expected, what to do."""

import os

from homing_commands.errors import CommandError


class LabError(CommandError):
    """Ends a command. `code` is the exit status; 125 to 127 mean what they mean to `homing run`."""

    def __init__(self, text: str, hint: str = "", code: int = 125) -> None:
        super().__init__(text, hint, code)


def of_system(error: OSError) -> LabError:
    """What the system refused, where nothing nearer knows what that was for."""
    what = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes, os.PathLike)) else ""
    return LabError(
        f"{what}{error.strerror or error}",
        "expected a disk with room, and limits (ulimit -a) that allow for it",
    )


class UsageError(LabError):
    """The words of the command are wrong."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text, hint, code=2)
