"""The fields of variables, by DWARF: which member of which member a byte belongs to. Needs pyelftools, and a program
that was compiled with -g: -g1 has functions and lines only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from elftools.elf.elffile import ELFFile
except ImportError:
    ELFFile = None

DEPTH_MAX = 8
OPAQUE = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_atomic_type")
HOLLOW = ("DW_TAG_namespace", "DW_TAG_subprogram", "DW_TAG_lexical_block")


class Fields:
    """`known`: the file has variables with types."""

    def __init__(self, file: Path) -> None:
        self.known = False
        self._types: dict[int, Any] = {}  # by the variable's address
        if ELFFile is None:
            return
        self._opened = file.open("rb")
        try:
            elf = ELFFile(self._opened)
            if elf.has_dwarf_info() and elf.get_section_by_name(".debug_info"):
                for unit in elf.get_dwarf_info().iter_CUs():
                    self._read(unit.get_top_DIE())
        except Exception:  # noqa: BLE001: a file that pyelftools can't read has no fields
            self._types.clear()
        self.known = bool(self._types)

    def _read(self, top: Any) -> None:
        waiting = [top]
        while waiting:
            for die in waiting.pop().iter_children():
                if die.tag == "DW_TAG_variable":
                    self._keep(die)
                elif die.tag in HOLLOW and die.has_children:
                    waiting.append(die)

    def _keep(self, die: Any) -> None:
        location = die.attributes.get("DW_AT_location")
        if location is None or not isinstance(location.value, list) or len(location.value) != 9:
            return
        if location.value[0] != 0x03:  # DW_OP_addr
            return
        address = int.from_bytes(bytes(location.value[1:]), "little")
        if "DW_AT_type" not in die.attributes:
            for link in ("DW_AT_specification", "DW_AT_abstract_origin"):
                if link in die.attributes:
                    die = die.get_DIE_from_attribute(link)
                    break
        if "DW_AT_type" in die.attributes:
            self._types[address] = die

    def way(self, address: int, offset: int) -> str:
        die = self._types.get(address)
        try:
            return _way(_type_of(die), offset) if die is not None else ""
        except Exception:  # noqa: BLE001: what is odd in the file is not named
            return ""


def _type_of(die: Any) -> Any:
    while die is not None and "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if die.tag not in OPAQUE:
            return die
    return None


def _size(die: Any) -> int:
    if die is None:
        return 0
    if "DW_AT_byte_size" in die.attributes:
        return int(die.attributes["DW_AT_byte_size"].value)
    if die.tag == "DW_TAG_array_type":
        return _size(_type_of(die)) * _elements(die)
    return 8


def _elements(array: Any) -> int:
    for child in array.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            if "DW_AT_count" in child.attributes:
                return int(child.attributes["DW_AT_count"].value)
            if "DW_AT_upper_bound" in child.attributes:
                return int(child.attributes["DW_AT_upper_bound"].value) + 1
    return 1


def _way(die: Any, offset: int, depth: int = 0) -> str:
    if die is None or depth == DEPTH_MAX:
        return ""
    if die.tag == "DW_TAG_array_type":
        element = _type_of(die)
        size = _size(element)
        return f"[{offset // size}]" + _way(element, offset % size, depth + 1) if size else ""
    if die.tag not in ("DW_TAG_structure_type", "DW_TAG_class_type"):
        return ""
    for child in die.iter_children():
        if child.tag not in ("DW_TAG_member", "DW_TAG_inheritance"):
            continue
        place = child.attributes.get("DW_AT_data_member_location")
        if place is None or not isinstance(place.value, int):
            continue
        kind = _type_of(child)
        if not place.value <= offset < place.value + max(1, _size(kind)):
            continue
        name = child.attributes.get("DW_AT_name")
        rest = _way(kind, offset - place.value, depth + 1)
        own = name.value.decode() if name is not None else ""
        # The standard library's and the compiler's names say nothing to the reader.
        if not own or own.startswith("_"):
            return rest
        return f".{own}{rest}"
    return ""
