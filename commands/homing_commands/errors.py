"""What can go wrong, as one clear line: what it was, what was expected, what to do."""


class CommandError(Exception):
    """Ends a command. `code` is the exit status."""

    def __init__(self, text: str, hint: str = "", code: int = 1) -> None:
        super().__init__(text)
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  {self.hint}" if self.hint else text
