"""Values of the command line: what is taken, and what is said of the rest."""

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path

THREADS_MAX = 4096  # as many as our library ever makes
REPS_MAX = 1000
ROUNDS_MAX = 100_000
SEED_MAX = 2**64 - 1
WEEK_S = 604_800


def number(most: int, least: int = 1) -> Callable[[str], int]:
    """A type for argparse: a whole number from `least` to `most`."""
    def value_of(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a number in {least}..{most}")
        return int(text)

    return value_of


def numbers(most: int) -> Callable[[str], list[int]]:
    """As number(), several with commas between."""
    def value_of(text: str) -> list[int]:
        try:
            return [number(most)(part) for part in text.split(",")]
        except argparse.ArgumentTypeError as wrong:
            raise argparse.ArgumentTypeError(f"{wrong}, or several with commas between, such as 1,2,8") from None

    return value_of


def seconds(text: str) -> float:
    """A type for argparse: a time above 0, a week at most."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= WEEK_S:
        raise argparse.ArgumentTypeError(f"{text}: expected seconds above 0, {WEEK_S} at most")
    return value


def require_folder(parser: argparse.ArgumentParser, option: str, folder: Path) -> None:
    """Makes the folder for results if it is not there: now, not after a campaign whose results it can't take."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(0, "it can't be written to")
    except OSError as error:
        parser.error(f"{option} {folder}: {error.strerror}: expected a folder for the results, or a place where one can be made")
