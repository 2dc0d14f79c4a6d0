"""What can go wrong, as one clear line: what it was, what was expected, what to do."""

from homing_commands.errors import CommandError, place_of


class ExperimentError(CommandError):
    """Ends a command. `code` is the exit status: 2 for a wrong file or wrong words, 1 for anything else."""


class DesignError(ExperimentError):
    """The campaign's file is wrong. `where` is the place in it."""

    def __init__(self, where: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: {found}; expected {expected}", code=2)


def of_system(error: OSError) -> ExperimentError:
    """What the system refused, where nothing nearer knows what that was for."""
    return ExperimentError(f"{place_of(error)}{error.strerror or error}", "expected a file that can be used; name another, or "
                           "change what the system allows")
