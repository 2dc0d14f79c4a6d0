"""Which files stand for Python modules: found by name as Python finds them, and followed.

The program's own modules are read for what they import; of installed ones their distribution says
which files it has and which others it requires."""

from __future__ import annotations

import ast
import re
from importlib import metadata
from pathlib import Path

BY_NAME = ("__import__", "import_module")  # called with a text, they import, too


def imported_by(source: str | bytes) -> set[str]:
    """The first parts of the names of modules; nothing of what is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    result = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            result |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            result.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in BY_NAME and isinstance(node.args[0].value, str):
                result.add(node.args[0].value.split(".")[0])
    return result


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class Modules:
    """`files`: all files and folders that were wanted, directly or by others. `library`: Python's
    own, which is there anyway; `own`: the program's folder; `path`: the interpreter's."""

    def __init__(self, library: Path, own: Path, path: list[Path]) -> None:
        self.files: list[Path] = []
        self._library = library
        in_library = [place for place in path if place in (library, library / "lib-dynload")]
        self._sites = [place for place in path if place.name in ("site-packages", "dist-packages")]
        self._own = [own] + [p for p in path if p not in in_library and p not in self._sites]
        self._in_library = in_library or [library, library / "lib-dynload"]
        self._known: set[str] = set()
        self._distributions: dict[str, metadata.Distribution] | None = None
        self._by_module: dict[str, str] = {}

    def site_hooks(self) -> set[str]:
        """Python runs the import lines of these files when it starts, and looks where others say."""
        wanted: set[str] = set()
        for hooks in sorted(hook for site in self._sites for hook in site.glob("*.pth")):
            self.files.append(hooks)
            for line in hooks.read_text(errors="replace").splitlines():
                if line.startswith("import"):
                    wanted |= imported_by(line)
        return wanted

    def want(self, names: set[str]) -> None:
        waiting = sorted(names)
        while waiting:
            name = waiting.pop()
            if name in self._known or not name.isidentifier():
                continue
            self._known.add(name)
            waiting += sorted(self._take(name))

    def _take(self, name: str) -> set[str]:
        """Adds a module; returns what it needs besides."""
        for places in (self._own, self._in_library, self._sites):
            for place in places:
                found = _module(place, name)
                if not found:
                    continue
                if places is self._in_library:
                    return set()
                if places is self._sites and self._owner(name):
                    return self._take_distribution(self._owner(name))
                return self._take_files(found)
        for place in self._own + self._sites:  # a package without __init__.py comes last
            if (place / name).is_dir() and place != Path("/"):
                if place in self._sites and self._owner(name):
                    return self._take_distribution(self._owner(name))
                return self._take_files([place / name])
        return set()

    def _take_files(self, found: list[Path]) -> set[str]:
        self.files += found
        result: set[str] = set()
        for file in found:
            for source in file.rglob("*.py") if file.is_dir() else [file]:
                if source.suffix == ".py" and source.is_file():
                    result |= imported_by(source.read_bytes())
        return result

    def _owner(self, module: str) -> str:
        """The installed distribution that has a module of that name; empty if none says so."""
        if self._distributions is None:
            self._distributions = {}
            for one in metadata.distributions(path=[str(site) for site in self._sites]):
                name = _normal(one.metadata["Name"] or "")
                self._distributions.setdefault(name, one)
                for top in self._tops(one):
                    self._by_module.setdefault(top.split(".")[0], name)
        return self._by_module.get(module, "")

    @staticmethod
    def _tops(one: metadata.Distribution) -> set[str]:
        """What it has directly in site-packages."""
        tops = set((one.read_text("top_level.txt") or "").split())
        tops |= {file.parts[0] for file in one.files or [] if file.parts[0] not in ("..", "/")}
        return tops - {"__pycache__"}

    def _take_distribution(self, name: str) -> set[str]:
        """All of it, and of those that it requires."""
        waiting, done = [name], set()
        loose: set[str] = set()
        while waiting:
            name = waiting.pop()
            one = (self._distributions or {}).get(name)
            if one is None or name in done:
                continue
            done.add(name)
            for requirement in one.requires or []:
                wanted = re.match(r"[A-Za-z0-9._-]+", requirement)
                if wanted and "extra ==" not in requirement:
                    waiting.append(_normal(wanted[0]))
            if not one.requires:  # Debian says nothing: then the modules count
                loose |= self._loose(one)
            for top in sorted(self._tops(one)):
                place = Path(str(one.locate_file(top)))
                self.files += [place] if place.exists() else _module(place.parent, top)
                self._known.add(top.split(".")[0])
        return loose

    def _loose(self, one: metadata.Distribution) -> set[str]:
        if one.read_text("RECORD") is not None:  # pip knows: it requires nothing
            return set()
        result: set[str] = set()
        for top in self._tops(one):
            place = Path(str(one.locate_file(top)))
            for found in [place] if place.is_dir() else _module(place.parent, top):
                for source in found.rglob("*.py") if found.is_dir() else [found]:
                    if source.suffix == ".py":
                        result |= imported_by(source.read_bytes())
        return result


def _module(place: Path, name: str) -> list[Path]:
    """A package, a file or a compiled module of that name."""
    if (place / name / "__init__.py").is_file():
        return [place / name]
    if (place / f"{name}.py").is_file():
        return [place / f"{name}.py"]
    return sorted(place.glob(f"{name}.*.so")) + sorted(place.glob(f"{name}.so"))
