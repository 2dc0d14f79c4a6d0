"""The words of `homing lab`."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from homing_commands import stdout, streams
from homing_commands.command import Command
from homing_commands.errors import CommandError

from . import architecture, counts, describe, draw, hand_over, hot, hwloc_xml, machine_file, svg
from .children import Stopped
from .errors import LabError, UsageError, of_system
from .machine import Machine
from .output import write_text
from .report.command import report as report_runs
from .run import QUANTUM_CYCLES, QUANTUM_LEAST, QUANTUM_MOST
from .run import Options, Report, run as run_machine, tell
from .session import Streams
from .terminal import Terminal

app = typer.Typer(
    name="homing lab",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Virtual NUMA machines that anybody can boot, and that count who served each access.",
)

Name = Annotated[str, typer.Argument(help="a machine of `homing lab list`, or a file .toml")]
MachineName = Annotated[
    str, typer.Option("--machine", "-m", help="a machine of `homing lab list`, or a file .toml")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout")]
Files = Annotated[
    Optional[list[str]], typer.Option("--file", help="SRC[:DEST]: take a file or folder along")
]
User = Annotated[str, typer.Option(help="root, nobody, a user of this host, or a number")]
Timeout = Annotated[float, typer.Option(min=0, help="seconds from the first boot to the end; 0: none")]
Memory = Annotated[Optional[int], typer.Option(min=64, help="MiB of each node that has memory")]
KernelArgs = Annotated[str, typer.Option(help="added to the kernel's command-line")]
Results = Annotated[
    Optional[Path], typer.Option(help="folder for the guest's /results, and counts.json")
]
NoCount = Annotated[bool, typer.Option("--no-count", help="boot without the plugin: faster")]
Tbb = Annotated[
    str, typer.Option(metavar="homing|stock", help="which libtbb.so.12 the program gets")
]
Stock = Annotated[Optional[Path], typer.Option(help="oneTBB's libtbb.so.12, for --tbb=stock")]
Balancing = Annotated[
    str, typer.Option(metavar="on|off", help="the kernel's automatic NUMA balancing")
]
Thp = Annotated[str, typer.Option(metavar="always|madvise|never", help="transparent huge pages")]
Env = Annotated[Optional[list[str]], typer.Option("--env", help="NAME=VALUE for the program")]
Clock = Annotated[
    bool, typer.Option("--virtual-clock", help="the program's clocks tell the model's time")
]
Quantum = Annotated[
    int,
    typer.Option(
        min=QUANTUM_LEAST, max=QUANTUM_MOST, help="how far apart CPUs' clocks may be, in cycles"
    ),
]
Hot = Annotated[
    bool, typer.Option("--hot", help="the ten most fought-over cache lines, by name; time by function")
]
Arch = Annotated[
    str, typer.Option(metavar="x86_64|aarch64", help="the guest's; without it, the program's")
]
Scale = Annotated[float, typer.Option(min=1, max=1e6, help="divide the caches' sizes, for small inputs")]


def _one_of(option: str, value: str, *allowed: str) -> str:
    if value and value not in allowed:
        raise UsageError(f"--{option} {value}: expected {' or '.join(allowed)}")
    return value


def _options(values: dict[str, Any]) -> Options:
    environment = {}
    for word in values["env"] or []:
        name, sign, value = word.partition("=")
        if not name or not sign:
            raise UsageError(f"--env {word}: expected NAME=VALUE")
        environment[name] = value
    return Options(
        machine=values["machine"],
        words=values["words"],
        files=values["file"] or [],
        user=values["user"],
        results=values.get("results"),
        timeout_s=values["timeout"],
        memory_mib=values["memory"],
        kernel_words=values["kernel_args"],
        count=not values["no_count"],
        environment=environment,
        tbb=_one_of("tbb", values["tbb"], "homing", "stock"),
        stock_library=values["stock_library"],
        numa_balancing=_one_of("numa-balancing", values["numa_balancing"], "on", "off"),
        thp=_one_of("thp", values["thp"], "always", "madvise", "never"),
        cache_scale=values["cache_scale"],
        pack_words=not values.get("plain_words"),
        virtual_clock=values["virtual_clock"],
        quantum=values["quantum"],
        hot=values.get("hot", False),
        learn=bool(values.get("learn")),
        arch=_one_of("arch", values["arch"], *architecture.ALL),
    )


def _report_json(report: Report) -> dict[str, Any]:
    outcome = report.outcome
    return {
        "schema": 1,
        "machine": report.machine.name,
        "virtual": True,
        "architecture": report.architecture.name,
        "clock": "modelled" if report.virtual_clock else "host",
        "exit_status": outcome.status,
        "signal": outcome.signal or None,
        "memory_kills": outcome.memory_kills,
        "host_seconds": {
            "pack": round(report.packed_s, 3),
            "boot": round(outcome.boot_s, 3),
            "run": round(outcome.run_s, 3),
        },
        "image_bytes": report.image.stat().st_size if report.image.exists() else None,
        "results": outcome.results,
        "messages": outcome.messages,
        "assumed": report.machine.assumed,
        "counts": report.counted,
        "hot": report.hot,
    }


@app.command(
    cls=Command,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
def run(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="after --")],
    machine: MachineName = "westmere",
    timeout: Timeout = 600,
    file: Files = None,
    user: User = "root",
    results: Results = None,
    memory: Memory = None,
    kernel_args: KernelArgs = "",
    no_count: NoCount = False,
    tbb: Tbb = "",
    stock_library: Stock = None,
    numa_balancing: Balancing = "off",
    thp: Thp = "",
    env: Env = None,
    cache_scale: Scale = 1,
    virtual_clock: Clock = False,
    quantum: Quantum = QUANTUM_CYCLES,
    hot_lines: Hot = False,
    plain_words: Annotated[
        bool, typer.Option("--plain-words", help="take no file along that ARGS name")
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="run it here first, and take along what it opens")
    ] = False,
    arch: Arch = "",
    as_json: Json = False,
) -> None:
    """Run a program on a virtual machine; its output, exit status and /results come back.

    \b
    Example: homing lab run --machine westmere --results out -- ./app data.txt
    """
    options = _options(locals() | {"words": program, "hot": hot_lines})
    # With --json the program's output must not mix with ours.
    output = sys.stderr.buffer if as_json else sys.stdout.buffer
    source = None if os.isatty(0) else 0
    report = run_machine(options, Streams(output, sys.stderr.buffer, source))
    if as_json:
        json.dump(_report_json(report), sys.stdout, indent=1)
        sys.stdout.write("\n")
    elif report.counted:
        counts.print_table(report.counted, report.machine.name)
    if report.hot and not as_json:
        hot.print_text(report.hot, sys.stderr)
    raise typer.Exit(report.outcome.status)


app.command("report", cls=Command)(report_runs)


@app.command(cls=Command)
def show(
    name: Name,
    picture: Annotated[Optional[Path], typer.Option("--svg", help="draw it into a file")] = None,
    as_json: Json = False,
) -> None:
    """Draw a machine: nodes, figures, their sources, what is assumed and what scaled down."""
    machine = machine_file.load(name)
    if picture:
        _write(picture, svg.draw(machine))
    if as_json:
        rest = {
            "title": machine.title,
            "source": machine.source,
            "sources": machine.sources,
            "assumed": machine.assumed,
            "scaled_down": draw.scaled_down(machine),
            "full": machine.full,
            "slit": machine.slit,
        }
        print(json.dumps(hand_over.machine_json(machine) | rest, indent=1))
    elif not picture:
        sys.stdout.write(draw.text(machine))


@app.command(cls=Command)
def export(
    name: Name,
    xml: Annotated[bool, typer.Option("--xml", help="as hwloc's XML")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="as the plugin is given it")] = False,
    output: Annotated[Optional[Path], typer.Option("--output", "-o", help="a file")] = None,
    cache_scale: Scale = 1,
) -> None:
    """Print a machine for other programs.

    \b
    Example: homing lab export westmere --xml -o westmere.xml
             HOMING_TOPOLOGY=westmere.xml homing topology
    """
    if xml == as_json:
        both = ", not both" if xml else ""
        raise UsageError(f"export: expected --xml or --json{both}")
    machine = machine_file.load(name)
    machine.cache_scale = cache_scale
    text = hwloc_xml.export(machine) if xml else hand_over.text(machine)
    if output:
        _write(output, text)
    else:
        sys.stdout.write(text)


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise LabError(f"can't write {path}: {error.strerror}") from error


@app.command(cls=Command)
def shell(
    machine: MachineName = "westmere",
    file: Files = None,
    user: User = "root",
    results: Results = None,
    memory: Memory = None,
    kernel_args: KernelArgs = "",
    count: Annotated[bool, typer.Option("--count", help="with the plugin: slower")] = False,
    tbb: Tbb = "",
    stock_library: Stock = None,
    numa_balancing: Balancing = "off",
    thp: Thp = "",
    env: Env = None,
    cache_scale: Scale = 1,
    virtual_clock: Clock = False,
    quantum: Quantum = QUANTUM_CYCLES,
    timeout: Timeout = 0,
    arch: Arch = "",
) -> None:
    """Boot a machine and give a prompt in it; `exit` ends both.

    \b
    Example: homing lab shell --machine unequal --file /usr/bin/numactl
    """
    options = _options(locals() | {"words": [], "no_count": not count})
    with Terminal() as terminal:
        streams = Streams(sys.stdout.buffer, sys.stdout.buffer, 0, terminal.changed, terminal.raw)
        report = run_machine(options, streams, terminal.size)
    raise typer.Exit(report.outcome.status)


MACHINE_COLUMNS = ("name", "title", "nodes", "cpus", "memory_mib")


@app.command("list", cls=Command)
def list_machines(
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="a line a machine")] = False,
) -> None:
    """List the machines."""
    if as_json and as_csv:
        raise UsageError("list: --json excludes --csv")
    machines, errors = [], []
    for name in machine_file.names():
        try:
            machines.append(machine_file.load(name))
        except LabError as error:  # the others are there all the same
            errors.append(error)
    _print_list(machines, as_json, as_csv)
    for error in errors:
        print(f"homing lab: {error}", file=sys.stderr)
    raise typer.Exit(1 if errors else 0)


def _print_list(machines: Sequence[Machine], as_json: bool, as_csv: bool) -> None:
    rows = [
        dict(zip(MACHINE_COLUMNS, (m.name, m.title, len(m.nodes), m.cpu_count, m.memory_mib)))
        for m in machines
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    if as_csv:
        table = csv.DictWriter(sys.stdout, MACHINE_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return
    for machine in machines:
        nodes, cpus = len(machine.nodes), machine.cpu_count
        print(f"{machine.name:22} {nodes} nodes {cpus:3} CPUs  {machine.title}")


@app.command(hidden=True, context_settings={"ignore_unknown_options": True})
def complete(words: Annotated[Optional[list[str]], typer.Argument()] = None) -> None:
    """For shells: what the last of the words after `homing lab` may become, one a line."""
    for word in describe.complete(typer.main.get_command(app), words or []):
        print(word)


@app.command(hidden=True)
def manual() -> None:
    """Print the manual page in roff: homing lab manual | man -l -"""
    sys.stdout.write(describe.manual(typer.main.get_command(app)))


def main() -> None:
    streams.are_open()
    try:
        with stdout.checked():
            app(prog_name="homing lab")
    except CommandError as error:
        print(f"homing lab: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
    except Stopped as stopped:
        tell("stopped; the machine is off, and what else was started has ended")
        raise SystemExit(128 + stopped.number) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except OSError as error:
        print(f"homing lab: {of_system(error)}", file=sys.stderr)
        raise SystemExit(125) from None
