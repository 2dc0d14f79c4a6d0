"""What can go wrong, as one clear line: what it was, what was expected, what to do."""

import os


class CommandError(Exception):
    """Ends a command. `code` is the exit status."""

    def __init__(self, text: str, hint: str = "", code: int = 1) -> None:
        super().__init__(text)
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  {self.hint}" if self.hint else text


def place_of(error: OSError) -> str:
    """What an error of the system is about, with a colon behind it; empty if nobody knows. Python names no file where the
    working folder was asked for and has gone."""
    if isinstance(error.filename, (str, bytes, os.PathLike)):
        return f"{os.fsdecode(error.filename)}: "
    try:
        os.getcwd()
    except OSError:
        return "the working folder can't be used: "
    return ""
