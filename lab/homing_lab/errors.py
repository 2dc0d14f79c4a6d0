"""What can go wrong, as one clear line: what it was, what was expected, what to do."""


class LabError(Exception):
    """Ends a command. `code` is the exit status; 125 to 127 mean what they mean to `homing run`."""

    def __init__(self, text: str, hint: str = "", code: int = 125) -> None:
        super().__init__(text)
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  {self.hint}" if self.hint else text


class UsageError(LabError):
    """The words of the command are wrong."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text, hint, code=2)
