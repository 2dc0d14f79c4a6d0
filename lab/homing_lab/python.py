"""What a Python program loads at run time: the interpreter's own library, and what is imported."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import LabError
from .python_imports import Modules, imported_by

if TYPE_CHECKING:
    from .pack import Pack

ASK = """
import json, os, sys
print(json.dumps({"executable": sys.executable, "prefix": sys.prefix,
                  "library": os.path.dirname(os.__file__), "path": [p for p in sys.path if p]}))
"""
# Of the library: what tests, teaches, installs or is for C programs; other optimisations' bytecode.
LEAVE = re.compile(
    r"^(test|tests|idlelib|turtledemo|ensurepip|lib2to3|config-.*|(site|dist)-packages)$"
    r"|[.]opt-[12][.]pyc$|[.]a$"
)
LEAVE_OF_PACKAGES = re.compile(r"[.]opt-[12][.]pyc$")
WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass
class Python:
    executable: str
    prefix: Path
    library: Path
    path: list[Path]  # where it looks for modules


def is_python(word: str) -> bool:
    return re.fullmatch(r"python(3([.]\d+)?)?", Path(word).name) is not None


def is_shim(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(2) == b"#!"


def ask(word: str, environment: dict[str, str]) -> Python:
    """Runs the interpreter here, with the program's environment."""
    try:
        done = subprocess.run(
            [word, "-c", ASK],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        told = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        raise LabError(
            f"can't ask {word} where its library is: {error}",
            f"does {word} -c 'import os' work here?",
            code=126,
        ) from error
    return Python(
        told["executable"],
        Path(told["prefix"]),
        Path(told["library"]),
        [Path(place) for place in told["path"]],
    )


def add(pack: Pack, interpreter: Python, arguments: list[str]) -> None:
    """The interpreter, its library, and what the script, module or text among the arguments
    imports. What is imported by a name that only the run knows needs --file."""
    pack.add_program(interpreter.executable)
    settings = interpreter.prefix / "pyvenv.cfg"
    if settings.is_file():
        pack.add_file(settings, str(settings))
    if not pack.has(str(interpreter.library)):
        pack.add_folder(interpreter.library, str(interpreter.library), LEAVE)
    own, names = _named(arguments)
    modules = Modules(interpreter.library, own, interpreter.path)
    modules.want(modules.site_hooks() | names)
    for source in modules.files:
        if source.is_dir():
            pack.add_folder(source, str(source), LEAVE_OF_PACKAGES)
        else:
            pack.add_file(source, str(source))


def _named(arguments: list[str]) -> tuple[Path, set[str]]:
    """The folder of the program's own modules, and the modules that it starts with."""
    here = Path.cwd()
    words = iter(arguments)
    for word in words:
        if word in WITH_VALUE:
            next(words, "")
        elif re.fullmatch(r"-[A-Za-z]*[cm]", word):
            rest = next(words, "")
            return here, imported_by(rest) if word.endswith("c") else {rest.split(".")[0]}
        elif not word.startswith("-"):
            script = Path(word)
            if not script.is_file():
                return here, set()
            return script.resolve().parent, imported_by(script.read_bytes())
    return here, set()
