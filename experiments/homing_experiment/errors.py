"""What can go wrong, as one clear line: what it was, what was expected, what to do."""


class ExperimentError(Exception):
    """Ends a command. `code` is the exit status: 2 for a wrong file or wrong words, 1 for anything else."""

    def __init__(self, text: str, hint: str = "", code: int = 1) -> None:
        super().__init__(text)
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\n  {self.hint}" if self.hint else text


class DesignError(ExperimentError):
    """The campaign's file is wrong. `where` is the place in it."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: {found}; expected {expected}", code=2)
