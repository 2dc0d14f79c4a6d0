"""The hot lines and functions of a run: as a document for programs, and as text for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from ..counts import written_by_plugin
from .functions import Function, functions
from .lines import FALSE_SHARING, Line, User, examine
from .memory import Memory
from .names import Names
from .symbols import short

SCHEMA = 1
LINES, FUNCTIONS, USERS = 10, 10, 4


def read(file: Path) -> dict[str, Any]:
    return written_by_plugin(file, SCHEMA)


def document(
    hot: dict[str, Any], sources: dict[str, Path], file_of: Callable[[str], Path | None], count: int = LINES
) -> dict[str, Any]:
    """`sources`: the programs of the guest, by their paths there; `file_of`: the host's file of such a path."""
    names = Names(Memory(hot["notes"], sources.items()), file_of)
    lines = examine(hot, names, count)
    ran = functions(hot, names)
    whole = sum(function.ns for function in ran)
    return {
        "schema": SCHEMA,
        "modelled": True,
        "machine": hot["machine"],
        "lines_moved": hot["lines_moved"],
        "moves": hot["moves"],
        "moves_between_nodes": hot["far"],
        "kernel_moves": hot["kernel_moves"],
        "forgotten_moves": hot["forgotten_moves"],
        "lines": [_line(line) for line in lines],
        "functions": [_function(function, whole) for function in ran[: 4 * FUNCTIONS]],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "address": line.address,
        "name": title(line),
        "kind": line.data.kind,
        "module": line.data.module,
        "sharing": line.sharing,
        "moves": line.moves,
        "moves_between_nodes": line.far,
        "wait_ns": round(line.wait_ns, 1),
        "cpus": line.cpus,
        "nodes": line.nodes,
        "parts": line.parts,
        "members": line.members,
        "users": [_user(user) for user in line.users[: 4 * USERS]],
    }


def _user(user: User) -> dict[str, Any]:
    return {
        "function": user.function,
        "module": user.module,
        "where": user.where,
        "source": user.text,
        "part": user.part,
        "bytes": [user.first, user.last],
        "cpus": sorted(user.cpus),
        "loads": user.loads,
        "stores": user.stores,
        "atomics": user.atomics,
        "moves": user.moves,
        "moves_between_nodes": user.far,
        "wait_ns": round(user.wait_ns, 1),
    }


def _function(function: Function, whole: float) -> dict[str, Any]:
    return {
        "function": function.name,
        "module": function.module,
        "instructions": function.instructions,
        "ns": round(function.ns, 1),
        "wait_ns": round(function.wait_ns, 1),
        "share": round(function.ns / whole, 4) if whole else 0,
    }


def title(line: Line) -> str:
    """Variables by their names, allocated memory by the function that fights for it most."""
    if line.parts:
        return ", ".join(line.parts[:4]) + (f" and {len(line.parts) - 4} more" if len(line.parts) > 4 else "")
    if line.data.kind in ("heap", "unnamed") and line.users:
        members = ": " + ", ".join(line.members[:6]) if line.members else ""
        return f"{line.data.name} of {short(line.users[0].function)}{members}"
    return line.data.name


def print_text(told: dict[str, Any], out: TextIO) -> None:
    write = out.write
    write(f"Modelled, not measured: lines that CPUs take from each other on {told['machine']}\n\n")
    write(
        f"  {told['moves']:,} moves of {told['lines_moved']:,} lines, {told['moves_between_nodes']:,} between nodes; "
        f"the kernel's own lines moved {told['kernel_moves']:,} times\n"
    )
    if told["forgotten_moves"]:
        write(f"  {told['forgotten_moves']:,} more moves were of lines that moved too seldom to be kept\n")
    for number, line in enumerate(told["lines"], 1):
        _print_line(number, line, write)
    if not told["lines"]:
        write("\n  No line of the program moved.\n")
    write("\n  function                                                 time   share  waiting    instructions\n")
    for function in told["functions"][:FUNCTIONS]:
        share = 100 * function["wait_ns"] / function["ns"] if function["ns"] else 0
        name = short(function["function"], 50)
        write(
            f"  {name:50} {function['ns'] / 1e6:9.3f} ms {100 * function['share']:5.1f}% {share:7.0f}% "
            f"{function['instructions']:15,}  {function['module']}\n"
        )
    out.flush()


def _print_line(number: int, line: dict[str, Any], write: Callable[[str], object]) -> None:
    sharing = line["sharing"].upper() if line["sharing"] == FALSE_SHARING else line["sharing"]
    write(f"\n{number:3}. {line['name']}\n")
    module = f", {line['module']}" if line["module"] else ""
    write(
        f"     {line['moves']:,} moves, {line['moves_between_nodes']:,} between nodes; {sharing}; "
        f"{len(line['cpus'])} CPUs of {len(line['nodes'])} nodes; waits {line['wait_ns'] / 1e6:.3f} ms; "
        f"{line['address']:#x} ({line['kind']}{module})\n"
    )
    for user in line["users"][:USERS]:
        kinds = [f"{user[kind]:,} {kind}" for kind in ("loads", "stores", "atomics") if user[kind]]
        part = f" {user['part']}" if user["part"] else ""
        bytes_ = "{}-{}".format(*user["bytes"])
        where = f" ({user['where']})" if user["where"] else ""
        write(
            f"       bytes {bytes_:5}{part}: {', '.join(kinds)}; {user['moves']:,} moves; "
            f"CPUs {_list(user['cpus'])}; {short(user['function'], 60)}{where}\n"
        )
        if user["source"] and not user["part"]:
            write(f"         {user['source'][:100]}\n")


def _list(numbers: list[int]) -> str:
    """0-3,5"""
    words: list[str] = []
    for n in numbers:
        if words and n == int(words[-1].rpartition("-")[2]) + 1:
            words[-1] = f"{words[-1].partition('-')[0]}-{n}"
        else:
            words.append(str(n))
    return ",".join(words)
