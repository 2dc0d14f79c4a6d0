"""Reads a table of a machine file key by key, so that a mistake is named with its key."""

from __future__ import annotations

from typing import Any

from .errors import LabError, shortened, shown

Matrix = list[list[float]]


class MachineFileError(LabError):
    def __init__(self, file: str, key: str, expected: str, seen: object = None) -> None:
        found = "it is missing" if seen is None else f"found {shown(seen)}"
        super().__init__(f"{file}: {shortened(key)}: expected {expected}, {found}", code=2)


class Table:
    """One table. Every read notes its key; `finish()` refuses the keys that nobody asked for."""

    def __init__(self, file: str, path: str, values: dict[str, Any]) -> None:
        self.file, self.path = file, path
        self._values = values
        self._read: set[str] = set()

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def bad(self, name: str, expected: str) -> MachineFileError:
        return MachineFileError(self.file, self.key(name), expected, self._values.get(name))

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def _get(self, name: str) -> Any:
        self._read.add(name)
        return self._values.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip():
            raise self.bad(name, "a text in quotes")
        return value

    def number(self, name: str, least: float, most: float, default: float | None = None) -> float:
        value = self._get(name)
        if value is None and default is not None:
            return default
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not least <= value <= most
        ):
            raise self.bad(name, f"a number from {least:g} to {most:g}")
        return value

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        value = self._get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.bad(name, f"a whole number from {least} to {most}")
        return value

    def flag(self, name: str) -> bool:
        value = self._get(name)
        if value is not None and not isinstance(value, bool):
            raise self.bad(name, "true or false")
        return bool(value)

    def matrix(
        self, name: str, rows: int, columns: int, least: float, most: float
    ) -> Matrix | None:
        """`rows` lists of `columns` numbers, or None if the key is absent."""
        value = self._get(name)
        if value is None:
            return None
        expected = f"{rows} rows of {columns} numbers from {least:g} to {most:g}"
        if not isinstance(value, list) or len(value) != rows:
            raise self.bad(name, expected)
        for row in value:
            if not isinstance(row, list) or len(row) != columns:
                raise self.bad(name, expected)
            for number in row:
                plain = isinstance(number, (int, float)) and not isinstance(number, bool)
                if not plain or not least <= number <= most:
                    raise self.bad(name, expected)
        return value

    def raw(self, name: str) -> Any:
        return self._get(name)

    def table(self, name: str, needed: bool = True) -> Table:
        value = self._get(name)
        if value is None and not needed:
            value = {}
        if not isinstance(value, dict):
            raise self.bad(name, f"a table [{self.key(name)}]")
        return Table(self.file, self.key(name), value)

    def tables(self, name: str, needed: bool = True) -> list[Table]:
        value = self._get(name)
        if value is None and not needed:
            return []
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            raise self.bad(name, f"at least one table [[{self.key(name)}]]")
        return [Table(self.file, f"{self.key(name)}[{i}]", v) for i, v in enumerate(value)]

    def finish(self) -> None:
        for name in self._values:
            if name not in self._read:
                raise MachineFileError(
                    self.file, self.key(name), f"one of: {', '.join(sorted(self._read))}", name
                )
