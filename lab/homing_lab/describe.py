"""The command's own descriptions as data: for shells that complete, and for its manual page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import machine_file
from .errors import LabError


@dataclass
class Option:
    names: list[str]
    value: str  # for people; empty: it takes none
    choices: list[str]
    text: str


@dataclass
class Command:
    name: str
    text: str
    usage: str
    options: list[Option]
    examples: list[str]


def _machines() -> list[str]:
    try:
        return machine_file.names()
    except LabError:  # of HOMING_LAB_MACHINES, which the command itself tells
        return []


def _option(param: Any) -> Option:
    takes_none = getattr(param, "is_flag", False) or getattr(param, "count", False)
    value = "" if takes_none else param.metavar or param.name.upper()
    names = list(param.opts)
    choices = value.split("|") if "|" in value else []
    if "--machine" in names or (not names[0].startswith("-") and param.name == "name"):
        choices = _machines()
    return Option(names, value, choices, getattr(param, "help", None) or "")


def _examples(text: str) -> tuple[str, list[str]]:
    """A help text without the examples at its end, and these."""
    said, _, shown = text.partition("\b\n")
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    if lines:
        first = lines[0].removeprefix("Examples:").removeprefix("Example:").strip()
        lines = ([first] if first else []) + lines[1:]
    return " ".join(said.split()), lines


def commands(group: Any) -> list[Command]:
    """`group` is what typer made of the command."""
    result = []
    for name, command in group.commands.items():
        if getattr(command, "hidden", False):
            continue
        text, examples = _examples(command.help or "")
        options = [_option(param) for param in command.params]
        words = [o.value for o in options if not o.names[0].startswith("-")]
        usage = " ".join(["homing lab", name, "[OPTIONS]", *words])
        result.append(Command(name, text, usage, options, examples))
    return result


def complete(group: Any, words: list[str]) -> list[str]:
    """What the last word may become; nothing where it may be any file or program."""
    *before, begun = words or [""]
    known = commands(group)
    if not before:
        return [c.name for c in known if c.name.startswith(begun)]
    command = next((c for c in known if c.name == before[0]), None)
    if command is None or "--" in before:
        return []
    named = {name: o for o in command.options for name in o.names if name.startswith("-")}
    last = named.get(before[-1])
    if last and last.value:
        found = last.choices
    elif begun.startswith("-"):
        found = [*named, "--help"]
    else:
        found = [c for o in command.options if not o.names[0].startswith("-") for c in o.choices]
    return [word for word in found if word.startswith(begun)]


def _roff(text: str) -> str:
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def _entry(option: Option) -> str:
    names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in option.names if name.startswith("-"))
    value = f"\\fI{_roff(option.value)}\\fR" if option.value else ""
    return f".TP\n{' '.join(filter(None, (names, value)))}\n{_roff(option.text)}\n"


def manual(group: Any) -> str:
    """The page of homing-lab in roff, like those of `homing manual`."""
    out = [
        '.\\" Made by `homing lab manual`, of the descriptions in the command itself.\n'
        '.TH HOMING\\-LAB 1 "" "" "Homing"\n.SH NAME\nhoming\\-lab \\- '
        "virtual NUMA machines that count who served each access\n.SH SYNOPSIS\n"
    ]
    known = commands(group)
    out += [f".br\n{_roff(command.usage)}\n" for command in known]
    out.append(f".SH DESCRIPTION\n{_roff(' '.join((group.help or '').split()))}\n")
    for command in known:
        out.append(f".SH {_roff(command.name.upper())}\n{_roff(command.text)}\n")
        out += [_entry(option) for option in command.options if option.text]
        if command.examples:
            shown = "\n".join(_roff(line) for line in command.examples)
            out.append(f".PP\nExamples:\n.PP\n.nf\n{shown}\n.fi\n")
    out.append(
        ".SH EXIT STATUS\n\\fBhoming lab run\\fR gives the exit status of the program; 1: "
        "stdout can't be written to, 2: wrong words, 124: out of time, 125: the lab itself failed, "
        "126 and 127: the program could not be started, or found.\n.SH SEE ALSO\n.BR homing (1),\n.BR homing\\-run (1)\n"
    )
    return "".join(out)
